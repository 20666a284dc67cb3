/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/producer.h"

#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "wire/parked.h"

#define SAMPLE_EVERY 64u

static bool power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static bool lane_is_valid(const struct tl_lane *l)
{
    return l->shard < TL_MAX_SHARDS && power_of_two(l->ready_depth) && power_of_two(l->free_depth) &&
           l->records_per_buffer != 0 && l->record_bytes % 8 == 0 && l->ready_depth >= l->n_buffers &&
           l->buffer_bytes >= tl__buffer_bytes(l->records_per_buffer, l->record_bytes);
}

/* The lanes at `dfx`, or NULL. */
static struct tl_lane *lanes_at(const struct tl_devmem *mem, uint64_t dfx, struct tl_dfx_header **ret_header)
{
    struct tl_dfx_header *h = tl__dev_ptr(mem, dfx, sizeof(*h));

    if (h == NULL || h->magic != TL_DFX_MAGIC || h->version != TL_DFX_VERSION)
        return NULL;
    *ret_header = h;
    return tl__dev_ptr(mem, h->lanes, (uint64_t)h->n_lanes * sizeof(struct tl_lane));
}

int tl__lane_find(const struct tl_devmem *mem, uint64_t dfx, uint32_t stream, uint32_t role)
{
    struct tl_dfx_header *h = NULL;
    const struct tl_lane *lanes = lanes_at(mem, dfx, &h);

    for (uint32_t i = 0; lanes != NULL && i < h->n_lanes; i++)
        if (lanes[i].stream == stream && lanes[i].role == role)
            return (int)i;
    return TL_ECORRUPT;
}

int tl__producer_attach(struct tl_producer *p, const struct tl_devmem *mem, uint64_t dfx, uint32_t lane_idx,
                        struct tl_bell_page *bells)
{
    struct tl_dfx_header *h = NULL;
    struct tl_lane *lanes = lanes_at(mem, dfx, &h);

    memset(p, 0, sizeof(*p));
    if (lanes == NULL || lane_idx >= h->n_lanes || !lane_is_valid(&lanes[lane_idx]))
        return TL_ECORRUPT;
    p->mem = *mem;
    p->dfx = h;
    p->lane = &lanes[lane_idx];
    p->lane_idx = lane_idx;
    p->host = &bells->shard[p->lane->shard];
    p->capacity = p->lane->records_per_buffer;
    p->record_bytes = p->lane->record_bytes;
    p->ready = tl__dev_ptr(mem, p->lane->ready_queue, (uint64_t)p->lane->ready_depth * sizeof(uint64_t));
    p->free = tl__dev_ptr(mem, p->lane->free_queue, (uint64_t)p->lane->free_depth * sizeof(uint64_t));
    p->arena_bytes = p->lane->arena_bytes;
    p->arena = p->arena_bytes ? tl__dev_ptr(mem, p->lane->arena, p->arena_bytes) : NULL;
    if (p->ready == NULL || p->free == NULL || (p->arena_bytes != 0 && p->arena == NULL))
        return TL_ECORRUPT;
    /* The indices continue where the lane's last user left them: they count for the lane's life, not for a run. */
    p->free_head =
        tl_load_rlx(&p->lane->free_head); /* relaxed: only this side writes them, and the launch orders runs */
    p->ready_tail = tl_load_rlx(&p->lane->ready_tail);
    p->arena_pos = tl_load_rlx(&p->lane->arena_pos);
    p->arena_ack = tl_load_acq(&p->lane->arena_ack); /* A3 */
    /* A buffer that the last user could not publish, because it took the host for dead: begin() publishes it. */
    p->buffer_addr = tl_load_rlx(&p->lane->current); /* relaxed: as above */
    if (p->buffer_addr != 0) {
        p->buffer = tl__dev_ptr(mem, p->buffer_addr, p->lane->buffer_bytes);
        if (p->buffer == NULL)
            return TL_ECORRUPT;
    }
    return 0;
}

