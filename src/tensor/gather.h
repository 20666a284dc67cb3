/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a view densely, in row-major order: what a payload in args.bin is.
 *
 * The cursor gives any byte range of that dense layout in any number of steps, so that a prefix (truncation) and a
 * stream of pieces (chunking) are the same code. FP4 elements are nibbles, the lower one first; with an odd count the
 * last upper nibble is 0.
 *
 * Threads: a cursor belongs to one thread; nothing here allocates. The caller keeps the buffer alive and readable.
 */
#ifndef TL_TENSOR_GATHER_H
#define TL_TENSOR_GATHER_H

#include <tasklens/tensor.h>

struct tl_gather {
    const uint8_t *buffer; /* borrowed */
    uint64_t start;        /* element [0, 0, ...], from `buffer` */
    uint64_t pos;          /* next byte of the dense layout */
    uint64_t bytes;        /* all of it */
    uint64_t numel;
    uint64_t shape[TL_MAX_DIMS]; /* adjacent dims merged; none of extent 1 */
    uint64_t strides[TL_MAX_DIMS];
    unsigned rank; /* 0: a single element */
    unsigned bits; /* per element */
};

/* `buffer` is where the view's buffer (its first byte, not its first element) can be read by the caller.
 * 0, or what tl_tensor_check says, or TL_EINVAL for a view with elements over a NULL buffer or an unallocated tensor.
 */
int tl__gather_begin(struct tl_gather *g, const struct tl_tensor *t, const void *buffer);
/* Sets the next byte to deliver; a position beyond the end is the end. */
void tl__gather_seek(struct tl_gather *g, uint64_t pos);
/* Writes up to `n` further bytes to `dst` and returns how many: less than `n` only at the end. */
size_t tl__gather_next(struct tl_gather *g, void *dst, size_t n);

/* Bytes [first, first + n) of the dense layout, in one call. Bytes written (>= 0) or tl__gather_begin's error. */
int64_t tl__gather(const struct tl_tensor *t, const void *buffer, void *dst, uint64_t first, size_t n);

#endif
