#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tasklens/helpers.h, from C and C++: slices, tensors and submits; a slice that is not possible ends the run, and says so.
set -u
tasklens=$1/tasklens
failed=0
fail() { echo "$*"; cat "$work/log"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat > h.c <<'END'
#include <tasklens/helpers.h>
#include <tasklens/program.h>
static void copy(const struct tl_kernel_args *k)
{
    const struct tl_tensor *from = &k->tensors[0], *to = &k->tensors[1];
    for (uint32_t i = 0; i < from->shape[0]; i++)
        for (uint32_t j = 0; j < from->shape[1]; j++)
            TL_DATA(k, 1, int32_t)[i * to->strides[0] + j * to->strides[1]] =
                TL_DATA(k, 0, const int32_t)[i * from->strides[0] + j * from->strides[1]];
}
static const struct tl_kernel kernels[] = {TL_KERNEL(0, "copy", TL_AIV, copy, TL_IN, TL_OUT)};
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = tl_slice(o, &in->tensors[0], DIM, FIRST, 2), y = in->tensors[1], middle = tl_like(&x);
    TL_SCOPE (o) {
        const struct tl_tensor *from[] = {&x}, *then[] = {&middle};
        struct tl_tensor *to[] = {&middle}, *last[] = {&y};
        tl_submit_io(o, TL_AIV, 0, from, 1, to, 1);
        tl_submit_io(o, TL_AIV, 0, then, 1, last, 1);
    }
}
static int prepare(struct tl_data *d)
{
    const uint32_t in[] = {3, 4}, out[] = {3, 2};
    int32_t *x = (int32_t *)tl_data_tensor(d, "x", TL_IN, TL_INT32, 2, in);
    for (int i = 0; i < 12; i++)
        x[i] = i;
    return tl_data_tensor(d, "y", TL_OUT, TL_INT32, 2, out) ? 0 : TL_ENOMEM;
}
static int golden(struct tl_data *d)
{
    static const int32_t want[] = {1, 2, 5, 6, 9, 10};
    int32_t *y = (int32_t *)tl_data_expected(d, "y");
    for (int i = 0; i < 6; i++)
        y[i] = want[i];
    return 0;
}
TL_PROGRAM(.name = "helpers", .kernels = kernels, .n_kernels = 1, .n_tensors = 2, .orchestrate = orchestrate,
           .prepare = prepare, .golden = golden);
END
cp h.c h.cc
unset CC CXX CFLAGS CXXFLAGS
CFLAGS='-DDIM=1 -DFIRST=1' "$tasklens" run h.c > log 2>&1 || fail "C"
CXXFLAGS='-DDIM=1 -DFIRST=1' "$tasklens" run h.cc > log 2>&1 || fail "C++"
for bad in '-DDIM=1 -DFIRST=3' '-DDIM=2 -DFIRST=0' '-DDIM=9 -DFIRST=0'; do
    CFLAGS=$bad "$tasklens" run h.c > log 2>&1; [ $? = 2 ] && grep -q 'tl_slice: the slice is outside' log || fail "$bad"
done
exit $failed
