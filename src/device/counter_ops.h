/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of the machine that simulates the chip, as the device sees them: a table of functions that the device is
 * created with, so that nothing here depends on an operating system.
 */
#ifndef TL_DEVICE_COUNTER_OPS_H
#define TL_DEVICE_COUNTER_OPS_H

#include <stdbool.h>
#include <stdint.h>

struct tl_counter_ops {
    void *ctx;
    /* What the next run counts: names[0] always, and of the others those that the machine has, as bits in the result.
     * 0: none, and *ret_state (enum tl_wire_machine) says why. Between runs, on one thread. Names: static. */
    uint32_t (*begin)(void *ctx, const char *const *names, unsigned n, uint8_t *ret_state);
    /* The calling thread's counts since its first call in this run, by name. False: not measured on this thread. */
    bool (*read)(void *ctx, uint64_t *ret_values);
};

#endif
