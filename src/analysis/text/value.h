/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements as text, for people and for files that are compared: integers in full; floats as tensor/element.h writes
 * them, in all texts and JSON alike; nan, inf, -inf; true and false for a BOOL of 1 and 0. Pure; any thread.
 */
#ifndef TL_ANALYSIS_VALUE_H
#define TL_ANALYSIS_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

#define TL_VALUE_BYTES 32

/* Element `i` of the dense array `data` of a known dtype; writes at most TL_VALUE_BYTES, no NUL, returns how many. */
size_t tl__value_text(char *to, unsigned dtype, const void *data, uint64_t i);
/* The same as a JSON value; "NaN", "Infinity" and "-Infinity" are strings. */
void tl__value_json(struct tl_json *json, unsigned dtype, const void *data, uint64_t i);

#endif
