/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tensor/convert.h"

/* An exact value no longer than this is shown as it is: for bfloat16 1032.0, 1030.0 would do, but nobody wants that. */
#define PLAIN 8
#define TENS 55 /* powers of ten that float32 can need: 45 for its smallest value, 9 for its digits */

static unsigned narrow(unsigned dtype, float f)
{
    return dtype == TL_FLOAT16 ? tl__f16_of_f32(f) : tl__bf16_of_f32(f);
}

/* True if the float next to `d` hangs on how d itself was rounded: it lies halfway between two floats, or as near as
 * double can tell. */
static bool halfway(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    bits &= 0x1fffffffu;
    return bits >= 0x0ffffff0u && bits <= 0x10000010u;
}

static bool reads_back(unsigned dtype, float f, double d)
{
    return dtype == TL_FLOAT32 ? (float)d == f : narrow(dtype, (float)d) == narrow(dtype, f);
}

/*
 * The shortest decimal r * 10^-shift that reads back as the finite f > 0. long double is wider than double on the
 * machines we build for; where it is not, more values look like halfway and take the slow way.
 */
static bool shortest(unsigned dtype, float f, uint64_t *ret_r, int *ret_shift)
{
    static const long double tens[TENS] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L,
                                           1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L,
                                           1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L, 1e28L, 1e29L, 1e30L, 1e31L, 1e32L,
                                           1e33L, 1e34L, 1e35L, 1e36L, 1e37L, 1e38L, 1e39L, 1e40L, 1e41L, 1e42L, 1e43L,
                                           1e44L, 1e45L, 1e46L, 1e47L, 1e48L, 1e49L, 1e50L, 1e51L, 1e52L, 1e53L, 1e54L};
    const long double v = (long double)f;
    int exponent = (int)floor(log10((double)f));
    /* All decimals of six digits are apart in normal float32: what six digits show as zeros at the end is not needed.
     */
    int digits = dtype == TL_FLOAT32 && f >= 0x1p-126f ? 6 : 1;

    for (; digits <= 9; digits++) {
        int shift = digits - 1 - exponent;
        long double r;
        double d;

        if (shift >= TENS || shift <= -TENS)
            return false;
        r = shift >= 0 ? rintl(v * tens[shift]) : rintl(v / tens[-shift]);
        d = (double)(shift >= 0 ? r / tens[shift] : r * tens[-shift]);
        if (halfway(d))
            return false;
        if (reads_back(dtype, f, d)) {
            *ret_r = (uint64_t)r;
            *ret_shift = shift;
            return true;
        }
    }
    return false;
}

static size_t put_zeros(char *to, int count)
{
    memset(to, '0', (size_t)count);
    return (size_t)count;
}

/* r * 10^-shift as base/number.h lays floats out: 0.1, 100.0, 1e-05, 1.5e+16. */
static size_t decimal_text(char *to, uint64_t r, int shift)
{
    char digits[TL_NUMBER_BYTES];
    size_t n = tl__print_u64(digits, r), out = 0;
    int exponent = (int)n - 1 - shift, count;

    while (n > 1 && digits[n - 1] == '0')
        n--;
    count = (int)n;
    if (exponent < -4 || exponent >= 16) {
        to[out++] = digits[0];
        if (n > 1)
            to[out++] = '.';
        memcpy(to + out, digits + 1, n - 1);
        out += n - 1;
        out += (size_t)snprintf(to + out, 6, "e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
        return out;
    }
    if (exponent < 0) {
        memcpy(to, "0.", 2);
        out = 2 + put_zeros(to + 2, -exponent - 1);
        memcpy(to + out, digits, n);
        return out + n;
    }
    if (count <= exponent + 1) {
        memcpy(to, digits, n);
        out = n + put_zeros(to + n, exponent + 1 - count);
        memcpy(to + out, ".0", 2);
        return out + 2;
    }
    memcpy(to, digits, (size_t)exponent + 1);
    to[exponent + 1] = '.';
    memcpy(to + exponent + 2, digits + exponent + 1, n - (size_t)exponent - 1);
    return n + 1;
}

/* The slow way, for what `shortest` leaves: by printing and reading. */
static size_t long_text(char *to, unsigned dtype, float f)
{
    char text[TL_VALUE_BYTES];

    if (dtype == TL_FLOAT32)
        return tl__print_f32(to, f);
    for (int digits = 0; digits < 9; digits++) {
        double d;

        (void)snprintf(text, sizeof(text), "%.*e", digits, (double)f);
        d = strtod(text, NULL);
        if (reads_back(dtype, f, d))
            return tl__print_f64(to, d);
    }
    return tl__print_f32(to, f);
}

/* `as`: the dtype whose precision counts. */
static size_t digits_text(char *to, unsigned as, float f)
{
    float magnitude = fabsf(f);
    size_t sign = f < 0;
    uint64_t r = 0;
    int shift = 0;

    to[0] = '-';
    if (shortest(as, magnitude, &r, &shift))
        return sign + decimal_text(to + sign, r, shift);
    return sign + long_text(to + sign, as, magnitude);
}

static size_t float_text(char *to, unsigned dtype, float f)
{
    size_t n;
    const char *word = isnan(f)                          ? "nan"
                       : isinf(f)                        ? f > 0 ? "inf" : "-inf"
                       : tl__bits_of_f32(f) == 0         ? "0.0"
                       : tl__bits_of_f32(f) == 1u << 31u ? "-0.0"
                                                         : NULL;

    if (word != NULL) {
        memcpy(to, word, strlen(word));
        return strlen(word);
    }
    n = digits_text(to, TL_FLOAT32, f);
    if ((dtype != TL_FLOAT16 && dtype != TL_BFLOAT16) || n <= PLAIN)
        return n;
    return digits_text(to, dtype, f);
}

size_t tl__value_text(char *to, unsigned dtype, const void *data, uint64_t i)
{
    int64_t v;
    float f;

    if (tl__dtype_is_float(dtype)) {
        (void)tl__to_f32(dtype, data, i, 1, &f);
        return float_text(to, dtype, f);
    }
    v = tl__int_at(dtype, data, i);
    if (dtype == TL_BOOL && (v == 0 || v == 1)) {
        memcpy(to, v == 0 ? "false" : "true", v == 0 ? 5 : 4);
        return v == 0 ? 5 : 4;
    }
    return tl__dtype_is_unsigned(dtype) ? tl__print_u64(to, (uint64_t)v) : tl__print_i64(to, v);
}

void tl__value_json(struct tl_json *json, unsigned dtype, const void *data, uint64_t i)
{
    char text[TL_VALUE_BYTES];
    float f;

    if (!tl__dtype_is_float(dtype)) {
        tl__json_raw(json, text, tl__value_text(text, dtype, data, i));
        return;
    }
    (void)tl__to_f32(dtype, data, i, 1, &f);
    tl__json_f32(json, f);
}
