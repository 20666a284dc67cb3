/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens recover: the artifacts of runs whose host was killed, from their journals. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pathname.h"
#include "base/vec.h"
#include "collect/engine.h"
#include "cmd.h"
#include "opts.h"
#include "viewers.h"
#include "base/count_of.h"

#define COMMAND "recover"

static void to_stderr(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    if (level >= TL_LOG_WARN)
        (void)fprintf(stderr, "tasklens recover: %s\n", line);
}

/* Payload that came before its records did, and what makes the next run lose less. */
static void print_unrecorded(const struct tl_recover_result *r)
{
    if (r->unrecorded_bytes == 0)
        return;
    if (r->damaged_bytes != 0 || r->buffers_lost != 0) {
        printf("unnamed    %" PRIu64 " bytes of payload at the end of args.bin are named by no record that is there\n",
               r->unrecorded_bytes);
        return;
    }
    printf("given up   %" PRIu64
           " bytes of payload had reached args.bin, and their records had not: they are nobody's\n",
           r->unrecorded_bytes);
    if (r->records_per_buffer > 1)
        printf("           records come by the buffer, when its %" PRIu32 " are full; `--dfx-set records=%" PRIu32
               "` has them come sooner\n",
               r->records_per_buffer, r->records_per_buffer > 16 ? r->records_per_buffer / 16 : 1);
}

static void print_missing(const struct tl_recover_result *r)
{
    const uint32_t listed = COUNT_OF(r->missing_what);

    if (r->payloads_missing != 0)
        printf("missing    %" PRIu64 " payloads are not, or not whole, in args.bin\n", r->payloads_missing);
    for (uint32_t i = 0; i < r->missing && i < listed; i++)
        printf("missing    %s\n", r->missing_what[i]);
    if (r->missing > listed)
        printf("missing    and %" PRIu32 " more\n", r->missing - listed);
}

static void print_complete(const struct tl_recover_result *r)
{
    if (r->ended)
        printf("complete   the run had ended, and its recording of %" PRIu64
               " records is whole; its journal is removed\n",
               r->records);
    else if (r->again)
        printf("recovered  before, %" PRIu64 " records and %" PRIu64
               " bytes of payload of a run that was cut short; there "
               "is no journal any more: nothing to recover\n",
               r->records, r->payload_bytes);
    else if (r->missing == 0)
        printf("complete   there is no journal, and the recording is whole: nothing to recover\n");
    else
        printf("damaged    the recording is not whole, and there is no journal to recover it from\n");
    print_missing(r);
}

/* What the journal had and could not be read or used. */
static void print_damage(const struct tl_recover_result *r)
{
    if (r->torn_bytes != 0)
        printf("torn       %" PRIu64 " bytes at the journal's end belong to a buffer that was not written whole\n",
               r->torn_bytes);
    if (r->damaged_bytes != 0)
        printf("damaged    %" PRIu64 " bytes of the journal in %" PRIu64
               " places do not agree with their checksums; what follows them was read\n",
               r->damaged_bytes, r->damaged_places);
    if (r->buffers_lost != 0 || r->records_lost != 0)
        printf("lost       at least %" PRIu64 " buffers and %" PRIu64
               " records were in the journal and cannot be read\n",
               r->buffers_lost, r->records_lost);
    if (r->records_corrupt != 0)
        printf("corrupt    %" PRIu64 " records hold what cannot be and are left out\n", r->records_corrupt);
    if (r->refused != 0)
        printf("refused    %" PRIu32 " artifacts cannot be made of the records: %s\n", r->refused, r->refused_what);
    if (r->kept)
        printf("kept       the journal, as run.journal.damaged: nothing that could not be read is removed\n");
}

static void print_rebuilt(const struct tl_recover_result *r)
{
    printf("recovered  %" PRIu64 " records in %" PRIu64 " buffers, %" PRIu64 " bytes of payload\n", r->records,
           r->buffers, r->payload_bytes);
    print_damage(r);
    print_missing(r);
    if (r->earlier)
        printf("kept       the recording of an earlier run: this one was killed before it recorded anything\n");
}

static void report(const struct tl_recover_result *result, const char *dir)
{
    const char *names[TL_VIEWERS_MAX];
    size_t n = tl__viewer_names(tl__viewers_of(dir), names);
    char word[8192];

    if (result->complete)
        print_complete(result);
    else
        print_rebuilt(result);
    print_unrecorded(result);
    for (size_t i = 0; i < n; i++)
        printf("%-10s tasklens %s %s\n", i == 0 ? "next" : "", names[i], tl__viewer_word(dir, word, sizeof(word)));
    printf("%s\n", dir);
}

/* Whether something is missing of what the run had announced: of a run that had written its payloads, and no record of
 * them came, all is. */
static bool incomplete(const struct tl_recover_result *r)
{
    return r->payloads_missing != 0 || r->missing != 0 || r->kept ||
           (r->unrecorded_bytes != 0 && r->payload_bytes == 0);
}

/* ---- a tree of runs ---- */

#define MAX_DEPTH 8

struct dirs {
    TL_VEC(char *) paths; /* sorted */
};

static bool has_file(const char *dir, const char *name)
{
    char path[TL_PATHNAME_BYTES];

    return tl__pathname(path, "%s/%s", dir, name) && access(path, F_OK) == 0;
}

/* Whether it is a run's own directory. */
static bool is_run(const char *dir)
{
    return has_file(dir, "run.journal") || has_file(dir, "run.journal.damaged") || has_file(dir, "dfx_meta.json") ||
           tl__viewers_of(dir) != 0;
}

static int add_dir(struct dirs *dirs, const char *dir)
{
    char *copy;

    if (tl_vec_reserve(&dirs->paths, dirs->paths.count + 1) != 0)
        return -1;
    copy = strdup(dir);
    if (copy == NULL)
        return -1;
    dirs->paths.items[dirs->paths.count++] = copy;
    return 0;
}

