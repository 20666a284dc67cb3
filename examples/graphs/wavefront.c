/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wavefront: a grid of tasks in which each waits for the one above and the one to the left. Cell [i, j] is their sum,
 * modulo 2^32, and 1 along the borders: Pascal's triangle, which comes out wrong if any task runs too early.
 */
#include <stdlib.h>

#include <tasklens/program.h>

/* One kernel for each length of the argument list: a signature names every slot of the task. */
enum { FUNC_CORNER, FUNC_BORDER, FUNC_INNER };
enum { PARAM_N, PARAM_WIDTH };

static void corner(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 0, uint32_t) = 1;
}

static void border(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 1, uint32_t) = *TL_DATA(k, 0, const uint32_t);
}

static void inner(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 2, uint32_t) = *TL_DATA(k, 0, const uint32_t) + *TL_DATA(k, 1, const uint32_t);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_CORNER, "corner", TL_AIV, corner, TL_OUT),
    TL_KERNEL(FUNC_BORDER, "border", TL_AIV, border, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_INNER, "inner", TL_AIV, inner, TL_IN, TL_IN, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_N] = {"n", 16, 1, 1 << 14, "rows; each is one scope"},
    [PARAM_WIDTH] = {"width", 16, 1, 1 << 14, "columns"},
};

static void add_cell(struct tl_orch *o, struct tl_task_args *args, const struct tl_tensor *grid, uint32_t i, uint32_t j,
                     bool output)
{
    const uint32_t at[] = {i, j}, one[] = {1, 1};
    struct tl_tensor cell;

    if (tl_view(grid, at, one, &cell))
        tl_orch_fail(o, "wavefront: no such cell");
    else if (output)
        tl_add_output(args, &cell); /* it has a buffer, so nothing is written back to `cell` at submit */
    else
        tl_add_input(args, &cell);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const struct tl_tensor *grid = &in->tensors[0];

    for (uint32_t i = 0; i < grid->shape[0]; i++) {
        TL_SCOPE (o) {
            for (uint32_t j = 0; j < grid->shape[1]; j++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;

                if (i)
                    add_cell(o, &args, grid, i - 1, j, false);
                if (j)
                    add_cell(o, &args, grid, i, j - 1, false);
                add_cell(o, &args, grid, i, j, true);
                tl_submit_aiv(o, FUNC_CORNER + (i != 0) + (j != 0), &args);
            }
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t shape[] = {(uint32_t)tl_data_param(d, "n"), (uint32_t)tl_data_param(d, "width")};

    return tl_data_tensor(d, "grid", TL_OUT, TL_UINT32, 2, shape) ? 0 : TL_ENOMEM;
}

/* Row r of the triangle stands on the grid's diagonal i + j = r, and is made in place from the row before. */
static int golden(struct tl_data *d)
{
    const uint32_t rows = (uint32_t)tl_data_param(d, "n"), cols = (uint32_t)tl_data_param(d, "width");
    uint32_t *grid = tl_data_expected(d, "grid"), *row = calloc(rows + cols, sizeof *row);

    for (uint32_t r = 0; grid && row && r < rows + cols - 1; r++) {
        for (uint32_t i = r; i > 0; i--)
            row[i] += row[i - 1];
        row[0] = 1;
        for (uint32_t i = 0; i <= r; i++) {
            if (i < rows && r - i < cols)
                grid[(uint64_t)i * cols + r - i] = row[i];
        }
    }
    free(row);
    return grid && row ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "wavefront", .summary = "a grid of tasks, each after its neighbours above and to the left",
           .kernels = kernels, .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .params = params,
           .n_params = TL_ARRAY_COUNT(params), .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
