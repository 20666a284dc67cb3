/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The export of dep_gen on recordings made by a small graph: what retired keeps its edges, what is written is what the
 * rules say, and a recording that says otherwise is refused by the name of the edge.
 */
#include "unit/artifact_fixture.h"

#include "support/deps_tape.h"

#include "test_graph_util.h"

static struct tl_graph *graph;
static struct deps_tape tape;
static uint32_t tails[TL_DEPS_RINGS];
static struct tl_deps deps; /* of the last export that wrote */
static struct tl_error error;

static void begin(const struct tl_graph_opts *opts)
{
    tl__graph_destroy(graph);
    graph = make_graph(opts);
    tape_free(&tape);
    memset(tails, 0, sizeof(tails));
    tl__deps_fini(&deps);
}

static int leave(void **state)
{
    tl__graph_destroy(graph);
    graph = NULL;
    tape_free(&tape);
    tl__deps_fini(&deps);
    return fixture_teardown(state);
}

static tl_task_id submit_args(const struct tl_task_args *args)
{
    struct tl_plan plan = must_plan(graph, args);

    tape_task(&tape, &plan, tails);
    return plan.id;
}

/* A task with one tensor, as must_use(). */
static tl_task_id submit(char how, struct tl_tensor *t)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    if (how == 'i')
        tl_add_input(&args, t);
    else if (how == 'x')
        tl_add_inout(&args, t);
    else if (how == 'o')
        tl_add_output(&args, t);
    else
        tl_add_no_dep(&args, t);
    return submit_args(&args);
}

static tl_task_id submit_after(const tl_task_id *ids, uint32_t n)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_set_dependencies(&args, ids, n);
    return submit_args(&args);
}

static void retire(uint32_t ring, uint32_t tail)
{
    tl__graph_retired(graph, ring, tail);
    tails[ring] = tail;
}

static void scope(enum tl_scope_kind kind)
{
    assert_true(tl__graph_scope_begin(graph, kind, "t.c", 1) >= 0);
}

static void scope_end(void)
{
    const struct tl_range *ranges;

    assert_true(tl__graph_scope_end(graph, &ranges) >= 0);
}

static const char *file(void)
{
    static char path[300];

    (void)snprintf(path, sizeof(path), "%s/deps.json", fixture_dir);
    return path;
}

static int export_as(const struct tape_run *how)
{
    struct tape_run run = *how;

    run.dir = fixture_dir;
    (void)unlink(file());
    return tape_export(&tape, &run, &error);
}

/* Exports, and reads what was written. */
static void must_export(void)
{
    if (tape_inspect(&tape) != NULL)
        fail_msg("%s", tape_inspect(&tape));
    if (export_as(&(struct tape_run){.per_batch = 5}) < 0)
        fail_msg("%s", error.msg);
    tl__deps_fini(&deps);
    if (tl__deps_read(file(), &deps, &error) < 0)
        fail_msg("%s", error.msg);
}

