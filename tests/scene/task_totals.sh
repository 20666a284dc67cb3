#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Totals of tasks: four that run a kernel and three that only allocate are "4 tasks and 3 allocations", wherever they are
# counted, while a run goes on, after it, and when it fails.
set -u
tasklens=$1/tasklens
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CC CXX CFLAGS CXXFLAGS LDFLAGS
export TMPDIR=$work
cat >totals.c <<'EOF'
#include <stdlib.h>
#include <unistd.h>
#include <tasklens/program.h>
static const struct tl_param params[] = {{"way", 0, 0, 3, "1: abort in the orchestration, 2: the last kernel hangs"}};
static void add(const struct tl_kernel_args *k)
{
    for (int i = 0; i < 4; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1;
    while (TL_SCALAR_OF(k, 0, int64_t) == 2)
        (void)sleep(1);
}
static const struct tl_kernel kernels[] = {TL_KERNEL(0, "add", TL_AIV, add, TL_IN, TL_OUT)};
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t n = 4;
    struct tl_tensor from = in->tensors[0];
    TL_SCOPE (o) {
        for (int i = 0; i < 4; i++) {
            struct tl_tensor to = i < 3 ? tl_tensor_make(TL_FLOAT32, 1, &n) : in->tensors[1], *list[] = {&to};
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            int64_t way = i == 3 ? in->params[0] : 0;
            if (i < 3)
                tl_alloc_tensors(o, list, 1);
            tl_add_input(&args, &from);
            tl_add_output(&args, &to);
            tl_add_scalar(&args, way);
            tl_submit_aiv(o, 0, &args);
            from = to;
        }
    }
    if (in->params[0] == 1)
        abort();
}
static int prepare(struct tl_data *d)
{
    const uint32_t n = 4;
    return tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n) && tl_data_tensor(d, "z", TL_OUT, TL_FLOAT32, 1, &n)
               ? 0 : TL_ENOMEM;
}
TL_PROGRAM(.name = "totals", .kernels = kernels, .n_kernels = 1, .params = params, .n_params = 1,
           .orchestrate = orchestrate, .prepare = prepare);
EOF

# says TEXT COMMAND...: the command's output has it
says() {
    local text=$1
    shift
    "$tasklens" "$@" >log 2>&1
    grep -qF -- "$text" log || { echo "$*: no \"$text\" in:"; cat log; failed=1; }
}
for runtime in tensormap_and_ringbuffer host_build_graph; do
    says ", beside 3 allocations" run totals.c --runtime $runtime --dump-args 2 --enable-chip-swimlane \
        --enable-dep-gen --out $runtime
    grep -q '^  tasks      4 retired in ' log || { echo "retired:"; cat log; failed=1; }
    grep -q '"tasks": 4,' $runtime/dfx_meta.json && grep -q '"allocations": 3,' $runtime/dfx_meta.json ||
        { echo "dfx_meta.json:"; cat $runtime/dfx_meta.json; failed=1; }
done
cd tensormap_and_ringbuffer || exit 1
says "4 tasks and 3 allocations, 8 tensors" deps .
says "4 of 4 tasks run add" deps . --kernel add
says '"task_count": 4,' deps . --json
grep -q '"allocation_count": 3,' log || { echo "deps --json:"; cat log; failed=1; }
says "4 tasks and 3 allocations, 4 slices" critical-path .
says '"tasks": 4,' critical-path . --json
grep -q '"allocations": 3,' log || { echo "critical-path --json:"; cat log; failed=1; }
says ": level 4, 4 tasks on " swimlane .
cd ..
says "the orchestration, after 4 submitted tasks and 3 allocations" run totals.c --set way=1
TASKLENS_SCHEDULER_TIMEOUT_MS=3000 says "with 1 of 4 tasks unfinished" run totals.c --set way=2
grep -q '^  tasks      3 retired in .*, beside 3 allocations' log || { echo "after a hang:"; cat log; failed=1; }
exit $failed
