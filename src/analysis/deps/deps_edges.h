/* SPDX-License-Identifier: Apache-2.0 */
/* Edges as rows of a table, for the answers that list them. */
#ifndef TL_ANALYSIS_DEPS_EDGES_H
#define TL_ANALYSIS_DEPS_EDGES_H

#include "analysis/deps/deps_show.h"
#include "analysis/text/table.h"

/* The titles of the cells that tl__deps_edge_cells fills, in the middle of an array of columns. */
#define TL_DEPS_EDGE_COLUMNS                                                                                           \
    {"source", false, false}, {"flags", false, false}, {"arg", true, false}, {"buffer", false, true},                  \
        {"dtype", false, true}, {"slice read", false, true}, {"slice written", false, true},                           \
    {                                                                                                                  \
        "overlap", false, true                                                                                         \
    }

#define TL_DEPS_EDGE_CELLS 8

/* source, flags, arg; not explicit: buffer, dtype, slice read; tensormap: slice written ("the same"), overlap. */
void tl__deps_edge_cells(const struct tl_deps_subject *s, const struct tl_deps_edge *edge, struct tl_row *row);

/* Edges to be listed, with the tasks at their other ends. */
struct tl_deps_edge_list {
    const struct tl_deps_edge **edges; /* borrowed edges in a list of ours */
    uint32_t *other;                   /* position, or TL_DEPS_NONE */
    uint32_t count, tasks;             /* `tasks`: different ones at the other ends, unlisted ones left out */
    uint32_t hidden;                   /* that did not pass the filter */
};

/* Those that end (in) or begin at the task and pass. TL_ENOMEM. End with tl__deps_edge_list_fini. */
int tl__deps_edges_of(const struct tl_deps_subject *s, uint32_t task, bool in, const struct tl_deps_filter *filter,
                      struct tl_deps_edge_list *ret_list);
/* Those of filtered_edges that end at the task and pass. */
int tl__deps_skipped_of(const struct tl_deps_subject *s, uint32_t task, const struct tl_deps_filter *filter,
                        struct tl_deps_edge_list *ret_list);
void tl__deps_edge_list_fini(struct tl_deps_edge_list *list);

#endif