/* Nothing is written, and the line has `part`. */
static void must_refuse(int code, const char *part)
{
    assert_int_equal(export_as(&(struct tape_run){0}), code);
    if (strstr(error.msg, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, error.msg);
    assert_int_equal(access(file(), F_OK), -1);
}

/* The only edge from `pred` to `succ` by this argument and source. */
static const struct tl_deps_edge *edge(const struct tl_deps_edge *edges, uint64_t n, tl_task_id pred, tl_task_id succ,
                                       int32_t arg, unsigned source)
{
    const struct tl_deps_edge *found = NULL;

    for (uint64_t i = 0; i < n; i++)
        if (edges[i].pred == pred && edges[i].succ == succ && edges[i].arg == arg && edges[i].source == source) {
            assert_null(found);
            found = &edges[i];
        }
    return found;
}

static const struct tl_deps_edge *must_edge(tl_task_id pred, tl_task_id succ, int32_t arg, unsigned source)
{
    const struct tl_deps_edge *e = edge(deps.edges, deps.n_edges, pred, succ, arg, source);

    assert_non_null(e);
    assert_true((e->flags & TL_DEPS_HAS_FLAGS) != 0);
    return e;
}

static unsigned flags(const struct tl_deps_edge *e)
{
    return e->flags & (TL_DEPS_WAIT | TL_DEPS_RETAIN);
}

/* --- the complete graph ------------------------------------------------------------------------------------------ */

static void a_producer_that_retires_first_keeps_its_edge(void **state)
{
    struct tl_tensor x = tensor_at(0x10000, 16);
    tl_task_id a, b, c;

    (void)state;
    begin(NULL);
    a = submit('o', &x);
    retire(0, 1);
    b = submit('i', &x);
    c = submit_after((tl_task_id[]){a, TL_NO_TASK, b}, 3);
    must_export();
    assert_int_equal(deps.n_tasks, 3);
    assert_int_equal(deps.n_edges, 3);
    assert_int_equal(flags(must_edge(a, b, 0, TL_DEPS_TENSORMAP)), TL_DEPS_WAIT);
    assert_int_equal(flags(must_edge(a, c, -1, TL_DEPS_EXPLICIT)), TL_DEPS_WAIT);
    assert_int_equal(flags(must_edge(b, c, -1, TL_DEPS_EXPLICIT)), TL_DEPS_WAIT);
    assert_true(deps.has_filtered);
    assert_int_equal(deps.n_filtered, 2);
    assert_non_null(edge(deps.filtered, 2, a, b, 0, TL_DEPS_TENSORMAP));
    assert_non_null(edge(deps.filtered, 2, a, c, -1, TL_DEPS_EXPLICIT));
    assert_int_equal(deps.tasks[1].kernel_ids[0], -1);
    assert_int_equal(deps.tasks[1].kernel_ids[1], 7);
    assert_int_equal(deps.tasks[1].kernel_ids[2], -1);
}

static void creators_are_waited_for_and_retained(void **state)
{
    struct tl_tensor x = fresh(16);
    tl_task_id a, b, c;

    (void)state;
    begin(NULL);
    scope(TL_SCOPE_AUTO);
    a = submit('o', &x);
    b = submit('i', &x);
    scope(TL_SCOPE_MANUAL);
    c = submit('x', &x); /* nothing is derived here, but the memory stays */
    must_export();
    assert_int_equal(flags(must_edge(a, b, 0, TL_DEPS_CREATOR)), TL_DEPS_WAIT | TL_DEPS_RETAIN);
    assert_int_equal(flags(must_edge(a, c, 0, TL_DEPS_CREATOR)), TL_DEPS_RETAIN);
    assert_int_equal(deps.n_edges, 2);
    assert_false(deps.tasks[1].manual);
    assert_true(deps.tasks[2].manual);
    assert_int_equal(deps.tasks[2].task_id >> 32, 1);
    assert_int_equal(deps.args[0].type, TL_OUT);
    assert_true(deps.args[0].has_view);
    assert_int_equal(deps.args[0].tensor_id, deps.args[1].tensor_id);
    assert_int_equal(deps.args[0].tensor_id, must_edge(a, b, 0, TL_DEPS_CREATOR)->tensor_id);
    assert_int_equal(deps.n_tensors, 1);
    assert_int_equal(deps.tensors[0].buffer_addr, x.buffer);
    assert_int_equal(deps.tensors[0].buffer_numel, 16);
    assert_int_equal(deps.tensors[0].tensor_id, tl__deps_tensor_id(x.buffer, 0));
}

static void slices_are_written_as_they_were(void **state)
{
    struct tl_tensor x = tensor_at(0x10000, 64), columns = x, row = part_of(&x, 8, 8);
    const struct tl_deps_edge *e;
    tl_task_id a, b, c, d;

    (void)state;
    columns.rank = 2; /* columns 0 and 1 of 8 x 8 */
    columns.shape[0] = 8;
    columns.shape[1] = 2;
    columns.strides[0] = 8;
    columns.strides[1] = 1;
    begin(NULL);
    a = submit('x', &columns);
    b = submit('i', &row);
    c = submit('x', &x); /* covers both */
    d = submit('i', &columns);
    must_export();
    e = must_edge(a, b, 0, TL_DEPS_TENSORMAP);
    assert_int_equal(e->overlap, TL_DEPS_OTHER);
    assert_int_equal(e->consumer.start_offset, 8);
    assert_int_equal(e->consumer.rank, 1);
    assert_int_equal(e->consumer.shape[0], 8);
    assert_int_equal(e->producer.rank, 2);
    assert_int_equal(e->producer.start_offset, 0);
    assert_int_equal(e->producer.shape[0], 8);
    assert_int_equal(e->producer.shape[1], 2);
    assert_int_equal(e->producer.strides[0], 8);
    assert_int_equal(e->producer.strides[1], 1);
    assert_int_equal(must_edge(a, c, 0, TL_DEPS_TENSORMAP)->overlap, TL_DEPS_COVERED);
    e = must_edge(b, c, 0, TL_DEPS_TENSORMAP); /* a reader, before this task writes */
    assert_int_equal(e->overlap, TL_DEPS_COVERED);
    assert_int_equal(e->producer.start_offset, 8);
    assert_int_equal(must_edge(c, d, 0, TL_DEPS_TENSORMAP)->overlap, TL_DEPS_OTHER);
    assert_int_equal(deps.n_edges, 4); /* a is covered by c: d waits for c alone */
}

/* In another ring a task that covers may retire before the one that it covered: then neither is waited for. */
static void a_cover_that_retires_first_hides_what_it_covered(void **state)
{
    struct tl_tensor x = tensor_at(0x10000, 16);
    tl_task_id w1, w2, c;

    (void)state;
    begin(NULL);
    scope(TL_SCOPE_AUTO);
    w1 = submit('x', &x);
    scope(TL_SCOPE_AUTO);
    w2 = submit('x', &x);
    scope_end();
    retire(1, 1);
    c = submit('i', &x);
    must_export();
    assert_int_equal(deps.n_edges, 2);
    assert_non_null(must_edge(w1, w2, 0, TL_DEPS_TENSORMAP));
    assert_non_null(must_edge(w2, c, 0, TL_DEPS_TENSORMAP));
    assert_int_equal(deps.n_filtered, 1);
    assert_int_equal(deps.filtered[0].pred, w2);
}

static void memory_that_is_used_again_is_another_tensor(void **state)
{
    struct tl_graph_opts opts = small_opts();
    struct tl_tensor first = fresh(16), second = fresh(256), again;
    tl_task_id a, b, c, d;

    (void)state;
    opts.heap_bytes[0] = 1024;
    begin(&opts);
    scope(TL_SCOPE_AUTO);
    a = submit('o', &first);
    b = submit('x', &first);
    scope_end();
    retire(0, 2);
    scope(TL_SCOPE_AUTO);
    c = submit('o', &second);
    assert_int_equal(second.buffer, first.buffer);
    again = second;
    d = submit('o', &again); /* the next version of it */
    must_export();
    assert_non_null(must_edge(a, b, 0, TL_DEPS_CREATOR));
    assert_non_null(must_edge(c, d, 0, TL_DEPS_CREATOR));
    assert_int_equal(deps.n_edges, 2);
    assert_int_equal(deps.n_tensors, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(deps.tensors[i].buffer_addr, first.buffer);
        assert_int_equal(deps.tensors[i].version, i);
        assert_int_equal(deps.tensors[i].tensor_id, tl__deps_tensor_id(first.buffer, i));
        assert_int_equal(deps.tensors[i].buffer_numel, i == 0 ? 16 : 256);
    }
    assert_int_equal(deps.args[0].tensor_id, deps.args[1].tensor_id);
    assert_int_equal(deps.args[2].tensor_id, deps.tensors[1].tensor_id);
    assert_int_equal(deps.args[3].tensor_id, deps.tensors[2].tensor_id);
}

static void allocations_are_tasks(void **state)
{
    struct tl_graph_opts opts = small_opts();
    struct tl_tensor t[40], *at[40];
    struct tl_plan plan;
    tl_task_id user;

    (void)state;
    opts.heap_bytes[0] = 64 * 1024;
    begin(&opts);
    scope(TL_SCOPE_AUTO);
    for (unsigned i = 0; i < 40; i++) {
        t[i] = fresh(4 + i);
        at[i] = &t[i];
    }
    assert_int_equal(tl__graph_plan_alloc(graph, at, 40, &plan, &error), 0);
    tape_alloc(&tape, &plan, at, 40, tails);
    user = submit('x', &t[39]);
    must_export();
    assert_int_equal(deps.n_tasks, 2);
    assert_int_equal(deps.tasks[0].n_args, 40);
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(deps.tasks[0].kernel_ids[k], -1);
    assert_int_equal(deps.args[39].idx, 39);
    assert_int_equal(deps.args[39].type, TL_OUT);
    assert_int_equal(deps.args[39].view.shape[0], 43);
    assert_int_equal(flags(must_edge(plan.id, user, 0, TL_DEPS_CREATOR)), TL_DEPS_WAIT | TL_DEPS_RETAIN);
    assert_int_equal(deps.n_tensors, 40);
}

static void what_has_no_shape_in_the_file_is_written_without(void **state)
{
    struct tl_tensor deep = tensor_at(0x10000, 16), odd = tensor_at(0x20000, 16);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    tl_task_id a, b;

    (void)state;
    deep.rank = 6;
    odd.dtype = 77;
    begin(NULL);
    tl_add_inout(&args, &deep);
    tl_add_inout(&args, &odd);
    a = submit_args(&args);
    b = submit_args(&args);
    must_export();
    assert_int_equal(deps.args[0].view.rank, 0);
    assert_int_equal(deps.args[1].view.dtype, TL_DTYPE_COUNT);
    assert_int_equal(must_edge(a, b, 0, TL_DEPS_TENSORMAP)->producer.rank, 0);
    assert_int_equal(must_edge(a, b, 1, TL_DEPS_TENSORMAP)->overlap, TL_DEPS_COVERED);
}

static void any_number_of_dependencies(void **state)
{
    static const uint32_t counts[] = {0, 1, 2, 3, 17, 18, 65, 646, 600000};
    static tl_task_id ids[600000];
    uint32_t expected = 0;
    tl_task_id last = 0;

    (void)state;
    begin(NULL);
    ids[0] = submit_after(NULL, 0);
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        for (uint32_t i = 0; i < counts[k]; i++)
            ids[i] = ids[0];
        last = submit_after(ids, counts[k]);
        expected += counts[k];
        retire(0, (uint32_t)last - 1);
    }
    must_export();
    assert_int_equal(deps.n_tasks, 10);
    assert_int_equal(deps.n_edges, expected);
    assert_int_equal(deps.edges[expected - 1].succ, last);
    assert_int_equal(deps.edges[expected - 1].pred, ids[0]);
}

