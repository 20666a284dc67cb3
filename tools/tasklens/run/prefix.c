/* SPDX-License-Identifier: Apache-2.0 */
#include "run/prefix.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "write_all.h"

#define LINE_BYTES 4096

struct stream {
    int fd;
    char prefix[40];
    size_t used; /* of line: the prefix and what has been printed behind it */
    char line[LINE_BYTES];
};

static ssize_t take(void *cookie, const char *bytes, size_t n)
{
    struct stream *s = cookie;

    for (size_t i = 0; i < n; i++) {
        if (s->used == 0) {
            s->used = strlen(s->prefix);
            memcpy(s->line, s->prefix, s->used);
        }
        s->line[s->used++] = bytes[i];
        if (bytes[i] != '\n' && s->used < LINE_BYTES)
            continue;
        if (tl__write_all(s->fd, s->line, s->used) != 0)
            return 0;
        s->used = 0;
    }
    return (ssize_t)n;
}

static FILE *over(int fd, const char *prefix)
{
    static struct stream streams[STDERR_FILENO + 1]; /* they are used as long as the process prints */
    const cookie_io_functions_t calls = {.write = take};
    FILE *f = fopencookie(&streams[fd], "w", calls);

    streams[fd].fd = fd;
    (void)snprintf(streams[fd].prefix, sizeof(streams[fd].prefix), "%s", prefix);
    if (f != NULL)
        (void)setvbuf(f, NULL, _IOLBF, BUFSIZ);
    return f;
}

void tl__prefix_output(const char *prefix)
{
    FILE *out = over(STDOUT_FILENO, prefix), *err = over(STDERR_FILENO, prefix);

    if (out != NULL)
        stdout = out;
    if (err != NULL)
        stderr = err;
}
