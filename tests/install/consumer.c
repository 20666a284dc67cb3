/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside the tree: sees only what is installed, and links what pkg-config says. */
#include <stdio.h>
#include <string.h>

#include <tasklens/error.h>
#include <tasklens/kernel.h>
#include <tasklens/program.h>
#include <tasklens/recording.h>
#include <tasklens/task.h>
#include <tasklens/tensor.h>
#include <tasklens/worker.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { FUNC_SCALE };

static void scale(const struct tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float);
    float *y = TL_DATA(k, 1, float);
    float factor = TL_SCALAR_OF(k, 0, float);

    for (uint64_t i = 0; i < tl_tensor_numel(&k->tensors[0]); i++)
        y[i] = x[i] * factor;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_SCALE, "scale", TL_AIV, scale, TL_IN, TL_OUT_EXISTING, TL_SCALAR),
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], y = in->tensors[1];
    float factor = 3.0f;

    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        tl_add_input(&args, &x);
        tl_add_output(&args, &y);
        tl_add_scalar(&args, factor);
        tl_dump(&args, x, y, factor);
        tl_submit_aiv(o, FUNC_SCALE, &args);
    }
}

static const struct tl_program program = {
    .struct_size = sizeof(struct tl_program),
    .api_version = TL_PROGRAM_API,
    .name = "scale",
    .kernels = kernels,
    .n_kernels = TL_COUNT(kernels),
    .orchestrate = orchestrate,
};

int main(void)
{
    float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, y[4] = {0};
    struct tl_host_tensor tensors[] = {
        {.name = "x", .data = x, .shape = {4}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "y", .data = y, .shape = {4}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT},
    };
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_run_result result = {0};
    struct tl_worker *worker = NULL;
    struct tl_loaded *loaded = NULL;
    struct tl_error err = {0};

    CHECK(strcmp(tl_strerror(TL_ENOMEM), "out of memory") == 0);
    opts.mode = TL_DEVICE_THREAD;
    CHECK(tl_worker_open(&opts, &worker, &err) == 0);
    CHECK(tl_worker_load_linked(worker, &program, &loaded, &err) == 0);
    if (tl_worker_run(worker, loaded, tensors, 2, NULL, 0, &config, &result, &err) != 0) {
        fprintf(stderr, "run: %s\n", err.msg);
        return 1;
    }
    CHECK(result.tasks == 1);
    for (int i = 0; i < 4; i++)
        CHECK(y[i] == 3.0f * x[i]);
    tl_worker_close(worker);
    return 0;
}
