/* SPDX-License-Identifier: Apache-2.0 */
/* The object and the writer; the reader is scope_stats_read.c. */
#include "artifact/scope_stats.h"

#include <string.h>

#include "artifact/file_out.h"
#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"

/* ---- the object ---- */

int tl__scope_stats_add(struct tl_scope_stats *s, const struct tl_boundary *boundary)
{
    return tl_vec_push(&s->boundaries, *boundary);
}

/* Where the text is in the index, or where it would. */
static uint32_t *place_of(const struct tl_scope_stats *s, const char *text, size_t length)
{
    uint32_t mask = 2 * s->site_room - 1, at = (uint32_t)tl__hash64(text, length) & mask;

    for (; s->site_index[at] != 0; at = (at + 1) & mask) {
        const char *other = s->sites[s->site_index[at] - 1];

        if (strncmp(other, text, length) == 0 && other[length] == 0)
            break;
    }
    return &s->site_index[at];
}

static int grow_sites(struct tl_scope_stats *s)
{
    uint32_t room = s->site_room == 0 ? 16 : s->site_room * 2;
    uint32_t *index = tl__alloc(2 * (size_t)room, sizeof(*index));
    char **sites = index != NULL ? tl__realloc(s->sites, room * sizeof(*sites)) : NULL;

    if (sites == NULL) {
        tl__free(index);
        return TL_ENOMEM;
    }
    tl__free(s->site_index);
    s->site_index = index;
    s->sites = sites;
    s->site_room = room;
    for (uint32_t i = 0; i < s->n_sites; i++)
        *place_of(s, sites[i], strlen(sites[i])) = i + 1;
    return 0;
}

int tl__scope_stats_site(struct tl_scope_stats *s, const char *text, size_t length, uint32_t *ret_site)
{
    uint32_t *place;
    char *copy;

    length = strnlen(text, length);
    if (s->n_sites == s->site_room && grow_sites(s) < 0)
        return TL_ENOMEM;
    place = place_of(s, text, length);
    if (*place == 0) {
        copy = tl__alloc(1, length + 1);
        if (copy == NULL)
            return TL_ENOMEM;
        memcpy(copy, text, length);
        s->sites[s->n_sites++] = copy;
        *place = s->n_sites;
    }
    *ret_site = *place - 1;
    return 0;
}

void tl__scope_stats_fini(struct tl_scope_stats *s)
{
    for (uint32_t i = 0; i < s->n_sites; i++)
        tl__free(s->sites[i]);
    tl__free(s->sites);
    tl__free(s->site_index);
    tl_vec_fini(&s->boundaries);
    *s = (struct tl_scope_stats){0};
}

/* ---- the writer ---- */

static void put_sizes(struct tl_json *j, const char *key, const uint64_t *sizes, uint32_t count)
{
    tl__json_member_array(j, key, TL_JSON_LINE);
    for (uint32_t i = 0; i < count; i++)
        tl__json_u64(j, sizes[i]);
    tl__json_array_end(j);
}

static void put_head(struct tl_json *j, const struct tl_scope_stats *s)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "version", TL_SCOPE_VERSION);
    tl__json_member_bool(j, "fatal", s->fatal);
    tl__json_member_u64(j, "dropped", s->dropped);
    tl__json_member_u64(j, "total", s->boundaries.count);
    put_sizes(j, "task_window_max", s->size[TL_RING_TASKS], s->n_rings);
    put_sizes(j, "heap_max", s->size[TL_RING_HEAP], s->n_rings);
    put_sizes(j, "dep_pool_max", s->size[TL_RING_DEPS], s->n_rings);
    tl__json_member_u64(j, "tensormap_max", s->tensormap_max);
    tl__json_object_end(j);
    tl__json_newline(j);
}

static void put_boundary(struct tl_json *j, const struct tl_scope_stats *s, const struct tl_boundary *b)
{
    static const char *const keys[TL_RING_RESOURCES][2] = {
        [TL_RING_TASKS] = {"task_window_start", "task_window_end"},
        [TL_RING_HEAP] = {"heap_start", "heap_end"},
        [TL_RING_DEPS] = {"dep_pool_start", "dep_pool_end"},
    };

    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_string(j, "site", s->sites[b->site]);
    tl__json_member_string(j, "phase", b->ends ? "end" : "begin");
    tl__json_member_u64(j, "depth", b->depth);
    tl__json_member_u64(j, "ring", b->ring);
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        tl__json_member_u64(j, keys[r][0], b->span[r].tail);
        tl__json_member_u64(j, keys[r][1], b->span[r].head);
    }
    tl__json_member_u64(j, "tensormap", b->tensormap);
    tl__json_object_end(j);
    tl__json_newline(j);
}

int tl__scope_stats_write(const char *dir, const struct tl_scope_stats *s, struct tl_error *reterr)
{
    struct tl_out out;
    int code;

    if (s->n_rings > TL_SCOPE_MAX_RINGS)
        return tl__fail(reterr, TL_EINVAL, "%s/%s: %u rings are too many", dir, TL_SCOPE_NAME, s->n_rings);
    for (uint64_t i = 0; i < s->boundaries.count; i++)
        if (s->boundaries.items[i].ring >= s->n_rings || s->boundaries.items[i].site >= s->n_sites ||
            s->boundaries.items[i].depth > TL_SCOPE_MAX_DEPTH)
            return tl__fail_at(reterr, TL_EINVAL, (long)i, "%s/%s: boundary %llu has no such ring, site or depth", dir,
                               TL_SCOPE_NAME, (unsigned long long)i);
    code = tl__out_open_in(&out, dir, TL_SCOPE_NAME, reterr);
    if (code != 0)
        return code;
    put_head(&out.json, s);
    for (uint64_t i = 0; i < s->boundaries.count; i++)
        put_boundary(&out.json, s, &s->boundaries.items[i]);
    return tl__out_commit(&out, reterr);
}
