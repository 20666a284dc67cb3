/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the host reaches device memory. Two transports, one table of five operations:
 *   mapped  device memory is mapped here; reg() answers with that mapping and the copies do nothing
 *   copy    no mapping: reg() pairs a range with a host shadow, and the copies move exactly the named bytes
 * Nothing else knows which one it is. The rule that both obey: an index and what it publishes never share one copy.
 *     writing  copy data; release fence; copy the index
 *     reading  copy the index; acquire fence; copy data
 * An index is one aligned 8-byte word and is moved as one.
 */
#ifndef TL_COLLECT_TRANSPORT_H
#define TL_COLLECT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/bell.h"

struct tl_transport;

struct tl_transport_ops {
    const char *name; /* "mapped", "copy" */
    bool in_place;    /* a view is the device's memory itself, so that it cannot be filled elsewhere */
    /* Device memory of `bytes`, aligned to TL_DEV_ALIGN; 0 or TL_ENOMEM. Contents undefined. */
    int (*alloc)(struct tl_transport *t, uint64_t bytes, uint64_t *ret_addr);
    /* Host view of a device range: same layout, owned by the transport until free(addr). NULL: out of memory. */
    void *(*reg)(struct tl_transport *t, uint64_t addr, uint64_t bytes);
    /* Frees a range and its host view. */
    void (*free)(struct tl_transport *t, uint64_t addr, uint64_t bytes);
    /* Between the host view at `host` and the device at `addr`. 0, or TL_EDEVICE when the device is gone. */
    int (*copy_to_device)(struct tl_transport *t, uint64_t addr, const void *host, uint64_t bytes);
    int (*copy_from_device)(struct tl_transport *t, void *host, uint64_t addr, uint64_t bytes);
};

/* What host/ knows of the chip and collect/ needs. Filled by host/worker.c from sim/chip.h. */
struct tl_transport_desc {
    void *mapping; /* the mapped transport: this process's mapping of the chip's memory; else NULL */
    /* The copy transport: as sim/chip.h's copy_in, copy_out, store and word. Any thread. */
    int (*copy_in)(void *ctx, uint64_t addr, const void *data, uint64_t bytes);
    int (*copy_out)(void *ctx, void *data, uint64_t addr, uint64_t bytes);
    int (*store)(void *ctx, uint64_t addr, uint64_t word);
    int (*word)(void *ctx, uint64_t addr, uint64_t *ret_word);
    uint64_t bytes;
    struct tl_bell_page *bells;
    int (*alloc)(void *ctx, uint64_t bytes, uint64_t *ret_addr);
    void (*free)(void *ctx, uint64_t addr);
    /* A copy failed: nothing can be said to the device, and it must not wait. Any thread. Or NULL. */
    void (*lost)(void *ctx);
    void *ctx;
};

struct tl_transport {
    const struct tl_transport_ops *ops;
    struct tl_transport_desc desc;
    void *state; /* the transport's own (pointer map, shadows) */
};

/* The two tables, for transport.c. */
extern const struct tl_transport_ops tl__transport_mapped, tl__transport_copy;

/* `kind`: enum tl_transport_kind's name, "mapped" or "copy". `desc` is copied. 0, TL_EINVAL, TL_ENOMEM. */
int tl__transport_init(struct tl_transport *t, const char *kind, const struct tl_transport_desc *desc);
void tl__transport_fini(struct tl_transport *t);

/* Host view of [addr, addr + bytes), or NULL if that is not inside one registered range. The transport's. Any thread,
 * as long as no range is registered or freed meanwhile. */
void *tl__transport_view(const struct tl_transport *t, uint64_t addr, uint64_t bytes);

/* The device's index at `addr`, which is at `view` in the host's view; what it publishes may be read after. */
int tl__index_pull(struct tl_transport *t, tl_au64 *view, uint64_t addr, uint64_t *ret_value);
/* Sets the host's index at `addr`; what was written or pushed before is visible to whoever reads it. */
int tl__index_push(struct tl_transport *t, tl_au64 *view, uint64_t addr, uint64_t value);

#endif
