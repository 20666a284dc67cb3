/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the time on a path is, by kernel. */
#include "analysis/path/path_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/env.h"

#define UNKNOWN (-2) /* a slice's kernel that nothing names */

struct tl_path_kernel tl__path_kernel_of_slice(const struct tl_path_run *run, uint32_t slice)
{
    int32_t id = tl__path_slice(run, slice)->func_id;

    return (struct tl_path_kernel){{id >= 0 ? id : UNKNOWN, -1, -1}};
}

struct tl_path_kernel tl__path_kernel_of_task(const struct tl_path_run *run, uint32_t task)
{
    const struct tl_deps *deps = run->join->deps;
    struct tl_path_kernel kernel = {{UNKNOWN, -1, -1}};

    if (task < deps->n_tasks)
        memcpy(kernel.ids, deps->tasks[task].kernel_ids, sizeof(kernel.ids));
    return kernel;
}

bool tl__path_is_allocation(const struct tl_path_run *run, uint32_t task)
{
    struct tl_path_kernel kernel = tl__path_kernel_of_task(run, task);

    return run->graph.slice_first[task] == run->graph.slice_first[task + 1] && kernel.ids[0] < 0 && kernel.ids[1] < 0 &&
           kernel.ids[2] < 0;
}

uint32_t tl__path_allocations(const struct tl_path_run *run)
{
    uint32_t count = 0;

    for (uint32_t t = 0; t < run->graph.n_tasks; t++)
        count += tl__path_is_allocation(run, t);
    return count;
}

void tl__put_path_kernel(struct tl_rendering *out, const struct tl_path_run *run, const struct tl_path_kernel *kernel,
                         bool exact)
{
    bool any = false;

    for (unsigned i = 0; i < 3; i++) {
        int32_t id = kernel->ids[i];
        const char *name = id >= 0 && run->join->names != NULL ? tl__name_of(run->join->names, id) : NULL;

        if (id == -1)
            continue;
        if (any)
            tl__put_str(out, "+");
        any = true;
        if (name != NULL && exact)
            tl__put_str(out, name);
        else if (name != NULL)
            tl__put_name(out, name);
        else if (id >= 0)
            tl__put_format(out, "func_%d", (int)id);
        else
            tl__put_str(out, "unknown kernel");
    }
    if (!any)
        tl__put_str(out, "no kernel");
}

static int by_kernel(const void *left, const void *right)
{
    const struct tl_path_share *l = left, *r = right;

    for (unsigned i = 0; i < 3; i++)
        if (l->kernel.ids[i] != r->kernel.ids[i])
            return l->kernel.ids[i] < r->kernel.ids[i] ? -1 : 1;
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct tl_path_share *l = left, *r = right;

    if (l->ns != r->ns)
        return l->ns > r->ns ? -1 : 1;
    return by_kernel(left, right);
}

/* One entry a step in, one a kernel out. */
static uint32_t merge(struct tl_path_share *shares, uint32_t count)
{
    uint32_t merged = 0;

    qsort(shares, count, sizeof(*shares), by_kernel);
    for (uint32_t i = 0; i < count; i++) {
        if (merged == 0 || by_kernel(&shares[merged - 1], &shares[i]) != 0) {
            shares[merged++] = shares[i];
            continue;
        }
        shares[merged - 1].count += shares[i].count;
        shares[merged - 1].ns += shares[i].ns;
        shares[merged - 1].busy_ns += shares[i].busy_ns;
        shares[merged - 1].wait_ns += shares[i].wait_ns;
    }
    qsort(shares, merged, sizeof(*shares), by_time);
    return merged;
}

int tl__path_shares_observed(const struct tl_path_run *run, struct tl_path_share **ret_shares, uint32_t *ret_count)
{
    const struct tl_path_observed *path = &run->observed;
    struct tl_path_share *shares = tl__alloc((size_t)path->count + 1, sizeof(*shares));

    if (shares == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < path->count; i++) {
        const struct tl_path_step *step = &path->steps[i];
        const struct tl_path_slice *s = &run->graph.slices[step->slice];

        shares[i] = (struct tl_path_share){.kernel = tl__path_kernel_of_slice(run, step->slice),
                                           .count = 1,
                                           .ns = s->end_ns - s->start_ns,
                                           .busy_ns = s->end_ns - step->busy_ns,
                                           .wait_ns = s->start_ns - step->released_ns};
    }
    *ret_count = merge(shares, path->count);
    *ret_shares = shares;
    return 0;
}

int tl__path_shares_static(const struct tl_path_run *run, struct tl_path_share **ret_shares, uint32_t *ret_count)
{
    const struct tl_path_static *chain = &run->chain;
    struct tl_path_share *shares = tl__alloc((size_t)chain->count + 1, sizeof(*shares));

    if (shares == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < chain->count; i++) {
        uint32_t t = chain->tasks[i];

        shares[i] = (struct tl_path_share){.kernel = tl__path_kernel_of_task(run, t),
                                           .count = 1,
                                           .ns = run->graph.last_end_ns[t] - run->graph.first_start_ns[t]};
    }
    *ret_count = merge(shares, chain->count);
    *ret_shares = shares;
    return 0;
}
