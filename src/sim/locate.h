/* SPDX-License-Identifier: Apache-2.0 */
/* Where things that belong to this program stand, whichever way it was installed. */
#ifndef TL_SIM_LOCATE_H
#define TL_SIM_LOCATE_H

#include <stddef.h>

/* Sets `path` to the directory of this library or of the program it is linked into: first (which = 0) the
 * object that holds this code, then (1) the running program. 0, TL_ENOENT. */
int tl__self_dir(unsigned which, char *path, size_t size);
/* First of `candidates` (relative to either directory, ends with NULL) that exists. 0, TL_ENOENT. */
int tl__locate(const char *const *candidates, char *path, size_t size);
/* The program tasklens-chip: $TASKLENS_CHIP, beside us, or in libexec/tasklens. 0, TL_ENOENT. */
int tl__chip_locate(char *path, size_t size);

#endif
