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

static struct tl_comparison compare(enum tl_dtype dtype, const void *got, const void *want, double tolerance)
{
    struct tl_comparison c;

    assert_int_equal(tl__compare(dtype, 3, shape, got, want, tolerance, &c), 0);
    return c;
}

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
    assert_true(c.worst == 0.0 && c.tolerance == 1e-4);
    got[23] = 23.0f + 0.002f; /* allowed: 1e-4 * 24 = 0.0024 */
    c = compare(TL_FLOAT32, got, want, 0);
    assert_int_equal(c.bad, 0);
    assert_true(fabs(c.worst - 0.002) < 1e-5);
    got[23] = 23.0f + 0.003f;
    c = compare(TL_FLOAT32, got, want, 0);
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.first, 23);
    c = compare(TL_FLOAT32, got, want, 1e-3);
    assert_int_equal(c.bad, 0);
}

static void the_first_bad_one_is_told_by_dim(void **state)
{
    float got[24] = {0}, want[24] = {0};
    struct tl_comparison c;

    (void)state;
    got[1 * 12 + 2 * 4 + 1] = 5.0f;
    got[23] = -9.0f;
    c = compare(TL_FLOAT32, got, want, 0);
    assert_int_equal(c.bad, 2);
    assert_int_equal(c.index[0], 1);
    assert_int_equal(c.index[1], 2);
    assert_int_equal(c.index[2], 1);
    assert_true(c.first_got == 5.0 && c.first_want == 0.0 && c.worst == 9.0);
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

static void half_precision_has_a_wider_default(void **state)
{
    uint16_t got[24] = {0}, want[24] = {0};

    (void)state;
    want[3] = tl__bf16_of_f32(100.0f);
    got[3] = tl__bf16_of_f32(101.5f);
    assert_int_equal(compare(TL_BFLOAT16, got, want, 0).bad, 0);
    got[3] = tl__bf16_of_f32(104.0f);
    assert_int_equal(compare(TL_BFLOAT16, got, want, 0).bad, 1);
    want[3] = tl__f16_of_f32(100.0f);
    got[3] = tl__f16_of_f32(101.5f);
    assert_int_equal(compare(TL_FLOAT16, got, want, 0).bad, 0);
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
    assert_int_equal(c.first, 9);
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
    assert_int_equal(c.first, 13);
}

static void edges(void **state)
{
    const uint32_t none[2] = {0, 5};
    struct tl_comparison c;
    float a = 1, b = 2;

    (void)state;
    assert_int_equal(tl__compare(TL_FLOAT32, 2, none, &a, &b, 0, &c), 0);
    assert_int_equal(c.count, 0);
    assert_int_equal(c.bad, 0);
    assert_int_equal(tl__compare(TL_FLOAT32, 0, none, &a, &b, 0, &c), 0);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.bad, 1);
    assert_int_equal(tl__compare(77, 0, none, &a, &b, 0, &c), TL_EINVAL);
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
    assert_int_equal(tl__compare(TL_FLOAT32, 1, &n, got, want, 0, &c), 0);
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.index[0], 4099);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_agree_within_the_tolerance),
        cmocka_unit_test(the_first_bad_one_is_told_by_dim),
        cmocka_unit_test(nan_and_inf_have_their_own_rules),
        cmocka_unit_test(half_precision_has_a_wider_default),
        cmocka_unit_test(integers_are_exact_beyond_what_a_double_holds),
        cmocka_unit_test(packed_fp4_is_compared_by_element),
        cmocka_unit_test(edges),
        cmocka_unit_test(long_arrays_are_walked_in_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
