/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One launch: what the host sets for a run, and where the device reports. Both are in device memory; the host writes
 * struct tl_launch before it sends the launch command and never after; the device writes struct tl_run_status.
 */
#ifndef TL_WIRE_LAUNCH_H
#define TL_WIRE_LAUNCH_H

#include <stddef.h>

#include "base/atomic.h"
#include "base/collectors.h"

#define TL_LAUNCH_MAGIC 0x484E4C54u /* "TLNH" */
#define TL_LAUNCH_VERSION 3u
#define TL_RINGS 4u

enum tl_runtime_kind { TL_RUNTIME_RING, TL_RUNTIME_HOST_BUILD };

/* A record's share of journal and manifest while both are on the disk; its payload comes on top. Rounded up. */
#define TL_RECORD_DISK_BYTES UINT64_C(1024)

struct tl_launch {
    uint32_t magic, version;
    uint32_t epoch;      /* >= 1, one more a run */
    uint32_t runtime;    /* enum tl_runtime_kind */
    uint32_t clusters;   /* used, 1..arch's */
    uint32_t schedulers; /* scheduler roles, >= 1 */
    uint32_t n_tensors, n_params;
    uint64_t tensors;        /* address of struct tl_tensor[n_tensors] */
    uint64_t params;         /* address of int64_t[n_params] */
    uint64_t status;         /* address of struct tl_run_status */
    uint64_t heap[TL_RINGS]; /* address of each ring's heap */
    uint64_t heap_bytes[TL_RINGS];
    uint32_t task_window[TL_RINGS]; /* powers of two */
    uint32_t dep_pool[TL_RINGS];
    uint64_t dfx;                  /* address of struct tl_dfx_header; 0: no diagnostic in this run */
    uint32_t dump_hash;            /* 1: XXH3-64 of each payload */
    uint32_t dump_chunk;           /* 1: stream payloads larger than the arena in pieces; 0: truncate */
    uint32_t guard;                /* 0: off; else every buffer ends at a guard page, aligned to at least so much */
    uint32_t scheduler_timeout_ms; /* no progress, less parked time */
    uint64_t disk_limit_bytes;      /* on the disk; a graph that is known to record more is refused. 0: unknown */
    int32_t levels[TL_COLLECT_SLOTS]; /* of each diagnostic; 0: off */
};
_Static_assert(sizeof(struct tl_launch) == 248, "fixed layout");
_Static_assert(offsetof(struct tl_launch, disk_limit_bytes) == 176, "read by the peer");
_Static_assert(offsetof(struct tl_launch, dfx) == 160 - 8, "read by the peer");

/* Both clocks at one moment: the host's before and after the device's was read. All 0: not taken. */
struct tl_clock_pair {
    uint64_t host_before_ns, device_cycles, host_after_ns;
};

enum tl_clock_moment { TL_CLOCK_BEGIN, TL_CLOCK_QUIESCE, TL_CLOCK_MOMENTS };

enum tl_run_state { TL_RUN_IDLE, TL_RUN_RUNNING, TL_RUN_DONE };

enum tl_orchestration { TL_ORCHESTRATION_NOT_BEGUN, TL_ORCHESTRATION_RUNS, TL_ORCHESTRATION_RETURNED };

enum tl_refused {
    TL_REFUSED_NOT,
    TL_REFUSED_DISK,  /* the disk has no space for what the tasks would record */
    TL_REFUSED_SET_UP /* the roles could not be made: no lane will end by a mark */
};

struct tl_run_status {
    /* Line 0. writer: device; readers: host. */
    tl_au32 state;    /* R7: TL_RUN_DONE publishes everything below; A7 in the host's wait */
    tl_au32 code;     /* first fatal code as -TL_E..., 0: none. One CAS wins */
    tl_au32 epoch;    /* of the run that this describes */
    uint32_t refused; /* enum tl_refused: no task was run, and why */
    /* Tasks that have a kernel; while running by the device's last look, at most 0.1 s ago. Allocations, which are
     * tasks without a kernel, are counted separately, here and in all reports of a run. */
    tl_au64 submitted, retired;
    uint64_t wall_ns;        /* launch to completion */
    uint64_t parked_ns;      /* union over the lanes */
    uint64_t estimated_bytes; /* payload that a graph was known to record before its first task; 0: not known */
    /* By stream: records that the run calls for by its rules alone. UINT64_MAX: unknown, the run failed. */
    uint64_t expected[TL_STREAM_SLOTS];
    struct tl_clock_pair clock[TL_CLOCK_MOMENTS]; /* by enum tl_clock_moment */
    uint64_t
        record_ps[TL_STREAM_SLOTS]; /* by stream: what a record cost the device on average, picoseconds; 0: unknown */
    /* One line of text for people. */
    char message[960];
    /* After a crash: its description, lines that end with a newline. Else empty. */
    char block[3048];
    tl_au64 allocations; /* made by tl_alloc_tensors(); each retires at once. As submitted and retired */
    tl_au64 last_task; /* 1 + the id of a task that finished last, by the device's last look; 0: none. writer: device */
    /* After a crash: the instruction's address in the file of the program's object. */
    uint64_t code_offset;
    uint32_t code_known;     /* 1: code_offset and code_calls are set */
    uint32_t code_calls;     /* 1: of a call; the function that it called, in another object, crashed */
    tl_au64 orchestration;   /* enum tl_orchestration. writer: the orchestration's thread */
    tl_au64 refused_submits; /* F3: submits of a run that has failed; the message is written. F4 in the host's wait */
};
_Static_assert(sizeof(struct tl_run_status) == 4416, "fixed layout");
_Static_assert(offsetof(struct tl_run_status, expected) == 56, "read by the peer");

#endif
