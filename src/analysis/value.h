/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements as text, for people and for files that are compared: integers in full; floats with the fewest digits that
 * read back as the same float32, float16 and bfloat16 as the same value of their own dtype (0.1, not 0.09997559) unless
 * the exact one is short; nan, inf, -inf; true and false for a BOOL of 1 and 0. Pure; any thread.
 */
#ifndef TL_ANALYSIS_VALUE_H
#define TL_ANALYSIS_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

#define TL_VALUE_BYTES 32

/* Element `i` of the dense array `data` of a known dtype; writes at most TL_VALUE_BYTES, no NUL, returns how many. */
size_t tl__value_text(char *to, unsigned dtype, const void *data, uint64_t i);
/* The same as a JSON value; floats as float32, which holds them all exactly; NaN and Inf as strings. */
void tl__value_json(struct tl_json *json, unsigned dtype, const void *data, uint64_t i);

#endif
