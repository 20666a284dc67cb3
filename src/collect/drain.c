/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drain and refill: ready entries out of the lanes, recycled buffers into their free queues. Allocates nothing and
 * loses nothing: a buffer that the hand-off has no room for stays in the lane's ready queue.
 */
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "collect/engine_impl.h"

static uint64_t field(const struct tl_hlane *lane, size_t offset)
{
    return lane->addr + offset;
}

static bool handoff_full(const struct tl_shard *s)
{
    return s->handoff_tail - s->handoff_head == TL_ENGINE_HANDOFF;
}

int tl__buffer_pull(struct tl_hlane *lane, uint32_t index)
{
    struct tl_transport *t = lane->engine->transport;
    struct tl_lane_buffer *b = tl__buffer_view(lane, index);
    uint64_t addr = tl__buffer_addr(lane, index), count;
    int r = t->ops->copy_from_device(t, b, addr, sizeof(*b));

    if (r == 0)
        /* A6: the records below the count are complete; pairs with R6. */
        r = tl__index_pull(t, &b->count, addr + offsetof(struct tl_lane_buffer, count), &count);
    if (r == 0 && count > lane->records)
        return tl__lane_corrupt(lane, "buffer.count", count), TL_ECORRUPT;
    if (r == 0)
        r = t->ops->copy_from_device(t, b + 1, addr + sizeof(*b), count * lane->record_bytes);
    if (r < 0)
        tl__lane_corrupt(lane, TL_LANE_MEMORY, addr);
    return r;
}

/* The buffer that a ready entry names, or -1. */
static int64_t buffer_of(const struct tl_hlane *lane, uint64_t addr)
{
    uint64_t offset = addr - lane->pool_addr;

    if (addr < lane->pool_addr || offset / lane->buffer_bytes >= lane->n_buffers || offset % lane->buffer_bytes != 0)
        return -1;
    return (int64_t)(offset / lane->buffer_bytes);
}

/* One ready entry into the hand-off. */
static int pop(struct tl_shard *s, struct tl_hlane *lane)
{
    struct tl_transport *t = lane->engine->transport;
    uint32_t slot = (uint32_t)(lane->ready_head & (lane->ready_depth - 1));
    int64_t buffer;

    assert(!handoff_full(s) && lane->shard == s && !lane->stopped); /* CI3 */
    if (t->ops->copy_from_device(t, &lane->ready_view[slot], lane->ready_addr + slot * sizeof(uint64_t), 8) < 0)
        return tl__lane_corrupt(lane, TL_LANE_MEMORY, lane->ready_addr), TL_ECORRUPT;
    buffer = buffer_of(lane, lane->ready_view[slot]);
    if (buffer < 0 || lane->state[buffer] != TL_HBUFFER_DEVICE)
        return tl__lane_corrupt(lane, "ready_queue entry", lane->ready_view[slot]), TL_ECORRUPT;
    if (tl__buffer_pull(lane, (uint32_t)buffer) < 0)
        return TL_ECORRUPT;
    lane->state[buffer] = TL_HBUFFER_HANDED;
    s->handoff[s->handoff_tail++ & (TL_ENGINE_HANDOFF - 1)] =
        (struct tl_handoff){.lane = lane, .buffer = (uint32_t)buffer};
    lane->ready_head++;
    assert(s->handoff_tail - s->handoff_head <= TL_ENGINE_HANDOFF); /* CI3 */
    return 0;
}

static bool drain(struct tl_shard *s, struct tl_hlane *lane)
{
    struct tl_transport *t = lane->engine->transport;
    uint64_t tail, head = lane->ready_head;

    /* A1: the entries below the tail and the buffers they name; pairs with R1. */
    if (tl__index_pull(t, &lane->view->ready_tail, field(lane, offsetof(struct tl_lane, ready_tail)), &tail) < 0)
        return tl__lane_corrupt(lane, TL_LANE_MEMORY, lane->addr), true;
    if (tail - head > lane->n_buffers)
        return tl__lane_corrupt(lane, "ready_tail", tail), true;
    while (lane->ready_head != tail && !handoff_full(s))
        if (pop(s, lane) < 0)
            return true;
    if (lane->ready_head == head)
        return false;
    /* R4: the entries have been read; pairs with A4. */
    if (tl__index_push(t, &lane->view->ready_head, field(lane, offsetof(struct tl_lane, ready_head)),
                       lane->ready_head) < 0)
        tl__lane_corrupt(lane, TL_LANE_MEMORY, lane->addr);
    s->ring_device = true;
    return true;
}

