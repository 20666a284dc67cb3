/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ran when, from the three files that know a part of it: core rows and AICPU rows of chip_swimlane_records.json,
 * joined on (run_epoch, core_id, reg_task_id); the graph of deps.json, which also says which kernel a core type ran;
 * the names of the kernels. All times are device cycles since clock.origin_cycles.
 */
#ifndef TL_ANALYSIS_SWIM_JOIN_H
#define TL_ANALYSIS_SWIM_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/swimlane/swim_clock.h"
#include "artifact/deps.h"
#include "artifact/name_map.h"
#include "artifact/swimlane.h"
#include "base/task_id.h"

#define TL_SWIM_NONE UINT32_MAX

#define TL_SWIM_RAN 1u      /* there is a core row: receive, start and end hold */
#define TL_SWIM_SENT 2u     /* there is an AICPU row: dispatch holds */
#define TL_SWIM_FINISHED 4u /* and its finish holds */
#define TL_SWIM_BACKWARD 8u /* the file's end, or finish, was before its start: both are the start here */
#define TL_SWIM_RUNNING 16u /* the core row has no end: it still ran when the recording ended, which is `end` */

/* One visit of a task to a core: a block of an SPMD task, a subtask of a mix, or all of a plain task. */
struct tl_swim_slice {
    uint64_t task_id;          /* 0 without TL_SWIM_RAN: an AICPU row alone does not say */
    uint64_t receive;          /* the core took the token; = start where the file has no receive column */
    uint64_t start, end;       /* of the kernel */
    uint64_t dispatch, finish; /* the scheduler sent it, and saw it done */
    const char *name;          /* of the kernel, borrowed from the name map; NULL */
    uint32_t task;             /* position in `tasks`; TL_SWIM_NONE without TL_SWIM_RAN */
    uint32_t core, reg_task_id, run_epoch;
    int32_t thread;    /* the core's scheduler; -1: not known */
    int32_t func_id;   /* -1: not known (no deps.json, or it has no kernel for this core type) */
    uint8_t core_type; /* enum tl_core */
    uint8_t subtask;   /* 0 AIC, 1 AIV0, 2 AIV1 */
    uint8_t flags;     /* TL_SWIM_* */
};

/* A task of which there is a core row, or a phase that stands for it (dummy_task, predicated_skip); one for each
 * execution of the graph. */
struct tl_swim_task {
    uint64_t task_id;
    uint64_t start, end;             /* earliest start, latest end */
    uint64_t dispatch, finish;       /* earliest dispatch, latest finish; as `flags` says */
    uint32_t first, count;           /* its slices: by_task[first..first+count), by subtask, then by start */
    uint32_t deps;                   /* position in deps->tasks, or TL_SWIM_NONE */
    uint32_t submit;                 /* its first row in lane->orchs, or TL_SWIM_NONE */
    uint32_t phase;                  /* row in lane->phases that stands for it, or TL_SWIM_NONE */
    uint32_t first_edge, edge_count; /* its producers: edges[first_edge..first_edge+edge_count) */
    uint32_t run_epoch;
    uint32_t block_num; /* of deps.json; 0: not known */
    uint8_t core_types; /* bit enum tl_core: it ran on such a core */
    uint8_t flags;      /* TL_SWIM_SENT: some slice has a dispatch; TL_SWIM_FINISHED: all have a finish */
};

/* One (producer, consumer) pair of deps.json, however many edges it has there, both in `tasks`. */
struct tl_swim_edge {
    uint32_t pred, succ; /* positions in `tasks` */
    bool wait;           /* the consumer waits for it (flags absent in the file: it does) */
};

struct tl_swim_counts {
    uint64_t joined;      /* core rows with their AICPU row */
    uint64_t core_alone;  /* core rows without one, at level 2 and up */
    uint64_t aicpu_alone; /* AICPU rows without a core row: dispatched, and never ended on its core */
    uint64_t
        same_key; /* rows whose (run_epoch, core_id, reg_task_id) an earlier row has too; joined in the file's order */
    uint64_t backward;       /* rows that end before they start, phases and submits included */
    uint64_t running;        /* core rows without an end */
    uint64_t unfinished;     /* AICPU rows without a finish */
    uint64_t tasks_unlisted; /* tasks that deps.json does not have; 0 without it */
    uint64_t tasks_reused;   /* tasks with more slices than deps.json has blocks and kernels for, or submitted twice */
    uint64_t tasks_unseen;   /* of deps.json, with a kernel, without any row here */
    uint64_t first_unseen;   /* the first of them, by submission */
    uint64_t pairs;          /* different (producer, consumer) in deps.json */
    uint64_t pairs_outside;  /* of them with an end that is not in `tasks`, though it has a kernel */
    uint64_t pairs_without;  /* of them with an end that has no kernel and left no row, such as an allocation */
    uint64_t pairs_self;     /* of them from a task to itself; not in `edges` */
};

struct tl_swim_join {
    const struct tl_swimlane *lane; /* borrowed, as the next two */
    const struct tl_deps *deps;     /* NULL: none */
    const struct tl_name_map *names;
    enum tl_task_layout layout; /* of task ids: by deps.json's runtime, or by the recording's */
    struct tl_swim_clock clock;
    struct tl_swim_slice *slices; /* by core, then by start (of dispatch, where it never ran) */
    uint32_t *by_task;            /* positions in `slices` of those that ran */
    struct tl_swim_task *tasks;   /* by run_epoch, then by task id */
    struct tl_swim_edge *edges;   /* by consumer, then by producer */
    uint32_t *task_of_deps;       /* deps->n_tasks: its first position in `tasks`, or TL_SWIM_NONE; NULL without deps */
    uint32_t *epochs;             /* run_epoch of each execution that has a task, in order */
    uint32_t n_slices, n_ran, n_tasks, n_edges, n_epochs;
    uint64_t end; /* the latest time on the device */
    struct tl_swim_counts counts;
};

/*
 * Joins what there is: `deps` and `names` may be NULL. The three must outlive the result, which is the caller's: end
 * with tl__swim_join_fini. TL_ENOMEM; TL_ERANGE: more than 2^32 - 2 rows. One thread.
 */
int tl__swim_join(const struct tl_swimlane *lane, const struct tl_deps *deps, const struct tl_name_map *names,
                  struct tl_swim_join *ret_join, struct tl_error *reterr);
void tl__swim_join_fini(struct tl_swim_join *join);

/* Whether the recording's times contradict themselves: what follows from them means nothing. Why, or NULL: they do not.
 */
const char *tl__swim_time_broken(const struct tl_swim_join *join);

/* Position in `tasks`, or TL_SWIM_NONE. */
uint32_t tl__swim_find_in(const struct tl_swim_join *join, uint32_t run_epoch, uint64_t task_id);
/* The same of the first execution that has the task. */
uint32_t tl__swim_find(const struct tl_swim_join *join, uint64_t task_id);

#define TL_SWIM_LABEL_BYTES 2048
/* "matmul(r0t5)", "func_3(r0t5)", "task(r0t5)"; of an SPMD task "matmul_spmd(r0t5)"; of an AICPU row alone "never
 * ended(reg 17)". A kernel's name of some 2,000 bytes is cut as tl__name_cut does. `to` has TL_SWIM_LABEL_BYTES.
 */
void tl__swim_label(const struct tl_swim_join *join, const struct tl_swim_slice *slice, char *to);

#endif
