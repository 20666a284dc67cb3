/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/convert.h"

#include <math.h>

#include <tasklens/error.h>

#include "tensor/geometry.h"

/* A small float: sign, `e` exponent bits of bias `bias`, `m` mantissa bits; the special codes are the caller's. */
static float decode_small(unsigned code, unsigned e, unsigned m, int bias)
{
    unsigned mantissa = code & ((1u << m) - 1);
    unsigned exponent = (code >> m) & ((1u << e) - 1);
    float f;

    if (exponent == 0)
        f = ldexpf((float)mantissa, 1 - bias - (int)m);
    else
        f = ldexpf((float)(mantissa + (1u << m)), (int)exponent - bias - (int)m);
    return (code >> (e + m)) & 1u ? -f : f;
}

float tl__f32_of_fp8e4m3fn(uint8_t code)
{
    return (code & 0x7f) == 0x7f ? NAN : decode_small(code, 4, 3, 7);
}

float tl__f32_of_fp8e8m0(uint8_t code)
{
    return code == 0xff ? NAN : ldexpf(1.0f, (int)code - 127);
}

float tl__f32_of_fp4e2m1(uint8_t code)
{
    return decode_small(code & 15u, 2, 1, 1);
}

/*
 * Magnitude of a finite |f| in a small float, rounded to nearest even; may exceed the format's largest code, which the
 * caller checks: codes of positive values are ordered, and a carry out of the mantissa moves to the next exponent.
 */
static uint32_t encode_small(float f, unsigned m, int bias)
{
    uint32_t bits = tl__bits_of_f32(f) & 0x7fffffffu;
    int exponent = (int)(bits >> 23) - 127;
    uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    unsigned drop = 23 - m; /* bits rounded away */
    uint32_t code, half, rest;

    if (bits < 0x800000u) /* a float32 subnormal is far below half of the smallest code of every small format */
        return 0;
    if (exponent < 1 - bias) {
        drop += (unsigned)(1 - bias - exponent);
        if (drop > 24)
            return 0;
        code = mantissa >> drop;
    } else {
        code = ((uint32_t)(exponent + bias) << m) + ((mantissa >> drop) - (1u << m));
    }
    half = 1u << (drop - 1);
    rest = mantissa & ((half << 1) - 1);
    if (rest > half || (rest == half && (code & 1u)))
        code++;
    return code;
}

uint16_t tl__bf16_of_f32(float f)
{
    uint32_t bits = tl__bits_of_f32(f);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u); /* quiet, so that a payload in the low half alone stays a NaN */
    bits += 0x7fffu + (bits >> 16 & 1u);
    return (uint16_t)(bits >> 16);
}

uint16_t tl__f16_of_f32(float f)
{
    uint32_t bits = tl__bits_of_f32(f);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t code;

    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x1ffu));
    if (bits == 0x7f800000u)
        return (uint16_t)(sign | 0x7c00u);
    code = encode_small(f, 10, 15);
    return (uint16_t)(sign | (code > 0x7c00u ? 0x7c00u : code));
}

uint8_t tl__fp8e4m3fn_of_f32(float f)
{
    uint32_t sign = tl__bits_of_f32(f) >> 24 & 0x80u;
    uint32_t code = isfinite(f) ? encode_small(f, 3, 7) : 0x7fu;

    return (uint8_t)(sign | (code > 0x7fu ? 0x7fu : code));
}

uint8_t tl__fp8e8m0_of_f32(float f)
{
    uint32_t bits = tl__bits_of_f32(f);
    uint32_t exponent = bits >> 23 & 0xffu, mantissa = bits & 0x7fffffu;

    if (isnan(f) || (bits >> 31 && f != 0))
        return 0xff;
    if (exponent == 0)
        return mantissa > 0x600000u ? 1 : 0; /* 2^-127 is code 0; 0.75 * 2^-126 is halfway to code 1 */
    /* Halfway between two powers of two is a mantissa of 1.5; a tie goes to the even code. */
    if (mantissa > 0x400000u || (mantissa == 0x400000u && (exponent & 1u)))
        exponent++;
    return (uint8_t)(exponent > 0xfeu ? 0xfeu : exponent);
}

uint8_t tl__fp4e2m1_of_f32(float f)
{
    uint32_t sign = tl__bits_of_f32(f) >> 28 & 8u;
    uint32_t code = isfinite(f) ? encode_small(f, 1, 1) : 7u;

    return (uint8_t)(sign | (code > 7u ? 7u : code));
}

