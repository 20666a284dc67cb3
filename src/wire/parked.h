/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked time of a chip: the union of its lanes' parked intervals, the open one included. Watchdogs subtract it.
 *
 * One word packs how many lanes are parked and since when at least one has been: count in the low 8 bits, start in
 * units of 256 ns above. Entering and leaving are one CAS each, so the start always belongs to the interval that
 * the count describes; the lane that takes the count to 0 adds the closed interval. A reader may see an interval
 * closed but not yet added for a few instructions: it then subtracts too little for that look only, which makes a
 * watchdog look again, not fire late. A dead device leaves the interval open: time then counts as parked, and the death
 * itself ends the run.
 */
#ifndef TL_WIRE_PARKED_H
#define TL_WIRE_PARKED_H

#include "wire/lane.h"

#define TL__PARKED_COUNT UINT64_C(0xff)

static inline void tl__parked_reset(struct tl_dfx_header *dfx)
{
    tl_store_rlx(&dfx->parked_open, 0); /* relaxed: no lane runs yet */
    tl_store_rlx(&dfx->parked_total_ns, 0);
}

static inline void tl__parked_enter(struct tl_dfx_header *dfx, uint64_t now_ns)
{
    uint64_t seen = tl_load_rlx(&dfx->parked_open), next; /* relaxed: the CAS below validates it */

    do
        next = (seen & TL__PARKED_COUNT) ? seen + 1 : (now_ns & ~TL__PARKED_COUNT) | 1;
    while (!tl_cas_acq_rel(&dfx->parked_open, &seen, next)); /* C1: pairs with itself; orders enter after leave */
}

static inline void tl__parked_leave(struct tl_dfx_header *dfx, uint64_t now_ns)
{
    uint64_t seen = tl_load_rlx(&dfx->parked_open), next, start;

    do
        next = seen - 1;
    while (!tl_cas_acq_rel(&dfx->parked_open, &seen, next)); /* C1 */
    start = seen & ~TL__PARKED_COUNT;
    if ((next & TL__PARKED_COUNT) == 0 && now_ns > start)
        (void)tl_add_rlx(&dfx->parked_total_ns, now_ns - start); /* relaxed: a figure, nothing hangs on it */
}

/* The union so far, from copies of the two words. */
static inline uint64_t tl__parked_sum(uint64_t open, uint64_t total_ns, uint64_t now_ns)
{
    uint64_t start = open & ~TL__PARKED_COUNT;

    return total_ns + ((open & TL__PARKED_COUNT) != 0 && now_ns > start ? now_ns - start : 0);
}

#endif
