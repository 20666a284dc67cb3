/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning in two halves. The first only reads: arguments, space in the ring, dependencies; it may fail, or find the
 * ring full, and changes nothing (except scratch memory that the next plan overwrites). The second commits and cannot
 * fail.
 */
#include "graph/graph_impl.h"

#include "base/guard_layout.h"

/* `need_min` is what the task takes of an empty ring; `need`, at the ring's present position, may be more. */
static int lacking(const struct tl_graph *g, struct tl_plan *plan, enum tl_resource resource, uint64_t need_min,
                   uint64_t need, struct tl_error *reterr)
{
    uint32_t ring = plan->ring;
    const struct tl_graph_ring *r = &g->rings[ring];
    struct tl_lack *lack = &plan->lack;
    char line[512];

    assert(need > 0);
    tl__ring_assert(r);
    *lack = (struct tl_lack){.resource = resource, .ring = ring, .need = need, .need_min = need_min};
    switch (resource) {
    case TL_RESOURCE_WINDOW:
        lack->used = r->task_head - r->task_tail;
        lack->size = r->window;
        break;
    case TL_RESOURCE_HEAP:
        lack->used = r->heap_head - r->heap_tail;
        lack->size = r->heap_bytes;
        break;
    case TL_RESOURCE_DEP_POOL:
        lack->used = r->dep_head - r->dep_tail;
        lack->size = r->dep_pool;
        break;
    }
    if (g->opts.recycle && need_min <= lack->size)
        return TL_EAGAIN;
    tl__graph_explain_full(g, lack, line, sizeof(line));
    return tl__fail(reterr, TL_ENOSPC, "%s", line);
}

/* Places the outputs of one task. Positions grow; a buffer that would cross the heap's end is placed at its start. */
struct carve {
    uint64_t tail, head, phys; /* of the ring, as they would be */
    uint64_t size;
    uint64_t skipped; /* bytes to the start of an empty heap */
    uint64_t sum;     /* of the buffers alone */
    uint32_t guard;   /* of the graph */
};

static void carve_init(const struct tl_graph *g, const struct tl_graph_ring *r, struct carve *c)
{
    *c = (struct carve){.tail = r->heap_tail,
                        .head = r->heap_head,
                        .phys = r->heap_phys,
                        .size = r->heap_bytes,
                        .guard = g->opts.guard};
    /* An empty heap begins again at its start, so that what fits into a heap at all fits now. */
    if (c->tail == c->head && c->phys != 0) {
        c->skipped = c->size - c->phys;
        c->head += c->skipped;
        c->tail = c->head;
        c->phys = 0;
    }
    assert(c->size == 0 || c->head % c->size == c->phys); /* GI1 */
    assert(c->head - c->tail <= c->size);                 /* GI1 */
}

/* Returns the position of a buffer of `bytes` with elements of `dtype`. */
static uint64_t carve_next(struct carve *c, uint64_t bytes, unsigned dtype)
{
    uint64_t at, lead = 0, size = bytes == 0 ? TL_GRAPH_ALIGN : (bytes + TL_GRAPH_ALIGN - 1) & ~(TL_GRAPH_ALIGN - 1);

    if (c->guard != 0) {
        size = tl__guard_room(bytes);
        lead = tl__guard_lead(bytes, tl__guard_align(tl_dtype_bits(dtype), c->guard));
    }
    c->sum = c->sum + size < c->sum ? UINT64_MAX : c->sum + size;
    if (c->sum > c->size)
        return 0; /* the caller looks at sum */
    if (c->phys + size > c->size) {
        c->head += c->size - c->phys;
        c->phys = 0;
    }
    at = c->phys + lead;
    c->head += size;
    assert(c->phys + size <= c->size); /* GI7: no buffer crosses the heap's end */
    assert(lead + bytes <= size && (c->guard != 0 || at % TL_GRAPH_ALIGN == 0)); /* GI7 */
    c->phys = c->phys + size == c->size ? 0 : c->phys + size;
    return at;
}

