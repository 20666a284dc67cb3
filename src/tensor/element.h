/* SPDX-License-Identifier: Apache-2.0 */
/* The one way from a float of any dtype to text. Pure; any thread. */
#ifndef TL_TENSOR_ELEMENT_H
#define TL_TENSOR_ELEMENT_H

#include <stddef.h>

/*
 * The shortest text that reads back as the same value of its own dtype, laid out as base/number.h says: float16 0.1,
 * not 0.09997559. A power of two (fp8e8m0) and the few values of fp4e2m1 are written exactly. NaN, Infinity, -Infinity.
 * At most TL_NUMBER_BYTES, no NUL.
 */
size_t tl__float_text(char *to, unsigned dtype, float value);

#endif
