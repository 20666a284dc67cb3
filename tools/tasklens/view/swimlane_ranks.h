/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens swimlane ROOT` of a distributed run: all ranks in one trace, on one axis of time. */
#ifndef TL_TOOLS_SWIMLANE_RANKS_H
#define TL_TOOLS_SWIMLANE_RANKS_H

#include "view/rank_leaves.h"

struct tl_swimlane_ranks_opts {
    const char *out; /* of the trace; NULL: in the root */
    bool overhead, json;
};

/* Writes the trace and prints what it holds. An exit code, after a line on stderr if it is not 0: also where a rank has
 * no recording, which is named. */
int tl__swimlane_ranks(const char *command, const struct tl_rank_leaves *leaves,
                       const struct tl_swimlane_ranks_opts *opts);

#endif
