/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a recording of arguments: args_dump.json and args.bin, made by this runtime or by another one that writes
 * them. A recording is read whole at open and does not change; after that its functions may be called from several
 * threads at once, except tl_recording_close. Errors: negative codes; details in struct tl_error.
 */
#ifndef TASKLENS_RECORDING_H
#define TASKLENS_RECORDING_H

#include <tasklens/error.h>
#include <tasklens/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_DUMP_MAX_FUNCS 3
#define TL_DTYPE_UNKNOWN 255 /* a dtype that this version has no name for */

enum tl_stage { TL_STAGE_BEFORE = 0, TL_STAGE_AFTER = 1 };
enum tl_role { TL_ROLE_INPUT = 0, TL_ROLE_OUTPUT = 1, TL_ROLE_INOUT = 2 };
enum tl_kind { TL_KIND_TENSOR = 0, TL_KIND_SCALAR = 1 };

/* Why a record has no payload, or not all of it, although its level records one. */
enum tl_dump_cause {
    TL_DUMP_CAUSE_NONE = 0,
    TL_DUMP_CAUSE_DISK = 1,        /* "disk": the writer met a full or failing disk */
    TL_DUMP_CAUSE_HOST_DEAD = 2,   /* "host_dead": the device gave up waiting for the host */
    TL_DUMP_CAUSE_DEVICE_DEAD = 3, /* "device_dead": the device died before the bytes could be fetched */
    TL_DUMP_CAUSE_CORRUPT = 4,     /* "corrupt": the record points outside its arena */
    TL_DUMP_CAUSE_TORN = 5,        /* "torn": the bytes in the arena no longer match the record's hash */
    TL_DUMP_CAUSE_BAD_VIEW = 6,    /* "bad_view": the view reaches past its buffer */
    TL_DUMP_CAUSE_OTHER = 7,       /* a cause that this version has no name for */
};

/* struct tl_dump_record.flags */
enum tl_arg_flag {
    TL_ARG_TRUNCATED = 1u << 0,   /* larger than the arena: the payload is its first bytes */
    TL_ARG_AMBIGUOUS = 1u << 1,   /* the mark matched several slots; this is the first */
    TL_ARG_PARTIAL = 1u << 2,     /* captured while the task still ran, or not all pieces arrived */
    TL_ARG_LOST = 1u << 3,        /* the payload should be there and is lost; `cause` says why */
    TL_ARG_UNSUPPORTED = 1u << 4, /* no payload: rank above TL_MAX_DIMS or unknown dtype */
    TL_ARG_MISMATCH = 1u << 5,    /* the kernel's signature and the submit disagree about this slot */
    TL_ARG_CONTIGUOUS = 1u << 6,  /* the view was contiguous in its buffer (the payload always is) */
    TL_ARG_OVERWRITTEN = 1u << 7, /* old files only: the payload was overwritten before it was read */
    TL_ARG_MARKED = 1u << 8,      /* the program selected this argument */
    TL_ARG_HAS_HASH = 1u << 9,    /* `hash` is XXH3-64 of the payload */
};

/* One argument of one task at one stage. A plain value. */
struct tl_dump_record {
    uint64_t task_id;
    uint64_t value_bits;                /* scalars: the value, low bytes first, upper bytes 0 */
    uint64_t start_offset;              /* elements */
    uint64_t bin_offset, bin_size;      /* payload in args.bin, bytes; bin_size 0: none */
    uint64_t hash;                      /* with TL_ARG_HAS_HASH */
    uint64_t strides[TL_MAX_DIMS];      /* elements; 0 beyond rank */
    uint32_t shape[TL_MAX_DIMS];        /* elements; 0 beyond rank */
    int32_t func_id[TL_DUMP_MAX_FUNCS]; /* func_count of them; -1: unknown */
    uint32_t arg_index;                 /* payload slot: tensors first, then scalars */
    uint16_t flags;                     /* enum tl_arg_flag */
    uint8_t func_count;                 /* 1..TL_DUMP_MAX_FUNCS */
    uint8_t rank;                       /* may exceed TL_MAX_DIMS: then shape and strides are not kept */
    uint8_t dtype;                      /* enum tl_dtype or TL_DTYPE_UNKNOWN */
    uint8_t stage;                      /* enum tl_stage */
    uint8_t role;                       /* enum tl_role */
    uint8_t kind;                       /* enum tl_kind */
    uint8_t cause;                      /* enum tl_dump_cause */
    uint8_t reserved[3];                /* 0 */
};

