/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/number.h"

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    uint64_t z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static const char *f32(float value)
{
    static char text[TL_NUMBER_BYTES + 1];

    text[tl__print_f32(text, value)] = '\0';
    return text;
}

static const char *f64(double value)
{
    static char text[TL_NUMBER_BYTES + 1];

    text[tl__print_f64(text, value)] = '\0';
    return text;
}

static void check_u64(uint64_t value)
{
    char text[TL_NUMBER_BYTES + 1], expected[32];

    text[tl__print_u64(text, value)] = '\0';
    (void)snprintf(expected, sizeof(expected), "%" PRIu64, value);
    assert_string_equal(text, expected);
    text[tl__print_i64(text, (int64_t)value)] = '\0';
    (void)snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)value);
    assert_string_equal(text, expected);
}

static void integers_of_every_length(void **state)
{
    (void)state;
    check_u64(0);
    check_u64(UINT64_MAX);
    check_u64((uint64_t)INT64_MIN);
    for (uint64_t p = 1; p <= UINT64_MAX / 10; p *= 10) {
        check_u64(p - 1);
        check_u64(p);
        check_u64(0 - p);
    }
    for (int i = 0; i < 10000; i++)
        check_u64(next_random() >> (next_random() & 63));
}

static void hex_has_all_its_digits(void **state)
{
    char text[TL_NUMBER_BYTES + 1];

    (void)state;
    text[tl__print_hex(text, 0x200000a00, 16)] = '\0';
    assert_string_equal(text, "0x0000000200000a00");
    text[tl__print_hex(text, 0xABC, 2)] = '\0';
    assert_string_equal(text, "0xbc");
}

static void floats_look_as_expected(void **state)
{
    (void)state;
    assert_string_equal(f64(0.0), "0.0");
    assert_string_equal(f64(-0.0), "-0.0");
    assert_string_equal(f64(1), "1.0");
    assert_string_equal(f64(-100), "-100.0");
    assert_string_equal(f64(0.1), "0.1");
    assert_string_equal(f64(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(f64(1.0 / 3), "0.3333333333333333");
    assert_string_equal(f64(123456.789), "123456.789");
    assert_string_equal(f64(0.0001), "0.0001");
    assert_string_equal(f64(0.00001), "1e-05");
    assert_string_equal(f64(1.5e-7), "1.5e-07");
    assert_string_equal(f64(1e15), "1000000000000000.0");
    assert_string_equal(f64(1e16), "1e+16");
    assert_string_equal(f64(1.2345e100), "1.2345e+100");
    assert_string_equal(f64(9007199254740993.0), "9007199254740992.0");
    assert_string_equal(f64(5e-324), "5e-324");
    assert_string_equal(f64(DBL_MIN), "2.2250738585072014e-308");
    assert_string_equal(f64(DBL_MAX), "1.7976931348623157e+308");
    assert_string_equal(f64(0x1p-44), "5.684341886080802e-14"); /* not the rounded ...801 */
    assert_string_equal(f32(0.1F), "0.1");
    assert_string_equal(f32(0.0F), "0.0");
    assert_string_equal(f32(3.0F), "3.0");
    assert_string_equal(f32(16777216.0F), "16777216.0");
    assert_string_equal(f32(1.0F / 3), "0.33333334");
    assert_string_equal(f32(FLT_MAX), "3.4028235e+38");
    assert_string_equal(f32(FLT_MIN), "1.1754944e-38");
    assert_string_equal(f32(0x1p-149F), "1e-45");
    assert_string_equal(f32(1e-5F), "1e-05");
    assert_string_equal(f32(-1.17549435e-3F), "-0.0011754944");
    assert_string_equal(f32(NAN), "NaN");
    assert_string_equal(f64(-(double)INFINITY), "-Infinity");
    assert_string_equal(f64((double)INFINITY), "Infinity");
}

static int significant_digits(const char *text)
{
    int count = 0, zeros = 0, seen = 0;

    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && !seen))
            continue;
        seen = 1;
        zeros = *text == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

/* The fewest digits of a correctly rounded text that reads back. */
static int fewest_digits(double value, int is_float)
{
    char text[64];

    for (int p = 1; p < 17; p++) {
        (void)snprintf(text, sizeof(text), "%.*e", p - 1, value);
        if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            return p;
    }
    return 17;
}

static void check_f64(double value)
{
    const char *text = f64(value);

    assert_true(strtod(text, NULL) == value);
    assert_true(significant_digits(text) <= fewest_digits(value, 0));
}

static void check_f32(float value)
{
    const char *text = f32(value);

    assert_true(strtof(text, NULL) == value);
    assert_true(significant_digits(text) <= fewest_digits((double)value, 1));
}

static void any_double_reads_back_and_is_short(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random();
        double value;

        memcpy(&value, &bits, sizeof(value));
        if (isfinite(value))
            check_f64(value);
        check_f64((double)(int64_t)(bits >> 40) / 1000);  /* what people write */
        check_f64((double)(int64_t)(bits >> 20) * 1e-10); /* the border of 15 digits */
        check_f64(ldexp(1.0, (int)(bits % 2000) - 1000)); /* uneven neighbours */
    }
}

static void any_float_reads_back_and_is_short(void **state)
{
    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint32_t bits = (uint32_t)next_random();
        float value;

        memcpy(&value, &bits, sizeof(value));
        if (isfinite(value))
            check_f32(value);
        check_f32((float)(int32_t)bits / 65536.0F);
        check_f32(ldexpf(1.0F, (int)(bits % 270) - 140));
    }
}

/* A program may set a locale with a comma; the text must not change. Without such a locale here this is a repetition.
 */
static void locale_changes_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (setlocale(LC_ALL, names[i]) != NULL)
            break;
    assert_string_equal(f64(0x1p-44), "5.684341886080802e-14");
    assert_string_equal(f64(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(f32(1.1754944e-38F), "1.1754944e-38");
    (void)setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_length),          cmocka_unit_test(hex_has_all_its_digits),
        cmocka_unit_test(floats_look_as_expected),           cmocka_unit_test(any_double_reads_back_and_is_short),
        cmocka_unit_test(any_float_reads_back_and_is_short), cmocka_unit_test(locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