/* The buffer is empty from now on for all who look at it; then it is put into the free queue. */
static int give(struct tl_hlane *lane, uint32_t index)
{
    struct tl_transport *t = lane->engine->transport;
    struct tl_lane_buffer *b = tl__buffer_view(lane, index);
    uint32_t slot = (uint32_t)(lane->free_tail & (lane->free_depth - 1));
    int r;

    assert(lane->state[index] == TL_HBUFFER_RECYCLED);                 /* CI1 */
    assert(lane->free_tail - lane->free_head_seen < lane->free_depth); /* CI2 */
    b->magic = TL_BUFFER_MAGIC;
    b->lane = lane->index;
    b->epoch = 0;
    b->flags = 0;
    b->seq = 0;
    tl_store_rlx(&b->count, 0); /* relaxed: the host owns the buffer; R2 below publishes it */
    r = t->ops->copy_to_device(t, tl__buffer_addr(lane, index), b, offsetof(struct tl_lane_buffer, counts));
    lane->free_view[slot] = tl__buffer_addr(lane, index);
    if (r == 0)
        r = t->ops->copy_to_device(t, lane->free_addr + slot * sizeof(uint64_t), &lane->free_view[slot], 8);
    lane->state[index] = TL_HBUFFER_DEVICE;
    lane->free_tail++;
    return r;
}

int tl__free_head_pull(struct tl_hlane *lane)
{
    struct tl_transport *t = lane->engine->transport;
    uint64_t head, tail = lane->free_tail;

    /* A5: the device has read the entries below; pairs with R5. */
    if (tl__index_pull(t, &lane->view->free_head, field(lane, offsetof(struct tl_lane, free_head)), &head) < 0)
        return tl__lane_corrupt(lane, TL_LANE_MEMORY, lane->addr), TL_ECORRUPT;
    if (tail - head > tail - lane->free_head_seen)
        return tl__lane_corrupt(lane, "free_head", head), TL_ECORRUPT;
    lane->free_head_seen = head;
    assert(tail - head <= lane->free_depth); /* CI2 */
    return 0;
}

static bool refill(struct tl_shard *s, struct tl_hlane *lane)
{
    struct tl_transport *t = lane->engine->transport;
    uint64_t tail = lane->free_tail;
    int r = 0;

    assert(lane->n_recycled <= lane->n_prepared && lane->n_prepared <= lane->n_buffers); /* CI2 */
    if (lane->n_recycled == 0)
        return false;
    if (tl__free_head_pull(lane) < 0)
        return true;
    while (r == 0 && lane->n_recycled > 0 && lane->free_tail - lane->free_head_seen < lane->free_depth)
        r = give(lane, lane->recycled[--lane->n_recycled]);
    if (lane->free_tail == tail)
        return false;
    if (r == 0) /* R2: the entries and the buffers' reset; pairs with A2 */
        r = tl__index_push(t, &lane->view->free_tail, field(lane, offsetof(struct tl_lane, free_tail)),
                           lane->free_tail);
    if (r < 0)
        tl__lane_corrupt(lane, TL_LANE_MEMORY, lane->addr);
    s->ring_device = true;
    return true;
}

bool tl__drain_step(struct tl_shard *s)
{
    bool progressed = false;

    for (unsigned i = 0; i < s->n_lanes; i++) {
        struct tl_hlane *lane = s->lanes[i];

        if (!lane->stopped && drain(s, lane))
            progressed = true;
        if (!lane->stopped && refill(s, lane))
            progressed = true;
    }
    return progressed;
}
