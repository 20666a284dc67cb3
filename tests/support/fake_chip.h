/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chip for tests of the lanes: device memory in a memfd, a bell page, a first-fit allocator, and roles that push
 * scripted records through the real producer. The payload of record i of a lane is a function of (epoch, lane, i), so
 * that a test can tell each byte that should have arrived.
 */
#ifndef TESTS_FAKE_CHIP_H
#define TESTS_FAKE_CHIP_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tasklens/error.h>

#include "base/env.h"
#include "base/hash.h"
#include "collect/transport.h"
#include "wire/dump_record.h"
#include "wire/producer.h"

#define FAKE_ALLOCS 64

enum fake_kind { FAKE_MAPPED, FAKE_COPY, FAKE_COPY_THREAD, FAKE_KINDS };

struct fake_chip {
    int fd;
    bool by_file; /* copies go by pread and pwrite */
    struct tl_devmem mem;
    struct tl_bell_page *bells;
    struct tl_transport transport;
    struct {
        uint64_t at, bytes;
    } live[FAKE_ALLOCS];
    unsigned n_live;
};

static inline const char *fake_kind_name(enum fake_kind kind)
{
    static const char *const names[] = {"mapped", "copy", "copy-thread"};

    return names[kind];
}

static inline int fake_alloc(void *ctx, uint64_t bytes, uint64_t *ret_addr)
{
    struct fake_chip *c = ctx;
    uint64_t at = 0;
    unsigned i;

    bytes = (bytes + TL_DEV_ALIGN - 1) / TL_DEV_ALIGN * TL_DEV_ALIGN;
    for (i = 0; i < c->n_live && c->live[i].at - at < bytes; i++)
        at = c->live[i].at + c->live[i].bytes;
    if (c->n_live == FAKE_ALLOCS || bytes > c->mem.bytes || at > c->mem.bytes - bytes)
        return TL_ENOMEM;
    memmove(&c->live[i + 1], &c->live[i], (c->n_live - i) * sizeof(c->live[0]));
    c->live[i].at = at;
    c->live[i].bytes = bytes;
    c->n_live++;
    *ret_addr = TL_DEV_BASE + at;
    return 0;
}

static inline void fake_free(void *ctx, uint64_t addr)
{
    struct fake_chip *c = ctx;

    for (unsigned i = 0; i < c->n_live; i++)
        if (c->live[i].at == addr - TL_DEV_BASE) {
            c->n_live--;
            memmove(&c->live[i], &c->live[i + 1], (c->n_live - i) * sizeof(c->live[0]));
            return;
        }
    abort();
}

static inline bool fake_inside(const struct fake_chip *c, uint64_t addr, uint64_t bytes)
{
    return tl__dev_ptr(&c->mem, addr, bytes) != NULL;
}

static inline int fake_copy_in(void *ctx, uint64_t addr, const void *data, uint64_t bytes)
{
    struct fake_chip *c = ctx;

    if (!fake_inside(c, addr, bytes))
        return TL_ERANGE;
    if (c->by_file)
        return pwrite(c->fd, data, bytes, (off_t)(addr - TL_DEV_BASE)) == (ssize_t)bytes ? 0 : TL_EIO;
    memcpy(c->mem.base + (addr - TL_DEV_BASE), data, bytes);
    return 0;
}

static inline int fake_copy_out(void *ctx, void *data, uint64_t addr, uint64_t bytes)
{
    struct fake_chip *c = ctx;

    if (!fake_inside(c, addr, bytes))
        return TL_ERANGE;
    if (c->by_file)
        return pread(c->fd, data, bytes, (off_t)(addr - TL_DEV_BASE)) == (ssize_t)bytes ? 0 : TL_EIO;
    memcpy(data, c->mem.base + (addr - TL_DEV_BASE), bytes);
    return 0;
}

static inline int fake_store(void *ctx, uint64_t addr, uint64_t word)
{
    struct fake_chip *c = ctx;

    if (c->by_file || !fake_inside(c, addr, 8))
        return fake_copy_in(c, addr, &word, sizeof(word));
    tl_store_rel((tl_au64 *)(void *)(c->mem.base + (addr - TL_DEV_BASE)), word);
    return 0;
}

static inline int fake_word(void *ctx, uint64_t addr, uint64_t *ret_word)
{
    struct fake_chip *c = ctx;

    if (c->by_file || !fake_inside(c, addr, 8))
        return fake_copy_out(c, ret_word, addr, sizeof(*ret_word));
    *ret_word = tl_load_acq((tl_au64 *)(void *)(c->mem.base + (addr - TL_DEV_BASE)));
    return 0;
}

