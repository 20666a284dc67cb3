/* SPDX-License-Identifier: Apache-2.0 */
/* What the AICPU did: the phases of each scheduler, the orchestrator's submits, the counters. */
#include "analysis/swimlane/swim_trace_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/env.h"
#include "base/error.h"
#include "base/task_id.h"

/* Colours by name, as chrome://tracing has them. Perfetto picks its own. */
static const char *colour(unsigned kind)
{
    switch (kind) {
    case TL_PHASE_DISPATCH:
    case TL_PHASE_EARLY_DISPATCH:
        return "terrible";
    case TL_PHASE_COMPLETE:
        return "good";
    case TL_PHASE_RELEASE:
        return "olive";
    case TL_PHASE_RESOLVE:
        return "vsync_highlight_color";
    case TL_PHASE_ASYNC_POLL:
    case TL_PHASE_POLL:
        return "thread_state_iowait";
    case TL_PHASE_DRAIN:
    case TL_PHASE_DRAIN_PREPARE:
    case TL_PHASE_DRAIN_PUBLISH:
        return "rail_response";
    default:
        return "grey";
    }
}

static void put_u64(struct trace *t, const char *key, uint64_t value)
{
    tl__json_member_u64(t->json, key, value);
}

static void put_queues(struct trace *t, const char *key, const uint32_t *ready)
{
    tl__json_member_array(t->json, key, TL_JSON_LINE);
    for (unsigned i = 0; i < 3; i++)
        tl__json_u64(t->json, ready[i]);
    tl__json_array_end(t->json);
}

/* ---- phases ---- */

/* Of several executions in one file each is named; of one alone nothing is said. */
static void put_epoch(struct trace *t, uint32_t run_epoch)
{
    if (t->join->n_epochs > 1)
        put_u64(t, "run_epoch", run_epoch);
}

static void put_phase(struct trace *t, uint32_t phase)
{
    const struct tl_swim_phase *p = &t->join->lane->phases[phase];
    char name[64];

    (void)snprintf(name, sizeof(name), "%s(%" PRIu32 ")", tl__swim_phase_name(t->join->lane, p), p->tasks_processed);
    tl__trace_begin(t, name, "X", PID_SCHED, tl__trace_phase_tid(t, phase));
    tl__trace_span(t, tl__trace_phase_span(t, p));
    tl__json_member_string(t->json, "cat", "scheduler");
    tl__json_member_string(t->json, "cname", colour(p->kind));
    tl__json_member_object(t->json, "args", TL_JSON_LINE);
    tl__json_member_string(t->json, "phase", tl__swim_phase_name(t->join->lane, p));
    put_u64(t, "loop_iter", p->loop_iter);
    put_u64(t, "tasks_processed", p->tasks_processed);
    put_epoch(t, p->run_epoch);
    if (p->kind == TL_PHASE_ASYNC_POLL && p->tasks_processed == 0 && t->join->lane->form == TL_SWIM_2026_09) {
        tl__json_member_string(t->json, "place",
                               "a sum of poll times, put where it was flushed: its length is true, its place is not");
    }
    if ((p->has & TL_SWIM_HAS_POP) != 0) {
        put_u64(t, "pop_hit", p->pop_hit);
        put_u64(t, "pop_miss", p->pop_miss);
    }
    if ((p->has & TL_SWIM_HAS_SHARED) != 0) {
        put_queues(t, "shared_at_start (aic,aiv,mix)", p->shared_at_start);
        put_queues(t, "shared_at_end (aic,aiv,mix)", p->shared_at_end);
    }
    if (p->kind == TL_PHASE_COMPLETE) {
        put_u64(t, "finishes_processed", p->tasks_processed);
        put_u64(t, "finish_rows_attributed", t->finishes[phase]);
    }
    tl__json_object_end(t->json);
    tl__trace_end(t);
    t->drawn->phases++;
}

/* What waits in the queues that all schedulers share, as the phase left it. A release does not look at them. */
static void put_queue_counter(struct trace *t, const struct tl_swim_phase *p)
{
    static const char *const shapes[] = {"AIC", "AIV", "MIX"};

    if ((p->has & TL_SWIM_HAS_SHARED) == 0 || p->kind == TL_PHASE_RELEASE)
        return;
    tl__trace_begin(t, "shared_ready_queue", "C", PID_SCHED, TID_QUEUE);
    tl__trace_ts(t, tl__trace_phase_span(t, p).end);
    tl__json_member_string(t->json, "cat", "queue");
    tl__json_member_object(t->json, "args", TL_JSON_LINE);
    for (unsigned i = 0; i < 3; i++)
        put_u64(t, shapes[i], p->shared_at_end[i]);
    tl__json_object_end(t->json);
    tl__trace_end(t);
}

