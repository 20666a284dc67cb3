/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dep_gen by the whole of device and host: random orchestrations on rings so small that most producers retire before
 * their consumers come, against a naive list of who touched which bytes; any fan-in; a lane that is nearly always full.
 * TL_SEED and TL_SEEDS choose the seeds of the random ones.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/program.h>

#include "artifact/deps.h"
#include "graph/region.h"
#include "support/capture.h"

#define ELEMENTS 64u /* of each buffer */
#define MAX_NOTES 4096u
#define MAX_EDGES 65536u
#define MAX_TASKS 1024u
#ifdef __SANITIZE_THREAD__
#define SEEDS 6
#else
#define SEEDS 24
#endif

enum { FUNC_NOP };

static void nop(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_NOP, "nop", TL_AIV, nop, TL_INOUT)};

/* --- the reference -------------------------------------------------------------------------------------------------
 */

struct note {
    struct tl_tensor tensor;
    uint64_t touched; /* bit: element of the buffer */
    tl_task_id task;
    bool writes, replaced;
};

struct plain_edge {
    uint64_t pred, succ;
    int32_t arg;
    uint8_t source, flags, overlap, reserved;
};

static struct {
    uint64_t random;
    struct note notes[MAX_NOTES];
    struct plain_edge edges[MAX_EDGES], got[MAX_EDGES];
    tl_task_id tasks[MAX_TASKS];
    uint32_t n_notes, n_edges, n_tasks;
    bool manual;
} ref;

static uint32_t pick(uint32_t n)
{
    uint64_t z = (ref.random += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static uint64_t touched_of(const struct tl_tensor *t)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < t->shape[0]; i++)
        for (uint32_t k = 0; k < (t->rank > 1 ? t->shape[1] : 1); k++)
            bits |= UINT64_C(1) << (t->start_offset + i * t->strides[0] + k * t->strides[1]);
    return bits;
}

static bool covers(const struct tl_tensor *outer, const struct tl_tensor *inner)
{
    struct tl_extent eo, ei;
    struct tl_region ro, ri;

    assert_true(tl__region_measure(outer, &eo) && tl__region_measure(inner, &ei));
    tl__region_of(outer, &ro);
    tl__region_of(inner, &ri);
    return tl__region_covers(&ro, &eo, &ri, &ei);
}

static void expect_edge(tl_task_id pred, tl_task_id succ, int32_t arg, unsigned source, unsigned flags,
                        unsigned overlap)
{
    struct plain_edge *e = &ref.edges[ref.n_edges++];

    assert_true(ref.n_edges < MAX_EDGES);
    memset(e, 0, sizeof(*e));
    e->pred = pred;
    e->succ = succ;
    e->arg = arg;
    e->source = (uint8_t)source;
    e->flags = (uint8_t)flags;
    e->overlap = (uint8_t)overlap;
}

/* The edges of one argument by what was noted before. */
static void expect_edges(const struct tl_tensor_arg *a, int32_t arg, tl_task_id id)
{
    bool writes = a->direction != TL_IN;
    uint64_t touched = touched_of(&a->tensor);

    if (a->direction == TL_OUT || a->direction == TL_NO_DEP)
        return;
    if (a->tensor.owner != TL_NO_TASK)
        expect_edge(a->tensor.owner, id, arg, TL_DEPS_CREATOR,
                    ref.manual ? TL_DEPS_RETAIN : TL_DEPS_WAIT | TL_DEPS_RETAIN, TL_DEPS_OVERLAP_NONE);
    for (uint32_t k = 0; k < ref.n_notes && !ref.manual; k++) {
        const struct note *n = &ref.notes[k];

        if (n->task != id && !n->replaced && n->tensor.buffer == a->tensor.buffer &&
            n->tensor.owner == a->tensor.owner && (n->writes || writes) && (n->touched & touched) != 0)
            expect_edge(n->task, id, arg, TL_DEPS_TENSORMAP, TL_DEPS_WAIT,
                        covers(&a->tensor, &n->tensor) ? TL_DEPS_COVERED : TL_DEPS_OTHER);
    }
}

