/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the dtypes that C has no type for, and any dtype as float or double.
 *
 * Narrowing rounds to nearest, ties to even. What does not fit: float16 and bfloat16 become Inf; fp8e4m3fn, which has
 * no Inf, becomes NaN; fp4e2m1, which has neither, becomes +-6 (NaN too); fp8e8m0, which has no sign and no zero,
 * rounds to the nearest power of two, saturates at its ends, and is NaN for a negative value or NaN. All functions are
 * pure and safe from any thread.
 */
#ifndef TL_TENSOR_CONVERT_H
#define TL_TENSOR_CONVERT_H

#include <string.h>

#include <tasklens/tensor.h>

static inline float tl__f32_of_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t tl__bits_of_f32(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static inline float tl__f32_of_bf16(uint16_t code)
{
    return tl__f32_of_bits((uint32_t)code << 16);
}

/* Without a branch, so that a loop over it vectorises: the exponent is moved by one multiplication, which also brings
 * subnormals into place; Inf and NaN get the exponent that the multiplication cannot give. */
static inline float tl__f32_of_f16(uint16_t code)
{
    uint32_t magnitude = (uint32_t)(code & 0x7fff) << 13;
    uint32_t bits = tl__bits_of_f32(tl__f32_of_bits(magnitude) * 0x1p112f);

    bits |= magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
    return tl__f32_of_bits(bits | (uint32_t)(code & 0x8000) << 16);
}

float tl__f32_of_fp8e4m3fn(uint8_t code);
float tl__f32_of_fp8e8m0(uint8_t code);
float tl__f32_of_fp4e2m1(uint8_t code); /* the low four bits */

uint16_t tl__bf16_of_f32(float f);
uint16_t tl__f16_of_f32(float f);
uint8_t tl__fp8e4m3fn_of_f32(float f);
uint8_t tl__fp8e8m0_of_f32(float f);
uint8_t tl__fp4e2m1_of_f32(float f);

/* True for the dtypes whose values are not integers. */
bool tl__dtype_is_float(unsigned dtype);
bool tl__dtype_is_unsigned(unsigned dtype); /* UINT*, BOOL */

/*
 * Elements [first, first + n) of a dense array at `data` (need not be aligned), as float or double. Integers beyond the
 * target's precision are rounded to nearest; BOOL gives its byte's value. 0, or TL_EINVAL for an unknown dtype.
 */
int tl__to_f32(unsigned dtype, const void *data, uint64_t first, size_t n, float *dst);
int tl__to_f64(unsigned dtype, const void *data, uint64_t first, size_t n, double *dst);

/* Element `i` of an integer dtype, exactly; 0 for the others. Unsigned: cast the result to uint64_t. */
int64_t tl__int_at(unsigned dtype, const void *data, uint64_t i);

#endif
