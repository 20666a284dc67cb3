/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and messages made safe for what they are written into: the one place for it. A kernel's name, a case, a path
 * or a string of a recording may hold any bytes; on a terminal an escape sequence, a newline or a mark that reverses
 * the writing direction would change more than its own place. Pure; any thread; no locale.
 *
 * In the visible form a byte or character that must not be written is shown by its number: \x1b for a control
 * character and for a byte that is no UTF-8, \n, \r and \t, \u202e for a character that controls the direction or has
 * no width, \x20 for a blank at either end. A backslash that could be read as the begin of one of these is doubled, so
 * that two distinct names stay distinct. JSON needs none of it: base/json.h escapes by JSON's own rules.
 */
#ifndef TL_BASE_SAFE_TEXT_H
#define TL_BASE_SAFE_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum tl_safe {
    TL_SAFE_NAME, /* a name on a terminal or in a text file: the visible form */
    /* A whole line whose names are in the visible form already: what is not safe is shown, no backslash or blank is
     * changed. Then the same as a part of a language: */
    TL_SAFE_LINE,
    TL_SAFE_MARKDOWN, /* text of a cell or a paragraph */
    TL_SAFE_HTML,     /* text, or the value of an attribute */
    TL_SAFE_DOT,      /* between the quotes of a string of the dot language */
    TL_SAFE_FILE,     /* part of a file's name: %2f for all but letters, digits, -_+=,@. and for a dot in front */
};

#define TL_SHOWN_BYTES 1024 /* of a name in a line: longer ones are cut */
#define TL_SAFE_GROWTH 6u   /* bytes that one byte can become */

/*
 * Writes `text` in that form to `to`, at most `size` - 1 (`size` >= 32) bytes and a NUL; returns the bytes. What does
 * not fit is cut between two characters and ends with "..."; a name that is cut ends with "...~" (a file's with "~")
 * and eight hexadecimal digits of the whole one's hash, so that two long names stay distinct.
 */
size_t tl__safe_text(char *to, size_t size, enum tl_safe form, const char *text, size_t bytes);
/* The same of a NUL-terminated text (NULL: "?"), for an argument of printf; returns `to`. */
const char *tl__safe(char *to, size_t size, enum tl_safe form, const char *text);
/* Copies a name as it is, for a format that escapes by itself; cut as above when it is too long. Returns the bytes. */
size_t tl__name_cut(char *to, size_t size, const char *name);

/* Bytes of the UTF-8 character at `text`, of which `left` > 0 are there; 0: there is none (RFC 3629: no overlong forms,
 * no surrogates). */
size_t tl__utf8_bytes(const char *text, size_t left);
/* The number of such a character. */
uint32_t tl__utf8_code(const char *text, size_t bytes);
/* As tl__utf8_bytes for a character that is safe to write anywhere: neither a control nor one that changes the
 * direction. */
size_t tl__printable_bytes(const char *text, size_t left);

#endif
