/* SPDX-License-Identifier: Apache-2.0 */
/* Making and ending a graph; what retired tasks release. */
#include "graph/graph_impl.h"

#include "base/env.h"

static int check_ring(const struct tl_graph_opts *o, uint32_t r, struct tl_error *reterr)
{
    if (o->task_window[r] < 2 || (o->task_window[r] & (o->task_window[r] - 1)) != 0)
        return tl__fail(reterr, TL_EINVAL, "--task-window: %u of ring %u is not a power of two of at least 2",
                        o->task_window[r], r);
    if (o->task_window[r] > TL_TASK_WINDOW_MAX)
        return tl__fail(reterr, TL_EINVAL, "--task-window: %u of ring %u is more than %u", o->task_window[r], r,
                        TL_TASK_WINDOW_MAX);
    if (o->dep_pool[r] == 0)
        return tl__fail(reterr, TL_EINVAL, "--dep-pool: ring %u needs at least 1 entry", r);
    if (o->heap_bytes[r] % TL_GRAPH_ALIGN != 0 || o->heap[r] % TL_GRAPH_ALIGN != 0)
        return tl__fail(reterr, TL_EINVAL, "--heap-bytes: ring %u: size and address must be multiples of %u", r,
                        (unsigned)TL_GRAPH_ALIGN);
    if (o->heap_bytes[r] != 0 && o->heap[r] == 0)
        return tl__fail(reterr, TL_EINVAL, "ring %u: a heap of %llu bytes without an address", r,
                        (unsigned long long)o->heap_bytes[r]);
    return 0;
}

static void ring_begin(struct tl_graph_ring *ring, const struct tl_graph_opts *o, uint32_t r,
                       struct tl_graph_slot *slots)
{
    *ring = (struct tl_graph_ring){.slots = slots,
                                   .heap = o->heap[r],
                                   .heap_bytes = o->heap_bytes[r],
                                   .window = o->task_window[r],
                                   .dep_pool = o->dep_pool[r]};
}

static int ring_init(struct tl_graph_ring *ring, const struct tl_graph_opts *o, uint32_t r)
{
    ring_begin(ring, o, r, tl__reserve(o->task_window[r] * sizeof(*ring->slots)));
    return ring->slots == NULL ? TL_ENOMEM : 0;
}

