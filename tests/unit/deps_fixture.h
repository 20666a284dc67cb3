/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs for tests, made edge by edge: task i is r0t<i>. */
#ifndef TL_TESTS_DEPS_FIXTURE_H
#define TL_TESTS_DEPS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/deps/deps_graph.h"

#define FIXTURE_TASKS 64
#define FIXTURE_EDGES 6000

struct graph_fixture {
    struct tl_deps deps; /* points to the arrays below; the index is its own */
    struct tl_deps_task tasks[FIXTURE_TASKS];
    struct tl_deps_edge edges[FIXTURE_EDGES];
    struct tl_deps_graph graph;
};

/* `tasks` tasks without edges. */
static inline void fixture_graph(struct graph_fixture *f, uint32_t tasks)
{
    memset(f, 0, sizeof(*f));
    f->deps.tasks = f->tasks;
    f->deps.edges = f->edges;
    f->deps.n_tasks = tasks;
    for (uint32_t i = 0; i < tasks; i++)
        f->tasks[i] = (struct tl_deps_task){.task_id = i, .kernel_ids = {0, -1, -1}, .block_num = 1};
}

static inline struct tl_deps_edge *fixture_edge(struct graph_fixture *f, uint64_t pred, uint64_t succ)
{
    struct tl_deps_edge *edge = &f->edges[f->deps.n_edges++];

    *edge = (struct tl_deps_edge){
        .pred = pred, .succ = succ, .arg = -1, .source = TL_DEPS_EXPLICIT, .flags = TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT};
    return edge;
}

static inline void fixture_done(struct graph_fixture *f)
{
    struct tl_error error;

    assert_int_equal(tl__deps_index(&f->deps, &error), 0);
    assert_int_equal(tl__deps_graph(&f->deps, &f->graph, &error), 0);
}

static inline void fixture_free(struct graph_fixture *f)
{
    tl__deps_graph_fini(&f->graph);
    f->deps.tasks = NULL; /* are the fixture's */
    f->deps.edges = NULL;
    tl__deps_fini(&f->deps);
}

#endif
