/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory_table.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

#define PAGE UINT64_C(4096)
#define BYTES_MAX (UINT64_C(1) << 46)

static void lock(struct tl_sim_memory *m)
{
    uint32_t expected = 0;

    if (tl_cas_acq_rel(&m->lock, &expected, 1u)) /* M1: taken; pairs with the exchange in unlock */
        return;
    while (tl_xchg_acq_rel(&m->lock, 2u) != 0) /* M1: as above; 2 makes the holder wake a waiter */
        (void)tl__park(&m->lock, 2u, TL_FOREVER);
}

#ifndef NDEBUG
/* MI1: the extents cover the memory from its start to its end, side by side, and no two free ones are neighbours. The
 * first ones are looked at: a table of thousands would make each call a walk. Guard: lock held. */
#define CHECKED_EXTENTS 64u
static bool table_is_sound(const struct tl_sim_memory *m)
{
    const struct tl_memory_extent *e = m->first, *prev = NULL;
    uint64_t at = 0, used = 0;

    for (uint32_t i = 0; e != NULL && i < CHECKED_EXTENTS; prev = e, e = e->next, i++) {
        if (e->start != at || e->bytes == 0 || e->prev != prev || e->start % TL_DEV_ALIGN != 0)
            return false;
        if (prev != NULL && !prev->used && !e->used)
            return false;
        at += e->bytes;
        used += e->used ? e->bytes : 0;
    }
    return e == NULL ? at == m->bytes && used == m->used_bytes : at < m->bytes && used <= m->used_bytes;
}
#endif

static void unlock(struct tl_sim_memory *m)
{
    assert(table_is_sound(m));               /* MI1 */
    assert(tl_load_rlx(&m->lock) != 0);      /* MI2: this thread has it; relaxed: as it left it, or 2 */
    if (tl_xchg_acq_rel(&m->lock, 0u) == 2u) /* M2: publishes the table; pairs with M1 */
        tl__wake(&m->lock, 1);
}

