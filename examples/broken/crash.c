/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash: the third of five tasks writes where it must not. FAULT: a null pointer, or with --set far=1 an index far
 * behind its output. In process mode the host lives on, keeps what was recorded and says which task, kernel and address
 * it was.
 */
#include <stddef.h>

#include <tasklens/program.h>

enum { PARAM_FAR };

static const struct tl_param params[] = {
    [PARAM_FAR] = {"far", 0, 0, 1, "0: writes to a null pointer; 1: far behind the output"},
};

enum { FUNC_ADD_ONE, FUNC_CRASH };
enum { TASKS = 5, BAD_TASK = 2, ELEMENTS = 64 };

static void add_one(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1.0f;
}

/* Where to write: nowhere, or far behind the output. Volatile, so that no compiler sees the fault coming. */
static void crash(const struct tl_kernel_args *k)
{
    const bool far = TL_SCALAR_OF(k, 0, int64_t) != 0;
    volatile uint64_t index = far ? UINT64_C(1) << 42 : 0;
    float *volatile target = far ? TL_DATA(k, 1, float) : NULL;

    for (uint32_t i = 0; i < ELEMENTS / 2; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1.0f;
    target[index] = 1.0f; /* FAULT */
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_ADD_ONE, "add_one", TL_AIV, add_one, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_CRASH, "crash", TL_AIV, crash, TL_IN, TL_OUT),
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
            tl_add_scalar(&args, in->params[PARAM_FAR]);
            tl_submit_aiv(o, i == BAD_TASK ? FUNC_CRASH : FUNC_ADD_ONE, &args);
            from = to;
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t elements = ELEMENTS;

    if (!tl_data_tensor(d, "in", TL_IN, TL_FLOAT32, 1, &elements))
        return TL_ENOMEM;
    return tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 1, &elements) ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "crash", .summary = "fault: the third of five tasks writes where it must not", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare);
