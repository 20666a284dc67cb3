/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files with their folders: one size for all of them, and one function that makes them. */
#ifndef TL_BASE_PATHNAME_H
#define TL_BASE_PATHNAME_H

#include <stdbool.h>

/* PATH_MAX of Linux: longer ones are refused by the system, the final '\0' included. */
#define TL_PATHNAME_BYTES 4096

/* Prints into `to`. False: it does not fit, and `to` is "", which names no file; so a caller that needs no message of
 * its own goes on, and the system says that there is no such file. Any thread. */
__attribute__((format(printf, 2, 3))) bool tl__pathname(char to[TL_PATHNAME_BYTES], const char *format, ...);

#endif