/* The head of a manifest. */
struct tl_dump_summary {
    char run_dir[256]; /* as the file says it; "args_dump" */
    char bin_file[64]; /* "args.bin", or "" for null: no payload file */
    uint64_t total_args, before_dispatch, after_completion, input_args, output_args, inout_args, truncated_args;
    uint64_t dropped_records;   /* arguments that were seen on the device and never reached the file */
    uint64_t dropped_overwrite; /* old files only */
    uint64_t bin_bytes;         /* size of the payload file; not in the manifest */
    uint32_t level;             /* 0..3 */
    uint32_t run_epoch;         /* which run; 0: the manifest does not say */
};

/* What a check or verification found. Without a fault all are 0 but checked, unhashed, first_bad. */
struct tl_dump_verdict {
    uint64_t checked;       /* payloads whose hash was computed and compared */
    uint64_t unhashed;      /* payloads without a hash: nothing to compare */
    uint64_t bad_hash;      /* payloads that are not what the device hashed */
    uint64_t out_of_bounds; /* payloads that reach past the payload file */
    uint64_t bad_size;      /* bin_size is not what dtype and shape say */
    uint64_t out_of_order;  /* records that come before their predecessor in (task, stage, arg, role) */
    uint64_t bad_counts;    /* summary counts that disagree with the records */
    uint64_t first_bad;     /* index of the first wrong record; UINT64_MAX if there is none */
    char first_fault[256];  /* the first fault in words; "" if none */
};

struct tl_recording; /* made by tl_recording_open, ended by tl_recording_close */

/*
 * Opens a recording. `path`: a run's directory, its args_dump directory, or args_dump.json itself. TL_ENOENT: no
 * manifest there; TL_EPARSE: file, record index and field are in *reterr; TL_EIO, TL_ENOMEM. A missing or short
 * payload file is no error here: payload access and verification report it.
 */
int tl_recording_open(const char *path, struct tl_recording **ret_recording, struct tl_error *reterr);
/* NULL is fine. What the recording returned ends with it. */
void tl_recording_close(struct tl_recording *recording);

/* The recording's, until it is closed. */
const struct tl_dump_summary *tl_recording_summary(const struct tl_recording *recording);
uint64_t tl_recording_count(const struct tl_recording *recording);
/* By position in the manifest; NULL past the end. The recording's. */
const struct tl_dump_record *tl_recording_at(const struct tl_recording *recording, uint64_t index);

/*
 * A record's payload, mapped: *ret_data is the recording's, bin_size bytes, read only, NULL for a record without
 * one. TL_ENOENT: there is no payload file; TL_ERANGE: the payload reaches past its end.
 */
int tl_recording_payload(const struct tl_recording *recording, uint64_t index, const void **ret_data,
                         struct tl_error *reterr);
/* Copies `bytes` of the payload from its byte `offset`. TL_ERANGE: past bin_size or past the file's end. */
int tl_recording_read(const struct tl_recording *recording, uint64_t index, uint64_t offset, void *buffer, size_t bytes,
                      struct tl_error *reterr);
/*
 * Whether the manifest agrees with itself and with the payload file: counts, order, bounds, sizes. Touches no payload.
 * 0, or TL_ECORRUPT and *ret_verdict says what is wrong.
 */
int tl_recording_check(const struct tl_recording *recording, struct tl_dump_verdict *ret_verdict);
/* The same, and the hash of every payload that has one: reads them all. */
int tl_recording_verify(const struct tl_recording *recording, struct tl_dump_verdict *ret_verdict);

/* "before_dispatch", "input", "tensor", "disk", ...; "unknown" for other values. Never NULL. */
const char *tl_stage_name(unsigned stage);
const char *tl_role_name(unsigned role);
const char *tl_kind_name(unsigned kind);
const char *tl_dump_cause_name(unsigned cause);

#ifdef __cplusplus
}
#endif
#endif
