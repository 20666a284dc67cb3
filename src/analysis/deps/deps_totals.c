/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/deps/deps_totals.h"

#include <string.h>

static void count_edge(struct tl_deps_totals *t, const struct tl_deps_edge *edge)
{
    bool wait = (edge->flags & TL_DEPS_WAIT) != 0, retain = (edge->flags & TL_DEPS_RETAIN) != 0;

    if (edge->source <= TL_DEPS_TENSORMAP)
        t->by_source[edge->source]++;
    if (edge->source == TL_DEPS_TENSORMAP && edge->overlap <= TL_DEPS_OTHER)
        t->by_overlap[edge->overlap]++;
    if ((edge->flags & TL_DEPS_HAS_FLAGS) == 0)
        t->not_said++;
    else if (wait && retain)
        t->wait_retain++;
    else if (wait)
        t->wait++;
    else if (retain)
        t->retain++;
    else
        t->neither++;
}

/* Puts the task where it belongs among the `*count` greatest of `values`. */
static void rank(uint32_t task, const uint32_t *values, uint32_t *top, uint32_t *count)
{
    uint32_t at = *count;

    if (values[task] == 0)
        return;
    while (at > 0 && values[top[at - 1]] < values[task])
        at--;
    if (at == TL_DEPS_TOP)
        return;
    if (*count < TL_DEPS_TOP)
        (*count)++;
    memmove(top + at + 1, top + at, (*count - at - 1) * sizeof(*top));
    top[at] = task;
}

static bool waits(const struct tl_deps_graph *g, const uint32_t *at, const uint32_t *list, const uint32_t *other,
                  uint32_t task)
{
    for (uint32_t i = at[task]; i < at[task + 1]; i++)
        if (other[list[i]] != TL_DEPS_NONE && tl__deps_waits(&g->deps->edges[list[i]]))
            return true;
    return false;
}

uint32_t tl__deps_allocations(const struct tl_deps *deps)
{
    uint32_t count = 0;

    for (uint64_t t = 0; t < deps->n_tasks; t++) {
        const int32_t *ids = deps->tasks[t].kernel_ids;

        count += ids[0] < 0 && ids[1] < 0 && ids[2] < 0;
    }
    return count;
}

void tl__deps_totals(const struct tl_deps_graph *graph, struct tl_deps_totals *ret_totals)
{
    struct tl_deps_totals *t = ret_totals;
    uint32_t roots = 0, leaves = 0;

    *t = (struct tl_deps_totals){0};
    for (uint32_t e = 0; e < graph->edges; e++)
        count_edge(t, &graph->deps->edges[e]);
    for (uint32_t i = 0; i < graph->tasks; i++) {
        rank(i, graph->producers, t->most_fed, &t->n_fed);
        rank(i, graph->consumers, t->most_feeding, &t->n_feeding);
        if (roots < TL_DEPS_TOP && !waits(graph, graph->in_at, graph->in, graph->deps->edge_pred, i))
            t->roots[roots++] = i;
        if (leaves < TL_DEPS_TOP && !waits(graph, graph->out_at, graph->out, graph->deps->edge_succ, i))
            t->leaves[leaves++] = i;
    }
}
