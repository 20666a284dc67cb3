/* SPDX-License-Identifier: Apache-2.0 */
/* The same from C++: the headers' C++ forms of the macros, and a view. */
#include <cstdio>
#include <cstring>

#include <tasklens/error.h>
#include <tasklens/kernel.h>
#include <tasklens/program.h>
#include <tasklens/recording.h>
#include <tasklens/task.h>
#include <tasklens/tensor.h>
#include <tasklens/worker.h>

#include "levels.h"

static void scale(const tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float);
    float *y = TL_DATA(k, 1, float);
    float factor = TL_SCALAR_OF(k, 0, float);

    for (uint64_t i = 0; i < tl_tensor_numel(&k->tensors[0]); i++)
        y[i] = x[i] * factor;
}

static const tl_kernel kernels[] = {
    TL_KERNEL(0, "scale", TL_AIV, scale, TL_IN, TL_OUT_EXISTING, TL_SCALAR),
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    tl_tensor x = in->tensors[0], y = in->tensors[1];
    float factor = 3.0f;

    TL_SCOPE (o) {
        tl_task_args args = TL_TASK_ARGS_INIT;
        tl_add_input(&args, &x);
        tl_add_output(&args, &y);
        tl_add_scalar(&args, factor);
        tl_dump(&args, x, factor);
        tl_submit_aiv(o, 0, &args);
    }
}

static tl_program make_program()
{
    tl_program p = TL_PROGRAM_INIT;

    p.name = "scale";
    p.kernels = kernels;
    p.n_kernels = TL_ARRAY_COUNT(kernels);
    p.n_tensors = 2;
    p.orchestrate = orchestrate;
    return p;
}

int main(int argc, char **argv)
{
    const uint32_t shape[] = {4, 6}, offset[] = {1, 2}, box[] = {2, 3};
    tl_tensor whole = tl_tensor_make(TL_BFLOAT16, 2, shape), view;
    const tl_program program = make_program();

    CHECK(argc == 2);
    CHECK(tl_view(&whole, offset, box, &view) == 0 && tl_tensor_numel(&view) == 6 && view.start_offset == 8);
    CHECK(!tl_tensor_is_contiguous(&view) && std::strcmp(tl_dtype_name(view.dtype), "bfloat16") == 0);
    CHECK(std::strcmp(tl_errname(TL_EINVAL), "TL_EINVAL") == 0);
    return run_levels(&program, argv[1]);
}
