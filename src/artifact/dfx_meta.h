/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dfx_meta.json: what we add about a run beside the artifacts of the spec (docs/formats/dfx_meta.md): losses by
 * cause, attempted and collected per stream, time parked, clocks, what a record cost, which tensors were cut.
 */
#ifndef TL_ARTIFACT_DFX_META_H
#define TL_ARTIFACT_DFX_META_H

#include <stdint.h>

#include <tasklens/error.h>
#include <tasklens/tensor.h>

#include "base/task_id.h"

#define TL_META_NAME "dfx_meta.json"
#define TL_META_VERSION 1
#define TL_META_RECOVERED "recovered" /* a status */
#define TL_META_DIFFERS "differs"     /* a status: the run ended well, and a result differs from its golden */
#define TL_META_MAX_STREAMS 16
#define TL_META_MAX_LOSSES 8
#define TL_META_MAX_TRUNCATED 16
#define TL_META_MAX_VERDICTS 32 /* as many as a program has tensors */
#define TL_META_MAX_FIRST 8

struct tl_meta_loss {
    char cause[24]; /* "host_dead", "disk", ...; "" ends the list */
    uint64_t count;
};

struct tl_meta_stream {
    char name[24]; /* "args_dump", ... */
    uint64_t attempted, collected;
    struct tl_meta_loss losses[TL_META_MAX_LOSSES];
    uint64_t payload_bytes; /* written */
    uint64_t payloads_lost; /* records kept, payload gone */
    double record_ns;       /* cost of a record on the device; 0: not known */
};

struct tl_meta_tensor { /* a payload that was cut */
    uint64_t task_id;
    uint32_t arg_index;
    uint32_t reserved;
    uint64_t bytes, kept_bytes; /* of the whole tensor; in args.bin */
};

enum tl_verdict { TL_VERDICT_AGREES, TL_VERDICT_DIFFERS, TL_VERDICT_NOT_CHECKED, TL_VERDICTS };

struct tl_meta_verdict { /* an output against its golden */
    char output[64], dtype[16], rule[160];
    uint64_t elements, differing;
    uint32_t verdict; /* enum tl_verdict */
    uint32_t rank, first_count;
    uint32_t first[TL_META_MAX_FIRST][TL_MAX_DIMS]; /* indices of the first that differ */
    uint32_t worst[TL_MAX_DIMS];                    /* index of the element that is farthest off */
    double worst_got, worst_want, worst_allowed;
};

struct tl_meta {
    char program[128], case_name[64], platform[16], runtime[32];
    char program_hash[24]; /* "xxh3:<16 hex>"; "" if not known */
    char format[16];       /* "default", "2026-09": of the artifacts; "" if not known */
    char status[32];       /* "ok", or the error's name: TL_EHANG ... */
    char error[1000];      /* what the run said of it; "": nothing */
    uint32_t level;        /* of the args dump; 0 if off */
    uint32_t epoch;
    uint64_t start_unix_ns;                  /* wall clock */
    uint64_t wall_ns;                        /* launch to completion */
    uint64_t parked_ns;                      /* of which lanes waited for the host */
    uint64_t clock_freq_hz;                  /* of device cycles */
    uint64_t clock_start_cycles;             /* device clock at launch */
    uint64_t clock_start_ns;                 /* host clock (monotonic) at the same moment */
    uint64_t clock_end_cycles, clock_end_ns; /* the same when the run was over; 0: it never was */
    uint64_t clock_error_ns;                 /* how far either pair may be off */
    uint64_t tasks, allocations;             /* retired; with and without a kernel */
    uint64_t unrecorded_bytes;               /* after a recovery: of payload, whose records had not reached the host */
    uint64_t payloads_missing;               /* after a recovery: that records name and args.bin does not hold */
    uint32_t stream_count, truncated_listed, verdict_count, verdicts_reserved;
    uint64_t truncated_total; /* tensors that were cut; the first 16 are listed */
    struct tl_meta_stream streams[TL_META_MAX_STREAMS];
    struct tl_meta_tensor truncated[TL_META_MAX_TRUNCATED];
    struct tl_meta_verdict verdicts[TL_META_MAX_VERDICTS];
};

/* How the tasks of its recording are named: the form of September 2026 names them by the runtime. */
enum tl_task_layout tl__meta_layout(const struct tl_meta *meta);
/* Writes DIR/dfx_meta.json by rename. TL_EIO, TL_ENOSPC, TL_ENOMEM, TL_EINVAL (a count beyond its table). */
int tl__meta_write(const char *dir, const struct tl_meta *meta, struct tl_error *reterr);
/* Reads it. Unknown fields are ignored, absent ones stay 0. TL_ENOENT, TL_EPARSE, TL_EVERSION, TL_EIO. */
int tl__meta_read(const char *dir, struct tl_meta *ret_meta, struct tl_error *reterr);

#endif
