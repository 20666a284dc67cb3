/* SPDX-License-Identifier: Apache-2.0 */
/* A way along the edges. */
#ifndef TL_ANALYSIS_DEPS_PATH_H
#define TL_ANALYSIS_DEPS_PATH_H

#include "analysis/deps/deps_graph.h"

struct tl_deps_path {
    bool found;
    uint32_t count;  /* edges; 0 from a task to itself */
    uint32_t *edges; /* ours, first to last */
};

/* A shortest way, retaining edges too. TL_ENOMEM. End with tl__deps_path_fini, also when none was found. */
int tl__deps_find_path(const struct tl_deps_graph *graph, uint32_t from, uint32_t to, struct tl_deps_path *ret_path);
void tl__deps_path_fini(struct tl_deps_path *path);

#endif
