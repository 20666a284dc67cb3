/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's inside, for src/collect alone. docs/protocol.md describes the whole; labels are its labels.
 *
 * Threads: the worker's (begin, quiesce, reconcile, export), one service thread a shard, and the writer. A lane belongs
 * to one shard and everything about it to that shard's thread, except what is marked otherwise. A request (attach,
 * detach, reconcile, seal) carries what the worker asks to a service thread and its answer back.
 */
#ifndef TL_COLLECT_ENGINE_IMPL_H
#define TL_COLLECT_ENGINE_IMPL_H

#include <assert.h>

#include "artifact/dfx_meta.h"
#include "artifact/journal.h"
#include "collect/collector.h"
#include "collect/engine.h"
#include "collect/lock.h"
#include "wire/lane.h"
#include "wire/launch.h"

#define TL_ENGINE_RUNS 4u     /* runs between begin and the end of export */
#define TL_ENGINE_HANDOFF 16u /* buffers between drain and consume; a power of two */
#define TL_ENGINE_SLAB_BYTES ((size_t)2 << 20)
#define TL_ENGINE_WRITE_BYTES ((uint64_t)1 << 20)
/* Of a shadow at a time: between pull and write it stays in a core's cache. */
#define TL_ENGINE_PULL_BYTES ((uint64_t)256 << 10)
#define TL_ENGINE_WINDOW_BYTES ((uint64_t)32 << 20) /* of write-back in flight */

/* In a batch's `bin` until the writer has it: counted from the file's start, not from bin_base. */
#define TL_BIN_ABSOLUTE (UINT64_C(1) << 62)

/* Who owns a buffer, as far as the host knows. */
enum tl_hbuffer_state {
    TL_HBUFFER_UNTOUCHED, /* never handed out; its memory is not touched yet */
    TL_HBUFFER_RECYCLED,
    TL_HBUFFER_DEVICE, /* free queue, current, or ready queue */
    TL_HBUFFER_HANDED, /* popped, on its way to consume */
    TL_HBUFFER_RETURNED,
};

struct tl_hlane {
    struct tl_engine *engine;
    struct tl_shard *shard;
    const struct tl_collector_spec *spec;
    unsigned index;
    /* Device memory: address and host view of each part. */
    uint64_t addr;
    struct tl_lane *view;
    uint64_t pool_addr, buffer_bytes, ready_addr, free_addr, arena_addr, arena_bytes;
    uint8_t *pool_view, *arena_view;
    uint64_t *ready_view, *free_view;
    uint32_t n_buffers, records, record_bytes, ready_depth, free_depth;
    /* Owner: the shard. */
    uint64_t ready_head, free_tail, free_head_seen;
    uint64_t seq_next;     /* buffers below have been consumed */
    uint64_t payload_next; /* payloads below have been consumed */
    uint64_t acked;        /* watermark that the device knows */
    uint64_t jobs_queued;  /* batches handed to the writer */
    uint32_t n_recycled, n_prepared, mark;
    uint32_t *recycled; /* [n_buffers] */
    uint8_t *state;     /* [n_buffers], enum tl_hbuffer_state */
    void *copy;         /* of a record, to check it while its buffer may still be hit; record_bytes */
    bool stopped;       /* something impossible was read: the lane is left alone */
    bool warned;        /* of back-pressure, in this epoch */
    uint32_t warned_epoch;
    /* writer: the writer; readers: the shard. */
    tl_au64 written_end; /* H1: the writer is done with payloads below; pairs with H2 in replenish */
    tl_au64 jobs_done;   /* H3: batches finished; pairs with H4 in consume */
    uint64_t rung_end;   /* owner: the writer; watermark at its last ring */
};

struct tl_lane_run {
    /* Owner: the lane's shard while the run is open, then export. */
    struct tl_batch *first, *last;
    struct tl_batch end; /* queued once, when the lane's epoch is over */
    struct tl_lane_counts counts;
    uint64_t collected;           /* logical records */
    uint64_t lost[TL_LOSS_COUNT]; /* by the host */
    uint64_t corrupt_records;     /* left out, pieces too */
    bool ended, counted;          /* no more of this epoch; `counts` is the device's */
    bool sealed;                  /* export has begun: what still comes is discarded */
    bool chunk_open;              /* between pieces of one payload */
    bool chunk_lost;              /* pieces of the last payload went with a buffer that there was no memory for */
    uint32_t chunk_next;
    uint64_t chunk_base, chunk_done, chunk_total;
};

