/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/path/path_run.h"

#include <inttypes.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

uint64_t tl__path_ns(const struct tl_swim_join *join, uint64_t cycles)
{
    return ((uint64_t)tl__swim_ps(&join->clock, cycles) + 500) / 1000;
}

/* The position of each of the join's tasks in the graph: where deps.json has it, or behind. */
static uint32_t *place_tasks(const struct tl_swim_join *join, uint32_t *ret_count)
{
    uint32_t *places = tl__alloc((size_t)join->n_tasks + 1, sizeof(*places));
    uint32_t next = (uint32_t)join->deps->n_tasks;

    for (uint32_t i = 0; i < join->n_tasks && places != NULL; i++)
        places[i] = join->tasks[i].deps != TL_SWIM_NONE ? join->tasks[i].deps : next++;
    *ret_count = next;
    return places;
}

static void fill_tasks(struct tl_path_run *run, const uint32_t *places)
{
    const struct tl_swim_join *join = run->join;
    struct tl_path_graph *g = &run->graph;
    bool submits = join->lane->n_orchs > 0 && !join->lane->orch_is_host_clock;

    for (uint64_t i = 0; i < join->deps->n_tasks; i++)
        g->tasks[i] = (struct tl_path_task){join->deps->tasks[i].task_id, TL_PATH_UNKNOWN};
    for (uint32_t i = 0; i < join->n_tasks; i++) {
        const struct tl_swim_task *t = &join->tasks[i];
        uint64_t end;

        g->tasks[places[i]] = (struct tl_path_task){t->task_id, TL_PATH_UNKNOWN};
        if (!submits || t->submit == TL_SWIM_NONE)
            continue;
        end = join->lane->orchs[t->submit].end_cycles;
        g->tasks[places[i]].submit_ns = tl__path_ns(join, tl__swim_cycles(&join->clock, end));
    }
    g->submits_ns = TL_PATH_UNKNOWN;
    for (uint64_t i = 0; i < join->lane->n_orchs && submits; i++) {
        uint64_t start = tl__swim_cycles(&join->clock, join->lane->orchs[i].start_cycles);

        if (tl__path_ns(join, start) < g->submits_ns)
            g->submits_ns = tl__path_ns(join, start);
    }
}

static void fill_slices(struct tl_path_run *run, const uint32_t *places)
{
    const struct tl_swim_join *join = run->join;
    struct tl_path_graph *g = &run->graph;

    for (uint32_t i = 0; i < join->n_slices; i++) {
        const struct tl_swim_slice *s = &join->slices[i];
        struct tl_path_slice *to = &g->slices[g->n_slices];

        if ((s->flags & TL_SWIM_RAN) == 0)
            continue;
        to->start_ns = tl__path_ns(join, s->start);
        to->end_ns = tl__path_ns(join, s->end);
        to->dispatch_ns = (s->flags & TL_SWIM_SENT) != 0 ? tl__path_ns(join, s->dispatch) : TL_PATH_UNKNOWN;
        to->task = places[s->task];
        to->core = s->core;
        if (s->core >= g->n_cores)
            g->n_cores = s->core + 1;
        run->work_ns += to->end_ns - to->start_ns;
        run->join_slice[g->n_slices++] = i;
    }
}

/* Of deps.json itself, because the join leaves out tasks that no core ran, and a way may lead through them. */
static void fill_edges(struct tl_path_run *run)
{
    const struct tl_deps *deps = run->join->deps;
    struct tl_path_graph *g = &run->graph;

    for (uint64_t i = 0; i < deps->n_edges; i++) {
        uint8_t flags = deps->edges[i].flags;

        if (deps->edge_pred[i] == UINT32_MAX || deps->edge_succ[i] == UINT32_MAX)
            run->edges_unlisted++;
        else if ((flags & TL_DEPS_HAS_FLAGS) == 0 || (flags & TL_DEPS_WAIT) != 0)
            g->edges[g->n_edges++] = (struct tl_path_edge){deps->edge_pred[i], deps->edge_succ[i]};
    }
}

static int fill(struct tl_path_run *run, struct tl_error *reterr)
{
    const struct tl_swim_join *join = run->join;
    struct tl_path_graph *g = &run->graph;
    uint32_t *places = place_tasks(join, &g->n_tasks);
    int r = TL_ENOMEM;

    g->tasks = tl__alloc((size_t)g->n_tasks + 1, sizeof(*g->tasks));
    g->slices = tl__alloc((size_t)join->n_ran + 1, sizeof(*g->slices));
    g->edges = tl__alloc((size_t)join->deps->n_edges + 1, sizeof(*g->edges));
    run->join_slice = tl__alloc((size_t)join->n_ran + 1, sizeof(*run->join_slice));
    if (places == NULL || g->tasks == NULL || g->slices == NULL || g->edges == NULL || run->join_slice == NULL) {
        (void)tl__fail(reterr, TL_ENOMEM, "out of memory for %" PRIu32 " tasks", g->n_tasks);
        goto out;
    }
    g->end_ns = tl__path_ns(join, join->end);
    fill_tasks(run, places);
    fill_slices(run, places);
    fill_edges(run);
    r = tl__path_graph_build(g, reterr);
out:
    tl__free(places);
    return r;
}

int tl__path_run_make(const struct tl_swim_join *join, struct tl_path_run *ret_run, struct tl_error *reterr)
{
    struct tl_path_run run = {.join = join};
    int r;

    if (join->deps->n_tasks + join->n_tasks >= TL_PATH_NONE || join->deps->n_edges >= TL_PATH_NONE)
        return tl__fail(reterr, TL_ERANGE, "more than 4 billion tasks or edges in one recording");
    r = fill(&run, reterr);
    if (r == 0 &&
        (tl__path_find_static(&run.graph, &run.chain) < 0 || tl__path_find_observed(&run.graph, &run.observed) < 0))
        r = tl__fail(reterr, TL_ENOMEM, "out of memory for the paths of %" PRIu32 " tasks", run.graph.n_tasks);
    if (r < 0) {
        tl__path_run_fini(&run);
        return r;
    }
    *ret_run = run;
    return 0;
}

void tl__path_run_fini(struct tl_path_run *run)
{
    tl__path_static_fini(&run->chain);
    tl__path_observed_fini(&run->observed);
    tl__path_graph_fini(&run->graph);
    tl__free(run->join_slice);
    memset(run, 0, sizeof(*run));
}
