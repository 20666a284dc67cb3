/* SPDX-License-Identifier: Apache-2.0 */
/* How a set of durations is spread: nearest ranks. Pure. */
#ifndef TL_ANALYSIS_SPREAD_H
#define TL_ANALYSIS_SPREAD_H

#include <stdint.h>

struct tl_spread {
    uint64_t count, total_ns, median_ns, p95_ns, max_ns;
};

/* Sorts `values`. All 0 where there are none. */
struct tl_spread tl__spread(uint64_t *values, uint64_t count);

#endif
