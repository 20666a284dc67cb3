/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past_end: a kernel that writes beside its output. FAULT: one value 64 bytes past the end of an intermediate result,
 * or with --set at=-1 in front of its start. Nothing lies there, so the results are right and nobody notices, until the
 * memory is laid out another way. --guard finds it: an access past the end faults, and what is written in front of the
 * start is found when the task is finished.
 */
#include <tasklens/program.h>

enum { PARAM_AT };

static const struct tl_param params[] = {
    [PARAM_AT] = {"at", 16, -16, 1 << 20, "elements from the output's end, or if negative from its start"},
};

enum { FUNC_ADD_ONE, FUNC_PAST };
enum { TASKS = 4, BAD_TASK = 1, ELEMENTS = 64 };

static void add_one(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1.0f;
}

static void past(const struct tl_kernel_args *k)
{
    const int64_t at = TL_SCALAR_OF(k, 0, int64_t);
    volatile float *out = TL_DATA(k, 1, float);

    add_one(k);
    out[at < 0 ? at : ELEMENTS + at] = 1.0f; /* FAULT */
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_ADD_ONE, "add_one", TL_AIV, add_one, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_PAST, "past", TL_AIV, past, TL_IN, TL_OUT),
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t elements = ELEMENTS;
    struct tl_tensor from = in->tensors[0];

    TL_SCOPE (o) {
        for (int i = 0; i < TASKS; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor to = i == TASKS - 1 ? in->tensors[1] : tl_tensor_make(TL_FLOAT32, 1, &elements);

            tl_add_input(&args, &from);
            tl_add_output(&args, &to);
            tl_add_scalar(&args, in->params[PARAM_AT]);
            tl_submit_aiv(o, i == BAD_TASK ? FUNC_PAST : FUNC_ADD_ONE, &args);
            from = to;
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t elements = ELEMENTS;
    float *in = tl_data_tensor(d, "in", TL_IN, TL_FLOAT32, 1, &elements);

    if (!in || !tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 1, &elements))
        return TL_ENOMEM;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        in[i] = (float)i;
    return 0;
}

static int golden(struct tl_data *d)
{
    const float *in = tl_data_input(d, "in");
    float *out = tl_data_expected(d, "out");

    if (!in || !out)
        return TL_ENOENT;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        out[i] = in[i] + (float)TASKS;
    return 0;
}

TL_PROGRAM(.name = "past_end", .summary = "fault: a kernel that writes beside its output", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
