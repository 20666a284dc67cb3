/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dep_gen stream as submits: the records of each task put together again. Every record has passed the collector's
 * inspection. One thread.
 */
#ifndef TL_COLLECT_DEPS_READER_H
#define TL_COLLECT_DEPS_READER_H

#include "base/vec.h"
#include "collect/collector.h"
#include "wire/deps_record.h"

/* One task as it was submitted. The reader's, until its next call. */
struct tl_deps_submit {
    const struct tl_wire_deps_task *task;
    const struct tl_wire_deps_arg *args;   /* task->n_args */
    const uint64_t *deps;                  /* task->n_deps */
    const struct tl_wire_deps_edge *edges; /* task->n_edges: what the runtime decided */
};

struct tl_deps_reader {
    const struct tl_batch *batch;
    uint32_t at; /* in the batch */
    uint32_t index_next, local_next[TL_DEPS_RINGS];
    struct tl_wire_deps_task task;
    TL_VEC(struct tl_wire_deps_arg) args;
    TL_VEC(uint64_t) deps;
    TL_VEC(struct tl_wire_deps_edge) edges;
    char why[160]; /* what is missing, after TL_ELOST */
    uint64_t left; /* tasks from there on, after TL_ELOST */
};

/* From the first batch of the lane; NULL is an empty recording. */
void tl__deps_reader_init(struct tl_deps_reader *r, const struct tl_batch *first);
void tl__deps_reader_fini(struct tl_deps_reader *r);
/* 1 and the next task; 0 at the end; TL_ELOST: records are missing here, and what comes after cannot be known without
 * them ; TL_ENOMEM. */
int tl__deps_next(struct tl_deps_reader *r, struct tl_deps_submit *ret_submit);

#endif
