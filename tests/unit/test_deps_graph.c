/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of deps.json: edges by task, levels, ends, cycles, walks and ways, with their exact values. */
#include "unit/deps_fixture.h"

#include <stdio.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_path.h"
#include "analysis/deps/deps_totals.h"

static struct graph_fixture f;

static void levels_are(const char *want)
{
    char got[400] = "";

    for (uint32_t i = 0; i < f.graph.tasks; i++) {
        size_t n = strlen(got);

        if (f.graph.level[i] == TL_DEPS_NONE)
            (void)snprintf(got + n, sizeof(got) - n, "%s-", i > 0 ? " " : "");
        else
            (void)snprintf(got + n, sizeof(got) - n, "%s%u", i > 0 ? " " : "", f.graph.level[i]);
    }
    assert_string_equal(got, want);
}

static void no_task_at_all(void **state)
{
    struct tl_deps_totals t;

    (void)state;
    fixture_graph(&f, 0);
    fixture_done(&f);
    assert_int_equal(f.graph.levels, 0);
    assert_int_equal(f.graph.roots, 0);
    assert_int_equal(f.graph.leaves, 0);
    assert_int_equal(f.graph.cycle_tasks, 0);
    tl__deps_totals(&f.graph, &t);
    assert_int_equal(t.n_fed, 0);
    fixture_free(&f);
}

/*     0   1   6
 *     |\ /|
 *     2 3 |      and 0 -> 3 twice, 3 -> 4, 2 -> 4, 4 -> 5, 1 -> 5
 *      \|  \
 *       4 -- 5
 */
static void diamond(void)
{
    fixture_graph(&f, 7);
    (void)fixture_edge(&f, 0, 2);
    (void)fixture_edge(&f, 0, 3);
    (void)fixture_edge(&f, 0, 3);
    (void)fixture_edge(&f, 1, 3);
    (void)fixture_edge(&f, 2, 4);
    (void)fixture_edge(&f, 3, 4);
    (void)fixture_edge(&f, 4, 5);
    (void)fixture_edge(&f, 1, 5);
    fixture_done(&f);
}

