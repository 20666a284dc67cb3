/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrows. Readers bind an end to the slice of its lane that is there at its time, and a slice no longer is where it
 * ends: so each end lies between the slice's start and a nanosecond before the slice's end. One that would run
 * backwards in time is counted, not drawn.
 */
#include "analysis/swimlane/swim_trace_internal.h"

#include "base/env.h"
#include "base/error.h"

static const char *const arrow_names[TL_ARROW_COUNT] = {
#define TL_ARROW_NAME(arrow, key, name, backwards) [arrow] = name,
    TL_ARROW_LIST(TL_ARROW_NAME)
#undef TL_ARROW_NAME
};

/* A slice that an arrow may begin or end at. */
struct end {
    struct span span;
    int64_t at; /* when what the arrow leads to begins: the kernel's start, the dispatch */
    uint32_t pid, tid;
    uint32_t stands_for; /* slices; 0: not said */
};

/* ---- who stands for a task ---- */

static uint64_t begins(const struct tl_swim_slice *s, enum view view)
{
    return view == VIEW_WORKER ? s->start : s->dispatch;
}

/* An SPMD task has one, its earliest slice; others one a subtask, the earliest if the id was used again. */
static void pick(struct trace *t, uint32_t task, enum view view)
{
    const struct tl_swim_join *join = t->join;
    const struct tl_swim_task *of = &join->tasks[task];
    uint32_t *anchors = t->anchors[task][view];

    for (unsigned i = 0; i < SUBTASKS; i++)
        anchors[i] = TL_SWIM_NONE;
    for (uint32_t i = 0; i < of->count; i++) {
        uint32_t slice = join->by_task[of->first + i];
        const struct tl_swim_slice *s = &join->slices[slice];
        uint32_t *anchor = &anchors[of->block_num > 1 ? 0 : s->subtask];

        if (tl__trace_shows(t, slice, view) &&
            (*anchor == TL_SWIM_NONE || begins(s, view) < begins(&join->slices[*anchor], view)))
            *anchor = slice;
    }
}

/* The task's slice that was sent first, or whose end was noticed last. */
static uint32_t extreme(const struct trace *t, const struct tl_swim_task *task, bool last)
{
    const struct tl_swim_join *join = t->join;
    uint32_t found = TL_SWIM_NONE;

    for (uint32_t i = 0; i < task->count; i++) {
        uint32_t slice = join->by_task[task->first + i];
        const struct tl_swim_slice *s = &join->slices[slice];

        if ((s->flags & (last ? TL_SWIM_FINISHED : TL_SWIM_SENT)) == 0 || !tl__trace_shows(t, slice, VIEW_SCHED))
            continue;
        if (found == TL_SWIM_NONE ||
            (last ? s->finish > join->slices[found].finish : s->dispatch < join->slices[found].dispatch))
            found = slice;
    }
    return found;
}

int tl__trace_anchors(struct trace *t)
{
    t->anchors = tl__alloc((size_t)t->join->n_tasks + 1, sizeof(*t->anchors));
    t->sent_first = tl__alloc((size_t)t->join->n_tasks + 1, sizeof(*t->sent_first));
    t->ended_last = tl__alloc((size_t)t->join->n_tasks + 1, sizeof(*t->ended_last));
    if (t->anchors == NULL || t->sent_first == NULL || t->ended_last == NULL)
        return TL_ENOMEM;
    for (uint32_t task = 0; task < t->join->n_tasks; task++) {
        t->sent_first[task] = extreme(t, &t->join->tasks[task], false);
        t->ended_last[task] = extreme(t, &t->join->tasks[task], true);
        for (unsigned view = 0; view < VIEWS; view++)
            pick(t, task, view);
    }
    return 0;
}

static int64_t last_ns(struct span span)
{
    return span.end - TL_TRACE_GRID_PS > span.start ? span.end - TL_TRACE_GRID_PS : span.start;
}

/* `ps`, or what of the slice is next to it. */
static int64_t within(struct span span, int64_t ps)
{
    return ps < span.start ? span.start : ps > last_ns(span) ? last_ns(span) : ps;
}

static struct end slice_end(const struct trace *t, uint32_t slice, enum view view)
{
    const struct tl_swim_slice *s = &t->join->slices[slice];
    const struct tl_swim_task *task = &t->join->tasks[s->task];

    const struct span span = tl__trace_slice_span(t, s, view);

    return (struct end){
        .span = span,
        .at = within(span, tl__trace_ps(t, begins(s, view))),
        .pid = view == VIEW_WORKER ? PID_WORKER : PID_SCHED_VIEW,
        .tid = tl__trace_slice_tid(t, slice, view),
        .stands_for = task->block_num > 1 ? task->count : 1,
    };
}

