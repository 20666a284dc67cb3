/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread of the device is doing for the program, and what a fault there means to the program's author.
 */
#ifndef TL_DEVICE_FAULT_H
#define TL_DEVICE_FAULT_H

#include "device/internal.h"

/* The call into the program that a thread is in. It lies on that thread's stack. */
struct tl_current {
    const struct tl_device *device;
    const struct tl_core_role *core; /* NULL: the orchestration */
    const struct tl_kernel *kernel;  /* of the core */
    const struct tl_slot *slot;      /* of the core */
    uint32_t block;                  /* of the slot */
};

/* NULL: none. Set before and put back after each call into the program; an orchestration that waits runs kernels.
 * Only its own thread, and a signal handler in it, looks at it: plain accesses, which the call itself keeps in order.
 */
extern _Thread_local const struct tl_current *tl__current;

#endif
