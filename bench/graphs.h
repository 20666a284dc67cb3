/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of empty kernels, for one bench file's use. Parameters: how many tasks; chains, or the side of a square. */
#ifndef TL_BENCH_GRAPHS_H
#define TL_BENCH_GRAPHS_H

#include <stdlib.h>

#include <tasklens/worker.h>

#define CHAINS 64

enum { FUNC_NOP };

static void nop(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_NOP, "nop", TL_AIV, nop, TL_INOUT, TL_IN, TL_IN)};

static struct tl_tensor cell_of(const struct tl_program_args *in, uint32_t i)
{
    struct tl_tensor t;
    uint32_t one = 1;

    if (tl_view(&in->tensors[0], &i, &one, &t) < 0)
        abort();
    return t;
}

static void orchestrate_chains(struct tl_orch *o, const struct tl_program_args *in)
{
    int64_t tasks = in->params[0], chains = in->params[1];

    for (int64_t i = 0; i < tasks; i += CHAINS) {
        TL_SCOPE (o) {
            for (int64_t k = i; k < i + CHAINS && k < tasks; k++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;
                struct tl_tensor cell = cell_of(in, (uint32_t)(k % chains));

                tl_add_inout(&args, &cell);
                tl_submit_aiv(o, FUNC_NOP, &args);
            }
        }
    }
}

static void orchestrate_independent(struct tl_orch *o, const struct tl_program_args *in)
{
    int64_t tasks = in->params[0];

    for (int64_t i = 0; i < tasks; i += CHAINS) {
        TL_SCOPE (o) {
            for (int64_t k = i; k < i + CHAINS && k < tasks; k++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;

                tl_submit_aiv(o, FUNC_NOP, &args);
            }
        }
    }
}

/* Each cell waits for its left and its upper neighbour. */
static void orchestrate_wavefront(struct tl_orch *o, const struct tl_program_args *in)
{
    int64_t side = in->params[1];

    for (int64_t i = 0; i < side; i++) {
        TL_SCOPE (o) {
            for (int64_t j = 0; j < side; j++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;
                struct tl_tensor cell = cell_of(in, (uint32_t)(i * side + j)), up, left;

                tl_add_inout(&args, &cell);
                if (i > 0) {
                    up = cell_of(in, (uint32_t)((i - 1) * side + j));
                    tl_add_input(&args, &up);
                }
                if (j > 0) {
                    left = cell_of(in, (uint32_t)(i * side + j - 1));
                    tl_add_input(&args, &left);
                }
                tl_submit_aiv(o, FUNC_NOP, &args);
            }
        }
    }
}

static const struct tl_param bench_params[] = {{"tasks", 1, 1, 1 << 20, "tasks"},
                                               {"width", 1, 1, 1 << 20, "chains, or side"}};

static struct tl_program bench_program(void (*orchestrate)(struct tl_orch *o, const struct tl_program_args *in))
{
    return (struct tl_program){.struct_size = sizeof(struct tl_program),
                               .api_version = TL_PROGRAM_API,
                               .name = "empty",
                               .kernels = kernels,
                               .n_kernels = TL_ARRAY_COUNT(kernels),
                               .params = bench_params,
                               .n_params = TL_ARRAY_COUNT(bench_params),
                               .orchestrate = orchestrate};
}

static struct tl_host_tensor bench_cells(int64_t tasks)
{
    static float cells[1 << 20];

    return (struct tl_host_tensor){.name = "cells",
                                   .data = cells,
                                   .shape = {(uint32_t)(tasks < CHAINS ? CHAINS : tasks)},
                                   .dtype = TL_FLOAT32,
                                   .rank = 1,
                                   .role = TL_IN};
}

/* The largest square of at most *tasks; its side. */
static int64_t bench_square(int64_t *tasks)
{
    int64_t side = 1;

    while ((side + 1) * (side + 1) <= *tasks)
        side++;
    *tasks = side * side;
    return side;
}

#endif
