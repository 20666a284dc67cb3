/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of test_streams.c: many small tasks of every shape over one row of counters. Each scope begins with a
 * tensor that the runtime allocates and the next task fills; then chains that meet at random.
 */
#include <tasklens/program.h>

#include "scene/streams.h"

enum { PARAM_TASKS };

static const struct tl_param params[] = {[PARAM_TASKS] = {"tasks", 64, 1, 1 << 17, "submitted, allocations included"}};

enum { FUNC_STEP, FUNC_CUBE, FUNC_MIX_AIC, FUNC_MIX_AIV, FUNC_BLOCKS };

static void step(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[0]++;
}

static void cube(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[1]++;
}

static void mix_aiv(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[2 + k->lane]++;
}

static void blocks(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[4 + k->block_idx]++;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_STEP, "step", TL_AIV, step, TL_INOUT),
    TL_KERNEL(FUNC_CUBE, "cube", TL_AIC, cube, TL_INOUT),
    TL_KERNEL(FUNC_MIX_AIC, "mix_aic", TL_AIC, cube, TL_INOUT),
    TL_KERNEL(FUNC_MIX_AIV, "mix_aiv", TL_AIV, mix_aiv, TL_INOUT),
    TL_KERNEL(FUNC_BLOCKS, "blocks", TL_AIV, blocks, TL_INOUT),
};

/* The counters of one task; those of a fresh tensor are counted nowhere. */
static struct tl_tensor slice_of(const struct tl_tensor *all, int64_t i)
{
    const uint32_t from = STREAMS_SLICE * streams_slice(i), size = STREAMS_SLICE;
    struct tl_tensor slice = *all;

    (void)tl_view(all, &from, &size, &slice);
    return slice;
}

static void submit(struct tl_orch *o, int64_t i, const struct tl_tensor *slice)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_inout(&args, slice);
    if (i % 256 == 1)
        tl_dump(&args);
    switch (streams_kind(i)) {
    case STREAMS_STEP:
        tl_submit_aiv(o, FUNC_STEP, &args);
        break;
    case STREAMS_CUBE:
        tl_submit_aic(o, FUNC_CUBE, &args);
        break;
    case STREAMS_MIX:
        tl_submit_mix(o, (struct tl_mix){FUNC_MIX_AIC, FUNC_MIX_AIV, FUNC_MIX_AIV}, &args);
        break;
    default:
        tl_set_block_num(&args, STREAMS_BLOCKS);
        tl_submit_aiv(o, FUNC_BLOCKS, &args);
        break;
    }
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const int64_t tasks = in->params[PARAM_TASKS];

    for (int64_t i = 0; i < tasks;) {
        TL_SCOPE (o) {
            for (int64_t end = i + STREAMS_SCOPE; i < end && i < tasks; i++) {
                struct tl_tensor slice = slice_of(&in->tensors[0], i), *list[] = {&slice};
                const uint32_t size = STREAMS_SLICE;

                if (streams_kind(i) == STREAMS_ALLOC) {
                    slice = tl_tensor_make(TL_UINT64, 1, &size);
                    tl_alloc_tensors(o, list, 1);
                    if (++i < tasks)
                        submit(o, i, &slice);
                } else {
                    submit(o, i, &slice);
                }
            }
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t size = STREAMS_SLICES * STREAMS_SLICE;

    return tl_data_tensor(d, "counts", TL_INOUT, TL_UINT64, 1, &size) != NULL ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    const int64_t tasks = tl_data_param(d, "tasks");
    uint64_t *counts = tl_data_expected(d, "counts");

    for (int64_t i = 0; i < tasks; i++) {
        uint64_t *at = counts + STREAMS_SLICE * streams_slice(i);
        const enum streams_kind kind = streams_kind(i);

        if (kind == STREAMS_ALLOC || (i > 0 && streams_kind(i - 1) == STREAMS_ALLOC))
            continue;
        at[0] += kind == STREAMS_STEP;
        at[1] += kind == STREAMS_CUBE || kind == STREAMS_MIX;
        for (unsigned lane = 0; kind == STREAMS_MIX && lane < 2; lane++)
            at[2 + lane]++;
        for (unsigned block = 0; kind == STREAMS_SPMD && block < STREAMS_BLOCKS; block++)
            at[4 + block]++;
    }
    return 0;
}

TL_PROGRAM(.name = "streams", .summary = "many small tasks of every shape", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
