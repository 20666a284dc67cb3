/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hardware counters of this machine, read thread by thread around a kernel: what a core of the chip counts, because
 * a thread is the core while it runs one. Events are named as libpfm4 names them; that library is loaded when a run
 * asks for counters and may be missing.
 */
#ifndef TL_SIM_COUNTERS_H
#define TL_SIM_COUNTERS_H

#include "device/counter_ops.h"

struct tl_counters;

/* NULL when out of memory, and in the controlled environment: then a chip has none. */
struct tl_counters *tl__counters_create(void);
/* When no thread reads any more. NULL is fine. */
void tl__counters_destroy(struct tl_counters *counters);
/* The counters', until they are destroyed; NULL of NULL. */
const struct tl_counter_ops *tl__counters_ops(const struct tl_counters *counters);

#endif
