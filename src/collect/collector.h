/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collector is to the engine: the stream it reads, how a record is checked and which payload it brings, and how
 * a run's records become artifacts. It has no queues, threads or files of its own. Where one artifact is made of
 * several streams, one of them has the export and looks at the others.
 */
#ifndef TL_COLLECT_COLLECTOR_H
#define TL_COLLECT_COLLECTOR_H

#include <stdbool.h>

#include <tasklens/error.h>
#include <tasklens/worker.h>

#include "artifact/run_facts.h"
#include "collect/record_check.h"
#include "wire/lane.h"
#include "wire/launch.h"

/* Where a record's payload went in the payload file: an offset, or one of these. */
#define TL_BIN_NONE UINT64_MAX /* the record has no payload; the journal's own word for it */
#define TL_BIN_LOST(cause) (UINT64_MAX - 16u + (uint64_t)(cause)) /* it had one; enum tl_dump_cause, 1..6 */
#define TL_BIN_IS_LOST(bin) ((bin) >= UINT64_MAX - 16u && (bin) != TL_BIN_NONE)
#define TL_BIN_CAUSE(bin) ((unsigned)((bin) - (UINT64_MAX - 16u)))

/* The payload that a record names. */
struct tl_payload {
    uint64_t offset, bytes; /* in the lane's arena, monotonic; bytes 0: none */
    uint64_t total;         /* > 0: this is a piece of so many bytes in all */
    uint32_t piece;         /* its number, from 0 */
    bool last;
    bool whole; /* the record counts as one logical record: no piece, or the first one */
};

/* Records of one consumed buffer. Owner: the lane's shard, then the writer, then export. */
struct tl_batch {
    struct tl_batch *next;   /* in its lane's list; guard: the owner */
    struct tl_batch *queued; /* in the writer's queue, then the writer's */
    struct tl_crun *run;
    struct tl_hlane *lane;
    uint64_t seq;
    uint64_t bin_base;      /* what relative offsets count from; set under queue_lock */
    uint64_t payload_bytes; /* of all its records; for figures */
    uint64_t payload_end;   /* arena position that may be acknowledged once this is written; 0: no payload */
    uint32_t count;
    bool end;    /* the lane's epoch is over after this one (count is 0) */
    bool marked; /* with the device's counters: goes into the journal */
    bool has_payload;
    bool disordered;        /* payloads do not follow each other in the arena: acknowledged as a whole */
    uint64_t *bin;          /* count of them; NULL: the stream has no payloads */
    const uint8_t *records; /* count * record_bytes */
};

/* What one run left in one stream. */
struct tl_export_stream {
    uint32_t level; /* 0: the stream was off */
    unsigned n_lanes;
    const struct tl_batch *lanes[TL_DFX_MAX_LANES]; /* first batch of each lane, by role */
    uint64_t dropped;                               /* all causes */
};

/* Walks a stream's records: lane by lane, in each in the order they were committed. Begin with {.stream = s}. */
struct tl_record_walk {
    const struct tl_export_stream *stream;
    unsigned lane;                /* of the record last handed out */
    const struct tl_batch *batch; /* the one that it is in; NULL: the lane's first is next */
    uint32_t next;
    uint32_t record_bytes;
};

static inline struct tl_record_walk tl__record_walk(const struct tl_export_stream *stream, size_t record_bytes)
{
    return (struct tl_record_walk){.stream = stream,
                                   .batch = stream->n_lanes != 0 ? stream->lanes[0] : NULL,
                                   .record_bytes = (uint32_t)record_bytes};
}

/* The next record, or NULL at the end. */
static inline const void *tl__record_next(struct tl_record_walk *w)
{
    for (;;) {
        if (w->batch != NULL && w->next < w->batch->count)
            return w->batch->records + (size_t)w->next++ * w->record_bytes;
        w->next = 0;
        if (w->batch != NULL)
            w->batch = w->batch->next;
        else if (++w->lane < w->stream->n_lanes)
            w->batch = w->stream->lanes[w->lane];
        else
            return NULL;
    }
}

