/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands open what is in a run's directory: what `run` and `recover` name when they end. */
#ifndef TL_TOOLS_VIEWERS_H
#define TL_TOOLS_VIEWERS_H

#include <stddef.h>

#include <tasklens/collectors.h>

#define TL__VIEWERS_ONLY(id, words, option, argument, bare, max, help, file, viewers, streams) viewers
#define TL__VIEWER_ONE(...) +1
enum { TL_VIEWERS_MAX = 0 TL__COLLECTORS(TL__VIEWERS_ONLY, TL__VIEWER_ONE, TL__COLLECT_NONE) };
#undef TL__VIEWER_ONE

/* Bit i: the i-th viewer finds its file in `dir`, which holds the files itself. */
unsigned tl__viewers_of(const char *dir);
/* Their names for the bits in `viewers`, in the order in which people ask; how many. The names are the program's. */
size_t tl__viewer_names(unsigned viewers, const char *ret_names[TL_VIEWERS_MAX]);
/* The main viewer of a diagnostic (enum tl_collect). */
const char *tl__viewer_of(unsigned collector);
/* `path` as one word of a shell command into `to`: as it is, or in quotes where a shell would take it apart. Returns
 * `to`; cut if it does not fit. */
const char *tl__viewer_word(const char *path, char *to, size_t size);

#endif
