/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic.jsonl: what each task read and wrote through each of its arguments (docs/formats/traffic.md). Line 1
 * describes the run, each further line is one task, in the order in which they began. One writer and one reader. One
 * thread per object.
 */
#ifndef TL_ARTIFACT_TRAFFIC_H
#define TL_ARTIFACT_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#include "base/vec.h"

#define TL_TRAFFIC_NAME "traffic.jsonl"
#define TL_TRAFFIC_VERSION 1u
#define TL_TRAFFIC_MAX_ARGS 16u
#define TL_TRAFFIC_NO_OWNER UINT64_MAX /* the program's own buffer */

/* How a task touches an argument. */
enum tl_traffic_access { TL_TRAFFIC_READ, TL_TRAFFIC_WRITE, TL_TRAFFIC_BOTH, TL_TRAFFIC_ACCESSES };

/* One tensor argument of one task. */
struct tl_traffic_arg {
    uint64_t buffer; /* device address of its first byte */
    uint64_t owner;  /* the task that allocated the buffer, or TL_TRAFFIC_NO_OWNER */
    uint64_t view;   /* equal for equal views of a buffer */
    uint64_t bytes;  /* of the view's elements; 0: the view was not valid */
    uint8_t access;  /* enum tl_traffic_access */
};

struct tl_traffic_task {
    uint64_t task_id;
    uint64_t start;           /* of its first subtask, device cycles */
    uint64_t counted_read;    /* bytes from global memory that its kernels counted, all subtasks */
    uint64_t counted_written; /* and to it */
    int32_t func_id;          /* of its subtask with the lowest core */
    uint32_t subtasks;        /* that have a record */
    uint32_t counted;         /* of them, those whose kernel counted anything */
    uint32_t n_args;
    uint64_t first_arg; /* in args */
};

struct tl_traffic {
    bool fatal;       /* the run ended abnormally */
    uint64_t dropped; /* records that are not here */
    TL_VEC(struct tl_traffic_task) tasks;
    TL_VEC(struct tl_traffic_arg) args;
};

/* The bytes that an argument's task reads and writes through it. */
static inline uint64_t tl__traffic_read_bytes(const struct tl_traffic_arg *a)
{
    return a->access != TL_TRAFFIC_WRITE ? a->bytes : 0;
}
static inline uint64_t tl__traffic_written_bytes(const struct tl_traffic_arg *a)
{
    return a->access != TL_TRAFFIC_READ ? a->bytes : 0;
}

/* Adds a task with its arguments at the end. TL_ENOMEM. Begin with an object that is all 0. */
int tl__traffic_add(struct tl_traffic *t, const struct tl_traffic_task *task, const struct tl_traffic_arg *args);
void tl__traffic_fini(struct tl_traffic *t);

/* Writes DIR/traffic.jsonl by rename. TL_EIO, TL_ENOSPC, TL_ENOMEM. */
int tl__traffic_write(const char *dir, const struct tl_traffic *t, struct tl_error *reterr);
/* Reads the file at `path`. TL_ENOENT, TL_EIO, TL_ENOMEM, TL_EVERSION; TL_EPARSE with file, line and field. The
 * caller's: end with tl__traffic_fini. */
int tl__traffic_file_read(const char *path, struct tl_traffic *ret_traffic, struct tl_error *reterr);
/* The same from memory; `name` appears in messages. */
int tl__traffic_parse(const void *text, size_t bytes, const char *name, struct tl_traffic *ret_traffic,
                      struct tl_error *reterr);

#endif
