/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text, fast and independent of the locale. Each function writes to `to` without a final zero and returns
 * the number of bytes, at most TL_NUMBER_BYTES. Any thread.
 *
 * Floats are written with the fewest digits that read back as the same value of their own type, laid out as
 * Python's repr does: 0.1, 100.0, 1e-05, 1.5e+16. NaN and the infinities are NaN, Infinity, -Infinity.
 */
#ifndef TL_BASE_NUMBER_H
#define TL_BASE_NUMBER_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define TL_NUMBER_BYTES 32

size_t tl__print_u64(char *to, uint64_t value);
size_t tl__print_i64(char *to, int64_t value);
/* A type that float holds: its significant bits, the hidden one included, and the exponent of its smallest step. */
struct tl_float_type {
    int bits, ulp_exponent_min;
};
extern const struct tl_float_type tl__float32;
/* Of all texts that read back, through float or through double, one of the fewest digits and of these the nearest.
 * Whole numbers below 2^24 are written in full, which takes no more room. */
size_t tl__print_float(char *to, float value, const struct tl_float_type *type);
size_t tl__print_f32(char *to, float value);
size_t tl__print_f64(char *to, double value);
/* The nearest number of `digits` (1..17) digits, with a '~' in front and without ".0" where it is not the value itself.
 */
size_t tl__print_rounded(char *to, double value, int digits);
/* "0x" and all `digits` (at most 16) lower-case digits. */
size_t tl__print_hex(char *to, uint64_t value, unsigned digits);

/* The number that is all of `text`: decimal digits that fit into 64 bits; or 1 to 16 hexadecimal ones. False: it is
 * none.
 */
bool tl__read_u64(const char *text, size_t bytes, uint64_t *ret_value);
bool tl__read_hex(const char *text, size_t bytes, uint64_t *ret_value);

#define TL_READ_DIGITS_MAX 800
/* The number that is all of `text`: an optional minus, digits with a point in any locale, an optional exponent. False:
 * it is none, or has more digits than that. */
bool tl__read_f64(const char *text, size_t bytes, double *ret_value);

#endif
