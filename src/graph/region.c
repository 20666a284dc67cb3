/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view is a sum of arithmetic progressions: start + sum over dims of k * stride, 0 <= k < count. As a "box" it is the
 * same in bytes, the bytes of one element being one more dim of stride 1, dims sorted by falling stride and joined
 * where one continues the other. Two boxes meet if start_b - start_a = sum k_i * s_i has a solution with each k_i in
 * its range: a small search, of one or two steps a dim for views of one array, because what is left after dim i must be
 * within the reach of the dims after it. Unlike a comparison dim by dim it needs no common shape or stride.
 */
#include "graph/region.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

#define MAX_BYTES (UINT64_C(1) << 62) /* sums of two extents stay within int64_t */
#define BOX_DIMS (TL_MAX_DIMS + 1)
#define SEARCH_STEPS 64

static const uint8_t dtype_bits[TL_DTYPE_COUNT] = {
#define DTYPE_BITS(name, value, text, bits) [value] = (bits),
    TL_DTYPE_LIST(DTYPE_BITS)
#undef DTYPE_BITS
};

struct box {
    uint64_t start; /* byte */
    uint32_t n;
    struct {
        uint64_t stride, count; /* bytes; the last stride is 1 */
    } dim[BOX_DIMS];
};

bool tl__region_measure(const struct tl_tensor *t, struct tl_extent *ret_extent)
{
    uint64_t last = t->start_offset, run = 1, step;
    bool dense = true, overflow = false;
    unsigned bits;

    *ret_extent = (struct tl_extent){.lo = 0, .hi = t->buffer_bytes, .dense = true};
    if (t->dtype >= TL_DTYPE_COUNT || t->rank > TL_MAX_DIMS)
        return t->buffer_bytes <= MAX_BYTES;
    bits = dtype_bits[t->dtype];
    for (unsigned d = t->rank; d-- > 0;) {
        if (t->shape[d] == 0) {
            *ret_extent = (struct tl_extent){.empty = true, .dense = true};
            return true;
        }
        if (t->shape[d] == 1)
            continue;
        overflow |= __builtin_mul_overflow(t->strides[d], t->shape[d] - 1, &step);
        overflow |= __builtin_add_overflow(last, step, &last);
        dense &= t->strides[d] == run;
        run = t->strides[d] * t->shape[d];
    }
    if (overflow || last >= MAX_BYTES)
        return false;
    ret_extent->dense = dense;
    if (bits >= 8) {
        ret_extent->lo = t->start_offset * (bits / 8);
        ret_extent->hi = (last + 1) * (bits / 8);
    } else {
        ret_extent->lo = t->start_offset * bits / 8;
        ret_extent->hi = ((last + 1) * bits + 7) / 8;
    }
    assert(ret_extent->lo < ret_extent->hi || last >= MAX_BYTES / 8); /* GI9: a view with elements has bytes */
    return last < MAX_BYTES / 8 && ret_extent->hi <= MAX_BYTES;
}

void tl__region_of(const struct tl_tensor *t, struct tl_region *ret_region)
{
    unsigned rank = t->rank <= TL_MAX_DIMS ? t->rank : TL_MAX_DIMS;

    *ret_region = (struct tl_region){.start_offset = t->start_offset, .dtype = t->dtype, .rank = t->rank};
    for (unsigned d = 0; d < rank; d++) {
        ret_region->strides[d] = t->strides[d];
        ret_region->shape[d] = t->shape[d];
    }
}

uint32_t tl__region_hash(const struct tl_region *r)
{
    return (uint32_t)tl__hash64(r, sizeof(*r));
}

