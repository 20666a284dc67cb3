/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device without a host: memory, bells and a launch in this process, for tests of the device room. One thread.
 */
#ifndef TL_TESTS_BARE_DEVICE_H
#define TL_TESTS_BARE_DEVICE_H

#include "device/device.h"
#include "runtime/runtime.h"

struct bare_device {
    struct tl_device *device;
    struct tl_devmem memory;
    struct tl_bell_page *bells;
    uint64_t used; /* bump allocator */
    struct tl_launch *launch;
    uint64_t launch_addr;
    struct tl_run_status *status;
};

struct bare_opts {
    const char *arch;
    const struct tl_arch *chip; /* in place of the one that `arch` names */
    unsigned threads, clusters, schedulers;
    enum tl_runtime_kind runtime;
    uint32_t task_window, dep_pool; /* 0: 1024 and 4096 */
    uint64_t heap_bytes;            /* 0: 4 MiB */
    uint32_t scheduler_timeout_ms;  /* 0: no hang is ever declared */
};

/* Asserts on failure. */
void bare_open(struct bare_device *b, const struct bare_opts *opts);
void bare_close(struct bare_device *b);
/* Device address of zeroed memory. */
uint64_t bare_alloc(struct bare_device *b, uint64_t bytes);
void *bare_ptr(const struct bare_device *b, uint64_t addr);
/* A contiguous float32 tensor over fresh memory. */
struct tl_tensor bare_tensor(struct bare_device *b, enum tl_dtype dtype, unsigned rank, const uint32_t *shape);
/* Runs `program` on these tensors; the run's code. */
int bare_run(struct bare_device *b, const struct tl_program *program, const struct tl_tensor *tensors,
             uint32_t n_tensors, const int64_t *params, uint32_t n_params);

#endif
