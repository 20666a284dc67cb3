/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of merged_swimlane.json, for its own files. */
#ifndef TL_ANALYSIS_SWIM_TRACE_INTERNAL_H
#define TL_ANALYSIS_SWIM_TRACE_INTERNAL_H

#include "analysis/swimlane/swim_trace.h"

enum { PID_ORCH = 1, PID_SCHED = 2, PID_SCHED_VIEW = 3, PID_WORKER = 4, PID_MARKS = 5 };

/* A view shows each slice once: the worker's from receive to end, the scheduler's from dispatch to finish. */
enum view { VIEW_WORKER, VIEW_SCHED, VIEWS };

#define SUBTASKS 3

/* Lane numbers as other tools of this kind have them. Ten for each core and each scheduler: a core's further ones hold
 * slices that overlap in the Scheduler View, a scheduler's second its inner phases. Phases that overlap, as none
 * should, have the rest. */
#define LANES_A_CORE 10u
#define LANES_A_SCHED 10u
#define TID_CORE 10000u
#define TID_AICPU 19000u
#define TID_SCHED 30000u
#define TID_ORCH 4000u
#define TID_UPLOAD 3000u
#define TID_QUEUE 3999u
#define TID_OVERHEAD 3998u
#define TID_MARKS 50000u

struct trace {
    struct tl_json *json;
    const struct tl_swim_join *join;
    const struct tl_swim_scheds *scheds;
    struct tl_swim_drawn *drawn;
    const struct tl_swim_trace_opts *opts;
    const struct tl_swim_marks *marks;    /* NULL: none */
    bool marked;                          /* the slice that is being written is */
    uint32_t *order[VIEWS];               /* slices of the view: by core, then by their start there */
    uint32_t shown[VIEWS];                /* how many */
    uint8_t *lane[VIEWS];                 /* by slice: which of its core's lanes */
    uint32_t (*anchors)[VIEWS][SUBTASKS]; /* by task: slices that its arrows begin and end at, or TL_SWIM_NONE */
    uint32_t *sent_first, *ended_last;    /* by task: its slice with the first dispatch, the last finish */
    uint32_t *finishes;                   /* by phase: how many slices it saw finish */
    uint8_t *phase_lane;                  /* by phase: which of its scheduler's lanes */
    uint32_t *fanout_first, *fanout;      /* by task: edges that begin at it */
    uint64_t next_flow;
};

/* Lanes of a scheduler: its phases, those inside them, and more for phases that overlap. */
enum { OUTER_LANE = 0, INNER_LANE = 1, OUTER_SPARE = 2, INNER_SPARE = 6 };

/* All times of a trace are multiples of it: whole nanoseconds. */
#define TL_TRACE_GRID_PS ((int64_t)1000)

/* The time of a slice of a view, in picoseconds since the first of all events, on the grid. */
struct span {
    int64_t start, end;
};

/* Each file calls those above it in this list only; swim_trace.c calls them all. */

/* ---- swim_trace_place.c ---- */

/* To the nearest multiple of TL_TRACE_GRID_PS. */
int64_t tl__trace_on_grid(int64_t ps);
/* Picoseconds since the first event, of cycles since the origin: on the grid. */
int64_t tl__trace_ps(const struct trace *t, uint64_t cycles);
/* Whether it touches the window that is drawn. */
bool tl__trace_in_window(const struct trace *t, struct span span);
struct span tl__trace_phase_span(const struct trace *t, const struct tl_swim_phase *phase);
/* By the host's clock, as the submits of such a recording. */
struct span tl__trace_upload_span(const struct trace *t, const struct tl_swim_upload *upload);
struct span tl__trace_submit_span(const struct trace *t, const struct tl_swim_orch *submit);
struct span tl__trace_slice_span(const struct trace *t, const struct tl_swim_slice *slice, enum view view);
/* Whether the view has the slice: it is in the recording there, and in the part that is drawn. */
bool tl__trace_shows(const struct trace *t, uint32_t slice, enum view view);
/* Orders both views and gives overlapping slices lanes of their own. 0 or TL_ENOMEM. */
int tl__trace_plan(struct trace *t);
/* Counts the finishes of each phase, and gives each its lane. 0 or TL_ENOMEM. */
int tl__trace_plan_phases(struct trace *t);
uint32_t tl__trace_slice_tid(const struct trace *t, uint32_t slice, enum view view);
uint32_t tl__trace_phase_tid(const struct trace *t, uint32_t phase);
uint32_t tl__trace_aicpu_tid(const struct trace *t, uint32_t thread);
/* The number that an event of this slice, or phase, has as its "id". */
uint64_t tl__trace_slice_id(const struct trace *t, uint32_t slice, enum view view);
uint64_t tl__trace_phase_id(const struct trace *t, uint32_t phase);

/* ---- swim_trace_event.c ---- */

/* One event, up to its "args": name, phase letter, process and lane. `name` may hold any text. */
void tl__trace_begin(struct trace *t, const char *name, const char *ph, uint32_t pid, uint32_t tid);
void tl__trace_end(struct trace *t);
void tl__trace_us(struct trace *t, const char *key, int64_t ps);
/* When the event is, in picoseconds since this recording's first. */
void tl__trace_ts(struct trace *t, int64_t ps);
void tl__trace_span(struct trace *t, struct span span);
void tl__trace_process(struct trace *t, uint32_t pid, const char *name);
void tl__trace_thread(struct trace *t, uint32_t pid, uint32_t tid, const char *name);

/* ---- swim_trace_tasks.c ---- */

void tl__trace_tasks(struct trace *t);

/* ---- swim_trace_sched.c ---- */

void tl__trace_scheds(struct trace *t);
void tl__trace_submits(struct trace *t);
void tl__trace_uploads(struct trace *t);
/* 0 or TL_ENOMEM. */
int tl__trace_overhead(struct trace *t);

/* ---- swim_trace_flow.c ---- */

/* Picks the slices that stand for a task. 0 or TL_ENOMEM. */
int tl__trace_anchors(struct trace *t);
void tl__trace_flows(struct trace *t);

/* ---- swim_trace_marks.c ---- */

void tl__trace_marks(struct trace *t);

#endif
