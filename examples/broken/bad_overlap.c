/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_overlap: a task whose output lies partly over its input. FAULT: elements 4 to 7 are both, so what the kernel
 * reads depends on how far it has written. The submit is refused; with --set shift=8 the two lie side by side and it is
 * fine.
 */
#include <tasklens/program.h>

enum { FUNC_DOUBLE };
enum { PARAM_SHIFT };
enum { ELEMENTS = 16, PART = 8 };

static void twice(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < PART; i++)
        TL_DATA(k, 1, float)[i] = 2.0f * TL_DATA(k, 0, const float)[i];
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_DOUBLE, "double", TL_AIV, twice, TL_IN, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_SHIFT] = {"shift", 4, 0, PART, "elements between the start of the input and of the output"},
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t first = 0, shift = (uint32_t)in->params[PARAM_SHIFT], part = PART;
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor from, to;

    if (tl_view(&in->tensors[0], &first, &part, &from) || tl_view(&in->tensors[0], &shift, &part, &to)) {
        tl_orch_fail(o, "bad_overlap: no such part");
        return;
    }
    TL_SCOPE (o) {
        tl_add_input(&args, &from);
        tl_add_output(&args, &to); /* FAULT */
        tl_submit_aiv(o, FUNC_DOUBLE, &args);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t elements = ELEMENTS;
    float *x = tl_data_tensor(d, "x", TL_INOUT, TL_FLOAT32, 1, &elements);

    for (uint32_t i = 0; x && i < ELEMENTS; i++)
        x[i] = (float)i;
    return x ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    const int64_t shift = tl_data_param(d, "shift");
    float *x = tl_data_expected(d, "x");

    for (int64_t i = 0; x && i < ELEMENTS; i++)
        x[i] = i >= shift && i < shift + PART ? 2.0f * (float)(i - shift) : (float)i;
    return x ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "bad_overlap", .summary = "fault: an output that overlaps its own input", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
