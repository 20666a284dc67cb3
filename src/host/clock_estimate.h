/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the difference of two clocks from questions and answers. Pure: clock readings are arguments. An answer that
 * was given between two readings of our own clock bounds the difference from both sides, however unequal the two
 * delays are. Of many answers the one with the shortest round trip gives the tightest bound.
 */
#ifndef TL_HOST_CLOCK_ESTIMATE_H
#define TL_HOST_CLOCK_ESTIMATE_H

#include "artifact/rank_clock.h"

/* One question: our clock before and after, and the other's in between. */
struct tl_clock_sample {
    uint64_t before_ns, other_ns, after_ns;
};

/* How fast two clocks of different machines may drift apart while nobody looks: 200 parts in a million. */
#define TL_CLOCK_DRIFT_PPM 200u

/* The best of `n` samples, out of `tries` questions. answers 0: there is none (or none that makes sense). */
void tl__clock_read_samples(const struct tl_clock_sample *samples, uint32_t n, uint32_t tries,
                            struct tl_clock_reading *ret_reading);
/*
 * Fills in method, offset, error and reason of `c`, whose other fields are there: its readings, boot_id, clocks. The
 * offset holds for all of the time from begin_ns to end_ns (this rank's clock). `reference`: the reference's own
 * clock.json, or NULL. Between two readings the clocks drift evenly, so what both allow covers what is between;
 * beside a single one the drift is bounded by TL_CLOCK_DRIFT_PPM, unless both run in one kernel.
 */
void tl__clock_conclude(struct tl_rank_clock *c, const struct tl_rank_clock *reference, uint64_t begin_ns,
                        uint64_t end_ns);

#endif
