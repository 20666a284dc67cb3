/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TL_TOOLS_WRITE_ALL_H
#define TL_TOOLS_WRITE_ALL_H

#include <stddef.h>

/* Writes all of `bytes` to a descriptor, in as many calls as that takes. 0, or -1 and errno. Any thread. */
int tl__write_all(int fd, const char *bytes, size_t n);

#endif
