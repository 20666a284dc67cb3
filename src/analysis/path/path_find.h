/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two critical paths of a run (docs/man/tasklens-critical-path.1).
 *
 * Static: the longest chain of the task graph, each task weighing what it took from its first start to its last end.
 * However many cores there were, the run could not have been shorter.
 *
 * Observed: walked back from the slice that ended last. A slice could start when the latest of three things was over:
 * its producers, the slice before it on its core, its own submit. The path goes on there, and what is between counts
 * as the scheduler's until the dispatch, and as dispatch from there to the start. So the path covers the wall without
 * gap or overlap: each nanosecond belongs to exactly one kind.
 */
#ifndef TL_ANALYSIS_PATH_FIND_H
#define TL_ANALYSIS_PATH_FIND_H

#include "analysis/path/path_graph.h"

/* X(enumerator, word, what it is) */
#define TL_PATH_KIND_LIST(X)                                                                                           \
    X(TL_PATH_KERNEL, "kernel", "a task of the path runs")                                                             \
    X(TL_PATH_CORE_BUSY, "core busy", "the path's next task is ready, and its core runs another one")                  \
    X(TL_PATH_SCHEDULER, "scheduler", "ready, the core is free, and not dispatched yet")                               \
    X(TL_PATH_DISPATCH, "dispatch wait", "dispatched, and the core has not started yet")                               \
    X(TL_PATH_ORCHESTRATION, "orchestration", "the orchestrator has not submitted the path's next task yet")           \
    X(TL_PATH_HEAD, "head", "before the first task of the path was submitted or dispatched")                           \
    X(TL_PATH_TAIL, "tail", "after the last task ended")

enum tl_path_kind {
#define TL_PATH_KIND_ENUM(kind, word, text) kind,
    TL_PATH_KIND_LIST(TL_PATH_KIND_ENUM)
#undef TL_PATH_KIND_ENUM
        TL_PATH_KINDS
};

/* What was over last before a slice could start. */
enum tl_path_release {
    TL_PATH_BY_NOTHING,  /* nothing recorded: the path begins here */
    TL_PATH_BY_PRODUCER, /* a task that it waited for */
    TL_PATH_BY_CORE,     /* another slice on its core */
    TL_PATH_BY_SUBMIT,   /* its own submit: the path begins here */
};

/* released <= dispatched <= the slice's start <= busy <= its end = the next step's released. */
struct tl_path_step {
    uint32_t slice;
    uint8_t release;        /* enum tl_path_release */
    uint64_t released_ns;   /* when what it waited for was over */
    uint64_t dispatched_ns; /* the scheduler's part ends; = released where no dispatch is recorded */
    uint64_t busy_ns;       /* from here to its end the next step was ready, and waited for this core */
};

struct tl_path_observed {
    struct tl_path_step *steps; /* in order of time */
    uint32_t count;
    uint64_t spent_ns[TL_PATH_KINDS]; /* sums to end_ns - begin_ns of the graph */
};

struct tl_path_static {
    uint32_t *tasks; /* in order */
    uint32_t count;
    uint64_t length_ns;
};

/* "kernel"; what it means, as half a sentence. */
const char *tl__path_kind_word(unsigned kind);
const char *tl__path_kind_text(unsigned kind);

/* Of a graph that tl__path_graph_build has built. Without slices the wall is all head. TL_ENOMEM. */
int tl__path_find_observed(const struct tl_path_graph *g, struct tl_path_observed *ret_path);
void tl__path_observed_fini(struct tl_path_observed *path);
/* TL_ENOMEM. Among equals the task that comes first. */
int tl__path_find_static(const struct tl_path_graph *g, struct tl_path_static *ret_path);
void tl__path_static_fini(struct tl_path_static *path);

#endif
