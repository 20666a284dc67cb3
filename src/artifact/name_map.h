/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_map_<case>.json: the names of a program's kernels by func_id. func_ids are a namespace of one program: maps of
 * two programs are never merged.
 */
#ifndef TL_ARTIFACT_NAME_MAP_H
#define TL_ARTIFACT_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#define TL_NAME_MAP_PREFIX "name_map_"

struct tl_name_map {
    char *orchestrator; /* NULL: not named */
    uint32_t count;     /* names[0..count), NULL where a func_id has none */
    char **names;
};

/* Writes DIR/name_map_<case_name>.json by rename (the case as base/safe_text.h makes a file's name of it). Nothing
 * if no kernel has a name. */
int tl__name_map_write(const char *dir, const char *case_name, const struct tl_name_map *map, struct tl_error *reterr);
/* Removes the maps of an older recording in DIR. What cannot be removed stays: the reader says what it finds. */
void tl__name_map_clear(const char *dir);
/* The one map in DIR. TL_ENOENT: there is none; TL_EEXIST: several, of different programs: names would be guesses
 * (the message lists them). TL_EPARSE, TL_EIO, TL_ENOMEM. *ret_map is the caller's: tl__name_map_fini. */
int tl__name_map_find(const char *dir, struct tl_name_map *ret_map, struct tl_error *reterr);
int tl__name_map_parse(const void *text, size_t bytes, const char *name, struct tl_name_map *ret_map,
                       struct tl_error *reterr);
/* The kernel's name, or NULL. */
const char *tl__name_of(const struct tl_name_map *map, int64_t func_id);
void tl__name_map_fini(struct tl_name_map *map);

#endif
