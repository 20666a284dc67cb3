/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code of the program a thread of the device is in, and the description of a fault there.
 */
#ifndef TL_DEVICE_FAULT_H
#define TL_DEVICE_FAULT_H

#include "base/text.h"
#include "device/core.h"
#include "device/device.h"

/* The call into the program that a thread is in. It is on that thread's stack. */
struct tl_current {
    const struct tl_device *device;
    const struct tl_core_role *core; /* NULL: the orchestration */
    const struct tl_kernel *kernel;  /* of the core */
    const struct tl_slot *slot;      /* of the core */
    uint32_t block;                  /* of the slot */
};

/* NULL: none. Set before and restored after each call into the program; an orchestration that waits runs kernels.
 * Only its own thread, and a signal handler in it, reads it: plain accesses, which the call itself keeps in order. */
extern _Thread_local const struct tl_current *tl__current;

enum tl_side { TL_SIDE_NONE, TL_SIDE_INSIDE, TL_SIDE_PAST, TL_SIDE_BEFORE };

/* Where an address is relative to the buffer of a task's argument. */
struct tl_fault_place {
    enum tl_side side;
    uint32_t arg;
    uint64_t distance; /* bytes into the buffer, past its end, before its start */
};

struct tl_fault_place tl__fault_place(uint64_t start, uint64_t bytes, uint32_t arg, uint64_t address);

/* Pieces of what is said; all are safe in a signal handler. "task r0t2 (0x...)"; "64 bytes past the end of "; "out
 * float32[4,8]"; and a line an argument, which has the address if `place` says so. */
void tl__fault_put_task(struct tl_text *t, uint64_t id);
void tl__fault_put_place(struct tl_text *t, const struct tl_fault_place *place);
void tl__fault_put_tensor(struct tl_text *t, const struct tl_task_payload *p, uint32_t i);
void tl__fault_put_args(struct tl_text *t, const struct tl_device *d, const struct tl_slot *slot,
                        const struct tl_fault_place *place);

#endif
