/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/stats.h"

#include <math.h>
#include <string.h>

#include <tasklens/error.h>

#include "tensor/convert.h"

#define BLOCK 8192 /* elements; sums of 16-bit integers fit in 32 bits */

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

/* Eight floats at a time. Vectors go by pointer, so that no calling convention depends on the instruction set. */
typedef int32_t v8i __attribute__((vector_size(32)));
typedef uint16_t v8h __attribute__((vector_size(16)));
typedef float v8f __attribute__((vector_size(32)));
typedef float v4f __attribute__((vector_size(16)));
typedef double v4d __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

/* Extremes are compared as integers whose order is the floats' order: the magnitude bits flipped for negative values.
 */
struct float_lanes {
    v8i nan, inf, neg_inf, zeros, min_key, max_key;
    v4d sum_lo, sum_hi;
};

INLINE void lanes_add(struct float_lanes *l, const v8i *in)
{
    const v8i bits = *in;
    const v8i negative = bits >> 31;
    const v8i magnitude = bits & INT32_MAX;
    const v8i finite = magnitude < 0x7f800000;
    const v8i key = bits ^ (negative & INT32_MAX);
    const v8i low = (key & finite) | (~finite & INT32_MAX);
    const v8i high = (key & finite) | (~finite & INT32_MIN);
    const v8i below = low<l->min_key, above = high> l->max_key;
    const v8f value = (v8f)(bits & finite);
    const v8i is_inf = magnitude == 0x7f800000;

    /* A true comparison is -1. */
    l->nan -= magnitude > 0x7f800000;
    l->inf -= is_inf;
    l->neg_inf -= is_inf & negative;
    l->zeros -= magnitude == 0;
    l->min_key = (low & below) | (l->min_key & ~below);
    l->max_key = (high & above) | (l->max_key & ~above);
    l->sum_lo += __builtin_convertvector(__builtin_shufflevector(value, value, 0, 1, 2, 3), v4d);
    l->sum_hi += __builtin_convertvector(__builtin_shufflevector(value, value, 4, 5, 6, 7), v4d);
}

/* The bits of eight elements as float32. */
INLINE void load_f32(const uint8_t *data, v8i *ret_bits)
{
    memcpy(ret_bits, data, sizeof(*ret_bits));
}

INLINE void load_bf16(const uint8_t *data, v8i *ret_bits)
{
    v8h h;

    memcpy(&h, data, sizeof(h));
    *ret_bits = __builtin_convertvector(h, v8i) << 16;
}

/* Without tl__f32_of_f16's multiplication of subnormals, which costs this loop half its speed on common processors. */
INLINE void load_f16(const uint8_t *data, v8i *ret_bits)
{
    v8h h;
    v8i code, rest, normal, tiny, is_tiny;

    memcpy(&h, data, sizeof(h));
    code = __builtin_convertvector(h, v8i);
    rest = code & 0x7fff;
    normal = (rest << 13) + (112 << 23);
    normal += (rest >= 0x7c00) & (112 << 23);
    tiny = (v8i)(__builtin_convertvector(rest, v8f) * 0x1p-24f);
    is_tiny = rest < 0x400;
    /* cppcheck-suppress integerOverflow ; a shift of vectors moves bits and has no overflow */
    *ret_bits = (tiny & is_tiny) | (normal & ~is_tiny) | (code & 0x8000) << 16;
}

INLINE void add_lanes(struct float_lanes *l, const uint8_t *data, size_t n, size_t width,
                      void (*load)(const uint8_t *data, v8i *ret_bits))
{
    uint8_t rest[32];
    v8i bits;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        load(data + i * width, &bits);
        lanes_add(l, &bits);
    }
    if (i < n) { /* NaNs fill up; the caller takes them out again */
        memset(rest, 0xff, sizeof(rest));
        memcpy(rest, data + i * width, (n - i) * width);
        load(rest, &bits);
        lanes_add(l, &bits);
    }
}

/* The same code for the instruction set that every machine has and for the one that most have. */
#define ADD_LANES(name, attributes)                                                                                    \
    attributes static void name(struct float_lanes *l, unsigned dtype, const uint8_t *data, size_t n)                  \
    {                                                                                                                  \
        if (dtype == TL_FLOAT32)                                                                                       \
            add_lanes(l, data, n, 4, load_f32);                                                                        \
        else if (dtype == TL_BFLOAT16)                                                                                 \
            add_lanes(l, data, n, 2, load_bf16);                                                                       \
        else                                                                                                           \
            add_lanes(l, data, n, 2, load_f16);                                                                        \
    }

ADD_LANES(add_lanes_any, )
#ifdef __x86_64__
ADD_LANES(add_lanes_avx2, __attribute__((target("avx2"))))
#endif

static float key_value(int32_t key)
{
    return tl__f32_of_bits((uint32_t)(key ^ ((key >> 31) & INT32_MAX)));
}

static void lanes_fold(struct tl_stats *s, const struct float_lanes *l)
{
    double sum = 0;

    for (int i = 0; i < 8; i++) {
        s->nan += (uint64_t)l->nan[i];
        s->pos_inf += (uint64_t)(l->inf[i] - l->neg_inf[i]);
        s->neg_inf += (uint64_t)l->neg_inf[i];
        s->zeros += (uint64_t)l->zeros[i];
        if (l->min_key[i] != INT32_MAX)
            s->min = fmin(s->min, (double)key_value(l->min_key[i]));
        if (l->max_key[i] != INT32_MIN)
            s->max = fmax(s->max, (double)key_value(l->max_key[i]));
    }
    for (int i = 0; i < 4; i++)
        sum += l->sum_lo[i] + l->sum_hi[i];
    s->sum += sum;
}

/* A block's sum is formed in its own lanes and added once, so that the error grows with the number of blocks. */
static void add_floats(struct tl_stats *s, const uint8_t *data, size_t n)
{
    struct float_lanes l = {0};

    for (int i = 0; i < 8; i++) {
        l.min_key[i] = INT32_MAX;
        l.max_key[i] = INT32_MIN;
    }
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        add_lanes_avx2(&l, s->dtype, data, n);
    else
#endif
        add_lanes_any(&l, s->dtype, data, n);
    lanes_fold(s, &l);
    s->nan -= (8 - n % 8) % 8;
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

/* A loop a type, so that each vectorises. `sum_type` holds a block's sum. */
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
    uint32_t room = TL_STATS_FIRST - s->first_count;
    uint32_t take = n < room ? (uint32_t)n : room;

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
