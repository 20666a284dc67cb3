/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest decimal number in an interval, exactly. Any thread. */
#ifndef TL_BASE_SHORTEST_H
#define TL_BASE_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

/* digits * 10^exponent */
struct tl_decimal {
    uint64_t digits;
    int exponent;
};

/* Units of 2^exponent: low < value < high, each below 2^62; the exponent from -1,200 to 1,023. */
struct tl_interval {
    uint64_t low, value, high;
    int exponent;
    bool closed; /* the ends belong to it */
};

/*
 * Of the decimal numbers in the interval that have the fewest digits, the one nearest to `value`; of two equally near
 * ones the even one. At most 17 digits for the interval of a double.
 * Source: G. Steele, J. White, How to print floating-point numbers accurately, PLDI 1990 (free-format algorithm), with
 * R. Burger, R. Dybvig, PLDI 1996, for the estimate of the first digit's place.
 */
struct tl_decimal tl__shortest(const struct tl_interval *interval);

#endif
