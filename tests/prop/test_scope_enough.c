/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizes that the analysis of scope statistics calls enough, against random programs: one is run in large rings
 * while tasks retire at random, its boundaries are noted, and it is run again in rings of those sizes in which tasks
 * retire as late as can be. It always ends. Tasks name others that may have retired and use buffers that others have
 * written, so that how many a task depends on is the schedule's. With a task window below what one scope holds, where
 * scopes share no ring, it never ends.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/scope/scope_usage.h"
#include "unit/test_graph_util.h"

#define MAX_OPS 160u
#define MAX_DEPTH 6u
#define RINGS TL_GRAPH_RINGS
#define CELLS 64u /* of one buffer that no task has allocated */

enum kind { BEGIN, END, TASK };

struct op {
    enum kind kind;
    uint32_t n_out, floats[3]; /* buffers that a task allocates */
    uint32_t reads;            /* 0, or how many tasks before this one its input was made */
    uint32_t names;            /* earlier tasks that it depends on by name, each as far back as `back` */
    uint32_t back[64];
    uint32_t first, cells; /* what it uses of the cells; none if `cells` is 0 */
    bool writes;
};

struct node {
    tl_task_id id;
    struct tl_tensor out;
    uint32_t preds[MAX_OPS], pred_flags[MAX_OPS], n_preds, retainers, depth; /* depth: of its scope, 0 outside */
    bool complete, released;
};

static struct {
    uint64_t state;
    struct op ops[MAX_OPS];
    uint32_t n_ops;
    struct tl_graph *g;
    struct node nodes[MAX_OPS];
    uint32_t n_nodes, tails[RINGS], depth;
    uint64_t allocated[RINGS]; /* bytes, in the last run */
    struct tl_scope_stats stats;
} w;

