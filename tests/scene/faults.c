/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of test_crash.c, compiled by `tasklens run`: five tasks in a chain, and one way to die, in the third
 * task's kernel (where=0) or in the orchestration after three submits (where=1).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tasklens/program.h>

enum { PARAM_WAY, PARAM_WHERE, PARAM_ON_AIC, PARAM_FAR, PARAM_EXTRA, PARAM_BAD, PARAM_LINGER };
enum {
    WAY_NULL,
    WAY_READ,
    WAY_BUS,
    WAY_DIVIDE,
    WAY_TRAP,
    WAY_ABORT,
    WAY_OVERFLOW,
    WAY_EXIT,
    WAY_EXIT_NOW,
    WAY_RAISE,
    WAY_JUMP,
    WAY_DEVICE_ADDRESS,
    WAY_PAST,
    WAY_INPUT,
    WAY_EARLIER,
    WAYS
};

static const struct tl_param params[] = {
    [PARAM_WAY] = {"way", 0, 0, WAYS - 1, "how it dies"},
    [PARAM_WHERE] = {"where", 0, 0, 1, "0: in a kernel, 1: in the orchestration"},
    [PARAM_ON_AIC] = {"aic", 0, 0, 1, "1: the kernel runs on a matrix core"},
    [PARAM_FAR] = {"far", 0, -(INT64_C(1) << 32), INT64_C(1) << 32, "way 12: bytes past the output"},
    [PARAM_EXTRA] = {"extra", 0, 0, 1 << 20, "tasks before, each with an output of its own"},
    [PARAM_BAD] = {"bad", 2, 0, 4, "the task that dies"},
    [PARAM_LINGER] = {"linger", 0, 0, 10,
                      "seconds that the orchestration takes after its submits: others run the kernels"},
};

enum { FUNC_ADD_ONE, FUNC_DIE, FUNC_DIE_AIC, FUNC_ONE };
enum { TASKS = 5, ELEMENTS = 64 };

static volatile int64_t zero, depth;

static int64_t overflow(int64_t n)
{
    volatile char frame[1000];

    frame[0] = (char)n;
    depth = n;
    return depth < 0 ? 0 : overflow(n + 1) + frame[0] + depth;
}

static void bus(void)
{
    int fd = memfd_create("empty", 0);
    volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    p[16] = 1;
}

static void die(int64_t way, volatile char *output_end, int64_t far, uint64_t device_address)
{
    void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)0x12345678;
    volatile int *volatile p = NULL;

    switch (way) {
    case WAY_NULL:
        *p = 1;
        break;
    case WAY_READ:
        p = (volatile int *)(uintptr_t)0x7000;
        zero = *p;
        break;
    case WAY_BUS:
        bus();
        break;
    case WAY_DIVIDE:
        zero = depth / zero;
        break;
    case WAY_TRAP:
        __builtin_trap();
    case WAY_ABORT:
        abort();
    case WAY_OVERFLOW:
        depth = overflow(0);
        break;
    case WAY_EXIT:
        exit(5);
    case WAY_EXIT_NOW:
        _exit(-6);
    case WAY_RAISE:
        raise(SIGSEGV);
        break;
    case WAY_JUMP:
        nowhere();
        break;
    case WAY_DEVICE_ADDRESS:
        p = (volatile int *)(uintptr_t)device_address;
        *p = 1;
        break;
    default:
        output_end[far] = 1;
        break;
    }
}

/* Where the first task's output is, which the third is not given. */
static float *first_output;

static void add_one(const struct tl_kernel_args *k)
{
    if (TL_DATA(k, 0, const float)[0] == 0.0f)
        first_output = TL_DATA(k, 1, float);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + 1.0f;
}

static void one(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 0, float) = 1.0f;
}

static void die_in_kernel(const struct tl_kernel_args *k)
{
    add_one(k);
    if (TL_SCALAR_OF(k, 0, int64_t) == WAY_INPUT) {
        ((volatile float *)k->data[0])[-1] = 1.0f;
        return;
    }
    if (TL_SCALAR_OF(k, 0, int64_t) == WAY_EARLIER) {
        ((volatile float *)first_output)[-1] = 1.0f;
        return;
    }
    die(TL_SCALAR_OF(k, 0, int64_t), (char *)(TL_DATA(k, 1, float) + ELEMENTS), TL_SCALAR_OF(k, 1, int64_t),
        k->tensors[1].buffer);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_ADD_ONE, "add_one", TL_AIV, add_one, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_DIE, "die", TL_AIV, die_in_kernel, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_DIE_AIC, "die_aic", TL_AIC, die_in_kernel, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_ONE, "one", TL_AIV, one, TL_OUT),
};

static void submit(struct tl_orch *o, const struct tl_program_args *in, int i, const struct tl_task_args *args)
{
    if (i != in->params[PARAM_BAD] || in->params[PARAM_WHERE] != 0)
        tl_submit_aiv(o, FUNC_ADD_ONE, args);
    else if (in->params[PARAM_ON_AIC])
        tl_submit_aic(o, FUNC_DIE_AIC, args);
    else
        tl_submit_aiv(o, FUNC_DIE, args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t elements = ELEMENTS;
    struct tl_tensor from = in->tensors[0];

    TL_SCOPE (o) {
        for (int64_t i = 0; i < in->params[PARAM_EXTRA]; i++) {
            const uint32_t single = 1;
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor to = tl_tensor_make(TL_FLOAT32, 1, &single);

            tl_add_output(&args, &to);
            tl_submit_aiv(o, FUNC_ONE, &args);
        }
        for (int i = 0; i < TASKS; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor to = i == TASKS - 1 ? in->tensors[1] : tl_tensor_make(TL_FLOAT32, 1, &elements);

            if (in->params[PARAM_WHERE] != 0 && i == in->params[PARAM_BAD] + 1)
                die(in->params[PARAM_WAY], NULL, 0, from.buffer);
            tl_add_input(&args, &from);
            tl_add_output(&args, &to);
            tl_add_scalar(&args, in->params[PARAM_WAY]);
            tl_add_scalar(&args, in->params[PARAM_FAR]);
            submit(o, in, i, &args);
            from = to;
        }
        if (in->params[PARAM_LINGER] != 0)
            (void)sleep((unsigned)in->params[PARAM_LINGER]);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t elements = ELEMENTS;
    float *in = tl_data_tensor(d, "in", TL_IN, TL_FLOAT32, 1, &elements);

    if (!in)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        in[i] = (float)i;
    return tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 1, &elements) ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "faults", .summary = "dies as it is asked to", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare);
