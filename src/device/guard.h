/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guarded run (--guard): each buffer ends at a page that nothing may touch, so that an access past its end faults at
 * once. The rest of its pages holds a canary, which is checked when a task that has the buffer as an argument is
 * finished, and for all buffers at the end of the run. base/guard_layout.h defines the layout.
 *
 * Beyond some 24,000 live buffers, or when the system gives no more mappings, a guard page is filled with canary
 * instead.
 *
 * Threads: a buffer's entry is written before the task that owns it is published (D2) and again when the memory is used
 * again, which is after every task that had it has retired (D4).
 */
#ifndef TL_DEVICE_GUARD_H
#define TL_DEVICE_GUARD_H

#include "device/slot.h"
#include "wire/launch.h"

struct tl_device;

/* A guarded buffer. */
struct tl_guarded {
    uint64_t buffer, bytes; /* device address */
    uint64_t owner;         /* the task that allocated it; TL_NO_TASK: the program's own */
    uint32_t arg;           /* which of its owner's tensors it is */
    bool used, soft;        /* soft: its guard page is a canary */
};

struct tl_guard_heap {
    uint64_t start, pages;      /* what whole pages fill of the ring's heap */
    struct tl_guarded *of_page; /* the buffer that begins in each */
};

struct tl_guard {
    uint32_t align;  /* min alignment of buffers; 0: this run is not guarded */
    bool soft;       /* the system gives no more guard pages; orchestrator */
    uint32_t closed; /* guard pages; orchestrator */
    uint32_t n_program;
    struct tl_guarded program[TL_MAX_PROGRAM_ARGS];
    struct tl_guard_heap heap[TL_GRAPH_RINGS];
};

/* Guards the program's tensors. Nothing in a run without --guard. 0, TL_ENOMEM. */
int tl__guard_begin(struct tl_device *d);
/* The part of a ring's heap that whole pages fill. */
void tl__guard_heap(const struct tl_device *d, uint64_t *heap, uint64_t *bytes);
/* Guards what a task has allocated: by its arguments, or `tensors` of tl_alloc_tensors. The orchestrator, before the
 * task is published. */
void tl__guard_plan(struct tl_device *d, const struct tl_plan *plan, struct tl_tensor *const *tensors, uint32_t count);
/* Pointer to guarded memory; the caller knows that it is inside device memory. */
uint8_t *tl__guard_at(const struct tl_device *d, uint64_t address);
/* The byte that a canary has at an address. */
uint8_t tl__guard_canary(uint64_t address);
/* The guarded buffer of a tensor, or NULL: made by hand, or NO_DEP on memory that is released. */
const struct tl_guarded *tl__guard_find(const struct tl_device *d, const struct tl_tensor *t);

/* Checks the canaries of a finished task's arguments; fails the run. The task's scheduler, before it retires. */
void tl__guard_check(struct tl_device *d, const struct tl_slot *slot);
/* The same for all buffers of the run. No task runs any more. */
void tl__guard_check_all(struct tl_device *d);
/* The end of a run: checks all canaries if it succeeded, and opens all of device memory again. */
void tl__guard_end(struct tl_device *d);

#endif