/* Runs at `dir` and below; links are not followed. 0 or -1: no memory. */
static int find_runs(const char *dir, unsigned depth, struct dirs *dirs)
{
    const bool run = is_run(dir);
    const struct dirent *entry;
    DIR *d;
    int r = run ? add_dir(dirs, dir) : 0;

    d = depth < MAX_DEPTH ? opendir(dir) : NULL;
    while (d != NULL && r == 0 && (entry = readdir(d)) != NULL) {
        char path[TL_PATHNAME_BYTES];
        struct stat st;

        if (entry->d_name[0] == '.' ||
            (run && (strcmp(entry->d_name, "args_dump") == 0 || strcmp(entry->d_name, "scope_stats") == 0)))
            continue;
        if (tl__pathname(path, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, entry->d_name) && lstat(path, &st) == 0 &&
            S_ISDIR(st.st_mode))
            r = find_runs(path, depth + 1, dirs);
    }
    if (d != NULL)
        (void)closedir(d);
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b); /* rank2 before rank10 */
}

static void free_dirs(struct dirs *dirs)
{
    for (size_t i = 0; i < dirs->paths.count; i++)
        free(dirs->paths.items[i]);
    tl_vec_fini(&dirs->paths);
}

static void print_line(const char *dir, const struct tl_recover_result *r, int code)
{
    if (r->complete)
        printf("%s: %s", dir,
               r->again          ? "recovered before"
               : r->missing != 0 ? "not whole, without a journal"
                                 : "complete");
    else
        printf("%s: recovered %" PRIu64 " records", dir, r->records);
    if (r->kept)
        printf(", the journal is damaged and kept (%" PRIu64 " bytes, at least %" PRIu64 " records lost)",
               r->damaged_bytes, r->records_lost + r->records_corrupt);
    if (r->payloads_missing != 0)
        printf(", %" PRIu64 " payloads are missing", r->payloads_missing);
    if (r->missing != 0)
        printf(", %s", r->missing_what[0]);
    printf("%s\n", code == TL_EXIT_INCOMPLETE && !r->kept && r->payloads_missing == 0 && r->missing == 0
                       ? ", no record of the payloads that were written"
                       : "");
}

/* What could not be recovered is worse than what is incomplete. */
static int worse(int a, int b)
{
    if (a == TL_EXIT_OK || b == TL_EXIT_OK)
        return a == TL_EXIT_OK ? b : a;
    return a == TL_EXIT_USAGE || b == TL_EXIT_USAGE ? TL_EXIT_USAGE : a;
}

static int recover_one(const char *dir, const char *out, bool line)
{
    struct tl_recover_result result = {0};
    struct tl_error err;
    int code;

    if (tl__engine_recover(dir, out, &result, &err) != 0)
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    code = incomplete(&result) ? TL_EXIT_INCOMPLETE : TL_EXIT_OK;
    if (line)
        print_line(dir, &result, code);
    else
        report(&result, out != NULL && is_run(out) ? out : dir);
    return code;
}

static int recover_tree(const char *root, const struct dirs *dirs, const char *out)
{
    int code = TL_EXIT_OK;

    if (out != NULL)
        return tl__cmd_fail(COMMAND, "%s holds %zu runs, and --out takes one: name its directory", root,
                            dirs->paths.count);
    for (size_t i = 0; i < dirs->paths.count; i++)
        code = worse(code, recover_one(dirs->paths.items[i], NULL, true));
    return code;
}

static int recover_main(int argc, char **argv)
{
    const char *dir, *out = NULL;
    const struct tl_opt table[] = {
        {.name = "out",
         .kind = TL_OPT_TEXT,
         .target = &out,
         .value = "OTHER",
         .help = "write the recording into the directory OTHER, on a disk with room, and leave DIR as it is"},
    };
    const struct tl_opts opts = {
        .command = COMMAND,
        .synopsis = "DIR [OPTION]...",
        .about =
            "Rebuilds the recording of a run that was killed from the journal in its directory; of a directory of\n"
            "several runs, each one's, a line a run.",
        .after =
            "Exit codes: 0 everything that reached the host is there, or was already; 2 no journal and no\n"
            "recording, or not readable; 4 something is missing: the journal is damaged (it is kept), or what was\n"
            "recorded is not there any more. Of several runs the worst: 2, then 4.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    struct dirs dirs = {0};
    size_t n, length;
    int rc = tl__opts_parse(&opts, argc, argv, &dir, &n);
    char root[TL_PATHNAME_BYTES];

    if (rc != TL_OPTS_GO_ON)
        return rc;
    if (n == 0)
        return tl__cmd_fail(COMMAND, "which directory? It holds a run.journal, or runs");
    length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    if (length >= sizeof(root))
        return tl__cmd_fail(COMMAND, "%.100s...: the path is too long", dir);
    (void)tl__pathname(root, "%.*s", (int)length, dir);
    tl_log_set_sink(to_stderr, NULL);
    if (find_runs(root, 0, &dirs) != 0)
        rc = tl__cmd_fail(COMMAND, "out of memory");
    else if (dirs.paths.count == 0 || (dirs.paths.count == 1 && strcmp(dirs.paths.items[0], root) == 0))
        rc = recover_one(root, out, false);
    else {
        qsort(dirs.paths.items, dirs.paths.count, sizeof(*dirs.paths.items), by_name);
        rc = recover_tree(root, &dirs, out);
    }
    free_dirs(&dirs);
    return worse(rc, tl__cmd_finish(COMMAND));
}

const struct tl_cmd tl__cmd_recover = {COMMAND, "Rebuild the recording of a run that was killed", recover_main};
