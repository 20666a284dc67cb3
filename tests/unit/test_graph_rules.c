/* SPDX-License-Identifier: Apache-2.0 */
/* Which edges a task gets: the rules one by one, with the graphs that other runtimes recorded. */
#include "test_graph_util.h"

#define WAIT TL_EDGE_WAIT
#define RETAIN TL_EDGE_RETAIN
#define COVERED TL_EDGE_COVERED

static void expect_edge(const struct tl_plan *p, uint32_t i, uint64_t pred, int32_t arg, enum tl_edge_source source,
                        unsigned flags)
{
    assert_true(i < p->n_edges);
    assert_int_equal(p->edges[i].pred, pred);
    assert_int_equal(p->edges[i].arg, arg);
    assert_int_equal(p->edges[i].source, source);
    assert_int_equal(p->edges[i].flags, flags);
    assert_int_equal(p->edges[i].producer != NULL, source == TL_EDGE_TENSORMAP);
}

static void expect_pred(const struct tl_plan *p, uint32_t i, uint64_t id, unsigned flags)
{
    assert_true(i < p->n_preds);
    assert_int_equal(p->preds[i].id, id);
    assert_int_equal(p->preds[i].flags, flags);
    assert_int_equal(p->preds[i].slot, tl__task_local(id) % 8);
}

/* explicit before tensormap; an inout waits for the writer, and then is the writer. */
static void explicit_edges_come_before_writers(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor flag = tensor_at(0x1000, 16), x = tensor_at(0x2000, 16), out = tensor_at(0x3000, 16);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_plan p;
    tl_task_id first;

    (void)state;
    first = must_use(g, 'x', &flag).id;
    assert_int_equal(first, 0);
    p = must_use(g, 'x', &x);
    assert_int_equal(p.n_edges, 0);
    tl_add_inout(&args, &x);
    tl_set_dependencies(&args, &first, 1);
    p = must_plan(g, &args);
    assert_int_equal(p.id, 2);
    assert_int_equal(p.n_edges, 2);
    expect_edge(&p, 0, 0, -1, TL_EDGE_EXPLICIT, WAIT);
    expect_edge(&p, 1, 1, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    assert_int_equal(p.edges[1].producer->shape[0], 16);
    assert_int_equal(p.n_preds, 2);
    expect_pred(&p, 0, 0, WAIT);
    expect_pred(&p, 1, 1, WAIT);
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_input(&args, &x);
    tl_add_inout(&args, &out);
    p = must_plan(g, &args);
    assert_int_equal(p.n_edges, 1); /* task 2 covers what task 1 wrote */
    expect_edge(&p, 0, 2, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    tl__graph_destroy(g);
}

/* A diamond over allocated tensors: creators only, and no tensormap entry for what they allocate. */
static void a_task_waits_for_the_creator_of_its_tensor(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor a = tensor_at(0x1000, 256), c = fresh(256), d = fresh(256);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const struct tl_range *ranges;
    struct tl_plan p;

    (void)state;
    tl_add_input(&args, &a);
    tl_add_output(&args, &c);
    p = must_plan(g, &args);
    assert_int_equal(p.n_edges, 0);
    assert_int_equal(c.owner, 0);
    assert_int_equal(c.buffer, HEAP_BASE);
    assert_int_equal(c.buffer_bytes, 1024);
    assert_int_equal(tl__graph_writers(g), 0);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 1);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 2);
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_input(&args, &c);
    tl_add_input(&args, &c);
    tl_add_output(&args, &d);
    p = must_plan(g, &args);
    assert_int_equal(p.id, UINT64_C(1) << 32);
    assert_int_equal(d.buffer, HEAP_BASE + HEAP_STEP);
    assert_int_equal(p.n_edges, 2);
    expect_edge(&p, 0, 0, 0, TL_EDGE_CREATOR, WAIT | RETAIN);
    expect_edge(&p, 1, 0, 1, TL_EDGE_CREATOR, WAIT | RETAIN);
    assert_int_equal(p.n_preds, 1);
    expect_pred(&p, 0, 0, WAIT | RETAIN);
    /* An inout of allocated memory adds a writer; whoever comes next waits for both. */
    p = must_use(g, 'x', &d);
    assert_int_equal(p.n_edges, 1);
    assert_int_equal(tl__graph_writers(g), 1);
    p = must_use(g, 'i', &d);
    assert_int_equal(p.n_edges, 2);
    expect_edge(&p, 0, UINT64_C(1) << 32, 0, TL_EDGE_CREATOR, WAIT | RETAIN);
    expect_edge(&p, 1, (UINT64_C(1) << 32) + 1, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 0);
    tl__graph_destroy(g);
}

