/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "artifact/open.h"
#include "base/env.h"
#include "base/error.h"

#define CHUNK_BYTES ((size_t)256 << 10)

static int feed_file(struct tl_tape *tape, int fd, const char *path, void *chunk, struct tl_error *reterr)
{
    int code = 0;

    for (uint64_t offset = 0; code == 0;) {
        ssize_t n = pread(fd, chunk, CHUNK_BYTES, (off_t)offset);

        if (n == 0)
            return tl__tape_finish(tape, reterr);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tl__fail(reterr, TL_EIO, "%s: cannot read: %s", path, strerror(errno));
        code = tl__tape_feed(tape, chunk, (size_t)n, reterr);
        offset += (uint64_t)n;
    }
    return code;
}

int tl__json_file_read(const char *path, const struct tl_tape_spec *spec, struct tl_error *reterr)
{
    int fd = tl__open_to_read(path), code;
    struct tl_tape *tape;
    void *chunk;

    if (fd < 0) {
        int err = errno;

        return tl__fail(reterr, tl__code_of_errno(err), "%s: cannot open: %s", path, strerror(err));
    }
    tape = tl__tape_create(path, spec);
    chunk = tl__alloc(1, CHUNK_BYTES);
    if (tape == NULL || chunk == NULL)
        code = tl__fail(reterr, TL_ENOMEM, "%s: out of memory", path);
    else
        code = feed_file(tape, fd, path, chunk, reterr);
    tl__free(chunk);
    tl__tape_destroy(tape);
    (void)close(fd);
    return code;
}
