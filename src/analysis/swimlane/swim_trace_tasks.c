/* SPDX-License-Identifier: Apache-2.0 */
/* What the cores ran: the slices of the Worker View and the Scheduler View. */
#include "analysis/swimlane/swim_trace_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tasklens/kernel.h>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "base/task_id.h"

#define HINT_TASKS 16u /* of a list; a task with 50,000 consumers would write them all into each of its slices */
#define HINT_BYTES 640

static const uint32_t view_pid[VIEWS] = {[VIEW_WORKER] = PID_WORKER, [VIEW_SCHED] = PID_SCHED_VIEW};

/* Names a core's lanes before its first slice; they all have the core's name. */
static void name_lanes(struct trace *t, enum view view, uint32_t i)
{
    const struct tl_swim_slice *s = &t->join->slices[t->order[view][i]];
    uint32_t deepest = 0;
    char name[24];

    if (i > 0 && t->join->slices[t->order[view][i - 1]].core == s->core)
        return;
    for (uint32_t k = i; k < t->shown[view] && t->join->slices[t->order[view][k]].core == s->core; k++)
        if (t->lane[view][t->order[view][k]] > deepest)
            deepest = t->lane[view][t->order[view][k]];
    (void)snprintf(name, sizeof(name), "%s_%" PRIu32, s->core_type == TL_AIV ? "AIV" : "AIC", s->core);
    for (uint32_t k = 0; k <= deepest; k++)
        tl__trace_thread(t, view_pid[view], TID_CORE + LANES_A_CORE * s->core + k, name);
}

/* ---- slices ---- */

static void begin_slice(struct trace *t, const char *name, uint32_t pid, uint32_t tid, struct span span, uint64_t id)
{
    tl__trace_begin(t, name, "X", pid, tid);
    tl__trace_span(t, span);
    tl__json_member_string(t->json, "cat", "event");
    tl__json_member_u64(t->json, "id", id);
    if (t->marked) { /* chrome://tracing takes this colour; Perfetto makes its own of the names */
        tl__json_key(t->json, "cname");
        tl__json_string(t->json, "terrible");
    }
    tl__json_member_object(t->json, "args", TL_JSON_LINE);
}

static void end_slice(struct trace *t)
{
    if (t->marked) {
        tl__json_member_bool(t->json, "marked", true);
    }
    tl__json_object_end(t->json);
    tl__trace_end(t);
}

/* "3: [r0t1, r0t2, r0t4]" */
static void put_neighbours(struct trace *t, const char *key, uint32_t task, bool out)
{
    const struct tl_swim_join *join = t->join;
    uint32_t first = out ? t->fanout_first[task] : join->tasks[task].first_edge;
    uint32_t count = out ? t->fanout_first[task + 1] - first : join->tasks[task].edge_count;
    char hint[HINT_BYTES], id[TL_TASK_BYTES];
    struct tl_text text = tl__text(hint, sizeof(hint));

    tl__text_dec(&text, count);
    tl__text_put(&text, ": [");
    for (uint32_t i = 0; i < count && i < HINT_TASKS; i++) {
        uint32_t other = out ? join->edges[t->fanout[first + i]].succ : join->edges[first + i].pred;

        (void)tl__task_text(id, join->layout, join->tasks[other].task_id);
        tl__text_put(&text, i > 0 ? ", " : "");
        tl__text_put(&text, id);
    }
    tl__text_put(&text, count > HINT_TASKS ? ", ...]" : "]");
    tl__json_key(t->json, key);
    tl__json_string_bytes(t->json, hint, text.used);
}

static void put_task(struct trace *t, uint32_t task)
{
    if (t->join->deps != NULL) {
        put_neighbours(t, "fanout-hint", task, true);
        put_neighbours(t, "fanin-hint", task, false);
    }
    tl__json_member_u64(t->json, "taskId", t->join->tasks[task].task_id);
    if (t->join->n_epochs > 1) {
        tl__json_member_u64(t->json, "run_epoch", t->join->tasks[task].run_epoch);
    }
}

static void put_event_hint(struct trace *t, const struct tl_swim_slice *s)
{
    char hint[96], id[TL_TASK_BYTES] = "?";

    if ((s->flags & TL_SWIM_RAN) != 0)
        (void)tl__task_text(id, t->join->layout, s->task_id);
    (void)snprintf(hint, sizeof(hint), "Task:%s, FuncId:%" PRId32 ", CoreId:%" PRIu32, id, s->func_id, s->core);
    tl__json_member_string(t->json, "event-hint", hint);
}