static bool publish(struct tl_producer *p);

void tl__producer_begin(struct tl_producer *p, uint32_t epoch)
{
    assert(epoch != 0);           /* LI7: 0 is a buffer that holds nothing */
    assert(p->wait_from_ns == 0); /* LI5: a wait ends with its attempt, and an epoch with its mark */
    if (p->buffer != NULL) {      /* the last epoch's, whose end mark found no host */
        p->buffer->counts = p->lane->counts;
        p->buffer->flags = TL_BUFFER_END;
        (void)publish(p); /* the ready queue holds every buffer of the lane */
    }
    memset(&p->lane->counts, 0, sizeof(p->lane->counts));
    tl_store_rlx(&p->lane->given_up, 0); /* relaxed: a hint for the heartbeat */
    tl_store_rlx(&p->lane->parked_ns, 0);
    tl_store_rlx(&p->lane->captured_bytes, 0);
    tl_store_rel(&p->lane->epoch, epoch); /* R8: the counters are this epoch's; pairs with A8 in reconcile */
    p->epoch = epoch;
    p->sampled = SAMPLE_EVERY / 2;
    p->samples = 0;
    p->sample_from_ns = 0;
    p->attempt_open = false;
}

/* --- parking ------------------------------------------------------------------------------------------------- */

static void unpark(struct tl_producer *p)
{
    uint64_t now;

    if (p->wait_from_ns == 0)
        return;
    now = tl__now_ns();
    assert(now >= p->wait_from_ns && !p->given_up);
    p->lane->counts.parked_ns += now - p->wait_from_ns;
    tl_store_rlx(&p->lane->parked_ns, p->lane->counts.parked_ns); /* relaxed: a figure */
    tl_store_rlx(&p->lane->parked_since, 0);                      /* relaxed: a hint for the heartbeat */
    tl__parked_leave(p->dfx, now);
    p->wait_from_ns = 0;
}

static void park(struct tl_producer *p, uint64_t now)
{
    assert(p->wait_from_ns == 0 && now != 0);
    assert(!p->given_up); /* LI6: a lane that has given up drops, and does not wait again */
    p->wait_from_ns = now;
    p->beat_ns = now;                          /* the 30 s count from this lane's first wait, whoever attached before */
    p->beat = tl_load_rlx(&p->dfx->heartbeat); /* relaxed: only its movement matters */
    p->lane->counts.parks++;
    tl__parked_enter(p->dfx, now);
    /* R10: all that the lane has recorded is published, or the ready queue is full; pairs with A10 in the watch. */
    tl_store_rel(&p->lane->parked_since, now);
    tl__bell_ring(p->host);
}

/* TL_EAGAIN while the host may live; TL_ELOST once its heartbeat has not moved for TL_HOST_DEAD_NS; TL_ECORRUPT at once
 * if it has stopped the lane. */
static int wait_or_give_up(struct tl_producer *p)
{
    uint64_t now = tl__now_ns(), beat;

    assert(!p->given_up);                              /* LI6 */
    assert(p->wait_from_ns == 0 || now >= p->beat_ns); /* LI5: the heartbeat counts from the wait */
    if (tl_load_rlx(&p->lane->closed) != 0) {
        unpark(p);
        return TL_ECORRUPT;
    }
    if (p->wait_from_ns == 0) {
        park(p, now);
        return TL_EAGAIN;
    }
    beat = tl_load_rlx(&p->dfx->heartbeat);
    if (beat != p->beat) {
        p->beat = beat;
        p->beat_ns = now;
        return TL_EAGAIN;
    }
    if (now - p->beat_ns < TL_HOST_DEAD_NS)
        return TL_EAGAIN;
    unpark(p);
    p->given_up = true;
    tl_store_rlx(&p->lane->given_up, 1); /* relaxed: asks a host that lives after all for a heartbeat */
    return TL_ELOST;
}

