/* SPDX-License-Identifier: Apache-2.0 */
#include "view/find.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/dfx_meta.h"
#include "artifact/journal.h"
#include "base/pathname.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd.h"
#include "view/rank_leaves.h"

#define OUTPUTS "outputs"
#define MAX_DEPTH 7 /* outputs/run/network0/node0/rank0/d0/args_dump */

struct candidate {
    char *dir;
    struct timespec made; /* of the manifest */
};

struct search {
    const struct tl_artifact *what;
    TL_VEC(struct candidate) list;
    char *journal; /* the newest directory with a journal and no manifest: a run that was killed, or lives */
    struct timespec journal_made;
    bool out_of_memory;
};

bool tl__run_lives(const char *dir)
{
    char path[TL_PATHNAME_BYTES];

    return tl__pathname(path, "%s/%s", dir, TL_JOURNAL_NAME) && tl__journal_lives(path);
}

static char *join(const char *dir, const char *name)
{
    size_t n = strlen(dir);
    const char *slash = n > 0 && dir[n - 1] == '/' ? "" : "/";
    char *path = malloc(n + strlen(name) + 2);

    if (path != NULL)
        (void)snprintf(path, n + strlen(name) + 2, "%s%s%s", dir, slash, name);
    return path;
}

static bool stat_in(const char *dir, const char *name, struct stat *st)
{
    char *path = join(dir, name);
    bool there = path != NULL && stat(path, st) == 0;

    free(path);
    return there;
}

static bool has_file(const char *dir, const char *name, struct stat *st)
{
    return stat_in(dir, name, st) && S_ISREG(st->st_mode);
}

static void add(struct search *s, const char *dir, const struct stat *st)
{
    struct candidate c = {.dir = strdup(dir), .made = st->st_mtim};

    if (c.dir == NULL || tl_vec_push(&s->list, c) != 0) {
        free(c.dir);
        s->out_of_memory = true;
    }
}

static bool later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static void note_journal(struct search *s, const char *dir, const struct stat *st)
{
    if (s->journal != NULL && !later(&st->st_mtim, &s->journal_made))
        return;
    free(s->journal);
    s->journal = strdup(dir);
    s->journal_made = st->st_mtim;
}

/* Looks at `dir` and, where it is no recording itself, at what is below. Links are not followed: no cycles. */
static void look(struct search *s, const char *dir, unsigned depth)
{
    struct dirent *entry;
    struct stat st;
    DIR *d;

    if (has_file(dir, s->what->file, &st)) {
        add(s, dir, &st);
        return;
    }
    if (has_file(dir, TL_JOURNAL_NAME, &st))
        note_journal(s, dir, &st);
    d = depth < MAX_DEPTH ? opendir(dir) : NULL;
    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL) {
        char *path = entry->d_name[0] != '.' ? join(dir, entry->d_name) : NULL;

        if (path != NULL && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            look(s, path, depth + 1);
        free(path);
    }
    (void)closedir(d);
}

