/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/collectors.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/pathname.h"
#include "cmd.h"
#include "view/gzip.h"

#define MAX_DEPTH 6 /* of directories below a root of ranks: nodeN/rankR/dK/args_dump */

/* The files of a recording, beside those that the diagnostics' rows name. What viewers derive from them has other
 * names. */
static const char *const recorded[] = {
    "args.bin",     "pmu_meta.json",         "dfx_meta.json",          "name_map*.json",
    "run.journal*", "dispatch_program.json", "dispatch_identity.json", "clock.json",
    ".ranks"};

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool is_recorded(const char *dir, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(recorded); i++)
        if (fnmatch(recorded[i], name, 0) == 0)
            return true;
    for (unsigned i = 0; i < TL_COLLECT_COUNT; i++)
        if (strcmp(last_part(tl__collect_rows[i].file), name) == 0)
            return true;
    return strcmp(last_part(dir), "program") == 0;
}

/* Whether a file of the recording below `dir` is the file `wanted`; its path is then in `found`. */
static bool holds(const char *dir, const struct stat *wanted, unsigned depth, char *found, size_t size)
{
    DIR *d = depth < MAX_DEPTH ? opendir(dir) : NULL;
    struct dirent *entry;
    bool same = false;

    while (d != NULL && !same && (entry = readdir(d)) != NULL) {
        char path[TL_PATHNAME_BYTES];
        struct stat st;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            !tl__pathname(path, "%s/%s", dir, entry->d_name) || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            same = holds(path, wanted, depth + 1, found, size);
        } else if (is_recorded(dir, entry->d_name) && stat(path, &st) == 0 && st.st_dev == wanted->st_dev &&
                   st.st_ino == wanted->st_ino) {
            same = true;
            (void)snprintf(found, size, "%s", path);
        }
    }
    if (d != NULL)
        (void)closedir(d);
    return same;
}

/* args_dump/ and scope_stats/ are in the run's directory, whose files belong to the recording too. */
static bool holds_run(const char *dir, const struct stat *wanted, char *found, size_t size)
{
    const char *last = last_part(dir);
    char parent[4200];

    if (strcmp(last, "args_dump") != 0 && strcmp(last, "scope_stats") != 0)
        return holds(dir, wanted, 0, found, size);
    (void)snprintf(parent, sizeof(parent), "%s/..", dir);
    return holds(parent, wanted, 0, found, size);
}

int tl__output_refuse_input(const char *command, const char *path, const char *dir, const char *also_read)
{
    struct stat there, other;
    char found[4300];

    if (stat(path, &there) != 0)
        return 0; /* a new file replaces nothing */
    if (S_ISDIR(there.st_mode))
        return tl__cmd_fail(command, "%s is a directory; name a file", path);
    if (also_read != NULL && stat(also_read, &other) == 0 && there.st_dev == other.st_dev &&
        there.st_ino == other.st_ino)
        return tl__cmd_fail(command, "%s is the file that is read; name another output", path);
    if (dir != NULL && holds_run(dir, &there, found, sizeof(found)))
        return tl__cmd_fail(command, "%s is a file of the recording (%s), and is not replaced; name another output",
                            path, found);
    return 0;
}

bool tl__output_is_stdout(const char *given)
{
    return given != NULL && strcmp(given, "-") == 0;
}

int tl__output_open(struct tl_output *o, const struct tl_output_place *p)
{
    const char *hint = p->way_out != NULL && p->given == NULL ? p->way_out : NULL;
    struct tl_error error;
    int code;

    o->command = p->command;
    o->to_stdout = tl__output_is_stdout(p->given);
    o->error = 0;
    o->gzip = NULL;
    if (o->to_stdout) {
        tl__json_init(&o->out.json, tl__output_bytes, o);
        return 0;
    }
    if (p->given != NULL) {
        code = tl__output_refuse_input(p->command, p->given, p->dir, p->also_read);
        if (code != 0)
            return code;
        code = tl__out_open(&o->out, p->given, &error);
    } else {
        code = tl__out_open_in(&o->out, p->dir, p->name, &error);
    }
    if (code != 0)
        return tl__cmd_fail(p->command, "%s%s%s", error.msg, hint != NULL ? "; " : "", hint != NULL ? hint : "");
    if (tl__gzip_named(o->out.path)) {
        o->gzip = tl__gzip_begin(&o->out);
        if (o->gzip == NULL) {
            tl__out_abort(&o->out);
            return tl__cmd_fail(p->command, "out of memory");
        }
    }
    return 0;
}

int tl__output_bytes(void *ctx, const void *bytes, size_t count)
{
    struct tl_output *o = ctx;

    if (!o->to_stdout) {
        tl__out_bytes(&o->out, bytes, count);
        return o->out.error;
    }
    if (o->error == 0 && fwrite(bytes, 1, count, stdout) != count)
        o->error = TL_EIO;
    return o->error;
}

int tl__output_end(struct tl_output *o, int code, const struct tl_output_place *p)
{
    const char *hint = p->way_out != NULL && p->given == NULL ? p->way_out : NULL;
    struct tl_error error;

    if (o->to_stdout) {
        int end;

        if (code != 0 && o->out.json.error == 0)
            o->out.json.error = code; /* an error lets the JSON end in the middle */
        end = tl__json_finish(&o->out.json);
        code = code != 0 ? code : end;
        return code != 0 && o->error == 0 ? tl__cmd_fail(p->command, "%s", tl_strerror(code))
                                          : tl__cmd_finish(p->command);
    }
    if (o->gzip != NULL) {
        int end = tl__gzip_end(o->gzip);

        code = code != 0 ? code : end;
    }
    if (code != 0) {
        tl__out_abort(&o->out);
        return tl__cmd_fail(p->command, "%s: cannot write: %s", o->out.path, tl_strerror(code));
    }
    if (tl__out_commit(&o->out, &error) != 0)
        return tl__cmd_fail(p->command, "%s%s%s", error.msg, hint != NULL ? "; " : "", hint != NULL ? hint : "");
    return 0;
}

void tl__output_abandon(struct tl_output *o)
{
    if (!o->to_stdout) {
        (void)tl__gzip_end(o->gzip);
        tl__out_abort(&o->out);
        return;
    }
    o->out.json.error = o->out.json.error != 0 ? o->out.json.error : TL_EINVAL;
    (void)tl__json_finish(&o->out.json);
}

int tl__output_make_dir(const char *command, const char *dir)
{
    struct stat st;

    if (mkdir(dir, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return tl__cmd_fail(command, "cannot create %s: %s", dir, strerror(errno));
    if (lstat(dir, &st) != 0)
        return tl__cmd_fail(command, "%s: %s", dir, strerror(errno));
    if (S_ISLNK(st.st_mode))
        return tl__cmd_fail(command, "%s is a link, and may lead out of the recording; remove it", dir);
    return S_ISDIR(st.st_mode) ? 0 : tl__cmd_fail(command, "%s is no directory; remove it", dir);
}
