/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two runtimes: who runs the orchestration, how slots are reclaimed, when a graph is complete. Each is one
 * policy over the device; the launch says which.
 */
#ifndef TL_RUNTIME_RUNTIME_H
#define TL_RUNTIME_RUNTIME_H

#include "device/device.h"

/*
 * Executes one launch (address of a struct tl_launch in device memory) of `program` on the calling thread and the
 * device's own; returns when every task has retired and every lane has its end mark, or after the first fatal error.
 * The result is also in the launch's struct tl_run_status, published by state = TL_RUN_DONE and a ring of bells->run.
 * Returns 0 or the run's fatal code.
 */
int tl__runtime_run(struct tl_device *d, uint64_t launch, const struct tl_program *program);

/* "tensormap_and_ringbuffer", "host_build_graph"; returns enum tl_runtime_kind or TL_ENOENT. */
int tl__runtime_parse(const char *name);

#endif
