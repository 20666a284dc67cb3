/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replenish: consumed buffers go back to their lane's recycled list, lanes below their mark get fresh buffers in
 * batches, and what the writer is done with is acknowledged to the device.
 *
 * A buffer has one home lane, whose pool it is in. So no lane can take another's buffers, and a lane that waits waits
 * for its own records alone; of several lanes below their mark, the one furthest below is served first.
 */
#include "base/env.h"
#include "collect/engine_impl.h"

#define FRESH_BATCH 4u

static bool take_back(struct tl_shard *s)
{
    bool progressed = s->n_returned > 0;

    for (uint32_t i = 0; i < s->n_returned; i++) {
        struct tl_hlane *lane = s->returned[i].lane;

        assert(lane->state[s->returned[i].buffer] == TL_HBUFFER_RETURNED); /* CI1 */
        assert(lane->n_recycled < lane->n_prepared);                       /* CI2 */
        lane->state[s->returned[i].buffer] = TL_HBUFFER_RECYCLED;
        lane->recycled[lane->n_recycled++] = s->returned[i].buffer;
    }
    s->n_returned = 0;
    return progressed;
}

/* Buffers that the lane has too few of: recycled and in the free queue, as far as known, against the mark. */
static uint32_t deficit(struct tl_hlane *lane)
{
    uint64_t have;

    if (lane->stopped || lane->n_prepared == lane->n_buffers || lane->n_recycled >= lane->mark)
        return 0;
    if (tl__free_head_pull(lane) < 0)
        return 0;
    have = lane->n_recycled + (lane->free_tail - lane->free_head_seen);
    if (have >= lane->mark)
        return 0;
    assert(have < lane->mark && lane->mark <= lane->n_buffers); /* CI2 */
    return lane->mark - (uint32_t)have;
}

/* Fresh memory is touched only when a lane needs it: so a small recording uses little. */
static bool prepare(struct tl_shard *s)
{
    struct tl_hlane *worst = NULL;
    uint32_t most = 0;

    for (unsigned i = 0; i < s->n_lanes; i++) {
        uint32_t missing = deficit(s->lanes[i]);

        if (missing > most) {
            worst = s->lanes[i];
            most = missing;
        }
    }
    if (worst == NULL)
        return false;
    for (uint32_t n = 0; n < FRESH_BATCH && worst->n_prepared < worst->n_buffers; n++) {
        assert(worst->state[worst->n_prepared] == TL_HBUFFER_UNTOUCHED); /* CI1 */
        worst->state[worst->n_prepared] = TL_HBUFFER_RECYCLED;
        worst->recycled[worst->n_recycled++] = worst->n_prepared++;
    }
    return true;
}

static bool acknowledge(struct tl_shard *s, struct tl_hlane *lane)
{
    struct tl_transport *t = lane->engine->transport;
    uint64_t end = tl_load_acq(&lane->written_end); /* H2: the payloads have left the arena; pairs with H1 */

    if (end == lane->acked)
        return false;
    assert(lane->arena_bytes != 0 && end > lane->acked); /* CI4 */
    lane->acked = end;
    /* R3: payloads below are out of the arena; pairs with A3. */
    if (tl__index_push(t, &lane->view->arena_ack, lane->addr + offsetof(struct tl_lane, arena_ack), end) < 0)
        tl__lane_corrupt(lane, TL_LANE_MEMORY, lane->addr);
    s->ring_device = true;
    return true;
}

bool tl__replenish_step(struct tl_shard *s)
{
    bool progressed = take_back(s);

    if (prepare(s))
        progressed = true;
    for (unsigned i = 0; i < s->n_lanes; i++)
        if (!s->lanes[i]->stopped && acknowledge(s, s->lanes[i]))
            progressed = true;
    return progressed;
}
