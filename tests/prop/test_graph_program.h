/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs for the world of test_graph_world.h, and the rules said naively. What a test wants to know of each
 * task besides, it asks for by w_watch. One file includes it.
 */
#ifndef TEST_GRAPH_PROGRAM_H
#define TEST_GRAPH_PROGRAM_H

#include "test_graph_world.h"

/* Set by the test, for all of its worlds: before a world's first task; after a task was planned and found right, before
 * its accesses are noted; when a world is over and right. */
struct watch {
    void (*begin)(uint64_t seed);
    void (*planned)(const struct task *t, const struct tl_plan *plan);
    void (*over)(void);
};
static struct watch w_watch;

/* ---- the program ---- */

static void fill_touched(struct arg *a)
{
    const struct tl_tensor *t = &a->tensor;
    uint32_t numel = 1, size = tl_dtype_bits(t->dtype) / 8;

    memset(a->touched, 0, sizeof(a->touched));
    for (unsigned d = 0; d < t->rank; d++)
        numel *= t->shape[d];
    for (uint32_t i = 0; i < numel; i++) {
        uint64_t at = t->start_offset;
        uint32_t rest = i;

        for (unsigned d = t->rank; d-- > 0;) {
            at += rest % t->shape[d] * t->strides[d];
            rest /= t->shape[d];
        }
        for (uint32_t k = 0; k < size; k++)
            put(a->touched, (uint32_t)at * size + k);
    }
}

/* A part of a buffer: all, a run, every k-th element, a tile of a 4- or 8-wide array (now and then turned), nothing. */
static struct tl_tensor random_part(const struct buf *b)
{
    struct tl_tensor t = {.buffer = b->addr, .buffer_bytes = b->bytes, .owner = b->owner};
    uint32_t size = pick(4) == 0 && b->bytes >= 8 ? 8 : 4, n = b->bytes / size, kind = pick(8);

    t.dtype = size == 8 ? TL_INT64 : TL_FLOAT32;
    t.rank = 1;
    t.strides[0] = 1;
    t.shape[0] = n;
    if (kind == 0)
        return t;
    if (kind <= 2) {
        t.start_offset = pick(n);
        t.shape[0] = pick(n - (uint32_t)t.start_offset + 1);
    } else if (kind == 3) {
        t.strides[0] = 2 + pick(3);
        t.start_offset = pick((uint32_t)t.strides[0]);
        t.shape[0] = n <= t.start_offset ? 0 : (uint32_t)((n - t.start_offset - 1) / t.strides[0] + 1);
    } else {
        uint32_t width = pick(2) == 0 ? 4 : 8, rows = n / width, row, col;

        if (rows == 0)
            return t;
        t.rank = 2;
        row = pick(rows);
        col = pick(width);
        t.start_offset = row * width + col;
        t.shape[0] = 1 + pick(rows - row);
        t.shape[1] = 1 + pick(width - col);
        t.strides[0] = width;
        if (kind == 7)
            (void)tl_transpose(&t, 0, 1, &t);
        else
            t.strides[1] = 1;
    }
    return t;
}

/* A buffer that the program may use here: the caller's, or one whose scope is open. */
static uint32_t random_buf(void)
{
    for (;;) {
        uint32_t i = pick(w.n_bufs);
        const struct buf *b = &w.bufs[i];

        if (b->depth == 0 || (b->depth <= w.n_scopes && w.scope_serials[b->depth - 1] == b->scope_serial))
            return i;
    }
}

/* What a task writes no other of its arguments may have, unless that one says nothing of its access. */
static bool shares_what_is_written(const struct task *t, const struct arg *a)
{
    bool found = false;

    for (uint32_t i = 0; i < t->n_args; i++)
        found |= t->args[i].direction != TL_NO_DEP && (t->args[i].direction != TL_IN || a->direction != TL_IN) &&
                 t->args[i].buf == a->buf && meets(t->args[i].touched, a->touched);
    return found;
}

