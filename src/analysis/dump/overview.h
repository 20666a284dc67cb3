/* SPDX-License-Identifier: Apache-2.0 */
/* A dense array as aligned text: row by row, and element by element with its indices. Pure, but for the rendering. */
#ifndef TL_ANALYSIS_OVERVIEW_H
#define TL_ANALYSIS_OVERVIEW_H

#include <tasklens/tensor.h>

#include "analysis/text/rendering.h"

struct tl_overview {
    const void *data; /* dense, row-major; borrowed */
    uint64_t here;    /* elements in it; what the shape has beyond is left out */
    uint32_t shape[TL_MAX_DIMS];
    unsigned rank, dtype;
    bool edges_only; /* the first and last three of every dimension beyond 8, "..." between */
};

/* A line a row of the last dimension, all columns of one width; rank 1 is wrapped at 8 values. From rank 3 on each
 * matrix has a line with its indices above it. */
void tl__put_overview(struct tl_rendering *out, const struct tl_overview *view);
/* A line an element: "[1, 0, 2]  0.5". */
void tl__put_by_index(struct tl_rendering *out, const struct tl_overview *view);

#endif
