/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of a dense payload, in one pass: counts of NaN, Inf and zero, min, max, mean, the first values.
 *
 * A payload may be given in pieces. Threads: one accumulator belongs to one thread; nothing allocates.
 */
#ifndef TL_TENSOR_STATS_H
#define TL_TENSOR_STATS_H

#include <tasklens/tensor.h>

#define TL_STATS_FIRST 8

struct tl_stats {
    uint64_t count; /* elements seen */
    uint64_t nan, pos_inf, neg_inf;
    uint64_t zeros;                    /* +0 and -0 */
    uint64_t finite;                   /* count - nan - infs */
    double min, max, mean;             /* over the finite elements; NaN if there is none */
    int64_t min_int, max_int;          /* of an integer dtype, exactly; as uint64_t for TL_UINT64 */
    uint8_t first[TL_STATS_FIRST * 8]; /* raw bytes of the first elements, dense */
    uint32_t first_count;              /* elements in it */
    uint8_t dtype;
    /* While adding. */
    uint64_t codes[256]; /* how often each byte occurred: 8-bit and 4-bit dtypes */
    double sum;
    __int128 sum_int;
};

/* 0, or TL_EINVAL for an unknown dtype. */
int tl__stats_begin(struct tl_stats *s, unsigned dtype);
/* `n` further elements at `data` (need not be aligned). FP4: every piece but the last has an even `n`. */
void tl__stats_add(struct tl_stats *s, const void *data, size_t n);
/* Completes the fields above "While adding". */
void tl__stats_end(struct tl_stats *s);

#endif
