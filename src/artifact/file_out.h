/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all: bytes go into a temporary file beside the target, which is synced and
 * renamed at the commit. It has a name (NAME.XXXXXXXX.tmp, which nobody else has) only just before the rename, so that
 * nothing is left of it however the process ends; where the file system cannot do that, from the start, and a handled
 * signal removes it (base/leftovers.h). JSON goes through `json`; other bytes through tl__out_bytes. The first error
 * sticks and is reported by the commit. One thread per object.
 */
#ifndef TL_ARTIFACT_FILE_OUT_H
#define TL_ARTIFACT_FILE_OUT_H

#include <tasklens/error.h>

#include "base/json.h"
#include "base/pathname.h"

struct tl_out {
    struct tl_json json;
    uint64_t written; /* bytes in the file */
    bool direct;      /* no temporary file */
    bool unnamed;     /* the temporary file has no name yet */
    int fd, error, leftover;
    char path[TL_PATHNAME_BYTES], temp[TL_PATHNAME_BYTES];
};

/* Starts PATH, which a user may name: a device or a FIFO is written to as it is. TL_EINVAL (path too long),
 * TL_ENOENT, TL_EIO, TL_ENOSPC. After a failure there is nothing to end. */
int tl__out_open(struct tl_out *out, const char *path, struct tl_error *reterr);
/* The same for DIR/NAME. */
int tl__out_open_in(struct tl_out *out, const char *dir, const char *name, struct tl_error *reterr);
/* Bytes beside the JSON; not between its calls. */
void tl__out_bytes(struct tl_out *out, const void *bytes, size_t count);
/* Flushes, syncs, renames, syncs the directory, and ends the object. On failure no file is left, and an older one under
 * the same name is left as it was. */
int tl__out_commit(struct tl_out *out, struct tl_error *reterr);
/* Ends the object without a file. */
void tl__out_abort(struct tl_out *out);

#endif
