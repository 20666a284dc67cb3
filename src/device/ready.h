/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready queue: bounded, lock-free, any number of producers and consumers (the orchestrator and the schedulers).
 *
 * Each cell carries a sequence number that says whose turn it is (the scheme is D. Vyukov's bounded MPMC queue): seq ==
 * pos: free for the producer of position pos; seq == pos + 1: full for its consumer; the consumer leaves pos +
 * capacity. The thread that claims a position by CAS on head or tail owns the cell until it changes seq. Wrap:
 * positions are 64 bits. A thread that stops between its CAS and its store blocks that one cell; a device thread is
 * never killed alone (the whole chip dies), so no thread waits without end. Progress: push and pop retry only when
 * another one succeeded.
 */
#ifndef TL_DEVICE_READY_H
#define TL_DEVICE_READY_H

#include <stdbool.h>

#include "base/atomic.h"

struct tl_slot;

struct tl_ready_cell {
    tl_au64 seq;          /* writers: the owner of the cell; Q1 in push, Q2 in pop */
    struct tl_slot *slot; /* guarded by seq */
};

struct tl_ready {
    struct tl_ready_cell *cells; /* the device's memory */
    uint64_t mask;
    uint8_t pad0[48];
    tl_au64 tail; /* writers: producers */
    uint8_t pad1[56];
    tl_au64 head; /* writers: consumers */
    uint8_t pad2[56];
};

/* `capacity`: a power of two, at least 2. 0 or TL_ENOMEM. */
int tl__ready_init(struct tl_ready *q, uint64_t capacity);
void tl__ready_fini(struct tl_ready *q);
/* False when full: the device sizes the queue to hold every slot, so that it never is. */
bool tl__ready_push(struct tl_ready *q, struct tl_slot *slot);
/* NULL when empty. */
struct tl_slot *tl__ready_pop(struct tl_ready *q);
/* A hint: may be wrong by the time it is used. */
static inline bool tl__ready_empty(struct tl_ready *q)
{
    return tl_load_rlx(&q->head) == tl_load_rlx(&q->tail); /* relaxed: a hint */
}

#endif
