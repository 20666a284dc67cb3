/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/deps_replay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "graph/region.h"

/* Where the replay's rings allocate. Nothing is stored there: addresses have to differ, and there have to be enough. */
#define HEAP_BYTES (UINT64_C(1) << 56)

/* An edge of either side, and where it is. */
struct side {
    struct tl_wire_deps_edge edge;
    size_t at;
};

#define SCOPES_PER_TASK 256u /* that a recording may open on average, besides the deepest there can be once */

struct tl_deps_replay {
    struct tl_graph *graph;
    tl_deps_lookup lookup;
    void *ctx;
    uint64_t may_open;   /* scopes: what the records so far allow */
    TL_VEC(bool) manual; /* by open scope; of an outer one without tasks of its own it is a guess, which nobody sees */
    struct tl_task_args args;
    struct tl_tensor out[TL_MAX_TENSORS];
    /* Of tl_alloc_tensors, room for n_fresh. */
    struct tl_tensor *fresh, **fresh_at;
    uint32_t n_fresh;
    TL_VEC(struct tl_deps_found) found;
    TL_VEC(struct side) rules, runtime;
};

int tl__deps_replay_create(uint32_t rings, const uint64_t *tasks, tl_deps_lookup lookup, void *ctx,
                           struct tl_deps_replay **ret_replay, struct tl_error *reterr)
{
    struct tl_graph_opts opts = {.rings = rings};
    struct tl_deps_replay *r;
    int code;

    for (uint32_t i = 0; i < rings; i++) {
        opts.task_window[i] = 2;
        while (opts.task_window[i] < tasks[i] && opts.task_window[i] < TL_TASK_WINDOW_MAX)
            opts.task_window[i] *= 2;
        if (opts.task_window[i] < tasks[i])
            return tl__fail(reterr, TL_ERANGE, "%llu tasks of ring %u are more than a graph holds at once, %u",
                            (unsigned long long)tasks[i], i, TL_TASK_WINDOW_MAX);
        opts.dep_pool[i] = UINT32_MAX;
        opts.heap[i] = HEAP_BYTES * (i + 1);
        opts.heap_bytes[i] = HEAP_BYTES;
    }
    r = tl__alloc(1, sizeof(*r));
    if (r == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the replay of a graph");
    r->lookup = lookup;
    r->ctx = ctx;
    r->may_open = TL_DEPS_MAX_DEPTH;
    code = tl__graph_create(&opts, &r->graph, reterr);
    if (code < 0) {
        tl__free(r);
        return code;
    }
    *ret_replay = r;
    return 0;
}

void tl__deps_replay_destroy(struct tl_deps_replay *r)
{
    if (r == NULL)
        return;
    tl__graph_destroy(r->graph);
    tl_vec_fini(&r->manual);
    tl__free(r->fresh);
    tl__free(r->fresh_at);
    tl_vec_fini(&r->found);
    tl_vec_fini(&r->rules);
    tl_vec_fini(&r->runtime);
    tl__free(r);
}

/* --- making the submit -------------------------------------------------------------------------------------------- */

static void close_scope(struct tl_deps_replay *r)
{
    const struct tl_range *ranges;

    assert(r->manual.count > 0); /* CI14 */
    (void)tl__graph_scope_end(r->graph, &ranges);
    r->manual.count--;
}

static int open_scope(struct tl_deps_replay *r, bool manual)
{
    if (r->may_open == 0)
        return TL_ECORRUPT;
    r->may_open--;
    if (tl_vec_push(&r->manual, manual) < 0)
        return TL_ENOMEM;
    if (tl__graph_scope_begin(r->graph, manual ? TL_SCOPE_MANUAL : TL_SCOPE_AUTO, "replay", 0) >= 0)
        return 0;
    r->manual.count--;
    return TL_ENOMEM;
}

/* Opens and ends scopes until the next task is in its scope. Two scopes one after the other of one kind and depth
 * count as one here: an owner then stays good for longer than it was, which takes nothing away. A record of 128 bytes
 * may name any depth: how many scopes are opened in all goes by how many records there are. */
static int enter_scope(struct tl_deps_replay *r, uint32_t depth, bool manual)
{
    int code;

    r->may_open += SCOPES_PER_TASK;
    while (r->manual.count > depth)
        close_scope(r);
    if (depth > 0 && r->manual.count == depth && r->manual.items[depth - 1] != manual)
        close_scope(r);
    while (r->manual.count < depth)
        if ((code = open_scope(r, r->manual.count + 1 == depth && manual)) < 0)
            return code;
    assert(r->manual.count == depth);                           /* CI14 */
    assert(depth == 0 || r->manual.items[depth - 1] == manual); /* CI14 */
    return 0;
}

static struct tl_tensor without_memory(const struct tl_tensor *t)
{
    struct tl_tensor fresh = *t;

