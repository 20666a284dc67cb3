/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bell: how host and device wake each other. It carries no data, so a missed or spurious ring costs time and never
 * a record. It is in a page outside device memory that both sides map under either transport.
 *
 * Who: `device` is waited on by the chip's threads and rung by the host; `shard[i]` is waited on by the service thread
 * that runs shard i and rung by the lanes of that shard; `run` is waited on by the host's run waiter.
 * Protocol (labels B1, B2 of docs/protocol.md):
 *     waiter  t = arm (waiting += 1, full fence B1, read seq); look again; sleep(t) while seq == t; disarm
 *     ringer  publish; full fence B2; seq += 1; wake only if waiting != 0
 * Either the waiter's second look sees what was published or the ringer sees `waiting`: B1 and B2 order a store before
 * a load on each side. A dead waiter leaves `waiting` raised: each ring then costs one system call and nothing else. A
 * dead ringer never rings, and a stray write may hit the page itself: so while a run is open every sleeper looks again
 * after tl__look_ns() at the latest (tl__bell_sleep_bounded), whatever the other side does.
 */
#ifndef TL_WIRE_BELL_H
#define TL_WIRE_BELL_H

#include "base/env.h"

#define TL_MAX_SHARDS 8u
#define TL_BELL_MAGIC 0x4C4C4542u

struct tl_bell {
    tl_au32 seq;     /* writers: ringers */
    tl_au32 waiting; /* writers: waiters */
    uint32_t pad[14];
};
_Static_assert(sizeof(struct tl_bell) == 64, "one cache line a bell");

struct tl_bell_page {
    uint32_t magic, n_shards, pad[14];
    struct tl_bell device;
    struct tl_bell run;
    struct tl_bell shard[TL_MAX_SHARDS];
};
_Static_assert(sizeof(struct tl_bell_page) <= 4096, "one page");

/* Raises `waiting` and returns the ticket for tl__bell_sleep. Look at the condition between the two. */
static inline uint32_t tl__bell_arm(struct tl_bell *bell)
{
    uint32_t ticket;

    tl_add_rlx(&bell->waiting, 1u);
    tl_fence_full();                  /* B1: `waiting` before the look; pairs with B2 */
    ticket = tl_load_acq(&bell->seq); /* A-bell: what was published before this ring is visible; pairs with R-bell */
    return ticket;
}

static inline void tl__bell_disarm(struct tl_bell *bell)
{
    (void)tl_sub_acq_rel(&bell->waiting, 1u); /* takes back B1's count; orders nothing */
}

/* 0, or TL_ETIMEDOUT after `deadline_ns`. */
static inline int tl__bell_sleep(struct tl_bell *bell, uint32_t ticket, uint64_t deadline_ns)
{
    return tl__park(&bell->seq, ticket, deadline_ns);
}

/*
 * The same for a bell that the other side can write: 0 also after tl__look_ns(). A stray write into the page can clear
 * `waiting` while a thread sleeps, and then nobody wakes it; it finds what was published when it looks again by itself.
 */
static inline int tl__bell_sleep_bounded(struct tl_bell *bell, uint32_t ticket, uint64_t deadline_ns)
{
    const uint64_t look = tl__look_ns(), until = look == TL_FOREVER ? TL_FOREVER : tl__now_ns() + look;

    if (until >= deadline_ns)
        return tl__bell_sleep(bell, ticket, deadline_ns);
    (void)tl__bell_sleep(bell, ticket, until);
    return 0;
}

/* Wakes whether `waiting` is raised or not: for rare events that must not be missed. */
static inline void tl__bell_wake(struct tl_bell *bell)
{
    tl_fence_full();                  /* B2 */
    (void)tl_add_rel(&bell->seq, 1u); /* R-bell */
    tl__wake(&bell->seq, UINT32_MAX);
}

static inline void tl__bell_ring(struct tl_bell *bell)
{
    tl_fence_full();                      /* B2: what was published before the look at `waiting`; pairs with B1 */
    (void)tl_add_rel(&bell->seq, 1u);     /* R-bell: publishes what precedes the ring; pairs with A-bell */
    if (tl_load_rlx(&bell->waiting) != 0) /* relaxed: B2 already orders it */
        tl__wake(&bell->seq, UINT32_MAX);
}

#endif
