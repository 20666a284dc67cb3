/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/stats.h"

#include <math.h>
#include <string.h>

#include <tasklens/error.h>

#include "tensor/convert.h"
#include "tensor/stats_floats.h"

/* Elements a block; sums of 16-bit integers fit in 32 bits. */
#define BLOCK 8192
_Static_assert(BLOCK <= TL_STATS_FLOATS_MAX, "a block of floats is one call");

int tl__stats_begin(struct tl_stats *s, unsigned dtype)
{
    if (tl_dtype_bits(dtype) == 0)
        return TL_EINVAL;
    memset(s, 0, sizeof(*s));
    s->dtype = (uint8_t)dtype;
    s->min = INFINITY;
    s->max = -INFINITY;
    s->min_int = tl__dtype_is_unsigned(dtype) ? -1 : INT64_MAX; /* -1 is UINT64_MAX */
    s->max_int = tl__dtype_is_unsigned(dtype) ? 0 : INT64_MIN;
    return 0;
}

/* The widest form that the machine has; both give the same counts, min and max. */
static void add_floats(struct tl_stats *s, const uint8_t *data, size_t n)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        tl__stats_floats_8(s, data, n);
        return;
    }
#endif
    tl__stats_floats_4(s, data, n);
}

/* Four tables, so that a run of one value does not wait for its own last increment. */
static void add_codes(struct tl_stats *s, const uint8_t *data, size_t n)
{
    uint32_t table[4][256];
    size_t i = 0;

    if (n >= 1024) {
        memset(table, 0, sizeof(table));
        for (; i + 8 <= n; i += 8) {
            uint64_t w;

            memcpy(&w, data + i, sizeof(w));
            table[0][w & 255]++;
            table[1][w >> 8 & 255]++;
            table[2][w >> 16 & 255]++;
            table[3][w >> 24 & 255]++;
            table[0][w >> 32 & 255]++;
            table[1][w >> 40 & 255]++;
            table[2][w >> 48 & 255]++;
            table[3][w >> 56]++;
        }
        for (unsigned c = 0; c < 256; c++)
            s->codes[c] += (uint64_t)table[0][c] + table[1][c] + table[2][c] + table[3][c];
    }
    for (; i < n; i++)
        s->codes[data[i]]++;
}

/* A loop for each type, so that each vectorises. `sum_type` holds a block's sum. */
#define ADD_INTS(name, type, wide, sum_type)                                                                           \
    static void name(struct tl_stats *s, const uint8_t *data, size_t n)                                                \
    {                                                                                                                  \
        type low = (type)s->min_int, high = (type)s->max_int, x;                                                       \
        sum_type sum = 0;                                                                                              \
        uint32_t zeros = 0;                                                                                            \
                                                                                                                       \
        memcpy(&x, data, sizeof(x));                                                                                   \
        if (s->count == 0)                                                                                             \
            low = high = x;                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                               \
            memcpy(&x, data + i * sizeof(x), sizeof(x));                                                               \
            low = x < low ? x : low;                                                                                   \
            high = x > high ? x : high;                                                                                \
            zeros += x == 0;                                                                                           \
            sum += x;                                                                                                  \
        }                                                                                                              \
        s->min_int = (int64_t)(wide)low;                                                                               \
        s->max_int = (int64_t)(wide)high;                                                                              \
        s->zeros += zeros;                                                                                             \
        s->sum_int += sum;                                                                                             \
    }

ADD_INTS(add_i64, int64_t, int64_t, __int128)
ADD_INTS(add_u64, uint64_t, uint64_t, __int128)
ADD_INTS(add_i32, int32_t, int64_t, int64_t)
ADD_INTS(add_u32, uint32_t, uint64_t, uint64_t)
ADD_INTS(add_i16, int16_t, int64_t, int32_t)
ADD_INTS(add_u16, uint16_t, uint64_t, uint32_t)

static void add_block(struct tl_stats *s, const uint8_t *data, size_t n)
{
    switch (s->dtype) {
    case TL_FLOAT32:
    case TL_FLOAT16:
    case TL_BFLOAT16:
        add_floats(s, data, n);
        break;
    case TL_INT64:
        add_i64(s, data, n);
        break;
    case TL_UINT64:
        add_u64(s, data, n);
        break;
    case TL_INT32:
        add_i32(s, data, n);
        break;
    case TL_UINT32:
        add_u32(s, data, n);
        break;
    case TL_INT16:
        add_i16(s, data, n);
        break;
    default:
        add_u16(s, data, n);
        break;
    }
    s->count += n;
}

