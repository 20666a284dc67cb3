/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/name_map.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "artifact/file_out.h"
#include "artifact/json_file.h"
#include "base/env.h"
#include "base/error.h"
#include "base/pathname.h"
#include "base/safe_text.h"
#include "base/text.h"

/* A func_id beyond this is a mistake: the list of names is as long as the largest one. */
#define FUNC_ID_MAX 1048575u

#define SUFFIX ".json"

const char *tl__name_of(const struct tl_name_map *map, int64_t func_id)
{
    return func_id >= 0 && func_id < (int64_t)map->count ? map->names[func_id] : NULL;
}

void tl__name_map_fini(struct tl_name_map *map)
{
    for (uint32_t i = 0; i < map->count; i++)
        tl__free(map->names[i]);
    tl__free(map->names);
    tl__free(map->orchestrator);
    *map = (struct tl_name_map){0};
}

/* ---- reading ---- */

static int copy_text(struct tl_tape *t, uint32_t at, const char *field, char **ret_text)
{
    const char *text = NULL;
    size_t length = 0;
    int code = tl__tape_string(t, at, field, &text, &length);

    if (code != 0)
        return code;
    tl__free(*ret_text); /* of two names the last counts */
    *ret_text = tl__alloc(length + 1, 1);
    if (*ret_text == NULL)
        return tl__tape_fail(t, TL_ENOMEM, NULL, "out of memory");
    memcpy(*ret_text, text, length);
    return 0;
}

static int make_room(struct tl_tape *t, struct tl_name_map *map, uint32_t count)
{
    char **names;

    if (count <= map->count)
        return 0;
    names = tl__realloc(map->names, count * sizeof(*names));
    if (names == NULL)
        return tl__tape_fail(t, TL_ENOMEM, NULL, "out of memory");
    memset(names + map->count, 0, (count - map->count) * sizeof(*names));
    map->names = names;
    map->count = count;
    return 0;
}

static int take_names(struct tl_tape *t, uint32_t at, struct tl_name_map *map)
{
    static const char *const field = "callable_id_to_name";
    int code = 0;

    if (at == TL_TAPE_ABSENT || t->tokens[at].type != TL_TAPE_OBJECT)
        return tl__tape_fail_type(t, at, field, "an object");
    for (uint32_t key = at + 1; code == 0 && key < t->tokens[at].next; key = t->tokens[key + 1].next) {
        const char *name = t->text + t->tokens[key].start;
        uint64_t func_id = 0;

        if (tl__tape_u64(t, key, field, FUNC_ID_MAX, &func_id) != 0)
            return tl__tape_fail(t, TL_EPARSE, field, "'%.40s' is not a func_id (0 to %u)", name, FUNC_ID_MAX);
        code = make_room(t, map, (uint32_t)func_id + 1);
        if (code == 0 && !tl__tape_is_null(t, key + 1))
            code = copy_text(t, key + 1, name, &map->names[func_id]);
    }
    return code;
}

static int on_value(void *ctx, struct tl_tape *t)
{
    enum { LEVEL, ORCHESTRATOR, NAMES, COUNT };
    static const char *const names[COUNT] = {"level", "orchestrator_name", "callable_id_to_name"};
    struct tl_name_map *map = ctx;
    uint32_t f[COUNT], level = 0;
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    if (code == 0 && f[LEVEL] != TL_TAPE_ABSENT)
        code = tl__tape_u32(t, f[LEVEL], names[LEVEL], &level);
    if (code == 0 && !tl__tape_is_null(t, f[ORCHESTRATOR]))
        code = copy_text(t, f[ORCHESTRATOR], names[ORCHESTRATOR], &map->orchestrator);
    return code != 0 ? code : take_names(t, f[NAMES], map);
}

static int read_map(const char *name, const void *text, size_t bytes, struct tl_name_map *ret_map,
                    struct tl_error *reterr)
{
    struct tl_name_map map = {0};
    struct tl_tape_spec spec = {.on_value = on_value, .ctx = &map};
    int code =
        text != NULL ? tl__tape_parse(text, bytes, name, &spec, reterr) : tl__json_file_read(name, &spec, reterr);

    if (code != 0)
        tl__name_map_fini(&map);
    else
        *ret_map = map;
    return code;
}

int tl__name_map_parse(const void *text, size_t bytes, const char *name, struct tl_name_map *ret_map,
                       struct tl_error *reterr)
{
    return read_map(name, text != NULL ? text : "", bytes, ret_map, reterr);
}

