/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's end of a lane. One per role and stream, used by whichever thread runs the role; nothing here blocks:
 * where the lane must wait, reserve() and end() return TL_EAGAIN and the caller comes back later (the role is parked,
 * its thread continues with other roles). docs/protocol.md explains the orders; labels are those of that page.
 *
 *     reserve(bytes) -> fill the payload and the record -> commit        once per record
 *     end                                                                once per epoch
 */
#ifndef TL_WIRE_PRODUCER_H
#define TL_WIRE_PRODUCER_H

#include <assert.h>
#include <stdbool.h>

#include "wire/bell.h"
#include "wire/lane.h"
#include "wire/memory.h"

#define TL_PRODUCER_SAMPLES 32u

struct tl_producer {
    /* Constant after attach. */
    struct tl_devmem mem;
    struct tl_dfx_header *dfx;
    struct tl_lane *lane;
    struct tl_bell *host; /* of the lane's shard */
    uint64_t *ready, *free;
    uint8_t *arena;
    uint64_t arena_bytes; /* 0: no payloads */
    uint32_t lane_idx, capacity, record_bytes;
    /* The role's own. */
    uint32_t epoch;                /* 0: not in a run */
    uint32_t count;                /* records in `buffer` */
    struct tl_lane_buffer *buffer; /* NULL: none taken */
    uint64_t buffer_addr;
    uint64_t free_head, ready_tail, arena_pos;
    uint64_t arena_ack;     /* last seen of the host's */
    uint64_t wait_from_ns;  /* 0: not parked */
    uint64_t beat, beat_ns; /* heartbeat last seen, and when it last moved */
    uint32_t sampled;       /* records until the next one whose cost is measured */
    uint32_t samples;       /* measured so far in this epoch */
    uint64_t sample_from_ns;
    uint32_t sample_ns[TL_PRODUCER_SAMPLES]; /* the last ones */
    bool attempt_open;                       /* reserve() returned TL_EAGAIN: the retry is the same attempt */
    bool given_up;
};

/* Binds lane `lane_idx` of the header at `dfx`. 0; TL_ECORRUPT if anything is outside device memory or
 * inconsistent. */
int tl__producer_attach(struct tl_producer *p, const struct tl_devmem *mem, uint64_t dfx, uint32_t lane_idx,
                        struct tl_bell_page *bells);
/* The lane of a stream and role in the header at `dfx`. Its index; TL_ECORRUPT if there is none. */
int tl__lane_find(const struct tl_devmem *mem, uint64_t dfx, uint32_t stream, uint32_t role);
/* Starts an epoch: counters from zero. */
void tl__producer_begin(struct tl_producer *p, uint32_t epoch);

/*
 * Reserves one record with `bytes` of payload (0: none; at most arena_bytes). Counts the attempt the first time.
 *   0          *ret_payload (NULL for 0 bytes) is the place, *ret_offset its monotonic arena offset; record and commit
 *              follow
 *   TL_EAGAIN  parked; call again with the same bytes after the device bell rang or tl__producer_deadline() passed
 *   TL_ELOST   given up: the host is dead, or has stopped the lane; counted as dropped
 */
int tl__producer_reserve(struct tl_producer *p, uint64_t bytes, void **ret_payload, uint64_t *ret_offset);
/* As reserve, for a further piece of a record already counted: losing it leaves the record partial, not dropped. */
int tl__producer_reserve_more(struct tl_producer *p, uint64_t bytes, void **ret_payload, uint64_t *ret_offset);
/* The record to fill after a successful reserve; record_bytes long. Valid until commit. */
static inline void *tl__producer_record(struct tl_producer *p)
{
    assert(p->buffer != NULL && p->count < p->capacity); /* LI2 */
    return (uint8_t *)(p->buffer + 1) + (size_t)p->count * p->record_bytes;
}
/* Publishes the record within its buffer, and the buffer when it is full. */
void tl__producer_commit(struct tl_producer *p, uint64_t payload_bytes);
/* The same for a further piece. */
void tl__producer_commit_more(struct tl_producer *p, uint64_t payload_bytes);
/* Counts a payload that was cut. */
static inline void tl__producer_count_truncated(struct tl_producer *p)
{
    p->lane->counts.truncated++;
}
/* Publishes the end mark of the epoch. 0, TL_EAGAIN (as reserve), TL_ELOST (the host is dead or has stopped the lane:
 * no mark). */
int tl__producer_end(struct tl_producer *p);
/* What a record costs from reserve to commit, in picoseconds: the median of the last samples, so that one interrupted
 * sample does not matter. 0: no sample. */
uint64_t tl__producer_record_ps(const struct tl_producer *p);
/* When a parked lane must look again without a ring: for the sleep of the thread. TL_FOREVER if not parked. */
uint64_t tl__producer_deadline(const struct tl_producer *p);
/* Looks at the heartbeat for a parked lane whose caller cannot retry now: afterwards its deadline is in the future. */
void tl__producer_look(struct tl_producer *p);

#endif
