/* SPDX-License-Identifier: Apache-2.0 */
/* The mapped transport: device memory is mapped here, a view is a place in that mapping, and nothing is ever copied. */
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "collect/range_map.h"
#include "collect/transport.h"
#include "wire/memory.h"

static int mapped_alloc(struct tl_transport *t, uint64_t bytes, uint64_t *ret_addr)
{
    return t->desc.alloc(t->desc.ctx, bytes, ret_addr);
}

static void *mapped_reg(struct tl_transport *t, uint64_t addr, uint64_t bytes)
{
    struct tl_devmem mem = {.base = t->desc.mapping, .bytes = t->desc.bytes};
    uint8_t *view = tl__dev_ptr(&mem, addr, bytes);

    if (view == NULL || tl__range_add(t->state, addr, bytes, view) < 0)
        return NULL;
    return view;
}

static void mapped_free(struct tl_transport *t, uint64_t addr, uint64_t bytes)
{
    (void)tl__range_remove(t->state, addr, &bytes);
    t->desc.free(t->desc.ctx, addr);
}

/* Both sides are the same memory. */
static int mapped_copy_to(struct tl_transport *t, uint64_t addr, const void *host, uint64_t bytes)
{
    (void)t, (void)addr, (void)host, (void)bytes;
    return 0;
}

static int mapped_copy_from(struct tl_transport *t, void *host, uint64_t addr, uint64_t bytes)
{
    (void)t, (void)host, (void)addr, (void)bytes;
    return 0;
}

const struct tl_transport_ops tl__transport_mapped = {
    .name = "mapped",
    .in_place = true,
    .alloc = mapped_alloc,
    .reg = mapped_reg,
    .free = mapped_free,
    .copy_to_device = mapped_copy_to,
    .copy_from_device = mapped_copy_from,
};
