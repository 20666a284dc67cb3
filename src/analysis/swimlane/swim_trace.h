/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merged_swimlane.json (docs/formats/merged_swimlane.md): a joined recording as Chrome trace events, which Perfetto and
 * chrome://tracing open.
 */
#ifndef TL_ANALYSIS_SWIM_TRACE_H
#define TL_ANALYSIS_SWIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/swimlane/swim_overhead.h"
#include "analysis/swimlane/swim_sched.h"
#include "base/json.h"

#define TL_TRACE_NAME TL_SWIMLANE_TRACE_NAME

/* The kinds of arrows. X(enumerator, key in the summary, name in the trace, what it means if one would run backwards)
 */
#define TL_ARROW_LIST(X)                                                                                               \
    X(TL_ARROW_WORKER, "dependency_worker", "dependency", "a consumer began before its producer had ended")            \
    X(TL_ARROW_SCHED, "dependency_scheduler", "dependency",                                                            \
      "a consumer was dispatched before its producer was seen to finish")                                              \
    X(TL_ARROW_DISPATCH, "dispatch", "dispatch", "a kernel began before its dispatch")                                 \
    X(TL_ARROW_COMPLETE, "complete", "complete", "a finish was seen before its kernel had ended")                      \
    X(TL_ARROW_READY, "complete_ready", "complete\u2192ready",                                                         \
      "a task was dispatched before the finish of its last producer was dealt with")                                   \
    X(TL_ARROW_SUBMIT, "submit_dispatch", "submit\u2192dispatch", "a task was dispatched before it was submitted")

enum tl_arrow {
#define TL_ARROW_ENUM(arrow, key, name, backwards) arrow,
    TL_ARROW_LIST(TL_ARROW_ENUM)
#undef TL_ARROW_ENUM
        TL_ARROW_COUNT
};

/* What a trace has, and what was left out of it. */
struct tl_swim_drawn {
    uint64_t worker_slices, sched_slices, phases, submits, events;
    uint64_t arrows[TL_ARROW_COUNT];
    uint64_t backward[TL_ARROW_COUNT]; /* not drawn: the arrow would have run backwards in time */
    uint64_t unplaced; /* dispatches and finishes that fall into no phase of their scheduler: no arrow to it */
    uint64_t crowded;  /* slices that overlap more others than their core or scheduler has lanes: drawn over another */
    uint64_t counters; /* with --overhead */
    bool has_overhead;
    struct tl_swim_overhead overhead;
};

/* A stretch of time that a caller adds, on a lane of its own. */
struct tl_swim_band {
    char name[TL_SWIM_LABEL_BYTES];
    char task[TL_SWIM_LABEL_BYTES]; /* which task it is about; "" */
    const char *what;               /* what it means, in words */
    uint64_t start_ns, end_ns;      /* since the first device event */
    uint32_t lane;
};

/* What a caller adds: a process above the others, and slices that stand out. All borrowed. */
struct tl_swim_marks {
    const char *process;
    const char *const *lanes;
    uint32_t n_lanes, n_bands;
    void (*band)(void *ctx, uint32_t i, struct tl_swim_band *ret_band);
    void *ctx;
    const uint8_t *slices; /* by position in the join's slices: not 0 is marked, "marked": true, red where colours are
                            * the file's to choose */
};

struct tl_swim_trace_opts {
    bool overhead;                     /* the counters too, if level and deps.json allow: has_overhead says so */
    const struct tl_swim_marks *marks; /* NULL: none */
    /* A part of the recording: slices of which this byte is not 0 (by position in the join's slices; NULL: all), and
     * what touches the window, in picoseconds since the first event. What arrows would join to other things is left
     * out. */
    const uint8_t *kept;
    bool windowed;
    int64_t from_ps, to_ps;
    /* Of one recording among several in a trace. */
    const char *prefix; /* in front of the name of each process; NULL: none */
    uint32_t part;      /* which of them: processes and ids are its own */
    int64_t offset_ps;  /* the time of its first event, >= 0 */
};

/* Of `part` the number that process 1 to 9 of a recording has in the whole. */
#define TL_TRACE_PIDS_A_PART 10u

/* Writes one JSON object. 0 or TL_ENOMEM; what goes wrong with the output sticks to `json`. */
int tl__swim_trace_write(struct tl_json *json, const struct tl_swim_scheds *scheds,
                         const struct tl_swim_trace_opts *opts, struct tl_swim_drawn *ret_drawn);
/* The events alone, into the array that the caller has begun. */
int tl__swim_trace_events(struct tl_json *json, const struct tl_swim_scheds *scheds,
                          const struct tl_swim_trace_opts *opts, struct tl_swim_drawn *ret_drawn);

#endif
