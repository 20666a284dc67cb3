/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler's step: a short list of named steps, each of which returns whether it moved anything. */
#include "device/scheduler.h"

#include <tasklens/error.h>

#include "device/device_impl.h"
#include "device/dump_probe.h"
#include "device/probes.h"
#include "device/swimlane_probe.h"
#include "wire/dump_record.h"

bool tl__sched_has_work(struct tl_scheduler *s)
{
    struct tl_device *d = s->device;

    if (tl_load_rlx(&s->has_work) != 0) /* relaxed: hints all; the lock orders what follows */
        return true;
    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        if (tl_load_rlx(&s->fin[k]) != 0)
            return true;
    for (unsigned shape = 0; shape < TL_SHAPE_COUNT; shape++)
        if (!tl__ready_empty(&d->ready[shape]))
            return true;
    return false;
}

/* Continues the capture that a full lane interrupted. False: still parked. */
static bool resume_capture(struct tl_scheduler *s)
{
    struct tl_capture *c = &s->probe.capture;
    struct tl_slot *slot = c->slot;
    bool retire = c->stage == TL_WIRE_AFTER_COMPLETION && !c->partial;

    assert(slot != NULL && slot->payload != NULL); /* DI7 */
    if (tl__probe_resume(s) == TL_EAGAIN)
        return false;
    if (retire)
        tl__retire(s, slot);
    return true; /* a task before dispatch is held, marked as captured */
}

/* The phase that a continued capture belongs to: what its retirement resolves is within a phase like any other. */
static enum tl_wire_phase_kind resumed_phase(const struct tl_scheduler *s)
{
    return s->probe.capture.stage == TL_WIRE_AFTER_COMPLETION ? TL_WIRE_PHASE_COMPLETE : TL_WIRE_PHASE_DISPATCH;
}

/* Every scheduler has a cluster, and all clusters have the same cores. */
static bool has_kind(const struct tl_scheduler *s, unsigned kind)
{
    return s->cores[kind][0] != NULL;
}

#ifndef NDEBUG
/* DI9: no task waits in a scheduler that has ended. */
static bool holds_nothing(const struct tl_scheduler *s)
{
    for (unsigned shape = 0; shape < TL_SHAPE_COUNT; shape++)
        if (s->held[shape] != NULL || s->local[shape] != NULL)
            return false;
    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        for (uint32_t c = 0; has_kind(s, k) && c < s->n_clusters; c++)
            if (s->cores[k][c]->sent != s->cores[k][c]->seen)
                return false;
    return true;
}

/* DI3, DI5: the bits agree with the cores' counts, and each list is as long as its count. */
static bool is_sound(const struct tl_scheduler *s)
{
    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        for (uint32_t c = 0; has_kind(s, k) && c < s->n_clusters; c++) {
            const struct tl_core_role *core = s->cores[k][c];
            uint32_t in_flight = core->sent - core->seen;

            if (in_flight > 2 || core->sched != s || core->cluster != c || core->kind != k ||
                (s->idle[k] >> c & 1u) != (in_flight == 0) || (s->accepts[k] >> c & 1u) != (in_flight < 2))
                return false;
        }
    for (unsigned shape = 0; shape < TL_SHAPE_COUNT; shape++) {
        uint32_t n = 0;

        for (const struct tl_slot *slot = s->local[shape]; slot != NULL && n <= TL_LOCAL_READY; slot = slot->next_local)
            n++;
        if (n != s->n_local[shape] || n > TL_LOCAL_READY)
            return false;
    }
    return true;
}
#endif

/* The run is drained: hand over the rest of the lane. */
static bool end_step(struct tl_scheduler *s)
{
    if (tl_load_rlx(&s->ended) != 0) /* relaxed: written under the lock */
        return false;
    if (tl__sched_records(s) && tl_load_rlx(&s->device->hung) != 0 && !tl__probes_hung(s))
        return false;
    if (tl__recorder_end(&s->rec) == TL_EAGAIN)
        return false;
    assert(s->phases.count == 0 && s->probe.capture.slot == NULL); /* DI9 */
    assert((s->rec.on & ~s->rec.ended) == 0);                      /* DI9 */
    assert(tl_load_rlx(&s->device->failed) != 0 ||
           holds_nothing(s));    /* DI9; relaxed: failed after the drain was seen */
    tl_store_rel(&s->ended, 1u); /* D9: pairs with check_over */
    return true;
}

static bool in_flight(const struct tl_scheduler *s)
{
    uint64_t all = s->n_clusters == 64 ? UINT64_MAX : (UINT64_C(1) << s->n_clusters) - 1;

    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        if (has_kind(s, k) && s->idle[k] != all)
            return true;
    return false;
}

/* Nothing more will happen on this scheduler's lane. After a failure that is true once its own cores are done. */
static bool drained(struct tl_scheduler *s)
{
    struct tl_device *d = s->device;

    if (tl_load_acq(&d->hung) != 0) /* H1: nothing will finish any more */
        return true;
    if (tl_load_acq(&d->submitted_all) == 0) /* D8: `submitted` is final */
        return false;
    if (tl_load_rlx(&d->failed) != 0)
        return !in_flight(s);
    return tl__device_retired(d) == tl_load_rlx(&d->submitted);
}

static void note_work(struct tl_scheduler *s)
{
    uint32_t work = s->probe.capture.slot != NULL || s->phases.count != 0;

    for (unsigned shape = 0; shape < TL_SHAPE_COUNT; shape++)
        work |= s->held[shape] != NULL || s->local[shape] != NULL;
    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        work |= s->taken_fin[k] != 0;
    tl_store_rlx(&s->has_work, work); /* relaxed: a hint */
    if (TASKLENS_DFX && s->rec.on != 0)
        tl_store_rlx(&s->deadline_ns, tl__recorder_deadline(&s->rec)); /* relaxed: a thread steps it before it sleeps */
}

static bool step_locked(struct tl_scheduler *s)
{
    bool progress = false, completed;

    if (TASKLENS_DFX && s->phases.count != 0 && !tl__phases_flush(s))
        return false;
    assert(s->phases.count == 0); /* DI10 */
    s->phases.steps++;
    if (s->probe.capture.slot != NULL) {
        if (!tl__phase_step(s, resumed_phase(s), false, resume_capture))
            return false;
        progress = true;
    }
    completed = tl__phase_step(s, TL_WIRE_PHASE_COMPLETE, progress, tl__complete_step);
    progress |= completed;
    if (tl_load_rlx(&s->device->failed) == 0) /* relaxed: a task dispatched meanwhile does no harm */
        progress |= tl__phase_step(s, TL_WIRE_PHASE_DISPATCH, completed, tl__dispatch_step);
    if (!progress && s->probe.capture.slot == NULL && !tl__recorder_waits(&s->rec) && drained(s))
        progress |= end_step(s);
    return progress;
}

bool tl__sched_step(struct tl_scheduler *s)
{
    uint32_t unlocked = 0;
    bool progress;

    if (!tl_cas_acq_rel(&s->lock, &unlocked, 1u)) /* D7: the state that the last thread left */
        return false;
    progress = step_locked(s);
    note_work(s);
    assert(!progress || is_sound(s));                                     /* DI3, DI5 */
    assert(s->probe.capture.slot != NULL || s->probe.capture.piece == 0); /* DI7 */
    tl_store_rel(&s->lock, 0u);                                           /* D7: pairs with the CAS above */
    return progress;
}
