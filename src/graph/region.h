/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes of a buffer a view touches, and whether two views of one buffer touch a common byte. Pure.
 */
#ifndef TL_GRAPH_REGION_H
#define TL_GRAPH_REGION_H

#include "graph/graph.h"

/* Bytes from the buffer's start. Everything a view touches is in [lo, hi). */
struct tl_extent {
    uint64_t lo, hi;
    bool empty; /* no element: lo == hi */
    bool dense; /* each byte of [lo, hi) is touched */
};

enum tl_overlap {
    TL_OVERLAP_NONE,
    TL_OVERLAP_MAYBE, /* not decided within the steps that a submit may cost: treated as an overlap */
    TL_OVERLAP_SURE,
};

/* False if the view reaches past 2^62 bytes. An unknown dtype or a rank above TL_MAX_DIMS touches the whole buffer. */
bool tl__region_measure(const struct tl_tensor *t, struct tl_extent *ret_extent);
/* Copies what says which elements. */
void tl__region_of(const struct tl_tensor *t, struct tl_region *ret_region);
/* Equal for equal regions, very rarely for others. */
uint32_t tl__region_hash(const struct tl_region *r);
bool tl__region_equal(const struct tl_region *a, const struct tl_region *b);

/* Of two views of one buffer, measured. Exact unless it says MAYBE. */
enum tl_overlap tl__region_overlap(const struct tl_region *a, const struct tl_extent *ea, const struct tl_region *b,
                                   const struct tl_extent *eb);
/* True if `outer` is known to touch every byte that `inner` touches. */
bool tl__region_covers(const struct tl_region *outer, const struct tl_extent *eo, const struct tl_region *inner,
                       const struct tl_extent *ei);

/*
 * A buffer cut into rows of `pitch` bytes: the rows and the columns that a view is in, both half-open. It may touch few
 * bytes of that rectangle, but none outside. Pitch 0: one unlimited row.
 */
struct tl_rect {
    uint64_t row, row_end, col, col_end;
};

/* The pitch at which a strided view is narrow; 0 for a dense one. */
uint64_t tl__region_pitch(const struct tl_region *r, const struct tl_extent *e);
/* `e` must not be empty. */
void tl__region_rect(const struct tl_region *r, const struct tl_extent *e, uint64_t pitch, struct tl_rect *ret_rect);

#endif
