#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run without tasks is recorded by every collector, and every viewer opens its recording.
set -u
binary_dir=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
cat >none.c <<'C'
#include <tasklens/program.h>
enum { FUNC_ONE };
static void one(const struct tl_kernel_args *k) { *TL_DATA(k, 0, float) = 1; }
static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_ONE, "one", TL_AIV, one, TL_OUT)};
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in) { (void)o, (void)in; }
static int prepare(struct tl_data *d)
{
    const uint32_t n = 1;

    return tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n) != NULL ? 0 : TL_ENOMEM;
}
TL_PROGRAM(.name = "none", .summary = "no tasks", .kernels = kernels, .n_kernels = 1, .orchestrate = orchestrate,
           .prepare = prepare);
C
failed=0
for words in "-p a2a3sim --runtime tensormap_and_ringbuffer" "-p a5sim --runtime host_build_graph --device-mode thread"; do
    rm -rf run
    # shellcheck disable=SC2086 # several words
    "$binary_dir/tasklens" run none.c $words --dump-args 2 --enable-chip-swimlane --enable-dep-gen --enable-pmu \
        --enable-scope-stats --enable-traffic --out run >out 2>err || { echo "run $words ended with $?"; cat err; exit 1; }
    for file in args_dump/args_dump.json chip_swimlane_records.json deps.json pmu.csv scope_stats/scope_stats.jsonl traffic.jsonl; do
        [ -s "run/$file" ] || { echo "$words: no $file"; failed=1; }
    done
    for command in "dump" "dump --json" "dump --verify" "swimlane" "sched" "critical-path" "deps" "deps --json" "pmu" "scope" "traffic" "traffic --json"; do
        "$binary_dir/tasklens" ${command%% *} run ${command#"${command%% *}"} >out 2>err
        code=$?
        [ $code = 0 ] || { echo "$words: tasklens $command ended with $code: $(cat err)"; failed=1; }
        grep -q -- '--enable-\|--dump-args' err && { echo "$words: tasklens $command: $(cat err)"; failed=1; }
    done
done
exit $failed
