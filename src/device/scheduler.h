/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler: what it owns, and its steps, each of which goes as far as it can without waiting (scheduler.c,
 * dispatch.c, complete.c). The orders D1 to D9 are in device/device_impl.h. */
#ifndef TL_DEVICE_SCHEDULER_H
#define TL_DEVICE_SCHEDULER_H

#include "arch/arch.h"
#include "device/capture.h"
#include "device/core.h"
#include "device/phases.h"
#include "device/recorder.h"

struct tl_device;

#define TL_MAX_SCHEDULERS TL_MAX_AICPU_THREADS
#define TL_LOCAL_READY 4u /* tasks a scheduler keeps for itself before it shares */

struct tl_scheduler {
    tl_au32 lock; /* 1: a thread runs it; D7 */
    uint32_t idx;
    struct tl_device *device;
    _Alignas(64) tl_au64 todo[TL_KIND_COUNT]; /* bit c: core of cluster c has a token and no thread runs it; D5 */
    tl_au64 fin[TL_KIND_COUNT];               /* bit c: core of cluster c has finished subtasks; D6 */
    /* guard: lock */
    _Alignas(64) uint64_t idle[TL_KIND_COUNT]; /* bit c: nothing in flight */
    uint64_t accepts[TL_KIND_COUNT];           /* bit c: at most one in flight */
    uint64_t taken_fin[TL_KIND_COUNT];
    struct tl_slot *held[TL_SHAPE_COUNT];
    struct tl_slot *local[TL_SHAPE_COUNT];
    uint32_t n_local[TL_SHAPE_COUNT];
    uint32_t next_unfinished;          /* cores looked at by tl__subtasks_unfinished */
    uint32_t n_clusters, next_stalled; /* next_stalled: cores looked at after a hang, AIC AIV0 AIV1 a cluster */
    tl_au32 ended;                     /* its lanes have their end marks, or never will; D9 */
    tl_au64 deadline_ns;               /* when its parked lane must look again; TL_FOREVER: not parked */
    struct tl_probe probe;
    struct tl_recorder rec;
    uint64_t stamp; /* its last one, device cycles */
    struct tl_phases phases;
    struct tl_core_role *cores[TL_KIND_COUNT][TL_MAX_CLUSTERS]; /* NULL: the chip's clusters have none of the kind */
    /* Tasks; writer: guard; readers: anyone (relaxed figure, D8 for the end of the run). */
    _Alignas(64) tl_au64 retired;
    tl_au64 last_task;     /* 1 + the id of the last of them; writer: guard; readers: the watch (relaxed figure) */
    tl_au64 last_reported; /* `retired` when the watch last reported it; writers: the watch, the report */
    tl_au32 has_work;      /* hint: held, local or captured work is waiting */
};

/* Whether each cluster of the chip has a core of the kind (enum tl_core_kind). */
static inline bool tl__cluster_has(const struct tl_arch *arch, unsigned kind)
{
    return kind == TL_KIND_AIC ? arch->cluster_aics != 0 : kind - TL_KIND_AIV0 < arch->cluster_aivs;
}

/* DI4: only the thread that has the lock may touch the state. */
static inline bool tl__sched_is_locked(const struct tl_scheduler *s)
{
    return tl_load_rlx(&s->lock) != 0; /* relaxed: this thread took it */
}

bool tl__sched_step(struct tl_scheduler *s);
bool tl__sched_has_work(struct tl_scheduler *s);
bool tl__dispatch_step(struct tl_scheduler *s);
/* A task whose last predecessor is complete; `s`: the scheduler that found out, NULL from the orchestrator. */
void tl__make_ready(struct tl_device *d, struct tl_scheduler *s, struct tl_slot *slot);
bool tl__complete_step(struct tl_scheduler *s);
/* Everything is captured: closes the fanout, releases what the task held. */
void tl__retire(struct tl_scheduler *s, struct tl_slot *slot);

#endif