/* After giving up, records drop at once until the heartbeat moves again. */
static bool still_given_up(struct tl_producer *p)
{
    if (!p->given_up)
        return false;
    assert(p->wait_from_ns == 0); /* LI6 */
    if (tl_load_rlx(&p->dfx->heartbeat) == p->beat)
        return true;
    p->given_up = false;
    tl_store_rlx(&p->lane->given_up, 0);
    return false;
}

void tl__producer_look(struct tl_producer *p)
{
    if (p->wait_from_ns != 0)
        (void)wait_or_give_up(p); /* given up: the next call says so */
}

uint64_t tl__producer_deadline(const struct tl_producer *p)
{
    return p->wait_from_ns == 0 ? TL_FOREVER : p->beat_ns + TL_HOST_DEAD_NS;
}

/* --- buffers ------------------------------------------------------------------------------------------------- */

/* Hands the current buffer to the host. False when the ready queue is full. */
static bool publish(struct tl_producer *p)
{
    uint32_t mask = p->lane->ready_depth - 1;

    assert(p->buffer != NULL && p->buffer_addr != 0); /* LI1 */
    assert(p->count <= p->capacity);                  /* LI2 */
    if (p->ready_tail - tl_load_acq(&p->lane->ready_head) >
        mask) /* A4: the slot's old entry has been read; pairs with R4 */
        return false;
    p->buffer->arena_end = p->arena_pos;
    p->ready[p->ready_tail & mask] = p->buffer_addr;
    p->ready_tail++;
    p->buffer = NULL;
    tl_store_rel(&p->lane->ready_tail, p->ready_tail); /* R1: entry, header and records; pairs with A1 in drain */
    tl_store_rlx(&p->lane->current,
                 0); /* relaxed: a death in between leaves it in both places; reconcile drops by seq */
    tl__bell_ring(p->host);
    return true;
}

/* Takes a free buffer. False when there is none. */
static bool take(struct tl_producer *p)
{
    uint32_t mask = p->lane->free_depth - 1;
    uint64_t addr, seq;
    struct tl_lane_buffer *b;

    assert(p->buffer == NULL);                            /* LI1: a lane fills one buffer at a time */
    assert(p->epoch != 0);                                /* LI7 */
    if (p->free_head == tl_load_acq(&p->lane->free_tail)) /* A2: the entry and the buffer's reset; pairs with R2 */
        return false;
    addr = p->free[p->free_head & mask];
    p->free_head++;
    b = tl__dev_ptr(&p->mem, addr, p->lane->buffer_bytes);
    if (b != NULL) {
        seq = tl_load_rlx(&p->lane->next_seq); /* relaxed: only this side writes it */
        b->lane = p->lane_idx;
        b->flags = 0;
        b->seq = seq;
        b->epoch = p->epoch;
        b->arena_end = 0;
        tl_store_rel(&b->count, 0); /* R6: the header before any count that reconcile may read; pairs with A6 */
        tl_store_rlx(&p->lane->next_seq, seq + 1);
        tl_store_rel(&p->lane->current, addr); /* R9: the header; pairs with A9 in reconcile */
        p->buffer = b;
        p->buffer_addr = addr;
        p->count = 0;
    }
    tl_store_rel(&p->lane->free_head, p->free_head); /* R5: the slot has been read; pairs with A5 in refill */
    p->arena_ack = tl_load_acq(&p->lane->arena_ack); /* A3 */
    return b != NULL;
}

static bool have_slot(struct tl_producer *p)
{
    if (p->buffer != NULL && p->count == p->capacity && !publish(p))
        return false;
    if (p->buffer == NULL && !take(p))
        return false;
    assert(p->buffer != NULL && p->count < p->capacity); /* LI2 */
    return true;
}

/* --- arena --------------------------------------------------------------------------------------------------- */

