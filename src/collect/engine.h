/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectors' engine: resident across runs, one lane protocol for all of them. A worker owns one; it is built on
 * the first run with a diagnostic on and lives until the worker closes.
 *
 * Per run: begin -> (launch, wait) -> quiesce -> reconcile (only if the device died or stopped) -> export. Calls come
 * from the worker's thread; the service threads are the engine's own. Between runs, and without a device that rings,
 * all of them sleep.
 */
#ifndef TL_COLLECT_ENGINE_H
#define TL_COLLECT_ENGINE_H

#include <stdbool.h>

#include <tasklens/error.h>
#include <tasklens/worker.h>

#include "artifact/run_facts.h"
#include "collect/transport.h"
#include "wire/launch.h"

struct tl_engine;

struct tl_engine_opts {
    struct tl_transport *transport; /* borrowed; outlives the engine */
    unsigned threads;               /* service threads beside the writer; 0: 1 */
};

/* What one run wants recorded. Strings are borrowed until export returns. */
struct tl_engine_run {
    uint32_t epoch;                     /* >= 1, increasing */
    const struct tl_run_config *config; /* levels, sizes, output_prefix (the run's directory, which exists) */
    unsigned lanes;                  /* schedulers: each has a lane in its streams, and the orchestrator in its own */
    const char *program, *case_name; /* for the journal and dfx_meta.json */
    const char *platform, *program_hash; /* likewise; NULL: not known */
    const char *const *kernel_names;     /* by index of func_ids; for messages */
    struct tl_run_facts facts;
};

int tl__engine_create(const struct tl_engine_opts *opts, struct tl_engine **ret_engine, struct tl_error *reterr);
/* Stops and joins the threads, frees the pools. NULL is fine. */
void tl__engine_destroy(struct tl_engine *e);

/* For tests: runs that begin from here on write payload as if the disk took so many bytes a second. 0: as it can. */
void tl__engine_throttle_writer(struct tl_engine *e, uint64_t bytes_s);

/* How the run ended, for dfx_meta.json. */
struct tl_engine_outcome {
    const char *status; /* "ok", or the error's name; NULL: "ok" */
    const char *error;  /* what the run said of it; NULL: nothing. Copied */
    uint64_t tasks, allocations, wall_ns, parked_ns;
    struct tl_clock_pair clock[TL_CLOCK_MOMENTS]; /* by enum tl_clock_moment */
    uint64_t record_ps[TL_STREAM_COUNT];          /* by stream: what a record cost; 0: unknown */
};

/* Binds the run, (re)builds pools if their shape changed, opens the journal. *ret_dfx: address for tl_launch.dfx.
 * Pools larger than the device's memory: TL_ENOMEM whose message has the exact shortfall. Another lane count, or other
 * sizes, while an earlier run is not exported: TL_EBUSY. An older recording in the directory is removed; a journal
 * there is TL_EEXIST: it wants `tasklens recover` first. TL_EINVAL, TL_ERANGE, TL_EIO, TL_ENOSPC. */
int tl__engine_begin(struct tl_engine *e, const struct tl_engine_run *run, uint64_t *ret_dfx, struct tl_error *reterr);
/* The launch never happened, or its recording is not wanted: forgets the run, removes its journal and what it had
 * written. */
void tl__engine_abandon(struct tl_engine *e, uint32_t epoch);
/* The device has said that the run is over: waits until every lane's end mark of `epoch` is consumed and its payloads
 * are written. A lane that had given the host up at its mark is ended without. TL_ETIMEDOUT at the deadline. */
int tl__engine_quiesce(struct tl_engine *e, uint32_t epoch, uint64_t deadline_ns);
/* The device is dead or stopped for good: takes what its memory still holds. TL_ECORRUPT if that was impossible. */
int tl__engine_reconcile(struct tl_engine *e, uint32_t epoch, struct tl_error *reterr);
/* Whether a device that died or was stopped has left the pools unusable: the next begin builds them again, and a run
 * that was begun and not launched must begin again. */
