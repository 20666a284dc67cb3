/* SPDX-License-Identifier: Apache-2.0 */
/* Shared between the files of this folder. */
#ifndef TL_TENSOR_GEOMETRY_H
#define TL_TENSOR_GEOMETRY_H

#include <tasklens/tensor.h>

/* Sets the strides of a row-major tensor of t->shape; 0 beyond the rank. Pure; any thread. */
void tl__dense_strides(struct tl_tensor *t);

/* FP4 element `i` of an array: two a byte, the lower half first. */
static inline unsigned tl__nibble(const uint8_t *data, uint64_t i)
{
    return (unsigned)data[i / 2] >> (i % 2 * 4) & 15u;
}

#endif
