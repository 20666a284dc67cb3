/* SPDX-License-Identifier: Apache-2.0 */
/* What the renderings of a dump know about one record's payload. */
#ifndef TL_ANALYSIS_DUMP_PAYLOAD_H
#define TL_ANALYSIS_DUMP_PAYLOAD_H

#include <tasklens/recording.h>

#include "analysis/dump_pick.h"
#include "analysis/page.h"
#include "tensor/stats.h"

/* Elements of the whole tensor; 0 when the record does not say (rank above TL_MAX_DIMS). Saturates. */
uint64_t tl__dump_elements(const struct tl_dump_record *record);
/* Elements that the payload holds: fewer when it was cut, 1 for a scalar, 0 for none. Of an unknown dtype: 0. */
uint64_t tl__dump_elements_here(const struct tl_dump_record *record);

/* Called now and then while payloads are read. */
typedef void (*tl_dump_progress)(void *ctx, uint64_t bytes_done, uint64_t bytes_total);
/* `s`: the statistics of the record's payload or of its scalar; count 0 where there is none. */
typedef void (*tl_dump_each_fn)(void *ctx, uint64_t number, const struct tl_dump_record *record,
                                const struct tl_stats *s);

/* The statistics of one record, as above. 0, or what tl_recording_read says. */
int tl__dump_stats(const struct tl_recording *recording, uint64_t index, struct tl_stats *s, struct tl_error *reterr);
/* Calls `fn` for every picked record, in order; `number` counts from 0. Without `values` no payload is read and every
 * count is 0. The first error ends it. `progress` may be NULL. */
struct tl_dump_scan {
    const struct tl_recording *recording;
    const struct tl_dump_pick *pick;
    bool values;
    tl_dump_progress progress;
    void *progress_ctx;
};
int tl__dump_each(const struct tl_dump_scan *scan, tl_dump_each_fn fn, void *ctx, struct tl_error *reterr);

/* "[4, 8]"; "scalar"; "rank 6". */
void tl__put_shape(struct tl_page *page, const struct tl_dump_record *record);
void tl__put_strides(struct tl_page *page, const struct tl_dump_record *record);
/* "0", "0,1", "?" for an unknown kernel. */
void tl__put_funcs(struct tl_page *page, const struct tl_dump_record *record);
/* What is wrong or special about the record, separated by ", ": truncated, partial, lost (disk), ... */
void tl__put_flags(struct tl_page *page, const struct tl_dump_record *record);

#endif
