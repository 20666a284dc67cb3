/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <string.h>

#include "base/safe_text.h"

struct tl_text tl__text(char *at, size_t size)
{
    at[0] = '\0';
    return (struct tl_text){at, size, 0};
}

/* A cut text ends behind a whole UTF-8 character. */
static void drop_part_of_character(struct tl_text *t)
{
    size_t first = t->used;

    while (first > 0 && t->used - first < 4 && ((unsigned char)t->at[first - 1] & 0xC0u) == 0x80u)
        first--;
    if (first > 0 && (unsigned char)t->at[first - 1] >= 0xC0u &&
        tl__utf8_bytes(t->at + first - 1, t->used - first + 1) == 0)
        t->used = first - 1;
    t->at[t->used] = '\0';
}

void tl__text_put(struct tl_text *t, const char *more)
{
    while (*more != '\0' && t->used + 1 < t->size) {
        t->at[t->used + 1] = '\0'; /* first, so that the text is whole whenever its writer dies */
        t->at[t->used++] = *more++;
    }
    if (*more != '\0')
        drop_part_of_character(t);
}

void tl__text_dec(struct tl_text *t, uint64_t value)
{
    char digits[21];
    unsigned n = sizeof(digits) - 1;

    digits[n] = '\0';
    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    tl__text_put(t, digits + n);
}

void tl__text_hex(struct tl_text *t, uint64_t value, unsigned digits)
{
    char text[19] = "0x";
    unsigned n = 2;

    for (unsigned left = 16; left > 0; left--) {
        unsigned digit = (unsigned)(value >> (left - 1) * 4) & 15u;

        if (digit != 0 || n > 2 || left <= digits)
            text[n++] = "0123456789abcdef"[digit];
    }
    text[n] = '\0';
    tl__text_put(t, text);
}

void tl__text_call(struct tl_text *t, const char *function, int code)
{
    tl__text_put(t, function);
    tl__text_put(t, code < 0 && code != TL_TEXT_NO_CODE ? "(-" : "(");
    if (code != TL_TEXT_NO_CODE)
        tl__text_dec(t, code < 0 ? (uint64_t) - (int64_t)code : (uint64_t)code);
    tl__text_put(t, ")");
}

const char *tl__source_name(const char *path)
{
    size_t at = path != NULL ? strlen(path) : 0;

    for (unsigned slashes = 0; at > 0; at--)
        if (path[at - 1] == '/' && ++slashes == 2)
            break;
    return path != NULL ? path + at : "?";
}
