/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recording a viewer opens. A word may name the recording's own directory, the run's, or the file; a directory
 * that holds several (round<k>/, rank<R>/d<K>/, or whole runs) means the newest one in it; no word means outputs/.
 */
#ifndef TL_TOOLS_FIND_H
#define TL_TOOLS_FIND_H

#include <stddef.h>

struct tl_found {
    char *path;    /* directory of the artifact: "outputs/x_default_20261130_120000/args_dump" */
    char **others; /* those that stand beside it, sorted; the last is NULL */
    size_t other_count;
    char *cut_short; /* a run's directory below the same root, newer, with a journal and no recording; NULL: none */
};

/*
 * `leaf`: the artifact's directory, "args_dump"; `file`: what must be in it, "args_dump.json". 0, or the exit code
 * after one line on stderr in the name of `command`. End with tl__found_fini.
 */
int tl__find_recording(const char *command, const char *word, const char *leaf, const char *file,
                       struct tl_found *ret_found);
void tl__found_fini(struct tl_found *found);

#endif
