/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/deps/deps_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

bool tl__deps_waits(const struct tl_deps_edge *edge)
{
    return (edge->flags & (TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT)) != TL_DEPS_HAS_FLAGS;
}

/* ---- the edges of each task ---- */

/* Sorts the edges by ends[edge] into *ret_list, with *ret_at telling where each task's begin. */
static int by_end(const struct tl_deps_graph *g, const uint32_t *ends, uint32_t **ret_at, uint32_t **ret_list)
{
    uint32_t *at = tl__alloc((size_t)g->tasks + 2, sizeof(*at));
    uint32_t *list = tl__alloc((size_t)g->edges + 1, sizeof(*list));

    *ret_at = at;
    *ret_list = list;
    if (at == NULL || list == NULL)
        return TL_ENOMEM;
    /* at[t + 2] counts, then at[t + 1] is where t's go next; when all are placed, that is where t + 1's begin. */
    for (uint32_t e = 0; e < g->edges; e++)
        if (ends[e] != TL_DEPS_NONE)
            at[ends[e] + 2]++;
    for (uint32_t t = 0; t < g->tasks; t++)
        at[t + 2] += at[t + 1];
    for (uint32_t e = 0; e < g->edges; e++)
        if (ends[e] != TL_DEPS_NONE)
            list[at[ends[e] + 1]++] = e;
    return 0;
}

/* How many different tasks are at the other ends of each task's edges; their sum. `seen`: scratch, a word a task. */
static uint64_t count_neighbours(const struct tl_deps_graph *g, const uint32_t *at, const uint32_t *list,
                                 const uint32_t *other, uint32_t *counts, uint32_t *seen)
{
    uint64_t sum = 0;

    memset(seen, 0xff, g->tasks * sizeof(*seen));
    for (uint32_t t = 0; t < g->tasks; t++) {
        for (uint32_t i = at[t]; i < at[t + 1]; i++) {
            uint32_t neighbour = other[list[i]];

            if (neighbour == TL_DEPS_NONE || seen[neighbour] == t)
                continue;
            seen[neighbour] = t;
            counts[t]++;
        }
        sum += counts[t];
    }
    return sum;
}

/* ---- levels ---- */

/* Calls for every consumer that waits: `waits` of it goes down by one, and at none left it is queued. */
static uint32_t release(const struct tl_deps_graph *g, uint32_t task, uint32_t *waits, uint32_t *queue, uint32_t queued)
{
    for (uint32_t i = g->out_at[task]; i < g->out_at[task + 1]; i++) {
        uint32_t edge = g->out[i], consumer = g->deps->edge_succ[edge];

        if (consumer == TL_DEPS_NONE || !tl__deps_waits(&g->deps->edges[edge]))
            continue;
        if (g->level[consumer] <= g->level[task])
            g->level[consumer] = g->level[task] + 1;
        if (--waits[consumer] == 0)
            queue[queued++] = consumer;
    }
    return queued;
}

/* Waits for listed tasks, by task; roots and leaves on the way. */
static void count_waits(struct tl_deps_graph *g, uint32_t *waits)
{
    for (uint32_t t = 0; t < g->tasks; t++) {
        uint32_t waited_for = 0;

        for (uint32_t i = g->in_at[t]; i < g->in_at[t + 1]; i++)
            waits[t] += g->deps->edge_pred[g->in[i]] != TL_DEPS_NONE && tl__deps_waits(&g->deps->edges[g->in[i]]);
        for (uint32_t i = g->out_at[t]; i < g->out_at[t + 1]; i++)
            waited_for += g->deps->edge_succ[g->out[i]] != TL_DEPS_NONE && tl__deps_waits(&g->deps->edges[g->out[i]]);
        g->roots += waits[t] == 0;
        g->leaves += waited_for == 0;
    }
}

/* Every task with waits left has a producer with waits left: going back from one, some task comes twice. `mark` is 0
 * for tasks not met, and the step at which one was met. */
static void find_cycle(struct tl_deps_graph *g, const uint32_t *waits, uint32_t *mark, uint32_t *way)
{
    uint32_t task = 0, steps = 0;

    while (waits[task] == 0)
        task++;
    memset(mark, 0, g->tasks * sizeof(*mark));
    while (mark[task] == 0) {
        way[steps++] = task;
        mark[task] = steps;
        for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1]; i++) {
            uint32_t producer = g->deps->edge_pred[g->in[i]];

            if (producer == TL_DEPS_NONE || waits[producer] == 0 || !tl__deps_waits(&g->deps->edges[g->in[i]]))
                continue;
            task = producer;
            break;
        }
    }
    for (uint32_t i = steps; i >= mark[task]; i--)
        g->cycle[g->cycle_tasks++] = way[i - 1];
}

static void measure_levels(struct tl_deps_graph *g, const uint32_t *waits, uint32_t *width)
{
    memset(width, 0, g->tasks * sizeof(*width));
    for (uint32_t t = 0; t < g->tasks; t++) {
        if (waits[t] > 0) {
            g->level[t] = TL_DEPS_NONE;
            g->unlevelled++;
            continue;
        }
        width[g->level[t]]++;
        if (g->level[t] >= g->levels)
            g->levels = g->level[t] + 1;
    }
    for (uint32_t i = 0; i < g->levels; i++) {
        if (width[i] <= g->widest_tasks)
            continue;
        g->widest = i;
        g->widest_tasks = width[i];
    }
}