/* Newest first; of one age, round10 before round9. */
static int newer(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (later(&x->made, &y->made) || later(&y->made, &x->made))
        return later(&x->made, &y->made) ? -1 : 1;
    return -strverscmp(x->dir, y->dir);
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Bytes of `path` up to and with the first component below `root`: the run that a recording belongs to. */
static size_t run_prefix(const char *root, const char *path)
{
    size_t n = strlen(root);
    const char *end;

    while (path[n] == '/')
        n++;
    end = strchr(path + n, '/');
    return end != NULL ? (size_t)(end - path) + 1 : strlen(path);
}

/* Moves the newest to *found and, beside it, the others of its run (`prefix` bytes in common). */
static int take(struct search *s, size_t prefix, struct tl_found *found)
{
    found->others = calloc(s->list.count, sizeof(*found->others));
    if (found->others == NULL)
        return -1;
    found->path = s->list.items[0].dir;
    s->list.items[0].dir = NULL;
    for (size_t i = 1; i < s->list.count; i++) {
        if (strncmp(s->list.items[i].dir, found->path, prefix) != 0)
            continue;
        found->others[found->other_count++] = s->list.items[i].dir;
        s->list.items[i].dir = NULL;
    }
    qsort(found->others, found->other_count, sizeof(*found->others), by_name);
    return 0;
}

/* Whether a recording is of the rank and dispatch that are asked for. */
static bool picked(const struct tl_rank_pick *pick, const char *dir)
{
    uint32_t rank, dispatch;
    size_t bytes;

    return pick == NULL || (pick->rank < 0 && pick->dispatch < 0) ||
           (tl__rank_leaf_of(dir, &rank, &dispatch, &bytes) && (pick->rank < 0 || pick->rank == (int64_t)rank) &&
            (pick->dispatch < 0 || pick->dispatch == (int64_t)dispatch));
}

/* Leaves only those. False, after a line on stderr: none is left. */
static bool pick_leaves(const char *command, const char *root, struct search *s)
{
    const struct tl_rank_pick *pick = s->what->pick;
    size_t kept = 0;
    char rank[40] = "", dispatch[40] = "";

    for (size_t i = 0; i < s->list.count; i++) {
        if (picked(pick, s->list.items[i].dir))
            s->list.items[kept++] = s->list.items[i];
        else
            free(s->list.items[i].dir);
    }
    s->list.count = kept;
    if (kept > 0)
        return true;
    if (pick->rank >= 0)
        (void)snprintf(rank, sizeof(rank), " of rank %lld", (long long)pick->rank);
    if (pick->dispatch >= 0)
        (void)snprintf(dispatch, sizeof(dispatch), ", dispatch %lld", (long long)pick->dispatch);
    (void)tl__cmd_fail(command, "%s: no %s%s%s in it; without --rank and --dispatch all that is there is listed", root,
                       s->what->file, rank, dispatch);
    return false;
}

static int nothing(const char *command, const char *word, const struct search *s)
{
    if (s->journal != NULL && tl__run_lives(s->journal))
        return tl__cmd_fail(command, "%s: its run is still going on, and %s comes at its end: wait for that",
                            s->journal, s->what->file);
    if (s->journal != NULL)
        return tl__cmd_fail(command, "%s has a %s and no %s: its run was cut short; `tasklens recover %s` rebuilds it",
                            s->journal, TL_JOURNAL_NAME, s->what->file, s->journal);
    if (word == NULL)
        return tl__cmd_fail(command,
                            "no %s in %s/ here; name a recording's directory, or make one: tasklens run PROGRAM %s",
                            s->what->file, OUTPUTS, s->what->flag);
    return tl__cmd_fail(command, "%s: no %s in it or below; make one with `tasklens run PROGRAM %s`", word,
                        s->what->file, s->what->flag);
}

static int search(const char *command, const char *word, struct search *s, struct tl_found *ret_found)
{
    struct tl_found found = {0};
    const char *root = word != NULL ? word : OUTPUTS;
    size_t prefix;

    look(s, root, 0);
    if (s->out_of_memory)
        return tl__cmd_fail(command, "out of memory");
    if (s->list.count == 0)
        return nothing(command, word, s);
    if (!pick_leaves(command, root, s))
        return TL_EXIT_USAGE;
    qsort(s->list.items, s->list.count, sizeof(*s->list.items), newer);
    /* In a folder of runs, only those of the same run are "others"; in a run's own directory, all. */
    prefix = strcmp(root, OUTPUTS) == 0 || strcmp(root, OUTPUTS "/") == 0 ? run_prefix(root, s->list.items[0].dir) : 0;
    if (take(s, prefix, &found) < 0)
        return tl__cmd_fail(command, "out of memory");
    if (s->journal != NULL && later(&s->journal_made, &s->list.items[0].made)) {
        found.cut_short = s->journal;
        s->journal = NULL;
    }
    *ret_found = found;
    return 0;
}

int tl__find_recording(const char *command, const char *word, const struct tl_artifact *what,
                       struct tl_found *ret_found)
{
    struct search s = {.what = what};
    char *parent = NULL;
    struct stat st;
    int code;

    if (word != NULL && stat(word, &st) != 0)
        return tl__cmd_fail(command, "%s: no such file or directory", word);
    if (word != NULL && !S_ISDIR(st.st_mode)) { /* the manifest itself */
        const char *slash = strrchr(word, '/');

        if (strcmp(slash != NULL ? slash + 1 : word, what->file) != 0)
            return tl__cmd_fail(command, "%s is no recording: name a directory or its %s", word, what->file);
        parent = slash == NULL ? strdup(".") : strndup(word, slash == word ? 1 : (size_t)(slash - word));
        if (parent == NULL)
            return tl__cmd_fail(command, "out of memory");
        word = parent;
    }
    code = search(command, word, &s, ret_found);
    for (size_t i = 0; i < s.list.count; i++)
        free(s.list.items[i].dir);
    tl_vec_fini(&s.list);
    free(s.journal);
    free(parent);
    return code;
}

/* What the error of that name means. */
static const char *error_text(const char *name)
{
#define SAME_NAME(error, value, text)                                                                                  \
    if (strcmp(name, #error) == 0)                                                                                     \
        return text;
    TL_ERROR_LIST(SAME_NAME)
#undef SAME_NAME
    return "it did not end well";
}

/* The run's dfx_meta.json, in its directory, which args_dump/ and scope_stats/ are in. NULL: out of memory, or, with
 * *reterr, why not; an empty message: there is none. */
static struct tl_meta *read_meta(const struct tl_found *found, struct tl_error *reterr)
{
    struct tl_meta *meta = calloc(1, sizeof(*meta));
    char *dir = join(found->path, "..");
    int code = TL_ENOMEM;
    struct stat st;

    reterr->msg[0] = '\0';
    if (meta != NULL && dir != NULL)
        code = tl__meta_read(has_file(found->path, TL_META_NAME, &st) ? found->path : dir, meta, reterr);
    if (code == TL_ENOENT)
        reterr->msg[0] = '\0';
    free(dir);
    if (code == 0)
        return meta;
    free(meta);
    return NULL;
}

struct tl_meta *tl__found_meta(const struct tl_found *found)
{
    struct tl_error error;

    return read_meta(found, &error);
}

static void mention_differing(const char *command, const char *path, const struct tl_meta *meta)
{
    for (uint32_t i = 0; i < meta->verdict_count; i++) {
        const struct tl_meta_verdict *v = &meta->verdicts[i];

        if (v->verdict == TL_VERDICT_DIFFERS)
            tl__cmd_note(command, "%s is of a run whose results differ from the golden: %s, %llu of %llu elements",
                         path, v->output, (unsigned long long)v->differing, (unsigned long long)v->elements);
    }
}

void tl__found_mention_end(const char *command, const struct tl_found *found)
{
    struct tl_error error;
    struct tl_meta *meta = read_meta(found, &error);

    if (meta == NULL && error.msg[0] != '\0')
        tl__cmd_note(command, "how the run ended is not known: %s", error.msg);
    if (meta != NULL && strcmp(meta->status, TL_META_RECOVERED) == 0)
        tl__cmd_note(command, "%s is of a run that was cut short: it holds what had reached the host until then",
                     found->path);
    else if (meta != NULL && strcmp(meta->status, TL_META_DIFFERS) == 0)
        mention_differing(command, found->path, meta);
    else if (meta != NULL && meta->status[0] != '\0' && strcmp(meta->status, "ok") != 0)
        tl__cmd_note(command, "%s is of a run that failed: %s (%s)", found->path,
                     meta->error[0] != '\0' ? meta->error : error_text(meta->status), meta->status);
    free(meta);
}

bool tl__found_mention_ranks(const char *command, const struct tl_found *found)
{
    struct tl_rank_leaves leaves;
    uint32_t rank, dispatch;
    size_t bytes;
    char *root;

    if (!tl__rank_leaf_of(found->path, &rank, &dispatch, &bytes))
        return false;
    root = bytes > 0 ? strndup(found->path, bytes) : strdup(".");
    if (root == NULL || tl__rank_leaves(command, root, &leaves) != 0) {
        free(root);
        return false;
    }
    tl__cmd_note(command, "opening the newest, rank %u, dispatch %u; --rank and --dispatch open another of %s:", rank,
                 dispatch, root);
    tl__rank_leaves_table(stderr, &leaves);
    tl__rank_leaves_fini(&leaves);
    free(root);
    return true;
}

void tl__found_mention_newer(const char *command, const struct tl_found *found)
{
    if (found->cut_short == NULL)
        return;
    if (tl__run_lives(found->cut_short))
        tl__cmd_note(command, "a newer run in %s is still going on; its recording comes at its end", found->cut_short);
    else
        tl__cmd_note(command, "a newer run in %s was cut short; `tasklens recover %s` rebuilds it", found->cut_short,
                     found->cut_short);
}

static void mention_others(const char *command, const struct tl_found *found)
{
    const size_t shown = 20;
    char text[3000];
    struct tl_text list = tl__text(text, sizeof(text));

    if (found->other_count == 0 || tl__found_mention_ranks(command, found))
        return;
    for (size_t i = 0; i < found->other_count && i < shown; i++) {
        tl__text_put(&list, " ");
        tl__text_put(&list, found->others[i]);
    }
    if (found->other_count > shown) {
        tl__text_put(&list, " and ");
        tl__text_dec(&list, found->other_count - shown);
        tl__text_put(&list, " more");
    }
    tl__cmd_note(command, "opening the newest, %s; also here:%s", found->path, text);
}

void tl__found_mention(const char *command, const struct tl_found *found)
{
    tl__found_mention_newer(command, found);
    mention_others(command, found);
    tl__found_mention_end(command, found);
}

void tl__found_fini(struct tl_found *found)
{
    for (size_t i = 0; i < found->other_count; i++)
        free(found->others[i]);
    free(found->others);
    free(found->path);
    free(found->cut_short);
    *found = (struct tl_found){0};
}
