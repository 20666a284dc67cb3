/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_deps: one task that depends on very many others, and by nothing but tl_set_dependencies: the tensors are passed
 * with tl_add_no_dep, so the runtime derives nothing from them. Each producer raises a flag and the consumer counts the
 * flags; it counts too few if one dependency is lost.
 */
#include <stdlib.h>

#include <tasklens/program.h>

enum { FUNC_RAISE, FUNC_COUNT };
enum { PARAM_DEPS, PARAM_PRODUCERS };

#define SCOPE_TASKS 1024

static void raise_flag(const struct tl_kernel_args *k)
{
    *TL_DATA(k, 0, int32_t) = 1;
}

static void count_flags(const struct tl_kernel_args *k)
{
    int32_t sum = 0;

    for (uint32_t i = 0; i < k->tensors[0].shape[0]; i++)
        sum += TL_DATA(k, 0, const int32_t)[i];
    *TL_DATA(k, 1, int32_t) = sum;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_RAISE, "raise", TL_AIV, raise_flag, TL_OUT),
    TL_KERNEL(FUNC_COUNT, "count", TL_AIV, count_flags, TL_IN, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_DEPS] = {"deps", 65, 1, 1 << 24, "explicit dependencies of the last task"},
    [PARAM_PRODUCERS] = {"producers", 65, 1, 1 << 24, "tasks that they name, in turn; at most deps"},
};

static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "646", .settings = {{"deps", 646}, {"producers", 646}}},
    {.name = "600000", .settings = {{"deps", 600000}, {"producers", 1024}}},
    {.name = "600000_tasks", .settings = {{"deps", 600000}, {"producers", 600000}}},
};

static tl_task_id submit_producer(struct tl_orch *o, const struct tl_tensor *flags, uint32_t i)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const uint32_t one = 1;
    struct tl_tensor flag;

    if (tl_view(flags, &i, &one, &flag)) {
        tl_orch_fail(o, "many_deps: no such flag");
        return TL_NO_TASK;
    }
    tl_add_no_dep(&args, &flag);
    return tl_submit_aiv(o, FUNC_RAISE, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t deps = (uint32_t)in->params[PARAM_DEPS], producers = (uint32_t)in->params[PARAM_PRODUCERS];
    tl_task_id *ids = malloc(deps * sizeof *ids);
    struct tl_tensor total = in->tensors[1];
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    if (!ids || producers > deps) {
        tl_orch_fail(o, ids ? "many_deps: more producers than dependencies" : "many_deps: out of memory");
        free(ids);
        return;
    }
    /* A scope holds its tasks to its end, and a ring is not endless. The ids stay good after the tasks are gone. */
    for (uint32_t first = 0; first < producers; first += SCOPE_TASKS) {
        TL_SCOPE (o) {
            for (uint32_t i = first; i < producers && i < first + SCOPE_TASKS; i++)
                ids[i] = submit_producer(o, &in->tensors[0], i);
        }
    }
    for (uint32_t i = producers; i < deps; i++)
        ids[i] = ids[i % producers];
    TL_SCOPE (o) {
        tl_add_no_dep(&args, &in->tensors[0]);
        tl_add_output(&args, &total);
        tl_set_dependencies(&args, ids, deps); /* borrowed until submit returns */
        tl_submit_aiv(o, FUNC_COUNT, &args);
    }
    free(ids);
}

static int prepare(struct tl_data *d)
{
    const uint32_t producers = (uint32_t)tl_data_param(d, "producers"), one = 1;

    if (!tl_data_tensor(d, "flags", TL_OUT, TL_INT32, 1, &producers))
        return TL_ENOMEM;
    return tl_data_tensor(d, "total", TL_OUT, TL_INT32, 1, &one) ? 0 : TL_ENOMEM;
}

static int golden(struct tl_data *d)
{
    const int64_t producers = tl_data_param(d, "producers");
    int32_t *flags = tl_data_expected(d, "flags"), *total = tl_data_expected(d, "total");

    if (!flags || !total)
        return TL_ENOENT;
    for (int64_t i = 0; i < producers; i++)
        flags[i] = 1;
    *total = (int32_t)producers;
    return 0;
}

TL_PROGRAM(.name = "many_deps", .summary = "one task with very many explicit dependencies", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .cases = cases, .n_cases = TL_ARRAY_COUNT(cases), .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