static void keep_first(struct tl_stats *s, const uint8_t *data, size_t n)
{
    unsigned bits = tl_dtype_bits(s->dtype);
    uint32_t missing = TL_STATS_FIRST - s->first_count;
    uint32_t take = n < missing ? (uint32_t)n : missing;

    memcpy(s->first + s->first_count * bits / 8, data, (take * bits + 7) / 8);
    s->first_count += take;
}

void tl__stats_add(struct tl_stats *s, const void *data, size_t n)
{
    const uint8_t *src = data;
    unsigned bits = tl_dtype_bits(s->dtype);
    const size_t codes_block = (size_t)1 << 30; /* below what a 32-bit counter of a table holds */

    if (n == 0)
        return;
    if (s->first_count < TL_STATS_FIRST)
        keep_first(s, src, n);
    if (bits <= 8) {
        size_t bytes = bits == 4 ? n / 2 : n;

        for (size_t at = 0; at < bytes; at += codes_block)
            add_codes(s, src + at, bytes - at < codes_block ? bytes - at : codes_block);
        s->count += n;
        if (bits == 4 && n % 2 != 0) { /* the last nibble alone: a whole byte would count one that is not there */
            float f = tl__f32_of_fp4e2m1(src[n / 2]);

            s->zeros += f == 0;
            s->sum += (double)f;
            s->min = fmin(s->min, (double)f);
            s->max = fmax(s->max, (double)f);
        }
        return;
    }
    for (size_t at = 0; at < n; at += BLOCK)
        add_block(s, src + at * (bits / 8), n - at < BLOCK ? n - at : BLOCK);
}

static void count_value(struct tl_stats *s, double f, uint64_t times)
{
    if (isnan(f)) {
        s->nan += times;
        return;
    }
    s->zeros += f == 0 ? times : 0;
    s->sum += f * (double)times;
    s->min = fmin(s->min, f);
    s->max = fmax(s->max, f);
}

static void count_int(struct tl_stats *s, int64_t v, uint64_t times)
{
    s->zeros += v == 0 ? times : 0;
    s->sum_int += (__int128)v * (__int128)times;
    /* 8-bit values: the starting marks of an unsigned minimum (-1) and of a signed one compare as unsigned and signed.
     */
    if (tl__dtype_is_unsigned(s->dtype) ? (uint64_t)v < (uint64_t)s->min_int : v < s->min_int)
        s->min_int = v;
    if (v > s->max_int)
        s->max_int = v;
}

static void fold_codes(struct tl_stats *s)
{
    for (unsigned c = 0; c < 256; c++) {
        uint8_t byte = (uint8_t)c;

        if (s->codes[c] == 0)
            continue;
        switch (s->dtype) {
        case TL_FP8E4M3FN:
            count_value(s, (double)tl__f32_of_fp8e4m3fn(byte), s->codes[c]);
            break;
        case TL_FP8E8M0:
            count_value(s, (double)tl__f32_of_fp8e8m0(byte), s->codes[c]);
            break;
        case TL_FP4E2M1:
            count_value(s, (double)tl__f32_of_fp4e2m1(byte & 15u), s->codes[c]);
            count_value(s, (double)tl__f32_of_fp4e2m1(byte >> 4), s->codes[c]);
            break;
        default:
            count_int(s, tl__int_at(s->dtype, &byte, 0), s->codes[c]);
        }
    }
}

void tl__stats_end(struct tl_stats *s)
{
    if (tl_dtype_bits(s->dtype) <= 8)
        fold_codes(s);
    s->finite = s->count - s->nan - s->pos_inf - s->neg_inf;
    if (s->finite == 0) {
        s->min = s->max = s->mean = NAN;
        s->min_int = s->max_int = 0;
        return;
    }
    if (tl__dtype_is_float(s->dtype)) {
        s->mean = s->sum / (double)s->finite;
        return;
    }
    if (s->dtype == TL_UINT64) {
        s->min = (double)(uint64_t)s->min_int;
        s->max = (double)(uint64_t)s->max_int;
    } else {
        s->min = (double)s->min_int;
        s->max = (double)s->max_int;
    }
    s->mean = (double)s->sum_int / (double)s->finite;
}