/* Aborts where the machine fails; TL_ENOMEM when the transport has no memory. */
static inline int fake_chip_try(struct fake_chip *c, enum fake_kind kind, uint64_t bytes)
{
    struct tl_transport_desc desc;

    memset(c, 0, sizeof(*c));
    c->fd = memfd_create("fake-chip", MFD_CLOEXEC);
    if (c->fd < 0 || ftruncate(c->fd, (off_t)bytes) < 0)
        abort();
    c->mem.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    c->mem.bytes = bytes;
    c->bells = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->mem.base == MAP_FAILED || c->bells == MAP_FAILED)
        abort();
    c->bells->magic = TL_BELL_MAGIC;
    memset(&desc, 0, sizeof(desc));
    c->by_file = kind == FAKE_COPY;
    desc.mapping = kind == FAKE_MAPPED ? c->mem.base : NULL;
    desc.copy_in = fake_copy_in;
    desc.copy_out = fake_copy_out;
    desc.store = fake_store;
    desc.word = fake_word;
    desc.bytes = bytes;
    desc.bells = c->bells;
    desc.alloc = fake_alloc;
    desc.free = fake_free;
    desc.ctx = c;
    return tl__transport_init(&c->transport, kind == FAKE_MAPPED ? "mapped" : "copy", &desc);
}

static inline void fake_chip_init(struct fake_chip *c, enum fake_kind kind, uint64_t bytes)
{
    if (fake_chip_try(c, kind, bytes) < 0)
        abort();
}

static inline void fake_chip_fini(struct fake_chip *c)
{
    tl__transport_fini(&c->transport);
    munmap(c->mem.base, c->mem.bytes);
    munmap(c->bells, 4096);
    close(c->fd);
}

/* --- records --------------------------------------------------------------------------------------------------- */

/* What a lane's role records in one run. Record i is a scalar if i % scalar_every == 0 (0: never), else a uint8 tensor
 * of bytes_of(i) elements. */
struct fake_script {
    uint32_t records, scalar_every;
    uint32_t bytes_min, bytes_span; /* payload of min + hash % span bytes; span 0: min */
    uint32_t chunk_every;           /* every such record is chunk_pieces pieces of a quarter arena; 0: never */
    uint32_t chunk_pieces;
    bool no_payload; /* level 3, unmarked */
};

static inline uint64_t fake_mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * UINT64_C(0x9E3779B97F4A7C15) ^ b * UINT64_C(0xC2B2AE3D27D4EB4F) ^ c * UINT64_C(0x165667B19E3779F9);

    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return x ^ x >> 32;
}

static inline uint64_t fake_task(uint32_t epoch, uint32_t lane, uint32_t i)
{
    return (uint64_t)epoch << 48 | (uint64_t)lane << 32 | i;
}

static inline uint64_t fake_bytes(const struct fake_script *s, uint32_t epoch, uint32_t lane, uint32_t i)
{
    return s->bytes_min + (s->bytes_span ? fake_mix(epoch, lane, i) % s->bytes_span : 0);
}

static inline uint8_t fake_byte(uint64_t task, uint64_t k)
{
    return (uint8_t)(fake_mix(task, k >> 3, 7) >> (k & 7) * 8);
}

static inline void fake_fill(uint8_t *to, uint64_t task, uint64_t from, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes; k++)
        to[k] = fake_byte(task, from + k);
}

static inline bool fake_is_chunk(const struct fake_script *s, uint32_t i)
{
    return s->chunk_every != 0 && i % s->chunk_every == s->chunk_every - 1;
}

static inline bool fake_is_scalar(const struct fake_script *s, uint32_t i)
{
    return !fake_is_chunk(s, i) && s->scalar_every != 0 && i % s->scalar_every == 0;
}

/* --- roles ------------------------------------------------------------------------------------------------------ */

struct fake_role {
    struct tl_producer producer;
    struct fake_script script;
    uint32_t epoch, lane;
    uint32_t next, piece; /* record, and piece of it */
    struct tl_hash hash;
    bool ended, over; /* end() succeeded; nothing is left to do */
    uint32_t lost;    /* records that reserve() gave up */
};

static inline int fake_role_attach(struct fake_role *r, struct fake_chip *c, uint64_t dfx, uint32_t lane)
{
    r->lane = lane;
    return tl__producer_attach(&r->producer, &c->mem, dfx, lane, c->bells);
}

static inline void fake_role_begin(struct fake_role *r, const struct fake_script *script, uint32_t epoch)
{
    r->script = *script;
    r->epoch = epoch;
    r->next = r->piece = r->lost = 0;
    r->ended = r->over = false;
    tl__producer_begin(&r->producer, epoch);
}

static inline void fake_record(struct fake_role *r, struct tl_wire_dump_record *w)
{
    memset(w, 0, sizeof(*w));
    w->task_id = fake_task(r->epoch, r->lane, r->next);
    w->func_id[0] = (int32_t)r->lane;
    w->func_count = 1;
    w->flags = TL_DUMP_CONTIGUOUS;
}

