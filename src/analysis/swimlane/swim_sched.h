/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler threads of a swimlane recording: their phases in order of time, how long each was busy and idle, and
 * which phase a moment belongs to. Outer phases of one thread exclude each other, so that what is rendered and the gaps
 * between add up to the lane's wall time; `overlaps` says where a recording breaks that.
 */
#ifndef TL_ANALYSIS_SWIM_SCHED_H
#define TL_ANALYSIS_SWIM_SCHED_H

#include <stdint.h>

#include "analysis/swimlane/swim_join.h"

struct tl_swim_sched {
    uint32_t thread;                   /* as in the file: ids may be sparse */
    uint32_t outer_first, outer_count; /* order[outer_first..+outer_count): positions in lane->phases, by start */
    uint32_t inner_first, inner_count; /* the same of the inner ones */
    uint32_t task_first, task_count;   /* and of those that stand for a task: dummy_task, predicated_skip */
    uint64_t start, end;               /* first start and last end of its outer phases, in cycles since the origin */
    uint64_t busy;                     /* sum of the outer phases */
    uint64_t idle;                     /* sum of the gaps; busy + idle = end - start if there are no overlaps */
    uint64_t overlaps;                 /* outer phases that begin before an earlier one of the thread has ended */
    uint64_t stray;                    /* inner phases that lie in no outer one */
};

struct tl_swim_scheds {
    const struct tl_swim_join *join; /* borrowed */
    struct tl_swim_sched *list;      /* by thread */
    uint32_t *order;
    uint32_t count;
};

/* All threads with a phase. The join must outlive the result, which is the caller's: end with tl__swim_scheds_fini.
 * TL_ENOMEM. */
int tl__swim_scheds(const struct tl_swim_join *join, struct tl_swim_scheds *ret_scheds);
void tl__swim_scheds_fini(struct tl_swim_scheds *scheds);

enum tl_swim_act {
    TL_SWIM_SENDS, /* a dispatch */
    TL_SWIM_ENDS,  /* a finish that is noticed */
};

/* The outer phase of `thread` in which it did this at `cycles`: a position in lane->phases, or TL_SWIM_NONE. Where two
 * phases touch at that moment it is the one that does such things. */
uint32_t tl__swim_phase_at(const struct tl_swim_scheds *scheds, int32_t thread, uint64_t cycles, enum tl_swim_act act);

#endif
