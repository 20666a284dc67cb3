/* SPDX-License-Identifier: Apache-2.0 */
/* independent: `n` tasks that share nothing. Each writes its number to an element of its own. */
#include <tasklens/program.h>

enum { FUNC_MARK };
enum { PARAM_N, PARAM_SCOPE_TASKS };

static void mark(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 0, int32_t) = TL_SCALAR_OF(k, 0, int32_t);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_MARK, "mark", TL_AIV, mark, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_N] = {"n", 256, 1, 1 << 24, "tasks"},
    [PARAM_SCOPE_TASKS] = {"scope_tasks", 1024, 1, 1 << 30, "tasks in one scope; a ring must hold them all"},
};

static void submit_mark(struct tl_orch *o, const struct tl_tensor *out, uint32_t i)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const uint32_t one = 1;
    const int32_t number = (int32_t)i;
    struct tl_tensor element;

    if (tl_view(out, &i, &one, &element)) {
        tl_orch_fail(o, "independent: no such element");
        return;
    }
    tl_add_output(&args, &element);
    tl_add_scalar(&args, number);
    tl_submit_aiv(o, FUNC_MARK, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t n = (uint32_t)in->params[PARAM_N];
    const int64_t chunk = in->params[PARAM_SCOPE_TASKS];

    for (int64_t first = 0; first < n; first += chunk) {
        TL_SCOPE (o) {
            for (int64_t i = first; i < n && i < first + chunk; i++)
                submit_mark(o, &in->tensors[0], (uint32_t)i);
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t n = (uint32_t)tl_data_param(d, "n");

    return tl_data_tensor(d, "out", TL_OUT, TL_INT32, 1, &n) ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    const int64_t n = tl_data_param(d, "n");
    int32_t *out = tl_data_expected(d, "out");

    for (int64_t i = 0; out && i < n; i++)
        out[i] = (int32_t)i;
    return out ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "independent", .summary = "tasks that share nothing", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
