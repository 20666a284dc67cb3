#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sizes of rings: what a failed run and `tasklens scope` advise is given as a bound, is more than what failed, and leads to a
# run that ends well; what is given as enough after a good run is enough.
set -u
tasklens=$1/tasklens
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CC CXX CFLAGS CXXFLAGS LDFLAGS
export TMPDIR=$work
cat >ring.c <<'EOF'
#include <tasklens/program.h>
static const struct tl_param params[] = {{"tasks", 100, 1, 1000, ""}, {"bytes", 4, 4, 1 << 20, "of each"}};
static void one(const struct tl_kernel_args *k) { TL_DATA(k, 0, float)[0] = 1; }
static const struct tl_kernel kernels[] = {TL_KERNEL(0, "one", TL_AIV, one, TL_OUT)};
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t elements = (uint32_t)in->params[1] / 4;
    TL_SCOPE (o)
        for (int i = 0; i < in->params[0]; i++) {
            struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 1, &elements);
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            tl_add_output(&args, &t);
            tl_submit_aiv(o, 0, &args);
        }
}
static int prepare(struct tl_data *d)
{
    const uint32_t n = 1;
    return tl_data_tensor(d, "z", TL_OUT, TL_FLOAT32, 1, &n) ? 0 : TL_ENOMEM;
}
TL_PROGRAM(.name = "ring", .kernels = kernels, .n_kernels = 1, .params = params, .n_params = 2,
           .orchestrate = orchestrate, .prepare = prepare);
EOF
"$tasklens" run ring.c --dump-args 2 --set tasks=1 --out kept >log 2>&1 || { cat log; exit 1; }
ring=kept/program/ring.so

# follow FLAG SIZE WANT SETTINGS...: each advice is larger, says that it is a bound, and the last run ends well with WANT
follow() {
    local flag=$1 size=$2 want=$3 next
    shift 3
    while ! "$tasklens" run $ring "$@" $flag "$size" --enable-scope-stats --out s >log 2>&1; do
        next=$(sed -n "s/.*set $flag to at least \([0-9]*\), which holds this task; later ones may need more.*/\1/p" log)
        [ -n "$next" ] && [ "$next" -gt "$size" ] || { echo "$flag $size: no larger advice in:"; cat log; failed=1; return; }
        "$tasklens" scope s >scope 2>&1
        # The command repeats what was missing, and no column calls what failed enough.
        grep -q "run that failed: .*set $flag to at least $next" scope && grep -q "at least  why" scope &&
            ! grep -q 'enough  why' scope && ! grep -q 'to type' scope ||
            { echo "scope after $flag $size:"; cat scope; failed=1; return; }
        size=$next
    done
    [ "$size" = "$want" ] || { echo "$flag: ended well with $size, not $want"; failed=1; }
    "$tasklens" scope s >scope 2>&1
    line=$(sed -n 's/.*to type *tasklens run PROGRAM //p' scope)
    # shellcheck disable=SC2086
    [ -n "$line" ] && "$tasklens" run $ring "$@" $line >log 2>&1 || { echo "not enough: $line"; cat scope log; failed=1; }
}
follow --task-window 16 128
follow --heap-bytes 8192 131072 --set tasks=5 --set bytes=16384
exit $failed