    fresh.buffer = fresh.buffer_bytes = 0;
    fresh.owner = TL_NO_TASK;
    return fresh;
}

static int room_for_fresh(struct tl_deps_replay *r, uint32_t n)
{
    if (n <= r->n_fresh)
        return 0;
    tl__free(r->fresh);
    tl__free(r->fresh_at);
    r->fresh = tl__alloc(n, sizeof(*r->fresh));
    r->fresh_at = tl__alloc(n, sizeof(void *));
    r->n_fresh = r->fresh != NULL && r->fresh_at != NULL ? n : 0;
    return r->n_fresh != 0 ? 0 : TL_ENOMEM;
}

static int plan_alloc(struct tl_deps_replay *r, const struct tl_deps_submit *s, struct tl_plan *plan,
                      struct tl_error *err)
{
    uint32_t n = s->task->n_args;

    if (room_for_fresh(r, n) < 0)
        return tl__fail(err, TL_ENOMEM, "no memory for %u tensors", n);
    for (uint32_t i = 0; i < n; i++) {
        r->fresh[i] = without_memory(&s->args[i].tensor);
        r->fresh_at[i] = &r->fresh[i];
    }
    assert(r->n_fresh >= n); /* CI14 */
    return tl__graph_plan_alloc(r->graph, r->fresh_at, n, plan, err);
}

static int plan_task(struct tl_deps_replay *r, const struct tl_deps_submit *s, struct tl_plan *plan,
                     struct tl_error *err)
{
    const struct tl_subtasks subtasks = {.func = {s->task->func[0], s->task->func[1], s->task->func[2]}};
    struct tl_task_args *args = &r->args;

    assert(s->task->n_args <= TL_MAX_TENSORS); /* CI13: the record was checked */
    args->n_tensors = s->task->n_args;
    args->block_num = s->task->block_num;
    args->deps = s->deps;
    args->n_deps = s->task->n_deps;
    for (uint32_t i = 0; i < args->n_tensors; i++) {
        struct tl_tensor_arg *a = &args->tensors[i];

        *a = (struct tl_tensor_arg){.tensor = s->args[i].tensor, .direction = s->args[i].direction};
        if (a->direction != TL_OUT)
            continue;
        a->tensor = without_memory(&a->tensor);
        a->out = &r->out[i];
    }
    return tl__graph_plan(r->graph, args, &subtasks, plan, err);
}

#define TASK_NAME "r%ut%u"
#define TASK_OF(id) (unsigned)((id) >> 32), (unsigned)(id)

static int plan(struct tl_deps_replay *r, const struct tl_deps_submit *s, struct tl_plan *ret_plan,
                struct tl_error *reterr)
{
    const struct tl_wire_deps_task *t = s->task;
    bool manual = (t->flags & TL_WIRE_DEPS_MANUAL) != 0;
    struct tl_error err = {0};
    int code = enter_scope(r, t->depth, manual);

