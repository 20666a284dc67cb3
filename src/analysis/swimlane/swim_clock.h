/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of a swimlane recording. Device times are cycles; they are kept relative to the recording's first
 * device event, and turned into picoseconds where they are shown, so that a cycle of 20 ns and one of 1 ns are both
 * exact. A foreign orchestrator that ran on the host stamps nanoseconds of the host's clock: clock anchors, moments at
 * which both clocks were read, place it beside the device.
 */
#ifndef TL_ANALYSIS_SWIM_CLOCK_H
#define TL_ANALYSIS_SWIM_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/swimlane.h"

enum tl_swim_orch_clock {
    TL_SWIM_ORCH_DEVICE, /* cycles, as everything else */
    TL_SWIM_ORCH_PLACED, /* host nanoseconds, placed by the anchors */
    TL_SWIM_ORCH_APART,  /* host nanoseconds, no anchor: its distance to the device is not known */
};

struct tl_swim_clock {
    uint64_t freq_hz;       /* device cycles a second */
    uint64_t origin_cycles; /* the earliest device time of the recording: cycle 0 of everything in analysis/ */
    /* Of a host orchestrator: two moments on both clocks (the same twice if there is one), and the error bar. Without
     * an anchor host_ns[0] is its first submit. */
    enum tl_swim_orch_clock orch;
    uint64_t host_ns[2];
    int64_t device_ps[2];
    uint64_t uncertainty_ns;
    int64_t first_ps; /* the earliest time of all, the orchestrator's included: 0 of what is rendered */
};

/* Looks through the recording's times; 0 and garbage are no error. */
void tl__swim_clock_init(struct tl_swim_clock *clock, const struct tl_swimlane *lane);
/* Cycles since the origin; a time before it is 0. */
static inline uint64_t tl__swim_cycles(const struct tl_swim_clock *clock, uint64_t device_cycles)
{
    return device_cycles > clock->origin_cycles ? device_cycles - clock->origin_cycles : 0;
}
/* Picoseconds of a count of cycles, to the nearest; at most INT64_MAX / 2 (53 days). Monotonic. */
int64_t tl__swim_ps(const struct tl_swim_clock *clock, uint64_t cycles);
/* When a submit's field was, in picoseconds since the origin: negative before the device's first event. */
int64_t tl__swim_orch_ps(const struct tl_swim_clock *clock, uint64_t stamp);

#define TL_SWIM_US_BYTES 32
/* Picoseconds >= 0 as microseconds with all digits that are not 0: "41172.456", "0". Returns the length, at most
 * TL_SWIM_US_BYTES; no final zero byte. */
size_t tl__swim_us_text(char *to, int64_t ps);

#endif
