/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's own structures. Roles:
 *
 *   scheduler   (a few) owns a share of the clusters: takes finished subtasks from its cores, completes tasks, makes
 *               their successors ready, captures arguments, dispatches. Its lock says which thread runs it now.
 *   core        idle -> dispatched -> running -> finished, with one running and one pending slot
 *   orchestrator (tensormap_and_ringbuffer) the program's function on its own thread; while it waits for space in a
 *               ring it steps the other roles
 *
 * Threads step roles; no role blocks a thread. So a chain of tasks runs on one thread without a hand-off. A thread
 * that finds a role locked leaves it to the thread that has the lock. Therefore a thread that steps roles either looks
 * at all of them again before it sleeps (tl__device_sleep), or rings the bell if it continues with something else: the
 * watch, and an orchestrator that got space in its ring.
 *
 * Orders (each labelled site names these):
 *   D1/D2  a slot is filled before its last `waits` is counted down; the thread that counts it to 0 sees all of it
 *   D3     a task's effects are visible before its fanout list is closed and its successors are counted down
 *   D4     `holds` reaches 0 after the last use of a slot; the orchestrator reclaims it after seeing 0
 *   D5     a core's token is written before `tokens` is raised or its todo bit is set; the thread that takes the bit
 *          sees it
 *   D6     a subtask's effects are visible before its FIN (fin_count, fin bit); a scheduler that sees FIN sees them
 *   D7     a scheduler's state is handed from thread to thread by its lock
 */
#ifndef TL_DEVICE_DEVICE_IMPL_H
#define TL_DEVICE_DEVICE_IMPL_H

#include "base/ticks.h"
#include "device/device.h"
#include "device/guard.h"
#include "device/image.h"
#include "device/orch_record.h"
#include "device/pmu_plan.h"
#include "device/ready.h"
#include "device/scheduler.h"

/* A kernel of the program and how many tensors its signature names. */
struct tl_kernel_ref {
    const struct tl_kernel *kernel;
    uint8_t width;
};

#define TL_WARNED_MISMATCH 1u
#define TL_WARNED_BEYOND 2u

/* Bit: stream that is on in this run and has the operation; probes.h. */
struct tl_probe_sets {
    uint32_t inputs, outputs, before, after, subtask, expected, hung, submit, submitted, scope, end;
    bool counted; /* kernels count */
    bool stamped; /* dispatch and finish of a subtask are stamped too */
};

struct tl_device {
    struct tl_device_opts opts;
    struct tl_thread **threads;
    tl_au32 go;     /* counts runs; sleepers between runs park on it */
    tl_au32 stop;   /* the device is being destroyed */
    tl_au32 inside; /* pool threads that are in the run */
    /* The run. */
    tl_au32 over;          /* every task retired and every lane ended, or the run failed and is flushed */
    tl_au32 submitted_all; /* the orchestration has returned; `submitted` is final; D8 */
    tl_au32 space_wanted;   /* the orchestrator sleeps until something retires */
    tl_au32 failed;        /* a fatal code is set: dispatch nothing more */
    tl_au32 hung;          /* no progress: start no more kernels, record what runs, end; H1 */
    tl_au32 reported;      /* the run's status is written; H2 */
    struct tl_thread *watch;
    uint64_t began_ns;
    bool stuck; /* a thread never returned from a kernel: the device cannot be used again */
    const struct tl_launch *launch;
    struct tl_run_status *status;
    const struct tl_program *program;
    struct tl_kernel_ref *by_func; /* func_id -> kernel */
    uint32_t n_func;
    tl_au32 warned; /* TL_WARNED_* */
    uint32_t n_scheds, n_cores;
    struct tl_scheduler *scheds;
    struct tl_core_role *cores;
    struct tl_ready ready[TL_SHAPE_COUNT];
    struct tl_ring rings[TL_GRAPH_RINGS];
    uint64_t ready_capacity;
    struct tl_image image;
    struct tl_graph *spare; /* of the last run that was not an image: memory for the next one; NULL: none */
    struct tl_orch_record orch_record;
    struct tl_clock clock; /* of records; ready in a run that is timed */
    bool timed;            /* cores stamp their subtasks */
    struct tl_probe_sets probes;
    struct tl_pmu_plan pmu;
    bool barrier; /* a full barrier before FIN: a probe reads what a kernel stored */
    struct tl_guard guard;
    /* Written at each submit, so not in a cache line that every step reads. */
    _Alignas(64) tl_au64 submitted; /* writer: orchestrator */
    tl_au64 retired_early;          /* tasks without kernel, retired at submit; writer: orchestrator */
};

/* Device cycles now, as a role stamps them: not before its last stamp, nor before the stamp `cause` of what happened
 * before it. Different threads run a role, and a counter may be read a little before the load that saw the cause. */
static inline uint64_t tl__stamp(const struct tl_device *d, uint64_t *last, uint64_t cause)
{
    uint64_t now = tl__clock_cycles(&d->clock), floor = cause > *last ? cause : *last;

    return *last = now > floor ? now : floor;
}
/* First fatal code wins; its text goes to the run's status. True if it is this one. Any thread. */
bool tl__device_fail(struct tl_device *d, int code, const char *text);
/* Steps every role once, as far as each goes without waiting. True if anything moved. Any thread of the run. */
bool tl__device_step(struct tl_device *d, unsigned hint);
/* Sleeps until the bell rings or a parked lane must look again. Once `waiting` is raised it steps every role and asks
 * `look` (NULL: nothing else) for what the caller waits for; either keeps it awake. Any thread of the run. */
void tl__device_sleep(struct tl_device *d, unsigned hint, bool (*look)(void *arg), void *arg);
/* Wakes a sleeping thread if there is one. */
void tl__device_notify(struct tl_device *d);
uint64_t tl__device_retired(struct tl_device *d);
/* Writes to the run's status how many tasks were submitted and retired, without allocations: the one place that counts
 * them for reports. Any thread, a signal handler too. */
void tl__device_report_counts(struct tl_device *d, struct tl_run_status *status);
/* Writes to the run's status which task has finished last: of those since the last look the newest. Any thread. */
void tl__device_report_last(struct tl_device *d);
/* Works until the run is over. The pool's threads do so between enter and leave; the caller of run does it itself. */
void tl__device_work(struct tl_device *d, unsigned hint);
void tl__device_enter(struct tl_device *d);
void tl__device_leave(struct tl_device *d);
/* Whether the run is over. */
bool tl__device_over(struct tl_device *d);

#endif