static bool in_window(const struct trace *t, uint32_t phase)
{
    return tl__trace_in_window(t, tl__trace_phase_span(t, &t->join->lane->phases[phase]));
}

/* The inner phases have the next lane, of the same name: what an arrow to a moment is bound to is then the outer
 * phase, and what the outer lane shows adds up to its time. */
static void put_sched(struct trace *t, const struct tl_swim_sched *s)
{
    const uint32_t *order = t->scheds->order;
    bool used[LANES_A_SCHED] = {[OUTER_LANE] = true};
    char name[24];

    for (uint32_t i = 0; i < s->outer_count; i++)
        used[t->phase_lane[order[s->outer_first + i]]] = true;
    for (uint32_t i = 0; i < s->inner_count; i++)
        used[t->phase_lane[order[s->inner_first + i]]] = true;
    (void)snprintf(name, sizeof(name), "Sched_%" PRIu32, s->thread);
    for (uint64_t i = 0; i < t->join->lane->n_streams; i++)
        if (t->join->lane->streams[i].aicore && t->join->lane->streams[i].scheduler_id == s->thread)
            (void)snprintf(name, sizeof(name), "AICore_%" PRIu32, t->join->lane->streams[i].worker_id);
    for (uint32_t k = 0; k < LANES_A_SCHED; k++)
        if (used[k])
            tl__trace_thread(t, PID_SCHED, TID_SCHED + LANES_A_SCHED * s->thread + k, name);
    for (uint32_t i = 0; i < s->outer_count; i++) {
        if (!in_window(t, order[s->outer_first + i]))
            continue;
        put_phase(t, order[s->outer_first + i]);
        put_queue_counter(t, &t->join->lane->phases[order[s->outer_first + i]]);
    }
    for (uint32_t i = 0; i < s->inner_count; i++)
        if (in_window(t, order[s->inner_first + i]))
            put_phase(t, order[s->inner_first + i]);
}

void tl__trace_scheds(struct trace *t)
{
    bool queues = false;

    if (t->scheds->count == 0)
        return;
    tl__trace_process(t, PID_SCHED, "AICPU Scheduler");
    for (uint64_t i = 0; i < t->join->lane->n_phases && !queues; i++)
        queues = (t->join->lane->phases[i].has & TL_SWIM_HAS_SHARED) != 0;
    if (queues)
        tl__trace_thread(t, PID_SCHED, TID_QUEUE, "shared_ready_queue (global)");
    for (uint32_t i = 0; i < t->scheds->count; i++)
        put_sched(t, &t->scheds->list[i]);
}

/* ---- submits ---- */

static void name_orch_threads(struct trace *t, const char *prefix)
{
    const struct tl_swimlane *lane = t->join->lane;
    char name[24];

    for (uint64_t i = 0; i < lane->n_orchs; i++) {
        if (i > 0 && lane->orchs[i].thread == lane->orchs[i - 1].thread)
            continue;
        (void)snprintf(name, sizeof(name), "%s_%" PRIu32, prefix, lane->orchs[i].thread);
        tl__trace_thread(t, PID_ORCH, TID_ORCH + lane->orchs[i].thread, name);
    }
}

/* Of a trace of some kernels the submits of their tasks are drawn. */
static bool has_kept_slice(const struct trace *t, uint64_t task_id)
{
    uint32_t task = t->opts->kept != NULL ? tl__swim_find(t->join, task_id) : TL_SWIM_NONE;

    for (uint32_t i = 0; task != TL_SWIM_NONE && i < t->join->tasks[task].count; i++)
        if (t->opts->kept[t->join->by_task[t->join->tasks[task].first + i]] != 0)
            return true;
    return t->opts->kept == NULL;
}

void tl__trace_submits(struct trace *t)
{
    const struct tl_swimlane *lane = t->join->lane;
    char name[TL_TASK_BYTES + 16], id[TL_TASK_BYTES];

    if (lane->n_orchs == 0)
        return;
    tl__trace_process(t, PID_ORCH, lane->orch_is_host_clock ? "Host Orchestrator" : "AICPU Orchestrator");
    name_orch_threads(t, lane->orch_is_host_clock ? "Host" : "Orch");
    for (uint64_t i = 0; i < lane->n_orchs; i++) {
        const struct tl_swim_orch *o = &lane->orchs[i];

        if (!tl__trace_in_window(t, tl__trace_submit_span(t, o)) || !has_kept_slice(t, o->task_id))
            continue;
        (void)tl__task_text(id, t->join->layout, o->task_id);
        (void)snprintf(name, sizeof(name), "submit(%s)", id);
        tl__trace_begin(t, name, "X", PID_ORCH, TID_ORCH + o->thread);
        tl__trace_span(t, tl__trace_submit_span(t, o));
        tl__json_member_string(t->json, "cat", "orchestrator");
        tl__json_member_string(t->json, "cname", "rail_animation");
        tl__json_member_object(t->json, "args", TL_JSON_LINE);
        tl__json_member_string(t->json, "phase", "orch_submit");
        put_u64(t, "submit_idx", o->submit_idx);
        put_epoch(t, o->run_epoch);
        put_u64(t, "task_id", o->task_id);
        tl__json_object_end(t->json);
        tl__trace_end(t);
        t->drawn->submits++;
    }
}