/* --- differences -------------------------------------------------------------------------------------------------- */

/* Three writers of a buffer by halves, then a reader of all: its edges are from w2 (left) and w1 (right). */
static union tl_wire_deps_record *four_tasks(void)
{
    struct tl_tensor x = tensor_at(0x10000, 16), left = part_of(&x, 0, 8), right = part_of(&x, 8, 8);

    begin(NULL);
    (void)submit('x', &left);
    (void)submit('x', &right);
    (void)submit('x', &left);
    (void)submit('i', &x);
    must_export();
    assert_int_equal(deps.n_edges, 3);
    return &tape.records[tape.count - 2]; /* the reader's head */
}

static void a_difference_is_an_error_that_names_the_edge(void **state)
{
    struct tl_wire_deps_task *head = &four_tasks()->task;

    (void)state;
    assert_int_equal(head->n_edges, 2);
    head->edges[0].flags ^= TL_EDGE_COVERED;
    must_refuse(TL_ECORRUPT, "task r0t3, edge from r0t1: the runtime decided: argument 0, tensormap, wait, other; its "
                             "rules say: argument 0, tensormap, wait, covered");
    head = &four_tasks()->task;
    head->edges[0].flags |= TL_EDGE_RETAIN;
    must_refuse(TL_ECORRUPT, "wait, retain, covered; its rules say: argument 0, tensormap, wait, covered");
    head = &four_tasks()->task;
    head->edges[1].view++;
    must_refuse(TL_ECORRUPT, "task r0t3, edge from r0t2");
    assert_non_null(strstr(error.msg, "the producer's view is another"));
    head = &four_tasks()->task;
    head->n_edges = 1;
    must_refuse(TL_ECORRUPT, "task r0t3, edge from r0t2: the runtime decided: no such edge; its rules say: argument 0");
    head = &four_tasks()->task;
    head->n_edges = 3;
    head->edges[2] = head->edges[0];
    head->edges[2].pred = 0;
    must_refuse(TL_ECORRUPT,
                "task r0t3, edge from r0t0: the runtime decided: argument 0, tensormap, wait, covered; its "
                "rules say: no such edge");
    head = &four_tasks()->task;
    head->edges[0].source = TL_EDGE_CREATOR;
    must_refuse(TL_ECORRUPT, "task r0t3, edge from r0t1");
    head = &four_tasks()->task;
    head->tail[0] = 2; /* then r0t1 had retired, and the runtime does not wait for a task that has */
    must_refuse(TL_ECORRUPT, "task r0t3, edge from r0t1");
}

