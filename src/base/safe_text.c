/* SPDX-License-Identifier: Apache-2.0 */
#include "base/safe_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/count_of.h"
#include "base/hash.h"

#define PIECE_BYTES 32 /* of one character in any form */
#define DOTS_BYTES 3u
#define HASH_BYTES 9u /* "~1234abcd" */

static const char hex[] = "0123456789abcdef";

size_t tl__utf8_bytes(const char *text, size_t left)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char lead = at[0], low = 0x80, high = 0xBF;
    size_t bytes = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;

    if (bytes == 0 || bytes > left)
        return 0;
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < bytes; i++) {
        if (at[i] < low || at[i] > high)
            return 0;
        low = 0x80;
        high = 0xBF;
    }
    return bytes;
}

uint32_t tl__utf8_code(const char *text, size_t bytes)
{
    uint32_t code = (unsigned char)text[0];

    if (bytes > 1)
        code &= 0xffu >> (bytes + 1);
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    return code;
}

/* Controls, line separators, marks of direction, characters without width, language tags, noncharacters. The joiners
 * U+200C and U+200D belong to the spelling of some languages. */
static bool is_unsafe(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},     {0x180e, 0x180e},
        {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0xfdd0, 0xfdef},
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff},
    };

    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

size_t tl__printable_bytes(const char *text, size_t left)
{
    size_t bytes;

    if (*text >= 0x20 && *text < 0x7f)
        return 1;
    bytes = tl__utf8_bytes(text, left);
    return bytes > 0 && !is_unsafe(tl__utf8_code(text, bytes)) ? bytes : 0;
}

struct from {
    const char *text;
    size_t bytes, at;
};

