/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_args: tasks that cannot be submitted. Each case has one FAULT, of which the run says what and where; a first,
 * sound task comes before it, so that there is something recorded already.
 */
#include <tasklens/program.h>

enum { FUNC_SET, FUNC_CUBE };
enum { PARAM_FAULT };
enum {
    NO_FAULT,
    UNKNOWN_KERNEL,
    WRONG_CORE,
    EMPTY_MIX,
    MANY_TENSORS,
    MANY_SCALARS,
    MARK_NOT_ADDED,
    NOT_ALLOCATED,
    UNKNOWN_DEPENDENCY,
    OPEN_SCOPE,
    OWN_MESSAGE,
    FAULTS
};

static void set(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 0, float) = 1.0f;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_SET, "set", TL_AIV, set, TL_OUT),
    TL_KERNEL(FUNC_CUBE, "cube", TL_AIC, set, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_FAULT] = {"fault", 0, 0, FAULTS - 1, "which fault; the cases name them"},
};

static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "unknown_kernel", .settings = {{"fault", UNKNOWN_KERNEL}}},
    {.name = "wrong_core", .settings = {{"fault", WRONG_CORE}}},
    {.name = "empty_mix", .settings = {{"fault", EMPTY_MIX}}},
    {.name = "many_tensors", .settings = {{"fault", MANY_TENSORS}}},
    {.name = "many_scalars", .settings = {{"fault", MANY_SCALARS}}},
    {.name = "mark_not_added", .settings = {{"fault", MARK_NOT_ADDED}}}, /* counts at dump levels 1 and 3 */
    {.name = "not_allocated", .settings = {{"fault", NOT_ALLOCATED}}},
    {.name = "unknown_dependency", .settings = {{"fault", UNKNOWN_DEPENDENCY}}},
    {.name = "open_scope", .settings = {{"fault", OPEN_SCOPE}}},
    {.name = "own_message", .settings = {{"fault", OWN_MESSAGE}}},
};

/* Faults of the argument list. */
static void spoil(struct tl_task_args *args, int64_t fault, const struct tl_tensor *x)
{
    static const tl_task_id never = 12345;
    static const float factor = 2.0f;
    const struct tl_tensor unallocated = tl_tensor_make(TL_FLOAT32, 1, x->shape);

    for (int i = 0; i < TL_MAX_TENSORS && fault == MANY_TENSORS; i++)
        tl_add_input(args, x);
    for (int i = 0; i <= TL_MAX_SCALARS && fault == MANY_SCALARS; i++)
        tl_add_scalar(args, factor);
    if (fault == MARK_NOT_ADDED)
        tl_dump(args, factor);
    if (fault == NOT_ALLOCATED)
        tl_add_input(args, &unallocated);
    if (fault == UNKNOWN_DEPENDENCY)
        tl_set_dependencies(args, &never, 1);
}

static void submit(struct tl_orch *o, const struct tl_program_args *in, uint32_t element, int64_t fault)
{
    const uint32_t one = 1;
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor out;

    if (tl_view(&in->tensors[1], &element, &one, &out)) {
        tl_orch_fail(o, "bad_args: no such element");
        return;
    }
    tl_add_output(&args, &out);
    spoil(&args, fault, &in->tensors[0]);
    if (fault == EMPTY_MIX)
        tl_submit_mix(o, (struct tl_mix){.aic = -1, .aiv0 = -1, .aiv1 = -1}, &args);
    else
        tl_submit_aiv(o, fault == UNKNOWN_KERNEL ? 77 : fault == WRONG_CORE ? FUNC_CUBE : FUNC_SET, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const int64_t fault = in->params[PARAM_FAULT];

    TL_SCOPE (o) {
        submit(o, in, 0, NO_FAULT);
        submit(o, in, 1, fault);
    }
    if (fault == OPEN_SCOPE)
        tl_scope_begin(o, TL_SCOPE_AUTO, __FILE__, __LINE__); /* FAULT: and no tl_scope_end() */
    if (fault == OWN_MESSAGE)
        tl_orch_fail(o, "bad_args: this shape is not supported");
}

static int prepare(struct tl_data *d)
{
    const uint32_t two = 2;

    if (!tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &two))
        return TL_ENOMEM;
    return tl_data_tensor(d, "out", TL_OUT, TL_FLOAT32, 1, &two) ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    float *out = tl_data_expected(d, "out");

    if (!out)
        return TL_ENOENT;
    out[0] = out[1] = 1.0f;
    return 0;
}

TL_PROGRAM(.name = "bad_args", .summary = "fault: tasks that cannot be submitted, one a case", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .cases = cases, .n_cases = TL_ARRAY_COUNT(cases), .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
