/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include <tasklens/error.h>

#include "tensor/convert.h"
#include "tensor/stats.h"
#include "tensor/stats_floats.h"

static struct tl_stats of(unsigned dtype, const void *data, size_t n)
{
    struct tl_stats s;

    assert_int_equal(tl__stats_begin(&s, dtype), 0);
    tl__stats_add(&s, data, n);
    tl__stats_end(&s);
    return s;
}

static void statistics_of_floats_count_nan_and_infinities(void **state)
{
    const float x[] = {1.5f, NAN, -2.0f, INFINITY, 0.0f, -0.0f, -INFINITY, 4.0f, NAN};
    struct tl_stats s = of(TL_FLOAT32, x, 9);

    (void)state;
    assert_int_equal(s.count, 9);
    assert_int_equal(s.nan, 2);
    assert_int_equal(s.pos_inf, 1);
    assert_int_equal(s.neg_inf, 1);
    assert_int_equal(s.zeros, 2);
    assert_int_equal(s.finite, 5);
    assert_true(s.min == -2.0 && s.max == 4.0 && s.mean == 3.5 / 5);
    assert_int_equal(s.first_count, 8);
    assert_memory_equal(s.first, x, 32);
}

static void nothing_and_nothing_finite(void **state)
{
    const float bad[] = {NAN, INFINITY};
    struct tl_stats s = of(TL_FLOAT32, NULL, 0);

    (void)state;
    assert_int_equal(s.count, 0);
    assert_true(isnan(s.min) && isnan(s.max) && isnan(s.mean));
    s = of(TL_FLOAT32, bad, 2);
    assert_int_equal(s.finite, 0);
    assert_true(isnan(s.min) && isnan(s.max) && isnan(s.mean));
    s = of(TL_INT8, NULL, 0);
    assert_int_equal(s.min_int, 0);
    assert_int_equal(tl__stats_begin(&s, 15), TL_EINVAL);
}

static void extremes_of_64_bits_are_exact(void **state)
{
    const int64_t i[] = {INT64_MIN, 5, INT64_MAX};
    const uint64_t u[] = {UINT64_MAX, (1ull << 53) + 1, 7};
    struct tl_stats s = of(TL_INT64, i, 3);

    (void)state;
    assert_true(s.min_int == INT64_MIN && s.max_int == INT64_MAX);
    assert_true(s.mean == 4.0 / 3);
    s = of(TL_UINT64, u, 3);
    assert_true((uint64_t)s.min_int == 7 && (uint64_t)s.max_int == UINT64_MAX);
    assert_true(s.max == (double)UINT64_MAX && s.min == 7.0);
}

/* Every dtype, sizes around the block and vector edges, whole and in pieces, against one value at a time. */
static void check_against_naive(unsigned dtype, const uint8_t *data, size_t n, size_t piece)
{
    struct tl_stats s;
    uint64_t nan = 0, pos = 0, neg = 0, zero = 0, finite = 0;
    double low = INFINITY, high = -INFINITY;
    long double sum = 0, magnitude = 0;
    unsigned bits = tl_dtype_bits(dtype);

    assert_int_equal(tl__stats_begin(&s, dtype), 0);
    for (size_t at = 0; at < n; at += piece)
        tl__stats_add(&s, data + at * bits / 8, piece < n - at ? piece : n - at);
    tl__stats_end(&s);
    for (size_t i = 0; i < n; i++) {
        double d = 0;

        assert_int_equal(tl__to_f64(dtype, data, i, 1, &d), 0);
        nan += isnan(d) != 0;
        pos += isinf(d) && d > 0;
        neg += isinf(d) && d < 0;
        zero += d == 0;
        if (!isfinite(d))
            continue;
        finite++;
        low = d < low ? d : low;
        high = d > high ? d : high;
        sum += (long double)d;
        magnitude += fabsl((long double)d);
    }
    assert_int_equal(s.count, n);
    assert_int_equal(s.nan, nan);
    assert_int_equal(s.pos_inf, pos);
    assert_int_equal(s.neg_inf, neg);
    assert_int_equal(s.zeros, zero);
    assert_int_equal(s.finite, finite);
    if (finite > 0) {
        assert_true(s.min == low && s.max == high);
        assert_true(fabsl((long double)s.mean - sum / (long double)finite) <= 1e-12L * magnitude / (long double)finite);
    }
    assert_int_equal(s.first_count, n < 8 ? n : 8);
    assert_memory_equal(s.first, data, s.first_count * bits / 8);
}

