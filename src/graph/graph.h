/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph rules of both runtimes: scopes, rings with back-pressure, memory of runtime-allocated tensors, and the
 * dependencies of a task, derived from its arguments. docs/graph.md says which rules and why.
 *
 * Everything here is plain arithmetic on the caller's thread: one graph belongs to one thread (the orchestrator's),
 * nothing waits, nothing is shared. The device does the rest: it counts down predecessors, frees slots, and reports to
 * the graph what has retired. The life of a task:
 *
 *     tl__graph_plan           validates, takes slot, heap and dep-pool entries, finds the predecessors;
 *                              TL_EAGAIN: a ring is full, nothing has changed: let schedulers run, report
 *                              tl__graph_retired, plan again
 *     tl__plan_write_payload   what the device keeps in the slot (graph/payload.h)
 *     tl__graph_scope_end      returns which tasks their scope releases
 *     tl__graph_retired        releases slots, heap, dep-pool and tensormap entries
 *
 * A task is retired when it is complete, its scope has released it, and each successor that retains it is complete;
 * rings retire in order.
 */
#ifndef TL_GRAPH_GRAPH_H
#define TL_GRAPH_GRAPH_H

#include <tasklens/error.h>
#include <tasklens/task.h>

#include "graph/payload.h"

#define TL_GRAPH_RINGS 4u
#define TL_GRAPH_ALIGN UINT64_C(1024) /* heap buffers start at multiples of it */

/* Defaults. A window of host_build_graph holds a whole image. */
#define TL_TASK_WINDOW_DEFAULT 16384u
#define TL_TASK_WINDOW_IMAGE 131072u
#define TL_TASK_WINDOW_MAX (1u << 24) /* of one ring */
#define TL_HEAP_BYTES_DEFAULT (UINT64_C(256) << 20)
#define TL_DEP_POOL_DEFAULT 65536u
#define TL_DEP_POOL_IMAGE (1u << 20)

struct tl_graph; /* made by tl__graph_create, ended by tl__graph_destroy */

struct tl_graph_opts {
    uint32_t rings;                       /* 1..TL_GRAPH_RINGS: deeper scopes share the last (an image has 1) */
    uint32_t task_window[TL_GRAPH_RINGS]; /* slots; powers of two, at least 2 */
    uint32_t dep_pool[TL_GRAPH_RINGS];    /* entries, at least 1 */
    uint64_t heap[TL_GRAPH_RINGS];        /* device address, multiple of TL_GRAPH_ALIGN, not 0 if it has bytes */
    uint64_t heap_bytes[TL_GRAPH_RINGS];  /* multiple of TL_GRAPH_ALIGN; 0: nothing can be allocated */
    bool recycle;                         /* false: an image. A full ring stays full, which is an error */
    uint8_t dump_level;                   /* 0..3: whether marks and tags count */
    uint32_t guard; /* 0: off; else the min alignment, and buffers are placed as base/guard_layout.h says:
                                           * heaps then begin at a page and have whole ones */
};

/* The kernels of one task by core; -1 leaves a core out. */
struct tl_subtasks {
    int32_t func[3]; /* AIC, AIV0, AIV1 */
};

enum tl_edge_source { TL_EDGE_EXPLICIT, TL_EDGE_CREATOR, TL_EDGE_TENSORMAP };

#define TL_EDGE_WAIT 1u    /* the task starts after the predecessor is complete */
#define TL_EDGE_RETAIN 2u  /* the predecessor is kept (with the memory it owns) until the task is complete */
#define TL_EDGE_COVERED 4u /* tensormap: the task's region holds the whole of the producer's. Else overlap "other" */
#define TL_EDGE_GONE 8u    /* the predecessor has retired: nothing to wait for, not among the plan's preds */

/* The fields of a tensor that say which elements. Those beyond rank are 0, so that equal regions have equal bytes. */
struct tl_region {
    uint64_t start_offset;
    uint64_t strides[TL_MAX_DIMS];
    uint32_t shape[TL_MAX_DIMS];
    uint8_t dtype, rank;
    uint8_t reserved[2]; /* 0 */
};
_Static_assert(sizeof(struct tl_region) == 72, "no padding: bytes are compared and hashed");

