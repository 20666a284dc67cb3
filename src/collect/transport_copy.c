/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy transport: no mapping. Each registered range has a host shadow of the same layout, and the copies move
 * exactly the named bytes: by pread and pwrite on the chip's memory file where the chip is another process, by memcpy
 * where it is in this one.
 *
 * An index is one aligned 8-byte word. Within this process it is moved by an atomic access, so that the orders of the
 * callers (a release fence before the push, an acquire fence after the pull) hold between threads. Across processes it
 * is a copy of its own: the kernel moves an aligned word as one, and a later call cannot begin before it is over.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

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

/* Where `addr` lies in the file, or -1 if the range is not device memory. */
static off_t offset_of(const struct tl_transport *t, uint64_t addr, uint64_t bytes)
{
    uint64_t offset = addr - TL_DEV_BASE;

    if (addr < TL_DEV_BASE || offset > t->desc.bytes || bytes > t->desc.bytes - offset)
        return -1;
    return (off_t)offset;
}

static int copy_to(struct tl_transport *t, uint64_t addr, const void *host, uint64_t bytes)
{
    const uint8_t *from = host;
    off_t at = offset_of(t, addr, bytes);
    uint64_t word;

    if (at < 0)
        return TL_EDEVICE;
    if (is_index(host, addr, bytes)) {
        word = tl_load_rlx((const tl_au64 *)host); /* relaxed: the caller stored it */
        if (t->desc.shared != NULL) {
            tl_store_rel((tl_au64 *)(void *)(t->desc.shared + at), word); /* R2 R3 R4: as the mapped host's store */
            return 0;
        }
        from = (const uint8_t *)&word;
    } else if (t->desc.shared != NULL) {
        memcpy(t->desc.shared + at, host, bytes);
        return 0;
    }
    while (bytes > 0) {
        ssize_t n = pwrite(t->desc.memory_fd, from, bytes, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TL_EDEVICE;
        from += n, at += n, bytes -= (uint64_t)n;
    }
    return 0;
}

static int read_all(int fd, uint8_t *to, uint64_t bytes, off_t at)
{
    while (bytes > 0) {
        ssize_t n = pread(fd, to, bytes, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TL_EDEVICE;
        to += n, at += n, bytes -= (uint64_t)n;
    }
    return 0;
}

static int copy_from(struct tl_transport *t, void *host, uint64_t addr, uint64_t bytes)
{
    off_t at = offset_of(t, addr, bytes);
    uint64_t word;
    int r = 0;

    if (at < 0)
        return TL_EDEVICE;
    if (!is_index(host, addr, bytes)) {
        if (t->desc.shared == NULL)
            return read_all(t->desc.memory_fd, host, bytes, at);
        memcpy(host, t->desc.shared + at, bytes);
        return 0;
    }
    if (t->desc.shared != NULL)
        word = tl_load_acq((tl_au64 *)(void *)(t->desc.shared + at)); /* A1 A5 A6: as the mapped host's load */
    else
        r = read_all(t->desc.memory_fd, (uint8_t *)&word, sizeof(word), at);
    if (r == 0)
        tl_store_rlx((tl_au64 *)host, word); /* relaxed: the puller fences after the copy */
    return r;
}

const struct tl_transport_ops tl__transport_copy = {
    .name = "copy",
    .alloc = copy_alloc,
    .reg = copy_reg,
    .free = copy_free,
    .copy_to_device = copy_to,
    .copy_from_device = copy_from,
};
