/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a joined recording, and the graph between them. */
#include "analysis/swim_join_internal.h"

#include <stdlib.h>
#include <string.h>

#include <tasklens/kernel.h>

#include "base/env.h"
#include "base/error.h"

static bool stands_for_task(const struct tl_swim_phase *phase)
{
    return tl__phase_group(phase->kind) == TL_PHASE_LANE && (phase->has & TL_SWIM_HAS_TASK_ID) != 0;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t *l = left, *r = right;

    return *l < *r ? -1 : *l > *r;
}

/* Every task id that some row has, once, in order. */
static int find_ids(struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;
    uint64_t *ids = tl__alloc((size_t)join->n_ran + lane->n_phases + 1, sizeof(*ids));
    uint64_t n = 0, unique = 0;

    if (ids == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < join->n_slices; i++)
        if ((join->slices[i].flags & TL_SWIM_RAN) != 0)
            ids[n++] = join->slices[i].task_id;
    for (uint64_t i = 0; i < lane->n_phases; i++)
        if (stands_for_task(&lane->phases[i]))
            ids[n++] = lane->phases[i].task_id;
    qsort(ids, n, sizeof(*ids), by_value);
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            ids[unique++] = ids[i];
    join->tasks = tl__alloc(unique + 1, sizeof(*join->tasks));
    for (uint64_t i = 0; i < unique && join->tasks != NULL; i++)
        join->tasks[i] = (struct tl_swim_task){
            .task_id = ids[i], .deps = TL_SWIM_NONE, .submit = TL_SWIM_NONE, .phase = TL_SWIM_NONE};
    join->n_tasks = (uint32_t)unique;
    tl__free(ids);
    return join->tasks == NULL ? TL_ENOMEM : 0;
}

static int find_deps(struct tl_swim_join *join)
{
    const struct tl_deps *deps = join->deps;

    join->task_of_deps = tl__alloc(deps->n_tasks + 1, sizeof(*join->task_of_deps));
    if (join->task_of_deps == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0; i < deps->n_tasks; i++) {
        const int32_t *kernels = deps->tasks[i].kernel_ids;
        uint32_t task = tl__swim_find(join, deps->tasks[i].task_id);

        join->task_of_deps[i] = task;
        if (task == TL_SWIM_NONE) {
            if (kernels[0] < 0 && kernels[1] < 0 && kernels[2] < 0)
                continue;
            if (join->counts.tasks_unseen++ == 0)
                join->counts.first_unseen = deps->tasks[i].task_id;
            continue;
        }
        join->tasks[task].deps = (uint32_t)i;
        join->tasks[task].block_num = deps->tasks[i].block_num;
    }
    for (uint32_t i = 0; i < join->n_tasks; i++)
        join->counts.tasks_unlisted += join->tasks[i].deps == TL_SWIM_NONE;
    return 0;
}

/* A core type says AIC or AIV; which of two AIV kernels it was is told by the core's place in its cluster, and the AIV
 * cores of a cluster stand side by side, AIV0 first. */
static void find_kernel(const struct tl_swim_join *join, struct tl_swim_slice *s, uint32_t aiv_ordinal)
{
    uint32_t deps = join->tasks[s->task].deps;
    const int32_t *kernels;

    if (deps == TL_SWIM_NONE)
        return;
    kernels = join->deps->tasks[deps].kernel_ids;
    if (s->core_type == TL_AIV && kernels[2] >= 0)
        s->subtask = kernels[1] < 0 ? 2 : (uint8_t)(1 + aiv_ordinal % 2);
    s->func_id = kernels[s->subtask] < 0 ? -1 : kernels[s->subtask];
    if (s->func_id >= 0 && join->names != NULL)
        s->name = tl__name_of(join->names, s->func_id);
}

