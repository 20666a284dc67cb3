/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrong_stride: a kernel that takes a window of a matrix for a dense tensor. FAULT: it steps from row to row by the
 * window's width and not by its stride. The dump shows the input gathered as the view says, strides beside it, and an
 * output that holds other elements: those of the matrix's first rows.
 */
#include <tasklens/program.h>

enum { FUNC_COPY };
enum { ROWS = 4, COLS = 12, FIRST = 4, WIDTH = 4 };

/* Tensors: window [rows, width] of a wider matrix, out [rows, width] dense. */
static void copy(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t j = 0; j < WIDTH; j++)
            TL_DATA(k, 1, float)[i * WIDTH + j] = TL_DATA(k, 0, const float)[i * WIDTH + j]; /* FAULT */
    }
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_COPY, "copy", TL_AIV, copy, TL_IN, TL_OUT),
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t at[] = {0, FIRST}, shape[] = {ROWS, WIDTH};
    struct tl_tensor window, out = in->tensors[1];
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    if (tl_view(&in->tensors[0], at, shape, &window)) {
        tl_orch_fail(o, "wrong_stride: no such window");
        return;
    }
    TL_SCOPE (o) {
        tl_add_input(&args, &window);
        tl_add_output(&args, &out);
        tl_dump(&args);
        tl_submit_aiv(o, FUNC_COPY, &args);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t shape[] = {ROWS, COLS}, out_shape[] = {ROWS, WIDTH};
    float *matrix = tl_data_tensor(d, "matrix", TL_IN, TL_FLOAT32, 2, shape);

    if (!matrix || !tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 2, out_shape))
        return TL_ENOMEM;
    for (uint32_t i = 0; i < ROWS * COLS; i++)
        matrix[i] = (float)(i / COLS * 100 + i % COLS); /* row and column can be read off each value */
    return 0;
}

static int golden(struct tl_data *d)
{
    const float *matrix = tl_data_input(d, "matrix");
    float *out = tl_data_expected(d, "out");

    for (uint32_t i = 0; matrix && out && i < ROWS * WIDTH; i++)
        out[i] = matrix[i / WIDTH * COLS + FIRST + i % WIDTH];
    return matrix && out ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "wrong_stride", .summary = "fault: a window taken for a dense tensor", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