/* Anchors of a task as arrow ends; a task that no core ran has the phase that stands for it, in the Worker View. */
static unsigned ends_of(const struct trace *t, uint32_t task, enum view view, struct end ends[SUBTASKS])
{
    const struct tl_swim_task *of = &t->join->tasks[task];
    unsigned n = 0;

    for (unsigned i = 0; i < SUBTASKS; i++)
        if (t->anchors[task][view][i] != TL_SWIM_NONE)
            ends[n++] = slice_end(t, t->anchors[task][view][i], view);
    if (of->count == 0 && of->phase != TL_SWIM_NONE && view == VIEW_WORKER) {
        const struct tl_swim_phase *p = &t->join->lane->phases[of->phase];

        ends[n] = (struct end){.span = tl__trace_phase_span(t, p),
                               .pid = PID_WORKER,
                               .tid = tl__trace_aicpu_tid(t, p->thread),
                               .stands_for = 1};
        ends[n].at = ends[n].span.start;
        n++;
    }
    return n;
}

/* A phase of a scheduler at the moment that it did something. */
static struct end phase_end(const struct trace *t, uint32_t phase, uint64_t cycles)
{
    const struct tl_swim_phase *p = &t->join->lane->phases[phase];
    const struct span span = tl__trace_phase_span(t, p);

    return (struct end){.span = span,
                        .at = within(span, tl__trace_ps(t, cycles)),
                        .pid = PID_SCHED,
                        .tid = tl__trace_phase_tid(t, phase)};
}

/* ---- arrows ---- */

static void put_end(struct trace *t, enum tl_arrow arrow, bool start, const struct end *e, int64_t ps)
{
    tl__trace_begin(t, arrow_names[arrow], start ? "s" : "f", e->pid, e->tid);
    tl__trace_ts(t, ps);
    tl__json_member_string(t->json, "cat", "flow");
    tl__json_member_u64(t->json, "id", t->next_flow);
    if (!start) {
        tl__json_member_string(t->json, "bp", "e");
    }
}

static void put_arrow(struct trace *t, enum tl_arrow arrow, const struct end *from, int64_t start, const struct end *to,
                      int64_t finish)
{
    const bool counted = from->stands_for > 0 && to->stands_for > 0;

    if (!tl__trace_in_window(t, from->span) || !tl__trace_in_window(t, to->span))
        return; /* one of its ends is not drawn */
    if (start > finish) {
        t->drawn->backward[arrow]++;
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        put_end(t, arrow, i == 0, i == 0 ? from : to, i == 0 ? start : finish);
        if (counted) {
            tl__json_member_u64(t->json, "input_task_count", to->stands_for);
            tl__json_member_u64(t->json, "output_task_count", from->stands_for);
        }
        tl__trace_end(t);
    }
    t->next_flow++;
    t->drawn->arrows[arrow]++;
}

/* A task that is dispatched early is so before its producers are done: there the arrow leaves the producer then. */
static void dependency(struct trace *t, const struct tl_swim_edge *edge, enum view view)
{
    enum tl_arrow arrow = view == VIEW_WORKER ? TL_ARROW_WORKER : TL_ARROW_SCHED;
    uint32_t deps = t->join->tasks[edge->succ].deps;
    bool early = view == VIEW_SCHED && deps != TL_SWIM_NONE && t->join->deps->tasks[deps].early_dispatch;
    struct end from[SUBTASKS], to[SUBTASKS];
    unsigned n = ends_of(t, edge->pred, view, from), m = ends_of(t, edge->succ, view, to);

    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < m; k++) {
            int64_t start = last_ns(from[i].span);

            if (early && start > to[k].at && to[k].at >= from[i].span.start)
                start = to[k].at;
            put_arrow(t, arrow, &from[i], start, &to[k], to[k].at);
        }
}

