/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/transport.h"

#include <assert.h>
#include <string.h>

#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "collect/range_map.h"

static const struct tl_transport_ops *const tables[] = {&tl__transport_mapped, &tl__transport_copy};

int tl__transport_init(struct tl_transport *t, const char *kind, const struct tl_transport_desc *desc)
{
    memset(t, 0, sizeof(*t));
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (strcmp(tables[i]->name, kind) == 0)
            t->ops = tables[i];
    if (t->ops == NULL || desc->alloc == NULL || desc->free == NULL)
        return TL_EINVAL;
    if (t->ops == &tl__transport_mapped
            ? desc->mapping == NULL
            : desc->copy_in == NULL || desc->copy_out == NULL || desc->store == NULL || desc->word == NULL)
        return TL_EINVAL;
    t->desc = *desc;
    t->state = tl__alloc(1, sizeof(struct tl_range_map));
    return t->state != NULL ? 0 : TL_ENOMEM;
}

/* Ranges that are still registered lose their views here; the device memory itself goes with the chip. */
void tl__transport_fini(struct tl_transport *t)
{
    struct tl_range_map *map = t->state;

    if (map == NULL)
        return;
    while (map->ranges.count > 0)
        t->ops->free(t, map->ranges.items[map->ranges.count - 1].addr, map->ranges.items[map->ranges.count - 1].bytes);
    tl__range_fini(map);
    tl__free(map);
    memset(t, 0, sizeof(*t));
}

void *tl__transport_view(const struct tl_transport *t, uint64_t addr, uint64_t bytes)
{
    return tl__range_view(t->state, addr, bytes);
}

int tl__index_pull(struct tl_transport *t, tl_au64 *view, uint64_t addr, uint64_t *ret_value)
{
    int r;

    assert(addr % sizeof(*view) == 0 && (uintptr_t)view % sizeof(*view) == 0); /* CI11 */
    r = t->ops->copy_from_device(t, view, addr, sizeof(*view));
    if (r == 0)
        *ret_value = tl_load_acq(view); /* A1 A5 A6 when mapped: the view is the device's own word */
    /* A1 A5 A6 across processes: what the index publishes is copied after it. */
    tl_fence_acq();
    return r;
}

int tl__index_push(struct tl_transport *t, tl_au64 *view, uint64_t addr, uint64_t value)
{
    assert(addr % sizeof(*view) == 0 && (uintptr_t)view % sizeof(*view) == 0); /* CI11 */
    /* R2 R3 R4 across processes: what the index publishes was copied before it. */
    tl_fence_rel();
    tl_store_rel(view, value); /* R2 R3 R4 when mapped */
    return t->ops->copy_to_device(t, addr, view, sizeof(*view));
}
