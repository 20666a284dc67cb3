/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconcile: the device died between any two of its steps, and its memory is all that is left. First what it published,
 * as ever; then every buffer that it owned is looked at by its header. The host put epoch 0 into each before giving it
 * away, and the device clears the count before it fills in the rest, so a header is right whenever the death came
 * . A buffer that was published too has been consumed by then and is not the device's any more.
 */
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "collect/engine_impl.h"

/* Consumes what is published, until nothing moves and nothing waits for the writer. */
static void drain_all(struct tl_shard *s)
{
    bool progressed = true;

    while (progressed || s->handoff_head != s->handoff_tail) {
        progressed = tl__drain_step(s);
        if (tl__consume_step(s))
            progressed = true;
        if (tl__replenish_step(s))
            progressed = true;
        if (!progressed)
            tl__relax();
    }
}

/* A9: each header says it for itself, so `current` is not asked; pairs with R9. The device's unconsumed buffer of this
 * epoch with the lowest sequence, or -1. */
static int64_t next_buffer(struct tl_hlane *lane, uint32_t epoch)
{
    struct tl_transport *t = lane->engine->transport;
    uint64_t lowest = UINT64_MAX;
    int64_t found = -1;

    for (uint32_t i = 0; i < lane->n_prepared; i++) {
        struct tl_lane_buffer *b = tl__buffer_view(lane, i);

        if (lane->state[i] != TL_HBUFFER_DEVICE)
            continue;
        if (t->ops->copy_from_device(t, b, tl__buffer_addr(lane, i), sizeof(*b)) < 0)
            return -1;
        if (b->magic != TL_BUFFER_MAGIC || b->epoch != epoch || b->seq < lane->seq_next || b->seq >= lowest)
            continue;
        lowest = b->seq;
        found = i;
    }
    return found;
}

/* The lane's own counters; none at all if it never began this epoch, and unknown if it is in a later one. */
static void end_by_counters(struct tl_hlane *lane, struct tl_crun *run, uint32_t epoch)
{
    struct tl_transport *t = lane->engine->transport;
    struct tl_lane_counts counts = {0};
    uint64_t of = 0;

    (void)tl__index_pull(t, &lane->view->epoch, lane->addr + offsetof(struct tl_lane, epoch),
                         &of); /* A8: the counters are of this epoch; pairs with R8 */
    if (of == epoch && t->ops->copy_from_device(t, &lane->view->counts, lane->addr + offsetof(struct tl_lane, counts),
                                                sizeof(counts)) == 0)
        counts = lane->view->counts;
    /* A device that died in the middle of a record has counted the attempt. */
    if (counts.attempted > TL_COUNT_MAX || counts.committed > counts.attempted)
        of = UINT64_MAX; /* hit by a stray write: as if there were none */
    for (unsigned i = 0; i < TL_DROP_COUNT; i++)
        if (counts.dropped[i] > counts.attempted)
            of = UINT64_MAX;
    tl__lane_end(lane, run, of <= epoch ? &counts : NULL);
}

static void reconcile_lane(struct tl_hlane *lane, struct tl_crun *run)
{
    uint32_t epoch = tl_load_rlx(&run->epoch); /* relaxed: bound */
    struct tl_lane_run *lr = &run->lanes[lane->index];
    int64_t found;

    while (!lane->stopped && !lr->ended && (found = next_buffer(lane, epoch)) >= 0) {
        if (tl__buffer_pull(lane, (uint32_t)found) < 0)
            return;
        while (tl__consume(lane, (uint32_t)found) ==
               TL_EAGAIN) /* no memory for it: its turn comes after the writer's */
            tl__relax();
        assert(lane->state[found] == TL_HBUFFER_DEVICE); /* CI1 */
        lane->state[found] = TL_HBUFFER_HANDED;
    }
    if (!lane->stopped && !lr->ended)
        end_by_counters(lane, run, epoch);
}

/* What a lane that took the host for dead at its end mark left: the mark comes with the next epoch, or never. */
static void late_lane(struct tl_hlane *lane, struct tl_crun *run)
{
    struct tl_transport *t = lane->engine->transport;
    uint32_t epoch = tl_load_rlx(&run->epoch); /* relaxed: bound */
    uint64_t of = 0, given_up = 0;

    if (lane->stopped || run->lanes[lane->index].ended)
        return;
    (void)tl__index_pull(t, &lane->view->epoch, lane->addr + offsetof(struct tl_lane, epoch), &of); /* A8 */
    (void)tl__index_pull(t, &lane->view->given_up, lane->addr + offsetof(struct tl_lane, given_up), &given_up);
    drain_all(lane->shard); /* a late mark was published before the next epoch began */
    if (lane->stopped || run->lanes[lane->index].ended)
        return;
    if (of > epoch) {
        tl__lane_end(lane, run, NULL);
    } else if (given_up != 0 &&
               epoch == tl_load_rlx(&lane->engine->last_epoch)) { /* relaxed: the worker waits for us */
        tl_store_rlx(&lane->engine->broken, 1u); /* relaxed: the device keeps a buffer that is consumed here */
        reconcile_lane(lane, run);
    }
}

void tl__late_shard(struct tl_shard *s, struct tl_crun *run)
{
    for (unsigned i = 0; i < s->n_lanes; i++)
        late_lane(s->lanes[i], run);
}

int tl__reconcile_shard(struct tl_shard *s, struct tl_crun *run)
{
    int r;

    drain_all(s);
    for (unsigned i = 0; i < s->n_lanes; i++)
        reconcile_lane(s->lanes[i], run);
    tl__lock(&run->corrupt_lock);
    r = run->corrupt_code;
    tl__unlock(&run->corrupt_lock);
    return r;
}
