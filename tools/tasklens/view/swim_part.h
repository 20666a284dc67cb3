/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a recording `tasklens swimlane` draws: --from, --to and --kernel. */
#ifndef TL_TOOLS_SWIM_PART_H
#define TL_TOOLS_SWIM_PART_H

#include "analysis/swimlane/swim_trace.h"

struct tl_swim_part {
    const char *from, *to; /* "1.5ms", "200us", "12" (us), or a task: NULL: not given */
    const char *kernel;    /* an extended regular expression; NULL: not given */
    uint8_t *kept;         /* what `opts` refers to */
    char words[600];       /* of the summary; "": all is drawn */
};

/* Puts the part into `opts`. An exit code after a message, or 0. End with tl__swim_part_fini. */
int tl__swim_part(const char *command, struct tl_swim_part *part, const struct tl_swim_join *join,
                  struct tl_swim_trace_opts *opts);
void tl__swim_part_fini(struct tl_swim_part *part);

#endif
