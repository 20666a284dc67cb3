/* SPDX-License-Identifier: Apache-2.0 */
/* What the summary of a graph counts, in text and in JSON. */
#ifndef TL_ANALYSIS_DEPS_TOTALS_H
#define TL_ANALYSIS_DEPS_TOTALS_H

#include "analysis/deps/deps_graph.h"

#define TL_DEPS_TOP 5 /* tasks in each list */

struct tl_deps_totals {
    uint64_t by_source[3], by_overlap[3]; /* overlaps: of the tensormap edges */
    uint64_t wait, retain, wait_retain, neither, not_said;
    uint32_t roots[TL_DEPS_TOP], leaves[TL_DEPS_TOP]; /* the first ones */
    /* The tasks with the most producers and consumers, most first, of equals the first; none with 0. */
    uint32_t most_fed[TL_DEPS_TOP], most_feeding[TL_DEPS_TOP];
    uint32_t n_fed, n_feeding;
};

/* How many of its tasks have no kernel: allocations. */
uint32_t tl__deps_allocations(const struct tl_deps *deps);
void tl__deps_totals(const struct tl_deps_graph *graph, struct tl_deps_totals *ret_totals);

#endif