static void an_argument_or_a_task_that_was_otherwise_is_an_error(void **state)
{
    union tl_wire_deps_record *head = four_tasks();

    (void)state;
    head[1].arg.direction = TL_OUT_EXISTING; /* then it would wait for r0t1 and r0t2 all the same */
    assert_int_equal(export_as(&(struct tape_run){0}), 0);
    head[1].arg.tensor.shape[0] = 8;
    must_refuse(TL_ECORRUPT, "task r0t3, edge from r0t1");
    head = four_tasks();
    head[1].arg.tensor.start_offset = 9;
    must_refuse(TL_ECORRUPT, "task r0t3: the runtime accepted it, and its rules refuse it");
    head = four_tasks();
    head->task.depth = 3;
    must_refuse(TL_ECORRUPT, "task r0t3 at scope depth 3: the rules make it r2t0");
    head = four_tasks();
    head->task.n_deps = 1;
    head->task.deps[0] = 0;
    must_refuse(TL_ECORRUPT, "task r0t3, edge from r0t0: the runtime decided: no such edge; its rules say: explicit");
}

/* A depth is one word of a record, and each of its scopes is work: a recording may not ask for more than it is long. */
static void scopes_are_bounded_by_the_records(void **state)
{
    struct tl_tensor x = tensor_at(0x10000, 16);

    (void)state;
    begin(NULL);
    for (uint32_t task = 0; task < 20; task++) {
        for (unsigned depth = 0; depth < 60000; depth++)
            scope(TL_SCOPE_AUTO);
        (void)submit('x', &x);
        for (unsigned depth = 0; depth < 60000; depth++)
            scope_end();
        (void)submit('x', &x);
        for (uint32_t ring = 0; ring < TL_RINGS; ring += TL_RINGS - 1)
            retire(ring, task);
    }
    must_refuse(TL_ECORRUPT, " at scope depth 60000: the tasks so far would have opened more than 1048576 scopes");
    begin(NULL);
    for (unsigned depth = 0; depth < 4000; depth++)
        scope(TL_SCOPE_AUTO);
    (void)submit('x', &x);
    must_export();
}

