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

#include "base/format.h"
#include "base/number.h"
#include "tensor/convert.h"

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

/* What a type's texts have to be: by trying all lengths, and of each length both numbers next to the value. */
static void check_narrow(float value, const struct tl_float_type *type, float (*narrow)(float))
{
    char text[TL_NUMBER_BYTES + 1], try[64];
    double got, nearest = 0;
    int digits, fewest = 0;

    text[tl__print_float(text, value, type)] = '\0';
    got = strtod(text, NULL);
    assert_true(narrow(strtof(text, NULL)) == value);
    assert_true(narrow((float)got) == value);
    if (value == truncf(value) && fabsf(value) < 0x1p24F) { /* in full */
        assert_true(got == (double)value);
        return;
    }
    for (digits = 1; fewest == 0 && digits <= 9; digits++)
        for (int side = 0; side < 2; side++) {
            double read;

            (void)snprintf(try, sizeof(try), "%.*e", digits - 1, (double)value);
            if (side == 1) { /* the neighbour on the other side of the value, or the same if there is none */
                double step = pow(10, floor(log10(fabs((double)value))) - (digits - 1));

                read = strtod(try, NULL);
                (void)snprintf(try, sizeof(try), "%.*e", digits - 1, read + (read < (double)value ? step : -step));
            }
            read = strtod(try, NULL);
            if (narrow(strtof(try, NULL)) != value || narrow((float)read) != value)
                continue;
            if (fewest == 0 || fabs(read - (double)value) < fabs(nearest - (double)value))
                nearest = read;
            fewest = digits;
        }
    assert_int_not_equal(fewest, 0);
    if (significant_digits(text) > fewest || fabs(got - (double)value) > fabs(nearest - (double)value) * (1 + 1e-6))
        fail_msg("%.17g: %s, and %.17g of %d digits reads back too", (double)value, text, nearest, fewest);
}

static float to_f32(float f)
{
    return f;
}

static float to_f16(float f)
{
    return tl__f32_of_f16(tl__f16_of_f32(f));
}

static float to_bf16(float f)
{
    return tl__f32_of_bf16(tl__bf16_of_f32(f));
}

static float to_e4m3(float f)
{
    return tl__f32_of_fp8e4m3fn(tl__fp8e4m3fn_of_f32(f));
}

static void each_type_has_the_nearest_of_its_shortest_texts(void **state)
{
    static const struct tl_float_type f16 = {11, -24}, bf16 = {8, -133}, e4m3 = {4, -9};

    (void)state;
    for (unsigned c = 0; c < 65536; c++) {
        float half = tl__f32_of_f16((uint16_t)c), brain = tl__f32_of_bf16((uint16_t)c);
        float eight = tl__f32_of_fp8e4m3fn((uint8_t)c);

        if (isfinite(half) && half != 0)
            check_narrow(half, &f16, to_f16);
        if (isfinite(brain) && brain != 0)
            check_narrow(brain, &bf16, to_bf16);
        if (c < 256 && isfinite(eight) && eight != 0)
            check_narrow(eight, &e4m3, to_e4m3);
    }
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)next_random();
        float value = tl__f32_of_bits(bits);

        if (isfinite(value) && value != 0)
            check_narrow(value, &tl__float32, to_f32);
        check_narrow((float)(1 + (bits & 0xffffff)) / 1024.0F, &tl__float32, to_f32); /* ties of decimals */
        check_narrow(ldexpf(1.0F, (int)(bits % 270) - 140), &tl__float32, to_f32);
    }
}

/* Halfway between two texts of the same length the even one is taken, as everywhere in C. */
static void ties_go_to_the_even_digit(void **state)
{
    (void)state;
    assert_string_equal(f32(3876378.25F), "3876378.2");
    assert_string_equal(f32(490014.625F), "490014.62");
    assert_string_equal(f32(1024.1875F), "1024.1875");
}

static void rounding_has_a_mark(void **state)
{
    char text[TL_NUMBER_BYTES + 1];
    const struct {
        double value;
        int digits;
        const char *want;
    } rows[] = {
        {490014.625, 6, "~490015"},
        {0.5, 6, "0.5"},
        {-0.676212131, 6, "~-0.676212"},
        {1e20, 6, "1e+20"},
        {1.0 / 3, 9, "~0.333333333"},
        {-0.0, 3, "-0.0"},
        {(double)NAN, 6, "NaN"},
        {100, 1, "100.0"},
        {105, 2, "~100"},
        {1.23456789e-7, 3, "~1.23e-07"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        text[tl__print_rounded(text, rows[i].value, rows[i].digits)] = '\0';
        assert_string_equal(text, rows[i].want);
    }
}

static void a_number_is_read_in_any_locale(void **state)
{
    double value = 0;

    (void)state;
    assert_true(tl__read_f64("-1.5e-3", 7, &value) && value == -1.5e-3);
    assert_true(tl__read_f64("0.1", 3, &value) && value == 0.1);
    assert_true(tl__read_f64("12.75", 5, &value) && value == 12.75);
    assert_true(tl__read_f64("1E+400", 6, &value) && isinf(value));
    assert_false(tl__read_f64("1,5", 3, &value));
    assert_false(tl__read_f64("1e", 2, &value));
    assert_false(tl__read_f64("", 0, &value));
    assert_false(tl__read_f64("nan", 3, &value));
    assert_false(tl__read_f64("1.5x", 4, &value));
}

/* A program may set a locale with a comma; the text must not change. Without such a locale here this is a repetition.
 */
static void locale_changes_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    char text[20];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (setlocale(LC_ALL, names[i]) != NULL)
            break;
    assert_string_equal(f64(0x1p-44), "5.684341886080802e-14");
    assert_string_equal(f64(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(f32(1.1754944e-38F), "1.1754944e-38");
    a_number_is_read_in_any_locale(state);
    (void)tl__format(text, sizeof(text), "%.1f", 1.5);
    assert_string_equal(text, "1.5");
    (void)setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_length),
        cmocka_unit_test(hex_has_all_its_digits),
        cmocka_unit_test(floats_look_as_expected),
        cmocka_unit_test(any_double_reads_back_and_is_short),
        cmocka_unit_test(any_float_reads_back_and_is_short),
        cmocka_unit_test(locale_changes_nothing),
        cmocka_unit_test(each_type_has_the_nearest_of_its_shortest_texts),
        cmocka_unit_test(ties_go_to_the_even_digit),
        cmocka_unit_test(rounding_has_a_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
