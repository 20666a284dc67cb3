/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.journal: every collected buffer of a run, in the order it reached the host, so that a killed host loses nothing
 * that was collected (docs/formats/journal.md). One file for all streams. Records are opaque bytes of a fixed size per
 * stream; next to them is one bin offset a record (where its payload went). Each block carries its own checksum.
 *
 * Writer: each append is one tl__append, made from the writer's own scratch; appends of one writer must not overlap
 * in time (the collector's writer thread owns it). Reader: single-threaded.
 */
#ifndef TL_ARTIFACT_JOURNAL_H
#define TL_ARTIFACT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#include "artifact/run_facts.h"
#include "base/collectors.h"

#define TL_JOURNAL_NAME "run.journal"
#define TL_JOURNAL_MAX_STREAMS 16
#define TL_JOURNAL_MAX_LOSSES 8
#define TL_JOURNAL_NO_BIN UINT64_MAX                  /* bin offset of a record without payload */
#define TL_JOURNAL_DAMAGED_NAME "run.journal.damaged" /* what a recovery could not read all of */
#define TL_JOURNAL_VERSION 3
#define TL_JOURNAL_HASHES 1u /* flags: records carry hashes of their payloads */
#define TL_JOURNAL_PIECES 2u /* payloads larger than the arena come in pieces */

/* What the records of stream i are. */
struct tl_journal_stream {
    char name[16];         /* "args_dump", ...; "" for an unused number */
    uint32_t record_bytes; /* > 0 */
    uint32_t version;      /* of the record's layout; the decoder checks it */
};

/* Who and what the run was; stored in the file header. A plain value. */
struct tl_journal_run {
    char program[128];
    char case_name[64];
    char platform[16];      /* "a2a3sim" */
    char runtime[32];       /* "host_build_graph" */
    uint64_t start_unix_ns; /* wall clock, for people */
    uint64_t clock_freq_hz; /* of device cycles, as in facts */
    uint64_t arena_bytes;   /* a lane */
    uint32_t epoch;
    uint32_t flags;                   /* TL_JOURNAL_HASHES, TL_JOURNAL_PIECES */
    int32_t levels[TL_COLLECT_SLOTS]; /* of each diagnostic, by enum tl_collect; 0: off */
    uint32_t stream_count;
    uint32_t records_per_buffer;
    uint32_t lane_count; /* per stream at most */
    struct tl_journal_stream streams[TL_JOURNAL_MAX_STREAMS];
    uint32_t format; /* enum tl_format; 0 in journals that were written before there were several */
    struct tl_run_facts facts;
};

enum tl_journal_kind {
    TL_JOURNAL_RECORDS = 1, /* one collected buffer */
    TL_JOURNAL_END = 2,     /* a lane's end mark of an epoch: its counters */
    TL_JOURNAL_BEGUN = 3,   /* the directory holds nothing of an older recording any more; the reader's own */
};

/* One block: what is appended, and what the reader hands out. Pointers: the caller's during an append; the reader's
 * until the reader is closed. */
struct tl_journal_block {
    uint8_t kind; /* enum tl_journal_kind */
    uint8_t stream;
    uint16_t lane;
    uint32_t seq; /* of the buffer on its lane, in its epoch */
    uint32_t epoch;
    uint32_t count;                         /* records; 0 in an end mark */
    uint64_t attempted;                     /* end mark: records the lane tried to write in this epoch */
    uint64_t losses[TL_JOURNAL_MAX_LOSSES]; /* end mark: dropped, by cause */
    uint64_t parked_ns;                     /* end mark: time that the lane waited for the host */
    const uint64_t *bin_offsets; /* `count` of them, TL_JOURNAL_NO_BIN for none; NULL: the stream has no payloads */
    const void *records;         /* count * record_bytes of the stream */
};

struct tl_journal_writer; /* made by tl__journal_create, ended by tl__journal_close */

/* Creates DIR/run.journal (TL_EEXIST if it is there) and writes the header. While the writer lives it holds a lock
 * (flock) on the file, so that nobody takes it for that of a dead process. */
int tl__journal_create(const char *dir, const struct tl_journal_run *run, struct tl_journal_writer **ret_writer,
                       struct tl_error *reterr);
/* One tl__append. 0: the block has reached the host's kernel and survives a kill of this process. TL_ENOSPC, TL_EIO:
 * the file is cut back to its last whole block, or if that fails too the error stays with the writer: every later
 * append returns it. TL_EINVAL: an unknown stream or kind. Never both partly. Allocates only when a block is larger
 * than any before. */
int tl__journal_append(struct tl_journal_writer *writer, const struct tl_journal_block *block);
/* The directory is clear of older recordings: appends that, with a copy of the header. As tl__journal_append. */
int tl__journal_begun(struct tl_journal_writer *writer);
/* Bytes written so far. */
uint64_t tl__journal_bytes(const struct tl_journal_writer *writer);
/* Closes; `unlink_it` removes the file (the manifests are in place). NULL is fine. */
void tl__journal_close(struct tl_journal_writer *writer, bool unlink_it);

/* How reading ended. */
struct tl_journal_report {
    uint64_t blocks;        /* good ones handed out */
    uint64_t duplicates;    /* same kind, stream, lane, epoch and seq as an earlier one: dropped */
    uint64_t bytes_good;    /* of the file, header included */
    uint64_t bytes_dropped; /* the others: damage and a torn tail */
    uint64_t bytes_torn;    /* of them, the torn tail */
    uint64_t places;        /* stretches of damage */
    uint64_t blocks_lost;   /* of records, as their headers and the numbers of the others say: at least */
    uint64_t records_lost;  /* in those of them whose headers are intact: at least */
    uint64_t records_lost_in[TL_JOURNAL_MAX_STREAMS]; /* the same, by stream */
    bool torn;                                        /* the file ends inside a block */
    bool corrupt;                                     /* something else is not what it says */
    bool begun;                                       /* the run had cleared its directory */
    bool says_begun;                                  /* the journal's version says that at all */
    char reason[160];                                 /* the first damage in words; "" when there is none */
};

struct tl_journal_reader; /* made by tl__journal_open, ended by tl__journal_reader_close */

/* Opens `path` (the file itself). A damaged header is made good from its copy. TL_ENOENT; TL_EPARSE: not a journal, or
 * its header is damaged and so is the copy, or version 1 had none; TL_EVERSION: needs a newer reader; TL_EIO;
 * TL_ENOMEM. */
int tl__journal_open(const char *path, struct tl_journal_reader **ret_reader, struct tl_error *reterr);
/* True if `path` is the beginning of a journal's header and no more: its writer was killed before the first block, and
 * nothing is lost with it. */
bool tl__journal_not_begun(const char *path);
/* True if somebody has it open as its writer does, or recovers from it: then it is not that of a dead process. False
 * also where there is none. Any thread, any process; changes nothing. */
bool tl__journal_lives(const char *path);
/* tl__journal_open over an image in memory, borrowed until the reader is closed, 8-byte aligned. `name` appears in
 * messages. */
int tl__journal_open_memory(const void *image, size_t size, const char *name, struct tl_journal_reader **ret_reader,
                            struct tl_error *reterr);
/* The reader's. */
const struct tl_journal_run *tl__journal_run(const struct tl_journal_reader *reader);
/* The next intact block: 1 and *ret_block set, 0 at the end (see the report), TL_ENOMEM. */
int tl__journal_next(struct tl_journal_reader *reader, struct tl_journal_block *ret_block);
const struct tl_journal_report *tl__journal_report(const struct tl_journal_reader *reader);
/* NULL is fine. */
void tl__journal_reader_close(struct tl_journal_reader *reader);

#endif