static void levels_and_ends_are_those_of_the_diamond(void **state)
{
    const uint32_t producers[] = {0, 0, 1, 2, 2, 2, 0}, consumers[] = {2, 2, 1, 1, 1, 0, 0};
    struct tl_deps_totals t;

    (void)state;
    diamond();
    levels_are("0 0 1 1 2 3 0");
    assert_memory_equal(f.graph.producers, producers, sizeof(producers));
    assert_memory_equal(f.graph.consumers, consumers, sizeof(consumers));
    assert_int_equal(f.graph.levels, 4);
    assert_int_equal(f.graph.widest, 0);
    assert_int_equal(f.graph.widest_tasks, 3);
    assert_int_equal(f.graph.roots, 3);
    assert_int_equal(f.graph.leaves, 2);
    assert_int_equal(f.graph.pairs, 7);
    assert_int_equal(f.graph.loose, 0);
    assert_int_equal(f.graph.unlevelled, 0);
    /* The edges of task 3, in the file's order. */
    assert_int_equal(f.graph.in_at[4] - f.graph.in_at[3], 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(f.graph.in[f.graph.in_at[3] + i], 1 + i);
    assert_int_equal(f.graph.out_at[4] - f.graph.out_at[3], 1);
    assert_int_equal(f.graph.out[f.graph.out_at[3]], 5);
    tl__deps_totals(&f.graph, &t);
    assert_int_equal(t.by_source[TL_DEPS_EXPLICIT], 8);
    assert_int_equal(t.wait, 8);
    assert_int_equal(t.roots[0], 0);
    assert_int_equal(t.roots[1], 1);
    assert_int_equal(t.roots[2], 6);
    assert_int_equal(t.leaves[0], 5);
    assert_int_equal(t.leaves[1], 6);
    assert_int_equal(t.n_fed, 4);
    assert_int_equal(t.most_fed[0], 3); /* of equals the first */
    assert_int_equal(t.most_fed[1], 4);
    assert_int_equal(t.most_fed[2], 5);
    assert_int_equal(t.most_fed[3], 2);
    assert_int_equal(t.n_feeding, 5);
    assert_int_equal(t.most_feeding[0], 0);
    assert_int_equal(t.most_feeding[1], 1);
    fixture_free(&f);
}

/* More tasks than the list of the first holds, each with one producer more than the one before it. */
static void the_greatest_of_many(void **state)
{
    struct tl_deps_totals t;

    (void)state;
    fixture_graph(&f, 20);
    for (uint64_t i = 0; i < 20; i++)
        for (uint64_t k = 0; k < i; k++)
            (void)fixture_edge(&f, k, i);
    fixture_done(&f);
    tl__deps_totals(&f.graph, &t);
    assert_int_equal(t.n_fed, TL_DEPS_TOP);
    assert_int_equal(t.n_feeding, TL_DEPS_TOP);
    for (uint32_t i = 0; i < TL_DEPS_TOP; i++) {
        assert_int_equal(t.most_fed[i], 19 - i);
        assert_int_equal(t.most_feeding[i], i);
    }
    assert_int_equal(f.graph.levels, 20);
    fixture_free(&f);
}

/* Only waits make levels: an edge that retains alone orders nothing, one without flags does. */
static void only_waits_make_levels(void **state)
{
    struct tl_deps_totals t;

    (void)state;
    fixture_graph(&f, 5);
    fixture_edge(&f, 0, 1)->flags = TL_DEPS_HAS_FLAGS | TL_DEPS_RETAIN;
    fixture_edge(&f, 1, 2)->flags = 0;
    fixture_edge(&f, 2, 3)->flags = TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT | TL_DEPS_RETAIN;
    fixture_edge(&f, 3, 4)->flags = TL_DEPS_HAS_FLAGS;
    fixture_done(&f);
    levels_are("0 0 1 2 0");
    assert_int_equal(f.graph.roots, 3);
    assert_int_equal(f.graph.leaves, 3);
    assert_int_equal(f.graph.producers[1], 1);
    tl__deps_totals(&f.graph, &t);
    assert_int_equal(t.retain, 1);
    assert_int_equal(t.not_said, 1);
    assert_int_equal(t.wait_retain, 1);
    assert_int_equal(t.neither, 1);
    assert_int_equal(t.wait, 0);
    fixture_free(&f);
}

static void ends_that_are_not_listed(void **state)
{
    (void)state;
    fixture_graph(&f, 2);
    (void)fixture_edge(&f, 77, 0);
    (void)fixture_edge(&f, 0, 1);
    (void)fixture_edge(&f, 1, 78);
    (void)fixture_edge(&f, 77, 78);
    fixture_done(&f);
    levels_are("0 1");
    assert_int_equal(f.graph.loose, 3);
    assert_int_equal(f.graph.pairs, 1);
    assert_int_equal(f.graph.producers[0], 0);
    assert_int_equal(f.graph.roots, 1);
    assert_int_equal(f.graph.leaves, 1);
    assert_int_equal(f.graph.in_at[1] - f.graph.in_at[0], 1); /* it can be shown all the same */
    assert_int_equal(f.graph.out_at[2] - f.graph.out_at[1], 1);
    fixture_free(&f);
}

static void cycle_is(const char *want)
{
    char got[200] = "";

    for (uint32_t i = 0; i < f.graph.cycle_tasks; i++) {
        size_t n = strlen(got);

        (void)snprintf(got + n, sizeof(got) - n, "%s%u", i > 0 ? " " : "", f.graph.cycle[i]);
    }
    assert_string_equal(got, want);
}

static void a_cycle_is_found(void **state)
{
    (void)state;
    fixture_graph(&f, 7); /* 0 -> 1 -> 2 -> 3 -> 1, 3 -> 4 -> 5, 6 */
    (void)fixture_edge(&f, 0, 1);
    (void)fixture_edge(&f, 1, 2);
    (void)fixture_edge(&f, 2, 3);
    (void)fixture_edge(&f, 3, 1);
    (void)fixture_edge(&f, 3, 4);
    (void)fixture_edge(&f, 4, 5);
    fixture_done(&f);
    levels_are("0 - - - - - 0");
    assert_int_equal(f.graph.unlevelled, 5);
    assert_int_equal(f.graph.levels, 1);
    cycle_is("2 3 1"); /* each feeds the next, the last the first */
    fixture_free(&f);

    fixture_graph(&f, 2); /* a task that waits for itself */
    (void)fixture_edge(&f, 1, 1);
    fixture_done(&f);
    levels_are("0 -");
    cycle_is("1");
    fixture_free(&f);

    fixture_graph(&f, 2); /* retaining in a cycle stops nobody */
    (void)fixture_edge(&f, 0, 1);
    fixture_edge(&f, 1, 0)->flags = TL_DEPS_HAS_FLAGS | TL_DEPS_RETAIN;
    fixture_done(&f);
    levels_are("0 1");
    cycle_is("");
    fixture_free(&f);
}

static void parallel_edges_are_one_pair(void **state)
{
    struct tl_deps_reach reach;

    (void)state;
    fixture_graph(&f, 2);
    for (int i = 0; i < 5000; i++)
        (void)fixture_edge(&f, 0, 1);
    fixture_done(&f);
    levels_are("0 1");
    assert_int_equal(f.graph.pairs, 1);
    assert_int_equal(f.graph.producers[1], 1);
    assert_int_equal(tl__deps_walk(&f.graph, 0, false, 9, &reach), 0);
    assert_int_equal(reach.count, 2);
    tl__deps_reach_fini(&reach);
    fixture_free(&f);
}

static void a_walk_reaches_the_nearest_first(void **state)
{
    const uint32_t up[] = {5, 4, 1, 2, 3, 0}, distance[] = {0, 1, 1, 2, 2, 3}, from[] = {0, 0, 0, 1, 1, 3},
                   edge[] = {TL_DEPS_NONE, 6, 7, 4, 5, 0};
    struct tl_deps_reach reach;

    (void)state;
    diamond();
    assert_int_equal(tl__deps_walk(&f.graph, 5, true, UINT32_MAX, &reach), 0);
    assert_int_equal(reach.count, 6);
    assert_memory_equal(reach.task, up, sizeof(up));
    assert_memory_equal(reach.distance, distance, sizeof(distance));
    assert_memory_equal(reach.from, from, sizeof(from));
    assert_memory_equal(reach.edge, edge, sizeof(edge));
    assert_int_equal(tl__deps_reach_find(&reach, 0), 5);
    assert_int_equal(tl__deps_reach_find(&reach, 6), TL_DEPS_NONE);
    tl__deps_reach_fini(&reach);
    assert_int_equal(tl__deps_walk(&f.graph, 5, true, 2, &reach), 0);
    assert_int_equal(reach.count, 5);
    tl__deps_reach_fini(&reach);
    assert_int_equal(tl__deps_walk(&f.graph, 0, false, 1, &reach), 0);
    assert_int_equal(reach.count, 3);
    assert_int_equal(reach.task[1], 2);
    assert_int_equal(reach.task[2], 3);
    tl__deps_reach_fini(&reach);
    assert_int_equal(tl__deps_walk(&f.graph, 6, true, 9, &reach), 0);
    assert_int_equal(reach.count, 1);
    tl__deps_reach_fini(&reach);
    fixture_free(&f);
}

static void a_shortest_path_is_found(void **state)
{
    struct tl_deps_path path;

    (void)state;
    diamond();
    assert_int_equal(tl__deps_find_path(&f.graph, 1, 5, &path), 0);
    assert_true(path.found);
    assert_int_equal(path.count, 1); /* not by way of 3 and 4 */
    assert_int_equal(path.edges[0], 7);
    tl__deps_path_fini(&path);
    assert_int_equal(tl__deps_find_path(&f.graph, 0, 5, &path), 0);
    assert_int_equal(path.count, 3);
    assert_int_equal(path.edges[0], 0);
    assert_int_equal(path.edges[1], 4);
    assert_int_equal(path.edges[2], 6);
    tl__deps_path_fini(&path);
    assert_int_equal(tl__deps_find_path(&f.graph, 5, 0, &path), 0);
    assert_false(path.found);
    tl__deps_path_fini(&path);
    assert_int_equal(tl__deps_find_path(&f.graph, 4, 4, &path), 0);
    assert_true(path.found);
    assert_int_equal(path.count, 0);
    tl__deps_path_fini(&path);
    fixture_free(&f);
}

static void tensors_are_found_by_their_ids(void **state)
{
    struct tl_deps_tensor list[] = {{.tensor_id = 9, .buffer_addr = 90},
                                    {.tensor_id = UINT64_MAX, .buffer_addr = 91},
                                    {.tensor_id = 3, .buffer_addr = 92}};

    (void)state;
    fixture_graph(&f, 1);
    f.deps.tensors = list;
    f.deps.n_tensors = 3;
    fixture_done(&f);
    for (uint32_t i = 0; i < 3; i++)
        assert_ptr_equal(tl__deps_tensor(&f.graph, list[i].tensor_id), &list[i]);
    assert_null(tl__deps_tensor(&f.graph, 4));
    f.deps.tensors = NULL;
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_task_at_all),
        cmocka_unit_test(levels_and_ends_are_those_of_the_diamond),
        cmocka_unit_test(the_greatest_of_many),
        cmocka_unit_test(only_waits_make_levels),
        cmocka_unit_test(ends_that_are_not_listed),
        cmocka_unit_test(a_cycle_is_found),
        cmocka_unit_test(parallel_edges_are_one_pair),
        cmocka_unit_test(a_walk_reaches_the_nearest_first),
        cmocka_unit_test(a_shortest_path_is_found),
        cmocka_unit_test(tensors_are_found_by_their_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