/* Rules that come to the same edges in another order agree. */
static void the_order_of_edges_does_not_count(void **state)
{
    struct tl_wire_deps_task *head = &four_tasks()->task;
    struct tl_wire_deps_edge first = head->edges[0];

    (void)state;
    head->edges[0] = head->edges[1];
    head->edges[1] = first;
    must_export();
    assert_int_equal(deps.n_edges, 3);
}

/* --- overlaps that are not decided ------------------------------------------------------------------------------
 */

/* Views in which the search for a common byte gives up, although there is none: the columns differ. */
static struct tl_tensor grid(uint64_t first, uint64_t a, uint64_t b, uint64_t c)
{
    struct tl_tensor t = tensor_at(0x100000, 1u << 20);

    t.start_offset = first;
    t.rank = 3;
    t.shape[0] = t.shape[1] = t.shape[2] = 6;
    t.strides[0] = a * 64;
    t.strides[1] = b * 64;
    t.strides[2] = c * 64;
    return t;
}

static void a_guess_is_the_runtime_s(void **state)
{
    struct tl_tensor writer = grid(0, 101, 67, 29), reader = grid(3, 97, 71, 31), other;
    struct tl_extent ew, er;
    struct tl_region rw, rr;
    struct tl_wire_deps_task *head;
    tl_task_id w, r;

    (void)state;
    assert_true(tl__region_measure(&writer, &ew) && tl__region_measure(&reader, &er));
    tl__region_of(&writer, &rw);
    tl__region_of(&reader, &rr);
    assert_int_equal(tl__region_overlap(&rr, &er, &rw, &ew), TL_OVERLAP_MAYBE);
    begin(NULL);
    w = submit('x', &writer);
    r = submit('i', &reader);
    must_export(); /* few entries: each is looked at, here and in the replay */
    assert_non_null(must_edge(w, r, 0, TL_DEPS_TENSORMAP));
    head = &tape.records[2].task;
    head->n_edges = 0; /* a runtime that has not looked at it is right as well */
    must_export();
    assert_int_equal(deps.n_edges, 0);

    /* Here the replay looks at fewer: what has retired still fills its map. */
    begin(NULL);
    for (unsigned i = 0; i < 12; i++) {
        other = grid(8 + i, 1000, 1, 1); /* two rows of 64, in columns of their own */
        other.shape[0] = other.shape[1] = 2;
        other.shape[2] = 1;
        retire(0, (uint32_t)submit('x', &other));
    }
    w = submit('x', &writer);
    retire(0, (uint32_t)w);
    r = submit('i', &reader);
    assert_int_equal(tape.records[tape.count - 2].task.n_edges, 1);
    must_export();
    assert_int_equal(must_edge(w, r, 0, TL_DEPS_TENSORMAP)->producer.strides[0], 101 * 64);
    tape.records[tape.count - 2].task.edges[0].view++; /* no such view */
    must_refuse(TL_ECORRUPT, "edge from r0t12");
}

