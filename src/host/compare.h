/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's output against its golden. Pure; any thread.
 *
 * An element `got` agrees with the expected `want` if
 *
 *     |got - want| <= ULPS * ulp(want) + VALUE * |want| + ROW * magnitude + absolute
 *
 * ulp(want) is the distance between two neighbours of the dtype at `want`; the magnitude is that of the element's row:
 * the root of the mean square of its expected values, but at most 16 times their median (zeros left out), so that one
 * large value does not cover errors of the small ones. A row is the last dimension, or as many of the last ones as hold
 * 16 elements. Without a tolerance of the program
 *
 *     VALUE = R * 2^-24                            R float32 roundings in a row, the bound of a sum of R terms
 *     ROW   = sqrt(R) * 2^-22, at least 2^(1-p)    the same where terms cancel; p: bits of the dtype's significand, and
 *                                                  2^(1-p) (of dtypes below 24 bits) two roundings of intermediates
 *
 * with R = 1,024, or the output's own reduction length; with a relative tolerance T, VALUE = ROW = T, and only one that
 * names the output is below 2^(1-p). ULPS is 2 for float32, float16 and bfloat16, 1 for fp8e4m3fn, and 0 for all
 * others, which are equal or differ unless a tolerance names the output. (Sources: the standard model of rounding
 * errors, N. Higham, Accuracy and Stability of Numerical Algorithms, chapters 2 to 4.)
 *
 * Near zero a narrow dtype has so few values that one ULP is as large as the data. So a row must agree as a whole too:
 *
 *     sum (got - want)^2 <= max(1/8, 2 * VALUE)^2 * sum want^2 + 4 * q^2 + n * (absolute + ROW * magnitude)^2
 *
 * where q is the smallest positive value of the dtype.
 */
#ifndef TL_HOST_COMPARE_H
#define TL_HOST_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include <tasklens/program.h>
#include <tasklens/tensor.h>

#define TL_COMPARE_FIRST 8u /* indices that are kept */
#define TL_COMPARE_RULE_BYTES 160

struct tl_comparison {
    uint64_t count; /* elements */
    uint64_t bad;   /* that do not agree */
    bool as_a_row;  /* all of them agree one by one, and a row does not: `bad` counts that row's unequal elements */
    uint32_t first_count;
    uint32_t first[TL_COMPARE_FIRST][TL_MAX_DIMS]; /* indices of the first bad ones, row-major order */
    double first_got, first_want;                  /* values of the very first */
    /* The element with the largest |got - want| by what is allowed there. */
    uint32_t worst[TL_MAX_DIMS];
    double worst_got, worst_want, worst_allowed;
    double largest;                   /* |got - want| of all; NaN against a number is infinite */
    char rule[TL_COMPARE_RULE_BYTES]; /* what was allowed, for people */
};

/* The tolerance of output `name` of a program: its own, or one made of the program's `.tolerance` (which leaves
 * integers exact), or of the defaults. */
struct tl_tolerance tl__tolerance_of(const struct tl_program *program, const char *name);
/*
 * Dense arrays of `rank` dims. A `tolerance` that names an output counts for integers too. NaN equals NaN, Inf equals
 * Inf of its sign. 0; TL_EINVAL: unknown dtype or rank; TL_ENOMEM.
 */
int tl__compare(unsigned dtype, unsigned rank, const uint32_t *shape, const void *got, const void *want,
                const struct tl_tolerance *tolerance, struct tl_comparison *ret_result);

#endif
