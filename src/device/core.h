/* SPDX-License-Identifier: Apache-2.0 */
/* A core: the tokens that a scheduler puts on it, and how threads step it. */
#ifndef TL_DEVICE_CORE_H
#define TL_DEVICE_CORE_H

#include "arch/pmu_set.h"
#include "device/slot.h"

struct tl_device;
struct tl_scheduler;

/* One subtask, as a scheduler puts it on a core. */
struct tl_token {
    struct tl_slot *slot;
    uint32_t block;
    uint32_t recorded; /* bit: stream that has this subtask's record; the scheduler */
    /* Device cycles; 0 where the level does not ask. */
    uint64_t dispatch, finish; /* the scheduler */
    uint64_t start, end;       /* the core; D6 */
    uint64_t taken;            /* when the core took it, at level 2 and up; the core; D6 */
    /* With the PMU on; the core; D6. */
    uint64_t counts[TL_COUNT_CLASSES];       /* what the kernel reported */
    uint64_t before[1 + TL_PMU_MAX_MACHINE]; /* the machine's, by name in struct tl_pmu_plan */
    uint64_t after[1 + TL_PMU_MAX_MACHINE];
    bool measured; /* both of them are there */
};

struct tl_core_role {
    tl_au32 tokens;           /* dispatched and not finished, 0..2; D5 */
    tl_au32 fin_count;        /* finished, ever; D6 */
    uint32_t sent, seen;      /* dispatched and taken back, ever; its scheduler */
    struct tl_token token[2]; /* token[n & 1]: the n-th */
    tl_au32 running;          /* 1: inside a kernel; writer: the thread that runs the core; readers: the watch */
    uint32_t id, run_count;   /* run_count: finished, ever; the thread that runs the core */
    uint64_t stamp;           /* its last one, device cycles; the same thread */
    tl_au64 since;            /* start of the timed kernel that it is inside of, 0: none; readers: after a hang */
    uint8_t kind, cluster;    /* enum tl_core_kind; index in its scheduler */
    struct tl_scheduler *sched;
};

/* Any core of its type may run a task of one kernel; a mix has a kernel a core. */
static inline const struct tl_kernel *tl__kernel_of(const struct tl_core_role *core, const struct tl_slot *slot)
{
    return slot->shape == TL_SHAPE_MIX ? slot->kernels[core->kind] : slot->widest;
}

/* Runs one subtask on one core that has something to do, of any scheduler. */
bool tl__cores_step(struct tl_device *d, unsigned hint);
/* True if at least `n` cores have a token and no thread runs them. A hint. */
bool tl__cores_todo(struct tl_device *d, unsigned n);
/* Puts a token on a core of its own scheduler; the caller has checked that it has less than two. */
void tl__core_send(struct tl_core_role *core, struct tl_slot *slot, uint32_t block);

#endif