/* fresh[i]: where argument i is written if it is a new output. */
static void random_args(struct task *t, struct tl_task_args *args, struct tl_tensor *fresh)
{
    uint32_t n = pick(MAX_ARGS + 1);

    t->n_args = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct arg *a = &t->args[t->n_args];
        uint32_t how = pick(10);

        if (how == 0 && w.n_bufs + MAX_ARGS < MAX_BUFS) {
            uint32_t shape[1] = {1 + pick(BUF_BYTES / 4)};

            fresh[k] = tl_tensor_make(TL_FLOAT32, 1, shape);
            a->tensor = fresh[k];
            a->direction = TL_OUT;
            a->buf = UINT32_MAX;
            fill_touched(a);
            tl_add_output(args, &fresh[k]);
            t->n_args++;
            continue;
        }
        a->buf = random_buf();
        a->tensor = random_part(&w.bufs[a->buf]);
        fill_touched(a);
        a->direction = how < 5 ? TL_IN : how < 7 ? TL_INOUT : how < 9 ? TL_OUT_EXISTING : TL_NO_DEP;
        if (shares_what_is_written(t, a))
            a->direction = TL_NO_DEP;
        if (a->direction == TL_IN)
            tl_add_input(args, &a->tensor);
        else if (a->direction == TL_INOUT)
            tl_add_inout(args, &a->tensor);
        else if (a->direction == TL_OUT_EXISTING)
            tl_add_output(args, &a->tensor);
        else
            tl_add_no_dep(args, &a->tensor);
        t->n_args++;
    }
}

static bool writes(const struct arg *a)
{
    return a->direction == TL_INOUT || a->direction == TL_OUT_EXISTING;
}

static bool tracked(const struct arg *a)
{
    static const byte_set nothing;

    return (a->direction == TL_IN || writes(a)) && memcmp(a->touched, nothing, sizeof(nothing)) != 0;
}

/* True if `n`, an access noted before, must be over before argument `a` is accessed. */
static bool conflicts(const struct note *n, const struct arg *a)
{
    return n->buf == a->buf && (n->writes || writes(a)) && meets(n->touched, a->touched);
}

/* In a manual scope the program itself must say what it waits for. Elsewhere a few at random. */
static uint32_t random_deps(const struct task *t, tl_task_id *deps)
{
    bool manual = w.n_scopes > 0 && w.manual[w.n_scopes - 1], needed[MAX_TASKS] = {false};
    uint32_t n = 0;

    if (manual) {
        for (uint32_t i = 0; i < t->n_args; i++)
            if (t->args[i].direction != TL_OUT && t->args[i].direction != TL_NO_DEP &&
                w.bufs[t->args[i].buf].owner != TL_NO_TASK)
                deps[n++] = w.bufs[t->args[i].buf].owner;
        for (uint32_t k = 0; k < w.n_notes; k++)
            for (uint32_t i = 0; i < t->n_args; i++)
                if (tracked(&t->args[i]) && conflicts(&w.notes[k], &t->args[i]) && !needed[w.notes[k].task]) {
                    needed[w.notes[k].task] = true;
                    deps[n++] = w.tasks[w.notes[k].task].id;
                }
    }
    while (w.n_tasks > 0 && pick(3) == 0 && n < MAX_TASKS + 60)
        deps[n++] = pick(8) == 0 ? TL_NO_TASK : w.tasks[pick(w.n_tasks)].id;
    return n;
}

/* ---- the rules, naively ---- */

struct plain_edge {
    uint64_t pred;
    int32_t arg;
    uint8_t source, flags;
};

static int by_content(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct plain_edge));
}

static struct plain_edge plain(uint64_t pred, int32_t arg, unsigned source, unsigned flags)
{
    struct plain_edge e;

    memset(&e, 0, sizeof(e));
    e.pred = pred;
    e.arg = arg;
    e.source = (uint8_t)source;
    e.flags = (uint8_t)flags;
    return e;
}

