/* SPDX-License-Identifier: Apache-2.0 */
#include "write_all.h"

#include <errno.h>
#include <unistd.h>

int tl__write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}
