/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/path/path_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

#define CYCLE_NAMED 8u /* tasks of a cycle that a message names */

static uint32_t *words(uint64_t count)
{
    return tl__alloc(count != 0 ? count : 1, sizeof(uint32_t));
}

static uint64_t *times(uint64_t count)
{
    return tl__alloc(count != 0 ? count : 1, sizeof(uint64_t));
}

static int reserve(struct tl_path_graph *g, struct tl_error *reterr)
{
    g->slice_first = words((uint64_t)g->n_tasks + 1);
    g->slice_list = words(g->n_slices);
    g->pred_first = words((uint64_t)g->n_tasks + 1);
    g->pred_list = words(g->n_edges);
    g->core_prev = words(g->n_slices);
    g->order = words(g->n_tasks);
    g->last_slice = words(g->n_tasks);
    g->first_start_ns = times(g->n_tasks);
    g->last_end_ns = times(g->n_tasks);
    if (g->slice_first == NULL || g->slice_list == NULL || g->pred_first == NULL || g->pred_list == NULL ||
        g->core_prev == NULL || g->order == NULL || g->last_slice == NULL || g->first_start_ns == NULL ||
        g->last_end_ns == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory for %" PRIu32 " tasks", g->n_tasks);
    return 0;
}

/* Turns counts per task, held one place further on, into first places. */
static void counts_to_places(uint32_t *first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
}

/* Moves places that a fill has advanced back to where they began. */
static void rewind_places(uint32_t *first, uint32_t n)
{
    memmove(first + 1, first, n * sizeof(*first));
    first[0] = 0;
}

static void group_slices(struct tl_path_graph *g)
{
    for (uint32_t i = 0; i < g->n_slices; i++)
        g->slice_first[g->slices[i].task + 1]++;
    counts_to_places(g->slice_first, g->n_tasks);
    for (uint32_t i = 0; i < g->n_slices; i++)
        g->slice_list[g->slice_first[g->slices[i].task]++] = i;
    rewind_places(g->slice_first, g->n_tasks);
}

static void group_edges(struct tl_path_graph *g)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        g->pred_first[g->edges[i].succ + 1]++;
    counts_to_places(g->pred_first, g->n_tasks);
    for (uint32_t i = 0; i < g->n_edges; i++)
        g->pred_list[g->pred_first[g->edges[i].succ]++] = g->edges[i].pred;
    rewind_places(g->pred_first, g->n_tasks);
}

static void find_extent(struct tl_path_graph *g, uint32_t task)
{
    uint32_t last = TL_PATH_NONE;

    for (uint32_t k = g->slice_first[task]; k < g->slice_first[task + 1]; k++) {
        const struct tl_path_slice *s = &g->slices[g->slice_list[k]];

        if (last == TL_PATH_NONE || s->start_ns < g->first_start_ns[task])
            g->first_start_ns[task] = s->start_ns;
        if (last == TL_PATH_NONE || s->end_ns > g->slices[last].end_ns)
            last = g->slice_list[k];
    }
    g->last_slice[task] = last;
    if (last != TL_PATH_NONE)
        g->last_end_ns[task] = g->slices[last].end_ns;
    else
        g->tasks_without_slices++;
}

/* ---- what ran before on the core ---- */

struct on_core {
    const struct tl_path_slice *slice;
    uint32_t position;
};

