/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of tl__stats_floats_N. The file that includes it defines LANES (4 or 8), FLOATS_NAME and FLOATS_TARGET.
 * Vectors are passed by pointer, so that no calling convention depends on the instruction set.
 */
#ifndef TL_TENSOR_STATS_FLOATS_IMPL_H
#define TL_TENSOR_STATS_FLOATS_IMPL_H

#include "tensor/stats_floats.h"

#include <math.h>
#include <string.h>

#include "tensor/convert.h"

typedef int32_t ints __attribute__((vector_size(LANES * 4)));
typedef uint16_t halves __attribute__((vector_size(LANES * 2)));
typedef float floats __attribute__((vector_size(LANES * 4)));
typedef double doubles __attribute__((vector_size(LANES * 4))); /* half as many */

#if LANES == 8
#define LOWER_HALF 0, 1, 2, 3
#define UPPER_HALF 4, 5, 6, 7
#else
#define LOWER_HALF 0, 1
#define UPPER_HALF 2, 3
#endif

#define INLINE static inline __attribute__((always_inline))

/* Min and max are compared as integers that have the floats' order: the magnitude bits are flipped for negative
 * values. */
struct lanes {
    ints nan, inf, neg_inf, zeros, min_key, max_key;
    doubles sum_lower, sum_upper;
};

INLINE void add_vector(struct lanes *l, const ints *in)
{
    const ints bits = *in;
    const ints negative = bits >> 31;
    const ints magnitude = bits & INT32_MAX;
    const ints finite = magnitude < 0x7f800000;
    const ints key = bits ^ (negative & INT32_MAX);
    const ints low = (key & finite) | (~finite & INT32_MAX);
    const ints high = (key & finite) | (~finite & INT32_MIN);
    const ints lower = l->min_key > low;
    const ints higher = l->max_key < high;
    const floats value = (floats)(bits & finite);
    const ints is_inf = magnitude == 0x7f800000;

    /* A true comparison is -1. */
    l->nan -= magnitude > 0x7f800000;
    l->inf -= is_inf;
    l->neg_inf -= is_inf & negative;
    l->zeros -= magnitude == 0;
    l->min_key = (low & lower) | (l->min_key & ~lower);
    l->max_key = (high & higher) | (l->max_key & ~higher);
    l->sum_lower += __builtin_convertvector(__builtin_shufflevector(value, value, LOWER_HALF), doubles);
    l->sum_upper += __builtin_convertvector(__builtin_shufflevector(value, value, UPPER_HALF), doubles);
}

/* The bits of LANES elements as float32. */
INLINE void load_f32(const uint8_t *data, ints *ret_bits)
{
    memcpy(ret_bits, data, sizeof(*ret_bits));
}

INLINE void load_bf16(const uint8_t *data, ints *ret_bits)
{
    halves h;

    memcpy(&h, data, sizeof(h));
    *ret_bits = __builtin_convertvector(h, ints) << 16;
}

/* Without tl__f32_of_f16's multiplication of subnormals, which costs this loop half its speed on common processors. */
INLINE void load_f16(const uint8_t *data, ints *ret_bits)
{
    halves h;
    ints code, rest, normal, tiny, is_tiny;

    memcpy(&h, data, sizeof(h));
    code = __builtin_convertvector(h, ints);
    rest = code & 0x7fff;
    normal = (rest << 13) + (112 << 23);
    normal += (rest >= 0x7c00) & (112 << 23);
    tiny = (ints)(__builtin_convertvector(rest, floats) * 0x1p-24f);
    is_tiny = rest < 0x400;
    /* cppcheck-suppress integerOverflow ; a shift of vectors moves bits and has no overflow */
    *ret_bits = (tiny & is_tiny) | (normal & ~is_tiny) | (code & 0x8000) << 16;
}

INLINE void add_all(struct lanes *l, const uint8_t *data, size_t n, size_t width,
                    void (*load)(const uint8_t *data, ints *ret_bits))
{
    uint8_t rest[LANES * 4];
    ints bits;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        load(data + i * width, &bits);
        add_vector(l, &bits);
    }
    if (i < n) { /* filled up with NaNs, which the caller subtracts again */
        memset(rest, 0xff, sizeof(rest));
        memcpy(rest, data + i * width, (n - i) * width);
        load(rest, &bits);
        add_vector(l, &bits);
    }
}

static float value_of_key(int32_t key)
{
    return tl__f32_of_bits((uint32_t)(key ^ ((key >> 31) & INT32_MAX)));
}

/* A block's sum is formed in its own lanes and added once, so that the error grows with the number of blocks. */
static void fold(struct tl_stats *s, const struct lanes *l, size_t filled)
{
    double sum = 0;

    for (int i = 0; i < LANES; i++) {
        s->nan += (uint64_t)l->nan[i];
        s->pos_inf += (uint64_t)(l->inf[i] - l->neg_inf[i]);
        s->neg_inf += (uint64_t)l->neg_inf[i];
        s->zeros += (uint64_t)l->zeros[i];
        if (l->min_key[i] != INT32_MAX)
            s->min = fmin(s->min, (double)value_of_key(l->min_key[i]));
        if (l->max_key[i] != INT32_MIN)
            s->max = fmax(s->max, (double)value_of_key(l->max_key[i]));
    }
    for (int i = 0; i < LANES / 2; i++)
        sum += l->sum_lower[i] + l->sum_upper[i];
    s->sum += sum;
    s->nan -= filled;
}

FLOATS_TARGET void FLOATS_NAME(struct tl_stats *s, const uint8_t *data, size_t n)
{
    struct lanes l = {0};

    for (int i = 0; i < LANES; i++) {
        l.min_key[i] = INT32_MAX;
        l.max_key[i] = INT32_MIN;
    }
    if (s->dtype == TL_FLOAT32)
        add_all(&l, data, n, 4, load_f32);
    else if (s->dtype == TL_BFLOAT16)
        add_all(&l, data, n, 2, load_bf16);
    else
        add_all(&l, data, n, 2, load_f16);
    fold(s, &l, (LANES - n % LANES) % LANES);
}

#endif