int tl__graph_create(const struct tl_graph_opts *opts, struct tl_graph **ret_graph, struct tl_error *reterr)
{
    struct tl_graph *g;
    uint32_t slots = 0;
    int code = 0;

    if (opts->rings < 1 || opts->rings > TL_GRAPH_RINGS)
        return tl__fail(reterr, TL_EINVAL, "a graph has 1 to %u rings, not %u", TL_GRAPH_RINGS, opts->rings);
    for (uint32_t r = 0; r < opts->rings && code == 0; r++)
        code = check_ring(opts, r, reterr);
    if (code < 0)
        return code;
    g = tl__alloc(1, sizeof(*g));
    if (g == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a graph");
    g->opts = *opts;
    tl__tags_init(&g->tags);
    for (uint32_t r = 0; r < opts->rings; r++)
        slots += opts->task_window[r];
    assert(slots <= UINT32_MAX / TL_MAX_TENSORS); /* GI8: the tensormap counts its entries in 32 bits */
    code = tl__map_init(&g->map, slots * TL_MAX_TENSORS);
    if (code == 0)
        code = tl__scopes_init(g);
    for (uint32_t r = 0; r < opts->rings && code == 0; r++)
        code = ring_init(&g->rings[r], opts, r);
    if (code < 0) {
        tl__graph_destroy(g);
        return tl__fail(reterr, code, "no memory for the rings of a graph");
    }
    *ret_graph = g;
    return 0;
}

/* The slots keep their contents: only a plan's serial is read before it is written, and serials continue. */
bool tl__graph_reset(struct tl_graph *g, const struct tl_graph_opts *opts)
{
    struct tl_error err;

    if (opts->rings != g->opts.rings)
        return false;
    for (uint32_t r = 0; r < opts->rings; r++)
        if (opts->task_window[r] != g->opts.task_window[r] || check_ring(opts, r, &err) < 0)
            return false;
    if (tl__map_reset(&g->map) < 0)
        return false;
    g->opts = *opts;
    for (uint32_t r = 0; r < opts->rings; r++)
        ring_begin(&g->rings[r], opts, r, g->rings[r].slots);
    tl__tags_fini(&g->tags);
    tl__tags_init(&g->tags);
    assert(g->map.n_entries == 0 && g->map.count[TL_MAP_WRITER] + g->map.count[TL_MAP_READER] == 0); /* GI8 */
    g->frames.count = g->ranges.count = g->edges.count = g->preds.count = g->replaced.count = 0;
    g->frame_serial = 0;
    return tl__scopes_init(g) == 0;
}

void tl__graph_destroy(struct tl_graph *g)
{
    if (g == NULL)
        return;
    for (uint32_t r = 0; r < g->opts.rings; r++)
        if (g->rings[r].slots != NULL)
            tl__release(g->rings[r].slots, g->rings[r].window * sizeof(*g->rings[r].slots));
    tl__map_fini(&g->map);
    tl__tags_fini(&g->tags);
    tl_vec_fini(&g->frames);
    tl_vec_fini(&g->ranges);
    tl_vec_fini(&g->edges);
    tl_vec_fini(&g->preds);
    tl_vec_fini(&g->replaced);
    tl__free(g);
}

void tl__graph_retired(struct tl_graph *g, uint32_t ring, uint32_t new_tail)
{
    struct tl_graph_ring *r = &g->rings[ring];

    assert(ring < g->opts.rings);
    if (!g->opts.recycle || new_tail > r->task_head)
        return;
    for (; r->task_tail < new_tail; r->task_tail++) {
        struct tl_graph_slot *slot = tl__slot(r, (uint32_t)r->task_tail);

        assert(slot->heap_end <= r->heap_head && slot->dep_end <= r->dep_head); /* GI6 */
        assert(!tl__scope_is_open(g, slot) || slot->frame == 0);                /* GI6: its scope has released it */
        tl__map_drop_chain(&g->map, &slot->entries);
        /* An empty heap may have continued at its start meanwhile, past the end that this task has. */
        if (slot->heap_end > r->heap_tail)
            r->heap_tail = slot->heap_end;
        if (slot->dep_end > r->dep_tail) /* they may have been released before */
            r->dep_tail = slot->dep_end;
    }
    tl__ring_assert(r);
}

bool tl__graph_all_complete(struct tl_graph *g)
{
    bool any = false;

    for (uint32_t i = 0; i < g->opts.rings && g->opts.recycle; i++) {
        struct tl_graph_ring *r = &g->rings[i];

        tl__ring_assert(r);
        any |= r->complete != r->task_head || r->dep_tail != r->dep_head;
        r->complete = r->task_head;
        r->dep_tail = r->dep_head;
    }
    return any;
}

struct tl_ring_usage tl__graph_usage(const struct tl_graph *g, uint32_t ring)
{
    const struct tl_graph_ring *r = &g->rings[ring];

    assert(ring < g->opts.rings);
    tl__ring_assert(r);
    return (struct tl_ring_usage){
        .task_tail = r->task_tail,
        .task_head = r->task_head,
        .heap_tail = r->heap_tail,
        .heap_head = r->heap_head,
        .heap_skipped = r->heap_skipped,
        .dep_tail = r->dep_tail,
        .dep_head = r->dep_head,
    };
}

uint32_t tl__graph_writers(const struct tl_graph *g)
{
    return g->map.count[TL_MAP_WRITER];
}

uint32_t tl__graph_readers(const struct tl_graph *g)
{
    return g->map.count[TL_MAP_READER];
}