static int by_core_and_time(const void *a, const void *b)
{
    const struct on_core *x = a, *y = b;

    if (x->slice->core != y->slice->core)
        return x->slice->core < y->slice->core ? -1 : 1;
    if (x->slice->start_ns != y->slice->start_ns)
        return x->slice->start_ns < y->slice->start_ns ? -1 : 1;
    if (x->slice->end_ns != y->slice->end_ns)
        return x->slice->end_ns < y->slice->end_ns ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static int link_cores(struct tl_path_graph *g, struct tl_error *reterr)
{
    struct on_core *list = tl__alloc(g->n_slices != 0 ? g->n_slices : 1, sizeof(*list));

    if (list == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory for %" PRIu32 " slices", g->n_slices);
    for (uint32_t i = 0; i < g->n_slices; i++)
        list[i] = (struct on_core){&g->slices[i], i};
    qsort(list, g->n_slices, sizeof(*list), by_core_and_time);
    for (uint32_t i = 0; i < g->n_slices; i++) {
        bool first = i == 0 || list[i - 1].slice->core != list[i].slice->core;

        g->core_prev[list[i].position] = first ? TL_PATH_NONE : list[i - 1].position;
        g->overlaps += !first && list[i - 1].slice->end_ns > list[i].slice->start_ns;
    }
    tl__free(list);
    return 0;
}

/* ---- the order, or the cycle ---- */

/* Names a cycle among the tasks that `waits` still counts something for: each of them has a producer among them. */
static int name_cycle(const struct tl_path_graph *g, const uint32_t *waits, uint8_t *seen, struct tl_error *reterr)
{
    char text[CYCLE_NAMED * 32 + 64] = "";
    uint32_t at = 0, start, length = 0;
    size_t used = 0;

    while (waits[at] == 0)
        at++;
    while (seen[at] == 0) { /* walk back over producers until one comes again: that one is on the cycle */
        uint32_t k = g->pred_first[at];

        seen[at] = 1;
        while (waits[g->pred_list[k]] == 0)
            k++;
        at = g->pred_list[k];
    }
    start = at;
    do {
        uint32_t k = g->pred_first[at];
        uint64_t id = g->tasks[at].task_id;

        if (length < CYCLE_NAMED)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "r%" PRIu64 "t%" PRIu64 " waits for ", id >> 32,
                                     id & UINT32_MAX);
        length++;
        while (waits[g->pred_list[k]] == 0)
            k++;
        at = g->pred_list[k];
    } while (at != start);
    return tl__fail(reterr, TL_EGRAPH, "its edges have a cycle of %" PRIu32 " task%s: %s%sr%" PRIu64 "t%" PRIu64,
                    length, length == 1 ? "" : "s", text, length > CYCLE_NAMED ? "... waits for " : "",
                    g->tasks[start].task_id >> 32, g->tasks[start].task_id & UINT32_MAX);
}

struct sorting {
    uint32_t *waits;      /* producers of each task that are not in the order yet */
    uint32_t *succ_first; /* n_tasks + 1 */
    uint32_t *succ_list;
    uint8_t *seen;
};

static int sort_tasks(struct tl_path_graph *g, struct sorting *s, struct tl_error *reterr)
{
    uint32_t done = 0, found = 0;

    for (uint32_t i = 0; i < g->n_edges; i++) {
        s->succ_first[g->edges[i].pred + 1]++;
        s->waits[g->edges[i].succ]++;
    }
    counts_to_places(s->succ_first, g->n_tasks);
    for (uint32_t i = 0; i < g->n_edges; i++)
        s->succ_list[s->succ_first[g->edges[i].pred]++] = g->edges[i].succ;
    rewind_places(s->succ_first, g->n_tasks);
    for (uint32_t t = 0; t < g->n_tasks; t++)
        if (s->waits[t] == 0)
            g->order[found++] = t;
    for (; done < found; done++) {
        uint32_t t = g->order[done];

        for (uint32_t k = s->succ_first[t]; k < s->succ_first[t + 1]; k++)
            if (--s->waits[s->succ_list[k]] == 0)
                g->order[found++] = s->succ_list[k];
    }
    return found == g->n_tasks ? 0 : name_cycle(g, s->waits, s->seen, reterr);
}

static int order_tasks(struct tl_path_graph *g, struct tl_error *reterr)
{
    struct sorting s = {.waits = words(g->n_tasks),
                        .succ_first = words((uint64_t)g->n_tasks + 1),
                        .succ_list = words(g->n_edges),
                        .seen = tl__alloc(g->n_tasks != 0 ? g->n_tasks : 1, 1)};
    int r;

    if (s.waits == NULL || s.succ_first == NULL || s.succ_list == NULL || s.seen == NULL)
        r = tl__fail(reterr, TL_ENOMEM, "out of memory for %" PRIu32 " edges", g->n_edges);
    else
        r = sort_tasks(g, &s, reterr);
    tl__free(s.waits);
    tl__free(s.succ_first);
    tl__free(s.succ_list);
    tl__free(s.seen);
    return r;
}

/* In the order, so that a chain of tasks without slices is looked through as a whole. */
static void look_through(struct tl_path_graph *g)
{
    for (uint32_t i = 0; i < g->n_tasks; i++) {
        uint32_t t = g->order[i];
        bool own = tl__path_has_slices(g, t);

        for (uint32_t k = g->pred_first[t]; k < g->pred_first[t + 1]; k++) {
            uint32_t p = g->last_slice[g->pred_list[k]];

            if (p == TL_PATH_NONE)
                continue;
            if (own)
                g->early_edges += g->slices[p].end_ns > g->first_start_ns[t];
            else if (g->last_slice[t] == TL_PATH_NONE || g->slices[p].end_ns > g->slices[g->last_slice[t]].end_ns)
                g->last_slice[t] = p;
        }
    }
}

int tl__path_graph_build(struct tl_path_graph *g, struct tl_error *reterr)
{
    int r = reserve(g, reterr);

    if (r < 0)
        return r;
    group_slices(g);
    group_edges(g);
    for (uint32_t t = 0; t < g->n_tasks; t++)
        find_extent(g, t);
    r = link_cores(g, reterr);
    if (r == 0)
        r = order_tasks(g, reterr);
    if (r == 0)
        look_through(g);
    return r;
}

void tl__path_graph_fini(struct tl_path_graph *g)
{
    tl__free(g->tasks);
    tl__free(g->slices);
    tl__free(g->edges);
    tl__free(g->slice_first);
    tl__free(g->slice_list);
    tl__free(g->pred_first);
    tl__free(g->pred_list);
    tl__free(g->core_prev);
    tl__free(g->order);
    tl__free(g->last_slice);
    tl__free(g->first_start_ns);
    tl__free(g->last_end_ns);
    memset(g, 0, sizeof(*g));
}