static uint32_t pick(uint32_t n)
{
    uint64_t z = (w.state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

/* ---- a program ---- */

/* Most depend on nobody, some on very many. */
static void make_dependencies(struct op *op)
{
    if (pick(5) == 0)
        op->names = 1 + pick(pick(2) ? 64 : 4);
    for (uint32_t i = 0; i < op->names; i++)
        op->back[i] = 1 + pick(MAX_OPS);
    if (pick(3) == 0)
        return;
    op->writes = pick(3) != 0;
    op->cells = op->writes ? 1 : 1 + pick(CELLS);
    op->first = pick(CELLS - op->cells + 1);
}

static void make_program(void)
{
    uint32_t depth = 0;

    w.n_ops = 40 + pick(MAX_OPS - 40 - MAX_DEPTH);
    for (uint32_t i = 0; i < w.n_ops; i++) {
        uint32_t what = pick(10);
        struct op *op = &w.ops[i];

        *op = (struct op){.kind = TASK};
        if (what < 2 && depth < MAX_DEPTH) {
            op->kind = BEGIN;
            depth++;
        } else if (what < 4 && depth > 0) {
            op->kind = END;
            depth--;
        } else {
            op->n_out = pick(4);
            for (uint32_t k = 0; k < op->n_out; k++)
                op->floats[k] = 1 + (pick(8) == 0 ? pick(8000) : pick(600));
            op->reads = pick(6);
            make_dependencies(op);
        }
    }
    while (depth-- > 0)
        w.ops[w.n_ops++] = (struct op){.kind = END};
}

/* ---- a device ---- */

static struct node *node_of(tl_task_id id)
{
    for (uint32_t i = 0; i < w.n_nodes; i++)
        if (w.nodes[i].id == id)
            return &w.nodes[i];
    fail();
    return NULL;
}

static bool complete_one(uint32_t start)
{
    for (uint32_t k = 0; k < w.n_nodes; k++) {
        struct node *n = &w.nodes[(start + k) % w.n_nodes];
        bool waits = n->complete;

        for (uint32_t p = 0; p < n->n_preds && !waits; p++)
            waits = (n->pred_flags[p] & TL_EDGE_WAIT) != 0 && !w.nodes[n->preds[p]].complete;
        if (waits)
            continue;
        n->complete = true;
        for (uint32_t p = 0; p < n->n_preds; p++)
            w.nodes[n->preds[p]].retainers -= (n->pred_flags[p] & TL_EDGE_RETAIN) != 0;
        return true;
    }
    return false;
}

static void retire(void)
{
    for (uint32_t ring = 0; ring < RINGS; ring++)
        for (uint64_t head = tl__graph_usage(w.g, ring).task_head; w.tails[ring] < head; w.tails[ring]++) {
            const struct node *n = node_of((uint64_t)ring << 32 | w.tails[ring]);

            if (!n->complete || !n->released || n->retainers != 0)
                break;
            tl__graph_retired(w.g, ring, w.tails[ring] + 1);
        }
}

static void release(const struct tl_range *ranges, int n)
{
    assert_true(n >= 0);
    for (int i = 0; i < n; i++)
        for (uint32_t local = ranges[i].first; local < ranges[i].end; local++)
            node_of((uint64_t)ranges[i].ring << 32 | local)->released = true;
}

/* ---- a run ---- */

/* As the probe has it. */
static void note(const struct tl_scope_info *scope, bool ends)
{
    uint32_t ring = scope != NULL ? scope->ring : 0;
    struct tl_ring_usage u = tl__graph_usage(w.g, ring);
    struct tl_boundary b = {.depth = scope != NULL ? scope->depth + 1 : 0, .ring = ring, .ends = ends};

    b.span[TL_RING_TASKS] = (struct tl_ring_span){u.task_tail, u.task_head};
    b.span[TL_RING_HEAP] = (struct tl_ring_span){u.heap_tail - u.heap_skipped, u.heap_head - u.heap_skipped};
    b.span[TL_RING_DEPS] = (struct tl_ring_span){u.dep_tail, u.dep_head};
    assert_int_equal(tl__scope_stats_site(&w.stats, "p.c:1", 5, &b.site), 0);
    assert_int_equal(tl__scope_stats_add(&w.stats, &b), 0);
}

static void boundary(bool eager, const struct tl_scope_info *scope, bool ends)
{
    if (!eager)
        return;
    for (uint32_t n = pick(12); n > 0 && w.n_nodes > 0; n--)
        (void)complete_one(pick(w.n_nodes));
    retire();
    note(scope, ends);
}

/* The last task so many before whose first buffer may still be read here. */
static const struct node *readable(uint32_t before)
{
    for (uint32_t i = w.n_nodes; before > 0 && i-- > 0;)
        if (w.nodes[i].out.owner != TL_NO_TASK && !w.nodes[i].released && w.nodes[i].depth <= w.depth && --before == 0)
            return &w.nodes[i];
    return NULL;
}

/* What the tasks before it have to do with it. */
static void add_dependencies(struct tl_task_args *args, const struct op *op, tl_task_id *names)
{
    const struct tl_tensor all = tensor_at(0x1000, CELLS);
    struct tl_tensor cells = part_of(&all, op->first, op->cells);

    for (uint32_t i = 0; i < op->names; i++)
        names[i] = op->back[i] <= w.n_nodes ? w.nodes[w.n_nodes - op->back[i]].id : TL_NO_TASK;
    tl_set_dependencies(args, names, op->names);
    if (op->cells > 0 && op->writes)
        tl_add_inout(args, &cells);
    else if (op->cells > 0)
        tl_add_input(args, &cells);
}

/* As the device does it: waits as long as there is something to wait for. */
static int plan_late(const struct tl_task_args *args, struct tl_plan *plan)
{
    struct tl_error err = {0};
    int r;

    for (;;) {
        r = tl__graph_plan(w.g, args, &on_aiv, plan, &err);
        if (r != TL_EAGAIN)
            return r;
        retire();
        r = tl__graph_plan(w.g, args, &on_aiv, plan, &err);
        if (r != TL_EAGAIN)
            return r;
        if (w.n_nodes > 0 && complete_one(pick(w.n_nodes)))
            continue;
        if (plan->lack.resource != TL_RESOURCE_DEP_POOL || !tl__graph_all_complete(w.g))
            return TL_EDEADLOCK;
    }
}

/* False: there will never be room. */
static bool submit(const struct op *op)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor outs[3], in;
    tl_task_id names[64];
    struct tl_plan plan;
    struct node *n = &w.nodes[w.n_nodes];
    const struct node *from = readable(op->reads);
    int r;

    if (from != NULL) {
        in = from->out;
        tl_add_input(&args, &in);
    }
    add_dependencies(&args, op, names);
    for (uint32_t k = 0; k < op->n_out; k++) {
        outs[k] = fresh(op->floats[k]);
        tl_add_output(&args, &outs[k]);
    }
    r = plan_late(&args, &plan);
    if (r == TL_ENOSPC || r == TL_EDEADLOCK)
        return false;
    assert_int_equal(r, 0);
    *n = (struct node){.id = plan.id, .depth = w.depth, .n_preds = plan.n_preds};
    n->out = op->n_out > 0 ? outs[0] : (struct tl_tensor){.owner = TL_NO_TASK};
    assert_true(plan.n_preds <= MAX_OPS);
    for (uint32_t p = 0; p < plan.n_preds; p++) {
        struct node *pred = node_of(plan.preds[p].id);

        n->preds[p] = (uint32_t)(pred - w.nodes);
        n->pred_flags[p] = plan.preds[p].flags;
        pred->retainers += (plan.preds[p].flags & TL_EDGE_RETAIN) != 0 && !n->complete;
    }
    for (uint32_t k = 0; k < op->n_out; k++)
        w.allocated[plan.ring] +=
            (op->floats[k] * sizeof(float) + TL_GRAPH_ALIGN - 1) / TL_GRAPH_ALIGN * TL_GRAPH_ALIGN;
    w.n_nodes++;
    return true;
}

/* Whether it ends. `eager`: tasks complete and retire now and then, and boundaries are noted. */
static bool run(const struct tl_graph_opts *opts, bool eager)
{
    const struct tl_range *ranges;
    bool ends = true;
    int n;

    w.g = make_graph(opts);
    w.n_nodes = w.depth = 0;
    memset(w.tails, 0, sizeof(w.tails));
    memset(w.allocated, 0, sizeof(w.allocated));
    boundary(eager, NULL, false);
    for (uint32_t i = 0; i < w.n_ops && ends; i++)
        switch (w.ops[i].kind) {
        case BEGIN:
            w.depth++;
            assert_true(tl__graph_scope_begin(w.g, TL_SCOPE_AUTO, "p.c", (int)i) >= 0);
            boundary(eager, tl__graph_scope(w.g), false);
            break;
        case END:
            boundary(eager, tl__graph_scope(w.g), true);
            n = tl__graph_scope_end(w.g, &ranges);
            release(ranges, n);
            w.depth--;
            break;
        default:
            ends = submit(&w.ops[i]);
        }
    if (ends)
        boundary(eager, NULL, true);
    tl__graph_destroy(w.g);
    return ends;
}

static struct tl_graph_opts opts_of(const struct tl_scope_usage *u)
{
    struct tl_graph_opts o = small_opts();

    o.dump_level = 0;
    for (uint32_t r = 0; r < RINGS; r++) {
        o.task_window[r] = 1024;
        o.dep_pool[r] = 4096;
        o.heap_bytes[r] = 16 << 20; /* more than any program takes */
        if (u == NULL || !u->rings[r].used)
            continue;
        o.task_window[r] = (uint32_t)u->rings[r].use[TL_RING_TASKS].enough;
        o.dep_pool[r] = (uint32_t)u->rings[r].use[TL_RING_DEPS].enough;
        o.heap_bytes[r] = u->rings[r].use[TL_RING_HEAP].enough;
    }
    return o;
}

/* What is recorded of a run, and what it says. False, and nothing: the run does not end. */
static bool recorded_run(const struct tl_graph_opts *opts, struct tl_scope_usage *ret_usage)
{
    bool ends;

    w.stats = (struct tl_scope_stats){.n_rings = RINGS};
    for (uint32_t r = 0; r < RINGS; r++) {
        w.stats.size[TL_RING_TASKS][r] = opts->task_window[r];
        w.stats.size[TL_RING_HEAP][r] = opts->heap_bytes[r];
        w.stats.size[TL_RING_DEPS][r] = opts->dep_pool[r];
    }
    ends = run(opts, true);
    if (ends) {
        assert_int_equal(tl__scope_usage(&w.stats, ret_usage), 0);
        assert_int_equal(ret_usage->open + ret_usage->endings + ret_usage->backward, 0);
    } else {
        tl__scope_stats_fini(&w.stats);
    }
    return ends;
}

/* In rings so small that it may not end. If it does, by luck or not, what is then called enough is. */
static void in_tight_rings(uint64_t seed, const struct tl_graph_opts *enough, uint32_t ring, uint64_t *tight_runs)
{
    struct tl_graph_opts tight = *enough;
    struct tl_scope_usage u;
    uint64_t steps;

    for (uint32_t r = 0; r < RINGS; r++)
        tight.dep_pool[r] = enough->dep_pool[r] - pick(enough->dep_pool[r]);
    steps = enough->heap_bytes[ring] / TL_GRAPH_ALIGN;
    tight.heap_bytes[ring] = (steps - pick((uint32_t)steps / 2 + 1)) * TL_GRAPH_ALIGN;
    if (!recorded_run(&tight, &u))
        return;
    ++*tight_runs;
    tight = opts_of(&u);
    for (unsigned i = 0; i < 4; i++)
        if (!run(&tight, false))
            fail_msg("seed=%llu: what is called enough of a run in tight rings is not", (unsigned long long)seed);
    tl__scope_usage_fini(&u);
    tl__scope_stats_fini(&w.stats);
}

static void one_program(uint64_t seed, uint64_t *saved, uint64_t *stopped, uint64_t *tight_runs)
{
    struct tl_graph_opts large = opts_of(NULL), enough;
    struct tl_scope_usage u;

    w.state = seed;
    make_program();
    assert_true(recorded_run(&large, &u));
    for (uint32_t r = 0; r < RINGS; r++) /* however often the heap was empty meanwhile */
        assert_true(u.rings[r].use[TL_RING_HEAP].turned == w.allocated[r]);
    enough = opts_of(&u);
    if (!run(&enough, false))
        fail_msg("seed=%llu: what is called enough is not", (unsigned long long)seed);
    for (uint32_t r = 1; r + 1 < RINGS; r++) {
        struct tl_graph_opts less = large;
        uint64_t held = u.rings[r].use[TL_RING_TASKS].held;

        *saved += large.heap_bytes[r] - enough.heap_bytes[r];
        for (less.task_window[r] = 2; 2 * (uint64_t)less.task_window[r] < held;)
            less.task_window[r] *= 2;
        if (less.task_window[r] >= held)
            continue;
        ++*stopped;
        if (run(&less, false))
            fail_msg("seed=%llu: it ends with %u slots of ring %u, of which a scope holds %llu",
                     (unsigned long long)seed, less.task_window[r], r, (unsigned long long)held);
    }
    tl__scope_usage_fini(&u);
    tl__scope_stats_fini(&w.stats);
    for (uint32_t i = 0; i < 2 * RINGS; i++)
        in_tight_rings(seed, &enough, i % RINGS, tight_runs);
}

static void a_ring_size_said_to_be_enough_is_enough(void **state)
{
    uint64_t saved = 0, stopped = 0, tight_runs = 0, n = 400;
    const char *seeds = getenv("TASKLENS_SEEDS");

    (void)state;
    if (seeds != NULL)
        n = strtoull(seeds, NULL, 10);
    for (uint64_t seed = 1; seed <= n; seed++)
        one_program(seed, &saved, &stopped, &tight_runs);
    print_message("%llu programs, %llu bytes of heap less, %llu runs stopped for want of slots, %llu in tight rings\n",
                  (unsigned long long)n, (unsigned long long)saved, (unsigned long long)stopped,
                  (unsigned long long)tight_runs);
    assert_true(stopped >= n / 2 && tight_runs >= n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_ring_size_said_to_be_enough_is_enough)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