/* ---- finding ---- */

static bool is_map(const char *name)
{
    size_t length = strlen(name), prefix = sizeof(TL_NAME_MAP_PREFIX) - 1, suffix = sizeof(SUFFIX) - 1;

    return length >= prefix + suffix && memcmp(name, TL_NAME_MAP_PREFIX, prefix) == 0 &&
           memcmp(name + length - suffix, SUFFIX, suffix) == 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Two cases of one program leave two files that say the same. */
static bool same(const struct tl_name_map *a, const struct tl_name_map *b)
{
    if (a->count != b->count || !same_text(a->orchestrator, b->orchestrator))
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!same_text(a->names[i], b->names[i]))
            return false;
    return true;
}

/* Reads DIR/NAME and compares it with *map, or puts it there. */
static int add_map(const char *dir, const char *name, bool first, struct tl_name_map *map, bool *differs,
                   struct tl_error *reterr)
{
    struct tl_name_map next = {0};
    char path[TL_PATHNAME_BYTES];
    int code;

    if (!tl__pathname(path, "%s/%s", dir, name))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    code = read_map(path, NULL, 0, &next, reterr);
    if (code != 0)
        return code;
    if (first) {
        *map = next;
        return 0;
    }
    *differs = *differs || !same(map, &next);
    tl__name_map_fini(&next);
    return 0;
}

static int find_in(DIR *folder, const char *dir, struct tl_name_map *map, struct tl_error *reterr)
{
    const struct dirent *entry;
    char list[600];
    struct tl_text names = tl__text(list, sizeof(list));
    unsigned count = 0;
    bool differs = false;
    int code = 0;

    while (code == 0 && (entry = readdir(folder)) != NULL) {
        if (!is_map(entry->d_name))
            continue;
        tl__text_put(&names, count > 0 ? ", " : "");
        tl__text_put(&names, entry->d_name);
        code = add_map(dir, entry->d_name, count == 0, map, &differs, reterr);
        count++;
    }
    if (code == 0 && count == 0)
        return tl__fail(reterr, TL_ENOENT, "%s: no " TL_NAME_MAP_PREFIX "*" SUFFIX, dir);
    if (code == 0 && differs)
        return tl__fail(reterr, TL_EEXIST,
                        "%.300s: kernel names of different programs (%s): none is used; keep the one of this recording",
                        dir, list);
    return code;
}

int tl__name_map_find(const char *dir, struct tl_name_map *ret_map, struct tl_error *reterr)
{
    struct tl_name_map map = {0};
    DIR *folder = opendir(dir);
    int code;

    if (folder == NULL) {
        int err = errno;

        return tl__fail(reterr, tl__code_of_errno(err), "%s: cannot open: %s", dir, strerror(err));
    }
    code = find_in(folder, dir, &map, reterr);
    (void)closedir(folder);
    if (code != 0)
        tl__name_map_fini(&map);
    else
        *ret_map = map;
    return code;
}

/* ---- writing ---- */

void tl__name_map_clear(const char *dir)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL)
        if (is_map(entry->d_name))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)closedir(folder);
}

static void put_map(struct tl_json *j, const struct tl_name_map *map)
{
    char id[16];

    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_u64(j, "level", 2); /* a chip's program; other levels have programs of their own kind */
    tl__json_member_string(j, "orchestrator_name", map->orchestrator);
    tl__json_member_object(j, "callable_id_to_name", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->names[i] == NULL)
            continue;
        (void)snprintf(id, sizeof(id), "%u", i);
        tl__json_member_string(j, id, map->names[i]);
    }
    tl__json_object_end(j);
    tl__json_object_end(j);
    tl__json_newline(j);
}

int tl__name_map_write(const char *dir, const char *case_name, const struct tl_name_map *map, struct tl_error *reterr)
{
    char name[300], safe[200];
    struct tl_out out;
    uint32_t named = 0;
    int code;

    while (named < map->count && map->names[named] == NULL)
        named++;
    if (named == map->count)
        return 0;
    (void)snprintf(name, sizeof(name), TL_NAME_MAP_PREFIX "%s" SUFFIX,
                   tl__safe(safe, sizeof(safe), TL_SAFE_FILE, case_name));
    code = tl__out_open_in(&out, dir, name, reterr);
    if (code != 0)
        return code;
    put_map(&out.json, map);
    return tl__out_commit(&out, reterr);
}
