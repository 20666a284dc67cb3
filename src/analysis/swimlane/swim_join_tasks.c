/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a joined recording, and the graph between them. */
#include "analysis/swimlane/swim_join_internal.h"

#include <stdlib.h>
#include <string.h>

#include <tasklens/kernel.h>

#include "base/env.h"
#include "base/error.h"

static bool stands_for_task(const struct tl_swim_phase *phase)
{
    return tl__phase_group(phase->kind) == TL_PHASE_LANE && (phase->has & TL_SWIM_HAS_TASK_ID) != 0;
}

/* One execution's task. */
struct named {
    uint64_t task_id;
    uint32_t run_epoch;
};

static int by_name(const void *left, const void *right)
{
    const struct named *l = left, *r = right;

    if (l->run_epoch != r->run_epoch)
        return l->run_epoch < r->run_epoch ? -1 : 1;
    return l->task_id < r->task_id ? -1 : l->task_id > r->task_id;
}

static int keep_names(struct tl_swim_join *join, const struct named *names, uint64_t n)
{
    join->tasks = tl__alloc(n + 1, sizeof(*join->tasks));
    join->epochs = tl__alloc(n + 1, sizeof(*join->epochs));
    if (join->tasks == NULL || join->epochs == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0; i < n; i++) {
        join->tasks[i] = (struct tl_swim_task){.task_id = names[i].task_id,
                                               .run_epoch = names[i].run_epoch,
                                               .deps = TL_SWIM_NONE,
                                               .submit = TL_SWIM_NONE,
                                               .phase = TL_SWIM_NONE};
        if (i == 0 || names[i].run_epoch != names[i - 1].run_epoch)
            join->epochs[join->n_epochs++] = names[i].run_epoch;
    }
    join->n_tasks = (uint32_t)n;
    return 0;
}

/* Every task that some row has, once an execution, in order. */
static int find_ids(struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;
    struct named *names = tl__alloc((size_t)join->n_ran + lane->n_phases + 1, sizeof(*names));
    uint64_t n = 0, unique = 0;
    int code;

    if (names == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < join->n_slices; i++)
        if ((join->slices[i].flags & TL_SWIM_RAN) != 0)
            names[n++] = (struct named){join->slices[i].task_id, join->slices[i].run_epoch};
    for (uint64_t i = 0; i < lane->n_phases; i++)
        if (stands_for_task(&lane->phases[i]))
            names[n++] = (struct named){lane->phases[i].task_id, lane->phases[i].run_epoch};
    qsort(names, n, sizeof(*names), by_name);
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || by_name(&names[i], &names[i - 1]) != 0)
            names[unique++] = names[i];
    code = keep_names(join, names, unique);
    tl__free(names);
    return code;
}

/* The graph's task in every execution that has it. */
static void name_deps(struct tl_swim_join *join, uint32_t deps)
{
    const struct tl_deps_task *of = &join->deps->tasks[deps];

    for (uint32_t i = 0; i < join->n_epochs; i++) {
        uint32_t task = tl__swim_find_in(join, join->epochs[i], of->task_id);

        if (task == TL_SWIM_NONE)
            continue;
        join->tasks[task].deps = deps;
        join->tasks[task].block_num = of->block_num;
        if (join->task_of_deps[deps] == TL_SWIM_NONE)
            join->task_of_deps[deps] = task;
    }
}

static int find_deps(struct tl_swim_join *join)
{
    const struct tl_deps *deps = join->deps;

    join->task_of_deps = tl__alloc(deps->n_tasks + 1, sizeof(*join->task_of_deps));
    if (join->task_of_deps == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0; i < deps->n_tasks; i++) {
        const int32_t *kernels = deps->tasks[i].kernel_ids;

        join->task_of_deps[i] = TL_SWIM_NONE;
        name_deps(join, (uint32_t)i);
        if (join->task_of_deps[i] != TL_SWIM_NONE || (kernels[0] < 0 && kernels[1] < 0 && kernels[2] < 0))
            continue;
        if (join->counts.tasks_unseen++ == 0)
            join->counts.first_unseen = deps->tasks[i].task_id;
    }
    for (uint32_t i = 0; i < join->n_tasks; i++)
        join->counts.tasks_unlisted += join->tasks[i].deps == TL_SWIM_NONE;
    return 0;
}

/* A core type says AIC or AIV. Which of two AIV kernels a core ran follows from its place in its cluster: a task with
 * two AIV kernels runs only on clusters that have two AIVs, and their ids follow each other, AIV0 first. */
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
        s->task = tl__swim_find_in(join, s->run_epoch, s->task_id);
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
        t = &join->tasks[tl__swim_find_in(join, lane->phases[i].run_epoch, lane->phases[i].task_id)];
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
        const struct tl_swim_orch *o = &lane->orchs[i];
        uint32_t task = tl__swim_find_in(join, o->run_epoch, o->task_id);

        if (task == TL_SWIM_NONE && o->run_epoch == 0)
            task = tl__swim_find(join, o->task_id); /* a submit that does not say of which execution it is */
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

static void add_edge(struct tl_swim_join *join, uint32_t run_epoch, const struct pair *pair)
{
    uint32_t pred = tl__swim_find_in(join, run_epoch, pair->pred);
    uint32_t succ = tl__swim_find_in(join, run_epoch, pair->succ);
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

static void add_edges(struct tl_swim_join *join, uint32_t run_epoch, const struct pair *pairs, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        add_edge(join, run_epoch, &pairs[i]);
}

/* One for several edges with the same ends; it waits if one of them does. */
static uint64_t fold(struct pair *pairs, uint64_t n)
{
    uint64_t unique = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (i + 1 < n && by_ends(&pairs[i], &pairs[i + 1]) == 0)
            pairs[i + 1].wait |= pairs[i].wait;
        else
            pairs[unique++] = pairs[i];
    }
    return unique;
}

int tl__swim_join_edges(struct tl_swim_join *join)
{
    const struct tl_deps *deps = join->deps;
    struct pair *pairs = tl__alloc(deps->n_edges + 1, sizeof(*pairs));
    uint64_t n;

    join->edges = tl__alloc(deps->n_edges * (join->n_epochs > 0 ? join->n_epochs : 1) + 1, sizeof(*join->edges));
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
    n = fold(pairs, deps->n_edges);
    if (join->n_epochs == 0)
        add_edges(join, 0, pairs, n); /* nothing ran: all of them are counted as outside */
    for (uint32_t i = 0; i < join->n_epochs; i++)
        add_edges(join, join->epochs[i], pairs, n);
    tl__free(pairs);
    return 0;
}
