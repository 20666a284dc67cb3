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
#include <stdint.h>

#define TL_NUMBER_BYTES 32

size_t tl__print_u64(char *to, uint64_t value);
size_t tl__print_i64(char *to, int64_t value);
size_t tl__print_f32(char *to, float value);
size_t tl__print_f64(char *to, double value);
/* "0x" and all `digits` (at most 16) lower-case digits. */
size_t tl__print_hex(char *to, uint64_t value, unsigned digits);

#endif
