/* SPDX-License-Identifier: Apache-2.0 */
#include "view/rank_leaves.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/text/table.h"
#include "artifact/dfx_meta.h"
#include "artifact/journal.h"
#include "base/collectors.h"
#include "base/count_of.h"
#include "base/number.h"
#include "base/pathname.h"
#include "cmd.h"
#include "view/find.h"
#include "viewers.h"

#define FOLDER_DEPTH 2u /* network<M>/node<N> */

/* "rank12" after `word`: 12. */
static bool numbered(const char *name, const char *word, uint32_t *ret_number)
{
    size_t n = strlen(word);
    uint64_t value;

    if (strncmp(name, word, n) != 0 || !tl__read_u64(name + n, strlen(name + n), &value))
        return false;
    *ret_number = (uint32_t)value;
    return value < TL_MAX_RANKS * UINT64_C(1000) && (name[n] != '0' || name[n + 1] == '\0');
}

/* A directory that may be above ranks, or above such. */
static bool is_folder(const char *name)
{
    uint32_t number;

    return numbered(name, "node", &number) || numbered(name, "network", &number);
}

/* ---- reading the tree ---- */

static struct tl_rank_leaf *add(struct tl_rank_leaves *l, const char *path)
{
    struct tl_rank_leaf leaf = {.path = strdup(path)};

    if (leaf.path == NULL || tl_vec_push(&l->list, leaf) != 0) {
        free(leaf.path);
        return NULL;
    }
    return &l->list.items[l->list.count - 1];
}

static int read_leaf(const char *command, struct tl_rank_leaves *l, const char *path, uint32_t rank, uint32_t dispatch)
{
    struct tl_rank_leaf *leaf = add(l, path);
    struct tl_error err;
    int code;

    if (leaf == NULL)
        return tl__cmd_fail(command, "out of memory");
    leaf->rank = rank;
    leaf->dispatch = dispatch;
    code = tl__dispatch_read(path, &leaf->program, &err);
    leaf->has_program = code == 0;
    if (code != 0 && code != TL_ENOENT)
        return tl__cmd_fail(command, "%s", err.msg);
    code = tl__dispatch_identity_read(path, &leaf->identity, &err);
    leaf->has_identity = code == 0;
    if (code != 0 && code != TL_ENOENT)
        return tl__cmd_fail(command, "%s", err.msg);
    leaf->seat = l->folders;
    if (leaf->has_program && leaf->program.ranks > l->ranks)
        l->ranks = leaf->program.ranks;
    return 0;
}

static int read_rank(const char *command, struct tl_rank_leaves *l, const char *dir, uint32_t rank)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    int code = 0;

    if (rank >= l->ranks && rank < TL_MAX_RANKS)
        l->ranks = rank + 1;
    while (d != NULL && code == 0 && (entry = readdir(d)) != NULL) {
        char path[TL_PATHNAME_BYTES];
        uint32_t dispatch;
        struct stat st;

        if (!numbered(entry->d_name, "d", &dispatch) || !tl__pathname(path, "%s/%s", dir, entry->d_name) ||
            stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
            continue;
        code = read_leaf(command, l, path, rank, dispatch);
    }
    if (d != NULL)
        (void)closedir(d);
    l->folders++;
    return code;
}

static int by_number(const void *a, const void *b)
{
    const struct tl_rank_leaf *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strverscmp(x->path, y->path);
}

/* Ranks of `dir`, and of the nodes and networks in it. */
static int read_folder(const char *command, struct tl_rank_leaves *l, const char *dir, unsigned depth)
{
    const struct dirent *entry;
    DIR *d = opendir(dir);
    int code = 0;

    while (d != NULL && code == 0 && (entry = readdir(d)) != NULL) {
        char path[TL_PATHNAME_BYTES];
        uint32_t rank;
        bool is_rank = numbered(entry->d_name, "rank", &rank);
        struct stat st;

        if ((!is_rank && (depth == FOLDER_DEPTH || !is_folder(entry->d_name))) ||
            !tl__pathname(path, "%s/%s", dir, entry->d_name))
            continue;
        if (is_rank) {
            code = read_rank(command, l, path, rank);
            l->nodes = l->nodes || depth > 0;
        } else if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) { /* not through links: no cycles */
            code = read_folder(command, l, path, depth + 1);
        }
    }
    if (d != NULL)
        (void)closedir(d);
    return code;
}

int tl__rank_leaves(const char *command, const char *root, struct tl_rank_leaves *l)
{
    int code;

    memset(l, 0, sizeof(*l));
    l->root = strdup(root);
    if (l->root == NULL)
        return tl__cmd_fail(command, "out of memory");
    for (size_t n = strlen(l->root); n > 1 && l->root[n - 1] == '/'; n--)
        l->root[n - 1] = '\0';
    code = read_folder(command, l, l->root, 0);
    if (l->list.count > 0)
        qsort(l->list.items, l->list.count, sizeof(*l->list.items), by_number);
    if (l->folders > l->ranks) /* numbers that several nodes have */
        l->ranks = l->folders;
    return code;
}

/* Bytes of the path up to its rank's name, without the dispatch. */
static int rank_bytes(const struct tl_rank_leaf *leaf)
{
    const char *slash = strrchr(leaf->path, '/');

    return slash != NULL ? (int)(slash - leaf->path) : 0;
}