/* One reason for a dependency, as deps.json lists it. Several may name one predecessor. */
struct tl_edge {
    uint64_t pred;
    const struct tl_region *producer; /* tensormap: what the predecessor wrote (or read, before this task writes) */
    int32_t arg;                      /* index into the task's tensors; -1 for explicit */
    uint8_t source;                   /* enum tl_edge_source */
    uint8_t flags;                    /* TL_EDGE_* */
};

/* One predecessor that has not retired, with the WAIT and RETAIN of all its edges together. */
struct tl_pred {
    uint64_t id;
    uint32_t flags; /* TL_EDGE_WAIT | TL_EDGE_RETAIN */
    uint32_t slot;  /* id's slot in its ring */
};

enum tl_resource { TL_RESOURCE_WINDOW, TL_RESOURCE_HEAP, TL_RESOURCE_DEP_POOL };

/* What a plan could not get: it needs `need` slots, bytes or entries, and `size - used` are free. `need_min`: what the
 * task takes of an empty ring, once all before it is complete; if that is above `size`, the task alone does not fit. */
struct tl_lack {
    uint32_t resource; /* enum tl_resource */
    uint32_t ring;
    uint64_t need, used, size, need_min;
};

/* What tl__graph_plan decided. The arrays are the graph's, valid until its next call. */
struct tl_plan {
    tl_task_id id;
    uint32_t ring, slot;
    uint32_t n_preds, n_edges;
    const struct tl_pred *preds; /* each predecessor once, in order of first mention */
    const struct tl_edge *edges; /* explicit ones first, then by argument: creator, then tensormap */
    uint64_t dep_first;          /* the task's entries: (dep_first + i) % dep_pool for i < n_preds; counts from 0 */
    uint32_t payload_bytes;      /* what tl__plan_write_payload writes; a multiple of 8 */
    uint32_t scope_depth;        /* open scopes around the task */
    bool manual;                 /* in a manual scope */
    struct tl_lack lack;         /* set with TL_EAGAIN (and TL_ENOSPC) only */

    /* For tl__plan_write_payload. */
    const struct tl_task_args *args; /* borrowed; NULL for tl__graph_plan_alloc */
    struct tl_subtasks subtasks;
    uint32_t tagged_mask;                /* tensors selected by tl_dump_tag */
    uint64_t out_buffer[TL_MAX_TENSORS]; /* address of each allocated output */
    uint64_t out_bytes[TL_MAX_TENSORS];
};

/* A half-open range of tasks of one ring, by local id. */
struct tl_range {
    uint32_t ring, first, end;
};

/* An open scope. Depth 0 is the outermost. */
struct tl_scope_info {
    const char *file; /* within the caller's, static: tl__source_name of it */
    int line;
    uint32_t depth, ring;
    enum tl_scope_kind kind;
};

/* Monotonic positions: used = head - tail. */
struct tl_ring_usage {
    uint64_t task_tail, task_head, heap_tail, heap_head, dep_tail, dep_head;
    uint64_t
        heap_skipped; /* of both heap positions: bytes that they skipped when the empty heap began again at its start */
};

/* A value that tl_dump_tag marked. */
struct tl_tag {
    const char *name, *file; /* the caller's, static; file: tl__source_name of it */
    int line;
    bool consumed; /* some later task took it */
};

/* 0; TL_EINVAL with the option at fault in *reterr; TL_ENOMEM. `opts` is copied. */
int tl__graph_create(const struct tl_graph_opts *opts, struct tl_graph **ret_graph, struct tl_error *reterr);
/* Empties a graph for another use of the memory that it has touched. False: `opts` has other windows or cannot be used;
 * destroy it and create another. What it returned ends either way. */
bool tl__graph_reset(struct tl_graph *g, const struct tl_graph_opts *opts);
/* NULL is fine. What the graph returned ends with it. */
void tl__graph_destroy(struct tl_graph *g);

/*
 * Scopes. begin returns the depth of the new scope (>= 0) or TL_ENOMEM; its tasks go to ring min(depth, rings - 1).
 * Tasks outside any scope go to ring 0. end closes the innermost and sets *ret_ranges to the tasks that it alone held,
 * which may be several ranges where scopes share a ring (the graph's, until its next call); returns how many, or
 * TL_EGRAPH if none is open. finish ends the orchestration the same way, for the tasks outside any scope; TL_EGRAPH
 * with the site in *reterr if a scope is still open.
 */
