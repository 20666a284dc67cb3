/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/gather.h"

#include <tasklens/error.h>

#include <string.h>

#include "tensor/geometry.h"

/*
 * Fewer, longer dims make longer runs. Dims of extent 1 are dropped, and dim i is joined with dim i + 1 if its stride
 * is exactly the length of dim i + 1.
 */
static void merge_dims(struct tl_gather *g, const struct tl_tensor *t)
{
    unsigned n = 0;

    for (unsigned i = 0; i < t->rank; i++) {
        uint64_t extent = t->shape[i], stride = t->strides[i];

        if (extent == 1)
            continue;
        if (n > 0 && g->strides[n - 1] == extent * stride) {
            g->shape[n - 1] *= extent;
            g->strides[n - 1] = stride;
            continue;
        }
        g->shape[n] = extent;
        g->strides[n] = stride;
        n++;
    }
    g->rank = n;
}

int tl__gather_begin(struct tl_gather *g, const struct tl_tensor *t, const void *buffer)
{
    int r = tl_tensor_check(t);

    if (r < 0)
        return r;
    *g = (struct tl_gather){.buffer = buffer, .bits = tl_dtype_bits(t->dtype)};
    g->numel = tl_tensor_numel(t);
    g->bytes = tl_tensor_bytes(t);
    if (g->numel == 0)
        return 0;
    if (buffer == NULL || t->buffer == 0)
        return TL_EINVAL; /* an unallocated tensor was not checked against a buffer */
    g->start = t->start_offset;
    merge_dims(g, t);
    return 0;
}

void tl__gather_seek(struct tl_gather *g, uint64_t pos)
{
    g->pos = pos < g->bytes ? pos : g->bytes;
}

/* A walk over the elements in row-major order. */
struct walk {
    uint64_t index[TL_MAX_DIMS];
    uint64_t at;   /* element, from the buffer */
    uint64_t left; /* elements in this innermost line, `at` included */
};

static void walk_to(const struct tl_gather *g, uint64_t element, struct walk *w)
{
    w->at = g->start;
    for (unsigned i = g->rank; i-- > 0;) {
        w->index[i] = element % g->shape[i];
        element /= g->shape[i];
        w->at += w->index[i] * g->strides[i];
    }
    w->left = g->rank == 0 ? 1 : g->shape[g->rank - 1] - w->index[g->rank - 1];
}

/* Steps over `n` elements of the innermost line, n <= left; at its end, to the next line. */
static void walk_on(const struct tl_gather *g, struct walk *w, uint64_t n)
{
    if (g->rank == 0)
        return;
    w->left -= n;
    w->at += n * g->strides[g->rank - 1];
    if (w->left > 0)
        return;
    w->left = g->shape[g->rank - 1];
    w->at -= w->left * g->strides[g->rank - 1];
    for (unsigned i = g->rank - 1; i-- > 0;) {
        w->at += g->strides[i];
        if (++w->index[i] < g->shape[i])
            return;
        w->at -= g->shape[i] * g->strides[i];
        w->index[i] = 0;
    }
}

/* One loop for each width, so that each is a plain load and store. memcpy: neither side need be aligned. */
#define STRIDED_COPY(name, type)                                                                                       \
    static void name(uint8_t *dst, const uint8_t *src, uint64_t stride, uint64_t n)                                    \
    {                                                                                                                  \
        for (uint64_t i = 0; i < n; i++)                                                                               \
            memcpy(dst + i * sizeof(type), src + i * stride * sizeof(type), sizeof(type));                             \
    }
STRIDED_COPY(copy_1, uint8_t)
STRIDED_COPY(copy_2, uint16_t)
STRIDED_COPY(copy_4, uint32_t)
STRIDED_COPY(copy_8, uint64_t)
#undef STRIDED_COPY

static void copy_line(const struct tl_gather *g, uint8_t *dst, uint64_t at, uint64_t n)
{
    const unsigned width = g->bits / 8;
    const uint8_t *src = g->buffer + at * width;
    const uint64_t stride = g->rank == 0 ? 1 : g->strides[g->rank - 1];

    if (stride == 1)
        memcpy(dst, src, n * width);
    else if (width == 1)
        copy_1(dst, src, stride, n);
    else if (width == 2)
        copy_2(dst, src, stride, n);
    else if (width == 4)
        copy_4(dst, src, stride, n);
    else
        copy_8(dst, src, stride, n);
}

/* Whole bytes per element. `n` may begin and end inside an element. */
static void gather_bytes(const struct tl_gather *g, uint8_t *dst, size_t n)
{
    const unsigned width = g->bits / 8;
    size_t skip = g->pos % width;
    struct walk w;

    walk_to(g, g->pos / width, &w);
    while (n > 0) {
        uint64_t count = n / width < w.left ? n / width : w.left;

        if (skip > 0 || count == 0) { /* a part of one element */
            size_t part = width - skip < n ? width - skip : n;

            memcpy(dst, g->buffer + w.at * width + skip, part);
            dst += part;
            n -= part;
            skip = 0;
            walk_on(g, &w, 1);
            continue;
        }
        copy_line(g, dst, w.at, count);
        dst += count * width;
        n -= count * width;
        walk_on(g, &w, count);
    }
}

static void gather_nibbles(const struct tl_gather *g, uint8_t *dst, size_t n)
{
    uint64_t element = g->pos * 2;
    struct walk w;

    walk_to(g, element, &w);
    for (size_t i = 0; i < n; i++, element += 2) {
        unsigned byte = tl__nibble(g->buffer, w.at);

        walk_on(g, &w, 1);
        if (element + 1 < g->numel) {
            byte |= tl__nibble(g->buffer, w.at) << 4;
            walk_on(g, &w, 1);
        }
        dst[i] = (uint8_t)byte;
    }
}

/* Nibbles can be copied as bytes if they are adjacent from an even element on. */
static void gather_fp4(const struct tl_gather *g, uint8_t *dst, size_t n)
{
    bool dense = g->rank == 0 || (g->rank == 1 && g->strides[0] == 1);

    if (!dense || g->start % 2 != 0) {
        gather_nibbles(g, dst, n);
        return;
    }
    memcpy(dst, g->buffer + g->start / 2 + g->pos, n);
    if (g->numel % 2 != 0 && g->pos + n == g->bytes)
        dst[n - 1] &= 15u; /* the neighbour's nibble */
}

size_t tl__gather_next(struct tl_gather *g, void *dst, size_t n)
{
    if (n > g->bytes - g->pos)
        n = (size_t)(g->bytes - g->pos);
    if (n == 0)
        return 0;
    if (g->bits == 4)
        gather_fp4(g, dst, n);
    else
        gather_bytes(g, dst, n);
    g->pos += n;
    return n;
}

int64_t tl__gather(const struct tl_tensor *t, const void *buffer, void *dst, uint64_t first, size_t n)
{
    struct tl_gather g;
    int r = tl__gather_begin(&g, t, buffer);

    if (r < 0)
        return r;
    tl__gather_seek(&g, first);
    return (int64_t)tl__gather_next(&g, dst, n);
}
