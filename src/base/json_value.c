/* SPDX-License-Identifier: Apache-2.0 */
/* Typed values of a part of a JSON document (json_tape.h). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_tape.h"
#include "base/number.h"

#define SHOWN 40 /* bytes of a value that a message repeats */

static const char *text_of(const struct tl_tape *tape, uint32_t at)
{
    return tape->text + tape->tokens[at].start;
}

/* The part itself is at TL_TAPE_ABSENT too: it is meant where no field is named. */
static bool is(const struct tl_tape *tape, uint32_t at, const char *field, enum tl_tape_type type)
{
    return (at != TL_TAPE_ABSENT || field == NULL) && tape->tokens[at].type == type;
}

static bool is_numeric(const struct tl_tape *tape, uint32_t at, const char *field)
{
    return is(tape, at, field, TL_TAPE_NUMBER) || is(tape, at, field, TL_TAPE_STRING);
}

int tl__tape_fields(struct tl_tape *tape, uint32_t at, const char *field, const char *const *names, unsigned count,
                    uint32_t *ret_at)
{
    unsigned expected = 0; /* writers keep one order: the member after the last one is tried first */

    if (!is(tape, at, field, TL_TAPE_OBJECT))
        return tl__tape_fail_type(tape, at, field, "an object");
    memset(ret_at, 0, count * sizeof(*ret_at));
    for (uint32_t key = at + 1; key < tape->tokens[at].next; key = tape->tokens[key + 1].next) {
        const char *text = text_of(tape, key);

        for (unsigned i = 0; i < count; i++) {
            unsigned n = expected + i < count ? expected + i : expected + i - count;

            if (strcmp(names[n], text) == 0 && strlen(names[n]) == tape->tokens[key].length) {
                ret_at[n] = key + 1;
                expected = n + 1 < count ? n + 1 : 0;
                break;
            }
        }
    }
    return 0;
}

int tl__tape_array(struct tl_tape *tape, uint32_t at, const char *field, uint32_t *ret_count)
{
    if (!is(tape, at, field, TL_TAPE_ARRAY))
        return tl__tape_fail_type(tape, at, field, "an array");
    *ret_count = tape->tokens[at].length;
    return 0;
}

/* ---- numbers ---- */

/* 5e7 and 50000000.0 are whole too; a double holds them exactly below 2^53. */
static bool whole_double(const char *text, uint64_t *ret_value)
{
    double value;

    if (!tl__read_f64(text, strlen(text), &value) || !(value >= 0 && value < 0x1p53))
        return false;
    *ret_value = (uint64_t)value;
    return (double)*ret_value == value;
}

/* The magnitude of the number at `at`. */
static bool magnitude(const struct tl_tape *tape, uint32_t at, bool *ret_negative, uint64_t *ret_value)
{
    const char *text = text_of(tape, at);

    *ret_negative = *text == '-';
    text += *ret_negative;
    if (tape->tokens[at].type == TL_TAPE_NUMBER)
        return tl__read_u64(text, strlen(text), ret_value) ||
               (strpbrk(text, ".eE") != NULL && whole_double(text, ret_value));
    if (strlen(text) + *ret_negative != tape->tokens[at].length)
        return false; /* a zero byte within */
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return tl__read_hex(text + 2, strlen(text + 2), ret_value);
    return tl__read_u64(text, strlen(text), ret_value);
}

int tl__tape_u64(struct tl_tape *tape, uint32_t at, const char *field, uint64_t max, uint64_t *ret_value)
{
    bool negative = false;
    uint64_t value = 0;

    if (!is_numeric(tape, at, field))
        return tl__tape_fail_type(tape, at, field, "a number");
    if (!magnitude(tape, at, &negative, &value) || value > max || (negative && value != 0))
        return tl__tape_fail(tape, TL_EPARSE, field, "expected an integer from 0 to %llu, found %.*s",
                             (unsigned long long)max, SHOWN, text_of(tape, at));
    *ret_value = value;
    return 0;
}

int tl__tape_u32(struct tl_tape *tape, uint32_t at, const char *field, uint32_t *ret_value)
{
    uint64_t value = 0;
    int code = tl__tape_u64(tape, at, field, UINT32_MAX, &value);

    if (code == 0)
        *ret_value = (uint32_t)value;
    return code;
}

int tl__tape_i32(struct tl_tape *tape, uint32_t at, const char *field, int32_t *ret_value)
{
    bool negative = false;
    uint64_t value = 0;

    if (!is_numeric(tape, at, field))
        return tl__tape_fail_type(tape, at, field, "a number");
    if (!magnitude(tape, at, &negative, &value) || value > (uint64_t)INT32_MAX + negative)
        return tl__tape_fail(tape, TL_EPARSE, field, "expected an integer from %d to %d, found %.*s", INT32_MIN,
                             INT32_MAX, SHOWN, text_of(tape, at));
    *ret_value = (int32_t)(negative ? -(int64_t)value : (int64_t)value);
    return 0;
}

int tl__tape_i64(struct tl_tape *tape, uint32_t at, const char *field, int64_t *ret_value)
{
    bool negative = false;
    uint64_t value = 0;

    if (!is_numeric(tape, at, field))
        return tl__tape_fail_type(tape, at, field, "a number");
    if (!magnitude(tape, at, &negative, &value) || value > INT64_MAX) /* the least of all is no value of ours */
        return tl__tape_fail(tape, TL_EPARSE, field, "expected an integer of 63 bits, found %.*s", SHOWN,
                             text_of(tape, at));
    *ret_value = negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

/* ---- the rest ---- */

int tl__tape_bool(struct tl_tape *tape, uint32_t at, const char *field, bool *ret_value)
{
    if (!is(tape, at, field, TL_TAPE_TRUE) && !is(tape, at, field, TL_TAPE_FALSE))
        return tl__tape_fail_type(tape, at, field, "a bool");
    *ret_value = tape->tokens[at].type == TL_TAPE_TRUE;
    return 0;
}

int tl__tape_string(struct tl_tape *tape, uint32_t at, const char *field, const char **ret_text, size_t *ret_length)
{
    if (!is(tape, at, field, TL_TAPE_STRING))
        return tl__tape_fail_type(tape, at, field, "a string");
    *ret_text = text_of(tape, at);
    *ret_length = tape->tokens[at].length;
    return 0;
}

int tl__tape_text(struct tl_tape *tape, uint32_t at, const char *field, char *to, size_t size)
{
    const char *text = "";
    size_t length = 0;
    int code = tl__tape_string(tape, at, field, &text, &length);

    if (length >= size)
        length = size - 1;
    if (code == 0) {
        memcpy(to, text, length);
        to[length] = '\0';
    }
    return code;
}

int tl__tape_word(struct tl_tape *tape, uint32_t at, const char *field, const char *const *words, unsigned count,
                  unsigned *ret_index)
{
    if (!is(tape, at, field, TL_TAPE_STRING))
        return tl__tape_fail_type(tape, at, field, "a string");
    for (unsigned i = 0; i < count; i++) {
        if (strcasecmp(words[i], text_of(tape, at)) == 0 && strlen(words[i]) == tape->tokens[at].length) {
            *ret_index = i;
            return 0;
        }
    }
    return TL_ENOENT;
}