/* --- what is missing -----------------------------------------------------------------------------------------------
 */

static void a_run_that_ended_in_a_task_lists_those_before(void **state)
{
    static tl_task_id many[40];

    (void)state;
    begin(NULL);
    many[0] = submit_after(NULL, 0);
    (void)submit_after(many, 1);
    (void)submit_after(many, 40);
    for (uint32_t whole = tape.count; tape.count > 2; tape.count--) {
        if (tape.count == whole)
            continue;
        assert_int_equal(export_as(&(struct tape_run){.failed = true}), 0);
        assert_int_equal(tl__deps_read(file(), &deps, &error), 0);
        assert_int_equal(deps.n_tasks, 2);
        assert_int_equal(deps.n_edges, 1);
        tl__deps_fini(&deps);
        must_refuse(TL_ECORRUPT, "of task r0t2 are not all there, and nothing was lost");
    }
    tape.count = 0;
    assert_int_equal(export_as(&(struct tape_run){0}), 0);
    /* A run without submits is recorded too. */
    assert_int_equal(tl__deps_read(file(), &deps, &error), 0);
    assert_int_equal(deps.n_tasks, 0);
    tl__deps_fini(&deps);
}

static void nothing_is_said_of_what_comes_after_a_gap(void **state)
{
    struct tl_tensor x = tensor_at(0x10000, 16);

    (void)state;
    begin(NULL);
    for (unsigned i = 0; i < 4; i++)
        (void)submit('x', &x);
    memmove(&tape.records[4], &tape.records[6], 2 * sizeof(tape.records[0])); /* r0t2 is lost */
    tape.count -= 2;
    must_refuse(TL_ECORRUPT, "tasks before r0t3 are not there, and nothing was lost");
    assert_int_equal(export_as(&(struct tape_run){.dropped = 2}), 0);
    assert_int_equal(tl__deps_read(file(), &deps, &error), 0);
    assert_int_equal(deps.n_tasks, 2);
    assert_int_equal(deps.n_edges, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_producer_that_retires_first_keeps_its_edge),
        TEST(creators_are_waited_for_and_retained),
        TEST(slices_are_written_as_they_were),
        TEST(a_cover_that_retires_first_hides_what_it_covered),
        TEST(memory_that_is_used_again_is_another_tensor),
        TEST(allocations_are_tasks),
        TEST(what_has_no_shape_in_the_file_is_written_without),
        TEST(any_number_of_dependencies),
        TEST(a_difference_is_an_error_that_names_the_edge),
        TEST(an_argument_or_a_task_that_was_otherwise_is_an_error),
        TEST(scopes_are_bounded_by_the_records),
        TEST(the_order_of_edges_does_not_count),
        TEST(a_guess_is_the_runtime_s),
        TEST(a_run_that_ended_in_a_task_lists_those_before),
        TEST(nothing_is_said_of_what_comes_after_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