/* ---- uploads ---- */

void tl__trace_uploads(struct trace *t)
{
    const struct tl_swimlane *lane = t->join->lane;

    if (lane->n_uploads == 0 || !lane->orch_is_host_clock || lane->n_orchs == 0)
        return;
    tl__trace_thread(t, PID_ORCH, TID_UPLOAD, "H2D");
    for (uint64_t i = 0; i < lane->n_uploads; i++) {
        const struct tl_swim_upload *u = &lane->uploads[i];

        tl__trace_begin(t, u->phase, "X", PID_ORCH, TID_UPLOAD);
        tl__trace_span(t, tl__trace_upload_span(t, u));
        tl__json_member_string(t->json, "cat", "upload");
        tl__json_member_object(t->json, "args", TL_JSON_LINE);
        put_u64(t, "detail", u->detail);
        put_epoch(t, u->run_epoch);
        tl__json_object_end(t->json);
        tl__trace_end(t);
    }
}

/* ---- overhead ---- */

enum { AIC_IDLE, AIV_IDLE, AIC_READY, AIV_READY, AIC_OVERHEAD, AIV_OVERHEAD, ALL_OVERHEAD, HAS_OVERHEAD, COUNTERS };

static const char *const counter_names[COUNTERS] = {
    [AIC_IDLE] = "oh_aic_idle",         [AIV_IDLE] = "oh_aiv_idle",         [AIC_READY] = "oh_aic_ready",
    [AIV_READY] = "oh_aiv_ready",       [AIC_OVERHEAD] = "oh_aic_overhead", [AIV_OVERHEAD] = "oh_aiv_overhead",
    [ALL_OVERHEAD] = "oh_all_overhead", [HAS_OVERHEAD] = "oh_has_overhead",
};

struct counters {
    struct trace *trace;
    uint32_t last[COUNTERS];
    bool begun;
};

/* A counter holds until its next event, so only changes are written. */
static void put_state(void *ctx, uint64_t cycles, const struct tl_swim_state *state)
{
    struct counters *c = ctx;
    struct trace *t = c->trace;
    const uint32_t now[COUNTERS] = {
        [AIC_IDLE] = state->idle[0],   [AIV_IDLE] = state->idle[1],         [AIC_READY] = state->ready[0],
        [AIV_READY] = state->ready[1], [AIC_OVERHEAD] = state->overhead[0], [AIV_OVERHEAD] = state->overhead[1],
        [ALL_OVERHEAD] = state->all,   [HAS_OVERHEAD] = state->has,
    };

    if (!tl__trace_in_window(t, (struct span){tl__trace_ps(t, cycles), tl__trace_ps(t, cycles)}))
        return;
    for (unsigned i = 0; i < COUNTERS; i++) {
        if (c->begun && now[i] == c->last[i])
            continue;
        tl__trace_begin(t, counter_names[i], "C", PID_SCHED, TID_OVERHEAD);
        tl__trace_ts(t, tl__trace_ps(t, cycles));
        tl__json_member_string(t->json, "cat", "overhead");
        tl__json_member_object(t->json, "args", TL_JSON_LINE);
        put_u64(t, "value", now[i]);
        tl__json_object_end(t->json);
        tl__trace_end(t);
        t->drawn->counters++;
        c->last[i] = now[i];
    }
    c->begun = true;
}

int tl__trace_overhead(struct trace *t)
{
    struct counters c = {.trace = t};
    int code;

    if (t->join->deps == NULL || t->join->lane->level < 2)
        return 0;
    if (t->scheds->count == 0)
        tl__trace_process(t, PID_SCHED, "AICPU Scheduler");
    tl__trace_thread(t, PID_SCHED, TID_OVERHEAD, "overhead (global)");
    code = tl__swim_overhead(t->join, put_state, &c, &t->drawn->overhead);
    t->drawn->has_overhead = code == 0;
    return code;
}
