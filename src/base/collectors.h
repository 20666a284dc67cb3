/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of <tasklens/collectors.h> as tables: what each diagnostic is called, and which of its streams a run's
 * levels turn on. Any thread. */
#ifndef TL_BASE_COLLECTORS_H
#define TL_BASE_COLLECTORS_H

#include <stdbool.h>
#include <stdint.h>

#include <tasklens/collectors.h>

#define TL__STREAM_ID(id, number, collector, name, role, from) TL_STREAM_##id = (number),
#define TL__STREAM_ONE(...) +1
#define TL__STREAMS_ONLY(id, words, option, argument, bare, max, help, file, viewers, streams) streams
/* The record types. */
enum tl_stream {
    TL__COLLECTORS(TL__STREAMS_ONLY, TL__COLLECT_NONE, TL__STREAM_ID) TL_STREAM_COUNT =
        0 TL__COLLECTORS(TL__STREAMS_ONLY, TL__COLLECT_NONE, TL__STREAM_ONE)
};
#undef TL__STREAM_ONE
#undef TL__STREAM_ID
#define TL_STREAM_SLOTS 16u /* numbers that the shared layouts have room for */
_Static_assert(TL_STREAM_COUNT <= (int)TL_STREAM_SLOTS, "room in struct tl_run_status");
_Static_assert(TL_COLLECT_COUNT <= TL_COLLECT_SLOTS, "room in the configuration");

/* Who writes a stream. */
enum tl_stream_writer { TL_WRITER_SCHEDULER, TL_WRITER_ORCHESTRATOR };

struct tl_collect_row {
    const char *words, *option, *argument, *help, *file; /* argument NULL: none */
    int32_t bare, max;
};

struct tl_stream_row {
    uint8_t collector; /* enum tl_collect */
    uint8_t writer;    /* enum tl_stream_writer */
    int32_t from;      /* the lowest level that turns it on */
};

extern const struct tl_collect_row tl__collect_rows[TL_COLLECT_COUNT];
extern const struct tl_stream_row tl__stream_rows[TL_STREAM_COUNT];

/* The level of the stream's collector, or 0 if that leaves the stream off. */
int32_t tl__stream_level(const int32_t levels[TL_COLLECT_SLOTS], unsigned stream);
/* Bits: the streams that the levels turn on for this writer. */
uint32_t tl__streams_on(const int32_t levels[TL_COLLECT_SLOTS], enum tl_stream_writer writer);
/* The first diagnostic that is on, or -1. */
int tl__levels_first(const int32_t levels[TL_COLLECT_SLOTS]);
/* The first slot whose level is out of its range (of a slot without a row: not 0), or -1. */
int tl__levels_wrong(const int32_t levels[TL_COLLECT_SLOTS]);

#endif
