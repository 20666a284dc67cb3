/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/run_dir.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/args_dump.h"
#include "artifact/dfx_meta.h"
#include "artifact/journal.h"
#include "artifact/name_map.h"
#include "artifact/scope_stats.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/pathname.h"
#include "collect/engine_impl.h"

#define PROGRAM_PATTERN "program/*.so"

/* Of a recording. */
static const char *const folders[] = {TL_DUMP_DIR_NAME, TL_SCOPE_DIR_NAME, "program"};

static bool there(const char *dir, const char *name, struct stat *st)
{
    char path[TL_PATHNAME_BYTES];

    return tl__pathname(path, "%s/%s", dir, name) && lstat(path, st) == 0;
}

/* Nobody has recorded in it: one look at it, instead of one for each file that might be there. */
static bool is_empty(const char *dir)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    bool empty = folder != NULL;

    while (empty && (entry = readdir(folder)) != NULL) /* no artifact's name begins with a full stop */
        empty = entry->d_name[0] == '.' || strcmp(entry->d_name, TL_JOURNAL_NAME) == 0;
    if (folder != NULL)
        (void)closedir(folder);
    return empty;
}

int tl__run_dir_check(const char *dir, bool *ret_used, struct tl_error *reterr)
{
    struct stat st;

    *ret_used = !is_empty(dir);
    if (!*ret_used)
        return 0;
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (there(dir, folders[i], &st) && S_ISLNK(st.st_mode))
            return tl__fail(reterr, TL_EINVAL,
                            "%s/%s is a link, and a run does not write through it; remove it, or "
                            "name another directory (--out)",
                            dir, folders[i]);
    /* With a journal it is a run's that lives or was cut short, which the next journal finds out when it is made. */
    if (there(dir, TL_META_NAME, &st) || there(dir, TL_JOURNAL_NAME, &st) || there(dir, TL_JOURNAL_DAMAGED_NAME, &st))
        return 0;
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        for (const char *const *name = tl__collector_at(i)->files; name != NULL && *name != NULL; name++)
            if (there(dir, *name, &st))
                return tl__fail(reterr, TL_EINVAL,
                                "%s holds %s and no " TL_META_NAME ": no run of tasklens made it, and it is not "
                                "replaced; move it, or name another directory (--out)",
                                dir, *name);
    return 0;
}

/* Removes the files of DIR/FOLDER ("": DIR itself) that `ours` is true for; a link is removed and not followed. */
static void remove_where(const char *dir, const char *folder_name, bool (*ours)(const char *name, const char *what),
                         const char *what)
{
    const struct dirent *entry;
    char path[TL_PATHNAME_BYTES];
    struct stat st;
    DIR *folder;

    (void)tl__pathname(path, "%s/%s", dir, folder_name);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        (void)unlink(path);
        return;
    }
    folder = opendir(path);
    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && ours(entry->d_name, what))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)closedir(folder);
    if (folder_name[0] != '\0')
        (void)rmdir(path); /* if that was all that it held */
}

static bool matches(const char *name, const char *pattern)
{
    return fnmatch(pattern, name, FNM_PERIOD) == 0;
}

/* `pattern`: NAME or FOLDER/NAME. */
static void remove_matching(const char *dir, const char *pattern)
{
    const char *slash = strrchr(pattern, '/');
    char folder[64] = "";

    if (slash != NULL)
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - pattern), pattern);
    remove_where(dir, folder, matches, slash != NULL ? slash + 1 : pattern);
}

/* A collector's own directory is empty once its last file is gone. */
static void remove_file(const char *dir, const char *name)
{
    char path[TL_PATHNAME_BYTES];

    if (!tl__pathname(path, "%s/%s", dir, name))
        return;
    (void)unlink(path);
    if (strchr(name, '/') == NULL)
        return;
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
}

void tl__run_dir_clear(const char *dir)
{
    if (is_empty(dir))
        return;
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++) {
        const struct tl_collector_spec *spec = tl__collector_at(i);

        for (const char *const *pattern = spec->derived; pattern != NULL && *pattern != NULL; pattern++)
            remove_matching(dir, *pattern);
        for (const char *const *name = spec->files; name != NULL && *name != NULL; name++)
            remove_file(dir, *name);
    }
    remove_matching(dir, PROGRAM_PATTERN);
    remove_file(dir, TL_JOURNAL_DAMAGED_NAME);
    remove_file(dir, TL_META_NAME);
    tl__name_map_clear(dir);
}

/* A temporary file, NAME.XXXXXXXX.tmp, of one that will not end any more. `folder` of those that are in one. */
static bool is_temp(const char *name, const char *folder)
{
    static const char *const others[] = {TL_META_NAME, TL_NAME_MAP_PREFIX "*.json", PROGRAM_PATTERN, TL_JOURNAL_NAME};
    static const char ending[] = ".????????.tmp";
    const size_t n = strlen(name), at = n - (sizeof(ending) - 1);
    char path[TL_PATHNAME_BYTES];

    if (n < sizeof(ending) || fnmatch(ending, name + at, 0) != 0)
        return false;
    (void)tl__pathname(path, "%s%s%.*s", folder, folder[0] != '\0' ? "/" : "", (int)at, name);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (fnmatch(others[i], path, FNM_PERIOD | FNM_PATHNAME) == 0)
            return true;
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        for (const char *const *file = tl__collector_at(i)->files; file != NULL && *file != NULL; file++)
            if (strcmp(*file, path) == 0)
                return true;
    return false;
}

void tl__run_dir_clear_temps(const char *dir)
{
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        remove_where(dir, folders[i], is_temp, folders[i]);
    remove_where(dir, "", is_temp, "");
}

bool tl__run_dir_has_artifact(const char *dir)
{
    struct stat st;

    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        for (const char *const *name = tl__collector_at(i)->files; name != NULL && *name != NULL; name++)
            if (strcmp(*name, TL_DUMP_DIR_NAME "/" TL_DUMP_BIN_NAME) != 0 && there(dir, *name, &st))
                return true;
    return false;
}