static uint32_t naive_edges(const struct task *t, const tl_task_id *deps, uint32_t n_deps, bool manual,
                            struct plain_edge *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_deps; i++)
        if (deps[i] != TL_NO_TASK)
            out[n++] = plain(deps[i], -1, TL_EDGE_EXPLICIT, TL_EDGE_WAIT | (retired(deps[i]) ? TL_EDGE_GONE : 0));
    for (uint32_t i = 0; i < t->n_args; i++) {
        const struct arg *a = &t->args[i];

        if (a->direction == TL_OUT || a->direction == TL_NO_DEP)
            continue;
        if (w.bufs[a->buf].owner != TL_NO_TASK)
            out[n++] = plain(w.bufs[a->buf].owner, (int32_t)i, TL_EDGE_CREATOR,
                             manual ? TL_EDGE_RETAIN : TL_EDGE_WAIT | TL_EDGE_RETAIN);
        for (uint32_t k = 0; k < w.n_notes && !manual && tracked(a); k++)
            if (w.notes[k].alive && conflicts(&w.notes[k], a))
                out[n++] = plain(w.tasks[w.notes[k].task].id, (int32_t)i, TL_EDGE_TENSORMAP,
                                 TL_EDGE_WAIT | (covers(a, &w.notes[k]) ? TL_EDGE_COVERED : 0));
    }
    return n;
}

static void compare_edges(const struct tl_plan *plan, struct plain_edge *expected, uint32_t n)
{
    static struct plain_edge got[8192];

    w.edges += plan->n_edges;
    for (uint32_t i = 0; i < plan->n_edges && i < 8192; i++)
        got[i] = plain(plan->edges[i].pred, plan->edges[i].arg, plan->edges[i].source, plan->edges[i].flags);
    if (plan->n_edges != n) {
        FAIL("%u edges, the rules say %u", plan->n_edges, n);
        return;
    }
    qsort(got, n, sizeof(*got), by_content);
    qsort(expected, n, sizeof(*expected), by_content);
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(&got[i], &expected[i], sizeof(got[i])) != 0)
            FAIL("edge from r%ut%u, argument %d, source %u, flags %u; the rules say r%ut%u, %d, %u, %u",
                 tl__task_ring(got[i].pred), tl__task_local(got[i].pred), got[i].arg, got[i].source, got[i].flags,
                 tl__task_ring(expected[i].pred), tl__task_local(expected[i].pred), expected[i].arg, expected[i].source,
                 expected[i].flags);
}

/* ---- after a plan ---- */

/* A predecessor's flags are those of all its edges together. */
static void check_flags(const struct tl_plan *plan, const struct tl_pred *pred)
{
    unsigned flags = 0;

    for (uint32_t i = 0; i < plan->n_edges; i++)
        if (plan->edges[i].pred == pred->id)
            flags |= plan->edges[i].flags & (TL_EDGE_WAIT | TL_EDGE_RETAIN);
    if (pred->flags != flags)
        FAIL("predecessor r%ut%u has flags %u, its edges %u", tl__task_ring(pred->id), tl__task_local(pred->id),
             pred->flags, flags);
}

static void take_preds(struct task *t, const struct tl_plan *plan)
{
    t->n_preds = plan->n_preds;
    for (uint32_t i = 0; i < plan->n_preds; i++) {
        t->preds[i] = task_of(plan->preds[i].id);
        t->pred_flags[i] = plan->preds[i].flags;
        check_flags(plan, &plan->preds[i]);
        if (retired(plan->preds[i].id))
            FAIL("a predecessor that has retired");
        for (uint32_t k = 0; k < i; k++)
            if (t->preds[k] == t->preds[i])
                FAIL("task %u appears twice among the predecessors", t->preds[i]);
        if (t->pred_flags[i] & TL_EDGE_RETAIN)
            w.tasks[t->preds[i]].retainers++;
    }
}

