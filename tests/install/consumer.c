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

#include "levels.h"

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
        tl_dump(&args, x, factor);
        tl_submit_aiv(o, FUNC_SCALE, &args);
    }
}

static const struct tl_program program = {
    .struct_size = sizeof(struct tl_program),
    .api_version = TL_PROGRAM_API,
    .name = "scale",
    .kernels = kernels,
    .n_kernels = TL_ARRAY_COUNT(kernels),
    .n_tensors = 2,
    .orchestrate = orchestrate,
};

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK(strcmp(tl_strerror(TL_ENOMEM), "out of memory") == 0);
    return run_levels(&program, argv[1]);
}