    if (code == TL_ECORRUPT)
        return tl__fail(reterr, code,
                        "task " TASK_NAME " at scope depth %u: the tasks so far would have opened more than %u scopes "
                        "and %u for each of them",
                        TASK_OF(t->task_id), t->depth, TL_DEPS_MAX_DEPTH, SCOPES_PER_TASK);
    if (code < 0)
        return tl__fail(reterr, code, "no memory for the scopes of a graph");
    code = (t->flags & TL_WIRE_DEPS_ALLOC) != 0 ? plan_alloc(r, s, ret_plan, &err) : plan_task(r, s, ret_plan, &err);
    if (code == TL_ENOMEM)
        return tl__fail(reterr, code, "%s", err.msg);
    if (code < 0)
        return tl__fail(reterr, TL_ECORRUPT, "task " TASK_NAME ": the runtime accepted it, and its rules refuse it: %s",
                        TASK_OF(t->task_id), err.msg);
    if (ret_plan->id != t->task_id || ret_plan->manual != manual)
        return tl__fail(reterr, TL_ECORRUPT, "task " TASK_NAME " at scope depth %u: the rules make it " TASK_NAME "%s",
                        TASK_OF(t->task_id), t->depth, TASK_OF(ret_plan->id), ret_plan->manual ? ", manual" : "");
    return 0;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static bool was_gone(const struct tl_wire_deps_task *t, uint64_t pred)
{
    return (uint32_t)pred < t->tail[pred >> 32];
}

/* What the rules find into `found`, and into `rules` as the runtime should have decided it. */
static int take_edges(struct tl_deps_replay *r, const struct tl_deps_submit *s, const struct tl_plan *p)
{
    if (tl_vec_reserve(&r->found, p->n_edges) < 0 || tl_vec_reserve(&r->rules, p->n_edges + (size_t)1) < 0)
        return TL_ENOMEM; /* the one more: there is memory even for none */
    r->found.count = r->rules.count = 0;
    for (uint32_t i = 0; i < p->n_edges; i++) {
        const struct tl_edge *e = &p->edges[i];
        struct tl_deps_found *f = &r->found.items[r->found.count++];
        struct side *side = &r->rules.items[r->rules.count];

        f->pred = e->pred;
        f->arg = e->arg;
        f->source = e->source;
        f->flags = e->flags;
        f->gone = was_gone(s->task, e->pred);
        if (e->producer != NULL)
            f->producer = *e->producer;
        if (f->gone && e->source != TL_EDGE_EXPLICIT) /* its accesses had left the map */
            continue;
        r->rules.count++;
        side->at = i;
        side->edge = (struct tl_wire_deps_edge){.pred = e->pred,
                                                .view = e->producer != NULL ? tl__region_hash(e->producer) : 0,
                                                .arg = (int8_t)e->arg,
                                                .source = e->source,
                                                .flags = (uint8_t)(e->flags | (f->gone ? TL_EDGE_GONE : 0))};
    }
    assert(r->found.count == p->n_edges && r->rules.count <= r->found.count); /* CI14 */
    return 0;
}

static bool same_in_order(const struct tl_deps_replay *r, const struct tl_deps_submit *s)
{
    if (r->rules.count != s->task->n_edges)
        return false;
    for (size_t i = 0; i < r->rules.count; i++)
        if (memcmp(&r->rules.items[i].edge, &s->edges[i], sizeof(s->edges[i])) != 0)
            return false;
    return true;
}

static int order_of(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By argument, source, predecessor, then what may differ. */
static int by_edge(const void *left, const void *right)
{
    const struct tl_wire_deps_edge *a = &((const struct side *)left)->edge, *b = &((const struct side *)right)->edge;
    int c = a->arg - b->arg;

    if (c == 0)
        c = a->source - b->source;
    if (c == 0)
        c = order_of(a->pred, b->pred);
    if (c == 0)
        c = order_of(a->view, b->view);
    return c != 0 ? c : a->flags - b->flags;
}

static int sort_sides(struct tl_deps_replay *r, const struct tl_deps_submit *s)
{
    if (tl_vec_reserve(&r->runtime, s->task->n_edges + (size_t)1) < 0)
        return TL_ENOMEM;
    r->runtime.count = s->task->n_edges;
    for (size_t i = 0; i < r->runtime.count; i++)
        r->runtime.items[i] = (struct side){.edge = s->edges[i], .at = i};
    qsort(r->rules.items, r->rules.count, sizeof(*r->rules.items), by_edge);
    qsort(r->runtime.items, r->runtime.count, sizeof(*r->runtime.items), by_edge);
    return 0;
}

/* "explicit, wait" or "argument 2, tensormap, wait, covered". */
static const char *describe(const struct tl_wire_deps_edge *e, char *text, size_t size)
{
    static const char *const sources[] = {"explicit", "creator", "tensormap"};
    char arg[24] = "";

    if (e->arg >= 0)
        (void)snprintf(arg, sizeof(arg), "argument %d, ", e->arg);
    (void)snprintf(text, size, "%s%s%s%s%s%s", arg, sources[e->source], (e->flags & TL_EDGE_WAIT) ? ", wait" : "",
                   (e->flags & TL_EDGE_RETAIN) ? ", retain" : "",
                   e->source != TL_EDGE_TENSORMAP      ? ""
                   : (e->flags & TL_EDGE_COVERED) != 0 ? ", covered"
                                                       : ", other",
                   (e->flags & TL_EDGE_GONE) ? ", gone" : "");
    return text;
}

/* One side has an edge that the other has otherwise, or (NULL) not at all. */
static int differ(const struct tl_deps_submit *s, const struct tl_wire_deps_edge *rules,
                  const struct tl_wire_deps_edge *runtime, struct tl_error *reterr)
{
    const struct tl_wire_deps_edge *e = rules != NULL ? rules : runtime;
    char a[80] = "no such edge", b[80] = "no such edge";

    if (rules != NULL)
        (void)describe(rules, a, sizeof(a));
    if (runtime != NULL)
        (void)describe(runtime, b, sizeof(b));
    return tl__fail(
        reterr, TL_ECORRUPT,
        "task " TASK_NAME ", edge from " TASK_NAME ": the runtime decided: %s; its rules say: %s%s",
        TASK_OF(s->task->task_id), TASK_OF(e->pred), b, a,
        rules != NULL && runtime != NULL && rules->view != runtime->view ? "; the producer's view is another" : "");
}

/* Whether the rules may as well say no: it is not known whether the two views touch a common byte. */
static bool is_guess(const struct tl_tensor *consumer, const struct tl_region *producer)
{
    struct tl_tensor t = {.buffer_bytes = consumer->buffer_bytes,
                          .start_offset = producer->start_offset,
                          .dtype = producer->dtype,
                          .rank = producer->rank};
    struct tl_extent ec, ep;
    struct tl_region rc;

    memcpy(t.strides, producer->strides, sizeof(t.strides));
    memcpy(t.shape, producer->shape, sizeof(t.shape));
    tl__region_of(consumer, &rc);
    return tl__region_measure(consumer, &ec) && tl__region_measure(&t, &ep) &&
           tl__region_overlap(&rc, &ec, producer, &ep) == TL_OVERLAP_MAYBE;
}

/* An edge that only the rules have; `other`: what the runtime has in its place, or NULL. */
static int only_rules(struct tl_deps_replay *r, const struct tl_deps_submit *s, const struct side *side,
                      const struct tl_wire_deps_edge *other, struct tl_error *reterr)
{
    struct tl_deps_found *f = &r->found.items[side->at];

    assert(side->at < r->found.count && f->pred == side->edge.pred);                          /* CI14 */
    assert(f->source != TL_EDGE_TENSORMAP || (f->arg >= 0 && f->arg < (int)s->task->n_args)); /* CI14 */
    if (f->source != TL_EDGE_TENSORMAP || !is_guess(&s->args[f->arg].tensor, &f->producer))
        return differ(s, &side->edge, other, reterr);
    f->pred = TL_NO_TASK; /* swept out below */
    return 0;
}

/* An edge that only the runtime has; `other`: what the rules have in its place, or NULL. */
static int only_runtime(struct tl_deps_replay *r, const struct tl_deps_submit *s, const struct side *side,
                        const struct tl_wire_deps_edge *other, struct tl_error *reterr)
{
    const struct tl_wire_deps_edge *e = &side->edge;
    struct tl_deps_found f = {.pred = e->pred, .arg = e->arg, .source = e->source, .flags = e->flags};

    if (e->source != TL_EDGE_TENSORMAP || e->arg < 0 || (uint32_t)e->arg >= s->task->n_args ||
        was_gone(s->task, e->pred) || e->flags != TL_EDGE_WAIT ||
        !r->lookup(r->ctx, e->pred, s->args[e->arg].tensor.buffer, e->view, &f.producer) ||
        !is_guess(&s->args[e->arg].tensor, &f.producer))
        return differ(s, other, e, reterr);
    return tl_vec_push(&r->found, f);
}

/* Of one predecessor, by one argument: what is otherwise is the view, or the flags. */
static bool same_reason(const struct side *a, const struct side *b)
{
    return a->edge.arg == b->edge.arg && a->edge.source == b->edge.source && a->edge.pred == b->edge.pred;
}

/* Takes out what the runtime has decided against. */
static void sweep(struct tl_deps_replay *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->found.count; i++)
        if (r->found.items[i].pred != TL_NO_TASK)
            r->found.items[kept++] = r->found.items[i];
    assert(kept <= r->found.count); /* CI14 */
    r->found.count = kept;
}

/* Edge by edge, whatever the order. */
static int compare(struct tl_deps_replay *r, const struct tl_deps_submit *s, struct tl_error *reterr)
{
    const struct side *a = r->rules.items, *a_end = a + r->rules.count;
    const struct side *b = r->runtime.items, *b_end = b + r->runtime.count;
    int code = 0;

    while (a != a_end && b != b_end && code == 0) {
        int c = by_edge(a, b);

        if (c < 0)
            code = only_rules(r, s, a, same_reason(a, b) ? &b->edge : NULL, reterr);
        else if (c > 0)
            code = only_runtime(r, s, b, same_reason(a, b) ? &a->edge : NULL, reterr);
        a += c <= 0;
        b += c >= 0;
    }
    for (; a != a_end && code == 0; a++)
        code = only_rules(r, s, a, NULL, reterr);
    for (; b != b_end && code == 0; b++)
        code = only_runtime(r, s, b, NULL, reterr);
    sweep(r);
    return code;
}

int tl__deps_replay(struct tl_deps_replay *r, const struct tl_deps_submit *s, const struct tl_deps_found **ret_found,
                    size_t *ret_count, struct tl_error *reterr)
{
    struct tl_plan p;
    int code = plan(r, s, &p, reterr);

    if (code < 0)
        return code;
    code = take_edges(r, s, &p);
    if (code == 0 && !same_in_order(r, s)) {
        code = sort_sides(r, s);
        if (code == 0)
            code = compare(r, s, reterr);
    }
    if (code == TL_ENOMEM)
        return tl__fail(reterr, code, "no memory for the edges of a task");
    assert(r->found.count <= r->found.capacity); /* CI14 */
    *ret_found = r->found.items;
    *ret_count = r->found.count;
    return code;
}