static void note_task(const struct tl_task_args *args, tl_task_id id)
{
    assert_int_not_equal(id, TL_NO_TASK);
    assert_true(ref.n_tasks < MAX_TASKS && ref.n_notes + 4 < MAX_NOTES);
    ref.tasks[ref.n_tasks++] = id;
    for (uint32_t i = 0; i < args->n_deps; i++)
        if (args->deps[i] != TL_NO_TASK)
            expect_edge(args->deps[i], id, -1, TL_DEPS_EXPLICIT, TL_DEPS_WAIT, TL_DEPS_OVERLAP_NONE);
    for (uint32_t i = 0; i < args->n_tensors; i++)
        expect_edges(&args->tensors[i], (int32_t)i, id);
    for (uint32_t i = 0; i < args->n_tensors; i++) {
        const struct tl_tensor_arg *a = &args->tensors[i];
        bool writes = a->direction != TL_IN;

        if (a->direction == TL_OUT || a->direction == TL_NO_DEP || touched_of(&a->tensor) == 0)
            continue;
        for (uint32_t k = 0; k < ref.n_notes && writes && !ref.manual; k++)
            ref.notes[k].replaced =
                ref.notes[k].replaced ||
                (ref.notes[k].task != id && ref.notes[k].tensor.buffer == a->tensor.buffer &&
                 ref.notes[k].tensor.owner == a->tensor.owner && covers(&a->tensor, &ref.notes[k].tensor));
        ref.notes[ref.n_notes++] =
            (struct note){.tensor = a->tensor, .touched = touched_of(&a->tensor), .task = id, .writes = writes};
    }
}

/* --- random programs ------------------------------------------------------------------------------------------------
 */

static struct tl_tensor random_part(const struct tl_tensor *whole)
{
    struct tl_tensor t = *whole;
    uint32_t kind = pick(5), row = pick(8), column = pick(8);

    if (kind == 0)
        return t;
    if (kind < 3) { /* a run */
        t.start_offset = pick(ELEMENTS);
        t.shape[0] = pick(ELEMENTS - (uint32_t)t.start_offset + 1);
        return t;
    }
    t.rank = 2; /* a tile of 8 x 8 */
    t.start_offset = row * 8 + column;
    t.shape[0] = 1 + pick(8 - row);
    t.shape[1] = 1 + pick(8 - column);
    t.strides[0] = 8;
    t.strides[1] = 1;
    return t;
}

/* A task with up to three tensors in different buffers, and now and then explicit dependencies. */
static void random_task(struct tl_orch *o, struct tl_tensor *tensors, uint32_t n, struct tl_tensor *made)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    uint32_t count = pick(4), at = pick(n), shape[1] = {ELEMENTS};
    struct tl_tensor part[3];
    tl_task_id deps[70], id;
    uint32_t n_deps = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t how = pick(8);

        part[i] = random_part(&tensors[(at + i) % n]);
        if (how < 3)
            tl_add_input(&args, &part[i]);
        else if (how < 5)
            tl_add_inout(&args, &part[i]);
        else if (how < 7)
            tl_add_output(&args, &part[i]);
        else
            tl_add_no_dep(&args, &part[i]);
    }
    if (made != NULL && pick(3) == 0) {
        *made = tl_tensor_make(TL_FLOAT32, 1, shape);
        tl_add_output(&args, made);
    }
    while (ref.n_tasks > 0 && n_deps < 70 && pick(10) < (ref.manual ? 8u : 2u))
        deps[n_deps++] = pick(6) == 0 ? TL_NO_TASK : ref.tasks[pick(ref.n_tasks)];
    tl_set_dependencies(&args, deps, n_deps);
    id = tl_submit_aiv(o, FUNC_NOP, &args);
    if (tl_orch_error(o) == 0)
        note_task(&args, id);
}

