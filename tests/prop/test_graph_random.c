/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs on a random device, against two references that know nothing of the graph's structures:
 *   the rules   each plan's edges are those of a naive list of who touched which bytes;
 *   the memory  tasks run in a random order that respects the plan's preds alone, heap memory is reused as the rings
 * say, and each byte that a task reads holds what it would in program order. TL_SEED and TL_SEEDS choose the seeds. A
 * failing seed is run again with fewer tasks until it passes; the smallest failing program is printed.
 */
#include "test_graph_program.h"
static void random_graphs_have_the_naive_oracles_edges(void **state)
{
    uint64_t first = setting("TL_SEED", 1), n = setting("TL_SEEDS", 4000), tasks = 0, waits = 0, edges = 0;

    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++) {
        if (!run_world(seed, MAX_TASKS, false))
            shrink_and_fail(seed);
        tasks += w.n_tasks;
        waits += w.waits;
        edges += w.edges;
    }
    print_message("%llu graphs, %llu tasks, %llu edges, %llu waits\n", (unsigned long long)n, (unsigned long long)tasks,
                  (unsigned long long)edges, (unsigned long long)waits);
    if (n >= 1000) {
        assert_true(tasks > n * 40);
        assert_true(edges > tasks);
        assert_true(waits > n);
        assert_true(left.reused > n / 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_have_the_naive_oracles_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