struct tl_crun {
    tl_au32 epoch; /* E1: 0: free slot, else everything below is bound; pairs with E2 in consume */
    struct tl_run_config config;
    uint32_t levels[TL_STREAM_COUNT];
    unsigned n_lanes;
    char dir[TL_OUTPUT_PREFIX_MAX + 1], program[128], case_name[64], platform[16], runtime[32], program_hash[24],
        status[32], error[1000];
    uint64_t start_unix_ns;
    struct tl_run_facts facts;
    bool reconciled; /* writer: the worker */
    struct tl_engine_outcome outcome;
    uint64_t bin_end;     /* guard: engine.queue_lock; next free offset of the payload file */
    uint64_t jobs_queued; /* guard: engine.queue_lock */
    /* Owner: the writer until the run is sealed. */
    int bin_fd;
    struct tl_journal_writer *journal;
    int disk_code; /* first error of the payload file; sticky */
    int journal_code;
    uint64_t throttle_bytes_s; /* of the run: tl__engine_throttle_writer; 0: off */
    uint64_t bin_size, window_end, throttle_until_ns;
    uint64_t room_bytes;                    /* that may be written before the disk is asked again */
    uint64_t n_records;                     /* handed to the writer so far */
    uint64_t journaled;                     /* of them: in the journal */
    uint64_t reserved_bytes, room_asked_at; /* held for the index; records at which the disk is looked at again */
    int reserve_fd;                         /* a file without a name that holds them; -1: none */
    bool index_full;                        /* the index of all records will not fit any more, and it was reported */
    char disk_what[240];
    tl_au64 written_bytes;  /* writer: the writer; for the drain rate in messages */
    tl_au64 settled_bytes;  /* likewise: payloads that it is done with, those that are lost included */
    tl_au64 first_write_ns; /* likewise; 0: nothing written yet */
    tl_au64 busy_ns;        /* likewise: spent on payloads */
    tl_au64 jobs_done;      /* H5: the writer is done with so many batches; pairs with H6 in seal */
    tl_au32 ends;           /* H7: lanes whose end is written; pairs with H8 in quiesce */
    struct tl_lock corrupt_lock;
    int corrupt_code;                           /* guard: corrupt_lock */
    char corrupt_what[256];                     /* guard: corrupt_lock */
    struct tl_slab *slabs[TL_MAX_SHARDS];       /* each its shard's, then export's */
    struct tl_lane_run lanes[TL_DFX_MAX_LANES]; /* n_lanes used */
};

/* Memory of batches: filled front to back, freed as a whole when the run is over. */
struct tl_slab {
    struct tl_slab *next;
    size_t bytes, used;
};

struct tl_handoff {
    struct tl_hlane *lane;
    uint32_t buffer;
};

enum tl_request {
    TL_REQUEST_ATTACH,
    TL_REQUEST_DETACH,
    TL_REQUEST_RECONCILE,
    TL_REQUEST_LATE,
    TL_REQUEST_SEAL,
    TL_REQUEST_STOP
};

struct tl_shard {
    struct tl_engine *engine;
    unsigned index;
    struct tl_bell *bell;
    struct tl_thread *thread;
    /* Owner: the shard's thread. */
    struct tl_hlane *lanes[TL_DFX_MAX_LANES];
    unsigned n_lanes;
    struct tl_handoff handoff[TL_ENGINE_HANDOFF];
    uint32_t handoff_head, handoff_tail;
    struct tl_handoff *returned; /* [all its lanes' buffers] */
    uint32_t n_returned;
    uint64_t beat_ns;
    bool ring_device; /* something was given to the device in this pass */
    bool stop;
    /* A request: the worker writes the plain fields, then req (Q1); the shard answers through ack (Q3). */
    enum tl_request what;
    struct tl_crun *run;
    int reply;
    tl_au32 req; /* Q1: pairs with Q2 in the service loop */
    tl_au32 ack; /* Q3: pairs with Q4 in tl__shard_request */
};

