/* SPDX-License-Identifier: Apache-2.0 */
/* Where the chip program is, in a build tree or an installation. */
#ifndef TL_SIM_LOCATE_H
#define TL_SIM_LOCATE_H

#include <stddef.h>

/* The program tasklens-chip: $TASKLENS_CHIP, beside this library or the running program, or in
 * libexec/tasklens. 0, TL_ENOENT. */
int tl__chip_locate(char *path, size_t size);

#endif
