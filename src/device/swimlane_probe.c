/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chip swimlane on the device. A core stamps its subtask's start and end into the token; the scheduler commits the
 * subtask's record when it takes the subtask back, before anything else is done with it, so that a subtask has exactly
 * one record, of its own token, however early its FIN comes. Phases wait in the scheduler and are handed to their lane
 * between steps, because a step cannot stop half way for a lane that is full. Runs under the scheduler's lock.
 */
#include "device/swimlane_probe.h"

#include <string.h>

#include "base/error.h"
#include "device/device_impl.h"
#include "device/orch.h"
#include "device/probes.h"

void tl__timing_begin(struct tl_device *d)
{
    struct tl_clock_pair *pair = &d->status->clock[TL_CLOCK_BEGIN];

    memset(d->status->clock, 0, sizeof(d->status->clock));
    if (!d->timed)
        return;
    tl__clock_ready(&d->clock, d->opts.arch->clock_hz);
    pair->device_cycles = tl__clock_pair(&d->clock, &pair->host_before_ns, &pair->host_after_ns);
}

void tl__timing_end(struct tl_device *d)
{
    struct tl_clock_pair *pair = &d->status->clock[TL_CLOCK_QUIESCE];

    if (d->timed)
        pair->device_cycles = tl__clock_pair(&d->clock, &pair->host_before_ns, &pair->host_after_ns);
}

/* --- subtasks --------------------------------------------------------------------------------------------------- */

/* 0 at level 1, which does not stamp it. */
static uint32_t receive_cycles(const struct tl_scheduler *s, const struct tl_token *token)
{
    const uint64_t cycles = s->device->probes.stamped ? token->start - token->taken : 0;

    return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

static void subtasks_begin(struct tl_device *d)
{
    d->probes.stamped = d->launch->levels[TL_COLLECT_SWIMLANE] >= 2;
}

static int record_subtask(struct tl_scheduler *s, const struct tl_core_role *core, struct tl_token *token)
{
    struct tl_producer *lane = &s->rec.producer[TL_STREAM_SUBTASKS];
    struct tl_wire_subtask *r;
    uint64_t offset;
    void *payload;
    int ret;

    if (token->finish == 0 && s->device->probes.stamped)
        token->finish = tl__stamp(s->device, &s->stamp, token->end); /* once, also if the lane was full before */
    ret = tl__producer_reserve(lane, 0, &payload, &offset);
    if (ret < 0)
        return ret;
    r = tl__producer_record(lane);
    *r = (struct tl_wire_subtask){.task_id = token->slot->payload->id,
                                  .start = token->start,
                                  .end = token->end,
                                  .dispatch = token->dispatch,
                                  .finish = token->finish,
                                  .core_id = core->id,
                                  .reg_task_id = core->seen + 1,
                                  .receive = receive_cycles(s, token)};
    tl__producer_commit(lane, 0);
    return 0;
}

static int subtasks_unfinished(struct tl_scheduler *s)
{
    struct tl_producer *lane = &s->rec.producer[TL_STREAM_SUBTASKS];

    for (; s->next_unfinished < s->n_clusters * TL_KIND_COUNT; s->next_unfinished++) {
        const uint32_t i = s->next_unfinished;
        struct tl_core_role *core = s->cores[i % TL_KIND_COUNT][i / TL_KIND_COUNT];
        const struct tl_token *token;
        uint64_t since, offset;
        void *payload;
        int r;

        /* relaxed: nothing moves */
        if (core == NULL || core->seen == core->sent || (since = tl_load_rlx(&core->since)) == 0)
            continue;
        token = &core->token[core->seen & 1];
        r = tl__producer_reserve(lane, 0, &payload, &offset);
        if (r == TL_EAGAIN)
            return r;
        if (r < 0)
            continue; /* lost, and counted */
        *(struct tl_wire_subtask *)tl__producer_record(lane) =
            (struct tl_wire_subtask){.task_id = token->slot->payload->id,
                                     .start = since > token->dispatch ? since : token->dispatch,
                                     .dispatch = token->dispatch,
                                     .core_id = core->id,
                                     .reg_task_id = core->seen + 1};
        tl__producer_commit(lane, 0);
    }
    return 0;
}

static uint64_t subtasks_expected(const struct tl_scheduler *s, const struct tl_slot *slot)
{
    (void)s;
    return tl__subtasks_of(slot);
}

const struct tl_probe_ops tl__subtasks_probe = {.timed = true,
                                                .begin = subtasks_begin,
                                                .subtask = record_subtask,
                                                .expected = subtasks_expected,
                                                .hung = subtasks_unfinished};

/* --- phases ------------------------------------------------------------------------------------------------------ */

void tl__phase_note(struct tl_scheduler *s, enum tl_wire_phase_kind kind, uint64_t start, uint32_t tasks)
{
    struct tl_phases *p = &s->phases;
    struct tl_wire_phase *phase = &p->pending[p->count++];

    *phase = (struct tl_wire_phase){.start = start,
                                    .end = tl__stamp(s->device, &s->stamp, 0),
                                    .loop_iter = p->steps,
                                    .tasks = tasks,
                                    .kind = (uint32_t)kind};
    if (kind == TL_WIRE_PHASE_DISPATCH) {
        phase->pop_hit = p->pop_hit;
        phase->pop_miss = p->pop_miss;
    }
    s->rec.expected[TL_STREAM_PHASES]++;
}

bool tl__phase_step(struct tl_scheduler *s, enum tl_wire_phase_kind kind, bool follows,
                    bool (*step)(struct tl_scheduler *s))
{
    struct tl_phases *p = &s->phases;
    uint64_t start;
    bool progress;

    if (!tl__records(&s->rec, TL_STREAM_PHASES))
        return step(s);
    p->tasks = p->pop_hit = p->pop_miss = 0;
    start = follows ? s->stamp : tl__stamp(s->device, &s->stamp, 0);
    progress = step(s);
    if (progress)
        tl__phase_note(s, kind, start, p->tasks);
    return progress;
}

bool tl__phases_flush(struct tl_scheduler *s)
{
    struct tl_producer *lane = &s->rec.producer[TL_STREAM_PHASES];
    struct tl_phases *p = &s->phases;
    uint64_t offset;
    void *payload;

    for (; p->flushed < p->count; p->flushed++) {
        int r = tl__producer_reserve(lane, 0, &payload, &offset);

        if (r == TL_EAGAIN)
            return false;
        if (r < 0)
            continue; /* lost, and counted */
        memcpy(tl__producer_record(lane), &p->pending[p->flushed], sizeof(p->pending[0]));
        tl__producer_commit(lane, 0);
    }
    p->count = p->flushed = 0;
    return true;
}

/* The scheduler notes phases itself, step by step. */
const struct tl_probe_ops tl__phases_probe = {.timed = true};

/* --- submits -------------------------------------------------------------------------------------------------------
 */

static void record_submit(struct tl_orch *o, uint64_t task_id, uint64_t start)
{
    uint64_t end = tl__clock_cycles(&o->device->clock);
    struct tl_wire_submit *r;

    o->device->orch_record.rec.expected[TL_STREAM_SUBMITS]++;
    r = tl__orch_reserve(o, TL_STREAM_SUBMITS);
    if (r == NULL)
        return;
    *r = (struct tl_wire_submit){
        .task_id = task_id, .start = start, .end = end, .submit_idx = (uint32_t)(o->submitted - 1)};
    tl__orch_commit(o, TL_STREAM_SUBMITS);
}

const struct tl_probe_ops tl__submits_probe = {.timed = true, .submitted = record_submit};