static void check_memory(const struct buf *b)
{
    uint64_t room = (b->bytes + 1023) / 1024 * 1024, at = b->addr - w.opts.heap[b->ring];

    if (b->addr % 1024 != 0 || at + room > w.opts.heap_bytes[b->ring])
        FAIL("memory at %llu of ring %u crosses the heap's end or is not aligned", (unsigned long long)at, b->ring);
    for (uint32_t i = OUTSIDE; i < w.n_bufs; i++) {
        const struct buf *o = &w.bufs[i];

        if (o != b && o->ring == b->ring && !retired(o->owner) && o->addr < b->addr + room &&
            b->addr < o->addr + (o->bytes + 1023) / 1024 * 1024)
            FAIL("memory of r%ut%u is handed out again", tl__task_ring(o->owner), tl__task_local(o->owner));
    }
}

static void add_buf(const struct tl_tensor *t, uint32_t ring, uint32_t first_value)
{
    struct buf *b = &w.bufs[w.n_bufs++];

    *b = (struct buf){.addr = t->buffer, .owner = t->owner, .bytes = (uint32_t)t->buffer_bytes, .ring = ring};
    b->depth = w.n_scopes;
    b->scope_serial = w.n_scopes > 0 ? w.scope_serials[w.n_scopes - 1] : 0;
    for (uint32_t i = 0; i < BUF_BYTES; i++)
        b->logical[i] = first_value;
    check_memory(b);
}

/* Reads see what program order says; then this task's own writes count. */
static void note_accesses(struct task *t, uint32_t index, bool manual, const struct tl_tensor *fresh)
{
    for (uint32_t i = 0; i < t->n_args; i++) {
        struct arg *a = &t->args[i];

        if (a->direction == TL_OUT) {
            a->buf = w.n_bufs;
            add_buf(&fresh[i], tl__task_ring(t->id), index + 1);
        } else {
            memcpy(a->expected, w.bufs[a->buf].logical, sizeof(a->expected));
        }
    }
    for (uint32_t i = 0; i < t->n_args; i++) {
        struct arg *a = &t->args[i];

        if (writes(a))
            for (uint32_t byte = 0; byte < BUF_BYTES; byte++)
                if (has(a->touched, byte))
                    w.bufs[a->buf].logical[byte] = index + 1;
        for (uint32_t k = 0; k < w.n_notes && !manual && writes(a) && tracked(a); k++)
            if (w.notes[k].task != index && w.notes[k].buf == a->buf && !w.notes[k].replaced && covers(a, &w.notes[k]))
                w.notes[k].alive = false, w.notes[k].replaced = true; /* whoever comes waits for this task instead */
        if (tracked(a)) {
            struct note *n = &w.notes[w.n_notes++];

            *n = (struct note){.task = index, .buf = a->buf, .writes = writes(a), .alive = true, .tensor = a->tensor};
            memcpy(n->touched, a->touched, sizeof(n->touched));
        }
    }
}

struct snapshot {
    struct tl_ring_usage rings[TL_GRAPH_RINGS];
    uint32_t writers, readers;
};

static struct snapshot take_snapshot(void)
{
    struct snapshot s;

    memset(&s, 0, sizeof(s));
    for (uint32_t r = 0; r < w.opts.rings; r++)
        s.rings[r] = tl__graph_usage(w.g, r);
    s.writers = tl__graph_writers(w.g);
    s.readers = tl__graph_readers(w.g);
    return s;
}

static void check_lack(const struct tl_plan *plan)
{
    const struct tl_ring_usage u = tl__graph_usage(w.g, plan->lack.ring);
    uint32_t ring = plan->lack.ring;

    if (plan->lack.resource == TL_RESOURCE_WINDOW && u.task_head - u.task_tail != w.opts.task_window[ring])
        FAIL("waits for a slot with some free");
    if (plan->lack.resource == TL_RESOURCE_HEAP && u.heap_head == u.heap_tail)
        FAIL("waits for an empty heap");
    if (plan->lack.resource == TL_RESOURCE_DEP_POOL &&
        u.dep_head - u.dep_tail + plan->lack.need <= w.opts.dep_pool[ring])
        FAIL("waits for dep-pool entries with enough free");
}