/* `waits` and `queue`: scratch, a word a task; the first all zero. */
static void find_levels(struct tl_deps_graph *g, uint32_t *waits, uint32_t *queue)
{
    uint32_t queued = 0;

    count_waits(g, waits);
    for (uint32_t t = 0; t < g->tasks; t++)
        if (waits[t] == 0)
            queue[queued++] = t;
    for (uint32_t next = 0; next < queued; next++)
        queued = release(g, queue[next], waits, queue, queued);
    measure_levels(g, waits, queue);
}

/* ---- tensors ---- */

static int by_tensor_id(const void *a, const void *b, void *ctx)
{
    const struct tl_deps_tensor *tensors = ctx;
    uint64_t x = tensors[*(const uint32_t *)a].tensor_id, y = tensors[*(const uint32_t *)b].tensor_id;

    return x < y ? -1 : x > y;
}

const struct tl_deps_tensor *tl__deps_tensor(const struct tl_deps_graph *graph, uint64_t tensor_id)
{
    uint64_t low = 0, high = graph->deps->n_tensors;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct tl_deps_tensor *tensor = &graph->deps->tensors[graph->tensor_order[middle]];

        if (tensor->tensor_id == tensor_id)
            return tensor;
        if (tensor->tensor_id < tensor_id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int order_tensors(struct tl_deps_graph *g)
{
    const struct tl_deps *d = g->deps;

    g->tensor_order = tl__alloc(d->n_tensors + 1, sizeof(*g->tensor_order));
    if (g->tensor_order == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < d->n_tensors; i++)
        g->tensor_order[i] = i;
    qsort_r(g->tensor_order, d->n_tensors, sizeof(*g->tensor_order), by_tensor_id, d->tensors);
    return 0;
}

/* ---- the whole ---- */

static int build(struct tl_deps_graph *g, uint32_t *scratch, uint32_t *waits)
{
    const struct tl_deps *d = g->deps;
    int code = by_end(g, d->edge_succ, &g->in_at, &g->in);

    if (code == 0)
        code = by_end(g, d->edge_pred, &g->out_at, &g->out);
    if (code == 0)
        code = order_tensors(g);
    if (code < 0)
        return code;
    for (uint32_t e = 0; e < g->edges; e++)
        g->loose += d->edge_pred[e] == TL_DEPS_NONE || d->edge_succ[e] == TL_DEPS_NONE;
    g->pairs = count_neighbours(g, g->in_at, g->in, d->edge_pred, g->producers, scratch);
    (void)count_neighbours(g, g->out_at, g->out, d->edge_succ, g->consumers, scratch);
    find_levels(g, waits, scratch);
    if (g->unlevelled == 0)
        return 0;
    g->cycle = tl__alloc(2 * (size_t)g->tasks, sizeof(*g->cycle)); /* its second half is scratch */
    if (g->cycle == NULL)
        return TL_ENOMEM;
    find_cycle(g, waits, scratch, g->cycle + g->tasks);
    return 0;
}

int tl__deps_graph(const struct tl_deps *deps, struct tl_deps_graph *ret_graph, struct tl_error *reterr)
{
    struct tl_deps_graph *g = ret_graph;
    uint32_t *scratch, *waits;
    int code = TL_ENOMEM;

    *g = (struct tl_deps_graph){.deps = deps};
    if (deps->n_tasks >= UINT32_MAX - 2 || deps->n_edges >= UINT32_MAX - 2 || deps->n_tensors >= UINT32_MAX - 2)
        return tl__fail(reterr, TL_ERANGE, "%s has more tasks, edges or tensors than can be numbered here",
                        TL_DEPS_NAME);
    g->tasks = (uint32_t)deps->n_tasks;
    g->edges = (uint32_t)deps->n_edges;
    g->producers = tl__alloc((size_t)g->tasks + 1, sizeof(uint32_t));
    g->consumers = tl__alloc((size_t)g->tasks + 1, sizeof(uint32_t));
    g->level = tl__alloc((size_t)g->tasks + 1, sizeof(uint32_t));
    scratch = tl__alloc((size_t)g->tasks + 1, sizeof(uint32_t));
    waits = tl__alloc((size_t)g->tasks + 1, sizeof(uint32_t));
    if (g->producers != NULL && g->consumers != NULL && g->level != NULL && scratch != NULL && waits != NULL)
        code = build(g, scratch, waits);
    tl__free(scratch);
    tl__free(waits);
    return code == 0 ? 0 : tl__fail(reterr, code, "out of memory for a graph of %u tasks", g->tasks);
}

void tl__deps_graph_fini(struct tl_deps_graph *graph)
{
    tl__free(graph->in_at);
    tl__free(graph->in);
    tl__free(graph->out_at);
    tl__free(graph->out);
    tl__free(graph->producers);
    tl__free(graph->consumers);
    tl__free(graph->level);
    tl__free(graph->cycle);
    tl__free(graph->tensor_order);
    *graph = (struct tl_deps_graph){0};
}
