/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past_buffer: a view edited by hand, which bypasses the checks of tl_view(). FAULT: it claims more elements than its
 * buffer has. The submit is refused before a kernel, or the dump, touches what is behind it.
 */
#include <tasklens/program.h>

enum { FUNC_COPY };
enum { PARAM_EXTRA };
enum { ELEMENTS = 32 };

static void copy(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i];
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_COPY, "copy", TL_AIV, copy, TL_IN, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_EXTRA] = {"extra", 1, 0, 1 << 30, "elements that the view claims and the buffer does not have"},
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], out = in->tensors[1];
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    x.shape[0] += (uint32_t)in->params[PARAM_EXTRA]; /* FAULT */
    TL_SCOPE (o) {
        tl_add_input(&args, &x);
        tl_add_output(&args, &out);
        tl_submit_aiv(o, FUNC_COPY, &args);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t elements = ELEMENTS;
    float *x = tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &elements);

    if (!x || !tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 1, &elements))
        return TL_ENOMEM;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        x[i] = (float)i;
    return 0;
}

static int golden(struct tl_data *d)
{
    float *out = tl_data_expected(d, "out");

    for (uint32_t i = 0; out && i < ELEMENTS; i++)
        out[i] = (float)i;
    return out ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "past_buffer", .summary = "fault: a view that reaches past its buffer", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