/* Few tasks a scope, so that the smallest window can hold them. */
static void random_scope(struct tl_orch *o, const struct tl_tensor *given, uint32_t n_given, uint32_t depth)
{
    struct tl_tensor tensors[9];
    uint32_t n = n_given;
    bool outer = ref.manual;

    memcpy(tensors, given, n * sizeof(*tensors));
    ref.manual = pick(4) == 0;
    tl_scope_begin(o, ref.manual ? TL_SCOPE_MANUAL : TL_SCOPE_AUTO, __FILE__, __LINE__);
    for (uint32_t i = 1 + pick(3); i > 0; i--) {
        tensors[n].buffer = 0;
        random_task(o, tensors, n, n < 8 ? &tensors[n] : NULL);
        n += tensors[n].buffer != 0;
        if (depth < 3 && pick(3) == 0)
            random_scope(o, tensors, n < 6 ? n : 6, depth + 1);
    }
    tl_scope_end(o);
    ref.manual = outer;
}

static void orchestrate_random(struct tl_orch *o, const struct tl_program_args *in)
{
    for (unsigned i = 0; i < 60 && tl_orch_error(o) == 0 && ref.n_tasks < MAX_TASKS - 64; i++)
        random_scope(o, in->tensors, in->n_tensors, 0);
}

static const struct tl_program random_program = CAPTURE_PROGRAM("random", kernels, orchestrate_random);

/* --- what was written -----------------------------------------------------------------------------------------------
 */

static void read_deps(const struct capture *c, struct tl_deps *ret_deps)
{
    struct tl_error err = {0};
    char path[200];

    assert_int_equal(c->result.record_code, 0);
    assert_int_equal(c->result.records_attempted, c->result.records_collected);
    (void)snprintf(path, sizeof(path), "%s/deps.json", c->dir);
    if (tl__deps_read(path, ret_deps, &err) != 0)
        fail_msg("%s", err.msg);
    for (uint64_t i = 0; i < ret_deps->n_edges; i++) {
        assert_int_not_equal(ret_deps->edge_pred[i], UINT32_MAX);
        assert_int_not_equal(ret_deps->edge_succ[i], UINT32_MAX);
        assert_true(ret_deps->edge_pred[i] < ret_deps->edge_succ[i]);
    }
}

static int by_all(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct plain_edge));
}

static void compare(const struct tl_deps *d, uint64_t seed)
{
    assert_int_equal(d->n_tasks, ref.n_tasks);
    for (uint32_t i = 0; i < ref.n_tasks; i++)
        assert_int_equal(d->tasks[i].task_id, ref.tasks[i]);
    if (d->n_edges != ref.n_edges)
        fail_msg("TL_SEED=%llu TL_SEEDS=1: %llu edges, the rules say %u", (unsigned long long)seed,
                 (unsigned long long)d->n_edges, ref.n_edges);
    memset(ref.got, 0, ref.n_edges * sizeof(ref.got[0]));
    for (uint32_t i = 0; i < ref.n_edges; i++) {
        const struct tl_deps_edge *e = &d->edges[i];

        ref.got[i].pred = e->pred;
        ref.got[i].succ = e->succ;
        ref.got[i].arg = e->arg;
        ref.got[i].source = e->source;
        ref.got[i].flags = e->flags & (TL_DEPS_WAIT | TL_DEPS_RETAIN);
        ref.got[i].overlap = e->overlap;
    }
    qsort(ref.got, ref.n_edges, sizeof(ref.got[0]), by_all);
    qsort(ref.edges, ref.n_edges, sizeof(ref.edges[0]), by_all);
    for (uint32_t i = 0; i < ref.n_edges; i++)
        if (by_all(&ref.got[i], &ref.edges[i]) != 0)
            fail_msg("TL_SEED=%llu TL_SEEDS=1: edge %llx -> %llx, the rules say %llx -> %llx", (unsigned long long)seed,
                     (unsigned long long)ref.got[i].pred, (unsigned long long)ref.got[i].succ,
                     (unsigned long long)ref.edges[i].pred, (unsigned long long)ref.edges[i].succ);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

/* Edges to producers that had retired. */
static uint64_t run_random(unsigned cell, uint64_t seed)
{
    static float data[3][ELEMENTS];
    const struct tl_host_tensor tensors[] = {
        capture_row("a", TL_INOUT, TL_FLOAT32, data[0], ELEMENTS),
        capture_row("b", TL_INOUT, TL_FLOAT32, data[1], ELEMENTS),
        capture_row("c", TL_INOUT, TL_FLOAT32, data[2], ELEMENTS),
    };
    struct tl_deps d = {0};
    struct capture c;
    uint64_t gone;

    memset(&ref, 0, sizeof(ref));
    ref.random = seed * 0x2545f4914f6cdd1du;
    capture_begin(&c, cell, 0);
    c.config.levels[TL_COLLECT_DEPS] = true;
    c.config.dfx_records = 4u + (uint32_t)(seed % 5);
    if (cell % 2 == 0) { /* recycled rings */
        c.config.task_window = 16u << seed % 2;
        c.config.heap_bytes = 16 * 1024;
    }
    if (capture_run(&c, &random_program, tensors, 3) != 0)
        fail_msg("TL_SEED=%llu TL_SEEDS=1, %s: %s", (unsigned long long)seed, capture_cells[cell].runtime, c.error.msg);
    read_deps(&c, &d);
    compare(&d, seed);
    gone = d.n_filtered;
    tl__deps_fini(&d);
    capture_end(&c);
    return gone;
}

static void random_graphs_are_recorded_as_planned(void **state)
{
    uint64_t first = setting("TL_SEED", 1), n = setting("TL_SEEDS", SEEDS), gone = 0;

    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++)
        for (unsigned cell = 0; cell < 4; cell++) {
            uint64_t g = run_random(cell, seed);

            if (cell % 2 == 1)
                assert_int_equal(g, 0); /* an image keeps all */
            gone += g;
        }
    print_message("%llu edges to producers that had retired\n", (unsigned long long)gone);
    assert_true(n < 10 || gone > n * 10);
}

