/* SPDX-License-Identifier: Apache-2.0 */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tasklens/worker.h>

#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/safe_text.h"

#define CHUNK ((size_t)1 << 18)
#define MAX_SUFFIX 1000
#define TREE_BYTES 40 /* of "/rank4294967295/d4294967295" or "/round4294967295" */

static int is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int tl__make_dirs(const char *path, struct tl_error *reterr)
{
    char part[4096];
    size_t n = strlen(path);
    int err;

    if (n == 0 || n >= sizeof(part))
        return tl__fail(reterr, TL_EINVAL, "a directory's path must have 1 to %zu bytes", sizeof(part) - 1);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) == 0)
            continue;
        err = errno; /* is_dir() changes errno */
        if (err != EEXIST && !is_dir(part))
            return tl__fail(reterr, tl__code_of_errno(err), "cannot make the directory %s: %s", part, strerror(err));
    }
    if (!is_dir(path))
        return tl__fail(reterr, TL_EEXIST, "%s is not a directory", path);
    return 0;
}

/* Reads `from` to its end, hashes it, and writes it to `to` (-1: nowhere). */
static int pump(int from, int to, uint64_t *ret_hash, int *ret_errno)
{
    unsigned char *buffer = tl__alloc(1, CHUNK);
    struct tl_hash hash;
    uint64_t offset = 0;
    int rc = buffer == NULL ? TL_ENOMEM : 0;

    tl__hash_init(&hash);
    *ret_errno = 0;
    while (rc == 0) {
        size_t written;
        ssize_t n = read(from, buffer, CHUNK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            *ret_errno = errno;
            rc = tl__code_of_errno(errno);
        }
        if (n <= 0)
            break;
        tl__hash_update(&hash, buffer, (size_t)n);
        if (to >= 0)
            rc = tl__write(to, buffer, (size_t)n, offset, &written);
        offset += (uint64_t)n;
    }
    tl__free(buffer);
    *ret_hash = tl__hash_value(&hash);
    return rc;
}

int tl__file_hash(const char *path, uint64_t *ret_hash, struct tl_error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), err, rc;

    if (fd < 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: %s", path, strerror(errno));
    rc = pump(fd, -1, ret_hash, &err);
    (void)close(fd);
    return rc == 0 ? 0 : tl__fail(reterr, rc, "%s: %s", path, err ? strerror(err) : tl_strerror(rc));
}

int tl__file_copy(const char *from, const char *to, uint64_t *ret_hash, struct tl_error *reterr)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, err = 0, rc;

    if (in < 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: %s", from, strerror(errno));
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0777);
    if (out < 0) {
        rc = tl__fail(reterr, tl__code_of_errno(errno), "%s: %s", to, strerror(errno));
        (void)close(in);
        return rc;
    }
    rc = pump(in, out, ret_hash, &err);
    if (rc != 0)
        (void)tl__fail(reterr, rc, "%s: %s", err ? from : to, err ? strerror(err) : tl_strerror(rc));
    (void)close(in);
    if (close(out) != 0 && rc == 0)
        rc = tl__fail(reterr, tl__code_of_errno(errno), "%s: %s", to, strerror(errno));
    if (rc != 0)
        (void)unlink(to);
    return rc;
}

int tl__output_dir(const char *out, const char *program, const char *case_name, char *path, size_t size,
                   struct tl_error *reterr)
{
    char stamp[32] = "", safe[2][100];
    time_t now = time(NULL);
    struct tm tm;
    size_t n;
    int rc;

    if (out != NULL) {
        if (strlen(out) > TL_OUTPUT_PREFIX_MAX - TREE_BYTES || (size_t)snprintf(path, size, "%s", out) >= size)
            return tl__fail(reterr, TL_EINVAL,
                            "the path of the output directory has %zu bytes; at most %d leave space for the names "
                            "below it",
                            strlen(out), TL_OUTPUT_PREFIX_MAX - TREE_BYTES);
        return tl__make_dirs(path, reterr);
    }
    rc = tl__make_dirs("outputs", reterr);
    if (rc != 0)
        return rc;
    if (localtime_r(&now, &tm) == NULL || strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", &tm) == 0)
        return tl__fail(reterr, TL_EIO, "the clock gives no date for a directory's name");
    n = (size_t)snprintf(path, size, "outputs/%s_%s_%s", tl__safe(safe[0], sizeof(safe[0]), TL_SAFE_FILE, program),
                         tl__safe(safe[1], sizeof(safe[1]), TL_SAFE_FILE, case_name), stamp);
    for (unsigned i = 2; n + 8 < size && i < MAX_SUFFIX; i++) {
        if (mkdir(path, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            return tl__fail(reterr, tl__code_of_errno(errno), "cannot make the directory %s: %s", path,
                            strerror(errno));
        (void)snprintf(path + n, size - n, "_%u", i);
    }
    return tl__fail(reterr, TL_EEXIST, "no free name for the output directory of %s", program);
}
