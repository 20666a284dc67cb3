/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room on the disk. The payload file stops growing while there is still room for the journal and for the manifest, so
 * that a recording which filled the disk can be read.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "collect/engine_impl.h"

#include "base/format.h"

#define KEPT_BYTES_MAX (UINT64_C(16) << 20)
#define FULL_BYTES UINT64_C(100000) /* less is 0.0 MB */
#define ASK_EVERY_BYTES (UINT64_C(32) << 20)

/* Free bytes where `path` lies, and the size of the whole. A file system that cannot tell has no end. */
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
    kept = kept_bytes(total, run->n_records);
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
