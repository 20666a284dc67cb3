/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chip's control plane and cores, as roles that threads step. Made once per chip; runs one launch at a time.
 * Sees memory by struct tl_devmem and the host by bells alone.
 */
#ifndef TL_DEVICE_DEVICE_H
#define TL_DEVICE_DEVICE_H

#include <tasklens/program.h>

#include "arch/arch.h"
#include "wire/bell.h"
#include "wire/launch.h"
#include "wire/memory.h"

struct tl_device;

struct tl_device_opts {
    const struct tl_arch *arch;
    struct tl_devmem memory;    /* the chip's; outlives the device */
    struct tl_bell_page *bells; /* outlives the device */
    unsigned threads;           /* that step roles, the caller of run included; >= 1 */
};

/* Makes the device and its threads (threads - 1 of them; they sleep between runs). 0, TL_ENOMEM. */
int tl__device_create(const struct tl_device_opts *opts, struct tl_device **ret_device);
/* What the calling thread is running, for a handler of its crash. Everything is the device's. */
struct tl_device_site {
    uint64_t task;
    const char *kernel;
    uint32_t core;
    enum tl_core core_type;
    const struct tl_tensor *tensors; /* the task's arguments */
    uint32_t n_tensors;
};
/* False outside of kernels. Safe in a signal handler. */
bool tl__device_site(struct tl_device_site *ret_site);

/* Stops and joins the threads. NULL is fine. Must not be called while a run is in progress. */
void tl__device_destroy(struct tl_device *d);

#endif
