/* SPDX-License-Identifier: Apache-2.0 */
/* A line on stderr that says how far long work is: only on a terminal, not before a second has passed. */
#ifndef TL_TOOLS_PROGRESS_H
#define TL_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tl_progress {
    const char *verb;
    uint64_t begin_ns, last_ns, calls;
    bool shown;
};
#define TL_PROGRESS_INIT(verb_)                                                                                        \
    {                                                                                                                  \
        .verb = (verb_)                                                                                                \
    }

/* `progress` is a struct tl_progress. Cheap enough to call for every record. */
void tl__progress_bytes(void *progress, uint64_t done, uint64_t total);
void tl__progress_count(void *progress, uint64_t done, uint64_t total);
/* Wipes the line. */
void tl__progress_end(struct tl_progress *p);

#endif