static void all_dtypes_all_sizes(void **state)
{
    const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 1023, 1024, 1025, 2047, 2048, 2049, 10001};
    uint8_t *raw = malloc(10001 * 8 + 1), *data;
    uint64_t x = 7;

    (void)state;
    assert_non_null(raw);
    data = raw + 1;
    for (size_t i = 0; i < 10001 * 8; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = x >> 40 & 1 ? (uint8_t)(x >> 56) : 0;
    }
    for (unsigned dtype = 0; dtype < TL_DTYPE_COUNT; dtype++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            check_against_naive(dtype, data, sizes[k], sizes[k]);
            check_against_naive(dtype, data, sizes[k], 2);
            check_against_naive(dtype, data, sizes[k], 1000);
        }
    free(raw);
}

static void every_16_bit_code_counts_as_itself(void **state)
{
    const unsigned dtypes[] = {TL_FLOAT16, TL_BFLOAT16};

    (void)state;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned c = 0; c < 65536; c++) {
            uint16_t code = (uint16_t)c;
            double want = 0;
            struct tl_stats s = of(dtypes[k], &code, 1);

            assert_int_equal(tl__to_f64(dtypes[k], &code, 0, 1, &want), 0);
            assert_int_equal(s.nan, isnan(want) != 0);
            assert_int_equal(s.pos_inf, isinf(want) && want > 0);
            assert_int_equal(s.neg_inf, isinf(want) && want < 0);
            assert_int_equal(s.zeros, want == 0);
            if (isfinite(want))
                assert_true(s.min == want && s.max == want && s.mean == want);
        }
}

#ifdef __x86_64__
static void both_widths_agree(void **state)
{
    const unsigned dtypes[] = {TL_FLOAT32, TL_FLOAT16, TL_BFLOAT16};
    uint8_t *data = malloc(4 * 1003);
    uint64_t x = 3;

    (void)state;
    assert_non_null(data);
    if (!__builtin_cpu_supports("avx2")) {
        free(data);
        skip();
    }
    for (size_t i = 0; i < 4 * 1003; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = x >> 41 & 1 ? (uint8_t)(x >> 56) : 0xff;
    }
    for (size_t k = 0; k < 3; k++)
        for (size_t n = 1; n <= 1003; n += n < 20 ? 1 : 163) {
            struct tl_stats a, b;

            assert_int_equal(tl__stats_begin(&a, dtypes[k]), 0);
            assert_int_equal(tl__stats_begin(&b, dtypes[k]), 0);
            tl__stats_floats_4(&a, data, n);
            tl__stats_floats_8(&b, data, n);
            assert_int_equal(a.nan, b.nan);
            assert_int_equal(a.pos_inf, b.pos_inf);
            assert_int_equal(a.neg_inf, b.neg_inf);
            assert_int_equal(a.zeros, b.zeros);
            assert_true(a.min == b.min && a.max == b.max);
            assert_true(fabs(a.sum - b.sum) <= 1e-9 * fmax(fabs(a.max), fabs(a.min)) * (double)n);
        }
    free(data);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_of_floats_count_nan_and_infinities),
        cmocka_unit_test(nothing_and_nothing_finite),
        cmocka_unit_test(extremes_of_64_bits_are_exact),
        cmocka_unit_test(all_dtypes_all_sizes),
        cmocka_unit_test(every_16_bit_code_counts_as_itself),
#ifdef __x86_64__
        cmocka_unit_test(both_widths_agree),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
