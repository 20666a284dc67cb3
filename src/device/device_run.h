/* SPDX-License-Identifier: Apache-2.0 */
/* One launch. */
#ifndef TL_DEVICE_DEVICE_RUN_H
#define TL_DEVICE_DEVICE_RUN_H

#include "device/device.h"

struct tl_runtime_policy;

/* The launch at `addr`, or NULL if none is there. */
const struct tl_launch *tl__device_launch(const struct tl_device *d, uint64_t addr);
int tl__device_run(struct tl_device *d, uint64_t launch, const struct tl_program *program,
                   const struct tl_runtime_policy *policy);
/* Gives back what a run's rings took. Between runs. */
void tl__device_free_rings(struct tl_device *d);
/* Writes the run's status and rings its waiter; only the first call of a run does. Any thread. */
void tl__device_report(struct tl_device *d);

#endif
