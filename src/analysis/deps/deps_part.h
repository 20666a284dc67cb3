/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a graph that a picture shows: some of the tasks and all edges between them, drawn as one line a pair of
 * tasks. Tasks of a part are named by their place in it.
 */
#ifndef TL_ANALYSIS_DEPS_PART_H
#define TL_ANALYSIS_DEPS_PART_H

#include "analysis/deps/deps_show.h"

struct tl_deps_pair {
    uint32_t pred, succ;   /* places */
    uint32_t first, count; /* edges[first .. first + count) are between them */
};

struct tl_deps_part {
    uint32_t *tasks, n_tasks;   /* positions in deps->tasks, in their order */
    uint32_t *place;            /* by position; TL_DEPS_NONE: not in the part */
    struct tl_deps_pair *pairs; /* by pred, then succ */
    uint32_t n_pairs;
    uint32_t *edges, n_edges; /* positions in deps->edges */
    char *title;              /* what it is: "all 2,000 tasks" */
};

/* All tasks; with a task, those within `up` and `down` edges of it; and of these, the ones that pass the filter. */
struct tl_deps_part_of {
    uint32_t task; /* TL_DEPS_NONE: all */
    uint32_t up, down;
    const struct tl_deps_filter *filter;
};
/* TL_ENOMEM. End with tl__deps_part_fini, also after an error. */
int tl__deps_part(const struct tl_deps_subject *s, const struct tl_deps_part_of *of, struct tl_deps_part *ret_part);
void tl__deps_part_fini(struct tl_deps_part *part);
/* The pair of two places, or TL_DEPS_NONE. */
uint32_t tl__deps_part_pair(const struct tl_deps_part *part, uint32_t pred, uint32_t succ);

#endif
