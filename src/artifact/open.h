/* SPDX-License-Identifier: Apache-2.0 */
/* How files that a user names are opened. */
#ifndef TL_ARTIFACT_OPEN_H
#define TL_ARTIFACT_OPEN_H

#include <fcntl.h>

/* A descriptor to read from, or -1 with errno, as open(2). A FIFO that nobody writes is not waited for: it opens, and
 * reads as empty. */
static inline int tl__open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

#endif
