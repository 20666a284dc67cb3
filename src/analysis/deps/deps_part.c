/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/deps/deps_part.h"

#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/text/phrases.h"
#include "base/env.h"

/* Marks in `place` what a walk reaches. */
static int mark(const struct tl_deps_subject *s, uint32_t task, bool up, uint32_t levels, uint32_t *place)
{
    struct tl_deps_reach reach;
    int code = tl__deps_walk(s->graph, task, up, levels, &reach);

    if (code < 0)
        return code;
    for (uint32_t i = 0; i < reach.count; i++)
        place[reach.task[i]] = 0;
    tl__deps_reach_fini(&reach);
    return 0;
}

static int choose(const struct tl_deps_subject *s, const struct tl_deps_part_of *of, struct tl_deps_part *part)
{
    uint32_t tasks = s->graph->tasks;
    int code = 0;

    memset(part->place, of->task == TL_DEPS_NONE ? 0 : 0xff, tasks * sizeof(*part->place));
    if (of->task != TL_DEPS_NONE) {
        code = mark(s, of->task, true, of->up, part->place);
        if (code == 0)
            code = mark(s, of->task, false, of->down, part->place);
    }
    for (uint32_t t = 0; code == 0 && t < tasks; t++) {
        if (part->place[t] == TL_DEPS_NONE)
            continue;
        part->place[t] = TL_DEPS_NONE;
        if (t != of->task && !tl__deps_task_passes(s, of->filter, t))
            continue;
        part->place[t] = part->n_tasks;
        part->tasks[part->n_tasks++] = t;
    }
    return code;
}

struct ends {
    const struct tl_deps *deps;
    const uint32_t *place;
};

/* Of one pair, edges keep the file's order. */
static int by_ends(const void *a, const void *b, void *ctx)
{
    const struct ends *ends = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t px = ends->place[ends->deps->edge_pred[x]], py = ends->place[ends->deps->edge_pred[y]];
    uint32_t sx = ends->place[ends->deps->edge_succ[x]], sy = ends->place[ends->deps->edge_succ[y]];

    if (px != py)
        return px < py ? -1 : 1;
    if (sx != sy)
        return sx < sy ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void find_pairs(const struct tl_deps *d, struct tl_deps_part *part)
{
    const uint32_t *place = part->place;

    for (uint32_t e = 0; e < d->n_edges; e++)
        if (d->edge_pred[e] != TL_DEPS_NONE && d->edge_succ[e] != TL_DEPS_NONE &&
            place[d->edge_pred[e]] != TL_DEPS_NONE && place[d->edge_succ[e]] != TL_DEPS_NONE)
            part->edges[part->n_edges++] = e;
    qsort_r(part->edges, part->n_edges, sizeof(*part->edges), by_ends, &(struct ends){d, place});
    for (uint32_t i = 0; i < part->n_edges; i++) {
        uint32_t pred = place[d->edge_pred[part->edges[i]]], succ = place[d->edge_succ[part->edges[i]]];
        struct tl_deps_pair *last = part->n_pairs > 0 ? &part->pairs[part->n_pairs - 1] : NULL;

        if (last != NULL && last->pred == pred && last->succ == succ)
            last->count++;
        else
            part->pairs[part->n_pairs++] = (struct tl_deps_pair){pred, succ, i, 1};
    }
}

static int put_title(const struct tl_deps_subject *s, const struct tl_deps_part_of *of, struct tl_deps_part *part)
{
    struct tl_rendering out;
    int code;

    tl__rendering_init(&out, NULL, NULL);
    if (of->task == TL_DEPS_NONE && !of->filter->by_kernel && !of->filter->by_tensor)
        tl__put_str(&out, "all ");
    tl__put_count(&out, part->n_tasks, "task");
    if (of->task != TL_DEPS_NONE) {
        tl__put_str(&out, " around ");
        tl__put_task(&out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[of->task].task_id);
        tl__put_format(&out, ", %u up and %u down", of->up, of->down);
    }
    if (of->filter->by_kernel) {
        tl__put_str(&out, " that run ");
        tl__put_kernel(&out, s->names, (int32_t)of->filter->kernel);
    }
    if (of->filter->by_tensor)
        tl__put_format(&out, " that use the buffer at 0x%llx", (unsigned long long)of->filter->buffer_addr);
    tl__put(&out, "", 1);
    code = out.error;
    if (code == 0)
        part->title = out.data; /* takes over the rendering's memory */
    else
        tl__rendering_fini(&out);
    return code;
}

int tl__deps_part(const struct tl_deps_subject *s, const struct tl_deps_part_of *of, struct tl_deps_part *ret_part)
{
    struct tl_deps_part *p = ret_part;
    uint32_t tasks = s->graph->tasks, edges = s->graph->edges;
    int code;

    *p = (struct tl_deps_part){0};
    p->tasks = tl__alloc((size_t)tasks + 1, sizeof(*p->tasks));
    p->place = tl__alloc((size_t)tasks + 1, sizeof(*p->place));
    p->pairs = tl__alloc((size_t)edges + 1, sizeof(*p->pairs));
    p->edges = tl__alloc((size_t)edges + 1, sizeof(*p->edges));
    if (p->tasks == NULL || p->place == NULL || p->pairs == NULL || p->edges == NULL)
        return TL_ENOMEM;
    code = choose(s, of, p);
    if (code < 0)
        return code;
    find_pairs(s->deps, p);
    return put_title(s, of, p);
}

uint32_t tl__deps_part_pair(const struct tl_deps_part *part, uint32_t pred, uint32_t succ)
{
    uint32_t low = 0, high = part->n_pairs;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct tl_deps_pair *pair = &part->pairs[middle];

        if (pair->pred == pred && pair->succ == succ)
            return middle;
        if (pair->pred < pred || (pair->pred == pred && pair->succ < succ))
            low = middle + 1;
        else
            high = middle;
    }
    return TL_DEPS_NONE;
}

void tl__deps_part_fini(struct tl_deps_part *part)
{
    tl__free(part->tasks);
    tl__free(part->place);
    tl__free(part->pairs);
    tl__free(part->edges);
    tl__free(part->title);
    *part = (struct tl_deps_part){0};
}