static void overlapping_halves_and_wholes_are_ordered(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 64), low = part_of(&x, 0, 32), high = part_of(&x, 32, 32);
    struct tl_tensor middle = part_of(&x, 16, 32);
    struct tl_plan p;

    (void)state;
    must_use(g, 'o', &low);
    p = must_use(g, 'o', &high);
    assert_int_equal(p.n_edges, 0);
    p = must_use(g, 'i', &high);
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, 1, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    p = must_use(g, 'i', &middle);
    assert_int_equal(p.n_edges, 2);
    expect_edge(&p, 0, 0, 0, TL_EDGE_TENSORMAP, WAIT);
    expect_edge(&p, 1, 1, 0, TL_EDGE_TENSORMAP, WAIT);
    /* A write waits for both writers and for both readers since. */
    p = must_use(g, 'o', &middle);
    assert_int_equal(p.n_edges, 4);
    expect_edge(&p, 0, 0, 0, TL_EDGE_TENSORMAP, WAIT);
    expect_edge(&p, 1, 1, 0, TL_EDGE_TENSORMAP, WAIT);
    expect_edge(&p, 2, 2, 0, TL_EDGE_TENSORMAP, WAIT);
    expect_edge(&p, 3, 3, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    assert_int_equal(p.edges[3].producer->start_offset, 16);
    assert_int_equal(p.n_preds, 4);
    /* Partly written over: the older writers still count for their own parts. */
    p = must_use(g, 'i', &x);
    assert_int_equal(p.n_edges, 3);
    p = must_use(g, 'x', &x);
    assert_int_equal(p.n_edges, 3 + 2);
    assert_int_equal(tl__graph_writers(g), 1);
    assert_int_equal(tl__graph_readers(g), 0);
    p = must_use(g, 'i', &low);
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, 6, 0, TL_EDGE_TENSORMAP, WAIT);
    tl__graph_destroy(g);
}

static void slices_that_do_not_touch(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 64), even = x, odd = x, column = x;
    struct tl_plan p;

    (void)state;
    even.shape[0] = odd.shape[0] = 32;
    even.strides[0] = odd.strides[0] = 2;
    odd.start_offset = 1;
    column =
        (struct tl_tensor){.buffer = 0x1000, .buffer_bytes = 256, .owner = TL_NO_TASK, .rank = 2, .start_offset = 5};
    column.shape[0] = 8;
    column.shape[1] = 1;
    column.strides[0] = 8;
    column.strides[1] = 1;
    must_use(g, 'o', &even);
    p = must_use(g, 'o', &odd);
    assert_int_equal(p.n_edges, 0);
    p = must_use(g, 'i', &column); /* elements 5, 13, ...: odd ones only */
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, 1, 0, TL_EDGE_TENSORMAP, WAIT);
    p = must_use(g, 'i', &x);
    assert_int_equal(p.n_edges, 2);
    tl__graph_destroy(g);
}

static void no_dep_and_empty_take_no_part(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 64), none = part_of(&x, 64, 0), one = x;
    struct tl_plan p;

    (void)state;
    must_use(g, 'x', &x);
    p = must_use(g, 'n', &x);
    assert_int_equal(p.n_edges, 0);
    p = must_use(g, 'x', &none);
    assert_int_equal(p.n_edges, 0);
    one.rank = 0;
    one.shape[0] = 0;
    one.strides[0] = 0;
    p = must_use(g, 'x', &one);
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, 0, 0, TL_EDGE_TENSORMAP, WAIT);
    tl__graph_destroy(g);
}