static void say_task(const struct task *t)
{
    print_message("  task r%ut%u:", tl__task_ring(t->id), tl__task_local(t->id));
    for (uint32_t i = 0; i < t->n_args; i++) {
        const struct tl_tensor *x = &t->args[i].tensor;

        print_message(" %c(buf %u +%llu", "nioxe"[t->args[i].direction], t -> args[i].buf,
                      (unsigned long long)x->start_offset);
        for (unsigned d = 0; d < x->rank; d++)
            print_message(" %ux%llu", x->shape[d], (unsigned long long)x->strides[d]);
        print_message(")");
    }
    print_message(" after");
    for (uint32_t i = 0; i < t->n_preds; i++)
        print_message(" %u", t->preds[i]);
    print_message("\n");
}

/* False: the program cannot go on (a ring that only its own scope could empty). */
static bool submit(void)
{
    static const struct tl_subtasks sub = {.func = {0, -1, -1}};
    static struct plain_edge expected[8192];
    struct tl_tensor fresh[MAX_ARGS];
    struct task *t = &w.tasks[w.n_tasks];
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    bool manual = w.n_scopes > 0 && w.manual[w.n_scopes - 1];
    tl_task_id deps[MAX_TASKS + 64];
    struct tl_error err = {0};
    struct tl_plan plan;
    uint32_t n_deps, n;
    int code;

    memset(t, 0, sizeof(*t));
    memset(fresh, 0, sizeof(fresh));
    random_args(t, &args, fresh);
    n_deps = random_deps(t, deps);
    tl_set_dependencies(&args, deps, n_deps);
    for (;;) {
        struct snapshot before = take_snapshot(), after;

        code = tl__graph_plan(w.g, &args, &sub, &plan, &err);
        if (code != TL_EAGAIN)
            break;
        w.waits++;
        after = take_snapshot();
        if (memcmp(&before, &after, sizeof(before)) != 0)
            FAIL("a plan that must wait has changed something");
        check_lack(&plan);
        if (!device_step())
            return false;
    }
    if (code == TL_ENOSPC)
        return false;
    if (code < 0) {
        FAIL("refused: %s", err.msg);
        return false;
    }
    t->id = plan.id;
    n = naive_edges(t, deps, n_deps, manual, expected);
    compare_edges(&plan, expected, n);
    take_preds(t, &plan);
    if (w_watch.planned != NULL)
        w_watch.planned(t, &plan);
    note_accesses(t, w.n_tasks, manual, fresh);
    w.n_tasks++;
    if (w.loud)
        say_task(t);
    return true;
}

static void end_scope(void)
{
    const struct tl_range *ranges;
    int n = tl__graph_scope_end(w.g, &ranges);

    w.n_scopes--;
    for (int i = 0; i < n; i++)
        for (uint32_t k = 0; k < w.n_tasks; k++)
            if (tl__task_ring(w.tasks[k].id) == ranges[i].ring && tl__task_local(w.tasks[k].id) >= ranges[i].first &&
                tl__task_local(w.tasks[k].id) < ranges[i].end) {
                if (w.tasks[k].released)
                    FAIL("task %u is released twice", k);
                w.tasks[k].released = true;
            }
}

static void begin_scope(void)
{
    bool manual = pick(4) == 0;

    if (tl__graph_scope_begin(w.g, manual ? TL_SCOPE_MANUAL : TL_SCOPE_AUTO, "r.c", (int)w.n_scopes) < 0)
        FAIL("no scope");
    w.manual[w.n_scopes] = manual;
    w.scope_serials[w.n_scopes++] = ++w.next_serial;
}

/* Graphs of programs that are over: the next with the same windows starts again in one of them. */
#define LEFT 32u

static struct {
    struct tl_graph *graphs[LEFT];
    uint32_t count, reused;
} left;

static struct tl_graph *take_left(const struct tl_graph_opts *opts)
{
    for (uint32_t i = 0; i < LEFT; i++) {
        struct tl_graph *g = left.graphs[i];

        if (g != NULL && tl__graph_reset(g, opts)) {
            left.graphs[i] = NULL;
            left.reused++;
            return g;
        }
    }
    return NULL;
}

