/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as the path algorithms see it: tasks, what they waited for, and the slices of time in which cores ran them.
 * Pure data: it may come from a recording (path_load.h) or from a test. One thread per object.
 */
#ifndef TL_ANALYSIS_PATH_GRAPH_H
#define TL_ANALYSIS_PATH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <tasklens/error.h>

#define TL_PATH_NONE UINT32_MAX
#define TL_PATH_UNKNOWN UINT64_MAX /* a time that was not recorded */

/* One stay of a task on one core. An SPMD task and a mix have several. All times are in ns and of one clock. */
struct tl_path_slice {
    uint64_t start_ns, end_ns; /* start <= end */
    uint64_t dispatch_ns;      /* TL_PATH_UNKNOWN: not recorded */
    uint32_t task;             /* into tasks */
    uint32_t core;             /* below n_cores */
};

struct tl_path_task {
    uint64_t task_id;
    uint64_t submit_ns; /* end of its submit; TL_PATH_UNKNOWN: not recorded */
};

/* `succ` could not start before `pred` ended: positions in tasks. One pair may appear several times. */
struct tl_path_edge {
    uint32_t pred, succ;
};

struct tl_path_graph {
    /* Set by whoever makes it, on memory of tl__alloc; tl__path_graph_fini frees it. */
    struct tl_path_task *tasks;
    struct tl_path_slice *slices;
    struct tl_path_edge *edges;
    uint32_t n_tasks, n_slices, n_edges, n_cores;
    uint64_t begin_ns, end_ns; /* the wall: every slice and submit is in it */
    uint64_t submits_ns;       /* start of the first submit; TL_PATH_UNKNOWN */
    /* Set by tl__path_graph_build. */
    uint32_t *slice_first; /* n_tasks + 1: into slice_list */
    uint32_t *slice_list;  /* n_slices: positions in slices, by task, then as they are */
    uint32_t *pred_first;  /* n_tasks + 1: into pred_list */
    uint32_t *pred_list;   /* n_edges: positions in tasks, by successor */
    uint32_t *core_prev;   /* n_slices: the slice before it on its core, or TL_PATH_NONE */
    uint32_t *order;       /* n_tasks: each task behind all its producers */
    uint32_t *last_slice;  /* n_tasks: its slice that ended last; of a task without slices, that of the producers that
                            * ended last, so that one looks through it. TL_PATH_NONE: none */
    uint64_t *first_start_ns, *last_end_ns; /* n_tasks, over its own slices; both 0 without any */
    /* Counted for the warnings. */
    uint64_t tasks_without_slices;
    uint64_t early_edges; /* the consumer began before the producer ended */
    uint64_t overlaps;    /* slices that begin before the one before them on the core ends */
};

/*
 * Builds all below the first block, which it does not check: positions are in range. TL_ENOMEM. TL_EGRAPH: the edges
 * have a cycle; *reterr names its tasks in order. The object is whole enough for tl__path_graph_fini in any case.
 */
int tl__path_graph_build(struct tl_path_graph *g, struct tl_error *reterr);
void tl__path_graph_fini(struct tl_path_graph *g);

static inline bool tl__path_has_slices(const struct tl_path_graph *g, uint32_t task)
{
    return g->slice_first[task] != g->slice_first[task + 1];
}

#endif
