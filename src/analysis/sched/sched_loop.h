/* SPDX-License-Identifier: Apache-2.0 */
/* Where the loop of each scheduler thread went. It takes level 3. Times are ns. */
#ifndef TL_ANALYSIS_SCHED_LOOP_H
#define TL_ANALYSIS_SCHED_LOOP_H

#include "analysis/path/path_run.h"
#include "analysis/swimlane/swim_sched.h"

struct tl_sched_loop {
    uint32_t thread;      /* as in the recording: ids may be sparse */
    uint64_t wall_ns;     /* from its first outer phase to the end of its last */
    uint64_t rendered_ns; /* the outer phases together */
    uint64_t idle_ns;     /* the gaps between them, counted by themselves: rendered + idle = wall, or phases overlap */
    uint64_t kind_ns[TL_PHASE_COUNT], kind_count[TL_PHASE_COUNT];
    uint64_t iterations;             /* the highest loop_iter of a phase */
    uint64_t dispatches, dispatched; /* dispatch phases that sent something, and how many tasks they sent */
    uint64_t pop_hit, pop_miss;
    uint64_t overlaps; /* outer phases that begin before an earlier one has ended */
};

struct tl_sched_loops {
    struct tl_sched_loop *list; /* by thread */
    uint32_t count;
};

/* All threads with a phase: none below level 3. The caller's: end with tl__sched_loops_fini. TL_ENOMEM. */
int tl__sched_measure_loops(const struct tl_swim_scheds *scheds, struct tl_sched_loops *ret_loops);
void tl__sched_loops_fini(struct tl_sched_loops *loops);

/*
 * What a core's scheduler did while the observed path waited for it (kind scheduler): ret_ns[kind] of an outer phase;
 * ret_ns[TL_PHASE_IDLE] what lies in none. They sum to the path's scheduler time.
 */
void tl__sched_split_path(const struct tl_swim_scheds *scheds, const struct tl_path_run *run,
                          uint64_t ret_ns[TL_PHASE_COUNT]);

/* Of the path's scheduler time, what passed until a scheduler noticed the end that released the step. 0 where no
 * finish is recorded. */
uint64_t tl__sched_until_noticed(const struct tl_path_run *run);

#endif
