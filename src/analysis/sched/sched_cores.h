/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cores of a run did between, before and after their slices, by core type. Times are ns since the recording's
 * first device event, and 0 where there is nothing to measure.
 */
#ifndef TL_ANALYSIS_SCHED_CORES_H
#define TL_ANALYSIS_SCHED_CORES_H

#include "analysis/swimlane/spread.h"
#include "analysis/swimlane/swim_join.h"

#define TL_SCHED_UNKNOWN UINT64_MAX

struct tl_sched_cores {
    uint32_t cores, used; /* of the chip; of them that ran something */
    uint64_t slices, busy_ns;
    /* From the end of a slice to the start of the next one on its core; a slice that begins earlier counts in overlaps
     * only. Queued: those whose next task had been dispatched before the slice ended, so that nothing but the core was
     * waited for. */
    struct tl_spread gaps, queued;
    uint64_t overlaps;
    /* Head: up to the first start of each used core. */
    uint64_t first_dispatch_ns;           /* TL_SCHED_UNKNOWN: no dispatch recorded */
    uint64_t first_start_ns, ramp_end_ns; /* of the first and of the last used core */
    uint64_t head_idle_ns;                /* over the used cores: from the beginning to their first start */
    /* Tail: from the last end of each used core. */
    uint64_t first_dry_ns, last_end_ns; /* of the first and of the last used core */
    uint64_t tail_idle_ns;              /* over the used cores: from their last end to last_end_ns */
};

/* Indexed by enum tl_core. TL_ENOMEM. */
int tl__sched_measure_cores(const struct tl_swim_join *join, struct tl_sched_cores ret_types[2]);

#endif