static inline int fake_scalar(struct fake_role *r)
{
    struct tl_wire_dump_record *w;
    uint64_t offset;
    void *payload;
    int rc = tl__producer_reserve(&r->producer, 0, &payload, &offset);

    if (rc < 0)
        return rc;
    w = tl__producer_record(&r->producer);
    fake_record(r, w);
    w->kind = TL_WIRE_SCALAR;
    w->dtype = TL_UINT64;
    w->payload = fake_mix(r->epoch, r->lane, r->next);
    tl__producer_commit(&r->producer, 0);
    return 0;
}

static inline int fake_tensor(struct fake_role *r)
{
    uint64_t offset, bytes = fake_bytes(&r->script, r->epoch, r->lane, r->next);
    uint64_t keep = r->script.no_payload ? 0 : bytes > r->producer.arena_bytes ? r->producer.arena_bytes / 2 : bytes;
    struct tl_wire_dump_record *w;
    void *payload;
    int rc = tl__producer_reserve(&r->producer, keep, &payload, &offset);

    if (rc < 0)
        return rc;
    w = tl__producer_record(&r->producer);
    fake_record(r, w);
    w->dtype = TL_UINT8;
    w->rank = 1;
    w->shape[0] = (uint32_t)bytes;
    w->strides[0] = 1;
    w->payload = offset;
    w->payload_bytes = keep;
    if (keep != 0) {
        fake_fill(payload, w->task_id, 0, keep);
        w->hash = tl__hash64(payload, keep);
        w->flags |= TL_DUMP_HASHED;
    }
    if (keep != 0 && keep < bytes) {
        w->flags |= TL_DUMP_TRUNCATED;
        tl__producer_count_truncated(&r->producer);
    }
    tl__producer_commit(&r->producer, keep);
    return 0;
}

static inline int fake_piece(struct fake_role *r)
{
    uint64_t offset, bytes = r->producer.arena_bytes / 4, total = bytes * r->script.chunk_pieces;
    struct tl_wire_dump_record *w;
    void *payload;
    int rc = r->piece == 0 ? tl__producer_reserve(&r->producer, bytes, &payload, &offset)
                           : tl__producer_reserve_more(&r->producer, bytes, &payload, &offset);

    if (rc < 0)
        return rc;
    w = tl__producer_record(&r->producer);
    fake_record(r, w);
    fake_fill(payload, w->task_id, bytes * r->piece, bytes);
    if (r->piece == 0)
        tl__hash_init(&r->hash);
    tl__hash_update(&r->hash, payload, bytes);
    w->dtype = TL_UINT8;
    w->rank = 1;
    w->shape[0] = (uint32_t)total;
    w->strides[0] = 1;
    w->payload = offset;
    w->payload_bytes = bytes;
    w->piece = r->piece;
    w->hash = tl__hash_value(&r->hash);
    w->flags |= TL_DUMP_HASHED | TL_DUMP_PIECE;
    if (r->piece + 1 == r->script.chunk_pieces)
        w->flags |= TL_DUMP_LAST_PIECE;
    if (r->piece == 0)
        tl__producer_commit(&r->producer, bytes);
    else
        tl__producer_commit_more(&r->producer, bytes);
    return 0;
}

/* One record, one piece or the end mark. 0, TL_EAGAIN (parked), TL_ELOST (dropped). Nothing to do once `over`. */
static inline int fake_role_step(struct fake_role *r)
{
    int rc;

    if (r->next == r->script.records) {
        rc = tl__producer_end(&r->producer);
        r->ended = rc == 0;
        r->over = rc != TL_EAGAIN;
        return rc;
    }
    if (fake_is_chunk(&r->script, r->next)) {
        rc = fake_piece(r);
        if (rc == 0 && ++r->piece < r->script.chunk_pieces)
            return 0;
    } else {
        rc = fake_is_scalar(&r->script, r->next) ? fake_scalar(r) : fake_tensor(r);
    }
    if (rc == TL_EAGAIN)
        return rc;
    r->lost += rc == TL_ELOST;
    r->piece = 0;
    r->next++;
    return rc;
}

/* Runs the role to its end, sleeping on the device bell while it is parked. */
static inline void fake_role_run(struct fake_role *r, struct fake_chip *c)
{
    while (!r->over) {
        uint32_t ticket;

        if (fake_role_step(r) != TL_EAGAIN)
            continue;
        ticket = tl__bell_arm(&c->bells->device);
        if (fake_role_step(r) == TL_EAGAIN)
            (void)tl__bell_sleep_bounded(&c->bells->device, ticket, tl__producer_deadline(&r->producer));
        tl__bell_disarm(&c->bells->device);
    }
}

#endif
