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

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    tl_tensor x = in->tensors[0];
    float factor = 3.0f;

    TL_SCOPE (o) {
        tl_task_args args = TL_TASK_ARGS_INIT;
        tl_add_input(&args, &x);
        tl_add_scalar(&args, factor);
        tl_dump(&args, x, factor);
        tl_submit_aiv(o, 0, &args);
    }
}

int main()
{
    const uint32_t shape[] = {4, 6}, offset[] = {1, 2}, box[] = {2, 3};
    tl_tensor whole = tl_tensor_make(TL_BFLOAT16, 2, shape), view;
    tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    tl_run_config config = TL_RUN_CONFIG_INIT;
    void (*orchestration)(tl_orch *, const tl_program_args *) = orchestrate;

    if (tl_view(&whole, offset, box, &view) != 0 || tl_tensor_numel(&view) != 6 || view.start_offset != 8)
        return 1;
    if (tl_tensor_is_contiguous(&view) || std::strcmp(tl_dtype_name(view.dtype), "bfloat16") != 0)
        return 1;
    if (opts.struct_size != sizeof opts || config.struct_size != sizeof config || config.dump_args != 0)
        return 1;
    std::printf("%s\n", tl_errname(TL_EINVAL));
    return orchestration == nullptr;
}
