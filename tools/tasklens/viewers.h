/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands open what is in a run's directory: what `run` and `recover` name when they end. */
#ifndef TL_TOOLS_VIEWERS_H
#define TL_TOOLS_VIEWERS_H

#include <stddef.h>

#define TL_VIEWERS_MAX 6

/* Bit i: the i-th viewer finds its file in `dir`, which holds the files itself. */
unsigned tl__viewers_of(const char *dir);
/* Their names for the bits in `viewers`, in the order in which people ask; how many. The names are the program's. */
size_t tl__viewer_names(unsigned viewers, const char *ret_names[TL_VIEWERS_MAX]);
/* `path` as one word of a shell command into `to`: as it is, or in quotes where a shell would take it apart. Returns
 * `to`; cut if it does not fit. */
const char *tl__viewer_word(const char *path, char *to, size_t size);

#endif