static int carve_check(const struct tl_graph *g, const struct carve *c, struct tl_plan *plan, struct tl_error *reterr)
{
    if (c->sum > c->size)
        return lacking(g, plan, TL_RESOURCE_HEAP, c->sum, c->sum, reterr);
    if (c->head - c->tail <= c->size)
        return 0;
    /* A buffer placed at the heap's start leaves the rest of its end unused; an image uses its heap only once. */
    return lacking(g, plan, TL_RESOURCE_HEAP, c->sum,
                   g->opts.recycle ? c->head - g->rings[plan->ring].heap_head : c->sum, reterr);
}

/* What a task waits for can be complete before it is planned; what it retains needs an entry in any case. */
static uint64_t min_deps(const struct tl_graph *g)
{
    uint64_t n = 0;

    for (size_t i = 0; i < g->preds.count; i++)
        n += !g->opts.recycle || (g->preds.items[i].flags & TL_EDGE_RETAIN) != 0;
    return n;
}

static int begin_plan(const struct tl_graph *g, struct tl_plan *plan, struct tl_error *reterr)
{
    const struct tl_scope_info *scope = &tl__frame_top(g)->info;
    const struct tl_graph_ring *r = &g->rings[scope->ring];

    plan->ring = scope->ring;
    plan->id = (uint64_t)scope->ring << 32 | (uint32_t)r->task_head;
    plan->slot = (uint32_t)r->task_head & (r->window - 1);
    plan->scope_depth = (uint32_t)g->frames.count - 1;
    plan->manual = scope->kind == TL_SCOPE_MANUAL;
    plan->n_preds = plan->n_edges = 0;
    plan->tagged_mask = 0;
    if (r->task_head >= UINT32_MAX)
        return tl__fail(reterr, TL_ENOSPC, "ring %u has no task id left: %u tasks in one run", scope->ring, UINT32_MAX);
    if (r->task_head - r->task_tail >= r->window)
        return lacking(g, plan, TL_RESOURCE_WINDOW, 1, 1, reterr);
    return 0;
}

static void commit_slot(struct tl_graph *g, struct tl_plan *plan, const struct carve *c)
{
    struct tl_graph_ring *r = &g->rings[plan->ring];
    struct tl_graph_slot *slot = &r->slots[plan->slot];
    const struct tl_frame *frame = tl__frame_top(g);

    assert(frame->info.ring == plan->ring &&
           plan->id == ((uint64_t)plan->ring << 32 | (uint32_t)r->task_head));                      /* GI5 */
    assert(r->task_head - r->task_tail < r->window && slot == tl__slot(r, (uint32_t)r->task_head)); /* GI1 */
    if (c->sum > 0) {
        r->heap_tail = c->tail;
        r->heap_head = c->head;
        r->heap_phys = c->phys;
        r->heap_skipped += c->skipped;
    }
    plan->dep_first = r->dep_head;
    r->dep_head += plan->n_preds;
    r->task_head++;
    slot->heap_end = r->heap_head;
    slot->dep_end = r->dep_head;
    slot->entries = TL_MAP_NONE;
    slot->frame = (uint32_t)g->frames.count - 1;
    slot->frame_serial = frame->serial;
    tl__ring_assert(r);
    assert(tl__scope_is_open(g, slot)); /* GI6 */
}

static void give_memory(struct tl_tensor *t, uint64_t buffer, uint64_t bytes, uint64_t owner)
{
    t->buffer = buffer;
    t->buffer_bytes = bytes;
    t->owner = owner;
    t->version = 0;
    t->tag = 0;
}

static void commit_tensors(struct tl_graph *g, const struct tl_task_args *args, struct tl_plan *plan)
{
    struct tl_graph_ring *r = &g->rings[plan->ring];

    for (uint32_t i = 0; i < args->n_tensors; i++) {
        const struct tl_tensor_arg *arg = &args->tensors[i];
        struct tl_arg_facts *f = &g->facts[i];

        if (arg->direction == TL_OUT) {
            plan->out_buffer[i] = r->heap + f->out_at;
            plan->out_bytes[i] = f->view.extent.hi;
            assert(f->out_at + f->view.extent.hi <= r->heap_bytes); /* GI7 */
            give_memory(arg->out, plan->out_buffer[i], f->view.extent.hi, plan->id);
        } else if (f->tracked) {
            assert(arg->direction != TL_NO_DEP && !f->view.extent.empty); /* GI9 */
            tl__map_add(&g->map, arg->tensor.buffer, arg->tensor.owner,
                        arg->direction == TL_IN ? TL_MAP_READER : TL_MAP_WRITER, &f->view, plan->id,
                        &r->slots[plan->slot].entries);
        }
        if (f->tag != 0) {
            assert(f->tag <= g->tags.tags.count);
            g->tags.tags.items[f->tag - 1].consumed = true;
            plan->tagged_mask |= 1u << i;
        }
    }
    for (size_t i = 0; i < g->replaced.count; i++)
        tl__map_unlink(&g->map, g->replaced.items[i]);
}

