/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spmd: one task on matrix cores, one on vector cores and one mix, each as `blocks` blocks: as many as there are, on as
 * many cores as are free. Every block writes its block_idx to its own element; a mix writes it once for each core.
 */
#include <tasklens/program.h>

enum { FUNC_AIC, FUNC_AIV, FUNC_MIX_AIC, FUNC_MIX_AIV };
enum { PARAM_BLOCKS };

/* out [blocks] */
static void alone(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, int32_t)[k->block_idx] = (int32_t)k->block_idx;
}

/* out [3, blocks]: row 0 is the matrix core's, rows 1 and 2 the vector cores' of its cluster. */
static void mix_aic(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, int32_t)[k->block_idx] = (int32_t)k->block_idx;
}

static void mix_aiv(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, int32_t)[(1 + k->lane) * k->block_num + k->block_idx] = (int32_t)k->block_idx;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_AIC, "aic", TL_AIC, alone, TL_OUT),
    TL_KERNEL(FUNC_AIV, "aiv", TL_AIV, alone, TL_OUT),
    TL_KERNEL(FUNC_MIX_AIC, "mix_aic", TL_AIC, mix_aic, TL_OUT),
    TL_KERNEL(FUNC_MIX_AIV, "mix_aiv", TL_AIV, mix_aiv, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_BLOCKS] = {"blocks", 8, 1, 1 << 16, "blocks of each task"},
};

static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "one", .settings = {{"blocks", 1}}},
    {.name = "above_cores", .settings = {{"blocks", 1000}}},
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const struct tl_mix mix = {.aic = FUNC_MIX_AIC, .aiv0 = FUNC_MIX_AIV, .aiv1 = FUNC_MIX_AIV};

    TL_SCOPE (o) {
        for (int i = 0; i < 3; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor out = in->tensors[i];

            tl_add_output(&args, &out);
            tl_set_block_num(&args, (uint32_t)in->params[PARAM_BLOCKS]);
            if (i == 0)
                tl_submit_aic(o, FUNC_AIC, &args);
            else if (i == 1)
                tl_submit_aiv(o, FUNC_AIV, &args);
            else
                tl_submit_mix(o, mix, &args);
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t blocks = (uint32_t)tl_data_param(d, "blocks"), three[] = {3, blocks};

    if (!tl_data_tensor(d, "aic", TL_OUT, TL_INT32, 1, &blocks) ||
        !tl_data_tensor(d, "aiv", TL_OUT, TL_INT32, 1, &blocks) ||
        !tl_data_tensor(d, "mix", TL_OUT, TL_INT32, 2, three))
        return TL_ENOMEM;
    return 0;
}

static int golden(struct tl_data *d)
{
    const int32_t blocks = (int32_t)tl_data_param(d, "blocks");
    int32_t *aic = tl_data_expected(d, "aic"), *aiv = tl_data_expected(d, "aiv"), *mix = tl_data_expected(d, "mix");

    if (!aic || !aiv || !mix)
        return TL_ENOENT;
    for (int32_t i = 0; i < blocks; i++)
        aic[i] = aiv[i] = i;
    for (int32_t i = 0; i < 3 * blocks; i++)
        mix[i] = i % blocks;
    return 0;
}

TL_PROGRAM(.name = "spmd", .summary = "tasks of many blocks on both core types and on clusters", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 3, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .cases = cases, .n_cases = TL_ARRAY_COUNT(cases), .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
