/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finer and cheaper clock than tl__now_ns, for stamps in records: the processor's time-stamp counter where it runs at
 * one rate in all states and on all cores, else tl__now_ns itself. What a tick is worth is measured against
 * tl__now_ns. Pure reads; safe from any thread and in signal handlers.
 */
#ifndef TL_BASE_TICKS_H
#define TL_BASE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

#if defined(__x86_64__) && !defined(TASKLENS_CONTROLLED)
#include <x86intrin.h>
#define TL_TICKS_TSC 1
#else
#define TL_TICKS_TSC 0 /* elsewhere, and in virtual time, the clock is tl__now_ns */
#endif

/* A clock of `hz` cycles a second whose cycle 0 is the monotonic clock's 0. */
struct tl_clock {
    uint64_t mark_ticks, mark_ns; /* one moment on both clocks */
    uint64_t mark_cycles;
    uint64_t cycles_per_tick; /* times 2^32; 0: not ready */
    uint64_t hz;
    bool tsc;
};

static inline uint64_t tl__ticks(const struct tl_clock *c)
{
#if TL_TICKS_TSC
    if (c->tsc)
        return __rdtsc();
#endif
    (void)c;
    return tl__now_ns();
}

/* Takes the first moment. */
void tl__clock_mark(struct tl_clock *c);
/* Makes the clock ready; waits until the moment of the mark is far enough away for a good rate (2 ms). Again: only
 * where `hz` is another. */
void tl__clock_ready(struct tl_clock *c, uint64_t hz);

/* Cycles now. The clock is ready. Never earlier than an earlier call on the same thread. */
static inline uint64_t tl__clock_cycles(const struct tl_clock *c)
{
    return c->mark_cycles + (uint64_t)((unsigned __int128)(tl__ticks(c) - c->mark_ticks) * c->cycles_per_tick >> 32);
}

/* Cycles between two readings of tl__now_ns: the closest of a few. Half their distance is what the pair may be off. */
uint64_t tl__clock_pair(const struct tl_clock *c, uint64_t *ret_before_ns, uint64_t *ret_after_ns);

#endif
