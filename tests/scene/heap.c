/* SPDX-License-Identifier: Apache-2.0 */
/* The program of sanitize.sh and debuggers.sh, compiled by `tasklens run`: errors that no crash shows by itself. */
#include <limits.h>
#include <stdlib.h>

#include <tasklens/program.h>

enum { IN_KERNEL, IN_ORCHESTRATION, IN_PREPARE, IN_GOLDEN, OVERFLOWS, NOWHERE, PLACES };

static const struct tl_param params[] = {{"where", IN_KERNEL, 0, PLACES - 1, "where it goes wrong"}};
static volatile int most = INT_MAX;

static void past(size_t n)
{
    volatile int *p = malloc(n * sizeof(*p));

    if (p != NULL)
        p[n] = 7; /* one too far */
    free((void *)(size_t)p);
}

static void my_kernel(const struct tl_kernel_args *k)
{
    const int64_t where = TL_SCALAR_OF(k, 0, int64_t);

    if (where == IN_KERNEL)
        past(4);
    if (where == OVERFLOWS)
        most = most + 1; /* too large */
    for (int i = 0; i < 4; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(0, "my_kernel", TL_AIV, my_kernel, TL_IN, TL_OUT)};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], z = in->tensors[1];
    int64_t where = in->params[0];

    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        tl_add_input(&args, &x);
        tl_add_output(&args, &z);
        tl_add_scalar(&args, where);
        tl_submit_aiv(o, 0, &args);
    }
    if (where == IN_ORCHESTRATION)
        past(4);
}

static int prepare(struct tl_data *d)
{
    const uint32_t n = 4;
    float *x = tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n);

    if (x == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        x[i] = (float)i;
    if (tl_data_param(d, "where") == IN_PREPARE)
        past(4);
    return tl_data_tensor(d, "z", TL_OUT, TL_FLOAT32, 1, &n) != NULL ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    float *z = tl_data_expected(d, "z");

    for (int i = 0; i < 4; i++)
        z[i] = (float)i + 1;
    if (tl_data_param(d, "where") == IN_GOLDEN)
        past(4);
    return 0;
}

TL_PROGRAM(.name = "heap", .summary = "writes one element past an allocation", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
