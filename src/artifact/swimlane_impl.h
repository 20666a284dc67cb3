/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the swimlane's reader share. Errors are noted in the tape. */
#ifndef TL_ARTIFACT_SWIMLANE_IMPL_H
#define TL_ARTIFACT_SWIMLANE_IMPL_H

#include "artifact/swimlane.h"
#include "base/json.h"
#include "base/json_tape.h"
#include "base/vec.h"

#define TL_SWIM_THREAD_MAX UINT16_MAX
#define TL_SWIM_KINDS_MAX 4096u /* different kinds without a name here; the last stands for all that come after */

struct tl_swim_reader {
    struct tl_swimlane s; /* what is not a list */
    TL_VEC(struct tl_swim_core) cores;
    TL_VEC(struct tl_swim_aicpu) aicpus;
    TL_VEC(struct tl_swim_phase) phases;
    TL_VEC(struct tl_swim_orch) orchs;
    TL_VEC(struct tl_swim_stream) streams;
    TL_VEC(struct tl_swim_upload) uploads;
    TL_VEC(struct tl_swim_kind_name) kinds;
    uint32_t seen;       /* sections, by bit */
    uint32_t core_width; /* columns of the first row of aicore_tasks */
    char where[48];      /* of tape->inner, below a section's item */
};

/* ---- swimlane_read.c ---- */

struct tl_swim_column {
    const char *name;
    uint64_t max;
    bool optional; /* may be null: 0 */
};

/* The values of the row `at`, which has `count` columns: columns behind the least are read where they are there. */
int tl__swimlane_take_row(struct tl_tape *t, uint32_t at, const struct tl_swim_column *columns, unsigned least,
                          unsigned count, uint64_t *ret_values);
int tl__swimlane_take_phase(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at,
                            const struct tl_swim_stream *stream);
/* What shape counts and looks into queues the object has, into the phase. */
int tl__swimlane_take_metrics(struct tl_tape *t, uint32_t at, struct tl_swim_phase *phase);

/* ---- swimlane_streams.c ---- */

int tl__swimlane_take_scheduler_tasks(struct tl_swim_reader *r, struct tl_tape *t);
int tl__swimlane_take_scheduler_records(struct tl_swim_reader *r, struct tl_tape *t);
int tl__swimlane_take_upload(struct tl_swim_reader *r, struct tl_tape *t);
/* The index of a kind without a name here. */
int tl__swimlane_keep_kind(struct tl_swim_reader *r, const char *text, size_t length, uint16_t *ret_index);
/* Phases of such kinds that are within an outer phase of their thread become inner ones. 0 or TL_ENOMEM. */
int tl__swimlane_place_others(struct tl_swim_phase *phases, uint64_t count);

/* ---- the writer ---- */

/* Rows in the order of their threads, each thread's as they are. */
struct tl_swim_by_thread {
    uint64_t *order;  /* rows */
    uint64_t *starts; /* threads + 1, into order */
    uint32_t threads;
};

void tl__swimlane_put_scheduler_tasks(struct tl_json *j, const struct tl_swimlane *s);
void tl__swimlane_put_scheduler_records(struct tl_json *j, const struct tl_swimlane *s,
                                        const struct tl_swim_by_thread *by);
void tl__swimlane_put_metrics(struct tl_json *j, const struct tl_swim_phase *phase);

/* ---- swimlane_meta.c ---- */

/* The part is metadata: what it says goes into `s`, which owns the lists. */
int tl__swimlane_take_metadata(struct tl_tape *t, struct tl_swimlane *s);
/* Sets s->duplicates. 0 or TL_ENOMEM. */
int tl__swimlane_count_duplicates(struct tl_swimlane *s);

/* ---- swimlane_wrap.c ---- */

/* Sets s->falls, and s->wrapped where one new beginning of a 32-bit counter explains all contradictions: the stamps are
 * mended then. 0 or TL_ENOMEM. */
int tl__swimlane_unwrap(struct tl_swimlane *s);

#endif