int tl__graph_plan(struct tl_graph *g, const struct tl_task_args *args, const struct tl_subtasks *subtasks,
                   struct tl_plan *plan, struct tl_error *reterr)
{
    struct carve carve;
    const struct tl_graph_ring *r;
    int code = begin_plan(g, plan, reterr);

    if (code == 0)
        code = tl__graph_validate(g, args, subtasks, reterr);
    if (code < 0)
        return code;
    r = &g->rings[plan->ring];
    assert(args->n_tensors <= TL_MAX_TENSORS && args->n_scalars <= TL_MAX_SCALARS); /* as validated */
    carve_init(g, r, &carve);
    for (uint32_t i = 0; i < args->n_tensors; i++)
        if (args->tensors[i].direction == TL_OUT)
            g->facts[i].out_at = carve_next(&carve, g->facts[i].view.extent.hi, args->tensors[i].tensor.dtype);
    code = carve_check(g, &carve, plan, reterr);
    if (code < 0)
        return code;
    if (tl__map_reserve(&g->map, args->n_tensors) < 0)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the tensormap");
    code = tl__graph_find_edges(g, args, plan->manual, reterr);
    if (code < 0)
        return code;
    if (g->preds.count > r->dep_pool - (r->dep_head - r->dep_tail))
        return lacking(g, plan, TL_RESOURCE_DEP_POOL, min_deps(g), g->preds.count, reterr);

    plan->args = args;
    plan->subtasks = *subtasks;
    plan->preds = g->preds.items;
    plan->n_preds = (uint32_t)g->preds.count;
    plan->edges = g->edges.items;
    plan->n_edges = (uint32_t)g->edges.count;
    plan->payload_bytes = tl__payload_bytes(args->n_tensors, args->n_scalars);
    commit_slot(g, plan, &carve);
    commit_tensors(g, args, plan);
    assert(plan->n_preds <= plan->n_edges); /* GI3: an edge names each predecessor */
    return 0;
}

int tl__graph_plan_alloc(struct tl_graph *g, struct tl_tensor *const *tensors, uint32_t count, struct tl_plan *plan,
                         struct tl_error *reterr)
{
    struct tl_extent extent;
    struct carve carve, again;
    int code = begin_plan(g, plan, reterr);

    if (code < 0)
        return code;
    carve_init(g, &g->rings[plan->ring], &carve);
    again = carve;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        if (tensors[i] == NULL)
            code = tl__graph_refuse(g, reterr, "tl_alloc_tensors: tensor %u is NULL", i);
        else if (tensors[i]->buffer != 0)
            code = tl__graph_refuse(g, reterr, "tl_alloc_tensors: tensor %u has memory already", i);
        else
            code = tl__graph_check_fresh(g, tensors[i], i, &extent, reterr);
        if (code == 0)
            (void)carve_next(&carve, extent.hi, tensors[i]->dtype);
    }
    if (code == 0)
        code = carve_check(g, &carve, plan, reterr);
    if (code < 0)
        return code;
    for (uint32_t i = 0; i < count; i++) {
        (void)tl__region_measure(tensors[i], &extent);
        give_memory(tensors[i], g->rings[plan->ring].heap + carve_next(&again, extent.hi, tensors[i]->dtype), extent.hi,
                    plan->id);
    }
    plan->args = NULL;
    plan->subtasks = (struct tl_subtasks){.func = {-1, -1, -1}};
    plan->preds = NULL;
    plan->edges = NULL;
    plan->payload_bytes = tl__payload_bytes(0, 0);
    assert(again.head == carve.head && again.phys == carve.phys); /* GI7: both passes give the same places */
    commit_slot(g, plan, &carve);
    return 0;
}
