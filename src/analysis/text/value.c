/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/value.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "tensor/convert.h"
#include "tensor/element.h"

/* The words that C prints; JSON has the other ones. */
static size_t float_text(char *to, unsigned dtype, float f)
{
    const char *word = isnan(f) ? "nan" : f > 0 ? "inf" : "-inf";

    if (isfinite(f))
        return tl__float_text(to, dtype, f);
    memcpy(to, word, strlen(word));
    return strlen(word);
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
    char text[TL_VALUE_BYTES + 2];
    size_t n;
    float f;

    if (!tl__dtype_is_float(dtype)) {
        tl__json_raw(json, text, tl__value_text(text, dtype, data, i));
        return;
    }
    (void)tl__to_f32(dtype, data, i, 1, &f);
    n = tl__float_text(text + 1, dtype, f);
    if (isfinite(f)) {
        tl__json_raw(json, text + 1, n);
        return;
    }
    text[0] = text[n + 1] = '"';
    tl__json_raw(json, text, n + 2);
}
