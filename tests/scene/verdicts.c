/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of test_run_verdict.c: a softmax of 256 columns into a dtype that `out` says, right or wrong as `mode`
 * says, and an integer that is `off` too large.
 */
#include <math.h>
#include <string.h>

#include <tasklens/program.h>

enum { FUNC_SOFTMAX };
enum { P_MODE, P_OUT, P_OFF };
enum { RIGHT, ZEROS, CONSTANT, SHIFTED };
enum { BF16, F16, F32, FP8 };
enum { COLUMNS = 256 };

static const struct tl_param params[] = {
    [P_MODE] = {"mode", RIGHT, RIGHT, SHIFTED, "what is wrong"},
    [P_OUT] = {"out", F32, BF16, FP8, "dtype of the output"},
    [P_OFF] = {"off", 0, 0, 1000, "how far the integer is off"},
};
static const enum tl_dtype dtypes[] = {TL_BFLOAT16, TL_FLOAT16, TL_FLOAT32, TL_FP8E4M3FN};

/* The nearest value of a float with `bits` of significand, smallest exponent `emin` and that bias, by its code. */
static uint32_t narrow(float v, int bits, int emin, int bias)
{
    int exponent = v > 0 ? ilogbf(v) : emin;
    long code;

    if (exponent < emin)
        exponent = emin;
    code = lrintf(ldexpf(v, bits - 1 - exponent));
    /* A significand that was rounded up to the next power of two carries into the exponent. */
    return (uint32_t)(code + ((long)(exponent + bias - 1) << (bits - 1)));
}

static void put(void *y, int32_t out, uint32_t i, float v)
{
    if (out == F32)
        ((float *)y)[i] = v;
    else if (out == FP8)
        ((uint8_t *)y)[i] = (uint8_t)narrow(v, 4, -6, 7);
    else
        ((uint16_t *)y)[i] = (uint16_t)(out == BF16 ? narrow(v, 8, -126, 127) : narrow(v, 11, -14, 15));
}

static void softmax(const struct tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float);
    const int32_t mode = TL_SCALAR_OF(k, 0, int32_t), out = TL_SCALAR_OF(k, 1, int32_t);
    float sum = 0;

    for (uint32_t i = 0; i < COLUMNS; i++)
        sum += expf(x[i]);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        float v = expf(x[mode == SHIFTED ? (i + 1) % COLUMNS : i]) / sum;

        put(TL_DATA(k, 1, void), out, i, mode == ZEROS ? 0.0f : mode == CONSTANT ? 1.0f / COLUMNS : v);
    }
    *TL_DATA(k, 2, int32_t) = 1000 + TL_SCALAR_OF(k, 2, int32_t);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_SOFTMAX, "softmax", TL_AIV, softmax, TL_IN, TL_OUT, TL_OUT),
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const struct tl_tensor x = in->tensors[0];
    struct tl_tensor y = in->tensors[1], n = in->tensors[2];
    const int32_t mode = (int32_t)in->params[P_MODE], out = (int32_t)in->params[P_OUT];
    const int32_t off = (int32_t)in->params[P_OFF];

    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        tl_add_input(&args, &x);
        tl_add_output(&args, &y);
        tl_add_output(&args, &n);
        tl_add_scalar(&args, mode);
        tl_add_scalar(&args, out);
        tl_add_scalar(&args, off);
        tl_submit_aiv(o, FUNC_SOFTMAX, &args);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t n = COLUMNS, one = 1;
    float *x = tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n);

    if (x == NULL || tl_data_tensor(d, "probs", TL_OUT, dtypes[tl_data_param(d, "out")], 1, &n) == NULL ||
        tl_data_tensor(d, "number", TL_OUT, TL_INT32, 1, &one) == NULL ||
        tl_data_tensor(d, "unchecked", TL_OUT, TL_INT32, 1, &one) == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        x[i] = tl_data_random(d);
    return 0;
}

static int golden(struct tl_data *d)
{
    const float *x = tl_data_input(d, "x");
    void *y = tl_data_expected(d, "probs");
    double sum = 0;

    for (uint32_t i = 0; i < COLUMNS; i++)
        sum += exp((double)x[i]);
    for (uint32_t i = 0; i < COLUMNS; i++)
        put(y, (int32_t)tl_data_param(d, "out"), i, (float)(exp((double)x[i]) / sum));
    *(int32_t *)tl_data_expected(d, "number") = 1000;
    return 0;
}

static const struct tl_tolerance tolerances[] = {{.output = "number", .absolute = 2}};

TL_PROGRAM(.name = "verdicts", .summary = "a softmax, right or wrong", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden, .tolerances = tolerances,
           .n_tolerances = TL_ARRAY_COUNT(tolerances));
