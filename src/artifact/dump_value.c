/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/dump_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "tensor/convert.h"
#include "tensor/element.h"

static float float_of_bits(unsigned dtype, uint64_t bits)
{
    switch (dtype) {
    case TL_FLOAT32:
        return tl__f32_of_bits((uint32_t)bits);
    case TL_FLOAT16:
        return tl__f32_of_f16((uint16_t)bits);
    case TL_BFLOAT16:
        return tl__f32_of_bf16((uint16_t)bits);
    case TL_FP8E4M3FN:
        return tl__f32_of_fp8e4m3fn((uint8_t)bits);
    case TL_FP8E8M0:
        return tl__f32_of_fp8e8m0((uint8_t)bits);
    default:
        return tl__f32_of_fp4e2m1((uint8_t)(bits & 0xf));
    }
}

static uint64_t bits_of_float(unsigned dtype, float value)
{
    switch (dtype) {
    case TL_FLOAT32:
        return tl__bits_of_f32(value);
    case TL_FLOAT16:
        return tl__f16_of_f32(value);
    case TL_BFLOAT16:
        return tl__bf16_of_f32(value);
    case TL_FP8E4M3FN:
        return tl__fp8e4m3fn_of_f32(value);
    case TL_FP8E8M0:
        return tl__fp8e8m0_of_f32(value);
    default:
        return tl__fp4e2m1_of_f32(value);
    }
}

size_t tl__dump_value_text(char *to, unsigned dtype, uint64_t bits)
{
    if (dtype >= TL_DTYPE_COUNT)
        return tl__print_u64(to, bits);
    if (tl__dtype_is_float(dtype)) {
        float value = float_of_bits(dtype, bits);
        size_t n;

        if (isfinite(value))
            return tl__float_text(to, dtype, value);
        *to = '"';
        n = tl__float_text(to + 1, dtype, value);
        to[n + 1] = '"';
        return n + 2;
    }
    if (dtype == TL_BOOL && (bits & 0xff) <= 1) {
        size_t n = (bits & 0xff) != 0 ? 4 : 5;

        memcpy(to, n == 4 ? "true" : "false", n);
        return n;
    }
    if (tl__dtype_is_unsigned(dtype))
        return tl__print_u64(to, (uint64_t)tl__int_at(dtype, &bits, 0));
    return tl__print_i64(to, tl__int_at(dtype, &bits, 0));
}

static int parse_special(const char *text, float *ret_value)
{
    const char *body = text + (*text == '-' || *text == '+');

    if (strcasecmp(body, "nan") == 0)
        *ret_value = NAN;
    else if (strcasecmp(body, "inf") == 0 || strcasecmp(body, "infinity") == 0)
        *ret_value = *text == '-' ? -INFINITY : INFINITY;
    else
        return TL_EPARSE;
    return 0;
}

static int parse_float(unsigned dtype, enum tl_value_form form, const char *text, uint64_t *ret_bits)
{
    float value = 0;
    double wide = 0;
    int code;

    if (form == TL_VALUE_STRING) {
        code = parse_special(text, &value);
    } else {
        /* By way of double, as other readers do; what overflows float becomes Inf. */
        code = tl__read_f64(text, strlen(text), &wide) ? 0 : TL_EPARSE;
        value = (float)wide;
    }
    if (code == 0)
        *ret_bits = bits_of_float(dtype, value);
    return code;
}

static int parse_integer(unsigned dtype, const char *text, uint64_t *ret_bits)
{
    unsigned width = tl_dtype_bits(dtype);
    bool is_unsigned = dtype >= TL_DTYPE_COUNT || tl__dtype_is_unsigned(dtype);
    bool negative = *text == '-';
    uint64_t mask, magnitude, most;

    if (width == 0)
        width = 64;
    mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
    most = is_unsigned ? mask : (mask >> 1) + negative;
    if (!tl__read_u64(text + negative, strlen(text + negative), &magnitude) || magnitude > most ||
        (is_unsigned && negative))
        return TL_EPARSE;
    *ret_bits = (negative ? 0 - magnitude : magnitude) & mask;
    return 0;
}

static bool integer_text(const char *text)
{
    text += *text == '-';
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

int tl__dump_value_parse(unsigned dtype, enum tl_value_form form, const char *text, uint64_t *ret_bits)
{
    if (form == TL_VALUE_TRUE || form == TL_VALUE_FALSE) {
        if (dtype != TL_BOOL)
            return TL_EPARSE;
        *ret_bits = form == TL_VALUE_TRUE;
        return 0;
    }
    if (dtype < TL_DTYPE_COUNT && tl__dtype_is_float(dtype))
        return parse_float(dtype, form, text, ret_bits);
    if (dtype >= TL_DTYPE_COUNT && (form == TL_VALUE_STRING || !integer_text(text))) {
        /* A dtype without a name here: what its text means is not known. */
        *ret_bits = 0;
        return 0;
    }
    return parse_integer(dtype, text, ret_bits);
}
