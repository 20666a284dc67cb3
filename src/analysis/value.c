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

static unsigned narrow(unsigned dtype, float f)
{
    return dtype == TL_FLOAT16 ? tl__f16_of_f32(f) : tl__bf16_of_f32(f);
}

/* `magnitude` rounded to `digits` decimal digits; `exponent` is that of its first one. */
static double rounded(double magnitude, int digits, int exponent)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int shift = digits - 1 - exponent;
    char text[TL_VALUE_BYTES];

    /* Powers up to 10^22 are exact, so that one division or multiplication gives the double nearest to the decimal. */
    if (shift >= 0 && shift <= 22)
        return rint(magnitude * tens[shift]) / tens[shift];
    if (shift < 0 && shift >= -22)
        return rint(magnitude / tens[-shift]) * tens[-shift];
    (void)snprintf(text, sizeof(text), "%.*e", digits - 1, magnitude);
    return strtod(text, NULL);
}

/* The shortest decimal that narrows to the same code as `f`. Nine digits tell all float32 values apart. */
static double shortest(unsigned dtype, float f)
{
    double magnitude = fabs((double)f);
    unsigned code = narrow(dtype, (float)magnitude);
    int exponent = (int)floor(log10(magnitude));

    for (int digits = 1; digits < 9; digits++) {
        double d = rounded(magnitude, digits, exponent);

        if (narrow(dtype, (float)d) == code)
            return f < 0 ? -d : d;
    }
    return (double)f;
}

static size_t float_text(char *to, unsigned dtype, float f)
{
    size_t n;
    const char *word = isnan(f) ? "nan" : isinf(f) ? f > 0 ? "inf" : "-inf" : NULL;

    if (word != NULL) {
        memcpy(to, word, strlen(word));
        return strlen(word);
    }
    n = tl__print_f32(to, f);
    if ((dtype != TL_FLOAT16 && dtype != TL_BFLOAT16) || n <= PLAIN)
        return n;
    return tl__print_f64(to, shortest(dtype, f));
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