bool tl__engine_broken(const struct tl_engine *e);
/* Optional, before export. Copied. */
void tl__engine_outcome(struct tl_engine *e, uint32_t epoch, const struct tl_engine_outcome *outcome);
/* Checks the counts against `expected` (by stream; UINT64_MAX: unknown; NULL: all unknown), writes the artifacts,
 * removes the journal, fills the record fields of *result and forgets the run. TL_ELOST: written, but incomplete.
 * TL_ECORRUPT: written; a lane was stopped, the message names it and the field. TL_EIO, TL_ENOSPC, TL_ENOMEM: not
 * written; the journal stays. */
int tl__engine_export(struct tl_engine *e, uint32_t epoch, const uint64_t *expected, struct tl_run_result *result,
                      struct tl_error *reterr);
/* Time in which any lane was parked so far (wire/parked.h), the open interval included; for watchdogs. Any thread. */
uint64_t tl__engine_parked_ns(struct tl_engine *e, uint32_t epoch);
/* Whether the host has something of a lane's to write, or got something since the look that left *seen: 0 before the
 * first. None of it comes from the device. Any thread. */
bool tl__engine_works(struct tl_engine *e, uint64_t *seen);

/* Figures for a progress line, of payload bytes. Any thread. */
struct tl_engine_progress {
    uint64_t captured; /* by the device */
    uint64_t drained;  /* written to the disk */
    uint64_t queued;   /* captured, and neither drained nor lost yet */
};
void tl__engine_progress(struct tl_engine *e, uint32_t epoch, struct tl_engine_progress *ret_progress);
/* What a recording in directory `dir` may take of its disk, less what is kept free for the records of it; at least 1.
 * 0: not known. Any thread. */
uint64_t tl__engine_room_bytes(const char *dir);

/*
 * `tasklens recover`: rebuilds the artifacts of DIR (a run's directory) from its run.journal and removes that. Of a
 * journal that could not be read in full, or whose records do not all fit into artifacts, nothing is removed: it
 * becomes run.journal.damaged, from which the same is rebuilt again. May be killed at any moment and done again: the
 * end is the same. A run that was killed before it had begun leaves no manifest; what an earlier run had recorded in
 * the directory is then left alone. `out`: rebuilds there, from copies, and leaves DIR as it is; NULL: in DIR.
 * TL_ENOENT: no such directory, or neither journal nor recording in it; TL_EBUSY: the process that writes the journal
 * lives; TL_EPARSE, TL_EVERSION: not a journal that this version reads; TL_EEXIST: `out` holds something else; TL_EIO,
 * TL_ENOSPC, TL_ENOMEM. The journal stays then.
 */
struct tl_recover_result {
    uint64_t buffers, records, payload_bytes, payloads_missing;
    uint64_t torn_bytes;         /* of a buffer that was not written whole when the run was killed */
    uint64_t damaged_bytes;      /* of the journal, that do not agree with their checksums */
    uint64_t damaged_places;     /* in which they lie */
    uint64_t buffers_lost;       /* of records, that went with them: at least */
    uint64_t records_lost;       /* that were in those: at least */
    uint64_t records_corrupt;    /* that are there and hold what cannot be: left out */
    uint64_t unrecorded_bytes;   /* of payload, whose records had not reached the host: given up */
    uint32_t records_per_buffer; /* of the run: a buffer reaches the host when it has so many. 0: not known */
    bool complete;               /* there is no journal, or the run had ended: nothing was rebuilt */
    bool again;                  /* complete, and from an earlier recovery, whose counts these are */
    bool ended;       /* complete, and the run had come to its end: the journal of a whole recording is removed */
    bool earlier;     /* the run was killed before it recorded anything, and what is there is a run's before it */
    bool kept;        /* the journal is kept as run.journal.damaged */
    uint32_t refused; /* artifacts that could not be made of the records, and are not there */
    uint32_t missing; /* artifacts that were recorded, and are gone, cut or changed */
    char refused_what[240];
    char missing_what[8][240]; /* the first of them */
};
int tl__engine_recover(const char *dir, const char *out, struct tl_recover_result *result, struct tl_error *reterr);

#endif
