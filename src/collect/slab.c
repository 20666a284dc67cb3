/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of batches. A slab belongs to one run and one shard, which fills it front to back without a lock; when the run
 * is over its slabs wait for the next one. So memory is touched once, and does not grow past the largest run.
 */
#include "base/env.h"
#include "collect/engine_impl.h"

static struct tl_slab *slab_find(struct tl_engine *e, size_t bytes)
{
    struct tl_slab **link, *slab;

    tl__lock(&e->slab_lock);
    for (link = &e->free_slabs; *link != NULL && (*link)->bytes < bytes; link = &(*link)->next)
        ;
    slab = *link;
    if (slab != NULL)
        *link = slab->next;
    tl__unlock(&e->slab_lock);
    return slab;
}

void *tl__slab_take(struct tl_engine *e, struct tl_crun *run, unsigned shard, size_t bytes)
{
    struct tl_slab *slab = run->slabs[shard];
    size_t need = (bytes + 63) / 64 * 64;
    void *memory;

    assert(shard < e->n_shards && bytes > 0);          /* CI7 */
    assert(slab == NULL || slab->used <= slab->bytes); /* CI7 */
    if (slab == NULL || slab->bytes - slab->used < need) {
        size_t size = need + 64 > TL_ENGINE_SLAB_BYTES ? need + 64 : TL_ENGINE_SLAB_BYTES;

        slab = slab_find(e, need + 64);
        if (slab == NULL) {
            slab = tl__reserve(size);
            if (slab == NULL)
                return NULL;
            slab->bytes = size;
        }
        slab->used = 64;
        slab->next = run->slabs[shard];
        run->slabs[shard] = slab;
    }
    memory = (uint8_t *)slab + slab->used;
    slab->used += need;
    assert(slab->used <= slab->bytes); /* CI7 */
    return memory;
}

void tl__slabs_give_back(struct tl_engine *e, struct tl_crun *run)
{
    tl__lock(&e->slab_lock);
    for (unsigned i = 0; i < TL_MAX_SHARDS; i++)
        while (run->slabs[i] != NULL) {
            struct tl_slab *slab = run->slabs[i];

            run->slabs[i] = slab->next;
            slab->next = e->free_slabs;
            e->free_slabs = slab;
        }
    tl__unlock(&e->slab_lock);
}

void *tl__scratch_get(struct tl_scratch *scratch, size_t bytes)
{
    if (bytes > scratch->bytes) {
        void *memory = tl__reserve(bytes);

        if (memory == NULL)
            return NULL;
        tl__scratch_fini(scratch);
        scratch->memory = memory;
        scratch->bytes = bytes;
    }
    return scratch->memory;
}

void tl__scratch_fini(struct tl_scratch *scratch)
{
    if (scratch->memory != NULL)
        tl__release(scratch->memory, scratch->bytes);
    scratch->memory = NULL;
    scratch->bytes = 0;
}
