/* SPDX-License-Identifier: Apache-2.0 */
/* Where slices and phases are in a trace: in time, on which lane, under which number; and which of them it shows. */
#include "analysis/swimlane/swim_trace_internal.h"

#include <stdlib.h>

#include "base/env.h"
#include "base/error.h"

/* ---- time ---- */

/* To the nearest whole nanosecond: the grid of all times of a trace. Readers keep nanoseconds; if each end of a slice
 * were rounded by the reader, a slice and the one that it touches could overlap or part. */
int64_t tl__trace_on_grid(int64_t ps)
{
    int64_t part = ps % TL_TRACE_GRID_PS;

    if (part < 0)
        part += TL_TRACE_GRID_PS;
    return ps - part + (2 * part >= TL_TRACE_GRID_PS ? TL_TRACE_GRID_PS : 0);
}

int64_t tl__trace_ps(const struct trace *t, uint64_t cycles)
{
    return tl__trace_on_grid(tl__swim_ps(&t->join->clock, cycles) - t->join->clock.first_ps);
}

bool tl__trace_in_window(const struct trace *t, struct span span)
{
    return !t->opts->windowed || (span.end >= t->opts->from_ps && span.start <= t->opts->to_ps);
}

struct span tl__trace_phase_span(const struct trace *t, const struct tl_swim_phase *phase)
{
    struct span span = {.start = tl__trace_ps(t, tl__swim_cycles(&t->join->clock, phase->start_cycles)),
                        .end = tl__trace_ps(t, tl__swim_cycles(&t->join->clock, phase->end_cycles))};

    if (span.end < span.start)
        span.end = span.start;
    return span;
}

static struct span stamped_span(const struct trace *t, uint64_t start, uint64_t end)
{
    const struct tl_swim_clock *clock = &t->join->clock;
    struct span span = {.start = tl__trace_on_grid(tl__swim_orch_ps(clock, start) - clock->first_ps),
                        .end = tl__trace_on_grid(tl__swim_orch_ps(clock, end) - clock->first_ps)};

    if (span.end < span.start)
        span.end = span.start;
    return span;
}

struct span tl__trace_submit_span(const struct trace *t, const struct tl_swim_orch *submit)
{
    return stamped_span(t, submit->start_cycles, submit->end_cycles);
}

struct span tl__trace_upload_span(const struct trace *t, const struct tl_swim_upload *upload)
{
    return stamped_span(t, upload->start_ns, upload->end_ns);
}

/* A chip with more cores than others' numbers leave room for moves them up. */
uint32_t tl__trace_aicpu_tid(const struct trace *t, uint32_t thread)
{
    uint64_t first = TID_CORE + (uint64_t)LANES_A_CORE * t->join->lane->num_cores;

    return (uint32_t)(first > TID_AICPU ? first : TID_AICPU) + thread;
}

/* ---- slices ---- */

/* What was never seen to finish is drawn to where it is known to have got. */
static uint64_t sched_end(const struct tl_swim_join *join, const struct tl_swim_slice *s)
{
    if ((s->flags & TL_SWIM_FINISHED) != 0)
        return s->finish;
    if ((s->flags & TL_SWIM_RAN) == 0)
        return join->end;
    return s->end > s->dispatch ? s->end : s->dispatch;
}

struct span tl__trace_slice_span(const struct trace *t, const struct tl_swim_slice *slice, enum view view)
{
    if (view == VIEW_WORKER)
        return (struct span){tl__trace_ps(t, slice->receive), tl__trace_ps(t, slice->end)};
    return (struct span){tl__trace_ps(t, slice->dispatch), tl__trace_ps(t, sched_end(t->join, slice))};
}

bool tl__trace_shows(const struct trace *t, uint32_t slice, enum view view)
{
    const struct tl_swim_slice *s = &t->join->slices[slice];

    return (s->flags & (view == VIEW_WORKER ? TL_SWIM_RAN : TL_SWIM_SENT)) != 0 &&
           (t->opts->kept == NULL || t->opts->kept[slice] != 0) &&
           tl__trace_in_window(t, tl__trace_slice_span(t, s, view));
}

uint32_t tl__trace_slice_tid(const struct trace *t, uint32_t slice, enum view view)
{
    return TID_CORE + LANES_A_CORE * t->join->slices[slice].core + t->lane[view][slice];
}

/* Numbers of one recording among several do not meet another's; 2^53 is what every reader of JSON keeps. */
static uint64_t first_id(const struct trace *t)
{
    return (uint64_t)t->opts->part << 32;
}

uint64_t tl__trace_slice_id(const struct trace *t, uint32_t slice, enum view view)
{
    return first_id(t) + (uint64_t)view * t->join->n_slices + slice;
}

uint64_t tl__trace_phase_id(const struct trace *t, uint32_t phase)
{
    return first_id(t) + (uint64_t)VIEWS * t->join->n_slices + phase;
}

