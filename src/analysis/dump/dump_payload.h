/* SPDX-License-Identifier: Apache-2.0 */
/* What the renderings of a dump know about one record's payload. */
#ifndef TL_ANALYSIS_DUMP_PAYLOAD_H
#define TL_ANALYSIS_DUMP_PAYLOAD_H

#include <tasklens/error.h>
#include <tasklens/recording.h>

#include "analysis/dump/dump_pick.h"
#include "analysis/text/rendering.h"
#include "tensor/stats.h"

/* Elements of the whole tensor; 0 when the record does not say (rank above TL_MAX_DIMS). Saturates. */
uint64_t tl__dump_elements(const struct tl_dump_record *record);
/* Elements that the payload holds: fewer when it was cut, 1 for a scalar, 0 for none. Of an unknown dtype: 0. */
uint64_t tl__dump_elements_here(const struct tl_dump_record *record);

/* What a second pass finds: elements in row-major order, UINT64_MAX for none. */
struct tl_dump_detail {
    double std; /* of the finite elements; NaN if there is none */
    uint64_t first_nan, first_inf, first_min, first_max;
};

/* A record as the list has it. */
struct tl_dump_seen {
    uint64_t number; /* place in the pick */
    const struct tl_dump_record *record;
    struct tl_stats stats; /* of the payload or the scalar; count 0 where there is none */
    struct tl_dump_detail detail;
    const char *problem; /* why the payload cannot be read; NULL: it can, or there is none */
};

/* Payloads that cannot be read: the file ends before them, or is gone. */
struct tl_dump_unread {
    uint64_t count, first; /* index of the first */
    char why[1000];        /* of the first */
};

/* Called now and then while payloads are read. */
typedef void (*tl_dump_progress)(void *ctx, uint64_t bytes_done, uint64_t bytes_total);
typedef void (*tl_dump_each_fn)(void *ctx, const struct tl_dump_seen *seen);

/* The statistics of one record, and more of it (NULL: not wanted). 0, or what tl_recording_read says. */
int tl__dump_stats(const struct tl_recording *recording, uint64_t index, struct tl_stats *s,
                   struct tl_dump_detail *detail, struct tl_error *reterr);
/* Calls `fn` for every picked record, in order. Without `values` no payload is read and every count is 0. A payload
 * that cannot be read is a problem of its record, and counted. 0 or TL_ENOMEM. `progress` may be NULL. */
struct tl_dump_scan {
    const struct tl_recording *recording;
    const struct tl_dump_pick *pick;
    bool values, detail;
    tl_dump_progress progress;
    void *progress_ctx;
    struct tl_dump_unread *unread; /* added to; NULL: not wanted */
};
int tl__dump_each(const struct tl_dump_scan *scan, tl_dump_each_fn fn, void *ctx, struct tl_error *reterr);
/* Whether the code of a read is a matter of its record alone, and if so counts it. */
bool tl__dump_note_unread(struct tl_dump_unread *unread, uint64_t index, int code, const struct tl_error *error);

/* "[4, 8]"; "scalar"; "rank 6". */
void tl__put_shape(struct tl_rendering *out, const struct tl_dump_record *record);
void tl__put_strides(struct tl_rendering *out, const struct tl_dump_record *record);
/* "[1, 0, 2]": where element `i`, counted row by row, is. */
void tl__put_place(struct tl_rendering *out, const struct tl_dump_record *record, uint64_t i);
/* Its indices, outermost first, at[0..rank). */
void tl__dump_place(const struct tl_dump_record *record, uint64_t i, uint64_t at[TL_MAX_DIMS]);
/* "0", "0,1", "?" for an unknown kernel. */
void tl__put_funcs(struct tl_rendering *out, const struct tl_dump_record *record);
/* What is wrong or special about the record, separated by ", ": truncated, partial, lost (disk), ... */
bool tl__dump_has_flags(const struct tl_dump_record *record);
void tl__put_flags(struct tl_rendering *out, const struct tl_dump_record *record);

#endif