static void worker_slice(struct trace *t, uint32_t slice)
{
    const struct tl_swim_slice *s = &t->join->slices[slice];
    struct span span = tl__trace_slice_span(t, s, VIEW_WORKER);
    int64_t start = tl__trace_ps(t, s->start);
    char label[TL_SWIM_LABEL_BYTES];

    tl__swim_label(t->join, s, label);
    t->marked = t->marks != NULL && t->marks->slices[slice] != 0;
    begin_slice(t, label, PID_WORKER, tl__trace_slice_tid(t, slice, VIEW_WORKER), span,
                tl__trace_slice_id(t, slice, VIEW_WORKER));
    put_event_hint(t, s);
    tl__trace_us(t, "duration-us", span.end - span.start);
    tl__trace_us(t, "kernel-duration-us", span.end - start);
    if (start > span.start)
        tl__trace_us(t, "local_setup_us", start - span.start);
    put_task(t, s->task);
    end_slice(t);
    t->marked = false;
    t->drawn->worker_slices++;
}

static void sched_slice(struct trace *t, uint32_t slice)
{
    const struct tl_swim_slice *s = &t->join->slices[slice];
    struct span span = tl__trace_slice_span(t, s, VIEW_SCHED);
    char label[TL_SWIM_LABEL_BYTES];

    tl__swim_label(t->join, s, label);
    begin_slice(t, label, PID_SCHED_VIEW, tl__trace_slice_tid(t, slice, VIEW_SCHED), span,
                tl__trace_slice_id(t, slice, VIEW_SCHED));
    put_event_hint(t, s);
    tl__trace_us(t, "dispatch-time-us", span.start);
    if ((s->flags & TL_SWIM_FINISHED) != 0) {
        tl__trace_us(t, "finish-time-us", span.end);
        tl__trace_us(t, "aicpu-duration-us", span.end - span.start);
    } else {
        tl__json_member_string(t->json, "finish", "missing");
    }
    if ((s->flags & TL_SWIM_RAN) != 0) {
        tl__json_member_u64(t->json, "taskId", s->task_id);
    }
    end_slice(t);
    t->drawn->sched_slices++;
}

/* Tasks that no core runs, on a lane of the scheduler that did without. */
static void phase_slice(struct trace *t, uint32_t phase, uint32_t tid)
{
    const struct tl_swim_phase *p = &t->join->lane->phases[phase];
    char id[TL_TASK_BYTES], name[64];

    if ((p->has & TL_SWIM_HAS_TASK_ID) == 0) {
        (void)snprintf(name, sizeof(name), "%s", tl__swim_phase_name(t->join->lane, p));
    } else {
        (void)tl__task_text(id, t->join->layout, p->task_id);
        (void)snprintf(name, sizeof(name), "%s(%s)", tl__swim_phase_name(t->join->lane, p), id);
    }
    begin_slice(t, name, PID_WORKER, tid, tl__trace_phase_span(t, p), tl__trace_phase_id(t, phase));
    tl__json_member_string(t->json, "phase", tl__swim_phase_name(t->join->lane, p));
    if ((p->has & TL_SWIM_HAS_TASK_ID) != 0)
        put_task(t, tl__swim_find_in(t->join, p->run_epoch, p->task_id));
    end_slice(t);
    t->drawn->worker_slices++;
}

static void aicpu_lanes(struct trace *t)
{
    for (uint32_t i = 0; i < t->scheds->count; i++) {
        const struct tl_swim_sched *s = &t->scheds->list[i];
        uint32_t tid = tl__trace_aicpu_tid(t, s->thread);
        char name[24];

        (void)snprintf(name, sizeof(name), "AICPU_%" PRIu32, s->thread);
        tl__trace_thread(t, PID_WORKER, tid, name);
        for (uint32_t k = 0; k < s->task_count; k++) {
            uint32_t phase = t->scheds->order[s->task_first + k];

            if (tl__trace_in_window(t, tl__trace_phase_span(t, &t->join->lane->phases[phase])))
                phase_slice(t, phase, tid);
        }
    }
}

void tl__trace_tasks(struct trace *t)
{
    tl__trace_process(t, PID_WORKER, "Worker View");
    for (uint32_t i = 0; i < t->shown[VIEW_WORKER]; i++) {
        name_lanes(t, VIEW_WORKER, i);
        worker_slice(t, t->order[VIEW_WORKER][i]);
    }
    aicpu_lanes(t);
    if (t->shown[VIEW_SCHED] == 0)
        return;
    tl__trace_process(t, PID_SCHED_VIEW, "Scheduler View");
    for (uint32_t i = 0; i < t->shown[VIEW_SCHED]; i++) {
        name_lanes(t, VIEW_SCHED, i);
        sched_slice(t, t->order[VIEW_SCHED][i]);
    }
}
