/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dependency rules (docs/graph.md). For a task, in this order:
 *   explicit   each id given to tl_set_dependencies: wait
 *   creator    each tensor whose memory a task allocated: wait for that task, and retain it
 *   tensormap  reads wait for the last writers of what they read; writes wait for them too and for the readers since
 * In a manual scope only explicit ones wait; creators are still retained, or their memory would be released.
 * Searches only: the graph changes when the plan is committed.
 */
#include "graph/graph_impl.h"

static int add_edge(struct tl_graph *g, uint64_t pred, int32_t arg, enum tl_edge_source source, unsigned flags,
                    const struct tl_region *producer)
{
    assert(tl__task_ring(pred) < g->opts.rings);                            /* GI2 */
    assert(tl__task_local(pred) < g->rings[tl__task_ring(pred)].task_head); /* GI2: an edge leads to an earlier task */
    return tl_vec_push(
        &g->edges,
        ((struct tl_edge){
            .pred = pred, .producer = producer, .arg = arg, .source = (uint8_t)source, .flags = (uint8_t)flags}));
}

/* Counts a predecessor once, however many edges name it. A slot remembers which plan saw it last. */
static int add_pred(struct tl_graph *g, uint64_t id, unsigned flags)
{
    struct tl_graph_ring *ring = &g->rings[tl__task_ring(id)];
    struct tl_graph_slot *slot = tl__slot(ring, tl__task_local(id));

    assert(tl__task_is_live(g, id)); /* GI2 */
    assert((flags & ~(TL_EDGE_WAIT | TL_EDGE_RETAIN)) == 0 && flags != 0);
    if (tl__task_local(id) < ring->complete && !(flags & TL_EDGE_RETAIN))
        return 0;
    if (slot->seen_by == g->plan_serial) {
        assert(slot->seen_at < g->preds.count && g->preds.items[slot->seen_at].id == id); /* GI3 */
        g->preds.items[slot->seen_at].flags |= flags;
        return 0;
    }
    slot->seen_by = g->plan_serial;
    slot->seen_at = (uint32_t)g->preds.count;
    return tl_vec_push(&g->preds,
                       ((struct tl_pred){.id = id, .flags = flags, .slot = tl__task_local(id) & (ring->window - 1)}));
}

/* A serial that no slot remembers. */
static void next_serial(struct tl_graph *g)
{
    if (++g->plan_serial != 0)
        return;
    for (uint32_t r = 0; r < g->opts.rings; r++)
        for (uint32_t i = 0; i < g->rings[r].window; i++)
            g->rings[r].slots[i].seen_by = 0;
    g->plan_serial = 1;
}

static int explicit_edges(struct tl_graph *g, const struct tl_task_args *args, struct tl_error *reterr)
{
    for (uint32_t i = 0; i < args->n_deps; i++) {
        uint64_t id = args->deps[i];
        uint32_t ring = tl__task_ring(id), local = tl__task_local(id);
        unsigned flags = TL_EDGE_WAIT;
        int code;

        if (id == TL_NO_TASK) /* "nothing before it", e.g. in a loop's first turn */
            continue;
        if (ring >= g->opts.rings || local >= g->rings[ring].task_head)
            return tl__graph_refuse(g, reterr, "dependency %u names task r%ut%u, which has not been submitted", i, ring,
                                    local);
        if (local < g->rings[ring].task_tail)
            flags |= TL_EDGE_GONE;
        code = add_edge(g, id, -1, TL_EDGE_EXPLICIT, flags, NULL);
        if (code == 0 && !(flags & TL_EDGE_GONE))
            code = add_pred(g, id, TL_EDGE_WAIT);
        if (code < 0)
            return code;
    }
    return 0;
}

struct finder {
    struct tl_graph *g;
    int32_t arg;
    bool writes;
};

static int on_hit(void *ctx, const struct tl_map_hit *hit)
{
    const struct finder *f = ctx;
    struct tl_graph *g = f->g;
    const struct tl_map_entry *e = &g->map.entries[hit->entry];
    int code;

    assert(e->buffer != TL_MAP_NONE);     /* GI8: a search finds what is in its buffer's list */
    assert(tl__task_is_live(g, e->task)); /* GI8: a task's entries go when it retires */
    code = add_edge(g, e->task, f->arg, TL_EDGE_TENSORMAP, TL_EDGE_WAIT | (hit->covered ? TL_EDGE_COVERED : 0),
                    &e->region);
    if (code == 0)
        code = add_pred(g, e->task, TL_EDGE_WAIT);
    /* No later task needs to wait for what a waiting write covers: it waits for the write. */
    if (code == 0 && f->writes && hit->covered)
        code = tl_vec_push(&g->replaced, hit->entry);
    return code;
}

static int tensor_edges(struct tl_graph *g, const struct tl_tensor_arg *arg, uint32_t index, bool manual)
{
    struct finder f = {.g = g, .arg = (int32_t)index, .writes = arg->direction != TL_IN};
    struct tl_arg_facts *facts = &g->facts[index];
    uint32_t buffer;
    int code = 0;

    assert(arg->direction != TL_OUT && arg->direction != TL_NO_DEP); /* neither takes part in dependencies */
    assert(!facts->tracked || !facts->view.extent.empty);            /* GI9 */
    if (arg->tensor.owner != TL_NO_TASK) {
        unsigned flags = manual ? TL_EDGE_RETAIN : TL_EDGE_WAIT | TL_EDGE_RETAIN;

        code = add_edge(g, arg->tensor.owner, (int32_t)index, TL_EDGE_CREATOR, flags, NULL);
        if (code == 0)
            code = add_pred(g, arg->tensor.owner, flags);
    }
    if (code < 0 || manual || !facts->tracked)
        return code;
    buffer = tl__map_find(&g->map, arg->tensor.buffer, arg->tensor.owner);
    if (buffer == TL_MAP_NONE)
        return 0;
    code = tl__map_search(&g->map, buffer, TL_MAP_WRITER, &facts->view, on_hit, &f);
    if (code == 0 && f.writes)
        code = tl__map_search(&g->map, buffer, TL_MAP_READER, &facts->view, on_hit, &f);
    return code;
}

int tl__graph_find_edges(struct tl_graph *g, const struct tl_task_args *args, bool manual, struct tl_error *reterr)
{
    int code;

    next_serial(g);
    g->edges.count = g->preds.count = g->replaced.count = 0;
    code = explicit_edges(g, args, reterr);
    for (uint32_t i = 0; i < args->n_tensors && code == 0; i++)
        if (args->tensors[i].direction != TL_OUT && args->tensors[i].direction != TL_NO_DEP)
            code = tensor_edges(g, &args->tensors[i], i, manual);
    return code == TL_ENOMEM ? tl__fail(reterr, code, "no memory for the dependencies of a task") : code;
}
