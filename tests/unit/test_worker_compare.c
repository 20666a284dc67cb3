/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/error.h>

#include "host/compare.h"
#include "tensor/convert.h"

static const uint32_t shape[3] = {2, 3, 4};

static const struct tl_tolerance defaults;

static struct tl_comparison compare_with(enum tl_dtype dtype, const void *got, const void *want,
                                         const struct tl_tolerance *tolerance)
{
    struct tl_comparison c;

    assert_int_equal(tl__compare(dtype, 3, shape, got, want, tolerance, &c), 0);
    return c;
}

static struct tl_comparison compare(enum tl_dtype dtype, const void *got, const void *want, double relative)
{
    const struct tl_tolerance tolerance = {.relative = (float)relative};

    return compare_with(dtype, got, want, &tolerance);
}

/* By hand: element 23 of a row of 24 values 0..23; their root mean square is 13.42, and 16 medians are more. */
static void floats_agree_within_the_tolerance(void **state)
{
    float got[24], want[24];
    struct tl_comparison c;

    (void)state;
    for (int i = 0; i < 24; i++)
        got[i] = want[i] = (float)i;
    c = compare(TL_FLOAT32, got, want, 0);
    assert_int_equal(c.bad, 0);
    assert_int_equal(c.count, 24);
    assert_true(c.largest == 0.0);
    assert_string_equal(c.rule, "2 ULP + 6.1e-05 of value + 7.6e-06 of row");
    got[23] = 23.0f + 0.0015f; /* allowed: 2 * 2^-19 + 23 * 2^-14 + 13.42 * 2^-17 = 0.00151 */
    c = compare(TL_FLOAT32, got, want, 0);
    assert_int_equal(c.bad, 0);
    assert_true(fabs(c.largest - 0.0015) < 1e-5);
    assert_int_equal(c.worst[2], 3);
    assert_true(fabs(c.worst_allowed - 0.0015100) < 1e-6);
    got[23] = 23.0f + 0.00153f;
    c = compare(TL_FLOAT32, got, want, 0);
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.first[0][0], 1);
    assert_int_equal(c.first[0][1], 2);
    assert_int_equal(c.first[0][2], 3);
    c = compare(TL_FLOAT32, got, want, 1e-4);
    assert_int_equal(c.bad, 0);
    assert_string_equal(c.rule, "2 ULP + 0.0001 of value and row");
}

static void a_tolerance_of_an_output_acts_on_every_dtype(void **state)
{
    static const struct tl_tolerance one = {.output = "y", .absolute = 1}, tenth = {.output = "y", .relative = 0.1f},
                                     all = {.relative = 0.1f};
    int32_t got[24] = {0}, want[24] = {0};
    uint8_t packed_got[12] = {0}, packed_want[12] = {0};
    uint16_t half_got[24] = {0}, half_want[24] = {0};

    (void)state;
    got[4] = 1;
    assert_int_equal(compare_with(TL_INT32, got, want, &one).bad, 0);
    assert_string_equal(compare_with(TL_INT32, got, want, &one).rule, "1");
    got[4] = 2;
    assert_int_equal(compare_with(TL_INT32, got, want, &one).bad, 1);
    got[4] = want[4] = 1000;
    got[4] += 90;
    assert_int_equal(compare_with(TL_INT32, got, want, &tenth).bad, 0);
    assert_int_equal(compare_with(TL_INT32, got, want, &all).bad, 1); /* only one that names the output */
    assert_string_equal(compare_with(TL_INT32, got, want, &all).rule, "equal");
    packed_got[0] = 0x20; /* 1 instead of 0 */
    assert_int_equal(compare_with(TL_FP4E2M1, packed_got, packed_want, &defaults).bad, 1);
    assert_int_equal(compare_with(TL_FP4E2M1, packed_got, packed_want, &one).bad, 0);
    half_want[3] = tl__bf16_of_f32(100.0f);
    half_got[3] = tl__bf16_of_f32(108.0f);
    assert_int_equal(compare(TL_BFLOAT16, half_got, half_want, 0).bad, 1);
    assert_int_equal(compare(TL_BFLOAT16, half_got, half_want, 0.1).bad, 0);
}

static void the_reduction_length_widens_the_default(void **state)
{
    const struct tl_tolerance longer = {.output = "y", .reduction = 1 << 20};
    float got[24], want[24];

    (void)state;
    for (int i = 0; i < 24; i++)
        got[i] = want[i] = 1.0f;
    got[5] = 1.01f;
    assert_int_equal(compare_with(TL_FLOAT32, got, want, &defaults).bad, 1);
    assert_int_equal(compare_with(TL_FLOAT32, got, want, &longer).bad, 0);
}

/* One value of a million does not cover what is wrong with those of 0.001 beside it. */
static void a_large_value_does_not_cover_small_ones(void **state)
{
    float got[24], want[24];

    (void)state;
    for (int i = 0; i < 24; i++)
        got[i] = want[i] = 0.001f;
    got[0] = want[0] = 1e6f;
    for (int i = 12; i < 24; i++)
        got[i] = 0;
    assert_int_equal(compare(TL_FLOAT32, got, want, 0).bad, 12);
    assert_int_equal(compare(TL_FLOAT32, got, want, 1e-3).bad, 12);
}

