/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_show.h"
#include "base/env.h"

static int by_kernels(const void *a, const void *b)
{
    const struct tl_deps_kind *x = a, *y = b;

    for (unsigned i = 0; i < 3; i++)
        if (x->kernel_ids[i] != y->kernel_ids[i])
            return x->kernel_ids[i] < y->kernel_ids[i] ? -1 : 1;
    return 0;
}

static struct tl_deps_kind kind_of(const struct tl_deps_task *task)
{
    struct tl_deps_kind kind = {.tasks = 1};

    memcpy(kind.kernel_ids, task->kernel_ids, sizeof(kind.kernel_ids));
    return kind;
}

int tl__deps_kinds(const struct tl_deps *deps, struct tl_deps_kinds *ret_kinds)
{
    struct tl_deps_kinds *k = ret_kinds;

    *k = (struct tl_deps_kinds){0};
    k->kinds = tl__alloc(deps->n_tasks + 1, sizeof(*k->kinds));
    k->of_task = tl__alloc(deps->n_tasks + 1, sizeof(*k->of_task));
    if (k->kinds == NULL || k->of_task == NULL) {
        tl__deps_kinds_fini(k);
        return TL_ENOMEM;
    }
    for (uint64_t t = 0; t < deps->n_tasks; t++)
        k->kinds[t] = kind_of(&deps->tasks[t]);
    qsort(k->kinds, deps->n_tasks, sizeof(*k->kinds), by_kernels);
    for (uint64_t t = 0; t < deps->n_tasks; t++) {
        if (k->count > 0 && by_kernels(&k->kinds[k->count - 1], &k->kinds[t]) == 0)
            k->kinds[k->count - 1].tasks++;
        else
            k->kinds[k->count++] = k->kinds[t];
    }
    for (uint64_t t = 0; t < deps->n_tasks; t++) {
        struct tl_deps_kind wanted = kind_of(&deps->tasks[t]);
        const struct tl_deps_kind *found = bsearch(&wanted, k->kinds, k->count, sizeof(*k->kinds), by_kernels);

        k->of_task[t] = found != NULL ? (uint32_t)(found - k->kinds) : 0;
    }
    return 0;
}

void tl__deps_kinds_fini(struct tl_deps_kinds *kinds)
{
    tl__free(kinds->kinds);
    tl__free(kinds->of_task);
    *kinds = (struct tl_deps_kinds){0};
}