static void a_manual_scope_makes_no_edges_of_its_own(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 64), y = fresh(64);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const struct tl_range *ranges;
    tl_task_id two[2] = {0, TL_NO_TASK};
    struct tl_plan p;

    (void)state;
    must_use(g, 'x', &x);
    must_use(g, 'o', &y);
    tl__graph_scope_begin(g, TL_SCOPE_MANUAL, "t.c", 9);
    tl_add_inout(&args, &x);
    tl_add_input(&args, &y);
    p = must_plan(g, &args);
    assert_true(p.manual);
    assert_int_equal(p.n_edges, 1); /* nothing is derived, but y's memory must stay */
    expect_edge(&p, 0, 1, 1, TL_EDGE_CREATOR, RETAIN);
    expect_pred(&p, 0, 1, RETAIN);
    tl_set_dependencies(&args, two, 2);
    p = must_plan(g, &args);
    assert_int_equal(p.n_edges, 2);
    expect_edge(&p, 0, 0, -1, TL_EDGE_EXPLICIT, WAIT);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    /* Whoever comes after the scope waits for all writers: in it, none replaced another. */
    p = must_use(g, 'i', &x);
    assert_int_equal(p.n_edges, 3);
    expect_edge(&p, 0, 0, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    expect_edge(&p, 1, 2, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    expect_edge(&p, 2, 3, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    tl__graph_destroy(g);
}

/* 65 and 646 predecessors; 600,000 mentions of few. */
static void any_number_of_dependencies(void **state)
{
    static tl_task_id ids[600000];
    struct tl_graph_opts o = small_opts();
    struct tl_graph *g;
    const uint32_t counts[] = {65, 646, 600000};

    (void)state;
    o.task_window[0] = 1024;
    o.dep_pool[0] = 1024;
    g = make_graph(&o);
    for (uint32_t i = 0; i < 646; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        must_plan(g, &args);
    }
    for (uint32_t i = 0; i < 600000; i++)
        ids[i] = i % 646;
    for (uint32_t k = 0; k < 3; k++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_plan p;

        tl_set_dependencies(&args, ids, counts[k]);
        if (k == 2)
            tl__graph_retired(g, 0, 600);
        p = must_plan(g, &args);
        assert_int_equal(p.n_edges, counts[k]);
        assert_int_equal(p.n_preds, k == 0 ? 65 : k == 1 ? 646 : 46);
        assert_int_equal(p.edges[counts[k] - 1].pred, (counts[k] - 1) % 646);
        assert_int_equal(p.edges[0].flags, k == 2 ? WAIT | TL_EDGE_GONE : WAIT);
    }
    assert_int_equal(tl__graph_usage(g, 0).dep_head, 65 + 646 + 46);
    assert_int_equal(tl__graph_usage(g, 0).dep_tail, 0);
    tl__graph_destroy(g);
}

/* Memory that a ring hands out again is another buffer: no edge to users of the old one. */
static void recycled_memory_is_another_buffer(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor outer = tensor_at(0x1000, 4), a = fresh(2048), b = fresh(2048);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const struct tl_range *ranges;
    struct tl_plan p;

    (void)state;
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 1);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 2);
    must_use(g, 'o', &a);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 3);
    tl_add_inout(&args, &a);
    tl_add_inout(&args, &outer);
    p = must_plan(g, &args); /* in ring 2, which does not retire here */
    assert_int_equal(p.ring, 2);
    tl__graph_scope_end(g, &ranges);
    tl__graph_scope_end(g, &ranges);
    tl__graph_retired(g, 1, 1);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 4);
    must_use(g, 'o', &b);
    assert_int_equal(b.buffer, a.buffer);
    p = must_use(g, 'i', &b);
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, (UINT64_C(1) << 32) + 1, 0, TL_EDGE_CREATOR, WAIT | RETAIN);
    p = must_use(g, 'i', &outer);
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, UINT64_C(2) << 32, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    tl__graph_destroy(g);
}

static void retired_tasks_leave_the_map(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 64);
    struct tl_plan p;

    (void)state;
    must_use(g, 'x', &x);
    must_use(g, 'i', &x);
    assert_int_equal(tl__graph_writers(g), 1);
    assert_int_equal(tl__graph_readers(g), 1);
    tl__graph_retired(g, 0, 1);
    assert_int_equal(tl__graph_writers(g), 0);
    p = must_use(g, 'x', &x);
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, 1, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    tl__graph_retired(g, 0, 3);
    assert_int_equal(tl__graph_readers(g), 0);
    p = must_use(g, 'x', &x);
    assert_int_equal(p.n_edges, 0);
    tl__graph_destroy(g);
}