/* --- fan-in --------------------------------------------------------------------------------------------------------
 */

#ifdef __SANITIZE_THREAD__
#define MANY 20000u /* minutes otherwise */
#else
#define MANY 600000u
#endif
static const uint32_t fan_ins[] = {0, 1, 2, 3, 65, 646, MANY};
#define FAN_INS (sizeof(fan_ins) / sizeof(fan_ins[0]))

static void orchestrate_fan_in(struct tl_orch *o, const struct tl_program_args *in)
{
    static tl_task_id ids[MANY], first[64];

    (void)in;
    TL_SCOPE (o) {
        for (unsigned i = 0; i < 64; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;

            first[i] = tl_submit_aiv(o, FUNC_NOP, &args);
        }
        for (uint32_t i = 0; i < MANY; i++)
            ids[i] = first[i % 64];
        for (unsigned k = 0; k < FAN_INS; k++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;

            tl_set_dependencies(&args, ids, fan_ins[k]);
            tl_submit_aiv(o, FUNC_NOP, &args);
        }
    }
}

static const struct tl_program fan_in_program = CAPTURE_PROGRAM("fan_in", kernels, orchestrate_fan_in);

static uint64_t more(uint64_t n, uint64_t inline_, uint64_t each)
{
    return n <= inline_ ? 0 : (n - inline_ + each - 1) / each;
}

static void a_task_with_any_fan_in_is_recorded(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell += 3) {
        uint64_t at = 0, records = 64;
        struct tl_deps d = {0};
        struct capture c;

        capture_begin(&c, cell, 0);
        c.config.levels[TL_COLLECT_DEPS] = true;
        assert_int_equal(capture_run(&c, &fan_in_program, NULL, 0), 0);
        read_deps(&c, &d);
        assert_int_equal(d.n_tasks, 64 + FAN_INS);
        for (unsigned k = 0; k < FAN_INS; k++) {
            for (uint32_t i = 0; i < fan_ins[k]; i++, at++) {
                assert_int_equal(d.edges[at].succ, d.tasks[64 + k].task_id);
                assert_int_equal(d.edges[at].pred, d.tasks[i % 64].task_id);
                assert_int_equal(d.edges[at].arg, -1);
                assert_int_equal(d.edges[at].source, TL_DEPS_EXPLICIT);
            }
            records += 1 + more(fan_ins[k], 2, 15) + more(fan_ins[k], 3, 7);
        }
        assert_int_equal(d.n_edges, at);
        assert_int_equal(c.result.records_collected, records);
        tl__deps_fini(&d);
        capture_end(&c);
    }
}

/* --- an image that is kept -----------------------------------------------------------------------------------------
 */

