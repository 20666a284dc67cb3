/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include <tasklens/error.h>

#include "tensor/convert.h"

/* Value of a code of a small float by the definition: (-1)^s * 2^(E - bias) * 1.m, written with pow. */
static double by_definition(unsigned code, unsigned e, unsigned m, int bias, int has_inf)
{
    unsigned s = code >> (e + m) & 1, top = (1u << e) - 1;
    unsigned exponent = code >> m & top, mantissa = code & ((1u << m) - 1);
    double fraction = (double)mantissa / (double)(1u << m), v;

    if (has_inf && exponent == top)
        v = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        v = fraction * pow(2.0, 1 - bias);
    else
        v = (1 + fraction) * pow(2.0, (int)exponent - bias);
    return s ? -v : v;
}

static void same(double got, double want)
{
    if (isnan(want)) {
        assert_true(isnan(got));
        return;
    }
    assert_true(got == want);
    assert_int_equal(signbit(got) != 0, signbit(want) != 0);
}

static void every_code_decodes(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 65536; c++) {
        same(tl__f32_of_f16((uint16_t)c), by_definition(c, 5, 10, 15, 1));
        same(tl__f32_of_bf16((uint16_t)c), by_definition(c, 8, 7, 127, 1));
    }
    for (unsigned c = 0; c < 256; c++) {
        same(tl__f32_of_fp8e4m3fn((uint8_t)c), (c & 127) == 127 ? NAN : by_definition(c, 4, 3, 7, 0));
        same(tl__f32_of_fp8e8m0((uint8_t)c), c == 255 ? NAN : pow(2.0, (int)c - 127));
    }
    for (unsigned c = 0; c < 16; c++)
        same(tl__f32_of_fp4e2m1((uint8_t)c), by_definition(c, 2, 1, 1, 0));
}

static const double e2m1_table[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

static void fp4_is_the_published_table(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 8; c++) {
        same(tl__f32_of_fp4e2m1((uint8_t)c), e2m1_table[c]);
        same(tl__f32_of_fp4e2m1((uint8_t)(c | 8)), -e2m1_table[c]);
    }
    same(tl__f32_of_fp8e4m3fn(0x7e), 448.0);
    same(tl__f32_of_f16(0x7bff), 65504.0);
}

/* Encoders: at, just below and just above each code and each midpoint between two codes. `top` is the largest finite
 * code; what is beyond its rounding limit must become `over`. */
struct small {
    float (*decode)(unsigned code);
    unsigned (*encode)(float f);
    unsigned top, over, sign;
};

static void one_format(const struct small *s)
{
    for (unsigned c = 0; c <= s->top; c++) {
        float at = s->decode(c);
        float after = s->decode(c + 1);
        float next = isfinite(after) && after > at ? after : at + (at - s->decode(c - 1));
        double middle = ((double)at + (double)next) / 2; /* exact: one more bit than the format has */
        unsigned above = c < s->top ? c + 1 : s->over;
        float half = (float)middle;

        assert_int_equal(s->encode(at), c);
        if ((double)half != middle || isinf(half))
            fail_msg("midpoint of code %u is not a float32", c);
        assert_int_equal(s->encode(half), c % 2 == 0 ? c : above);
        assert_int_equal(s->encode(nextafterf(half, 0)), c);
        assert_int_equal(s->encode(nextafterf(half, INFINITY)), above);
        if (s->sign)
            assert_int_equal(s->encode(-at), c | s->sign);
    }
}

static float d16(unsigned c)
{
    return tl__f32_of_f16((uint16_t)c);
}
static unsigned e16(float f)
{
    return tl__f16_of_f32(f);
}
static float d8(unsigned c)
{
    return tl__f32_of_fp8e4m3fn((uint8_t)c);
}
static unsigned e8(float f)
{
    return tl__fp8e4m3fn_of_f32(f);
}
static float d4(unsigned c)
{
    return tl__f32_of_fp4e2m1((uint8_t)c);
}
static unsigned e4(float f)
{
    return tl__fp4e2m1_of_f32(f);
}
static float dm(unsigned c)
{
    return tl__f32_of_fp8e8m0((uint8_t)c);
}
static unsigned em(float f)
{
    return tl__fp8e8m0_of_f32(f);
}
static float db(unsigned c)
{
    return tl__f32_of_bf16((uint16_t)c);
}
static unsigned eb(float f)
{
    return tl__bf16_of_f32(f);
}

static void encoders_round_to_nearest_even(void **state)
{
    const struct small f16 = {d16, e16, 0x7bff, 0x7c00, 0x8000}, fp8 = {d8, e8, 0x7e, 0x7f, 0x80},
                       fp4 = {d4, e4, 7, 7, 8}, scale = {dm, em, 0xfd, 0xfe, 0};
    /* bfloat16's last midpoint is no float32 step away from FLT_MAX; it is looked at below. */
    const struct small bf16 = {db, eb, 0x7f7e, 0x7f7f, 0x8000};

    (void)state;
    one_format(&f16);
    one_format(&fp8);
    one_format(&fp4);
    one_format(&scale);
    one_format(&bf16);
    assert_int_equal(tl__bf16_of_f32(0x1.fep127f), 0x7f7f);
    assert_int_equal(tl__bf16_of_f32(0x1.fefffep127f), 0x7f7f);
    assert_int_equal(tl__bf16_of_f32(0x1.ffp127f), 0x7f80);
    assert_int_equal(tl__bf16_of_f32(-0x1.fffffep127f), 0xff80);
    assert_int_equal(tl__f16_of_f32(1e30f), 0x7c00);
    assert_int_equal(tl__f16_of_f32(0x1p-140f), 0);
    assert_int_equal(tl__f16_of_f32(-0x1p-140f), 0x8000);
    assert_int_equal(tl__fp8e4m3fn_of_f32(1e30f), 0x7f);
    assert_int_equal(tl__fp4e2m1_of_f32(1e30f), 7);
    assert_int_equal(tl__fp4e2m1_of_f32(-1e30f), 15);
}

