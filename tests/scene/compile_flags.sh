#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program compiled on the spot: flags of the environment, several files, C++, --debug, and the line that -v shows.
set -u
tasklens=$1/tasklens
failed=0
fail() { echo "$*"; cat "$work/log"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CC CXX CFLAGS CXXFLAGS LDFLAGS

cat > head.h <<'END'
#include <tasklens/program.h>
#ifdef __cplusplus
extern "C"
#endif
void store(const struct tl_kernel_args *k);
END
cat > main.c <<'END'
#include "head.h"
static const struct tl_kernel kernels[] = {TL_KERNEL(0, "store", TL_AIV, store, TL_OUT)};
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
    *(int32_t *)tl_data_expected(d, "y") = WANT;
    return 0;
}
TL_PROGRAM(.name = "flags", .kernels = kernels, .n_kernels = 1, .n_tensors = 1, .orchestrate = orchestrate,
           .prepare = prepare, .golden = golden);
END
for suffix in c cc cpp cxx; do
    cat > part.$suffix <<'END'
#include "head.h"
void store(const struct tl_kernel_args *k)
{
#ifdef __OPTIMIZE__
    *TL_DATA(k, 0, int32_t) = 2;
#else
    *TL_DATA(k, 0, int32_t) = 0;
#endif
#ifdef __cplusplus
    *TL_DATA(k, 0, int32_t) += 1;
#endif
}
END
done
CFLAGS=-DWANT=2 "$tasklens" run main.c part.c > log 2>&1 || fail "two C files with CFLAGS"
CFLAGS=-DWANT=0 "$tasklens" run part.c main.c --debug > log 2>&1 || fail "--debug"
CFLAGS='-DWANT=0  -O0' "$tasklens" run main.c part.c > log 2>&1 || fail "CFLAGS come after ours"
CFLAGS=-DWANT=5 "$tasklens" run main.c part.c > log 2>&1; [ $? = 1 ] || fail "the flags were not used"
for suffix in cc cpp cxx; do
    CXXFLAGS=-DWANT=3 "$tasklens" run main.c part.$suffix > log 2>&1 || fail "C and C++: .$suffix"
done
CFLAGS=-DWANT=2 LDFLAGS=-Wl,--no-undefined-version "$tasklens" run -v main.c part.c > log 2>&1 || fail "LDFLAGS"
grep -q 'note: cc .*-O2 -g .*-DWANT=2 -o .*program.so main.c part.c .*--no-undefined-version -lm' log || fail "-v shows no line"
grep -q 'DWANT' <(CFLAGS=-DWANT=2 "$tasklens" run main.c part.c 2>&1) && fail "the line is shown without -v"
"$tasklens" run main.c vector_add > log 2>&1; [ $? = 2 ] && grep -q 'vector_add" is no C or C++ source' log || fail "two programs"
"$tasklens" run vector_add --debug > log 2>&1; [ $? = 2 ] || fail "--debug of a compiled program"
CXX=no-such-compiler "$tasklens" run part.cc > log 2>&1; [ $? = 2 ] && grep -q 'CXX can name another' log || fail "CXX"
exit $failed
