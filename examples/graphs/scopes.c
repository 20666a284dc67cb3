/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scopes: runtime-allocated tensors in nested scopes, round after round, so that rings fill and are reused. At each
 * depth a tensor is made from the one outside (plus one); after the inner scope has ended it is still there, and its
 * first element is added to the round's sum. With small rings (task window and heap) the orchestration has to wait for
 * room; with too small ones it cannot go on, and the run says what to raise.
 */
#include <tasklens/program.h>

enum { FUNC_START, FUNC_NEXT, FUNC_NOTE };
enum { PARAM_DEPTH, PARAM_ROUNDS, PARAM_ELEMENTS };

static void start(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < k->tensors[0].shape[0]; i++)
        TL_DATA(k, 0, float)[i] = TL_SCALAR_OF(k, 0, float);
}

static void next(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < k->tensors[1].shape[0]; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1.0f;
}

static void note(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 1, float) += TL_DATA(k, 0, const float)[k->tensors[0].shape[0] - 1];
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_START, "start", TL_AIV, start, TL_OUT),
    TL_KERNEL(FUNC_NEXT, "next", TL_AIV, next, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_NOTE, "note", TL_AIV, note, TL_IN, TL_INOUT),
};

static const struct tl_param params[] = {
    [PARAM_DEPTH] = {"depth", 4, 1, 16, "nested scopes; beyond the fourth they share a ring"},
    [PARAM_ROUNDS] = {"rounds", 8, 1, 1 << 20, "times the whole nest is built"},
    [PARAM_ELEMENTS] = {"elements", 1024, 1, 1 << 28, "float32 elements of each tensor"},
};

static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "deep", .settings = {{"depth", 9}, {"rounds", 3}}},
};

/* Scope number `depth`, from 0: `outer` is the tensor of the one around it, NULL in the first. */
static void submit_nest(struct tl_orch *o, const struct tl_program_args *in, const struct tl_tensor *outer,
                        struct tl_tensor *sum, float value, uint32_t depth)
{
    const uint32_t elements = (uint32_t)in->params[PARAM_ELEMENTS];
    struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 1, &elements);

    TL_SCOPE (o) {
        struct tl_task_args made = TL_TASK_ARGS_INIT, noted = TL_TASK_ARGS_INIT;

        if (outer)
            tl_add_input(&made, outer);
        tl_add_output(&made, &t);
        if (!outer)
            tl_add_scalar(&made, value);
        tl_submit_aiv(o, outer ? FUNC_NEXT : FUNC_START, &made);
        if (depth + 1 < in->params[PARAM_DEPTH])
            submit_nest(o, in, &t, sum, value, depth + 1);
        tl_add_input(&noted, &t);
        tl_add_inout(&noted, sum);
        tl_submit_aiv(o, FUNC_NOTE, &noted);
    }
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    for (uint32_t round = 0; round < in->params[PARAM_ROUNDS]; round++) {
        const uint32_t one = 1;
        struct tl_tensor sum;

        if (tl_view(&in->tensors[0], &round, &one, &sum))
            tl_orch_fail(o, "scopes: no such round");
        else
            submit_nest(o, in, NULL, &sum, (float)round, 0);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t rounds = (uint32_t)tl_data_param(d, "rounds");

    return tl_data_tensor(d, "sums", TL_INOUT, TL_FLOAT32, 1, &rounds) ? 0 : TL_ENOMEM;
}

/* round + (round + 1) + ... over all depths. */
static int golden(struct tl_data *d)
{
    const int64_t rounds = tl_data_param(d, "rounds"), depth = tl_data_param(d, "depth");
    float *sums = tl_data_expected(d, "sums");

    for (int64_t r = 0; sums && r < rounds; r++)
        sums[r] = (float)(depth * r + depth * (depth - 1) / 2);
    return sums ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "scopes", .summary = "memory in nested scopes, round after round", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .cases = cases, .n_cases = TL_ARRAY_COUNT(cases), .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