void tl__rank_leaf_dir(const struct tl_rank_leaf *leaf, char *to, size_t size)
{
    (void)snprintf(to, size, "%.*s", rank_bytes(leaf), leaf->path);
}

void tl__rank_leaf_name(const struct tl_rank_leaves *l, const struct tl_rank_leaf *leaf, char *to, size_t size)
{
    size_t root = strlen(l->root);

    while (leaf->path[root] == '/')
        root++;
    (void)snprintf(to, size, "%.*s", rank_bytes(leaf) - (int)root, leaf->path + root);
}

void tl__rank_leaves_fini(struct tl_rank_leaves *l)
{
    for (size_t i = 0; i < l->list.count; i++)
        free(l->list.items[i].path);
    tl_vec_fini(&l->list);
    free(l->root);
    memset(l, 0, sizeof(*l));
}

/* Of `path` up to `bytes`, what is above node<N> and network<M> at its end. */
static size_t above_folders(const char *path, size_t bytes)
{
    for (unsigned i = 0; i < FOLDER_DEPTH && bytes > 0; i++) {
        size_t from = bytes;
        char name[32];

        while (from > 0 && path[from - 1] != '/')
            from--;
        if ((size_t)snprintf(name, sizeof(name), "%.*s", (int)(bytes - from), path + from) >= sizeof(name) ||
            !is_folder(name))
            break;
        bytes = from > 0 ? from - 1 : 0;
    }
    return bytes;
}

bool tl__rank_leaf_of(const char *path, uint32_t *ret_rank, uint32_t *ret_dispatch, size_t *ret_root_bytes)
{
    const char *last = NULL;

    for (const char *at = path; at != NULL; at = strchr(at, '/') != NULL ? strchr(at, '/') + 1 : NULL) {
        char word[2][24] = {"", ""};
        const char *slash = strchr(at, '/');
        size_t n = slash != NULL ? strcspn(slash + 1, "/") : 0;

        if (slash == NULL || (size_t)(slash - at) >= sizeof(word[0]) || n >= sizeof(word[0]))
            continue;
        memcpy(word[0], at, (size_t)(slash - at));
        memcpy(word[1], slash + 1, n);
        if (numbered(word[0], "rank", ret_rank) && numbered(word[1], "d", ret_dispatch))
            last = at;
        if (last == at)
            break; /* the outermost: nothing of ours is below it */
    }
    if (last == NULL)
        return false;
    *ret_root_bytes = above_folders(path, last > path ? (size_t)(last - path) - 1 : 0);
    return true;
}

/* ---- showing it ---- */

static bool has(const struct tl_rank_leaf *leaf, const char *file)
{
    char path[TL_PATHNAME_BYTES];

    return tl__pathname(path, "%s/%s", leaf->path, file) && access(path, F_OK) == 0;
}

static void put_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_rank_leaves *l = ctx;
    const struct tl_rank_leaf *leaf = &l->list.items[number];
    struct tl_meta *meta = calloc(1, sizeof(*meta));
    bool ended = meta != NULL && tl__meta_read(leaf->path, meta, NULL) == 0, first = true;
    /* Of a run whose host was killed nobody knows how far and how long. */
    bool counted = ended && strcmp(meta->status, TL_META_RECOVERED) != 0;

    tl__put_u64(&row->text, leaf->rank);
    tl__cell_end(row);
    tl__put_u64(&row->text, leaf->dispatch);
    tl__cell_end(row);
    tl__put_str(&row->text, leaf->has_program ? leaf->program.program : ended ? meta->program : "?");
    tl__cell_end(row);
    if (counted)
        tl__put_u64(&row->text, meta->tasks);
    tl__cell_end(row);
    if (counted)
        tl__put_format(&row->text, "%.3f ms", (double)meta->wall_ns / 1e6);
    tl__cell_end(row);
    for (unsigned i = 0; i < TL_COLLECT_COUNT; i++)
        if (has(leaf, tl__collect_rows[i].file)) {
            tl__put_format(&row->text, "%s%s", first ? "" : " ", tl__viewer_of(i));
            first = false;
        }
    tl__cell_end(row);
    if (has(leaf, TL_JOURNAL_NAME) && tl__run_lives(leaf->path))
        tl__put_str(&row->text, "still going on");
    else if (has(leaf, TL_JOURNAL_NAME))
        tl__put_format(&row->text, "cut short: tasklens recover %s", leaf->path);
    else
        tl__put_str(&row->text, ended ? meta->status : first ? "nothing recorded" : "not known");
    tl__cell_end(row);
    free(meta);
}

void tl__rank_leaves_table(FILE *out, const struct tl_rank_leaves *l)
{
    static const struct tl_column columns[] = {
        {"rank", true, false}, {"dispatch", true, false},  {"program", false, false}, {"tasks", true, false},
        {"wall", true, false}, {"recorded", false, false}, {"status", false, false}};
    struct tl_rendering page;

    tl__rendering_init(&page, tl__cmd_text, out);
    (void)tl__table_put(&page, columns, COUNT_OF(columns), l->list.count, put_row, (void *)(uintptr_t)l);
    (void)tl__rendering_end(&page);
    tl__rendering_fini(&page);
}