struct tl_engine {
    struct tl_transport *transport;
    unsigned n_shards;
    struct tl_shard *shards;
    struct tl_thread *writer;
    tl_au32 stopping; /* S1: the writer ends when its queue is empty; pairs with S2 */
    /* The writer's queue. The lock is the shards' alone: a writer that is stopped, wherever it is, must not hold up
     * the threads that move the heartbeat. */
    struct tl_lock queue_lock;
    _Atomic(struct tl_batch *)
        queue_last;          /* newest first, by `queued`; J1: pushed by shards; J2: taken whole by the writer */
    tl_au64 queued_bytes;    /* payload bytes waiting; for messages */
    tl_au64 jobs, jobs_over; /* of all runs: handed to the writer, and done; for watchdogs */
    struct tl_bell writer_bell, done_bell;
    struct tl_lock slab_lock;
    struct tl_slab *free_slabs; /* guard: slab_lock */
    /* Owner: the worker's thread. */
    struct tl_crun *runs;      /* [TL_ENGINE_RUNS] */
    tl_au32 last_epoch;        /* writer: the worker */
    uint64_t throttle_bytes_s; /* of the runs that begin from here on */
    struct tl_scratch scratch;
    struct tl_exporting *exporting; /* what an export works with: a run's counts can be reported without more memory */
    /* The region in device memory. Changed while every shard is detached. */
    struct tl_shape {
        unsigned schedulers, n_lanes;
        uint32_t records, buffers, ready_depth, free_depth;
        uint64_t arena_bytes;
        uint32_t streams; /* bit i: stream i is on */
    } shape;
    uint64_t region_addr, region_bytes;
    uint8_t *region_view;
    struct tl_dfx_header *header;
    struct tl_hlane *lanes;
    unsigned n_lanes;
    tl_au32 broken; /* a lane was stopped or reconciled: rebuild before the next run. relaxed: read after a seal */
    tl_au64 beats;  /* the heartbeat; relaxed: only its movement matters */
};

/* layout.c */
/* Sizes for `config`; TL_ERANGE names the knob that is out of range. */
int tl__shape_of(const struct tl_run_config *config, unsigned lanes, struct tl_shape *ret_shape,
                 struct tl_error *reterr);
/* Lanes for these streams too, if there are numbers for them. */
void tl__shape_add(struct tl_shape *shape, uint32_t streams);
/* Builds the region for `shape`, dropping the old one. Every shard must be detached. */
int tl__layout_build(struct tl_engine *e, const struct tl_shape *shape, struct tl_error *reterr);
void tl__layout_drop(struct tl_engine *e);

/* drain.c: ready entries out, free buffers in. Allocates nothing. */
bool tl__drain_step(struct tl_shard *s);
/* Refreshes what the device has taken from the free queue. TL_ECORRUPT after stopping the lane. */
int tl__free_head_pull(struct tl_hlane *lane);
/* Pulls a buffer's header and records into the view. TL_ECORRUPT after stopping the lane. */
int tl__buffer_pull(struct tl_hlane *lane, uint32_t index);
static inline struct tl_lane_buffer *tl__buffer_view(const struct tl_hlane *lane, uint32_t index)
{
    assert(index < lane->n_buffers); /* CI1 */
    return (struct tl_lane_buffer *)(void *)(lane->pool_view + (size_t)index * lane->buffer_bytes);
}
static inline uint64_t tl__buffer_addr(const struct tl_hlane *lane, uint32_t index)
{
    assert(index < lane->n_buffers); /* CI1 */
    return lane->pool_addr + (uint64_t)index * lane->buffer_bytes;
}

