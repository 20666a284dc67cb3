/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/json_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/open.h"
#include "base/error.h"

static bool blank(const char *text, size_t length)
{
    while (length > 0 && (*text == ' ' || *text == '\t' || *text == '\r')) {
        text++;
        length--;
    }
    return length == 0;
}

/* To the tape each line is a text of its own, in which a syntax error is on line 1: "s.jsonl, line 7:1: ...". */
static void one_line_number(const char *where, struct tl_error *reterr)
{
    size_t n = strlen(where);

    if (reterr != NULL && strncmp(reterr->msg, where, n) == 0 && strncmp(reterr->msg + n, ":1:", 3) == 0)
        memmove(reterr->msg + n, reterr->msg + n + 2, strlen(reterr->msg + n + 2) + 1);
}

int tl__json_lines_parse(const void *text, size_t bytes, const char *name, const struct tl_tape_spec *spec,
                         struct tl_error *reterr)
{
    const char *at = bytes > 0 ? text : "", *end = at + bytes;
    long line = 0;
    int code = 0;

    while (at < end && code == 0) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop != NULL ? stop : end) - at);
        char where[600];

        line++;
        (void)snprintf(where, sizeof(where), "%.500s, line %ld", name, line);
        if (!blank(at, length))
            code = tl__tape_parse(at, length, where, spec, reterr);
        if (code < 0)
            one_line_number(where, reterr);
        at += length + (stop != NULL);
    }
    if (reterr != NULL)
        reterr->offset = line;
    return code;
}

int tl__json_lines_read(const char *path, const struct tl_tape_spec *spec, struct tl_error *reterr)
{
    int fd = tl__open_to_read(path), err = errno, code;
    struct stat st;
    void *map = NULL;

    if (fd < 0)
        return tl__fail(reterr, tl__code_of_errno(err), "%s: cannot open: %s", path, strerror(err));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        code = tl__fail(reterr, TL_EIO, "%s: not a regular file", path);
    else if (st.st_size > 0 && (map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        code = tl__fail(reterr, TL_EIO, "%s: cannot map: %s", path, strerror(errno));
    else {
        code = tl__json_lines_parse(map, (size_t)st.st_size, path, spec, reterr);
        if (map != NULL)
            (void)munmap(map, (size_t)st.st_size);
    }
    (void)close(fd);
    return code;
}
