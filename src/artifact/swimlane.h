/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chip_swimlane_records.json: what ran when, in raw device cycles (docs/formats/chip_swimlane_records.md). One writer
 * and one reader; the reader takes files made by others of this kind, in the older form and in that of September 2026.
 * Core records and scheduler records are joined on (run_epoch, core_id, reg_task_id), never on the task id: one task
 * may visit a core twice.
 */
#ifndef TL_ARTIFACT_SWIMLANE_H
#define TL_ARTIFACT_SWIMLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#define TL_SWIMLANE_NAME "chip_swimlane_records.json"
/* What viewers make of it, beside it. */
#define TL_SWIMLANE_TRACE_NAME "merged_swimlane.json"
#define TL_SWIMLANE_REPORT_NAME "critical_path.md"

/* X(enumerator, name, group). Outer kinds exclude each other in time; inner ones are within an outer one; a lane kind
 * stands for a task that no core runs. */
#define TL_PHASE_LIST(X)                                                                                               \
    X(TL_PHASE_COMPLETE, "complete", TL_PHASE_OUTER)                                                                   \
    X(TL_PHASE_ASYNC_POLL, "async_poll", TL_PHASE_OUTER)                                                               \
    X(TL_PHASE_DISPATCH, "dispatch", TL_PHASE_OUTER)                                                                   \
    X(TL_PHASE_RELEASE, "release", TL_PHASE_OUTER)                                                                     \
    X(TL_PHASE_DUMMY, "dummy", TL_PHASE_OUTER)                                                                         \
    X(TL_PHASE_EARLY_DISPATCH, "early_dispatch", TL_PHASE_OUTER)                                                       \
    X(TL_PHASE_DRAIN, "drain", TL_PHASE_OUTER)                                                                         \
    X(TL_PHASE_RESOLVE, "resolve", TL_PHASE_INNER)                                                                     \
    X(TL_PHASE_DRAIN_PREPARE, "drain_prepare", TL_PHASE_INNER)                                                         \
    X(TL_PHASE_DRAIN_PUBLISH, "drain_publish", TL_PHASE_INNER)                                                         \
    X(TL_PHASE_DUMMY_TASK, "dummy_task", TL_PHASE_LANE)                                                                \
    X(TL_PHASE_PREDICATED_SKIP, "predicated_skip", TL_PHASE_LANE)                                                      \
    X(TL_PHASE_SCAN, "scan", TL_PHASE_OUTER) /* old files only, as the next two */                                     \
    X(TL_PHASE_POLL, "poll", TL_PHASE_OUTER)                                                                           \
    X(TL_PHASE_GRAPH_PREPARE, "graph_prepare", TL_PHASE_OUTER) /* host_build_graph, as the next ones */                \
    X(TL_PHASE_RESOLVE_STANDALONE, "resolve_standalone", TL_PHASE_OUTER)                                               \
    X(TL_PHASE_BOOTSTRAP, "bootstrap", TL_PHASE_OUTER) /* a core as the scheduler, as the next three */                \
    X(TL_PHASE_STATE_PROBE, "state_probe", TL_PHASE_OUTER)                                                             \
    X(TL_PHASE_WORKSTEAL, "worksteal", TL_PHASE_OUTER)                                                                 \
    X(TL_PHASE_REFILL, "refill", TL_PHASE_OUTER)                                                                       \
    X(TL_PHASE_OTHER, "other", TL_PHASE_OUTER) /* a kind without a name here: tl__swim_phase_name has the file's */    \
    X(TL_PHASE_OTHER_INNER, "other_inner", TL_PHASE_INNER) /* the same, within an outer one */                         \
    X(TL_PHASE_IDLE, "idle", TL_PHASE_GAP)

enum tl_phase_group { TL_PHASE_OUTER, TL_PHASE_INNER, TL_PHASE_LANE, TL_PHASE_GAP };

enum tl_phase_kind {
#define TL_PHASE_ENUM(kind, name, group) kind,
    TL_PHASE_LIST(TL_PHASE_ENUM)
#undef TL_PHASE_ENUM
        TL_PHASE_COUNT
};

/* A row of aicore_tasks. */
struct tl_swim_core {
    uint64_t task_id;
    uint64_t start_cycles, end_cycles;
    uint64_t receive_cycles; /* newer foreign files: from taking the token to the start; 0: not there */
    uint32_t core_id, reg_task_id;
    uint32_t run_epoch; /* which execution of the graph; 0: the older form, which has one */
    uint32_t reserved;  /* 0: rows are compared as bytes */
};

/* A row of aicpu_tasks, or of scheduler_tasks; level 2 and up. finish_cycles 0: it never finished. */
struct tl_swim_aicpu {
    uint64_t dispatch_cycles, finish_cycles;
    uint32_t core_id, reg_task_id;
    uint32_t run_epoch;
    uint32_t reserved; /* 0: likewise */
};

#define TL_SWIM_HAS_POP 1u     /* pop_hit, pop_miss */
#define TL_SWIM_HAS_SHARED 2u  /* shared_at_start, shared_at_end */
#define TL_SWIM_HAS_TASK_ID 4u /* task_id */

/* One scheduler phase; level 3 and up. */
struct tl_swim_phase {
    uint64_t start_cycles, end_cycles;
    uint64_t task_id;
    uint32_t loop_iter, tasks_processed;
    uint32_t run_epoch;
    uint32_t pop_hit, pop_miss;
    uint32_t shared_at_start[3], shared_at_end[3]; /* ready tasks in the shared queues, by shape: AIC AIV MIX */
    uint16_t thread; /* position of its list in the file, the thread id that the row carries, or its scheduler_id */
    uint8_t kind;    /* enum tl_phase_kind */
    uint8_t has;     /* TL_SWIM_HAS_* */
    uint16_t other;  /* TL_PHASE_OTHER, _INNER: index into other_names; else 0 */
    uint16_t reserved[3]; /* 0: likewise */
};

