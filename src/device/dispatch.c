/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a ready task and giving its subtasks to cores. Runs under the scheduler's lock. */
#include "device/device_impl.h"
#include "device/probes.h"

void tl__make_ready(struct tl_device *d, struct tl_scheduler *s, struct tl_slot *slot)
{
    assert(tl_load_rlx(&slot->waits) == 0);                 /* DI1; relaxed: who counted it to 0 calls this (D1/D2) */
    assert(tl_load_rlx(&slot->fanout) != TL_FANOUT_CLOSED); /* DI2 */
    /* A scheduler keeps what it makes ready itself: these tasks then start without a hand-off. */
    if (s != NULL && s->n_local[slot->shape] < TL_LOCAL_READY) {
        slot->next_local = s->local[slot->shape];
        s->local[slot->shape] = slot;
        s->n_local[slot->shape]++;
        assert(tl__sched_is_locked(s)); /* DI4 */
        return;
    }
    if (!tl__ready_push(&d->ready[slot->shape], slot))
        tl__device_fail(d, TL_ECORRUPT,
                        "the ready queue is full although it holds every slot: a defect of the runtime");
}

static struct tl_slot *take_ready(struct tl_scheduler *s, unsigned shape)
{
    struct tl_slot *slot = s->held[shape];

    assert((s->local[shape] == NULL) == (s->n_local[shape] == 0)); /* DI5 */
    if (slot != NULL) {
        s->held[shape] = NULL;
    } else if ((slot = s->local[shape]) != NULL) {
        s->local[shape] = slot->next_local;
        s->n_local[shape]--;
    } else if (!tl__ready_empty(&s->device->ready[shape])) { /* else the next cell stays in its producer's cache */
        slot = tl__ready_pop(&s->device->ready[shape]);
    }
    if (slot == NULL) {
        s->phases.pop_miss++;
        return NULL;
    }
    s->phases.pop_hit++;
    assert(slot->shape == shape && tl_load_rlx(&slot->waits) == 0); /* DI5, DI1; relaxed: as in tl__make_ready */
    return slot;
}

/* Gives the other schedulers what this one has no free core for. */
static void share_local(struct tl_scheduler *s, unsigned shape)
{
    struct tl_slot *slot;

    while ((slot = s->local[shape]) != NULL) {
        s->local[shape] = slot->next_local;
        s->n_local[shape]--;
        assert(s->n_local[shape] < TL_LOCAL_READY && slot->shape == shape); /* DI5 */
        tl__make_ready(s->device, NULL, slot);
    }
}

static void send(struct tl_scheduler *s, unsigned kind, unsigned cluster, struct tl_slot *slot, uint32_t block)
{
    struct tl_core_role *core = s->cores[kind][cluster];
    uint64_t bit = UINT64_C(1) << cluster;

    assert(cluster < s->n_clusters && core->cluster == cluster && core->kind == kind); /* DI3 */
    assert((s->accepts[kind] & bit) != 0 && core->sent - core->seen < 2);              /* DI3 */
    s->idle[kind] &= ~bit;
    if (core->sent + 1 - core->seen >= 2)
        s->accepts[kind] &= ~bit;
    s->phases.tasks++;
    tl__core_send(core, slot, block);
}

/* Clusters on which every core that `slot` needs accepts a subtask; only idle clusters if there are any. */
static uint64_t mix_clusters(const struct tl_scheduler *s, const struct tl_slot *slot)
{
    uint64_t idle = UINT64_MAX, accepting = UINT64_MAX;

    assert(slot->shape == TL_SHAPE_MIX && slot->widest != NULL); /* DI5 */
    for (unsigned k = 0; k < TL_KIND_COUNT; k++) {
        if (slot->kernels[k] == NULL)
            continue;
        idle &= s->idle[k];
        accepting &= s->accepts[k];
    }
    return idle != 0 ? idle : accepting;
}