/* Long lists are found by cells: the answers must not depend on it. */
static void many_tiles_of_one_buffer(void **state)
{
    struct tl_graph_opts o = small_opts();
    struct tl_tensor x = tensor_at(0x1000, 64 * 64), t = {0};
    struct tl_graph *g;
    struct tl_plan p;

    (void)state;
    o.task_window[0] = 512;
    o.dep_pool[0] = 4096;
    g = make_graph(&o);
    t = (struct tl_tensor){.buffer = 0x1000, .buffer_bytes = x.buffer_bytes, .owner = TL_NO_TASK, .rank = 2};
    t.shape[0] = t.shape[1] = 8;
    t.strides[0] = 64;
    t.strides[1] = 1;
    for (uint32_t i = 0; i < 64; i++) {
        t.start_offset = i / 8 * 8 * 64 + i % 8 * 8;
        p = must_use(g, 'x', &t);
        assert_int_equal(p.n_edges, 0);
    }
    t.start_offset = 3 * 8 * 64 + 3 * 8;
    p = must_use(g, 'i', &t);
    assert_int_equal(p.n_edges, 1);
    expect_edge(&p, 0, 3 * 8 + 3, 0, TL_EDGE_TENSORMAP, WAIT | COVERED);
    t.start_offset += 4 * 64 + 4; /* four tiles meet here */
    p = must_use(g, 'i', &t);
    assert_int_equal(p.n_edges, 4);
    p = must_use(g, 'x', &x);
    assert_int_equal(p.n_edges, 64 + 2);
    assert_int_equal(tl__graph_writers(g), 1);
    assert_int_equal(tl__graph_readers(g), 0);
    tl__graph_destroy(g);
}

/* Tiles whose size is no power of two extend over the edges of cells: a reader of one element, which has one cell,
 * finds the tile that begins in the cell before. */
static void elements_of_tiles(uint32_t rows, uint32_t cols)
{
    const uint32_t side = 12, height = side * rows, width = side * cols;
    struct tl_graph_opts o = small_opts();
    struct tl_tensor t = {.buffer = 0x1000, .buffer_bytes = height * width * 4, .owner = TL_NO_TASK, .rank = 2};
    struct tl_graph *g;
    struct tl_plan p;

    o.task_window[0] = 4096;
    o.dep_pool[0] = 4096;
    g = make_graph(&o);
    t.strides[0] = width;
    t.strides[1] = 1;
    t.shape[0] = rows;
    t.shape[1] = cols;
    for (uint32_t i = 0; i < side * side; i++) {
        t.start_offset = i / side * rows * width + i % side * cols;
        p = must_use(g, 'x', &t);
        assert_int_equal(p.n_edges, 0);
    }
    t.shape[0] = t.shape[1] = 1;
    for (uint32_t i = 0; i < height * width; i++) {
        t.start_offset = i;
        p = must_use(g, 'i', &t);
        assert_int_equal(p.n_edges, 1);
        expect_edge(&p, 0, i / width / rows * side + i % width / cols, 0, TL_EDGE_TENSORMAP, WAIT);
    }
    tl__graph_destroy(g);
}

static void elements_of_odd_tiles(void **state)
{
    (void)state;
    elements_of_tiles(3, 4);
    elements_of_tiles(4, 3);
    elements_of_tiles(3, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explicit_edges_come_before_writers),
        cmocka_unit_test(a_task_waits_for_the_creator_of_its_tensor),
        cmocka_unit_test(overlapping_halves_and_wholes_are_ordered),
        cmocka_unit_test(slices_that_do_not_touch),
        cmocka_unit_test(no_dep_and_empty_take_no_part),
        cmocka_unit_test(a_manual_scope_makes_no_edges_of_its_own),
        cmocka_unit_test(any_number_of_dependencies),
        cmocka_unit_test(recycled_memory_is_another_buffer),
        cmocka_unit_test(retired_tasks_leave_the_map),
        cmocka_unit_test(many_tiles_of_one_buffer),
        cmocka_unit_test(elements_of_odd_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
