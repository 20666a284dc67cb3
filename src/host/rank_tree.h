/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a distributed run: one root for all ranks, ROOT/rank<R>/ for each, ROOT/rank<R>/d<K>/ for its dispatches;
 * and ROOT/rank<R>/clock.json, which says how the ranks' clocks lie to each other.
 */
#ifndef TL_HOST_RANK_TREE_H
#define TL_HOST_RANK_TREE_H

#include <stddef.h>

#include "artifact/dispatch_program.h"
#include "host/launcher.h"

/* Makes the root: `out`, or outputs/<program>_<case>_<job> under a launcher, else a directory for this run alone.
 * TL_EINVAL: the launcher gives its job no name and `out` is NULL; TL_EIO. */
int tl__rank_root(const char *out, const struct tl_launcher *launcher, const char *program, const char *case_name,
                  char *path, size_t size, struct tl_error *reterr);
/* Makes ROOT/rank<R>. TL_EEXIST: it exists. */
int tl__rank_dir_make(const char *root, uint32_t rank, struct tl_error *reterr);
/* Makes ROOT/rank<R>/d<K> (of dispatch->rank and ->dispatch) with its dispatch_program.json; `path` gets its path.
 * Host, pid and start are filled in. TL_EINVAL: the path is too long. */
int tl__rank_leaf_make(const char *root, struct tl_dispatch *dispatch, char *path, size_t size,
                       struct tl_error *reterr);

struct tl_rank_clocks;

/* Begins to measure the clocks of this process's ranks first_rank to first_rank + n - 1, whose directories exist. Rank
 * 0's process answers, the others ask. Waits a second at most, whatever rank 0 does. 0, or an error of writing. */
int tl__rank_clocks_begin(const char *root, uint32_t first_rank, uint32_t n, struct tl_rank_clocks **ret_clocks,
                          struct tl_error *reterr);
/* Measures once more, writes each clock.json, and frees `clocks`. NULL: does nothing. */
int tl__rank_clocks_end(struct tl_rank_clocks *clocks, struct tl_error *reterr);

#endif
