/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deps.json: the task graph as the orchestrator submitted it (docs/formats/deps.md). One writer and one reader; the
 * reader takes files made by others of this kind.
 */
#ifndef TL_ARTIFACT_DEPS_H
#define TL_ARTIFACT_DEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>
#include <tasklens/tensor.h>

#define TL_DEPS_NAME "deps.json"
#define TL_DEPS_PAGE_NAME "deps.html" /* what `tasklens deps --format html` makes of it all, beside it */

enum tl_deps_source { TL_DEPS_EXPLICIT, TL_DEPS_CREATOR, TL_DEPS_TENSORMAP };
enum tl_deps_overlap { TL_DEPS_OVERLAP_NONE, TL_DEPS_COVERED, TL_DEPS_OTHER };

#define TL_DEPS_WAIT 1u
#define TL_DEPS_RETAIN 2u
#define TL_DEPS_HAS_FLAGS 128u /* the file has the field */

/* Which elements of a buffer, in elements. */
struct tl_deps_view {
    uint64_t start_offset;
    uint64_t strides[TL_MAX_DIMS];
    uint32_t shape[TL_MAX_DIMS];
    uint8_t dtype; /* enum tl_dtype; TL_DTYPE_COUNT: a name unknown here */
    uint8_t rank;
};

struct tl_deps_arg {
    uint64_t tensor_id;
    struct tl_deps_view view;
    uint32_t idx;
    uint8_t type;  /* enum tl_direction (tasklens/kernel.h); TL_NO_DEP too */
    bool has_view; /* false: a runtime-allocated output of a foreign file, idx and type alone */
};

struct tl_deps_task {
    uint64_t task_id;
    uint64_t first_arg; /* into args */
    int32_t kernel_ids[3];
    uint32_t block_num, n_args;
    bool manual, early_dispatch;
};

struct tl_deps_tensor {
    uint64_t tensor_id; /* FNV-1a 64 of (buffer_addr, version): tl__deps_tensor_id */
    uint64_t buffer_addr, buffer_numel;
    uint32_t version;
    uint8_t dtype;
};

struct tl_deps_edge {
    uint64_t pred, succ;          /* task ids */
    uint64_t tensor_id;           /* not of an explicit edge */
    int32_t arg;                  /* -1: explicit */
    uint8_t source;               /* enum tl_deps_source */
    uint8_t flags;                /* TL_DEPS_WAIT, TL_DEPS_RETAIN, TL_DEPS_HAS_FLAGS */
    uint8_t overlap;              /* enum tl_deps_overlap; of a tensormap edge */
    struct tl_deps_view consumer; /* not of an explicit edge */
    struct tl_deps_view producer; /* of a tensormap edge; dtype is the consumer's */
};

struct tl_deps {
    struct tl_deps_task *tasks; /* in order of submission */
    struct tl_deps_arg *args;
    struct tl_deps_tensor *tensors;
    struct tl_deps_edge *edges;
    struct tl_deps_edge *filtered; /* those of `edges` that the runtime skipped because the producer was gone */
    uint64_t n_tasks, n_args, n_tensors, n_edges, n_filtered;
    char runtime[32];  /* "host_build_graph"; "": the file does not say */
    bool has_filtered; /* the file has the field (ours do) */
    /* Set by tl__deps_index: positions in `tasks` of each edge's ends, UINT32_MAX if the task is not listed. */
    uint32_t *edge_pred, *edge_succ;
    uint64_t *by_id; /* open-addressing table of positions + 1 */
    uint64_t by_id_mask;
};

/* FNV-1a 64 over the eight little-endian bytes of the address and the four of the version. */
uint64_t tl__deps_tensor_id(uint64_t buffer_addr, uint32_t version);

/* Writes DIR/deps.json by rename. TL_EIO, TL_ENOSPC, TL_ENOMEM. */
int tl__deps_write(const char *dir, const struct tl_deps *d, struct tl_error *reterr);
/* TL_ENOENT, TL_EIO, TL_ENOMEM; TL_EPARSE with file, index and field. The result is indexed, and the caller's: end
 * with tl__deps_fini. */
int tl__deps_read(const char *path, struct tl_deps *ret_deps, struct tl_error *reterr);
int tl__deps_parse(const void *text, size_t bytes, const char *name, struct tl_deps *ret_deps, struct tl_error *reterr);
/* Builds the index (the readers do). TL_ENOMEM; TL_EPARSE: a task id appears twice. */
int tl__deps_index(struct tl_deps *d, struct tl_error *reterr);
/* Position of a task, or UINT32_MAX. */
uint32_t tl__deps_find(const struct tl_deps *d, uint64_t task_id);
void tl__deps_fini(struct tl_deps *d);

#endif