/* The slices are by core, so that one pass over both counts the AIV cores. */
static void find_kernels(struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;
    uint32_t core = 0, aivs = 0;

    for (uint32_t i = 0; i < join->n_slices; i++) {
        struct tl_swim_slice *s = &join->slices[i];

        for (; core < s->core && core < lane->num_cores; core++)
            aivs += lane->core_types[core] == TL_AIV;
        if ((s->flags & TL_SWIM_RAN) == 0)
            continue;
        s->task = tl__swim_find(join, s->task_id);
        join->tasks[s->task].count++;
        find_kernel(join, s, aivs);
    }
}

static int in_task(const void *left, const void *right, void *slices)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct tl_swim_slice *l = (const struct tl_swim_slice *)slices + a;
    const struct tl_swim_slice *r = (const struct tl_swim_slice *)slices + b;

    if (l->subtask != r->subtask)
        return l->subtask < r->subtask ? -1 : 1;
    if (l->start != r->start)
        return l->start < r->start ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int group_slices(struct tl_swim_join *join)
{
    uint32_t next = 0;

    join->by_task = tl__alloc((size_t)join->n_ran + 1, sizeof(*join->by_task));
    if (join->by_task == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < join->n_tasks; i++) {
        join->tasks[i].first = next;
        next += join->tasks[i].count;
        join->tasks[i].count = 0;
    }
    for (uint32_t i = 0; i < join->n_slices; i++) {
        uint32_t task = join->slices[i].task;

        if (task != TL_SWIM_NONE)
            join->by_task[join->tasks[task].first + join->tasks[task].count++] = i;
    }
    for (uint32_t i = 0; i < join->n_tasks; i++)
        qsort_r(join->by_task + join->tasks[i].first, join->tasks[i].count, sizeof(*join->by_task), in_task,
                join->slices);
    return 0;
}

static void add_times(struct tl_swim_task *t, const struct tl_swim_slice *s, bool first)
{
    bool sent = (s->flags & TL_SWIM_SENT) != 0;

    if (first || s->start < t->start)
        t->start = s->start;
    if (s->end > t->end)
        t->end = s->end;
    if (sent && ((t->flags & TL_SWIM_SENT) == 0 || s->dispatch < t->dispatch))
        t->dispatch = s->dispatch;
    if (sent)
        t->flags |= TL_SWIM_SENT;
    if ((s->flags & TL_SWIM_FINISHED) == 0)
        t->flags &= (uint8_t)~TL_SWIM_FINISHED;
    else if (s->finish > t->finish)
        t->finish = s->finish;
    t->core_types |= (uint8_t)(1u << s->core_type);
}

static bool too_many(const struct tl_swim_join *join, const struct tl_swim_task *t)
{
    const int32_t *kernels;
    uint64_t active, blocks;

    if (join->deps == NULL || t->deps == TL_SWIM_NONE)
        return false;
    kernels = join->deps->tasks[t->deps].kernel_ids;
    active = (uint64_t)(kernels[0] >= 0) + (uint64_t)(kernels[1] >= 0) + (uint64_t)(kernels[2] >= 0);
    blocks = t->block_num > 1 ? t->block_num : 1;
    return active > 0 && t->count > active * blocks;
}

static void sum_up(struct tl_swim_join *join)
{
    for (uint32_t i = 0; i < join->n_tasks; i++) {
        struct tl_swim_task *t = &join->tasks[i];

        t->flags |= t->count > 0 ? TL_SWIM_FINISHED : 0;
        for (uint32_t k = 0; k < t->count; k++)
            add_times(t, &join->slices[join->by_task[t->first + k]], k == 0);
        join->counts.tasks_reused += too_many(join, t);
    }
}

static void add_phases_and_submits(struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;
    uint64_t reused = 0;

    for (uint32_t i = 0; i < lane->n_phases; i++) {
        struct tl_swim_task *t;

        if (!stands_for_task(&lane->phases[i]))
            continue;
        t = &join->tasks[tl__swim_find(join, lane->phases[i].task_id)];
        if (t->phase != TL_SWIM_NONE)
            continue;
        t->phase = i;
        if (t->count > 0)
            continue;
        t->start = tl__swim_cycles(&join->clock, lane->phases[i].start_cycles);
        t->end = tl__swim_cycles(&join->clock, lane->phases[i].end_cycles);
        if (t->end < t->start)
            t->end = t->start;
    }
    for (uint32_t i = 0; i < lane->n_orchs; i++) {
        uint32_t task = tl__swim_find(join, lane->orchs[i].task_id);

        if (task == TL_SWIM_NONE)
            continue;
        if (join->tasks[task].submit == TL_SWIM_NONE)
            join->tasks[task].submit = i;
        else if (!too_many(join, &join->tasks[task]))
            reused++;
    }
    join->counts.tasks_reused += reused;
}

