/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: the one protocol by which device roles hand records to the host. docs/protocol.md explains it; labels here
 * (R1, A1, ...) are those of that page.
 *
 * All of this is in device memory and is shared by layout alone: fixed-width fields, device addresses, no cache line
 * with two writers. Indices only grow and are taken modulo a power-of-two depth: head == tail is empty, tail - head ==
 * depth is full, and 64 bits never wrap.
 */
#ifndef TL_WIRE_LANE_H
#define TL_WIRE_LANE_H

#include <stddef.h>

#include "base/atomic.h"

#define TL_DFX_MAGIC 0x58464454u    /* "TDFX" */
#define TL_BUFFER_MAGIC 0x46554254u /* "TBUF" */
#define TL_DFX_VERSION 1u
#define TL_DFX_MAX_LANES 64u

/* Why a record was not delivered. In the order of enum tl_loss, which adds causes that only the host knows. */
enum tl_drop { TL_DROP_HOST_DEAD, TL_DROP_NO_BUFFER, TL_DROP_DISK, TL_DROP_CORRUPT, TL_DROP_COUNT };

/* A host that has not moved its heartbeat for this long while a lane waits is dead. */
#define TL_HOST_DEAD_NS UINT64_C(30000000000)
/* While a lane is parked the heartbeat moves this often. */
#define TL_HEARTBEAT_NS UINT64_C(1000000000)

struct tl_dfx_header {
    /* Line 0. writer: host, before any launch; readers: device. */
    uint32_t magic, version;
    uint32_t n_lanes, reserved0;
    uint64_t lanes; /* address of struct tl_lane[n_lanes] */
    uint64_t reserved1[5];
    /* Line 1. writer: a host service thread that is not the payload writer; readers: parked lanes. */
    tl_au64 heartbeat;
    uint64_t reserved2[7];
    /* Line 2. writer: device; readers: host's watchdogs. See wire/parked.h. */
    tl_au64 parked; /* lanes parked now, and time parked in this epoch, packed */
    uint64_t reserved3[7];
};
_Static_assert(sizeof(struct tl_dfx_header) == 192, "three cache lines");
_Static_assert(offsetof(struct tl_dfx_header, parked) == 128, "the device's own line");
_Static_assert(offsetof(struct tl_dfx_header, heartbeat) == 64, "the host's own line");

/* What a lane counted in one epoch. The end mark carries it. */
struct tl_lane_counts {
    uint64_t attempted;              /* records asked for, before any early return */
    uint64_t committed;              /* records put into buffers */
    uint64_t dropped[TL_DROP_COUNT]; /* attempted = committed + sum(dropped) */
    uint64_t truncated;              /* payloads cut to half the arena */
    uint64_t payload_bytes;          /* committed */
    uint64_t parks, parked_ns;
};
_Static_assert(sizeof(struct tl_lane_counts) == 80, "fixed layout");

struct tl_lane {
    /* Lines 0-1. writer: host, when the lane is built; readers: device. Constant while a run may use the lane. */
    uint32_t stream, role; /* enum tl_stream; number of the role that owns the lane, from 0 in each stream */
    uint32_t shard, n_buffers;
    uint32_t records_per_buffer, record_bytes;
    uint32_t ready_depth, free_depth; /* powers of two; ready_depth >= n_buffers */
    uint64_t pool, buffer_bytes;      /* n_buffers buffers side by side */
    uint64_t ready_queue, free_queue; /* addresses of uint64_t[depth]: buffer addresses */
    uint64_t arena, arena_bytes;      /* 0, 0: the stream has no payloads; else a multiple of 4,096 */
    uint64_t reserved0[6];
    /* Line 2. writer: host; readers: device. */
    tl_au64 free_tail;  /* R2: publishes free_queue entries; A2 in the device's take */
    tl_au64 ready_head; /* R4: gives ready_queue slots back; A4 in the device's publish */
    tl_au64 arena_ack;  /* R3: payloads below are out of the arena; A3 in the device's reserve. Monotonic */
    tl_au64 closed;     /* 1: the host has stopped the lane, and nothing more arrives. relaxed: it orders nothing */
    uint64_t reserved1[4];
    /* Line 3. writer: device; readers: host. */
    tl_au64 ready_tail;   /* R1: publishes ready_queue entries and the buffers they name; A1 in the host's drain */
    tl_au64 free_head;    /* R5: gives free_queue slots back; A5 in the host's refill */
    tl_au64 arena_pos;    /* R11: end of the last payload reserved; A11 in the host's watch */
    tl_au64 current;      /* buffer being filled, 0: none; for reconcile */
    tl_au64 next_seq;     /* sequence of the next buffer taken; never reset */
    tl_au64 parked_since; /* device clock, ns; 0: not parked. R10; A10 in the host's watch, whose heartbeat runs then */
    tl_au64 given_up;     /* 1: the lane took the host for dead and drops until the heartbeat moves */
    tl_au64 parked_ns;    /* closed parked intervals of this epoch */
    /* Lines 4-5. writer: device; readers: host (figures while running; reconcile relies on them after a death). */
    tl_au64 epoch; /* of `counts` */
    struct tl_lane_counts counts;
    tl_au64 captured_bytes; /* counts.payload_bytes, for a progress line */
    uint64_t reserved3[4];
};
_Static_assert(sizeof(struct tl_lane) == 384, "six cache lines");
_Static_assert(offsetof(struct tl_lane, free_tail) == 128, "the host's line");
_Static_assert(offsetof(struct tl_lane, ready_tail) == 192, "the device's line");
_Static_assert(offsetof(struct tl_lane, epoch) == 256, "the device's counters");
_Static_assert(offsetof(struct tl_lane, counts) == 264, "the device's counters");

#define TL_BUFFER_END 1u /* last buffer of its epoch on its lane: `counts` is valid */

/*
 * A buffer belongs to exactly one of: host (recycled), free queue, device (current), ready queue, host (consuming).
 * Only its owner writes it. Records follow the header.
 */
struct tl_lane_buffer {
    uint32_t magic; /* set by the host once */
    uint32_t lane;
    uint32_t epoch; /* 0: holds nothing; set by the device when it takes the buffer */
    uint32_t flags; /* TL_BUFFER_* */
    uint64_t seq;   /* per lane, counts taken buffers */
    tl_au64 count;  /* R6: complete records; A6 in the host's consume and reconcile */
    struct tl_lane_counts counts;
    uint64_t arena_end; /* end of the last payload reserved when it was published */
    uint64_t reserved;
};
_Static_assert(sizeof(struct tl_lane_buffer) == 128, "two cache lines");
_Static_assert(offsetof(struct tl_lane_buffer, count) == 24, "read by the peer");
_Static_assert(offsetof(struct tl_lane_buffer, counts) == 32, "read by the peer");

static inline uint64_t tl__buffer_bytes(uint32_t records, uint32_t record_bytes)
{
    return sizeof(struct tl_lane_buffer) + (uint64_t)records * record_bytes;
}

#endif