/* A slice's dispatch comes from a phase of its scheduler, and its end is noticed in one. */
static void to_and_from_scheduler(struct trace *t, uint32_t slice, enum view view)
{
    const struct tl_swim_slice *s = &t->join->slices[slice];
    struct end own = slice_end(t, slice, view), phase;
    uint32_t sent = TL_SWIM_NONE, ended = TL_SWIM_NONE;

    if ((s->flags & TL_SWIM_SENT) != 0)
        sent = tl__swim_phase_at(t->scheds, s->thread, s->dispatch, TL_SWIM_SENDS);
    if ((s->flags & TL_SWIM_FINISHED) != 0)
        ended = tl__swim_phase_at(t->scheds, s->thread, s->finish, TL_SWIM_ENDS);
    if (view == VIEW_SCHED) {
        t->drawn->unplaced += sent == TL_SWIM_NONE;
        t->drawn->unplaced += ended == TL_SWIM_NONE && (s->flags & TL_SWIM_FINISHED) != 0;
    }
    own.stands_for = 0;
    if (sent != TL_SWIM_NONE) {
        phase = phase_end(t, sent, s->dispatch);
        put_arrow(t, TL_ARROW_DISPATCH, &phase, phase.at, &own, own.at);
    }
    if (ended != TL_SWIM_NONE) {
        phase = phase_end(t, ended, s->finish);
        put_arrow(t, TL_ARROW_COMPLETE, &own, last_ns(own.span), &phase, phase.at);
    }
}

/* Where the scheduler sent a task: the phase, or the slice in its view if no phase says. */
static bool dispatch_of(const struct trace *t, uint32_t task, bool or_slice, struct end *ret_end)
{
    uint32_t slice = t->sent_first[task], phase;
    const struct tl_swim_slice *s;

    if (slice == TL_SWIM_NONE)
        return false;
    s = &t->join->slices[slice];
    phase = tl__swim_phase_at(t->scheds, s->thread, s->dispatch, TL_SWIM_SENDS);
    if (phase == TL_SWIM_NONE && !or_slice)
        return false;
    *ret_end = phase == TL_SWIM_NONE ? slice_end(t, slice, VIEW_SCHED) : phase_end(t, phase, s->dispatch);
    ret_end->stands_for = 0;
    return true;
}

/* The producer that was done last made the task ready: from the phase that noticed it to the dispatch. */
static void made_ready(struct trace *t, uint32_t task)
{
    const struct tl_swim_join *join = t->join;
    const struct tl_swim_task *of = &join->tasks[task];
    uint32_t slice = TL_SWIM_NONE, phase;
    const struct tl_swim_slice *s;
    struct end from, to;

    for (uint32_t i = 0; i < of->edge_count; i++) {
        const struct tl_swim_edge *edge = &join->edges[of->first_edge + i];
        uint32_t last = edge->wait ? t->ended_last[edge->pred] : TL_SWIM_NONE;

        if (last != TL_SWIM_NONE && (slice == TL_SWIM_NONE || join->slices[last].finish > join->slices[slice].finish))
            slice = last;
    }
    if (slice == TL_SWIM_NONE || !dispatch_of(t, task, false, &to))
        return;
    s = &join->slices[slice];
    phase = tl__swim_phase_at(t->scheds, s->thread, s->finish, TL_SWIM_ENDS);
    if (phase == TL_SWIM_NONE)
        return;
    from = phase_end(t, phase, s->finish);
    /* The task may be sent by another thread before this one is through with its phase. */
    from.at = last_ns(from.span) < to.at || to.at < from.at ? last_ns(from.span) : to.at;
    put_arrow(t, TL_ARROW_READY, &from, from.at, &to, to.at);
}

static void submitted(struct trace *t, uint32_t task)
{
    uint32_t submit = t->join->tasks[task].submit;
    struct end from, to;
    const struct tl_swim_orch *o;
    int64_t start;

    if (submit == TL_SWIM_NONE || t->join->clock.orch == TL_SWIM_ORCH_APART || !dispatch_of(t, task, true, &to))
        return;
    o = &t->join->lane->orchs[submit];
    from = (struct end){.span = tl__trace_submit_span(t, o), .pid = PID_ORCH, .tid = TID_ORCH + o->thread};
    start = last_ns(from.span);
    /* A submit has work left when the task is already out. */
    if (start > to.at && to.at >= from.span.start)
        start = to.at;
    put_arrow(t, TL_ARROW_SUBMIT, &from, start, &to, to.at);
}

void tl__trace_flows(struct trace *t)
{
    const struct tl_swim_join *join = t->join;

    for (unsigned view = 0; view < VIEWS; view++)
        for (uint32_t i = 0; i < join->n_edges; i++)
            dependency(t, &join->edges[i], view);
    for (uint32_t task = 0; task < join->n_tasks; task++) {
        if (t->scheds->count > 0)
            for (unsigned view = 0; view < VIEWS; view++)
                for (unsigned i = 0; i < SUBTASKS; i++)
                    if (t->anchors[task][view][i] != TL_SWIM_NONE)
                        to_and_from_scheduler(t, t->anchors[task][view][i], view);
        if (t->scheds->count > 0)
            made_ready(t, task);
        submitted(t, task);
    }
}
