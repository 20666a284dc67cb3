/* SPDX-License-Identifier: Apache-2.0 */
/* A run that makes no progress: what is said and recorded of it. */
#ifndef TL_DEVICE_STALL_H
#define TL_DEVICE_STALL_H

#include <stddef.h>
#include <stdint.h>

struct tl_device;
struct tl_scheduler;

/* One line a stuck task to the log; the first also to `text` for the run's status. */
void tl__stall_lines(struct tl_device *d, uint64_t still_ns, char *text, size_t n);
/* Records the partial outputs of tasks that run on this scheduler's cores. 0 done, TL_EAGAIN parked. */
int tl__stall_capture(struct tl_scheduler *s);

#endif