bool tl__dtype_is_float(unsigned dtype)
{
    switch (dtype) {
    case TL_FLOAT32:
    case TL_FLOAT16:
    case TL_BFLOAT16:
    case TL_FP8E4M3FN:
    case TL_FP8E8M0:
    case TL_FP4E2M1:
        return true;
    default:
        return false;
    }
}

bool tl__dtype_is_unsigned(unsigned dtype)
{
    return dtype == TL_UINT8 || dtype == TL_UINT16 || dtype == TL_UINT32 || dtype == TL_UINT64 || dtype == TL_BOOL;
}

/* A loop over elements of a C type; `x` is the element in `expr`. */
#define EACH(type, expr)                                                                                               \
    do {                                                                                                               \
        const uint8_t *src = (const uint8_t *)data + first * sizeof(type);                                             \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type x;                                                                                                    \
            memcpy(&x, src + i * sizeof(type), sizeof(type));                                                          \
            dst[i] = (expr);                                                                                           \
        }                                                                                                              \
    } while (0)

#define CONVERT(name, to)                                                                                              \
    int name(unsigned dtype, const void *data, uint64_t first, size_t n, to *dst)                                      \
    {                                                                                                                  \
        switch (dtype) {                                                                                               \
        case TL_FLOAT32:                                                                                               \
            EACH(float, (to)x);                                                                                        \
            return 0;                                                                                                  \
        case TL_FLOAT16:                                                                                               \
            EACH(uint16_t, (to)tl__f32_of_f16(x));                                                                     \
            return 0;                                                                                                  \
        case TL_BFLOAT16:                                                                                              \
            EACH(uint16_t, (to)tl__f32_of_bf16(x));                                                                    \
            return 0;                                                                                                  \
        case TL_INT64:                                                                                                 \
            EACH(int64_t, (to)x);                                                                                      \
            return 0;                                                                                                  \
        case TL_INT32:                                                                                                 \
            EACH(int32_t, (to)x);                                                                                      \
            return 0;                                                                                                  \
        case TL_INT16:                                                                                                 \
            EACH(int16_t, (to)x);                                                                                      \
            return 0;                                                                                                  \
        case TL_INT8:                                                                                                  \
            EACH(int8_t, (to)x);                                                                                       \
            return 0;                                                                                                  \
        case TL_UINT64:                                                                                                \
            EACH(uint64_t, (to)x);                                                                                     \
            return 0;                                                                                                  \
        case TL_UINT32:                                                                                                \
            EACH(uint32_t, (to)x);                                                                                     \
            return 0;                                                                                                  \
        case TL_UINT16:                                                                                                \
            EACH(uint16_t, (to)x);                                                                                     \
            return 0;                                                                                                  \
        case TL_UINT8:                                                                                                 \
        case TL_BOOL:                                                                                                  \
            EACH(uint8_t, (to)x);                                                                                      \
            return 0;                                                                                                  \
        case TL_FP8E4M3FN:                                                                                             \
            EACH(uint8_t, (to)tl__f32_of_fp8e4m3fn(x));                                                                \
            return 0;                                                                                                  \
        case TL_FP8E8M0:                                                                                               \
            EACH(uint8_t, (to)tl__f32_of_fp8e8m0(x));                                                                  \
            return 0;                                                                                                  \
        case TL_FP4E2M1:                                                                                               \
            for (size_t i = 0; i < n; i++)                                                                             \
                dst[i] = (to)tl__f32_of_fp4e2m1((uint8_t)tl__nibble(data, first + i));                                 \
            return 0;                                                                                                  \
        default:                                                                                                       \
            return TL_EINVAL;                                                                                          \
        }                                                                                                              \
    }

CONVERT(tl__to_f32, float)
CONVERT(tl__to_f64, double)

/* One element of a C type, which need not be aligned. */
#define LOAD(type)                                                                                                     \
    __extension__({                                                                                                    \
        type x;                                                                                                        \
        memcpy(&x, (const uint8_t *)data + i * sizeof(type), sizeof(type));                                            \
        (int64_t) x;                                                                                                   \
    })

int64_t tl__int_at(unsigned dtype, const void *data, uint64_t i)
{
    switch (dtype) {
    case TL_INT64:
    case TL_UINT64:
        return LOAD(int64_t);
    case TL_INT32:
        return LOAD(int32_t);
    case TL_INT16:
        return LOAD(int16_t);
    case TL_INT8:
        return LOAD(int8_t);
    case TL_UINT32:
        return LOAD(uint32_t);
    case TL_UINT16:
        return LOAD(uint16_t);
    case TL_UINT8:
    case TL_BOOL:
        return LOAD(uint8_t);
    default:
        return 0;
    }
}