static void the_first_bad_one_is_named_by_dim(void **state)
{
    float got[24] = {0}, want[24] = {0};
    struct tl_comparison c;

    (void)state;
    got[1 * 12 + 2 * 4 + 1] = 5.0f;
    got[23] = -9.0f;
    c = compare(TL_FLOAT32, got, want, 0);
    assert_int_equal(c.bad, 2);
    assert_int_equal(c.first_count, 2);
    assert_int_equal(c.first[0][0], 1);
    assert_int_equal(c.first[0][1], 2);
    assert_int_equal(c.first[0][2], 1);
    assert_int_equal(c.first[1][2], 3);
    assert_true(c.first_got == 5.0 && c.first_want == 0.0 && c.largest == 9.0);
}

static void nan_and_inf_have_their_own_rules(void **state)
{
    static const struct {
        float got, want;
        uint64_t bad;
    } pairs[] = {
        {NAN, NAN, 0},    {NAN, 1, 1},          {1, NAN, 1},  {INFINITY, INFINITY, 0}, {-INFINITY, INFINITY, 1},
        {1, INFINITY, 1}, {3e38f, INFINITY, 1}, {-0.0f, 0, 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        float got[24] = {0}, want[24] = {0};

        got[7] = pairs[i].got;
        want[7] = pairs[i].want;
        assert_int_equal(compare(TL_FLOAT32, got, want, 0).bad, pairs[i].bad);
    }
}

static void narrow_dtypes_are_compared_by_their_own_neighbours(void **state)
{
    uint16_t got[24] = {0}, want[24] = {0};

    (void)state;
    want[3] = tl__bf16_of_f32(100.0f); /* neighbours are 0.5 apart, and 2^-7 of the row's 20.4 is 0.16 */
    got[3] = tl__bf16_of_f32(101.0f);
    assert_int_equal(compare(TL_BFLOAT16, got, want, 0).bad, 0);
    got[3] = tl__bf16_of_f32(101.5f);
    assert_int_equal(compare(TL_BFLOAT16, got, want, 0).bad, 1);
    want[3] = tl__f16_of_f32(100.0f); /* 0.0625 apart */
    got[3] = tl__f16_of_f32(100.125f);
    assert_int_equal(compare(TL_FLOAT16, got, want, 0).bad, 0);
    got[3] = tl__f16_of_f32(100.25f);
    assert_int_equal(compare(TL_FLOAT16, got, want, 0).bad, 1);
}

static void integers_are_exact_beyond_what_a_double_holds(void **state)
{
    int64_t got[24] = {0}, want[24] = {0};
    uint8_t small_got[24] = {0}, small_want[24] = {0};
    struct tl_comparison c;

    (void)state;
    got[9] = INT64_MAX;
    want[9] = INT64_MAX - 1;
    c = compare(TL_INT64, got, want, 1.0);
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.first[0][0] * 12 + c.first[0][1] * 4 + c.first[0][2], 9);
    small_got[1] = 1;
    assert_int_equal(compare(TL_UINT8, small_got, small_want, 10.0).bad, 1);
}

static void packed_fp4_is_compared_by_element(void **state)
{
    uint8_t got[12] = {0}, want[12] = {0};
    struct tl_comparison c;

    (void)state;
    got[6] = 0x20; /* element 13 */
    c = compare(TL_FP4E2M1, got, want, 0);
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.first[0][0] * 12 + c.first[0][1] * 4 + c.first[0][2], 13);
}

static void comparisons_at_the_edges_of_the_tolerance(void **state)
{
    const uint32_t none[2] = {0, 5};
    struct tl_comparison c;
    float a = 1, b = 2;

    (void)state;
    assert_int_equal(tl__compare(TL_FLOAT32, 2, none, &a, &b, &defaults, &c), 0);
    assert_int_equal(c.count, 0);
    assert_int_equal(c.bad, 0);
    assert_int_equal(tl__compare(TL_FLOAT32, 0, none, &a, &b, &defaults, &c), 0);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.bad, 1);
    assert_int_equal(tl__compare(77, 0, none, &a, &b, &defaults, &c), TL_EINVAL);
}

static void long_arrays_are_walked_in_blocks(void **state)
{
    static float got[5000], want[5000];
    const uint32_t n = 5000;
    struct tl_comparison c;

    (void)state;
    for (uint32_t i = 0; i < n; i++)
        got[i] = want[i] = (float)i;
    got[4099] += 100;
    assert_int_equal(tl__compare(TL_FLOAT32, 1, &n, got, want, &defaults, &c), 0);
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.first[0][0], 4099);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_agree_within_the_tolerance),
        cmocka_unit_test(a_tolerance_of_an_output_acts_on_every_dtype),
        cmocka_unit_test(the_reduction_length_widens_the_default),
        cmocka_unit_test(a_large_value_does_not_cover_small_ones),
        cmocka_unit_test(the_first_bad_one_is_named_by_dim),
        cmocka_unit_test(nan_and_inf_have_their_own_rules),
        cmocka_unit_test(narrow_dtypes_are_compared_by_their_own_neighbours),
        cmocka_unit_test(integers_are_exact_beyond_what_a_double_holds),
        cmocka_unit_test(packed_fp4_is_compared_by_element),
        cmocka_unit_test(comparisons_at_the_edges_of_the_tolerance),
        cmocka_unit_test(long_arrays_are_walked_in_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