/* The second run of an image does not orchestrate; one that records its submits does, and so does not miss them. */
static void a_kept_image_is_recorded_all_the_same(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 4; round++) {
        struct tl_deps d = {0};
        struct capture c;

        capture_begin(&c, 1, round % 2 == 0 ? 1 : 0);
        c.config.levels[TL_COLLECT_DEPS] = round % 2 == 1;
        assert_int_equal(capture_run(&c, &fan_in_program, NULL, 0), 0);
        if (round % 2 == 1) {
            read_deps(&c, &d);
            assert_int_equal(d.n_tasks, 64 + FAN_INS);
        }
        tl__deps_fini(&d);
        capture_end(&c);
    }
}

/* --- allocations, mixes, blocks -------------------------------------------------------------------------------------
 */

static const struct tl_kernel mix_kernels[] = {
    TL_KERNEL(3, "cube", TL_AIC, nop, TL_INOUT),
    TL_KERNEL(5, "vector", TL_AIV, nop, TL_INOUT),
};

static void orchestrate_kinds(struct tl_orch *o, const struct tl_program_args *in)
{
    uint32_t shape[2] = {4, 8};
    struct tl_tensor a = tl_tensor_make(TL_FLOAT16, 2, shape), b = a, *both[] = {&a, &b}, x = in->tensors[0];

    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        tl_alloc_tensors(o, both, 2);
        tl_add_inout(&args, &a);
        tl_add_output(&args, &b);
        tl_add_no_dep(&args, &x);
        tl_set_block_num(&args, 6);
        tl_submit_mix(o, (struct tl_mix){3, 5, -1}, &args);
    }
}

static const struct tl_program kinds_program = CAPTURE_PROGRAM("kinds", mix_kernels, orchestrate_kinds);

static void every_kind_of_task(void **state)
{
    static float data[ELEMENTS];
    const struct tl_host_tensor tensor = capture_row("x", TL_INOUT, TL_FLOAT32, data, ELEMENTS);

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        struct tl_deps d = {0};
        struct capture c;

        capture_begin(&c, cell, 0);
        c.config.levels[TL_COLLECT_DEPS] = true;
        assert_int_equal(capture_run(&c, &kinds_program, &tensor, 1), 0);
        read_deps(&c, &d);
        assert_int_equal(d.n_tasks, 2);
        assert_int_equal(d.tasks[0].kernel_ids[0], -1);
        assert_int_equal(d.tasks[0].kernel_ids[1], -1);
        assert_int_equal(d.tasks[0].n_args, 2);
        assert_int_equal(d.tasks[1].kernel_ids[0], 3);
        assert_int_equal(d.tasks[1].kernel_ids[1], 5);
        assert_int_equal(d.tasks[1].kernel_ids[2], -1);
        assert_int_equal(d.tasks[1].block_num, 6);
        assert_int_equal(d.tasks[1].n_args, 3);
        assert_int_equal(d.args[2].type, TL_INOUT);
        assert_int_equal(d.args[3].type, TL_OUT_EXISTING);
        assert_int_equal(d.args[4].type, TL_NO_DEP);
        assert_int_equal(d.args[2].view.dtype, TL_FLOAT16);
        assert_int_equal(d.args[2].view.shape[1], 8);
        assert_int_equal(d.args[0].tensor_id, d.args[2].tensor_id);
        assert_int_not_equal(d.args[1].tensor_id, d.args[3].tensor_id); /* its next version */
        assert_int_equal(d.n_edges, 2);
        assert_int_equal(d.n_tensors, 4);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(d.tensors[i].buffer_numel, d.tensors[i].dtype == TL_FLOAT16 ? 32 : ELEMENTS);
        tl__deps_fini(&d);
        capture_end(&c);
    }
}

static int close_chips(void **state)
{
    (void)state;
    capture_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_recorded_as_planned),
        cmocka_unit_test(a_task_with_any_fan_in_is_recorded),
        cmocka_unit_test(a_kept_image_is_recorded_all_the_same),
        cmocka_unit_test(every_kind_of_task),
    };
    return cmocka_run_group_tests(tests, NULL, close_chips);
}
