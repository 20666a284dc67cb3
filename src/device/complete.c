/* SPDX-License-Identifier: Apache-2.0 */
/* Taking finished subtasks from cores, completing tasks, releasing what they held. Runs under the scheduler's lock. */

#include "device/device_impl.h"
#include "device/probes.h"
#include "device/swimlane_probe.h"
#include "wire/dump_record.h"

void tl__hold_drop(struct tl_slot *slot)
{
    uint32_t held =
        tl_sub_acq_rel(&slot->holds, 1u); /* D4: every use of the slot before; pairs with the reclaim's look */

    assert(held != 0); /* DI1 */
    (void)held;
}

static void release_retained(const struct tl_device *d, const struct tl_slot *slot)
{
    const struct tl_ring *ring = &d->rings[slot->ring];

    for (uint32_t i = 0, at = slot->dep_at; i < slot->n_deps; i++, at = tl__dep_next(ring, at)) {
        const struct tl_dep *dep = &ring->deps[at];

        assert(dep->succ == slot && dep->pred != slot); /* DI6: the entries are the task's own */
        if (dep->flags & TL_EDGE_RETAIN)
            tl__hold_drop(dep->pred);
    }
}

void tl__retire(struct tl_scheduler *s, struct tl_slot *slot)
{
    /* D3: the task's effects and its records before its successors; D2 for those linked up to now. */
    struct tl_dep *dep = tl_xchg_acq_rel(&slot->fanout, TL_FANOUT_CLOSED);
    const bool phases = tl__records(&s->rec, TL_STREAM_PHASES) && dep != NULL;
    const uint64_t start = phases ? tl__stamp(s->device, &s->stamp, 0) : 0;
    uint32_t made_ready = 0, waits;

    assert(dep != TL_FANOUT_CLOSED);                                     /* DI2: a task retires once */
    assert(tl_load_rlx(&slot->subtasks) == 0 && tl__sched_is_locked(s)); /* DI2, DI4; relaxed: D6 */
    while (dep != NULL) {
        struct tl_slot *succ = dep->succ;

        dep = dep->next; /* the entry is the successor's: not read any more once it may run */
        if (tl__fault("lost_successor"))
            continue;
        waits = tl_sub_acq_rel(&succ->waits, 1u); /* D1/D2 */
        assert(waits != 0);                       /* DI1 */
        if (waits == 1) {
            tl__make_ready(s->device, s, succ);
            made_ready++;
        }
    }
    if (phases)
        tl__phase_note(s, TL_WIRE_PHASE_RESOLVE, start, made_ready);
    if (tl__sched_records(s))
        tl__probes_expected(s, slot);
    release_retained(s->device, slot);
    tl_store_rlx(&s->last_task, slot->payload->id + 1); /* relaxed: a figure; before the slot is released */
    tl__hold_drop(slot);
    tl_store_rel(&s->retired, tl_load_rlx(&s->retired) + 1); /* D8: pairs with tl__device_retired */
}

/* The last subtask is done: record the outputs, then retire. False: the lane is parked. */
static bool finish(struct tl_scheduler *s, struct tl_slot *slot)
{
    if (s->device->guard.align != 0)
        tl__guard_check(s->device, slot);
    if (tl__sched_records(s) && !tl__probes_outputs(s, slot))
        return false;
    tl__retire(s, slot);
    return true;
}

/* Takes one finished subtask back from `core`. False: the lane is parked in the task's capture. */
static bool take_back(struct tl_scheduler *s, struct tl_core_role *core)
{
    struct tl_slot *slot = core->token[core->seen & 1].slot;
    uint64_t bit = UINT64_C(1) << core->cluster;
    uint32_t subtasks;

    assert(core->sched == s && core->seen != core->sent); /* DI3 */
    core->seen++;
    s->accepts[core->kind] |= bit;
    if (core->seen == core->sent)
        s->idle[core->kind] |= bit;
    subtasks = tl_sub_acq_rel(&slot->subtasks, 1u); /* D6: other subtasks' effects, if this is the last */
    assert(subtasks != 0);                          /* DI1 */
    if (subtasks > 1)
        return true;
    assert(slot->next_block == slot->payload->block_num); /* DI2: each block was dispatched */
    return finish(s, slot);
}

static bool complete_kind(struct tl_scheduler *s, unsigned kind)
{
    bool progress = false;

    if (tl_load_rlx(&s->fin[kind]) != 0)                                   /* relaxed: the exchange decides */
        s->taken_fin[kind] |= tl_xchg_acq_rel(&s->fin[kind], UINT64_C(0)); /* D6 */
    while (s->taken_fin[kind] != 0) {
        struct tl_core_role *core = s->cores[kind][__builtin_ctzll(s->taken_fin[kind])];

        assert(core->kind == kind && core->sent - core->seen <= 2); /* DI3 */
        if (core->seen == tl_load_acq(&core->fin_count)) {          /* D6 */
            s->taken_fin[kind] &= s->taken_fin[kind] - 1;
            continue;
        }
        if (tl__sched_records(s) && !(tl__phases_fit(&s->phases) && tl__probes_subtask(s, core)))
            return progress;
        progress = true;
        s->phases.tasks++;
        if (!take_back(s, core))
            return progress;
    }
    return progress;
}

bool tl__complete_step(struct tl_scheduler *s)
{
    bool progress = false;

    assert(tl__sched_is_locked(s)); /* DI4 */
    for (unsigned kind = 0; kind < TL_KIND_COUNT && s->probe.capture.slot == NULL; kind++)
        progress |= complete_kind(s, kind);
    return progress;
}
