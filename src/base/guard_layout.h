/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a buffer is in a guarded run (--guard), for who places it and who protects it. A buffer ends, as closely as
 * its alignment allows, at the end of its last page; the page after it is the guard page, which nothing may touch. The
 * rest of its pages is slack and holds a canary.
 *
 *     | canary | buffer | canary | guard page |
 *     ^ first page                ^ page
 *
 * Addresses and sizes are in bytes; addresses may be device addresses, whose pages are those of the mapping.
 */
#ifndef TL_BASE_GUARD_LAYOUT_H
#define TL_BASE_GUARD_LAYOUT_H

#include <stdint.h>

#define TL_GUARD_PAGE UINT64_C(4096)
#define TL_GUARD_ALIGN_MAX 4096u

static inline uint64_t tl__guard_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

/* The alignment of a buffer of elements of `bits` bits in a run with `--guard least` (a power of two). */
static inline uint64_t tl__guard_align(unsigned bits, uint32_t least)
{
    uint64_t element = bits > 8 ? bits / 8 : 1;

    return element > least ? element : least;
}

/* Bytes that a buffer takes, its guard page included. */
static inline uint64_t tl__guard_room(uint64_t bytes)
{
    return tl__guard_up(bytes, TL_GUARD_PAGE) + TL_GUARD_PAGE;
}

/* Bytes from its first page to the buffer. */
static inline uint64_t tl__guard_lead(uint64_t bytes, uint64_t align)
{
    return tl__guard_up(bytes, TL_GUARD_PAGE) - tl__guard_up(bytes, align);
}

/* The first page, and the guard page, of such a buffer. */
static inline uint64_t tl__guard_first(uint64_t buffer)
{
    return buffer & ~(TL_GUARD_PAGE - 1);
}

static inline uint64_t tl__guard_page(uint64_t buffer, uint64_t bytes)
{
    return tl__guard_up(buffer + bytes, TL_GUARD_PAGE);
}

#endif
