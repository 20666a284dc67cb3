/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room on the disk. The payload file stops growing while there is still room for the journal and for the artifacts of
 * the records that came and of as many more as may come, so that a recording which filled the disk can be read. On a
 * disk that is nearly full the room for those that came is held by a file without a name: nobody else takes it, and it
 * is gone with the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/env.h"
#include "base/pathname.h"
#include "collect/engine_impl.h"

#include "base/format.h"

#define KEPT_BYTES_MAX (UINT64_C(16) << 20)
#define FULL_BYTES UINT64_C(100000) /* less is 0.0 MB */
#define ASK_EVERY_BYTES (UINT64_C(32) << 20)

/* How many records are still to come is not known; a known graph was refused before its run if they do not fit. */
#define FUTURE_PER_RECORD 2u
#define INDEX_BYTES (TL_RECORD_DISK_BYTES / 2) /* a record in the artifacts; the rest of it is in the journal */
#define ROOMY_BYTES (UINT64_C(256) << 20)      /* free beyond several times the need: nothing is held */
#define HOLD_STEP_BYTES (UINT64_C(1) << 20)
#define ASK_EVERY_RECORDS 16384u

/* Free bytes where `path` is, and the size of the whole. A file system that does not say it counts as endless. */
static void ask(const char *path, uint64_t *ret_free, uint64_t *ret_total)
{
    struct statvfs fs;

    *ret_free = *ret_total = UINT64_MAX;
    if (statvfs(path, &fs) != 0 || fs.f_blocks == 0)
        return;
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
}

/* What is kept free for metadata that is not written yet. */
static uint64_t kept_bytes(uint64_t total, uint64_t records)
{
    uint64_t share = total / 16;

    return (share < KEPT_BYTES_MAX ? share : KEPT_BYTES_MAX) + records * TL_RECORD_DISK_BYTES;
}

/* The same without what is held already. */
static uint64_t kept_free(const struct tl_crun *run, uint64_t total)
{
    uint64_t kept = kept_bytes(total, run->n_records * (1 + FUTURE_PER_RECORD));

    assert(run->reserved_bytes == 0 || run->reserve_fd >= 0); /* CI15 */
    return kept > run->reserved_bytes ? kept - run->reserved_bytes : 0;
}

uint64_t tl__engine_room_bytes(const char *dir)
{
    uint64_t free, total, kept;

    ask(dir, &free, &total);
    if (free == UINT64_MAX)
        return 0;
    kept = kept_bytes(total, 0);
    return free > kept ? free - kept : 1;
}

/* The most that the payload file may hold (ulimit -f). */
static uint64_t file_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (uint64_t)limit.rlim_cur
                                                                                   : UINT64_MAX;
}

bool tl__room_for(struct tl_crun *run, uint64_t bytes, uint64_t end, char *why, size_t size)
{
    uint64_t free, total, kept, limit, left;

    assert(bytes <= end && run->journaled <= run->n_records); /* CI15 */
    if (bytes <= run->room_bytes) {
        run->room_bytes -= bytes;
        return true;
    }
    limit = file_limit();
    if (end > limit) {
        (void)tl__format(why, size, "a file may have %.1f MB here (ulimit -f), and %.1f MB are in it",
                         (double)limit / 1e6, (double)run->bin_size / 1e6);
        return false;
    }
    ask(run->dir, &free, &total);
    kept = kept_free(run, total);
    if (free != UINT64_MAX && (free < bytes || free - bytes < kept)) {
        if (free < FULL_BYTES)
            (void)snprintf(why, size, "the disk is full");
        else
            (void)tl__format(why, size,
                             "the disk is nearly full: the last %.1f MB are kept for the index of what is recorded",
                             (double)free / 1e6);
        return false;
    }
    left = free == UINT64_MAX ? ASK_EVERY_BYTES : (free - bytes - kept) / 2; /* others write there too */
    left = left < limit - end ? left : limit - end;
    run->room_bytes = left < ASK_EVERY_BYTES ? left : ASK_EVERY_BYTES;
    return true;
}

/* --- what is held ------------------------------------------------------------------------------------------------ */

static int open_reserve(const char *dir)
{
    char path[TL_PATHNAME_BYTES];
    int fd;

    (void)tl__pathname(path, "%s/.reserve-XXXXXX", dir);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

/* The disk's answer to so many bytes more: 0, or TL_ENOSPC. A file system that cannot hold anything is not asked. */
static int hold(struct tl_crun *run, uint64_t bytes)
{
    assert(bytes > run->reserved_bytes && !run->index_full); /* CI15 */
    if (run->reserve_fd < 0)
        run->reserve_fd = open_reserve(run->dir);
    if (run->reserve_fd < 0)
        return 0;
    if (fallocate(run->reserve_fd, 0, 0, (off_t)bytes) == 0) {
        run->reserved_bytes = bytes;
        return 0;
    }
    return errno == ENOSPC || errno == EDQUOT ? TL_ENOSPC : 0;
}

void tl__room_release(struct tl_crun *run)
{
    assert(run->reserved_bytes == 0 || run->reserve_fd >= 0); /* CI15 */
    if (run->reserve_fd >= 0)
        (void)close(run->reserve_fd);
    run->reserve_fd = -1;
    run->reserved_bytes = 0;
}

/* What was granted to payloads is used up by records too: they need room, and more of them will come. */
static void charge(struct tl_crun *run, uint32_t count)
{
    uint64_t bytes = count * (uint64_t)(1 + FUTURE_PER_RECORD) * TL_RECORD_DISK_BYTES;

    run->room_bytes = run->room_bytes > bytes ? run->room_bytes - bytes : 0;
}

bool tl__room_for_index(struct tl_crun *run, uint32_t count)
{
    uint64_t need = run->n_records * INDEX_BYTES + HOLD_STEP_BYTES / 4, free, total;

    charge(run, count);
    if (run->index_full || run->n_records < run->room_asked_at || need <= run->reserved_bytes)
        return true;
    ask(run->dir, &free, &total);
    if (free == UINT64_MAX || free / 8 > need + ROOMY_BYTES / 8) {
        run->room_asked_at = run->n_records + ASK_EVERY_RECORDS;
        return true;
    }
    if (hold(run, need + HOLD_STEP_BYTES) == 0 || hold(run, need) == 0)
        return true;
    return false;
}
