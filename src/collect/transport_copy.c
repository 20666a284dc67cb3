/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy transport: no mapping. Each registered range has a host shadow of the same layout, and the copies move
 * exactly the named bytes, by the chip's own operations. An index is one aligned 8-byte word: the chip moves it as one,
 * and orders it with the copies around it (a release fence before the push, an acquire fence after the pull, hold as
 * well).
 */
#include "base/env.h"
#include "base/error.h"
#include "collect/range_map.h"
#include "collect/transport.h"
#include "wire/memory.h"

static int copy_alloc(struct tl_transport *t, uint64_t bytes, uint64_t *ret_addr)
{
    return t->desc.alloc(t->desc.ctx, bytes, ret_addr);
}

static void *copy_reg(struct tl_transport *t, uint64_t addr, uint64_t bytes)
{
    uint64_t offset = addr - TL_DEV_BASE;
    uint8_t *shadow;

    if (addr < TL_DEV_BASE || offset > t->desc.bytes || bytes > t->desc.bytes - offset)
        return NULL;
    shadow = tl__reserve(bytes);
    if (shadow != NULL && tl__range_add(t->state, addr, bytes, shadow) < 0) {
        tl__release(shadow, bytes);
        shadow = NULL;
    }
    return shadow;
}

static void copy_free(struct tl_transport *t, uint64_t addr, uint64_t bytes)
{
    uint8_t *shadow = tl__range_remove(t->state, addr, &bytes);

    if (shadow != NULL)
        tl__release(shadow, bytes);
    t->desc.free(t->desc.ctx, addr);
}

static bool is_index(const void *host, uint64_t addr, uint64_t bytes)
{
    return bytes == 8 && addr % 8 == 0 && (uintptr_t)host % 8 == 0;
}

static int copy_to(struct tl_transport *t, uint64_t addr, const void *host, uint64_t bytes)
{
    const struct tl_transport_desc *d = &t->desc;
    int r;

    if (is_index(host, addr, bytes)) /* R2 R3 R4 are the chip's; relaxed: the caller stored it */
        r = d->store(d->ctx, addr, tl_load_rlx((const tl_au64 *)host));
    else
        r = d->copy_in(d->ctx, addr, host, bytes);
    return r < 0 ? TL_EDEVICE : 0;
}

static int copy_from(struct tl_transport *t, void *host, uint64_t addr, uint64_t bytes)
{
    const struct tl_transport_desc *d = &t->desc;
    uint64_t word;

    if (!is_index(host, addr, bytes))
        return d->copy_out(d->ctx, host, addr, bytes) < 0 ? TL_EDEVICE : 0;
    if (d->word(d->ctx, addr, &word) < 0) /* A1 A5 A6 are the chip's */
        return TL_EDEVICE;
    tl_store_rlx((tl_au64 *)host, word); /* relaxed: the puller fences after the copy */
    return 0;
}

const struct tl_transport_ops tl__transport_copy = {
    .name = "copy",
    .alloc = copy_alloc,
    .reg = copy_reg,
    .free = copy_free,
    .copy_to_device = copy_to,
    .copy_from_device = copy_from,
};