bool tl__region_equal(const struct tl_region *a, const struct tl_region *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static void box_add(struct box *b, uint64_t stride, uint64_t count)
{
    uint32_t i = b->n;

    assert(i < BOX_DIMS);            /* GI10 */
    assert(stride > 0 && count > 0); /* GI10 */
    for (; i > 0 && b->dim[i - 1].stride < stride; i--)
        b->dim[i] = b->dim[i - 1];
    b->dim[i].stride = stride;
    b->dim[i].count = count;
    b->n++;
}

/* Joins a dim with the next finer one where their sum has no gap: k * 4 + j with j < 4 or more is one run. */
static void box_join(struct box *b)
{
    uint32_t n = b->n, out = n - 1; /* the joined dims end up at [out, n) */

    for (uint32_t i = n - 1; i-- > 0;) {
        uint64_t coarse = b->dim[i].stride, fine = b->dim[out].stride;

        if (coarse % fine == 0 && coarse / fine <= b->dim[out].count) {
            b->dim[out].count += (b->dim[i].count - 1) * (coarse / fine);
        } else {
            out--;
            b->dim[out] = b->dim[i];
        }
    }
    assert(b->dim[n - 1].stride == 1); /* GI10 */
    if (out > 0)
        memmove(&b->dim[0], &b->dim[out], (n - out) * sizeof(b->dim[0]));
    b->n = n - out;
    assert(b->n >= 1 && b->n <= n);
}

/* False where bytes cannot describe it: 4-bit elements an odd number of elements apart. */
static bool box_of(const struct tl_region *r, const struct tl_extent *e, struct box *b)
{
    uint64_t bits, unit, nibbles = 0; /* from the first to the last of one run */

    assert(!e->empty && e->lo < e->hi); /* GI9 */
    b->n = 0;
    b->start = e->lo;
    if (e->dense) {
        box_add(b, 1, e->hi - e->lo);
        return true;
    }
    bits = dtype_bits[r->dtype];
    unit = bits >= 8 ? bits / 8 : 1;
    for (unsigned d = 0; d < r->rank; d++) {
        uint64_t stride = r->strides[d], count = r->shape[d];

        if (count == 1 || stride == 0)
            continue;
        if (bits >= 8) {
            box_add(b, stride * unit, count);
        } else if (stride % 2 == 0) {
            box_add(b, stride / 2, count);
        } else if (stride == 1) {
            nibbles += count - 1;
        } else {
            return false;
        }
    }
    box_add(b, 1, bits >= 8 ? unit : (r->start_offset % 2 + nibbles) / 2 + 1);
    box_join(b);
    return true;
}

/* One unknown k of the equation: lo <= k <= hi, and the min and max sum of this and all finer terms. */
struct term {
    int64_t stride, lo, hi, reach_lo, reach_hi;
};

static uint32_t merge_terms(const struct box *a, const struct box *b, struct term *terms)
{
    uint32_t n = 0, i = 0, j = 0;

    assert(a->dim[a->n - 1].stride == 1 && b->dim[b->n - 1].stride == 1); /* GI10 */
    while (i < a->n || j < b->n) {
        uint64_t sa = i < a->n ? a->dim[i].stride : 0, sb = j < b->n ? b->dim[j].stride : 0;
        struct term *t = &terms[n++];

        t->stride = (int64_t)(sa > sb ? sa : sb);
        t->hi = sa >= sb ? (int64_t)a->dim[i++].count - 1 : 0;
        t->lo = sb >= sa ? -((int64_t)b->dim[j++].count - 1) : 0;
    }
    for (uint32_t k = n; k-- > 0;) {
        terms[k].reach_lo = terms[k].lo * terms[k].stride + (k + 1 < n ? terms[k + 1].reach_lo : 0);
        terms[k].reach_hi = terms[k].hi * terms[k].stride + (k + 1 < n ? terms[k + 1].reach_hi : 0);
        assert(terms[k].reach_lo <= 0 && terms[k].reach_hi >= 0);    /* GI10: both ranges include 0 */
        assert(k + 1 == n || terms[k].stride > terms[k + 1].stride); /* GI10 */
    }
    return n;
}

static int64_t div_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static enum tl_overlap search(const struct term *t, uint32_t n, int64_t rest, uint32_t *steps)
{
    int64_t first, last;

    assert(n > 0 && t->lo <= 0 && t->hi >= 0); /* GI10 */
    assert(n > 1 || t->stride == 1);           /* GI10: the finest steps by one byte */
    if (rest < t->reach_lo || rest > t->reach_hi)
        return TL_OVERLAP_NONE;
    if (n == 1) /* stride 1: everything within reach is reached */
        return TL_OVERLAP_SURE;
    first = -div_floor(t[1].reach_hi - rest, t->stride);
    last = div_floor(rest - t[1].reach_lo, t->stride);
    first = first > t->lo ? first : t->lo;
    last = last < t->hi ? last : t->hi;
    for (int64_t k = first; k <= last; k++) {
        enum tl_overlap found;

        if (++*steps > SEARCH_STEPS)
            return TL_OVERLAP_MAYBE;
        found = search(t + 1, n - 1, rest - k * t->stride, steps);
        if (found != TL_OVERLAP_NONE)
            return found;
    }
    return TL_OVERLAP_NONE;
}

enum tl_overlap tl__region_overlap(const struct tl_region *a, const struct tl_extent *ea, const struct tl_region *b,
                                   const struct tl_extent *eb)
{
    struct term terms[2 * BOX_DIMS];
    struct box box_a, box_b;
    uint32_t n, steps = 0;

    if (ea->empty || eb->empty || ea->lo >= eb->hi || eb->lo >= ea->hi)
        return TL_OVERLAP_NONE;
    if ((ea->dense && eb->dense) || ea->lo == eb->lo)
        return TL_OVERLAP_SURE;
    if (!box_of(a, ea, &box_a) || !box_of(b, eb, &box_b))
        return TL_OVERLAP_MAYBE;
    n = merge_terms(&box_a, &box_b, terms);
    assert(n > 0 && n <= 2 * BOX_DIMS); /* GI10: the smallest box has the dim of stride 1 */
    return search(terms, n, (int64_t)eb->lo - (int64_t)ea->lo, &steps);
}

/* Writes `value` as sum m_d * stride_d with m_d >= 0, coarse dims first, and adds times * m_d to at[d]. */
static void decompose(const struct box *b, uint64_t value, uint64_t times, uint64_t *at)
{
    assert(b->dim[b->n - 1].stride == 1); /* GI10: so nothing of `value` is left */
    for (uint32_t d = 0; d < b->n; d++) {
        at[d] += value / b->dim[d].stride * times;
        value %= b->dim[d].stride;
    }
    assert(value == 0);
}

bool tl__region_covers(const struct tl_region *outer, const struct tl_extent *eo, const struct tl_region *inner,
                       const struct tl_extent *ei)
{
    uint64_t at[BOX_DIMS] = {0};
    struct box o, i;

    if (ei->empty)
        return true;
    if (ei->lo < eo->lo || ei->hi > eo->hi || eo->empty)
        return false;
    if (eo->dense)
        return true;
    if (tl__region_equal(outer, inner))
        return true;
    if (!box_of(outer, eo, &o) || !box_of(inner, ei, &i))
        return false;
    /* The coordinates in `outer` of the inner box's far corner. All of its points are between 0 and that. */
    assert(i.start >= o.start); /* GI9: as their extents */
    decompose(&o, i.start - o.start, 1, at);
    for (uint32_t d = 0; d < i.n; d++)
        decompose(&o, i.dim[d].stride, i.dim[d].count - 1, at);
    for (uint32_t d = 0; d < o.n; d++)
        if (at[d] >= o.dim[d].count)
            return false;
    return true;
}

uint64_t tl__region_pitch(const struct tl_region *r, const struct tl_extent *e)
{
    struct box b;

    if (e->dense || !box_of(r, e, &b) || b.n < 2)
        return 0;
    assert(b.dim[b.n - 2].stride > 1); /* GI10 */
    return b.dim[b.n - 2].stride;
}

/* Bytes from the first to the last that the view touches in each row, or 0 if its dims do not fit rows. */
static uint64_t width_in_rows(const struct tl_region *r, const struct tl_extent *e, uint64_t pitch)
{
    uint64_t width = 1;
    struct box b;

    if (!box_of(r, e, &b))
        return 0;
    for (uint32_t d = 0; d < b.n; d++) {
        if (b.dim[d].stride < pitch)
            width += (b.dim[d].count - 1) * b.dim[d].stride;
        else if (b.dim[d].stride % pitch != 0)
            return 0;
    }
    return width;
}

void tl__region_rect(const struct tl_region *r, const struct tl_extent *e, uint64_t pitch, struct tl_rect *ret_rect)
{
    uint64_t width;

    assert(!e->empty && e->lo < e->hi); /* GI9 */
    if (pitch == 0) {
        *ret_rect = (struct tl_rect){.row = 0, .row_end = 1, .col = e->lo, .col_end = e->hi};
        return;
    }
    *ret_rect = (struct tl_rect){.row = e->lo / pitch, .row_end = (e->hi - 1) / pitch + 1, .col_end = pitch};
    width = e->dense ? e->hi - e->lo : width_in_rows(r, e, pitch);
    if (width == 0 || e->lo % pitch + width > pitch)
        return;
    ret_rect->col = e->lo % pitch;
    ret_rect->col_end = ret_rect->col + width;
    assert(ret_rect->row < ret_rect->row_end && ret_rect->col_end <= pitch); /* GI11 */
}
