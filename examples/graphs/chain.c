/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain: `n` tasks in `width` chains. Each task adds one to its chain's counter, which makes it wait for the one
 * before. The kernel does next to nothing: what the run costs is the runtime.
 */
#include <tasklens/program.h>

enum { FUNC_STEP };
enum { PARAM_N, PARAM_WIDTH, PARAM_SCOPE_TASKS };

static void step(const struct tl_kernel_args *k)
{
    ++*TL_DATA(k, 0, int32_t);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_STEP, "step", TL_AIV, step, TL_INOUT),
};

static const struct tl_param params[] = {
    [PARAM_N] = {"n", 256, 0, 1 << 30, "tasks"},
    [PARAM_WIDTH] = {"width", 1, 1, 1 << 20, "chains that take turns"},
    [PARAM_SCOPE_TASKS] = {"scope_tasks", 1024, 1, 1 << 30, "tasks in one scope; a ring must hold them all"},
};

static void submit_step(struct tl_orch *o, const struct tl_tensor *counters, uint32_t chain)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const uint32_t one = 1;
    struct tl_tensor counter;

    if (tl_view(counters, &chain, &one, &counter)) {
        tl_orch_fail(o, "chain: no such counter");
        return;
    }
    tl_add_inout(&args, &counter);
    tl_submit_aiv(o, FUNC_STEP, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const int64_t n = in->params[PARAM_N], width = in->params[PARAM_WIDTH], chunk = in->params[PARAM_SCOPE_TASKS];

    for (int64_t first = 0; first < n; first += chunk) {
        TL_SCOPE (o) {
            for (int64_t i = first; i < n && i < first + chunk; i++)
                submit_step(o, &in->tensors[0], (uint32_t)(i % width));
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t width = (uint32_t)tl_data_param(d, "width");

    return tl_data_tensor(d, "counters", TL_INOUT, TL_INT32, 1, &width) ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    const int64_t n = tl_data_param(d, "n"), width = tl_data_param(d, "width");
    int32_t *counters = tl_data_expected(d, "counters");

    for (int64_t i = 0; counters && i < width; i++)
        counters[i] = (int32_t)(n / width + (i < n % width));
    return counters ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "chain", .summary = "chains of tasks that do nothing", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
