/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analysis/deps/deps_graph.h"
#include "base/env.h"
#include "base/error.h"

/* Appends the neighbours of entry `entry` that were not met before. */
static void spread(const struct tl_deps_graph *g, bool up, struct tl_deps_reach *r, uint32_t entry, bool *met)
{
    const uint32_t *at = up ? g->in_at : g->out_at, *list = up ? g->in : g->out;
    const uint32_t *other = up ? g->deps->edge_pred : g->deps->edge_succ;
    uint32_t task = r->task[entry];

    for (uint32_t i = at[task]; i < at[task + 1]; i++) {
        uint32_t neighbour = other[list[i]];

        if (neighbour == TL_DEPS_NONE || met[neighbour])
            continue;
        met[neighbour] = true;
        r->task[r->count] = neighbour;
        r->distance[r->count] = r->distance[entry] + 1;
        r->from[r->count] = entry;
        r->edge[r->count++] = list[i];
    }
}

int tl__deps_walk(const struct tl_deps_graph *graph, uint32_t start, bool up, uint32_t levels,
                  struct tl_deps_reach *ret_reach)
{
    struct tl_deps_reach *r = ret_reach;
    bool *met = tl__alloc(graph->tasks, sizeof(*met));

    *r = (struct tl_deps_reach){0};
    r->task = tl__alloc(graph->tasks, sizeof(*r->task));
    r->distance = tl__alloc(graph->tasks, sizeof(*r->distance));
    r->from = tl__alloc(graph->tasks, sizeof(*r->from));
    r->edge = tl__alloc(graph->tasks, sizeof(*r->edge));
    if (met == NULL || r->task == NULL || r->distance == NULL || r->from == NULL || r->edge == NULL) {
        tl__free(met);
        tl__deps_reach_fini(r);
        return TL_ENOMEM;
    }
    met[start] = true;
    r->task[0] = start;
    r->edge[0] = TL_DEPS_NONE;
    r->count = 1;
    for (uint32_t next = 0; next < r->count && r->distance[next] < levels; next++)
        spread(graph, up, r, next, met);
    tl__free(met);
    return 0;
}

uint32_t tl__deps_reach_find(const struct tl_deps_reach *reach, uint32_t task)
{
    for (uint32_t i = 0; i < reach->count; i++)
        if (reach->task[i] == task)
            return i;
    return TL_DEPS_NONE;
}

void tl__deps_reach_fini(struct tl_deps_reach *reach)
{
    tl__free(reach->task);
    tl__free(reach->distance);
    tl__free(reach->from);
    tl__free(reach->edge);
    *reach = (struct tl_deps_reach){0};
}
