/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `recover --out`: what a recovery works with is copied to another directory, and recovered there. The journal comes
 * last: once it is there, everything is.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/args_dump.h"
#include "artifact/file_out.h"
#include "artifact/journal.h"
#include "artifact/name_map.h"
#include "artifact/open.h"
#include "base/env.h"
#include "base/error.h"
#include "base/pathname.h"
#include "collect/recover.h"
#include "collect/run_dir.h"

#define COPY_BYTES ((size_t)1 << 20)

/* The directory's journal; false: there is none. */
static bool journal_of(const char *dir, char path[TL_PATHNAME_BYTES])
{
    static const char *const names[] = {TL_JOURNAL_NAME, TL_JOURNAL_DAMAGED_NAME};

    for (unsigned i = 0; i < 2; i++) {
        (void)tl__pathname(path, "%s/%s", dir, names[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* What the run was, as its journal's header says. */
static int read_run(const char *path, struct tl_journal_run *ret_run, struct tl_error *reterr)
{
    struct tl_journal_reader *reader = NULL;
    int r = tl__journal_open(path, &reader, reterr);

    if (r == 0)
        *ret_run = *tl__journal_run(reader);
    tl__journal_reader_close(reader);
    return r;
}

static int copy_bytes(int from, const char *what, struct tl_out *out, struct tl_error *reterr)
{
    void *buffer = tl__alloc(1, COPY_BYTES);
    ssize_t n = 0;
    int r = 0;

    if (buffer == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", what);
    while (out->error == 0 && (n = read(from, buffer, COPY_BYTES)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        tl__out_bytes(out, buffer, (size_t)n);
    }
    if (n < 0)
        r = tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot read: %s", what, strerror(errno));
    tl__free(buffer);
    return r;
}

/* DIR/NAME as OUT/AS. A file that is not there is none to copy. */
static int copy_file(const char *dir, const char *name, const char *out, const char *as, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];
    struct tl_out file;
    struct stat st;
    int fd, r;

    (void)tl__pathname(path, "%s/%s", dir, name);
    fd = tl__open_to_read(path);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        r = fd < 0 && errno != ENOENT
                ? tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot open: %s", path, strerror(errno))
                : 0;
        if (fd >= 0)
            (void)close(fd);
        return r;
    }
    r = tl__out_open_in(&file, out, as, reterr);
    if (r == 0) {
        r = copy_bytes(fd, path, &file, reterr);
        if (r == 0)
            r = tl__out_commit(&file, reterr);
        else
            tl__out_abort(&file);
    }
    (void)close(fd);
    return r;
}

static int make_dir(const char *out, const char *name, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];

    (void)tl__pathname(path, "%s%s%s", out, name[0] != '\0' ? "/" : "", name);
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return 0;
    return tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot be made: %s", path, strerror(errno));
}

/* The files of DIR/BELOW that match. */
static int copy_matching(const char *dir, const char *below, const char *pattern, const char *out,
                         struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES], name[300];
    const struct dirent *entry;
    DIR *folder;
    int r = 0;

    (void)tl__pathname(path, "%s/%s", dir, below);
    folder = opendir(path);
    if (folder == NULL)
        return 0;
    while (r == 0 && (entry = readdir(folder)) != NULL) {
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) != 0)
            continue;
        r = below[0] != '\0' ? make_dir(out, below, reterr) : 0;
        (void)snprintf(name, sizeof(name), "%s%s%s", below, below[0] != '\0' ? "/" : "", entry->d_name);
        if (r == 0)
            r = copy_file(dir, name, out, name, reterr);
    }
    (void)closedir(folder);
    return r;
}

static int copy_all(const char *dir, const char *journal, const char *out, struct tl_error *reterr)
{
    int r = copy_matching(dir, TL_DUMP_DIR_NAME, TL_DUMP_BIN_NAME, out, reterr);

    if (r == 0)
        r = copy_matching(dir, "", TL_NAME_MAP_PREFIX "*.json", out, reterr);
    if (r == 0)
        r = copy_matching(dir, "program", "*.so", out, reterr);
    if (r == 0)
        r = copy_file(dir, journal, out, TL_JOURNAL_NAME, reterr);
    return r == 0 ? 1 : r;
}

/* 1: an earlier recovery of the same run has brought everything; 0: nothing of a recording is there. */
static int look_at(const char *out, const struct tl_journal_run *run, struct tl_error *reterr)
{
    char journal[TL_PATHNAME_BYTES];
    struct tl_journal_run other;
    struct tl_meta *meta;
    bool same = false, has_meta;

    if (journal_of(out, journal)) {
        if (read_run(journal, &other, NULL) == 0 && memcmp(&other, run, sizeof(other)) == 0)
            return 1;
        return tl__fail(reterr, TL_EEXIST, "%s holds the journal of another run; name another directory (--out)", out);
    }
    meta = tl__alloc(1, sizeof(*meta));
    if (meta == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", out);
    has_meta = tl__meta_read(out, meta, NULL) != TL_ENOENT;
    same = has_meta && strcmp(meta->status, TL_META_RECOVERED) == 0 && meta->start_unix_ns == run->start_unix_ns &&
           meta->epoch == run->epoch;
    tl__free(meta);
    if (same)
        return 1;
    if (has_meta || tl__run_dir_has_artifact(out))
        return tl__fail(reterr, TL_EEXIST, "%s holds another recording; name another directory (--out)", out);
    return 0;
}

int tl__recover_copy(const char *dir, const char *out, struct tl_error *reterr)
{
    char journal[TL_PATHNAME_BYTES];
    struct stat source, target;
    struct tl_journal_run run;
    int lock, r;

    if (!journal_of(dir, journal))
        return 0;
    if (stat(dir, &source) == 0 && stat(out, &target) == 0 && source.st_dev == target.st_dev &&
        source.st_ino == target.st_ino)
        return tl__fail(reterr, TL_EEXIST, "%s is the run's own directory; name another (--out)", out);
    lock = tl__recover_lock(journal, reterr);
    if (lock < 0)
        return lock;
    r = read_run(journal, &run, reterr);
    if (r == 0)
        r = make_dir(out, "", reterr);
    if (r == 0)
        r = look_at(out, &run, reterr);
    if (r == 0)
        r = copy_all(dir, strrchr(journal, '/') + 1, out, reterr);
    (void)close(lock);
    return r;
}
