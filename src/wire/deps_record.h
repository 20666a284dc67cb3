/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of the dep_gen stream: every submit as the program made it, and what the graph decided about it. The
 * records of one task follow each other on the orchestrator's lane, in this order:
 *
 *   task    once; the first dependencies and edges are in it, so that a small task is one record
 *   arg     one a tensor
 *   ids     the explicit dependencies that do not fit into the task record
 *   edges   likewise the edges
 *
 * No record holds a producer's view: the reader has the producer's own arguments and compares the view by its hash.
 */
#ifndef TL_WIRE_DEPS_RECORD_H
#define TL_WIRE_DEPS_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <tasklens/kernel.h>

#define TL_DEPS_RINGS 4
#define TL_DEPS_MAX_DEPTH (1u << 20) /* of scopes; the stack of an orchestration overflows earlier */

enum tl_wire_deps_kind { TL_WIRE_DEPS_TASK = 1, TL_WIRE_DEPS_ARG, TL_WIRE_DEPS_IDS, TL_WIRE_DEPS_EDGES };

#define TL_WIRE_DEPS_MANUAL 1u /* in a manual scope */
#define TL_WIRE_DEPS_ALLOC 2u  /* tl_alloc_tensors: its args are the tensors that it made */

/* One reason for a dependency. `source` and `flags` are the graph's own numbers (TL_EDGE_*). */
struct tl_wire_deps_edge {
    uint64_t pred;
    uint32_t view; /* hash of the producer's view (tl__region_hash); 0 if the source has none */
    int8_t arg;    /* -1: explicit */
    uint8_t source, flags, reserved;
};
_Static_assert(sizeof(struct tl_wire_deps_edge) == 16, "no padding");

#define TL_WIRE_DEPS_TASK_IDS 2u
#define TL_WIRE_DEPS_TASK_EDGES 3u
#define TL_WIRE_DEPS_IDS_MAX 15u
#define TL_WIRE_DEPS_EDGES_MAX 7u

struct tl_wire_deps_task {
    uint8_t kind, flags, reserved[2];
    uint32_t n_args; /* arg records that follow */
    uint64_t task_id;
    uint32_t index;  /* submits before it, in all rings; modulo 2^32 */
    uint32_t depth;  /* open scopes around it */
    int32_t func[3]; /* AIC, AIV0, AIV1; -1: left out */
    uint32_t block_num;
    uint32_t tail[TL_DEPS_RINGS]; /* each ring's first task that had not retired when the edges were found */
    uint32_t n_deps, n_edges;     /* in all */
    uint64_t deps[TL_WIRE_DEPS_TASK_IDS];
    struct tl_wire_deps_edge edges[TL_WIRE_DEPS_TASK_EDGES];
};

struct tl_wire_deps_arg {
    uint8_t kind, direction, reserved[2]; /* direction: enum tl_direction, as submitted */
    uint32_t arg;
    uint64_t task_id;
    struct tl_tensor tensor; /* an allocated one with the memory that it got */
};

struct tl_wire_deps_ids {
    uint8_t kind, count, reserved[2];
    uint32_t first; /* of the task's dependencies */
    uint64_t ids[TL_WIRE_DEPS_IDS_MAX];
};

struct tl_wire_deps_edges {
    uint8_t kind, count, reserved[2];
    uint32_t first; /* of the task's edges */
    uint64_t task_id;
    struct tl_wire_deps_edge edges[TL_WIRE_DEPS_EDGES_MAX];
};

union tl_wire_deps_record {
    uint8_t kind; /* enum tl_wire_deps_kind */
    struct tl_wire_deps_task task;
    struct tl_wire_deps_arg arg;
    struct tl_wire_deps_ids ids;
    struct tl_wire_deps_edges edges;
};
_Static_assert(sizeof(union tl_wire_deps_record) == 128, "two cache lines");
_Static_assert(sizeof(struct tl_wire_deps_task) == 128, "no padding");
_Static_assert(sizeof(struct tl_wire_deps_arg) == 128, "no padding");
_Static_assert(sizeof(struct tl_wire_deps_ids) == 128, "no padding");
_Static_assert(sizeof(struct tl_wire_deps_edges) == 128, "no padding");
_Static_assert(offsetof(struct tl_wire_deps_task, tail) == 40, "read by the peer");
_Static_assert(offsetof(struct tl_wire_deps_task, edges) == 80, "read by the peer");
_Static_assert(offsetof(struct tl_wire_deps_arg, tensor) == 16, "read by the peer");
_Static_assert(offsetof(struct tl_wire_deps_edges, edges) == 16, "read by the peer");

/* Records of further ids and edges of a task that has `n` of them. */
static inline uint64_t tl__deps_more_ids(uint32_t n)
{
    return n <= TL_WIRE_DEPS_TASK_IDS
               ? 0
               : ((uint64_t)n - TL_WIRE_DEPS_TASK_IDS + TL_WIRE_DEPS_IDS_MAX - 1) / TL_WIRE_DEPS_IDS_MAX;
}

static inline uint64_t tl__deps_more_edges(uint32_t n)
{
    return n <= TL_WIRE_DEPS_TASK_EDGES
               ? 0
               : ((uint64_t)n - TL_WIRE_DEPS_TASK_EDGES + TL_WIRE_DEPS_EDGES_MAX - 1) / TL_WIRE_DEPS_EDGES_MAX;
}

#endif