/* shard.c: consumes handed buffers into the run's lists and the writer's queue. */
bool tl__consume_step(struct tl_shard *s);
/* 0, or TL_EAGAIN: the buffer has to wait for the writer. */
int tl__consume(struct tl_hlane *lane, uint32_t index);
/* Ends the lane's epoch in `run`: with the device's counters, or without. */
void tl__lane_end(struct tl_hlane *lane, struct tl_crun *run, const struct tl_lane_counts *counts);
#define TL_LANE_MEMORY "device memory" /* as field: it could not be copied; the value is its address */
/* Stops the lane: `field` held `value`, which cannot be. Open runs of the lane end there with TL_ECORRUPT. */
void tl__lane_corrupt(struct tl_hlane *lane, const char *field, uint64_t value);
/* Whether a lane's counters can be. */
bool tl__counts_are_possible(const struct tl_lane_counts *counts);
/* The open run of that epoch, or NULL. */
struct tl_crun *tl__run_find(struct tl_engine *e, uint32_t epoch);
/* Hands a batch to the writer. */
void tl__batch_queue(struct tl_batch *batch, uint64_t bin_bytes);

/* replenish.c: returned buffers to their lanes, new ones in batches, watermarks to the device. */
bool tl__replenish_step(struct tl_shard *s);

/* watch.c: heartbeat, the back-pressure line, and room that a lane waits for and nobody reads any more. Returns when to
 * look again although nobody rang; 0: at once. */
uint64_t tl__watch_step(struct tl_shard *s);
/* What would help a lane of this stream that waits for this cause ("disk", "collector" or "arena"). */
void tl__watch_advice(unsigned stream, const struct tl_run_config *c, const char *cause, char *text, size_t size);

/* reconcile.c: on the shard's thread. */
int tl__reconcile_shard(struct tl_shard *s, struct tl_crun *run);
/* The device is done with the run: ends lanes whose end mark found no host. */
void tl__late_shard(struct tl_shard *s, struct tl_crun *run);

/* room.c: on the writer's thread. Whether `bytes` at `end - bytes` of the payload file leave room for what comes after.
 * If not, `why` says so. */
bool tl__room_for(struct tl_crun *run, uint64_t bytes, uint64_t end, char *why, size_t size);
/* `count` records came. Holds room for the index of all so far, once the disk is small enough for it to matter. False:
 * there is none. */
bool tl__room_for_index(struct tl_crun *run, uint32_t count);
/* Gives back what is held: all of it before the index is written. */
void tl__room_release(struct tl_crun *run);

/* writer.c */
void tl__writer_main(void *engine);
/* Memory for a batch of this run and shard, or NULL. */
void *tl__slab_take(struct tl_engine *e, struct tl_crun *run, unsigned shard, size_t bytes);
void tl__slabs_give_back(struct tl_engine *e, struct tl_crun *run);

/* engine.c */
void tl__shard_main(void *shard);
/* Asks one shard and waits for its answer. */
int tl__shard_request(struct tl_shard *s, enum tl_request what, struct tl_crun *run);
int tl__all_request(struct tl_engine *e, enum tl_request what, struct tl_crun *run);

/* run.c */
void tl__run_forget(struct tl_engine *e, struct tl_crun *run, bool remove_journal);
/* Waits until nobody but the caller touches the run. */
void tl__run_seal(struct tl_engine *e, struct tl_crun *run);

/* export.c */
/* What a form of the artifacts is called, by enum tl_format: "default", "2026-09"; "unknown". */
const char *tl__format_name(unsigned format);
size_t tl__exporting_bytes(void);
struct tl_stream_totals {
    uint64_t attempted, collected, dropped[TL_LOSS_COUNT];
    uint64_t parked_ns;
    unsigned uncounted; /* lanes whose counters never came */
};
/* What the run or the journal says about itself, into *meta, and one stream's figures. */
void tl__meta_stream(struct tl_meta *meta, const struct tl_collector_spec *spec, const struct tl_stream_totals *totals,
                     const struct tl_export_figures *figures);
/* Records that an export left out were collected, and are lost all the same. */
void tl__count_corrupt(struct tl_stream_totals *totals, const struct tl_export_figures *figures);
const struct tl_collector_spec *tl__collector_at(unsigned stream);
/* How many lanes a stream has, by the number of schedulers; they are side by side. */
unsigned tl__lanes_of(unsigned stream, unsigned schedulers);

#endif
