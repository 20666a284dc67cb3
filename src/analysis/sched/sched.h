/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The six parts of `tasklens sched`: what the recording's level and files allow is measured, the others say what they
 * lack. One thread per object. No printing here.
 */
#ifndef TL_ANALYSIS_SCHED_H
#define TL_ANALYSIS_SCHED_H

#include "analysis/text/rendering.h"
#include "analysis/path/path_run.h"
#include "analysis/sched/sched_cores.h"
#include "analysis/sched/sched_loop.h"
#include "analysis/swimlane/swim_overhead.h"
#include "base/json.h"

enum tl_sched_part {
    TL_SCHED_OVERHEAD,
    TL_SCHED_SWITCH,
    TL_SCHED_HEAD,
    TL_SCHED_TAIL,
    TL_SCHED_LOOP,
    TL_SCHED_PATH,
    TL_SCHED_PARTS
};

/* Shares of the time with work (a task ready or on a core) in overhead, in percent: below the first it is good, below
 * the second acceptable, else bad. */
#define TL_SCHED_GOOD_BELOW 5u
#define TL_SCHED_BAD_FROM 20u

struct tl_sched {
    const struct tl_swim_join *join;     /* borrowed */
    const char *missing[TL_SCHED_PARTS]; /* NULL: it is there. Else what it needs and which flag makes it: static, or
                                          * `why` */
    char why[1100];                      /* the graph cannot be used */
    uint64_t wall_ns;
    struct tl_swim_overhead overhead;
    struct tl_sched_cores cores[2];
    /* The first submit, TL_SCHED_UNKNOWN below level 4. */
    uint64_t submit_start_ns, submit_end_ns;
    struct tl_swim_scheds scheds;
    struct tl_sched_loops loops;
    struct tl_path_run path;
    uint64_t path_phase_ns[TL_PHASE_COUNT]; /* tl__sched_split_path; all 0 below level 3 */
};

/* The result refers to `join` and to itself: it must not be moved until tl__sched_fini. TL_ENOMEM, TL_ERANGE. */
int tl__sched_make(const struct tl_swim_join *join, struct tl_sched *sched, struct tl_error *reterr);
void tl__sched_fini(struct tl_sched *sched);

/* "good", "acceptable", "bad" */
const char *tl__sched_verdict(const struct tl_sched *sched);

/* 0 or TL_ENOMEM, or the rendering's error. */
int tl__sched_text(struct tl_rendering *out, const struct tl_sched *sched, const char *dir);
void tl__sched_json(struct tl_json *json, const struct tl_sched *sched, const char *dir);

#endif
