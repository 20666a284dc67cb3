/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked time of a chip: the union of its lanes' parked intervals, the open one included. Watchdogs subtract it.
 *
 * One word holds all: how many lanes are parked in the low 8 bits, above them a signed sum in units of 256 ns. The
 * first lane that parks subtracts the clock from the sum, the last one that continues adds it; while any is parked, the
 * parked time is the sum plus the clock. Entering and leaving are one CAS each and reading is one load, so a reader
 * never sees an interval twice or not at all, which would make a watchdog fire early. Each interval is off by less than
 * 256 ns, either way. A dead device leaves the interval open: time then counts as parked, and the death itself ends the
 * run.
 */
#ifndef TL_WIRE_PARKED_H
#define TL_WIRE_PARKED_H

#include "wire/lane.h"

#define TL__PARKED_COUNT UINT64_C(0xff)

static inline void tl__parked_reset(struct tl_dfx_header *dfx)
{
    tl_store_rlx(&dfx->parked, 0); /* relaxed: no lane runs yet */
}

static inline void tl__parked_enter(struct tl_dfx_header *dfx, uint64_t now_ns)
{
    uint64_t seen = tl_load_rlx(&dfx->parked), next; /* relaxed: the CAS below validates it */

    do
        next = (seen & TL__PARKED_COUNT) != 0 ? seen + 1 : seen - (now_ns & ~TL__PARKED_COUNT) + 1;
    while (!tl_cas_acq_rel(&dfx->parked, &seen, next)); /* C1: pairs with itself; orders enter after leave */
}

static inline void tl__parked_leave(struct tl_dfx_header *dfx, uint64_t now_ns)
{
    uint64_t seen = tl_load_rlx(&dfx->parked), next;

    do
        next = (seen & TL__PARKED_COUNT) > 1 ? seen - 1 : seen - 1 + (now_ns & ~TL__PARKED_COUNT);
    while (!tl_cas_acq_rel(&dfx->parked, &seen, next)); /* C1 */
}

/* The union so far, from a copy of the word. */
static inline uint64_t tl__parked_sum(uint64_t parked, uint64_t now_ns)
{
    uint64_t sum = (parked & ~TL__PARKED_COUNT) + ((parked & TL__PARKED_COUNT) != 0 ? now_ns : 0);

    return (int64_t)sum > 0 ? sum : 0; /* a clock read before the lane's own */
}

#endif
