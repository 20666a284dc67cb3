/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as a graph with its two critical paths: what `tasklens critical-path` and `tasklens sched` show. Times
 * are ns since the recording's first device event; points in time are rounded, and durations are their differences, so
 * that sums are exact. One thread per object.
 */
#ifndef TL_ANALYSIS_PATH_RUN_H
#define TL_ANALYSIS_PATH_RUN_H

#include "analysis/text/rendering.h"
#include "analysis/path/path_find.h"
#include "analysis/swimlane/swim_join.h"

struct tl_path_run {
    const struct tl_swim_join *join; /* borrowed */
    struct tl_path_graph graph;      /* tasks: all of deps.json in its order, then those that only have slices */
    uint32_t *join_slice;            /* graph.n_slices: positions in join->slices */
    struct tl_path_static chain;
    struct tl_path_observed observed;
    uint64_t work_ns;        /* all slices together */
    uint64_t edges_unlisted; /* with an end that deps.json does not list: left out */
};

/* `join` must have a graph and outlive the result, which is the caller's: end with tl__path_run_fini. TL_ENOMEM;
 * TL_ERANGE: too many; TL_EGRAPH: deps.json has a cycle, *reterr names its tasks. */
int tl__path_run_make(const struct tl_swim_join *join, struct tl_path_run *ret_run, struct tl_error *reterr);
void tl__path_run_fini(struct tl_path_run *run);

static inline const struct tl_swim_slice *tl__path_slice(const struct tl_path_run *run, uint32_t slice)
{
    return &run->join->slices[run->join_slice[slice]];
}

/* ns since the recording's first device event, to the nearest. */
uint64_t tl__path_ns(const struct tl_swim_join *join, uint64_t cycles);

/* The kernels of a slice (one) or of a task (up to three), as ids that compare: -1 where there is none. */
struct tl_path_kernel {
    int32_t ids[3];
};
struct tl_path_kernel tl__path_kernel_of_slice(const struct tl_path_run *run, uint32_t slice);
struct tl_path_kernel tl__path_kernel_of_task(const struct tl_path_run *run, uint32_t task);
/* "matmul", "func_3", "qk+softmax" of a mix; "no kernel" of a task that has none, and "unknown kernel" of a slice whose
 * kernel is not known. `exact`: names as they are, for JSON; else made safe for text. */
void tl__put_path_kernel(struct tl_rendering *out, const struct tl_path_run *run, const struct tl_path_kernel *kernel,
                         bool exact);

/* A task that has no kernel and left no slice is an allocation; and how many of the graph are. */
bool tl__path_is_allocation(const struct tl_path_run *run, uint32_t task);
uint32_t tl__path_allocations(const struct tl_path_run *run);

/* What one kernel has of a path. */
struct tl_path_share {
    struct tl_path_kernel kernel;
    uint64_t count;   /* steps */
    uint64_t ns;      /* it ran */
    uint64_t busy_ns; /* of that, core busy */
    uint64_t wait_ns; /* before it: scheduler and dispatch wait */
};

/* By ns, largest first; the caller frees *ret_shares with tl__free. TL_ENOMEM. */
int tl__path_shares_observed(const struct tl_path_run *run, struct tl_path_share **ret_shares, uint32_t *ret_count);
int tl__path_shares_static(const struct tl_path_run *run, struct tl_path_share **ret_shares, uint32_t *ret_count);

#endif