/* ---- lanes of slices ---- */

struct by_start {
    const struct tl_swim_join *join;
    enum view view;
};

static int in_order(const void *left, const void *right, void *context)
{
    const struct by_start *by = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct tl_swim_slice *l = &by->join->slices[a], *r = &by->join->slices[b];
    bool worker = by->view == VIEW_WORKER;
    uint64_t ls = worker ? l->receive : l->dispatch, rs = worker ? r->receive : r->dispatch;
    uint64_t le = worker ? l->end : sched_end(by->join, l), re = worker ? r->end : sched_end(by->join, r);

    if (l->core != r->core)
        return l->core < r->core ? -1 : 1;
    if (ls != rs)
        return ls < rs ? -1 : 1;
    if (le != re)
        return le < re ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* A core that has the next task pending while one runs shows two slices at once: the later goes one lane down. */
static void assign_slice_lanes(struct trace *t, enum view view)
{
    int64_t busy_until[LANES_A_CORE] = {0};

    for (uint32_t i = 0; i < t->shown[view]; i++) {
        uint32_t slice = t->order[view][i];
        struct span span = tl__trace_slice_span(t, &t->join->slices[slice], view);
        uint32_t lane = 0;

        if (i == 0 || t->join->slices[slice].core != t->join->slices[t->order[view][i - 1]].core)
            for (uint32_t k = 0; k < LANES_A_CORE; k++)
                busy_until[k] = 0;
        while (lane < LANES_A_CORE - 1 && busy_until[lane] > span.start)
            lane++;
        t->drawn->crowded += busy_until[lane] > span.start;
        busy_until[lane] = span.end;
        t->lane[view][slice] = (uint8_t)lane;
    }
}

int tl__trace_plan(struct trace *t)
{
    for (unsigned view = 0; view < VIEWS; view++) {
        struct by_start by = {t->join, view};
        uint32_t n = 0;

        t->order[view] = tl__alloc((size_t)t->join->n_slices + 1, sizeof(*t->order[view]));
        t->lane[view] = tl__alloc((size_t)t->join->n_slices + 1, sizeof(*t->lane[view]));
        if (t->order[view] == NULL || t->lane[view] == NULL)
            return TL_ENOMEM;
        for (uint32_t i = 0; i < t->join->n_slices; i++)
            if (tl__trace_shows(t, i, view))
                t->order[view][n++] = i;
        t->shown[view] = n;
        qsort_r(t->order[view], n, sizeof(*t->order[view]), in_order, &by);
        assign_slice_lanes(t, view);
    }
    return 0;
}

/* ---- lanes of phases ---- */

uint32_t tl__trace_phase_tid(const struct trace *t, uint32_t phase)
{
    return TID_SCHED + LANES_A_SCHED * t->join->lane->phases[phase].thread + t->phase_lane[phase];
}

/* Phases of one group of one scheduler, by start: on `lane`, or on a spare one while that shows another. */
static void assign_phase_lanes(struct trace *t, uint32_t first, uint32_t count, uint8_t lane, uint8_t spare)
{
    enum { SPARES = 4 };
    int64_t busy_until[1 + SPARES] = {0};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t phase = t->scheds->order[first + i];
        struct span span = tl__trace_phase_span(t, &t->join->lane->phases[phase]);
        uint8_t k = 0;

        while (k < SPARES && busy_until[k] > span.start)
            k++;
        t->drawn->crowded += busy_until[k] > span.start;
        busy_until[k] = span.end;
        t->phase_lane[phase] = k == 0 ? lane : (uint8_t)(spare + k - 1);
    }
}

int tl__trace_plan_phases(struct trace *t)
{
    const struct tl_swim_join *join = t->join;

    t->finishes = tl__alloc(join->lane->n_phases + 1, sizeof(*t->finishes));
    t->phase_lane = tl__alloc(join->lane->n_phases + 1, sizeof(*t->phase_lane));
    if (t->finishes == NULL || t->phase_lane == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < t->scheds->count; i++) {
        const struct tl_swim_sched *s = &t->scheds->list[i];

        assign_phase_lanes(t, s->outer_first, s->outer_count, OUTER_LANE, OUTER_SPARE);
        assign_phase_lanes(t, s->inner_first, s->inner_count, INNER_LANE, INNER_SPARE);
    }
    for (uint32_t i = 0; i < join->n_slices; i++) {
        const struct tl_swim_slice *s = &join->slices[i];
        uint32_t phase = TL_SWIM_NONE;

        if ((s->flags & TL_SWIM_FINISHED) != 0)
            phase = tl__swim_phase_at(t->scheds, s->thread, s->finish, TL_SWIM_ENDS);
        if (phase != TL_SWIM_NONE)
            t->finishes[phase]++;
    }
    return 0;
}