/* One submit; level 4. */
struct tl_swim_orch {
    uint64_t task_id, start_cycles, end_cycles;
    uint32_t submit_idx;
    uint32_t thread;
    uint32_t run_epoch;
    uint32_t reserved; /* 0: likewise */
};

/* What the host sent to the device before the run, by the host's clock. */
struct tl_swim_upload {
    uint64_t start_ns, end_ns, detail;
    uint32_t run_epoch;
    char phase[32]; /* "graph_upload", "arena_h2d", or another's word */
};

/* One scheduler that recorded phases; the form of September 2026. */
struct tl_swim_stream {
    uint64_t committed, dropped; /* records, by its writer's count */
    uint64_t read;               /* records that the file has */
    uint32_t worker_id;
    uint16_t scheduler_id; /* `thread` of its phases */
    bool aicore;           /* a core is the scheduler */
    bool truncated;
};

enum tl_swim_form { TL_SWIM_OLDER, TL_SWIM_2026_09 };

/* A moment at which both clocks were read: the host's before and after the device's. */
struct tl_swim_anchor {
    char position[32]; /* "begin", "quiesce", or another's word */
    uint64_t host_before_ns, device_cycles, host_after_ns;
    uint64_t uncertainty_ns; /* half of the way between the two host readings, rounded up */
};
#define TL_SWIM_MAX_ANCHORS 16

struct tl_swim_kind_name {
    char text[32];
};

struct tl_swimlane {
    uint32_t level; /* 1..4 */
    uint32_t num_cores;
    uint64_t clock_freq_hz;
    uint8_t *core_types;     /* num_cores: enum tl_core, TL_AIC or TL_AIV (tasklens/kernel.h) */
    int32_t *core_to_thread; /* num_cores, -1 none; NULL: the file has none */
    struct tl_swim_core *cores;
    struct tl_swim_aicpu *aicpus;
    struct tl_swim_phase *phases; /* by thread in the file's order, in each thread in the file's order */
    struct tl_swim_orch *orchs;
    uint64_t n_cores, n_aicpus, n_phases, n_orchs; /* rows */
    struct tl_swim_stream *streams;                /* by the file's order; the older form has none */
    struct tl_swim_upload *uploads;                /* as they are; NULL: none */
    uint64_t n_streams, n_uploads;
    uint64_t n_lifecycles;   /* control threads in aicpu_lifecycle_records */
    enum tl_swim_form form;  /* of the file that was read, or is to be written */
    char platform[16];       /* "a2a3"; the form of September 2026 */
    char runtime[32];        /* metadata.runtime: "host_build_graph"; "": the file does not say */
    char host_domain[64];    /* host_clock_domain_id: of another one host times are not comparable; "" */
    char host_status[32];    /* host_capture.status; "": none */
    uint64_t host_dropped;   /* host_capture.dropped_records */
    char unaligned[64];      /* clock_alignment: why the clocks are not aligned; "": they are, or nothing is said */
    bool cores_schedule;     /* scheduler_tasks came from cores ("producer": "aicore") */
    bool orch_is_host_clock; /* a foreign orchestrator ran on the host: its times are ns of the host's clock */
    uint32_t n_anchors;
    struct tl_swim_anchor anchors[TL_SWIM_MAX_ANCHORS];
    /* What the reader had to leave out, for one line each. */
    uint64_t unknown_kinds;                /* phases of a kind that has no name here: kept, as TL_PHASE_OTHER */
    char unknown_kind[32];                 /* the first of them */
    struct tl_swim_kind_name *other_names; /* what the file calls them; a name that is longer is cut */
    uint64_t n_other_names;
    uint64_t backward;   /* rows that end before they start (finish 0 excepted): kept as they are */
    uint64_t falls;      /* rows far before what came before them on their core or in their loop: kept as they are */
    bool wrapped;        /* the device's counter has 32 bits and began again at 0: what is behind that is 2^32 later */
    uint64_t duplicates; /* rows whose (run_epoch, core_id, reg_task_id) an earlier row of the same table has: kept */
};

/* "dispatch", ...; NULL beyond TL_PHASE_COUNT. */
const char *tl__phase_name(unsigned kind);
/* What a phase is called where it is shown: as the file calls it, where this has no name for it. */
const char *tl__swim_phase_name(const struct tl_swimlane *s, const struct tl_swim_phase *phase);
/* enum tl_phase_group. */
unsigned tl__phase_group(unsigned kind);
/* Old spellings count: fanout is resolve, prestage is early_dispatch. The kind, or TL_ENOENT. */
int tl__phase_parse(const char *name, size_t length);

/* Writes DIR/chip_swimlane_records.json by rename, rows as they are in `s`. TL_EIO, TL_ENOSPC, TL_ENOMEM. */
int tl__swimlane_write(const char *dir, const struct tl_swimlane *s, struct tl_error *reterr);
/* Reads the file at `path`. Lengths agree (core ids are below num_cores, threads any). TL_ENOENT, TL_EIO, TL_ENOMEM;
 * TL_EPARSE with file, row and field. *ret_swimlane is the caller's: end with tl__swimlane_fini. */
int tl__swimlane_read(const char *path, struct tl_swimlane *ret_swimlane, struct tl_error *reterr);
/* The same from memory; `name` appears in messages. */
int tl__swimlane_parse(const void *text, size_t bytes, const char *name, struct tl_swimlane *ret_swimlane,
                       struct tl_error *reterr);
void tl__swimlane_fini(struct tl_swimlane *s);

#endif
