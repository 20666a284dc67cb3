/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded submits made once more, on the graph that the runtime uses (src/graph), where nothing ever retires: what it
 * finds is the complete graph. What the runtime had found must be just that, less the tasks that had retired by then.
 *
 * Why that is exact: an access leaves the runtime's tensormap when its task retires or when a later write covers it,
 * and whether a write covers an access is a matter of these two alone. So of the tasks that have not retired, the
 * runtime's map and the replay's hold the same accesses. One answer of the rules depends on more: an overlap that the
 * search gave up on (TL_OVERLAP_MAYBE) is taken for one if the entry is looked at, and how many are looked at depends
 * on how full the map is. There the runtime's answer is taken.
 */
#ifndef TL_COLLECT_DEPS_REPLAY_H
#define TL_COLLECT_DEPS_REPLAY_H

#include "collect/deps_reader.h"
#include "graph/graph.h"

/* An edge of the complete graph. */
struct tl_deps_found {
    uint64_t pred;
    struct tl_region producer; /* of a tensormap edge */
    int32_t arg;
    uint8_t source, flags; /* as in struct tl_edge, TL_EDGE_GONE apart */
    bool gone;             /* the runtime skipped it: the predecessor had retired */
};

struct tl_deps_replay;

/* Sets *ret_region to the view with this hash among what task `task` accesses in `buffer`. False: there is none. */
typedef bool (*tl_deps_lookup)(void *ctx, uint64_t task, uint64_t buffer, uint32_t hash, struct tl_region *ret_region);

/* `tasks`: how many will come, by ring, of which the graph has `rings`. `lookup` finds what tasks access that were
 * replayed before. *ret_replay is the caller's. TL_ENOMEM; TL_ERANGE: more tasks than a graph has room for. */
int tl__deps_replay_create(uint32_t rings, const uint64_t *tasks, tl_deps_lookup lookup, void *ctx,
                           struct tl_deps_replay **ret_replay, struct tl_error *reterr);
void tl__deps_replay_destroy(struct tl_deps_replay *r);
/* Makes the next submit and compares. Its edges are the replay's until its next call. TL_ECORRUPT with a line that
 * names task, edge and what differs; TL_ENOMEM. */
int tl__deps_replay(struct tl_deps_replay *r, const struct tl_deps_submit *s, const struct tl_deps_found **ret_found,
                    size_t *ret_count, struct tl_error *reterr);

#endif