int tl__graph_scope_begin(struct tl_graph *g, enum tl_scope_kind kind, const char *file, int line);
int tl__graph_scope_end(struct tl_graph *g, const struct tl_range **ret_ranges);
int tl__graph_finish(struct tl_graph *g, const struct tl_range **ret_ranges, struct tl_error *reterr);
/* The innermost open scope, or NULL outside any. The graph's, until its next call. */
const struct tl_scope_info *tl__graph_scope(const struct tl_graph *g);
/* Open scopes, and the one of that depth (below that number). The graph's, until its next call. */
uint32_t tl__graph_depth(const struct tl_graph *g);
const struct tl_scope_info *tl__graph_scope_at(const struct tl_graph *g, uint32_t depth);
/* Scopes that have begun so far. */
uint32_t tl__graph_scopes(const struct tl_graph *g);
/* "task r0t5": the one that a plan would make now. `buf` holds at least 40 bytes; returned. */
const char *tl__graph_task_name(const struct tl_graph *g, char *buf);

/*
 * Plans one task. 0: *plan is set, the allocated tensors are written to their lvalues, later plans depend on this one.
 * TL_EAGAIN: a ring is full, plan->lack says what is missing, nothing has changed. TL_ENOSPC: it can never fit, or
 * an image is full. TL_EGRAPH: the arguments are wrong. TL_ENOMEM. All errors but TL_EAGAIN have a line in *reterr,
 * which names task, argument and what to do. `args` is borrowed until the payload is written.
 */
int tl__graph_plan(struct tl_graph *g, const struct tl_task_args *args, const struct tl_subtasks *subtasks,
                   struct tl_plan *plan, struct tl_error *reterr);
/* The same for a task without kernel that only owns memory: allocates each of `tensors` and writes it back. The device
 * completes it at once. Its payload has no arguments. */
int tl__graph_plan_alloc(struct tl_graph *g, struct tl_tensor *const *tensors, uint32_t count, struct tl_plan *plan,
                         struct tl_error *reterr);
/* Writes plan->payload_bytes to `dest` (8-byte aligned, the device's): once, before the args change. */
void tl__plan_write_payload(const struct tl_plan *plan, struct tl_task_payload *dest);

/* All tasks of `ring` below `new_tail` are retired. Monotonic; an image ignores it. */
void tl__graph_retired(struct tl_graph *g, uint32_t ring, uint32_t new_tail);
/* All tasks so far are complete, also those that their scopes hold. Their dep-pool entries are no longer needed and are
 * released; a later task takes none to wait for one of them, and still one for each that it retains. False: nothing was
 * released. */
bool tl__graph_all_complete(struct tl_graph *g);

struct tl_ring_usage tl__graph_usage(const struct tl_graph *g, uint32_t ring);
/* Writes that later tasks may depend on (what scope_stats calls tensormap); readers are counted separately. */
uint32_t tl__graph_writers(const struct tl_graph *g);
uint32_t tl__graph_readers(const struct tl_graph *g);

/* One line: which ring, how full, what holds it, and which flag to set to what. For a plan that got TL_EAGAIN while
 * nothing can progress. Truncated to `n`; always ends with a 0 byte. */
void tl__graph_explain_full(const struct tl_graph *g, const struct tl_lack *lack, char *buf, size_t n);

/*
 * tl_dump_tag: later tasks that take exactly the value *t (as INPUT or INOUT) get it selected. Writes t->tag. Does
 * nothing at dump levels 0 and 2. 0, TL_EGRAPH with a line (a tensor without memory), TL_ENOMEM. Strings are borrowed.
 */
int tl__graph_tag(struct tl_graph *g, struct tl_tensor *t, const char *name, const char *file, int line,
                  struct tl_error *reterr);
/* All tags so far, in order; the graph's, until the next one is made. */
const struct tl_tag *tl__graph_tags(const struct tl_graph *g, uint32_t *ret_count);

static inline uint32_t tl__task_ring(tl_task_id id)
{
    return (uint32_t)(id >> 32);
}

static inline uint32_t tl__task_local(tl_task_id id)
{
    return (uint32_t)id;
}

#endif
