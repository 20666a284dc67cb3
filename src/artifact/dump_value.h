/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a scalar argument as text, both ways, exactly. Pure; any thread. */
#ifndef TL_ARTIFACT_DUMP_VALUE_H
#define TL_ARTIFACT_DUMP_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

/* Writes `bits`, typed by `dtype`, as a JSON value, without a NUL; returns its length, at most TL_NUMBER_BYTES + 2.
 * Integers in full, floats so that they read back the same, NaN and Inf as strings, bools as true and false. The
 * payload bits of a NaN are not kept. An unknown dtype is written as an unsigned integer. */
size_t tl__dump_value_text(char *to, unsigned dtype, uint64_t bits);

#define TL_VALUE_TEXT_MAX 128 /* with its NUL; longer ones are refused */

enum tl_value_form { TL_VALUE_NUMBER, TL_VALUE_STRING, TL_VALUE_TRUE, TL_VALUE_FALSE };

/* The inverse. `text` is NUL-terminated: the number, or the string's content. 0, or TL_EPARSE: not a value of this
 * dtype. */
int tl__dump_value_parse(unsigned dtype, enum tl_value_form form, const char *text, uint64_t *ret_bits);

#endif