int tl__sim_memory_init(struct tl_sim_memory *m, uint64_t bytes, struct tl_error *reterr)
{
    memset(m, 0, sizeof(*m));
    if (bytes == 0 || bytes > BYTES_MAX)
        return tl__fail(reterr, TL_ERANGE,
                        "device memory of %" PRIu64 " bytes is not possible: it has 1 to %" PRIu64 " bytes", bytes,
                        BYTES_MAX);
    m->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    m->first = tl__alloc(1, sizeof(*m->first));
    if (m->first == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no host memory for the table of device memory");
    m->first->bytes = m->bytes;
    assert(table_is_sound(m)); /* MI1 */
    return 0;
}

void tl__sim_memory_fini(struct tl_sim_memory *m)
{
    struct tl_memory_extent *next;

    for (struct tl_memory_extent *e = m->first; e != NULL; e = next) {
        next = e->next;
        assert(next == NULL || next->start == e->start + e->bytes); /* MI1 */
        tl__free(e);
    }
    m->first = NULL;
}

/* Guard: lock held. */
static uint64_t largest_free(const struct tl_sim_memory *m)
{
    uint64_t largest = 0;

    for (const struct tl_memory_extent *e = m->first; e != NULL; e = e->next)
        if (!e->used && e->bytes > largest)
            largest = e->bytes;
    return largest;
}

/* Makes two of `e`, the first of `bytes`; both are as free as `e` was. NULL: no memory. Guard: lock held. */
static struct tl_memory_extent *split(struct tl_memory_extent *e, uint64_t bytes)
{
    struct tl_memory_extent *rest = tl__alloc(1, sizeof(*rest));

    assert(!e->used && bytes > 0 && bytes < e->bytes); /* MI1: both pieces have bytes */
    assert(bytes % TL_DEV_ALIGN == 0);                 /* MI3 */
    if (rest == NULL)
        return NULL;
    rest->start = e->start + bytes;
    rest->bytes = e->bytes - bytes;
    rest->prev = e;
    rest->next = e->next;
    if (rest->next != NULL)
        rest->next->prev = rest;
    e->next = rest;
    e->bytes = bytes;
    return rest;
}

/* The free extent nearest to the use's end of the memory that has `need` bytes; NULL: none. Guard: lock held. */
static struct tl_memory_extent *find_free(const struct tl_sim_memory *m, uint64_t need, enum tl_memory_use use)
{
    struct tl_memory_extent *found = NULL;

    for (struct tl_memory_extent *e = m->first; e != NULL; e = e->next) {
        if (e->used || e->bytes < need)
            continue;
        assert(need % TL_DEV_ALIGN == 0); /* MI3 */
        found = e;
        if (use == TL_MEMORY_RUN)
            break;
    }
    return found;
}

/* `need` bytes of the free extent `e`, from the use's end of it. NULL: no memory. Guard: lock held. */
static struct tl_memory_extent *take(struct tl_memory_extent *e, uint64_t need, enum tl_memory_use use)
{
    struct tl_memory_extent *rest;

    assert(!e->used && e->bytes >= need); /* MI1: free bytes are given once */
    if (e->bytes == need)
        return e;
    rest = split(e, use == TL_MEMORY_RUN ? need : e->bytes - need);
    return rest == NULL || use == TL_MEMORY_KEPT ? rest : e;
}

int tl__sim_memory_alloc(struct tl_sim_memory *m, uint64_t bytes, enum tl_memory_use use, const char *what,
                         uint64_t *ret_addr, struct tl_error *reterr)
{
    uint64_t need = bytes == 0 ? TL_DEV_ALIGN : bytes, largest, used;
    struct tl_memory_extent *e, *taken = NULL;

    need = need > UINT64_MAX - TL_DEV_ALIGN ? UINT64_MAX / TL_DEV_ALIGN * TL_DEV_ALIGN
                                            : (need + TL_DEV_ALIGN - 1) / TL_DEV_ALIGN * TL_DEV_ALIGN;
    lock(m);
    e = find_free(m, need, use);
    if (e != NULL)
        taken = take(e, need, use);
    if (taken != NULL) {
        assert(!taken->used && taken->bytes == need); /* MI1 */
        assert(taken->start + need <= m->bytes);      /* MI3 */
        taken->used = 1;
        taken->use = use;
        m->used_bytes += need;
        *ret_addr = TL_DEV_BASE + taken->start;
    }
    largest = e != NULL ? 0 : largest_free(m);
    used = m->used_bytes;
    unlock(m);
    if (taken != NULL)
        return 0;
    if (e != NULL)
        return tl__fail(reterr, TL_ENOMEM, "no host memory for the table of device memory");
    return tl__fail(reterr, TL_ENOMEM,
                    "%s: %" PRIu64 " bytes of device memory are short by %" PRIu64 " bytes: of %" PRIu64 ", %" PRIu64
                    " are in use and the largest free piece has %" PRIu64,
                    what, need, need - largest, m->bytes, used, largest);
}

/* The whole pages of `e` are given back. Guard: lock held. */
static void give_back_pages(const struct tl_sim_memory *m, const struct tl_memory_extent *e)
{
    uint64_t first = (e->start + PAGE - 1) / PAGE * PAGE, end = (e->start + e->bytes) / PAGE * PAGE;

    assert(e->start % TL_DEV_ALIGN == 0 && e->start + e->bytes <= m->bytes); /* MI3: no other block's page is emptied */
    if (end > first && m->give_back != NULL)
        m->give_back(m->ctx, first, end - first);
}

/* Joins `e` with the free extent after it. Guard: lock held. */
static void join_next(struct tl_memory_extent *e)
{
    struct tl_memory_extent *next = e->next;

    if (next == NULL || next->used || e->used)
        return;
    assert(next->start == e->start + e->bytes && next->prev == e); /* MI1 */
    e->bytes += next->bytes;
    e->next = next->next;
    if (e->next != NULL)
        e->next->prev = e;
    tl__free(next);
}

void tl__sim_memory_free(struct tl_sim_memory *m, uint64_t addr)
{
    struct tl_memory_extent *e;

    lock(m);
    for (e = m->first; e != NULL; e = e->next)
        if (e->used && TL_DEV_BASE + e->start == addr)
            break;
    if (e != NULL) {
        assert(e->use == TL_MEMORY_RUN || e->use == TL_MEMORY_KEPT);
        if (e->use == TL_MEMORY_KEPT)
            give_back_pages(m, e);
        assert(m->used_bytes >= e->bytes); /* MI1 */
        e->used = 0;
        m->used_bytes -= e->bytes;
        join_next(e);
        if (e->prev != NULL)
            join_next(e->prev);
    }
    unlock(m);
}