static void leave(struct tl_graph *g)
{
    uint32_t i = left.count++ % LEFT;

    tl__graph_destroy(left.graphs[i]);
    left.graphs[i] = g;
}

static void make_world(uint64_t seed, uint32_t limit)
{
    struct tl_error err = {0};

    memset(&w, 0, sizeof(w));
    w.seed = seed;
    w.limit = limit;
    w.program = seed * 0x2545f4914f6cdd1du;
    w.device = ~w.program;
    w.opts.rings = 1 + pick(TL_GRAPH_RINGS);
    w.opts.recycle = pick(5) != 0;
    for (uint32_t r = 0; r < w.opts.rings; r++) {
        w.opts.task_window[r] = w.opts.recycle ? 4u << pick(6) : 256;
        w.opts.dep_pool[r] = w.opts.recycle ? 16 + pick(100) : 8192;
        w.opts.heap[r] = UINT64_C(0xD000000000000000) + r * 0x100000;
        w.opts.heap_bytes[r] = (1 + pick(HEAP_BYTES_MAX / 1024)) * 1024;
    }
    w.g = take_left(&w.opts);
    if (w.g == NULL && tl__graph_create(&w.opts, &w.g, &err) < 0)
        FAIL("%s", err.msg);
    for (uint32_t i = 0; i < OUTSIDE; i++)
        w.bufs[w.n_bufs++] = (struct buf){.addr = 0x1000 * (i + 1), .owner = TL_NO_TASK, .bytes = 64u << i};
}

/* True if all is right. */
static bool run_world(uint64_t seed, uint32_t limit, bool loud)
{
    uint32_t wanted, refused = 0; /* rings that are too small for good */

    make_world(seed, limit);
    w.loud = loud;
    if (w_watch.begin != NULL)
        w_watch.begin(seed);
    wanted = 1 + pick(MAX_TASKS);
    if (pick(8) != 0)
        begin_scope();
    while (w.n_tasks < wanted && w.n_tasks < limit && w.failure[0] == 0) {
        uint32_t what = pick(24);

        if (what == 0 && w.n_scopes < 7)
            begin_scope();
        else if (what == 1 && w.n_scopes > 1)
            end_scope();
        else if (!submit() && w.failure[0] == 0) {
            if (w.n_scopes == 0 || ++refused > 40)
                break;
            end_scope();
            if (w.n_scopes == 0)
                begin_scope();
        }
        for (uint32_t steps = below(&w.device, 3); steps > 0 && device_step(); steps--)
            ;
    }
    while (w.n_scopes > 0)
        end_scope();
    for (uint32_t i = 0; i < w.n_tasks; i++) /* and those outside any scope */
        w.tasks[i].released = true;
    while (w.failure[0] == 0 && device_step())
        ;
    for (uint32_t i = 0; i < w.n_tasks; i++)
        if (!w.tasks[i].complete)
            FAIL("task %u never ran", i);
    if (w.opts.recycle && tl__graph_writers(w.g) + tl__graph_readers(w.g) != 0)
        FAIL("the map keeps retired tasks");
    if (w.failure[0] == 0)
        leave(w.g);
    else
        tl__graph_destroy(w.g);
    if (w.failure[0] == 0 && w_watch.over != NULL)
        w_watch.over();
    return w.failure[0] == 0;
}

/* The fewest tasks of this seed's program that still fail. */
static void shrink_and_fail(uint64_t seed)
{
    uint32_t passes = 0, fails = w.n_tasks + 1;

    while (fails - passes > 1) {
        uint32_t middle = passes + (fails - passes) / 2;

        if (run_world(seed, middle, false))
            passes = middle;
        else
            fails = middle;
    }
    (void)run_world(seed, fails, true);
    fail_msg("TL_SEED=%llu TL_SEEDS=1, %u tasks: %s", (unsigned long long)seed, fails, w.failure);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

#endif
