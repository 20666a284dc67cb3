#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program sets a locale with a decimal comma: what the run says and what it writes has points all the same.
set -u
binary=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out" || exit 1
localedef -i de_DE -f UTF-8 "$out/de_DE.UTF-8" >localedef.log 2>&1 || { cat localedef.log; exit 77; }
export LOCPATH=$out
cat >comma.c <<'C'
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <tasklens/program.h>
static void halve(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 1, float) = *TL_DATA(k, 0, const float) + TL_SCALAR_OF(k, 0, float) / 2;
}
static const struct tl_kernel kernels[] = {TL_KERNEL(0, "halve", TL_AIV, halve, TL_IN, TL_OUT, TL_SCALAR)};
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], y = in->tensors[1];
    float scale = 2.25f;
    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        tl_add_input(&args, &x);
        tl_add_output(&args, &y);
        tl_add_scalar(&args, scale);
        tl_submit_aiv(o, 0, &args);
    }
}
static int prepare(struct tl_data *d)
{
    const uint32_t one = 1;
    char text[20];
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        return TL_EINVAL;
    snprintf(text, sizeof(text), "%.1f", 1.5);
    if (strcmp(text, "1,5") != 0) /* the program has what it asked for */
        return TL_EINVAL;
    tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &one);
    return tl_data_tensor(d, "y", TL_OUT, TL_FLOAT32, 1, &one) != NULL ? 0 : TL_ENOMEM;
}
static int golden(struct tl_data *d)
{
    *(float *)tl_data_expected(d, "y") = 1.75f;
    return 0;
}
TL_PROGRAM(.name = "comma", .summary = "sets a locale", .kernels = kernels, .n_kernels = 1, .orchestrate = orchestrate,
           .prepare = prepare, .golden = golden);
C
"$binary/tasklens" run comma.c --dump-args 2 --enable-chip-swimlane 4 --enable-dep-gen --enable-pmu \
  --enable-scope-stats --out rec >said 2>&1
[ $? = 1 ] || { cat said; exit 1; } # it differs from its golden, and says by how much
! grep -E '[0-9],[0-9]' said || exit 1
grep -qE ' retired in [0-9.]+ [mu]?s' said && grep -q ': 1.125 instead of 1.75; worst difference 0.625' said || { cat said; exit 1; }
for file in rec/*.json rec/args_dump/*.json; do
  python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$file" || exit 1
done
grep -q '"value": 2.25' rec/args_dump/args_dump.json || { cat rec/args_dump/args_dump.json; exit 1; }