/* One block on one core or cluster. False: none is free. */
static bool place_block(struct tl_scheduler *s, struct tl_slot *slot, uint32_t block)
{
    uint64_t where;

    assert(block < slot->payload->block_num); /* DI2 */
    if (slot->shape == TL_SHAPE_AIC) {
        where = s->idle[TL_KIND_AIC] != 0 ? s->idle[TL_KIND_AIC] : s->accepts[TL_KIND_AIC];
        if (where != 0)
            send(s, TL_KIND_AIC, (unsigned)__builtin_ctzll(where), slot, block);
    } else if (slot->shape == TL_SHAPE_AIV) {
        static const uint8_t order[] = {TL_KIND_AIV0, TL_KIND_AIV1};
        const uint64_t *masks = (s->idle[TL_KIND_AIV0] | s->idle[TL_KIND_AIV1]) != 0 ? s->idle : s->accepts;
        unsigned kind = masks[order[0]] != 0 ? order[0] : order[1];

        where = masks[kind];
        if (where != 0)
            send(s, kind, (unsigned)__builtin_ctzll(where), slot, block);
    } else {
        where = mix_clusters(s, slot);
        for (unsigned k = 0; where != 0 && k < TL_KIND_COUNT; k++)
            if (slot->kernels[k] != NULL)
                send(s, k, (unsigned)__builtin_ctzll(where), slot, block);
    }
    return where != 0;
}

static bool has_free_core(const struct tl_scheduler *s, unsigned shape)
{
    if (shape == TL_SHAPE_AIC)
        return s->accepts[TL_KIND_AIC] != 0;
    if (shape == TL_SHAPE_AIV)
        return (s->accepts[TL_KIND_AIV0] | s->accepts[TL_KIND_AIV1]) != 0;
    return (s->accepts[TL_KIND_AIC] | s->accepts[TL_KIND_AIV0] | s->accepts[TL_KIND_AIV1]) != 0;
}

/* Dispatches as many blocks as cores accept. True: all of them. */
static bool place(struct tl_scheduler *s, struct tl_slot *slot)
{
    const uint32_t blocks = slot->single ? 1 : slot->payload->block_num; /* the payload may not be in the cache yet */

    assert(blocks == slot->payload->block_num &&
           slot->next_block < blocks); /* DI2: the scheduler that has the task has blocks to dispatch */
    while (slot->next_block < blocks) {
        /* Count the block first: its subtasks may finish, and the task with them, as soon as the last one is sent. */
        uint32_t block = slot->next_block++;

        if (!place_block(s, slot, block)) {
            slot->next_block--;
            return false;
        }
        if (block + 1 == blocks)
            return true;
    }
    return true;
}

/* Records the inputs of a task that is about to start, once. False: the lane is parked. */
static bool capture_inputs(struct tl_scheduler *s, struct tl_slot *slot)
{
    if (slot->captured)
        return true;
    slot->captured = true;
    assert(s->held[slot->shape] == NULL && slot->next_block == 0); /* DI7: inputs are recorded before the first block */
    if (!tl__sched_records(s) || tl__probes_inputs(s, slot))
        return true;
    s->held[slot->shape] = slot;
    return false;
}

static bool dispatch_shape(struct tl_scheduler *s, unsigned shape)
{
    bool progress = false;

    while (has_free_core(s, shape)) {
        struct tl_slot *slot = take_ready(s, shape);
        uint32_t first;

        if (slot == NULL)
            return progress;
        assert(s->probe.capture.slot == NULL); /* DI7 */
        if (!capture_inputs(s, slot))
            return progress;
        first = slot->next_block;
        if (!place(s, slot)) { /* the rest of its blocks is for schedulers with free cores */
            progress |= slot->next_block != first;
            tl__make_ready(s->device, NULL, slot);
            return progress;
        }
        progress = true;
    }
    if (s->local[shape] != NULL)
        share_local(s, shape);
    return progress;
}

bool tl__dispatch_step(struct tl_scheduler *s)
{
    bool progress = false;

    assert(tl__sched_is_locked(s)); /* DI4 */
    for (unsigned shape = 0; shape < TL_SHAPE_COUNT && s->probe.capture.slot == NULL; shape++)
        progress |= dispatch_shape(s, shape);
    return progress;
}
