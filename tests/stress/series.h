/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says, without what differs from one run of the same program to the next: which core and which
 * thread, when, where in device memory and in args.bin, what the runtime had already forgotten. As lines, sorted, so
 * that two recordings are compared and the first difference can be named.
 */
#ifndef TL_TESTS_STRESS_SERIES_H
#define TL_TESTS_STRESS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct canon {
    char **lines; /* owned, sorted by canon_end */
    size_t count, room;
    /* When it began and ended, in device cycles, by its swimlane; 0: it has none. */
    uint64_t first_cycles, last_cycles;
    bool bad;        /* it contradicts itself, or cannot be read */
    char fault[600]; /* then: how */
};

/* Begin with an object that is all 0. `tasks`: of a run that failed, the tasks that were surely done, whatever became
 * of the others; UINT64_MAX: all were. */
void canon_of_dir(struct canon *c, const char *dir, uint64_t tasks);
/* A line that the caller has. */
__attribute__((format(printf, 2, 3))) void canon_line(struct canon *c, const char *format, ...);
void canon_end(struct canon *c);
/* The first difference in words into `text`; false: they are the same. */
bool canon_differ(const struct canon *a, const struct canon *b, char *text, size_t size);
void canon_free(struct canon *c);

#endif
