/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/leftovers.h"

/* Write-back is started this often, so that the sync at the end has little left to wait for. */
#define WINDOW_BYTES ((uint64_t)16 << 20)
#define TEMP_TRIES 100u

static int write_out(void *ctx, const void *data, size_t bytes)
{
    struct tl_out *out = ctx;
    uint64_t before = out->written / WINDOW_BYTES, after = (out->written + bytes) / WINDOW_BYTES;
    size_t done = 0;

    if (out->error == 0 && out->direct)
        out->error = tl__append(out->fd, data, bytes);
    else if (out->error == 0)
        out->error = tl__write(out->fd, data, bytes, out->written, &done);
    if (out->error != 0)
        return out->error;
    out->written += bytes;
    if (after > before && !out->direct)
        tl__sync_window(out->fd, before * WINDOW_BYTES, WINDOW_BYTES, 0, 0);
    return 0;
}

/* The directory that a path names a file in. */
static void dir_of(const char *path, char dir[TL_PATHNAME_BYTES])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path);

    if (n == 0) { /* "." or "/" */
        dir[0] = slash == NULL ? '.' : '/';
        n = 1;
    } else {
        memcpy(dir, path, n);
    }
    dir[n] = 0;
}

/* A file without a name: whatever ends this process, nothing is left of it. False where the file system has none, or
 * where it could not be given a name. */
static bool open_unnamed(struct tl_out *out)
{
    char dir[TL_PATHNAME_BYTES];

    dir_of(out->path, dir);
    if (access("/proc/self/fd", X_OK) != 0)
        return false;
    out->fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    out->unnamed = out->fd >= 0;
    return out->unnamed;
}

/* A name that is too long is "", which no system call takes. */
static void draw_temp_name(struct tl_out *out)
{
    (void)tl__pathname(out->temp, "%s.%08" PRIx32 ".tmp", out->path, arc4random());
}

/* The name for the moment before the rename. */
static int give_name(struct tl_out *out)
{
    char self[40];

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
    for (unsigned i = 0; i < TEMP_TRIES; i++) {
        draw_temp_name(out);
        out->leftover = tl__leftover_add(out->temp);
        if (linkat(AT_FDCWD, self, AT_FDCWD, out->temp, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        tl__leftover_remove(out->leftover);
        out->leftover = -1;
        if (errno != EEXIST)
            break;
    }
    return tl__code_of_errno(errno);
}

/* A name that nobody else has: two writers of one file do not share it, and no link that is there is followed. */
static int open_exclusively(struct tl_out *out)
{
    if (open_unnamed(out))
        return out->fd;
    for (unsigned i = 0; i < TEMP_TRIES; i++) {
        draw_temp_name(out);
        out->leftover = tl__leftover_add(out->temp); /* before it is there: a signal may come right after */
        out->fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (out->fd >= 0)
            break;
        tl__leftover_remove(out->leftover);
        if (errno != EEXIST)
            break;
    }
    return out->fd;
}

/* A device, a FIFO, or what /dev and /proc call a file of the process: it is written to, never replaced. */
static bool is_stream(const char *path)
{
    struct stat st;

    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* A FIFO that nobody reads is an error, not a wait. */
static int open_stream(struct tl_out *out)
{
    out->fd = open(out->path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
    if (out->fd >= 0)
        (void)fcntl(out->fd, F_SETFL, O_WRONLY | O_APPEND);
    return out->fd;
}

static int open_temp(struct tl_out *out, bool direct, struct tl_error *reterr)
{
    out->written = 0;
    out->error = 0;
    out->direct = direct;
    out->leftover = -1;
    out->unnamed = false;
    if ((direct ? open_stream(out) : open_exclusively(out)) < 0) {
        int err = errno;

        return tl__fail(reterr, tl__code_of_errno(err), "%s: cannot create: %s", out->path, strerror(err));
    }
    tl__json_init(&out->json, write_out, out);
    return 0;
}

int tl__out_open(struct tl_out *out, const char *path, struct tl_error *reterr)
{
    if (!tl__pathname(out->path, "%s", path))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", path);
    return open_temp(out, is_stream(out->path), reterr);
}

int tl__out_open_in(struct tl_out *out, const char *dir, const char *name, struct tl_error *reterr)
{
    size_t used = strlen(dir);
    const char *slash = used > 0 && dir[used - 1] == '/' ? "" : "/";

    if (!tl__pathname(out->path, "%s%s%s", dir, slash, name))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    return open_temp(out, false, reterr);
}

void tl__out_bytes(struct tl_out *out, const void *bytes, size_t count)
{
    (void)write_out(out, bytes, count);
}

static void end(struct tl_out *out)
{
    (void)close(out->fd);
    out->fd = -1;
}

void tl__out_abort(struct tl_out *out)
{
    /* An error lets the JSON end in the middle. */
    out->json.error = out->json.error != 0 ? out->json.error : TL_EINVAL;
    (void)tl__json_finish(&out->json);
    end(out);
    if (!out->direct && !out->unnamed)
        (void)unlink(out->temp);
    tl__leftover_remove(out->leftover);
}

/* A name is on the disk only after its directory is. Some file systems cannot sync one; the rename is done anyway. */
static void sync_dir(const char *path)
{
    char dir[TL_PATHNAME_BYTES];
    int fd;

    dir_of(path, dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)tl__sync(fd);
    (void)close(fd);
}

int tl__out_commit(struct tl_out *out, struct tl_error *reterr)
{
    int code = tl__json_finish(&out->json);

    if (code == 0)
        code = out->error;
    if (code == 0 && !out->direct)
        code = tl__sync(out->fd);
    if (code == 0 && out->unnamed) {
        code = give_name(out);
        out->unnamed = code != 0;
    }
    end(out);
    if (code == 0 && !out->direct && rename(out->temp, out->path) != 0)
        code = tl__code_of_errno(errno);
    if (code != 0 && !out->direct && !out->unnamed)
        (void)unlink(out->temp);
    tl__leftover_remove(out->leftover);
    if (code != 0)
        return tl__fail(reterr, code, "%s: cannot write: %s", out->path, tl_strerror(code));
    if (!out->direct)
        sync_dir(out->path);
    return 0;
}
