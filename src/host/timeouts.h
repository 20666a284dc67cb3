/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three budgets of a run and their overrides in the environment. On the simulators each is checked alone; on a
 * real chip their order is checked too, because an outer watchdog that fires first ends the device before it dumps.
 */
#ifndef TL_HOST_TIMEOUTS_H
#define TL_HOST_TIMEOUTS_H

#include <stdbool.h>
#include <stdint.h>

struct tl_timeouts {
    uint64_t scheduler_ms;   /* schedulers see nothing retire */
    uint64_t op_execute_us;  /* the host sees nothing retire, and treats the device as hung */
    uint64_t stream_sync_ms; /* the host gives up waiting */
};

#define TL_TIMEOUTS_DEFAULT                                                                                            \
    {                                                                                                                  \
        20000, 45000000, 50000                                                                                         \
    }
/* Cold work before the schedulers' clock starts; stream sync must cover it on a real chip. */
#define TL_ARMING_GUARD_MS 1500u

/* Value of a variable, or NULL. */
typedef const char *(*tl_getenv_fn)(void *ctx, const char *name);

/*
 * TASKLENS_SCHEDULER_TIMEOUT_MS, TASKLENS_OP_EXECUTE_TIMEOUT_US, TASKLENS_STREAM_SYNC_TIMEOUT_MS, and the same with
 * SIMPLER_. With both set ours wins, and a log line says so. A value that is not an integer of at least 1, or
 * (real_chip) breaks the order, is ignored with a warning that names the rule. `get` NULL: the process's environment.
 */
struct tl_timeouts tl__timeouts_read(bool real_chip, tl_getenv_fn get, void *ctx);

#endif
