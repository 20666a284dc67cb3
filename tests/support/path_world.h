/* SPDX-License-Identifier: Apache-2.0 */
/* Runs made by hand, or by a seed, for the tests of the critical paths. */
#ifndef TL_TESTS_PATH_WORLD_H
#define TL_TESTS_PATH_WORLD_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/path/path_find.h"
#include "base/env.h"

struct world_slice {
    uint32_t task, core;
    uint64_t dispatch_ns, start_ns, end_ns;
};

/* A graph of tasks 0..n_tasks in ring 0; not built yet. The wall is 0..end_ns. */
static inline struct tl_path_graph world_make(uint32_t n_tasks, const struct world_slice *slices, uint32_t n_slices,
                                              const struct tl_path_edge *edges, uint32_t n_edges)
{
    struct tl_path_graph g = {
        .n_tasks = n_tasks, .n_slices = n_slices, .n_edges = n_edges, .submits_ns = TL_PATH_UNKNOWN};

    g.tasks = tl__alloc((size_t)n_tasks + 1, sizeof(*g.tasks));
    g.slices = tl__alloc((size_t)n_slices + 1, sizeof(*g.slices));
    g.edges = tl__alloc((size_t)n_edges + 1, sizeof(*g.edges));
    assert_non_null(g.tasks);
    assert_non_null(g.slices);
    assert_non_null(g.edges);
    for (uint32_t t = 0; t < n_tasks; t++)
        g.tasks[t] = (struct tl_path_task){t, TL_PATH_UNKNOWN};
    for (uint32_t i = 0; i < n_slices; i++) {
        g.slices[i] = (struct tl_path_slice){slices[i].start_ns, slices[i].end_ns, slices[i].dispatch_ns,
                                             slices[i].task, slices[i].core};
        if (slices[i].core >= g.n_cores)
            g.n_cores = slices[i].core + 1;
        if (slices[i].end_ns > g.end_ns)
            g.end_ns = slices[i].end_ns;
    }
    if (n_edges > 0)
        memcpy(g.edges, edges, n_edges * sizeof(*edges));
    return g;
}

/* What must hold of any observed path: it covers the wall without gap or overlap. */
static inline void world_check_observed(const struct tl_path_graph *g, const struct tl_path_observed *path)
{
    uint64_t sum = 0, last_end = g->begin_ns;

    for (unsigned k = 0; k < TL_PATH_KINDS; k++)
        sum += path->spent_ns[k];
    assert_int_equal(sum, g->end_ns - g->begin_ns);
    for (uint32_t i = 0; i < path->count; i++) {
        const struct tl_path_step *step = &path->steps[i];
        const struct tl_path_slice *s = &g->slices[step->slice];

        if (i > 0)
            assert_int_equal(step->released_ns, last_end);
        assert_true(step->released_ns >= last_end);
        assert_true(step->dispatched_ns >= step->released_ns);
        assert_true(s->start_ns >= step->dispatched_ns);
        assert_true(step->busy_ns >= s->start_ns && step->busy_ns <= s->end_ns);
        last_end = s->end_ns;
    }
    assert_true(last_end <= g->end_ns);
}

#endif
