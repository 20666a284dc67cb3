/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_add: z = scale * (x + y) + bias, tile by tile. The smallest complete program; read it first.
 *
 * A program is five things, all in this one file: kernels, an orchestration that submits tasks, parameters, a prepare()
 * that makes the inputs, and a golden() that says what the outputs should be.
 *
 *     tasklens run vector_add --dump-args 2      every argument of every task
 *     tasklens run vector_add --dump-args 1      only what tl_dump() below has marked
 *     tasklens run vector_add --enable-pmu       what the cores counted: see tl_count() below
 *     tasklens run vector_add --set tiles=7      another graph over the same data
 */
#include <tasklens/program.h>

/* ---- The kernel: what one core does with one tile ---- */

enum { FUNC_ADD };

/*
 * The slots are those of the task's arguments, in the order in which the orchestration adds them: tensors
 * 0..3, then scalar 0. data[i] already points at the tile's first element; the shape is the tile's.
 */
static void add(const struct tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float), *y = TL_DATA(k, 1, const float), *bias = TL_DATA(k, 2, const float);
    float *z = TL_DATA(k, 3, float);
    const float scale = TL_SCALAR_OF(k, 0, float);
    const uint32_t n = k->tensors[3].shape[0];

    for (uint32_t i = 0; i < n; i++)
        z[i] = scale * (x[i] + y[i]) + bias[i];
    /* What a chip would do for it; for --enable-pmu, and nothing in any other run. */
    tl_count(k, TL_COUNT_MTE2_BYTES, 3 * n * sizeof *x);
    tl_count(k, TL_COUNT_VEC_FP32_OPS, UINT64_C(3) * n);
    tl_count(k, TL_COUNT_MTE3_BYTES, n * sizeof *z);
}

/* func_id, name, core type, function, and the direction of each payload slot. The dump takes its roles from it. */
static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_ADD, "add", TL_AIV, add, TL_IN, TL_IN, TL_IN, TL_OUT),
};

/* ---- Parameters: what --set may change ---- */

enum { PARAM_ELEMENTS, PARAM_TILES };

static const struct tl_param params[] = {
    [PARAM_ELEMENTS] = {"elements", 16384, 1, 1 << 27, "length of the vectors"},
    [PARAM_TILES] = {"tiles", 4, 1, 1 << 20, "tasks that share the work"},
};

/* The first case is the default. `whole` is a graph of one task, and `ragged` does not divide evenly. */
static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "whole", .settings = {{"tiles", 1}}},
    {.name = "ragged", .settings = {{"elements", 1000}, {"tiles", 7}}},
};

/* ---- The orchestration: straight-line code that submits tasks ---- */

/* One task. The views are values: they may go out of scope as soon as the task has been submitted. */
static void submit_tile(struct tl_orch *o, const struct tl_program_args *in, uint32_t begin, uint32_t count)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor x, y, bias, z;
    const float scale = 1.0f;
    int err = 0;

    err |= tl_view(&in->tensors[0], &begin, &count, &x);
    err |= tl_view(&in->tensors[1], &begin, &count, &y);
    err |= tl_view(&in->tensors[2], &begin, &count, &bias);
    err |= tl_view(&in->tensors[3], &begin, &count, &z);
    if (err) {
        tl_orch_fail(o, "vector_add: a tile lies outside its vector");
        return;
    }
    tl_add_input(&args, &x);
    tl_add_input(&args, &y);
    tl_add_input(&args, &bias);
    tl_add_output(&args, &z); /* z has a buffer, the program's: the task writes it without reading it first */
    tl_add_scalar(&args, scale);
    tl_dump(&args, x, z, scale); /* levels 1 and 3: the payload of these, by the names used above */
    tl_submit_aiv(o, FUNC_ADD, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t n = (uint32_t)in->params[PARAM_ELEMENTS];
    uint32_t tile = (uint32_t)((n + in->params[PARAM_TILES] - 1) / in->params[PARAM_TILES]);

    /* The tiles do not overlap, so the runtime finds no dependency between these tasks and runs them side by side. */
    TL_SCOPE (o) {
        for (uint32_t begin = 0; begin < n; begin += tile)
            submit_tile(o, in, begin, begin + tile <= n ? tile : n - begin);
    }
}

/* ---- The data, on the host ---- */

/* Declares the tensors in the order in which the orchestration sees them. Memory comes zeroed: so bias is 0. */
static int prepare(struct tl_data *d)
{
    const uint32_t n = (uint32_t)tl_data_param(d, "elements");
    float *x = tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n);
    float *y = tl_data_tensor(d, "y", TL_IN, TL_FLOAT32, 1, &n);
    const float *bias = tl_data_tensor(d, "bias", TL_IN, TL_FLOAT32, 1, &n);
    const float *z = tl_data_tensor(d, "z", TL_OUT, TL_FLOAT32, 1, &n);

    if (!x || !y || !bias || !z)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = 2.0f;
        y[i] = 3.0f;
    }
    return 0;
}

/* What z should be, in double, from the inputs as they went in (--arg may have replaced them). */
static int golden(struct tl_data *d)
{
    const uint32_t n = (uint32_t)tl_data_param(d, "elements");
    const float *x = tl_data_input(d, "x"), *y = tl_data_input(d, "y"), *bias = tl_data_input(d, "bias");
    float *z = tl_data_expected(d, "z");

    if (!x || !y || !bias || !z)
        return TL_ENOENT;
    for (uint32_t i = 0; i < n; i++)
        z[i] = (float)((double)bias[i] + (double)x[i] + (double)y[i]);
    return 0;
}

TL_PROGRAM(.name = "vector_add", .summary = "z = scale * (x + y) + bias, tile by tile", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 4, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .cases = cases, .n_cases = TL_ARRAY_COUNT(cases), .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
