/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/path/path_trace.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

enum { LANE_OBSERVED, LANE_STATIC, LANES };

#define ON_CHAIN TL_PATH_KINDS /* as a stretch's kind: a task of the static path */

/* A stretch of the wall on the observed path, or of a task on the static one. */
struct stretch {
    uint64_t start_ns, end_ns;
    uint32_t slice; /* of the graph: the one that runs, or that is waited for; TL_PATH_NONE in the tail */
    uint8_t kind;   /* enum tl_path_kind, or ON_CHAIN */
};

struct tracing {
    const struct tl_path_run *run;
    struct stretch *stretches;
    uint32_t n_stretches;
    uint8_t *marked; /* by slice of the join */
};

static void add(struct tracing *t, unsigned kind, uint32_t slice, uint64_t start_ns, uint64_t end_ns)
{
    if (end_ns > start_ns)
        t->stretches[t->n_stretches++] = (struct stretch){start_ns, end_ns, slice, (uint8_t)kind};
}

static void cut_wall(struct tracing *t)
{
    const struct tl_path_observed *path = &t->run->observed;
    const struct tl_path_graph *g = &t->run->graph;
    uint64_t at = g->begin_ns;

    if (path->count > 0) {
        uint64_t head_end = g->begin_ns + path->spent_ns[TL_PATH_HEAD];

        add(t, TL_PATH_HEAD, path->steps[0].slice, at, head_end);
        add(t, TL_PATH_ORCHESTRATION, path->steps[0].slice, head_end, path->steps[0].released_ns);
    }
    for (uint32_t i = 0; i < path->count; i++) {
        const struct tl_path_step *step = &path->steps[i];
        const struct tl_path_slice *s = &g->slices[step->slice];

        add(t, TL_PATH_SCHEDULER, step->slice, step->released_ns, step->dispatched_ns);
        add(t, TL_PATH_DISPATCH, step->slice, step->dispatched_ns, s->start_ns);
        add(t, TL_PATH_KERNEL, step->slice, s->start_ns, step->busy_ns);
        add(t, TL_PATH_CORE_BUSY, step->slice, step->busy_ns, s->end_ns);
        t->marked[t->run->join_slice[step->slice]] = 1;
        at = s->end_ns;
    }
    add(t, path->count > 0 ? TL_PATH_TAIL : TL_PATH_HEAD, TL_PATH_NONE, at, g->end_ns);
}

/* Tasks that no core ran have no place in time. */
static void add_chain(struct tracing *t)
{
    const struct tl_path_graph *g = &t->run->graph;

    for (uint32_t i = 0; i < t->run->chain.count; i++) {
        uint32_t task = t->run->chain.tasks[i];

        if (tl__path_has_slices(g, task))
            add(t, ON_CHAIN, g->last_slice[task], g->first_start_ns[task], g->last_end_ns[task]);
    }
}

static void band_at(void *ctx, uint32_t i, struct tl_swim_band *ret_band)
{
    const struct tracing *t = ctx;
    const struct stretch *s = &t->stretches[i];

    memset(ret_band, 0, sizeof(*ret_band));
    ret_band->lane = s->kind == ON_CHAIN ? LANE_STATIC : LANE_OBSERVED;
    ret_band->start_ns = s->start_ns;
    ret_band->end_ns = s->end_ns;
    ret_band->what = s->kind == ON_CHAIN ? "a task of the longest chain, from its first start to its last end"
                                         : tl__path_kind_text(s->kind);
    if (s->slice != TL_PATH_NONE)
        tl__swim_label(t->run->join, tl__path_slice(t->run, s->slice), ret_band->task);
    if (s->kind == ON_CHAIN || s->kind == TL_PATH_KERNEL)
        memcpy(ret_band->name, ret_band->task, sizeof(ret_band->name));
    else
        (void)snprintf(ret_band->name, sizeof(ret_band->name), "%s", tl__path_kind_word(s->kind));
}

static int draw(struct tl_json *json, struct tracing *t, struct tl_swim_drawn *ret_drawn)
{
    static const char *const lanes[LANES] = {"observed path", "static path"};
    const struct tl_swim_marks marks = {.process = "Critical Path",
                                        .lanes = lanes,
                                        .n_lanes = LANES,
                                        .n_bands = t->n_stretches,
                                        .band = band_at,
                                        .ctx = t,
                                        .slices = t->marked};
    const struct tl_swim_trace_opts opts = {.marks = &marks};
    struct tl_swim_scheds scheds;
    int r = tl__swim_scheds(t->run->join, &scheds);

    if (r < 0)
        return r;
    r = tl__swim_trace_write(json, &scheds, &opts, ret_drawn);
    tl__swim_scheds_fini(&scheds);
    return r;
}

int tl__path_trace_write(struct tl_json *json, const struct tl_path_run *run, struct tl_swim_drawn *ret_drawn)
{
    struct tracing t = {.run = run,
                        .stretches =
                            tl__alloc((size_t)run->observed.count * 4 + 3 + run->chain.count, sizeof(*t.stretches)),
                        .marked = tl__alloc((size_t)run->join->n_slices + 1, 1)};
    int r = TL_ENOMEM;

    if (t.stretches != NULL && t.marked != NULL) {
        cut_wall(&t);
        add_chain(&t);
        r = draw(json, &t, ret_drawn);
    }
    tl__free(t.stretches);
    tl__free(t.marked);
    return r;
}
