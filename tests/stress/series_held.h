/* SPDX-License-Identifier: Apache-2.0 */
/* What a process holds, as the system counts it. One thread. */
#ifndef TL_TESTS_STRESS_SERIES_HELD_H
#define TL_TESTS_STRESS_SERIES_HELD_H

#include <stdbool.h>
#include <stdint.h>

struct held {
    uint64_t threads, mappings, files, anon_kb, shared_kb;
    uint64_t allocated_kb; /* of its own; the host's, the chip's is not known here */
};

/* This process, without what its allocator keeps for later; the chip's process, this one's child. */
void held_by_host(struct held *ret_held);
void held_by_chip(struct held *ret_held);
/* A line after that run. */
void held_show(uint64_t run, const char *who, const struct held *h);
/* Whether `b` holds more than `a`, which had just run the same. Mappings: the C library has one or two more for a heap
 * in two pieces. */
bool held_grew(const struct held *a, const struct held *b);

#endif
