#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A kernel reads a parameter by its name, in both device modes and on both runtimes; nothing more is recorded, and a name
# that is none ends the kernel, by its name.
set -u
tasklens=$1/tasklens
failed=0
fail() { echo "$*"; cat "$work/log"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat > p.c <<'END'
#include <tasklens/program.h>
static const char *name = NAME;
static void store(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 0, int32_t) = (int32_t)tl_kernel_param(k, name);
}
static const struct tl_kernel kernels[] = {TL_KERNEL(0, "store", TL_AIV, store, TL_OUT)};
static const struct tl_param params[] = {{"first", 3, 0, 9, ""}, {"second", 4, 0, 9, ""}};
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor y = in->tensors[0];
    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        tl_add_output(&args, &y);
        tl_submit_aiv(o, 0, &args);
    }
}
static int prepare(struct tl_data *d)
{
    const uint32_t n = 1;
    return tl_data_tensor(d, "y", TL_OUT, TL_INT32, 1, &n) ? 0 : TL_ENOMEM;
}
static int golden(struct tl_data *d)
{
    *(int32_t *)tl_data_expected(d, "y") = (int32_t)tl_data_param(d, "second");
    return 0;
}
TL_PROGRAM(.name = "params", .kernels = kernels, .n_kernels = 1, .params = params, .n_params = 2, .n_tensors = 1,
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
END
for mode in process thread; do
    for runtime in tensormap_and_ringbuffer host_build_graph; do
        for value in 4 7; do
            CFLAGS='-DNAME="second"' "$tasklens" run p.c --set second=$value --device-mode $mode --runtime $runtime \
                --dump-args 2 --out "$mode-$runtime-$value" > log 2>&1 || fail "second=$value, $mode, $runtime"
            grep -q '1 record,' log || fail "more was recorded than the output"
        done
    done
done
CFLAGS='-DNAME="first"' "$tasklens" run p.c > log 2>&1; [ $? = 1 ] || fail "first is 3, not second"
CFLAGS='-DNAME="third"' "$tasklens" run p.c > log 2>&1; [ $? = 3 ] || fail "a name that is none"
grep -q 'kernel "store"' log || fail "the kernel is not named"
exit $failed
