/* SPDX-License-Identifier: Apache-2.0 */
/*
 * off_by_one: a kernel whose loop runs once too often. FAULT: each task writes its own rows and the first row behind
 * them, which belongs to the next task, or to nobody. Whether the next task's row survives depends on which of the two
 * ran last; the row behind the last task's (the tensor has one spare) is always spoilt.
 */
#include <tasklens/helpers.h>
#include <tasklens/program.h>

enum { FUNC_FILL };
enum { TASKS = 3, TASK_ROWS = 4, COLS = 8, ROWS = TASKS * TASK_ROWS + 1 };

/* Tensor: out [rows, cols]. Scalar: value. */
static void fill(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i <= k->tensors[0].shape[0]; i++) { /* FAULT */
        for (uint32_t j = 0; j < COLS; j++)
            TL_DATA(k, 0, float)[i * COLS + j] = TL_SCALAR_OF(k, 0, float);
    }
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_FILL, "fill", TL_AIV, fill, TL_OUT),
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    TL_SCOPE (o) {
        for (uint32_t i = 0; i < TASKS; i++) {
            const float value = (float)(i + 1);
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor rows = tl_slice(o, &in->tensors[0], 0, i * TASK_ROWS, TASK_ROWS);

            tl_add_output(&args, &rows);
            tl_add_scalar(&args, value);
            tl_dump(&args, rows, value);
            tl_submit_aiv(o, FUNC_FILL, &args);
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t shape[] = {ROWS, COLS};

    return tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 2, shape) ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    float *out = tl_data_expected(d, "out");

    for (uint32_t i = 0; out && i < TASKS * TASK_ROWS * COLS; i++)
        out[i] = (float)(1 + i / COLS / TASK_ROWS);
    return out ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "off_by_one", .summary = "fault: a row behind the output is written too", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