static bool fits(const struct tl_producer *p, uint64_t bytes, uint64_t *ret_pos)
{
    uint64_t size = p->arena_bytes, pos = p->arena_pos, oldest = p->arena_ack, offset;

    if (oldest == pos) { /* all acknowledged: continue at the arena's start, whose pages are cached */
        pos = (pos + size - 1) / size * size;
        oldest = pos;
    }
    offset = pos % size;
    if (offset + bytes > size) /* no payload crosses the physical end */
        pos += size - offset;
    if (pos + bytes - oldest > size)
        return false;
    assert(pos >= p->arena_pos);        /* LI3: offsets grow */
    assert(pos % size + bytes <= size); /* LI3: no payload crosses the physical end */
    assert(pos - p->arena_pos < size);  /* LI3: less than one turn is skipped */
    *ret_pos = pos;
    return true;
}

/* Places `bytes`; refreshes the host's watermark when they do not fit. False: the lane must wait for it. */
static bool place(struct tl_producer *p, uint64_t bytes, uint64_t *ret_pos)
{
    uint64_t ack;

    assert(bytes != 0 && bytes <= p->arena_bytes); /* what is larger is cut or sent in pieces before */
    if (fits(p, bytes, ret_pos))
        return true;
    ack = tl_load_acq(&p->lane->arena_ack);                /* A3: the host is done reading below it; pairs with R3 */
    if (ack - p->arena_ack <= p->arena_pos - p->arena_ack) /* one beyond what was written is damage: ignored */
        p->arena_ack = ack;
    if (fits(p, bytes, ret_pos))
        return true;
    /* Unpublished payloads can never be acknowledged: hand the buffer over before waiting. */
    if (p->buffer != NULL && p->count != 0)
        (void)publish(p);
    return false;
}

/* --- the interface ------------------------------------------------------------------------------------------- */

/* Reserves one record, or says why not. */
static int reserve(struct tl_producer *p, uint64_t bytes, void **ret_payload, uint64_t *ret_offset)
{
    uint64_t pos = 0;

    assert(p->epoch != 0);           /* LI7 */
    assert(bytes <= p->arena_bytes); /* LI3 */
    if (still_given_up(p))
        return TL_ELOST;
    if (!have_slot(p) || (bytes != 0 && !place(p, bytes, &pos)))
        return wait_or_give_up(p);
    unpark(p);
    assert(p->count < p->capacity); /* LI2: placing a payload publishes the buffer only where it fails */
    if (bytes != 0) {
        p->arena_pos = pos + bytes;
        tl_store_rel(&p->lane->arena_pos, p->arena_pos); /* R11: the lane is not parked; pairs with A11 in the watch */
    }
    *ret_payload = bytes ? p->arena + pos % p->arena_bytes : NULL;
    *ret_offset = pos;
    return 0;
}

/* Every SAMPLE_EVERY-th record is timed; not the first ones, which find cold caches. */
static void sample_begin(struct tl_producer *p)
{
    if (p->sampled-- != 0)
        return;
    p->sampled = SAMPLE_EVERY - 1;
    p->sample_from_ns = tl__now_ns();
}

