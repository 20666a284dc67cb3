/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tl_dump_tag. A value is a buffer (its address, and who allocated it, because a ring uses an address again), the
 * buffer's version, and which elements in which shape. Copies of a tensor are the same value; a view, a reshape, or the
 * same tensor given as an output again is another.
 */
#include "graph/graph_impl.h"

#include <string.h>

#include "base/text.h"

static uint32_t bucket_of(const struct tl_tensor *t)
{
    uint64_t x = (t->buffer >> 4) ^ (t->owner << 1) ^ (t->start_offset << 20) ^ ((uint64_t)t->version << 40);

    return (uint32_t)((x * UINT64_C(0x9E3779B97F4A7C15)) >> 40) & (TL_TAG_BUCKETS - 1);
}

void tl__tags_init(struct tl_tags *tags)
{
    *tags = (struct tl_tags){0};
    memset(tags->buckets, 0xff, sizeof(tags->buckets)); /* TL_MAP_NONE */
}

void tl__tags_fini(struct tl_tags *tags)
{
    tl_vec_fini(&tags->tags);
    tl_vec_fini(&tags->entries);
}

uint32_t tl__tag_find(const struct tl_tags *tags, const struct tl_tensor *t)
{
    const struct tl_tag_entry *entries = tags->entries.items;
    struct tl_region region;

    assert(tags->tags.count == tags->entries.count); /* GI12 */
    if (tags->tags.count == 0)
        return 0;
    tl__region_of(t, &region);
    for (uint32_t i = tags->buckets[bucket_of(t)]; i != TL_MAP_NONE; i = entries[i].next)
        if (entries[i].buffer == t->buffer && entries[i].owner == t->owner && entries[i].version == t->version &&
            tl__region_equal(&entries[i].region, &region))
            return i + 1;
    return 0;
}

int tl__graph_tag(struct tl_graph *g, struct tl_tensor *t, const char *name, const char *file, int line,
                  struct tl_error *reterr)
{
    struct tl_tag_entry *entry;
    uint32_t *bucket;

    if (g->opts.dump_level != 1 && g->opts.dump_level != 3)
        return 0;
    if (t->buffer == 0)
        return tl__fail(reterr, TL_EGRAPH,
                        "tl_dump_tag(%s) at %s:%d: the tensor has no value yet; tag it after the "
                        "submit that allocates it",
                        name, tl__source_name(file), line);
    t->tag = tl__tag_find(&g->tags, t);
    if (t->tag != 0) /* a second entry would hide the first, which would then never be consumed */
        return 0;
    if (tl_vec_reserve(&g->tags.tags, g->tags.tags.count + 1) < 0 ||
        tl_vec_reserve(&g->tags.entries, g->tags.entries.count + 1) < 0)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a tag");
    bucket = &g->tags.buckets[bucket_of(t)];
    entry = &g->tags.entries.items[g->tags.entries.count];
    *entry = (struct tl_tag_entry){.buffer = t->buffer, .owner = t->owner, .version = t->version, .next = *bucket};
    tl__region_of(t, &entry->region);
    *bucket = (uint32_t)g->tags.entries.count++;
    g->tags.tags.items[g->tags.tags.count++] =
        (struct tl_tag){.name = name, .file = tl__source_name(file), .line = line};
    t->tag = (uint32_t)g->tags.tags.count;
    assert(g->tags.tags.count == g->tags.entries.count); /* GI12 */
    assert(tl__tag_find(&g->tags, t) == t->tag);         /* GI12: the newest tag of this value */
    return 0;
}

const struct tl_tag *tl__graph_tags(const struct tl_graph *g, uint32_t *ret_count)
{
    *ret_count = (uint32_t)g->tags.tags.count;
    return g->tags.tags.items;
}
