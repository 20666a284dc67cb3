/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.json: how far the clock of a rank's host is from the reference rank's (docs/formats/clock.md). Both are
 * CLOCK_MONOTONIC; a time of this rank less `offset_ns` is a time of the reference, give or take `error_ns`. It is
 * in ROOT/rank<R>/, one for all dispatches of the rank. One writer and one reader.
 */
#ifndef TL_ARTIFACT_RANK_CLOCK_H
#define TL_ARTIFACT_RANK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#define TL_RANK_CLOCK_NAME "clock.json"
#define TL_RANK_CLOCK_VERSION 1u

enum tl_clock_method {
    TL_CLOCK_PING,    /* measured against the reference's host */
    TL_CLOCK_SAME,    /* it is the same clock */
    TL_CLOCK_WALL,    /* by both hosts' wall clocks, which are synchronised with the world */
    TL_CLOCK_UNKNOWN, /* nothing is known: offset and error say nothing */
    TL_CLOCK_METHODS
};

/* One measurement: `answers` of `tries`; 0: it failed. */
struct tl_clock_reading {
    uint64_t at_ns; /* this rank's clock */
    int64_t offset_ns;
    uint64_t error_ns;
    uint32_t tries, answers;
};

struct tl_rank_clock {
    uint32_t rank, reference_rank;
    enum tl_clock_method method;
    int64_t offset_ns; /* this rank's less the reference's */
    uint64_t error_ns;
    char reason[160];              /* why it is no better method, for people; "" */
    char host[64];                 /* the machine's name */
    char boot_id[40], time_ns[32]; /* of the kernel, and of its time namespace: both equal, one clock; "" unknown */
    /* Both clocks of this host at one moment; unix_error_ns UINT64_MAX: its wall clock is not synchronised. */
    uint64_t monotonic_ns, unix_ns, unix_error_ns;
    struct tl_clock_reading begin, end;
};

/* "ping", ...; "unknown" beyond. */
const char *tl__clock_method_name(unsigned method);
/* Writes DIR/clock.json by rename. TL_EIO, TL_ENOSPC, TL_ENOMEM. */
int tl__rank_clock_write(const char *dir, const struct tl_rank_clock *clock, struct tl_error *reterr);
/* Reads it. Rank, reference, method are required, offset and error too unless the method is unknown. TL_ENOENT, TL_EIO,
 * TL_EPARSE, TL_EVERSION. */
int tl__rank_clock_read(const char *dir, struct tl_rank_clock *ret_clock, struct tl_error *reterr);
/* The same from memory; `name` appears in messages. */
int tl__rank_clock_parse(const void *text, size_t bytes, const char *name, struct tl_rank_clock *ret_clock,
                         struct tl_error *reterr);

#endif