static void special_values_are_converted(void **state)
{
    float quiet_low = tl__f32_of_bits(0x7f800001u); /* its payload is all in the half that bfloat16 drops */

    (void)state;
    assert_int_equal(tl__f16_of_f32(INFINITY), 0x7c00);
    assert_int_equal(tl__f16_of_f32(-INFINITY), 0xfc00);
    assert_true(isnan(tl__f32_of_f16(tl__f16_of_f32(NAN))));
    assert_true(isnan(tl__f32_of_f16(tl__f16_of_f32(quiet_low))));
    assert_int_equal(tl__bf16_of_f32(INFINITY), 0x7f80);
    assert_int_equal(tl__bf16_of_f32(-INFINITY), 0xff80);
    assert_true(isnan(tl__f32_of_bf16(tl__bf16_of_f32(quiet_low))));
    assert_int_equal(tl__fp8e4m3fn_of_f32(-INFINITY), 0xff);
    assert_true(isnan(tl__f32_of_fp8e4m3fn(tl__fp8e4m3fn_of_f32(NAN))));
    assert_int_equal(tl__fp8e8m0_of_f32(NAN), 0xff);
    assert_int_equal(tl__fp8e8m0_of_f32(-1.0f), 0xff);
    assert_int_equal(tl__fp8e8m0_of_f32(0.0f), 0);
    assert_int_equal(tl__fp8e8m0_of_f32(-0.0f), 0);
    assert_int_equal(tl__fp8e8m0_of_f32(INFINITY), 0xfe);
    assert_int_equal(tl__fp4e2m1_of_f32(INFINITY), 7);
}

static void every_code_comes_back(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 65536; c++) {
        float f = tl__f32_of_f16((uint16_t)c);

        if (!isnan(f))
            assert_int_equal(tl__f16_of_f32(f), c);
        f = tl__f32_of_bf16((uint16_t)c);
        if (!isnan(f))
            assert_int_equal(tl__bf16_of_f32(f), c);
    }
}

static void arrays_of_every_dtype(void **state)
{
    /* 0xff 0x3f bytes: as each dtype, elements 1 and 2 of the array. */
    uint8_t raw[33], *data = raw + 1; /* unaligned */
    float f[2];
    double d[2];

    (void)state;
    for (unsigned i = 0; i < 32; i++)
        data[i] = (uint8_t)(i * 37 + 200);
    for (unsigned dtype = 0; dtype < TL_DTYPE_COUNT; dtype++) {
        assert_int_equal(tl__to_f32(dtype, data, 1, 2, f), 0);
        assert_int_equal(tl__to_f64(dtype, data, 1, 2, d), 0);
        for (unsigned i = 0; i < 2; i++) {
            unsigned bits = tl_dtype_bits(dtype);
            uint64_t raw64 = 0;
            double want;

            if (bits == 4)
                raw64 = i == 0 ? data[0] >> 4 : data[1] & 15;
            else
                memcpy(&raw64, data + (1 + i) * (bits / 8), bits / 8);
            if (dtype == TL_FLOAT32)
                want = tl__f32_of_bits((uint32_t)raw64);
            else if (dtype == TL_FLOAT16)
                want = by_definition((unsigned)raw64, 5, 10, 15, 1);
            else if (dtype == TL_BFLOAT16)
                want = by_definition((unsigned)raw64, 8, 7, 127, 1);
            else if (dtype == TL_FP8E4M3FN)
                want = by_definition((unsigned)raw64, 4, 3, 7, 0);
            else if (dtype == TL_FP8E8M0)
                want = pow(2, (int)raw64 - 127);
            else if (dtype == TL_FP4E2M1)
                want = by_definition((unsigned)raw64, 2, 1, 1, 0);
            else if (tl__dtype_is_unsigned(dtype))
                want = (double)raw64;
            else
                want = (double)((int64_t)(raw64 << (64 - bits)) >> (64 - bits));
            same(d[i], want);
            same(f[i], (double)(float)want);
            if (!tl__dtype_is_float(dtype)) {
                int64_t exact = tl__int_at(dtype, data, 1 + i);

                assert_true(tl__dtype_is_unsigned(dtype) ? (uint64_t)exact == raw64
                                                         : exact == (int64_t)(raw64 << (64 - bits)) >> (64 - bits));
            }
        }
    }
    assert_int_equal(tl__to_f32(15, data, 0, 1, f), TL_EINVAL);
    assert_int_equal(tl__to_f64(15, data, 0, 1, d), TL_EINVAL);
    assert_int_equal(tl__int_at(TL_FLOAT32, data, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_decodes),
        cmocka_unit_test(fp4_is_the_published_table),
        cmocka_unit_test(encoders_round_to_nearest_even),
        cmocka_unit_test(special_values_are_converted),
        cmocka_unit_test(every_code_comes_back),
        cmocka_unit_test(arrays_of_every_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
