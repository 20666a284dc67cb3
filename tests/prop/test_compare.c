/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden's tolerance over random outputs of every float dtype: an honest result (summed up in another order and in
 * float32, then rounded) agrees; zeros, a constant, shifted columns and swapped rows do not.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/compare.h"
#include "tensor/convert.h"

#define ROWS 8u
#define MAX_COLUMNS 4096u
#define TERMS 256u /* of a product's sum */

static uint64_t seed;

static double uniform(void) /* [-1, 1) */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-52 - 1;
}

static double normal(void)
{
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += uniform();
    return sum / 2;
}

/* ---- outputs: `exact` in double, `honest` in float32 ---- */

static double exact[ROWS * MAX_COLUMNS], honest[ROWS * MAX_COLUMNS];

static void softmax(uint32_t columns)
{
    static float x[MAX_COLUMNS];

    for (uint32_t r = 0; r < ROWS; r++) {
        double sum = 0;
        float sum32 = 0;

        for (uint32_t i = 0; i < columns; i++) {
            x[i] = (float)(2 * uniform());
            sum += exp((double)x[i]);
        }
        for (uint32_t i = columns; i-- > 0;)
            sum32 += expf(x[i]);
        for (uint32_t i = 0; i < columns; i++) {
            exact[r * columns + i] = exp((double)x[i]) / sum;
            honest[r * columns + i] = (double)(expf(x[i]) / sum32);
        }
    }
}

static void product(uint32_t columns)
{
    for (uint32_t i = 0; i < ROWS * columns; i++) {
        float a[TERMS], b[TERMS], sum32 = 0;
        double sum = 0;

        for (uint32_t k = 0; k < TERMS; k++) {
            a[k] = (float)normal();
            b[k] = (float)normal();
            sum += (double)a[k] * (double)b[k];
        }
        for (uint32_t k = TERMS; k-- > 0;)
            sum32 += a[k] * b[k];
        exact[i] = sum;
        honest[i] = (double)sum32;
    }
}

/* max(0, product): near zero one of both may be on the other side. */
static void rectified(uint32_t columns)
{
    product(columns);
    for (uint32_t i = 0; i < ROWS * columns; i++) {
        exact[i] = fmax(exact[i], 0);
        honest[i] = fmax(honest[i], 0);
    }
}

static const struct {
    const char *name;
    void (*make)(uint32_t columns);
    uint32_t columns;
} outputs[] = {{"softmax of 256", softmax, 256},   {"softmax of 1024", softmax, 1024},
               {"softmax of 2048", softmax, 2048}, {"softmax of 4096", softmax, 4096},
               {"product of 64", product, 64},     {"rectified product", rectified, 64},
               {"softmax of 16", softmax, 16}};

/* ---- in a dtype ---- */

static void round_to(unsigned dtype, const double *from, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float value = (float)from[i];

        if (dtype == TL_FLOAT32)
            ((float *)to)[i] = value;
        else if (dtype == TL_BFLOAT16)
            ((uint16_t *)to)[i] = tl__bf16_of_f32(value);
        else if (dtype == TL_FLOAT16)
            ((uint16_t *)to)[i] = tl__f16_of_f32(value);
        else
            ((uint8_t *)to)[i] = tl__fp8e4m3fn_of_f32(value);
    }
}

static uint64_t bad_of(unsigned dtype, uint32_t columns, const double *got)
{
    static uint8_t a[ROWS * MAX_COLUMNS * 4], b[ROWS * MAX_COLUMNS * 4];
    const uint32_t shape[2] = {ROWS, columns};
    const struct tl_tolerance defaults = {0};
    struct tl_comparison c;

    round_to(dtype, got, a, ROWS * columns);
    round_to(dtype, exact, b, ROWS * columns);
    assert_int_equal(tl__compare(dtype, 2, shape, a, b, &defaults, &c), 0);
    return c.bad;
}

/* ---- what goes wrong ---- */

static double wrong[ROWS * MAX_COLUMNS];

static void zeros(uint32_t columns)
{
    memset(wrong, 0, ROWS * columns * sizeof(wrong[0]));
}

static void a_constant(uint32_t columns)
{
    double sum = 0;

    for (uint32_t i = 0; i < ROWS * columns; i++)
        sum += exact[i];
    for (uint32_t i = 0; i < ROWS * columns; i++)
        wrong[i] = sum / (ROWS * columns);
}

static void shifted_columns(uint32_t columns)
{
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t i = 0; i < columns; i++)
            wrong[r * columns + i] = honest[r * columns + (i + 1) % columns];
}

static void swapped_rows(uint32_t columns)
{
    memcpy(wrong, honest, sizeof(wrong));
    memcpy(wrong, honest + columns, columns * sizeof(wrong[0]));
    memcpy(wrong + columns, honest, columns * sizeof(wrong[0]));
}

static const struct {
    const char *name;
    void (*make)(uint32_t columns);
} faults[] = {
    {"zeros", zeros}, {"a constant", a_constant}, {"shifted columns", shifted_columns}, {"swapped rows", swapped_rows}};
static const enum tl_dtype dtypes[] = {TL_FLOAT32, TL_FLOAT16, TL_BFLOAT16, TL_FP8E4M3FN};

/* Where the dtype rounds all of an output to zero, zeros are right. */
static bool vanishes(unsigned dtype)
{
    double largest = 0;

    for (size_t i = 0; i < ROWS * MAX_COLUMNS; i++)
        largest = fmax(largest, fabs(exact[i]));
    return dtype == TL_FP8E4M3FN && largest < 0x1p-9;
}

static void honest_results_agree_and_wrong_ones_do_not(void **state)
{
    const char *seeds = getenv("TL_SEEDS");
    uint64_t n = seeds != NULL ? strtoull(seeds, NULL, 10) : 10;

    (void)state;
    for (uint64_t s = 1; s <= n; s++)
        for (size_t o = 0; o < sizeof(outputs) / sizeof(outputs[0]); o++) {
            seed = s * UINT64_C(0x9E3779B97F4A7C15);
            memset(exact, 0, sizeof(exact));
            outputs[o].make(outputs[o].columns);
            for (size_t d = 0; d < sizeof(dtypes) / sizeof(dtypes[0]); d++) {
                uint64_t bad = bad_of(dtypes[d], outputs[o].columns, honest);

                if (bad != 0)
                    fail_msg("seed %llu: an honest %s of %s: %llu differ", (unsigned long long)s, outputs[o].name,
                             tl_dtype_name(dtypes[d]), (unsigned long long)bad);
                for (size_t f = 0; f < sizeof(faults) / sizeof(faults[0]) && !vanishes(dtypes[d]); f++) {
                    faults[f].make(outputs[o].columns);
                    if (bad_of(dtypes[d], outputs[o].columns, wrong) == 0)
                        fail_msg("seed %llu: %s instead of a %s of %s agree", (unsigned long long)s, faults[f].name,
                                 outputs[o].name, tl_dtype_name(dtypes[d]));
                }
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(honest_results_agree_and_wrong_ones_do_not)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