int tl__swim_join_tasks(struct tl_swim_join *join)
{
    int code = find_ids(join);

    if (code == 0 && join->deps != NULL)
        code = find_deps(join);
    if (code != 0)
        return code;
    find_kernels(join);
    code = group_slices(join);
    if (code != 0)
        return code;
    sum_up(join);
    add_phases_and_submits(join);
    return 0;
}

/* ---- the graph ---- */

struct pair {
    uint64_t succ, pred;
    uint32_t edge;
    bool wait;
};

static int by_ends(const void *left, const void *right)
{
    const struct pair *l = left, *r = right;

    if (l->succ != r->succ)
        return l->succ < r->succ ? -1 : 1;
    return l->pred < r->pred ? -1 : l->pred > r->pred;
}

/* deps.json lists the task, and nothing of it runs. */
static bool has_no_kernel(const struct tl_deps *deps, const uint32_t *position, uint32_t edge)
{
    const int32_t *kernels;

    if (position == NULL || position[edge] == TL_SWIM_NONE)
        return false;
    kernels = deps->tasks[position[edge]].kernel_ids;
    return kernels[0] < 0 && kernels[1] < 0 && kernels[2] < 0;
}

static void add_edge(struct tl_swim_join *join, const struct pair *pair)
{
    uint32_t pred = tl__swim_find(join, pair->pred), succ = tl__swim_find(join, pair->succ);
    struct tl_swim_task *t;

    join->counts.pairs++;
    if (pair->pred == pair->succ) {
        join->counts.pairs_self++;
        return;
    }
    if (pred == TL_SWIM_NONE || succ == TL_SWIM_NONE) {
        if ((pred != TL_SWIM_NONE || has_no_kernel(join->deps, join->deps->edge_pred, pair->edge)) &&
            (succ != TL_SWIM_NONE || has_no_kernel(join->deps, join->deps->edge_succ, pair->edge)))
            join->counts.pairs_without++;
        else
            join->counts.pairs_outside++;
        return;
    }
    t = &join->tasks[succ];
    if (t->edge_count++ == 0)
        t->first_edge = join->n_edges;
    join->edges[join->n_edges++] = (struct tl_swim_edge){pred, succ, pair->wait};
}

int tl__swim_join_edges(struct tl_swim_join *join)
{
    const struct tl_deps *deps = join->deps;
    struct pair *pairs = tl__alloc(deps->n_edges + 1, sizeof(*pairs));

    join->edges = tl__alloc(deps->n_edges + 1, sizeof(*join->edges));
    if (pairs == NULL || join->edges == NULL) {
        tl__free(pairs);
        return TL_ENOMEM;
    }
    for (uint64_t i = 0; i < deps->n_edges; i++) {
        const struct tl_deps_edge *e = &deps->edges[i];
        bool wait = (e->flags & TL_DEPS_HAS_FLAGS) == 0 || (e->flags & TL_DEPS_WAIT) != 0;

        pairs[i] = (struct pair){e->succ, e->pred, (uint32_t)i, wait};
    }
    qsort(pairs, deps->n_edges, sizeof(*pairs), by_ends);
    for (uint64_t i = 0; i < deps->n_edges; i++) {
        if (i + 1 < deps->n_edges && by_ends(&pairs[i], &pairs[i + 1]) == 0)
            pairs[i + 1].wait |= pairs[i].wait;
        else
            add_edge(join, &pairs[i]);
    }
    tl__free(pairs);
    return 0;
}
