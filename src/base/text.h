/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text made without stdio, so that a signal handler may make it. What does not fit is cut behind a whole UTF-8
 * character; the text ends with a zero byte after each call.
 *
 * Threads: none of its own; each text belongs to its caller.
 */
#ifndef TL_BASE_TEXT_H
#define TL_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct tl_text {
    char *at; /* the caller's, `size` >= 1 bytes */
    size_t size, used;
};

/* An empty text in memory of the caller's. */
struct tl_text tl__text(char *at, size_t size);
void tl__text_put(struct tl_text *t, const char *more);
void tl__text_dec(struct tl_text *t, uint64_t value);
/* "0x" and at least `digits` (1..16) hexadecimal digits. */
void tl__text_hex(struct tl_text *t, uint64_t value, unsigned digits);

#define TL_TEXT_NO_CODE INT32_MIN
/* "exit(3)"; with TL_TEXT_NO_CODE, of calls that take none, "execve()". */
void tl__text_call(struct tl_text *t, const char *function, int code);

/* Of a source's path (__FILE__, or NULL): its name and its folder's, in place. Enough to find it, and the same wherever
 * the tree lies and from wherever it was built. */
const char *tl__source_name(const char *path);

#endif
