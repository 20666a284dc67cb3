/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings of several ranks on one axis of time: device cycles become the rank's host clock by the clock anchors
 * of the recording, and the reference rank's clock by clock.json. Each place has an error bar, and order is said only
 * where it is wider than both. A recording that cannot be placed has an axis of its own.
 */
#ifndef TL_ANALYSIS_RANK_AXIS_H
#define TL_ANALYSIS_RANK_AXIS_H

#include "analysis/swimlane/swim_clock.h"
#include "artifact/rank_clock.h"

/* The place of one recording, of one dispatch of a rank. */
struct tl_rank_place {
    uint32_t rank, dispatch;
    uint32_t seat;               /* its rank's folder: ranks of one number may be in several */
    char name[48];               /* "node1/rank0"; "": "rank 0" */
    char domain[64];             /* the recording's host_clock_domain_id; "": not stated */
    bool by_clock;               /* known by its clock.json */
    bool anchored;               /* the recording has clock anchors: `begin_ns` is a time of the rank's host */
    bool known;                  /* and clock.json says what that is for the reference: begin_ns is its time */
    int64_t begin_ns;            /* of the first event; 0 without anchors */
    uint64_t error_ns;           /* of the anchors and, if known, of the rank's clock */
    enum tl_clock_method method; /* of the rank's clock */
    int64_t offset_ps;           /* where the first event is in the whole */
    char why[200];               /* why it is not known; "" if it is */
    char doubt[200];             /* why its error bar cannot be believed; "": nothing contradicts it */
};

/*
 * Places a recording. `clock` is that of its join; where two anchors say that the device's clock runs at another rate
 * than the file says, by more than they may be off, its frequency becomes that rate. `rank_clock` NULL: the rank has no
 * clock.json. `alone`: all recordings are of one rank, whose own clock is reference enough. `reference`: the clock.json
 * of the reference rank, against which the error bar is checked; NULL: it has none.
 */
void tl__rank_place(const struct tl_swimlane *lane, struct tl_swim_clock *clock, const struct tl_rank_clock *rank_clock,
                    const struct tl_rank_clock *reference, bool alone, struct tl_rank_place *place);
/*
 * Whether what clock.json says contradicts its own error bar: a measured bar of 0; an offset between two hosts of one
 * kernel; two measurements whose difference no two clocks can have drifted in the time between; an offset that both
 * synchronised wall clocks exclude. Fills `why` (of `size` bytes) and returns true if so.
 */
bool tl__rank_clock_doubt(const struct tl_rank_clock *clock, const struct tl_rank_clock *reference, char *why,
                          size_t size);
/*
 * Host times of two boots are not compared: what is known by its own clock alone, and has another host_clock_domain_id
 * than the first such, is not known any more. And what has no clock.json shares a clock where all of them have one
 * host_clock_domain_id. Then sets each offset_ps: the earliest of all that are known is 0; of others the earliest of
 * their rank, or each itself.
 */
void tl__rank_axes(struct tl_rank_place *places, uint32_t n);

#define TL_RANK_ORDER_BYTES 480
/* "rank 1 began 1.600 ms after rank 0 (+-0.012 ms)", or that it is not known and why, of two ranks' first dispatches.
 * An error bar in doubt decides no order. */
void tl__rank_order_text(const struct tl_rank_place *a, const struct tl_rank_place *b, char *to);

#endif
