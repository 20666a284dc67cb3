/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside a graph; for src/graph alone. */
#ifndef TL_GRAPH_IMPL_H
#define TL_GRAPH_IMPL_H

#include <assert.h>

#include "base/error.h"
#include "base/vec.h"
#include "graph/graph.h"
#include "graph/tensormap.h"

/* What must be known of a task until it retires. */
struct tl_graph_slot {
    uint64_t heap_end, dep_end; /* the ring's heads after this task */
    uint32_t entries;           /* its chain in the tensormap */
    uint32_t frame;             /* scope it was submitted in: index and serial of its frame */
    uint32_t frame_serial;
    uint32_t seen_by; /* serial of the plan that has this task among its preds, and where */
    uint32_t seen_at;
    uint32_t reserved;
};

/* Positions only grow; a physical place is position mod size. */
struct tl_graph_ring {
    struct tl_graph_slot *slots;
    uint64_t task_tail, task_head;
    uint64_t heap_tail, heap_head;
    uint64_t dep_tail, dep_head;
    uint64_t complete; /* tasks below it are */
    uint64_t heap, heap_bytes;
    uint64_t heap_phys;    /* heap_head mod heap_bytes */
    uint64_t heap_skipped; /* bytes that both positions skipped while they were equal */
    uint32_t window, dep_pool;
};

/* An open scope; frame 0 is "outside any scope". The current segment is [first, head of the ring). */
struct tl_frame {
    struct tl_scope_info info;
    uint32_t serial;
    uint32_t first;
    uint32_t n_ranges; /* segments that ended when an inner scope on the same ring began */
};

struct tl_tag_entry {
    uint64_t buffer, owner;
    struct tl_region region;
    uint32_t version;
    uint32_t next; /* in its bucket */
};

#define TL_TAG_BUCKETS 256u

struct tl_tags {
    TL_VEC(struct tl_tag) tags;
    TL_VEC(struct tl_tag_entry) entries; /* same indices */
    uint32_t buckets[TL_TAG_BUCKETS];
};

/* What planning finds out about each tensor argument before anything is changed. */
struct tl_arg_facts {
    struct tl_map_view view; /* of an allocated output only its extent */
    uint64_t out_at;         /* allocated outputs: position in the ring's heap */
    uint32_t tag;            /* 1 + index of the tag that it consumes, 0: none */
    bool tracked;            /* takes part in dependencies: reads or writes some byte of a buffer that exists */
};

struct tl_graph {
    struct tl_graph_opts opts;
    struct tl_graph_ring rings[TL_GRAPH_RINGS];
    struct tl_map map;
    struct tl_tags tags;
    TL_VEC(struct tl_frame) frames;
    TL_VEC(struct tl_range) ranges;
    TL_VEC(struct tl_edge) edges; /* of the last plan, as the next two */
    TL_VEC(struct tl_pred) preds;
    TL_VEC(uint32_t) replaced; /* tensormap entries that its writes cover */
    struct tl_arg_facts facts[TL_MAX_TENSORS];
    uint32_t frame_serial, plan_serial;
};

static inline struct tl_frame *tl__frame_top(const struct tl_graph *g)
{
    assert(g->frames.count > 0); /* GI5: frame 0 is always there */
    return &g->frames.items[g->frames.count - 1];
}

static inline struct tl_graph_slot *tl__slot(const struct tl_graph_ring *ring, uint32_t local)
{
    assert((ring->window & (ring->window - 1)) == 0); /* GI1 */
    return &ring->slots[local & (ring->window - 1)];
}

/* GI1: the positions of one ring agree. */
static inline void tl__ring_assert(const struct tl_graph_ring *r)
{
    assert(r->task_tail <= r->task_head && r->task_head - r->task_tail <= r->window);
    assert(r->heap_tail <= r->heap_head && r->heap_head - r->heap_tail <= r->heap_bytes);
    assert(r->dep_tail <= r->dep_head && r->dep_head - r->dep_tail <= r->dep_pool);
    assert(r->heap_bytes == 0 ? r->heap_phys == 0 : r->heap_phys == r->heap_head % r->heap_bytes);
    assert(r->complete <= r->task_head);
    (void)r;
}

/* GI2: a task that a plan may name as a predecessor: it was submitted, and has not retired. */
static inline bool tl__task_is_live(const struct tl_graph *g, tl_task_id id)
{
    uint32_t ring = tl__task_ring(id), local = tl__task_local(id);

    return ring < g->opts.rings && local >= g->rings[ring].task_tail && local < g->rings[ring].task_head;
}

/* Makes frame 0; TL_ENOMEM. */
int tl__scopes_init(struct tl_graph *g);
/* True if the scope of task `local` of `ring`, not retired, is still open. */
bool tl__scope_is_open(const struct tl_graph *g, const struct tl_graph_slot *slot);

/* The checks that need no ring: arguments, views, owners. Fills facts and regions. 0 or TL_EGRAPH with a line. */
int tl__graph_validate(struct tl_graph *g, const struct tl_task_args *args, const struct tl_subtasks *subtasks,
                       struct tl_error *reterr);
/* Output `index`, to be allocated: contiguous, known dtype, rank within limits. */
int tl__graph_check_fresh(const struct tl_graph *g, const struct tl_tensor *t, uint32_t index,
                          struct tl_extent *ret_extent, struct tl_error *reterr);
/* Starts a message about it: fails with TL_EGRAPH. */
int tl__graph_refuse(const struct tl_graph *g, struct tl_error *reterr, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* what it cannot see in another file */
#define tl__graph_refuse(g, reterr, ...) ((void)tl__graph_refuse((g), (reterr), __VA_ARGS__), TL_EGRAPH)
#endif

/* Finds the edges and predecessors of a valid task. TL_EGRAPH (a dependency on a task that was never made), TL_ENOMEM.
 */
int tl__graph_find_edges(struct tl_graph *g, const struct tl_task_args *args, bool manual, struct tl_error *reterr);

/* The newest tag of exactly this value: 1 + its index, or 0. */
uint32_t tl__tag_find(const struct tl_tags *tags, const struct tl_tensor *t);
void tl__tags_init(struct tl_tags *tags);
void tl__tags_fini(struct tl_tags *tags);

#endif
