/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the scheduler keeps cores waiting. A core type is in overhead while it has an idle core and a ready task that
 * nobody dispatched. A task is ready from the latest end of its producers until its first dispatch; one whose producers
 * are all outside the capture (or that has none) is ready at its own dispatch, which is never too late. A mix counts
 * for each of its core types. A core is idle while nothing that was dispatched to it has yet to end.
 */
#ifndef TL_ANALYSIS_SWIM_OVERHEAD_H
#define TL_ANALYSIS_SWIM_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/swimlane/swim_join.h"

/* Indexed by enum tl_core. */
struct tl_swim_state {
    uint32_t idle[2];  /* cores */
    uint32_t ready[2]; /* tasks */
    bool overhead[2];
    bool all; /* every core type that the chip has is in overhead */
    bool has; /* at least one is */
};

struct tl_swim_overhead {
    uint64_t cycles;      /* from the first device event to the last */
    uint64_t active;      /* of them, while a task was ready or on a core: overhead is part of it */
    uint64_t overhead[2]; /* cycles in which the core type was in overhead */
    uint64_t all, has;
    uint64_t late_tasks; /* dispatched after they were ready */
    uint32_t cores[2];   /* of the run, used or not */
};

/* The state holds from `cycles` on. Called at 0, and whenever something has changed; at the end once more, with what
 * holds there. */
typedef void (*tl_swim_state_fn)(void *ctx, uint64_t cycles, const struct tl_swim_state *state);

/* It takes level 2 and deps.json: TL_ENOTSUP without one of them. `fn` may be NULL. TL_ENOMEM. */
int tl__swim_overhead(const struct tl_swim_join *join, tl_swim_state_fn fn, void *ctx,
                      struct tl_swim_overhead *ret_overhead);

/* From when a task could have been dispatched; false: as said above, it was ready at its own dispatch. */
bool tl__swim_ready(const struct tl_swim_join *join, const struct tl_swim_task *task, uint64_t *ret_cycles);

#endif
