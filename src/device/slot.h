/* SPDX-License-Identifier: Apache-2.0 */
/* A task in flight: its slot in a ring, and the entries of dep pools that tie it to others. The orders D1 to D9 are in
 * device/device_impl.h. */
#ifndef TL_DEVICE_SLOT_H
#define TL_DEVICE_SLOT_H

#include <assert.h>
#include <stddef.h>

#include <tasklens/program.h>

#include "base/atomic.h"
#include "graph/graph.h"

enum tl_shape { TL_SHAPE_MIX, TL_SHAPE_AIC, TL_SHAPE_AIV, TL_SHAPE_COUNT };
enum tl_core_kind { TL_KIND_AIC, TL_KIND_AIV0, TL_KIND_AIV1, TL_KIND_COUNT };

struct tl_slot;

/* One predecessor of one task: an entry of the successor's dep pool, linked into the predecessor's fanout. */
struct tl_dep {
    struct tl_slot *succ, *pred;
    struct tl_dep *next;
    uint32_t flags; /* TL_EDGE_WAIT, TL_EDGE_RETAIN */
};

/* What schedulers need of a task with one kernel is in one cache line, which no other task shares. */
struct tl_slot {
    _Alignas(64) tl_au32 waits;      /* predecessors not complete, +1 while it is being submitted; D1/D2 */
    tl_au32 holds;                   /* itself until complete, each retaining successor; D4 */
    tl_au32 subtasks;                /* kernels x blocks not finished; D6 */
    uint32_t next_block;             /* first block not dispatched; the scheduler that popped the slot */
    _Atomic(struct tl_dep *) fanout; /* successors to count down; FANOUT_CLOSED once complete; D3 */
    struct tl_task_payload *payload;
    const struct tl_kernel *widest; /* whose signature says which tensors are captured */
    struct tl_slot *next_local;     /* in a scheduler's own list */
    uint32_t dep_at, n_deps;        /* its entries in the ring's dep pool: dep_at and on, tl__dep_next */
    uint8_t ring;
    uint8_t shape : 7;
    bool single : 1;                                /* one block */
    uint8_t width;                                  /* of the widest: its tensors */
    bool captured;                                  /* its inputs are recorded; the scheduler that popped the slot */
    tl_au32 stalled;                                /* 1: its partial outputs are recorded, or being so; S1 */
    const struct tl_kernel *kernels[TL_KIND_COUNT]; /* by core; NULL: left out */
};
_Static_assert(offsetof(struct tl_slot, kernels) == 64, "one cache line");

struct tl_ring {
    struct tl_slot *slots;
    struct tl_dep *deps;
    uint8_t *payloads;
    uint64_t payload_bytes;
    uint32_t window, dep_pool;
    /* Written at each submit, so not in a cache line that schedulers read. */
    _Alignas(64) uint64_t payload_at; /* where the next payload goes; orchestrator, as the next one */
    bool *released;                   /* by slot: its scope has ended. Not in the slot, which other threads cache */
    tl_au32 head, tail;               /* local ids; writer: orchestrator; readers: the watch (relaxed: for its lines) */
};

/* DI6: what a ring's tail and head say. Orchestrator's thread, or with every scheduler's lock. */
static inline void tl__ring_assert(const struct tl_ring *ring, uint32_t tail, uint32_t head)
{
    assert(head - tail <= ring->window);
    assert((ring->window & (ring->window - 1)) == 0);
    (void)ring, (void)tail, (void)head;
}

/* The dep pool's entry after `at`. */
static inline uint32_t tl__dep_next(const struct tl_ring *ring, uint32_t at)
{
    assert(at < ring->dep_pool); /* DI6 */
    return at + 1 == ring->dep_pool ? 0 : at + 1;
}

/* The value of `fanout` once the task is complete. */
#define TL_FANOUT_CLOSED ((struct tl_dep *)1)

/* complete.c: gives up one of the slot's holds. Any thread of the run. */
void tl__hold_drop(struct tl_slot *slot);

#endif