static inline uint64_t tl__records_in(const struct tl_export_stream *stream)
{
    uint64_t n = 0;

    for (unsigned lane = 0; lane < stream->n_lanes; lane++)
        for (const struct tl_batch *b = stream->lanes[lane]; b != NULL; b = b->next)
            n += b->count;
    return n;
}

/* Input of an export. All borrowed for the call. */
struct tl_export {
    const char *dir;                        /* the run's */
    const struct tl_export_stream *own;     /* the collector's */
    const struct tl_export_stream *streams; /* all, by enum tl_stream */
    const struct tl_run_facts *facts;
    const struct tl_clock_pair *clock; /* by enum tl_clock_moment; all 0 where it was not taken */
    const char *runtime;               /* by name */
    uint32_t epoch;                    /* the run's */
    uint32_t format;                   /* enum tl_format */
    bool bin_created;
    bool run_failed;            /* then no empty recording is written */
    uint64_t bin_bytes;         /* size of the payload file */
    struct tl_scratch *scratch; /* memory that stays between exports */
};

/* What an export found. */
struct tl_meta;
struct tl_export_figures {
    uint64_t records, payload_bytes, payloads_lost, payloads_missing, truncated;
    uint64_t corrupt;     /* records that hold what no artifact can say: left out */
    uint64_t payload_end; /* of the last byte in args.bin that a record names */
    struct tl_meta *meta; /* gets the truncated tensors; may be NULL */
};

/* One growing block of memory that is kept. All zero is empty. */
struct tl_scratch {
    void *memory;
    size_t bytes;
};

struct tl_collector_spec {
    const char *name;
    uint32_t stream, record_bytes, version;
    bool has_arena;
    const char *const *files;   /* its artifacts below the run's directory, and what viewers make of them, up to NULL */
    const char *const *derived; /* patterns (DIRECTORY/NAME or NAME, for fnmatch(3)) of what else viewers make of them,
                                   up to NULL; NULL: nothing */
    /* Whether the payload file exists as soon as there is a record. */
    bool (*eager_bin)(uint32_t level);
    /* What each field of a record may hold; one table, or one a kind, by the record's first byte. */
    const struct tl_record_table *tables;
    unsigned n_tables;
    /* What fields say together; only of a record that the tables let pass (tl__record_check). NULL and *ret_payload, or
     * the name of a field that contradicts the others. The payload of a record that has passed is asked for here.
     * NULL: nothing, and the record brings no payload. */
    const char *(*inspect)(const void *record, struct tl_payload *ret_payload);
    /* Writes the artifacts; of a run without records it may write none. NULL: another stream's export does. TL_EIO,
     * TL_ENOSPC, TL_ENOMEM; TL_ECORRUPT (the records contradict each other) and TL_ERANGE (more than the file can
     * hold): this artifact is not written, those of the other streams are. */
    int (*export)(const struct tl_export *x, struct tl_export_figures *figures, struct tl_error *reterr);
    /* Reads files[0], at `path`, again: 0 and how many records it holds, or what its reader says. NULL: recover_check.c
     * knows the artifact. */
    int (*reread)(const char *path, uint64_t *ret_records, struct tl_error *reterr);
};

/* tl__<name>_collector of each stream. */
#define TL__STREAM_SPEC(id, number, collector, name, role, from)                                                       \
    extern const struct tl_collector_spec tl__##name##_collector;
TL__COLLECTORS(TL__STREAMS_ONLY, TL__COLLECT_NONE, TL__STREAM_SPEC)
#undef TL__STREAM_SPEC

/* At least `bytes`, contents undefined, or NULL. */
void *tl__scratch_get(struct tl_scratch *scratch, size_t bytes);
void tl__scratch_fini(struct tl_scratch *scratch);

#endif