static uint64_t median_of(const uint32_t *values, uint32_t n)
{
    uint32_t sorted[TL_PRODUCER_SAMPLES] = {0};

    assert(n > 0 && n <= TL_PRODUCER_SAMPLES);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;

        for (; at > 0 && sorted[at - 1] > values[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
    }
    return sorted[n / 2];
}

uint64_t tl__producer_record_ps(const struct tl_producer *p)
{
    const uint32_t n = p->samples < TL_PRODUCER_SAMPLES ? p->samples : TL_PRODUCER_SAMPLES;
    uint64_t clock_ns = UINT64_MAX, median_ns;

    if (n == 0)
        return 0;
    for (unsigned i = 0; i < 8; i++) { /* the cost of the clock itself, which is in each sample */
        uint64_t from = tl__now_ns(), took = tl__now_ns() - from;

        if (took < clock_ns)
            clock_ns = took;
    }
    median_ns = median_of(p->sample_ns, n);
    return median_ns > clock_ns ? (median_ns - clock_ns) * 1000 : 1000;
}

int tl__producer_reserve(struct tl_producer *p, uint64_t bytes, void **ret_payload, uint64_t *ret_offset)
{
    int r;

    if (!p->attempt_open) {
        p->lane->counts.attempted++;
        p->attempt_open = true;
        sample_begin(p);
    }
    r = reserve(p, bytes, ret_payload, ret_offset);
    assert((r == TL_EAGAIN) == (p->wait_from_ns != 0)); /* LI5 */
    if (r == TL_EAGAIN) {
        p->sample_from_ns = 0; /* the time of the wait is not the record's cost */
        return r;
    }
    p->attempt_open = false;
    if (r < 0)
        p->lane->counts.dropped[r == TL_ECORRUPT ? TL_DROP_CORRUPT : TL_DROP_HOST_DEAD]++;
    return r < 0 ? TL_ELOST : 0;
}

int tl__producer_reserve_more(struct tl_producer *p, uint64_t bytes, void **ret_payload, uint64_t *ret_offset)
{
    int r;

    assert(!p->attempt_open); /* LI4: a further piece belongs to a record that is counted */
    r = reserve(p, bytes, ret_payload, ret_offset);
    assert((r == TL_EAGAIN) == (p->wait_from_ns != 0)); /* LI5 */
    return r == TL_ECORRUPT ? TL_ELOST : r;
}

static void commit(struct tl_producer *p, uint64_t payload_bytes)
{
    assert(p->buffer != NULL && p->count < p->capacity); /* LI2: as reserve left it */
    assert(p->wait_from_ns == 0);                        /* LI5 */
    assert(payload_bytes <= p->arena_pos);               /* LI3: it was reserved */
    p->count++;
    p->lane->counts.payload_bytes += payload_bytes;
    tl_store_rlx(&p->lane->captured_bytes, p->lane->counts.payload_bytes); /* relaxed: a figure */
    tl_store_rel(&p->buffer->count, p->count); /* R6: the record and its payload; pairs with A6 */
    if (p->count == p->capacity)
        (void)publish(p); /* if the queue is full, the next reserve waits for it */
}

void tl__producer_commit(struct tl_producer *p, uint64_t payload_bytes)
{
    assert(!p->attempt_open); /* LI4 */
    p->lane->counts.committed++;
    commit(p, payload_bytes);
    if (p->sample_from_ns == 0)
        return;
    p->sample_ns[p->samples++ % TL_PRODUCER_SAMPLES] = (uint32_t)(tl__now_ns() - p->sample_from_ns);
    p->sample_from_ns = 0;
}

void tl__producer_commit_more(struct tl_producer *p, uint64_t payload_bytes)
{
    commit(p, payload_bytes);
}

int tl__producer_end(struct tl_producer *p)
{
    int r;

    assert(p->epoch != 0);    /* LI7: one mark for each epoch */
    assert(!p->attempt_open); /* LI4: each attempt ended before its epoch does */
    if (still_given_up(p))
        return TL_ELOST;
    if (p->buffer == NULL && !take(p))
        r = wait_or_give_up(p);
    else {
        p->buffer->counts = p->lane->counts;
        if (p->wait_from_ns != 0) /* still open: it ends with this mark */
            p->buffer->counts.parked_ns += tl__now_ns() - p->wait_from_ns;
        p->buffer->flags = TL_BUFFER_END;
        r = publish(p) ? 0 : wait_or_give_up(p);
    }
    assert(r != 0 || p->buffer == NULL); /* LI1: the mark is the epoch's last buffer */
    if (r == TL_EAGAIN)
        return r;
    unpark(p);
    p->epoch = 0;
    return r == TL_ECORRUPT ? TL_ELOST : r;
}
