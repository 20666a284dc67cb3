/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of test_hang.c and test_image.c: five tasks in a chain, the third of which writes half of its output and
 * never returns (stuck=1). It sleeps in its loop, so that many such runs may go on side by side. With tell=1 the
 * orchestration says on stderr that it runs. With linger=1 the chip that ran it never ends by itself. With loop=1 the
 * orchestration never returns, with loop=2 it submits without end and looks at no answer.
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <tasklens/program.h>

enum { PARAM_ELEMENTS, PARAM_TASKS, PARAM_STUCK, PARAM_TELL, PARAM_LINGER, PARAM_LOOP };

static const struct tl_param params[] = {
    [PARAM_ELEMENTS] = {"elements", 64, 2, 1 << 24, "of each tensor"},
    [PARAM_TASKS] = {"tasks", 5, 3, 1 << 20, "in the chain"},
    [PARAM_STUCK] = {"stuck", 1, 0, 1, "1: the third task never returns"},
    [PARAM_TELL] = {"tell", 0, 0, 1, "1: each orchestration is told"},
    [PARAM_LINGER] = {"linger", 0, 0, 1, "1: a destructor never returns"},
    [PARAM_LOOP] = {"loop", 0, 0, 2, "1: the orchestration never returns, 2: it submits without end"},
};

enum { FUNC_ADD, FUNC_STUCK };
enum { STUCK_TASK = 2 };

static void add_to(const struct tl_kernel_args *k, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        TL_DATA(k, 2, float)
    [i] = TL_DATA(k, 0, const float)[i] + TL_DATA(k, 1, const float)[i] + TL_SCALAR_OF(k, 0, float);
}

static void add(const struct tl_kernel_args *k)
{
    add_to(k, k->tensors[2].shape[0]);
}

static void sleep_for_ever(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (;;)
        nanosleep(&moment, NULL);
}

static void stuck(const struct tl_kernel_args *k)
{
    add_to(k, k->tensors[2].shape[0] / 2);
    sleep_for_ever();
}

static bool linger;

__attribute__((destructor)) static void at_end(void)
{
    if (linger)
        sleep_for_ever();
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_ADD, "add", TL_AIV, add, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_STUCK, "stuck", TL_AIV, stuck, TL_IN, TL_IN, TL_OUT),
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const int64_t tasks = in->params[PARAM_TASKS];
    struct tl_tensor from = in->tensors[0], side = in->tensors[1];
    float step = 0.5f;

    linger = in->params[PARAM_LINGER] != 0;
    if (in->params[PARAM_TELL])
        (void)fprintf(stderr, "orchestrated\n");
    TL_SCOPE (o) {
        for (int64_t i = 0; i < tasks || in->params[PARAM_LOOP] == 2; i++) {
            struct tl_tensor to = i == tasks - 1 ? in->tensors[2] : tl_tensor_make(TL_FLOAT32, 1, from.shape);
            struct tl_task_args args = TL_TASK_ARGS_INIT;

            tl_add_input(&args, &from);
            tl_add_input(&args, &side);
            tl_add_output(&args, &to);
            tl_add_scalar(&args, step);
            tl_dump(&args, from, to, step); /* all but the side input */
            tl_submit_aiv(o, i == STUCK_TASK && in->params[PARAM_STUCK] ? FUNC_STUCK : FUNC_ADD, &args);
            from = to;
        }
        if (in->params[PARAM_LOOP] == 1)
            sleep_for_ever();
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t elements = (uint32_t)tl_data_param(d, "elements");
    float *in = tl_data_tensor(d, "in", TL_IN, TL_FLOAT32, 1, &elements);
    float *side = tl_data_tensor(d, "side", TL_IN, TL_FLOAT32, 1, &elements);

    if (!in || !side)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < elements; i++) {
        in[i] = (float)(i % 1024);
        side[i] = 2.0f;
    }
    return tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 1, &elements) ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "hangs", .summary = "the third of its tasks never returns", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare);
