/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analysis/path/path_find.h"
#include "base/env.h"

static uint64_t weight(const struct tl_path_graph *g, uint32_t task)
{
    return g->last_end_ns[task] - g->first_start_ns[task];
}

/* Longest way to the end of each task, and the producer it comes by. Returns the task at which the longest one ends. */
static uint32_t relax(const struct tl_path_graph *g, uint64_t *length, uint32_t *from)
{
    uint32_t best = TL_PATH_NONE;

    for (uint32_t i = 0; i < g->n_tasks; i++) {
        uint32_t t = g->order[i];

        from[t] = TL_PATH_NONE;
        for (uint32_t k = g->pred_first[t]; k < g->pred_first[t + 1]; k++) {
            uint32_t p = g->pred_list[k];

            if (from[t] == TL_PATH_NONE || length[p] > length[from[t]] || (p < from[t] && length[p] == length[from[t]]))
                from[t] = p;
        }
        length[t] = weight(g, t) + (from[t] != TL_PATH_NONE ? length[from[t]] : 0);
        if (best == TL_PATH_NONE || length[t] > length[best] || (t < best && length[t] == length[best]))
            best = t;
    }
    return best;
}

int tl__path_find_static(const struct tl_path_graph *g, struct tl_path_static *ret_path)
{
    uint64_t *length = tl__alloc((size_t)g->n_tasks + 1, sizeof(*length));
    uint32_t *from = tl__alloc((size_t)g->n_tasks + 1, sizeof(*from));
    uint32_t end, i;
    int r = TL_ENOMEM;

    memset(ret_path, 0, sizeof(*ret_path));
    if (length == NULL || from == NULL)
        goto out;
    end = relax(g, length, from);
    for (uint32_t t = end; t != TL_PATH_NONE; t = from[t])
        ret_path->count++;
    ret_path->tasks = tl__alloc((size_t)ret_path->count + 1, sizeof(*ret_path->tasks));
    if (ret_path->tasks == NULL)
        goto out;
    i = ret_path->count;
    for (uint32_t t = end; t != TL_PATH_NONE; t = from[t])
        ret_path->tasks[--i] = t;
    if (end != TL_PATH_NONE)
        ret_path->length_ns = length[end];
    r = 0;
out:
    tl__free(length);
    tl__free(from);
    return r;
}

void tl__path_static_fini(struct tl_path_static *path)
{
    tl__free(path->tasks);
    memset(path, 0, sizeof(*path));
}
