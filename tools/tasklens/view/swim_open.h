/* SPDX-License-Identifier: Apache-2.0 */
/* A swimlane recording with what is beside it, for the commands about schedules. */
#ifndef TL_TOOLS_SWIM_OPEN_H
#define TL_TOOLS_SWIM_OPEN_H

#include <stdbool.h>

#include "analysis/swimlane/swim_join.h"
#include "view/find.h"

struct tl_swim_opened {
    struct tl_found found;
    struct tl_swimlane lane;
    struct tl_deps deps;
    struct tl_name_map names;
    bool has_lane, has_deps, has_names;
    struct tl_swim_join join; /* of the three */
};

/*
 * Finds the recording, reads chip_swimlane_records.json and, where they are, deps.json and the name map, and joins
 * them. 0, or the exit code after one line on stderr in the name of `command`; with `needs_deps` that is also so
 * without deps.json. `pick` NULL: whichever rank. A name map that cannot be used is one line on stderr, and no names.
 * End with tl__swim_close in any case.
 */
int tl__swim_open(const char *command, const char *word, bool needs_deps, const struct tl_rank_pick *pick,
                  struct tl_swim_opened *ret_opened);
void tl__swim_close(struct tl_swim_opened *opened);

#endif
