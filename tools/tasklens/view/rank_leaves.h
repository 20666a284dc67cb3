/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatches of a distributed run as a viewer meets them: ROOT/rank<R>/d<K>/ on the disk; of several nodes
 * ROOT/node<N>/rank<R>/d<K>/, of several networks of nodes ROOT/network<M>/node<N>/rank<R>/d<K>/. Ranks in different
 * folders are different ranks, also of one number.
 */
#ifndef TL_TOOLS_RANK_LEAVES_H
#define TL_TOOLS_RANK_LEAVES_H

#include <stdbool.h>
#include <stdio.h>

#include "artifact/dispatch_program.h"
#include "base/vec.h"

struct tl_rank_leaf {
    char *path;
    uint32_t rank, dispatch;
    uint32_t seat; /* its rank's folder, counted from 0: with the number, which rank it is */
    bool has_program, has_identity;
    struct tl_dispatch program; /* if it has one */
    struct tl_dispatch_identity identity;
};

struct tl_rank_leaves {
    char *root;
    TL_VEC(struct tl_rank_leaf) list; /* by rank, then by folder, then by dispatch */
    uint32_t ranks;                   /* of the run, as the dispatches say; or as there are directories */
    uint32_t folders;                 /* of ranks that are here */
    bool nodes;                       /* some of them are below a node */
};

/* What is below `root`; none: it is no such root. 0, or an exit code after a line on stderr in the name of
 * `command`: out of memory, a dispatch_program.json that cannot be read. End with tl__rank_leaves_fini. */
int tl__rank_leaves(const char *command, const char *root, struct tl_rank_leaves *ret_leaves);
void tl__rank_leaves_fini(struct tl_rank_leaves *leaves);
/* Its rank's place below the root, "rank3" or "node1/rank3", into `to`. */
void tl__rank_leaf_name(const struct tl_rank_leaves *leaves, const struct tl_rank_leaf *leaf, char *to, size_t size);
/* The directory of its rank. */
void tl__rank_leaf_dir(const struct tl_rank_leaf *leaf, char *to, size_t size);
/* Which rank and dispatch a path below a root belongs to; *ret_root_bytes: the root's part of it, without the slash.
 * False: none. */
bool tl__rank_leaf_of(const char *path, uint32_t *ret_rank, uint32_t *ret_dispatch, size_t *ret_root_bytes);
/* A line a dispatch: what ran, how long, what is recorded, how it ended. */
void tl__rank_leaves_table(FILE *out, const struct tl_rank_leaves *leaves);

#endif
