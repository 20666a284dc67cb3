/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin: the third of five tasks never returns. FAULT: an endless loop. The schedulers declare the hang once their
 * no-progress budget is over (TASKLENS_SCHEDULER_TIMEOUT_MS), name the task, and record how far its output had come.
 */
#include <tasklens/program.h>

enum { FUNC_ADD_ONE, FUNC_SPIN };
enum { TASKS = 5, BAD_TASK = 2, ELEMENTS = 64 };

static void add_one(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1.0f;
}

/* Half of the output is written before the core is lost: what is seen of it is partial. */
static void spin(const struct tl_kernel_args *k)
{
    volatile uint32_t turns = 0;

    for (uint32_t i = 0; i < ELEMENTS / 2; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1.0f;
    for (;;) /* FAULT */
        turns++;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_ADD_ONE, "add_one", TL_AIV, add_one, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_SPIN, "spin", TL_AIV, spin, TL_IN, TL_OUT),
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
            tl_submit_aiv(o, i == BAD_TASK ? FUNC_SPIN : FUNC_ADD_ONE, &args);
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

TL_PROGRAM(.name = "spin", .summary = "fault: the third of five tasks never returns", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .orchestrate = orchestrate, .prepare = prepare);