static size_t put_hex(char *to, const char *lead, uint32_t value, unsigned digits)
{
    size_t n = strlen(lead);

    memcpy(to, lead, n);
    while (digits-- > 0)
        to[n++] = hex[value >> digits * 4 & 15u];
    return n;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* The letters behind a backslash of the visible form. */
static bool begins_escape(const struct from *f)
{
    size_t next = f->at + 1;

    if (next == f->bytes)
        return false;
    return strchr("\\xuUnrt", f->text[next]) != NULL || tl__printable_bytes(f->text + next, f->bytes - next) == 0 ||
           (f->text[next] == ' ' && next + 1 == f->bytes);
}

/* The character at f->at by its number. */
static size_t put_number(char *to, const struct from *f, size_t *ret_taken)
{
    size_t bytes = tl__utf8_bytes(f->text + f->at, f->bytes - f->at);
    uint32_t code = bytes > 0 ? tl__utf8_code(f->text + f->at, bytes) : (unsigned char)f->text[f->at];
    const char *named = code != 0 && bytes == 1 ? strchr("\nn\rr\tt", (int)code) : NULL;

    *ret_taken = bytes > 0 ? bytes : 1;
    if (named != NULL) {
        to[0] = '\\';
        to[1] = named[1];
        return 2;
    }
    if (bytes <= 1)
        return put_hex(to, "\\x", code, 2);
    return code > 0xffff ? put_hex(to, "\\U", code, 8) : put_hex(to, "\\u", code, 4);
}

/* The next character in the visible form. */
static size_t put_visible(char *to, const struct from *f, bool name, size_t *ret_taken)
{
    const char *c = f->text + f->at;
    size_t bytes = tl__printable_bytes(c, f->bytes - f->at);

    *ret_taken = bytes;
    if (bytes == 0)
        return put_number(to, f, ret_taken);
    if (*c == ' ' && name && (f->at == 0 || f->at + 1 == f->bytes)) {
        memcpy(to, "\\x20", 4);
        return 4;
    }
    if (*c == '\\' && name && begins_escape(f)) {
        memcpy(to, "\\\\", 2);
        return 2;
    }
    memcpy(to, c, bytes);
    return bytes;
}

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Whether Markdown would take the character for its own. An underscore inside a word is none of its. */
static bool is_markdown(const struct from *f)
{
    char c = f->text[f->at];

    if (c == '_')
        return f->at == 0 || f->at + 1 == f->bytes || !is_word(f->text[f->at - 1]) || !is_word(f->text[f->at + 1]);
    return c != '\0' && strchr("`*[]|~", c) != NULL;
}

/* The visible form, as the language around it needs it. */
static size_t put_quoted(char *to, enum tl_safe form, const struct from *f, const char *visible, size_t n)
{
    size_t out = 0;

    for (size_t i = 0; i < n; i++) {
        const char *entity = form == TL_SAFE_DOT && visible[i] != '&' ? NULL : entity_of(visible[i]);

        if (form == TL_SAFE_MARKDOWN && (visible[i] == '"' || visible[i] == '\''))
            entity = NULL;
        if (entity != NULL) {
            memcpy(to + out, entity, strlen(entity));
            out += strlen(entity);
            continue;
        }
        if ((form == TL_SAFE_DOT && (visible[i] == '"' || visible[i] == '\\')) ||
            (form == TL_SAFE_MARKDOWN && (visible[i] == '\\' || (n == 1 && is_markdown(f)))))
            to[out++] = '\\';
        to[out++] = visible[i];
    }
    return out;
}

/* Letters of other alphabets stay; what a shell or a file system may take for its own does not. */
static size_t put_file(char *to, const struct from *f, size_t *ret_taken)
{
    const char *c = f->text + f->at;
    size_t bytes = tl__printable_bytes(c, f->bytes - f->at);

    *ret_taken = bytes > 0 ? bytes : 1;
    if (bytes > 1 || (bytes == 1 && (is_word(*c) || strchr("-_+=,@", *c) != NULL || (*c == '.' && f->at > 0)))) {
        memcpy(to, c, bytes);
        return bytes;
    }
    return put_hex(to, "%", (unsigned char)*c, 2);
}

static size_t put_next(char *to, enum tl_safe form, const struct from *f, size_t *ret_taken)
{
    char visible[PIECE_BYTES];
    size_t n;

    if (form == TL_SAFE_FILE)
        return put_file(to, f, ret_taken);
    if (form == TL_SAFE_NAME || form == TL_SAFE_LINE)
        return put_visible(to, f, form == TL_SAFE_NAME, ret_taken);
    n = put_visible(visible, f, false, ret_taken);
    return put_quoted(to, form, f, visible, n);
}

static bool is_name(enum tl_safe form)
{
    return form == TL_SAFE_NAME || form == TL_SAFE_FILE;
}

/* "...~1234abcd" of a name, "~1234abcd" of a file's, else "...". */
static size_t put_mark(char *to, enum tl_safe form, const char *text, size_t bytes)
{
    size_t n = form == TL_SAFE_FILE ? 0 : DOTS_BYTES;

    memcpy(to, "...", n);
    return is_name(form) ? n + put_hex(to + n, "~", (uint32_t)tl__hash64(text, bytes), 8) : n;
}

size_t tl__safe_text(char *to, size_t size, enum tl_safe form, const char *text, size_t bytes)
{
    struct from f = {text, bytes, 0};
    const size_t mark = DOTS_BYTES + (is_name(form) ? HASH_BYTES : 0);
    size_t used = 0, fits = 0; /* bytes behind which the mark still has room */

    while (f.at < bytes) {
        char piece[PIECE_BYTES];
        size_t taken, n = put_next(piece, form, &f, &taken);

        if (used + n >= size) {
            used = fits + put_mark(to + fits, form, text, bytes);
            break;
        }
        memcpy(to + used, piece, n);
        used += n;
        f.at += taken;
        fits = used + mark < size ? used : fits;
    }
    to[used] = '\0';
    return used;
}

const char *tl__safe(char *to, size_t size, enum tl_safe form, const char *text)
{
    (void)tl__safe_text(to, size, form, text != NULL ? text : "?", text != NULL ? strlen(text) : 1);
    return to;
}

size_t tl__name_cut(char *to, size_t size, const char *name)
{
    size_t bytes = strlen(name), used = 0;

    if (bytes < size) {
        memcpy(to, name, bytes + 1);
        return bytes;
    }
    for (size_t step; used + DOTS_BYTES + HASH_BYTES < size; used += step) {
        step = tl__utf8_bytes(name + used, bytes - used);
        step = step > 0 ? step : 1;
        if (used + step + DOTS_BYTES + HASH_BYTES >= size)
            break;
    }
    memcpy(to, name, used);
    used += put_mark(to + used, TL_SAFE_NAME, name, bytes);
    to[used] = '\0';
    return used;
}
