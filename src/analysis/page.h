/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that a rendering makes: kept in a growing buffer, or handed on in pieces to a sink. The first error sticks and
 * the puts after it do nothing, so that a rendering looks once, at its end. One thread per object.
 */
#ifndef TL_ANALYSIS_PAGE_H
#define TL_ANALYSIS_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/safe_text.h"

/* Takes `n` bytes. 0, or a negative code that stops the rendering. */
typedef int (*tl_page_sink)(void *ctx, const char *bytes, size_t n);

struct tl_page {
    char *data; /* ours; not NUL-terminated */
    size_t used, room;
    size_t easy; /* a put that ends before here needs no look */
    int error;   /* first TL_E code */
    tl_page_sink sink;
    void *ctx;
};

/* NULL `sink`: everything stays in data[0..used). Allocates nothing yet. */
void tl__page_init(struct tl_page *t, tl_page_sink sink, void *ctx);
/* Hands on what is left, and returns the error, if any. */
int tl__page_end(struct tl_page *t);
/* Frees; the object may be initialised again. */
void tl__page_fini(struct tl_page *t);

/* At least `n` further bytes at the returned place, or NULL after an error. The caller adds to `used` what it wrote. */
char *tl__page_room(struct tl_page *t, size_t n);
void tl__put_slowly(struct tl_page *t, const void *bytes, size_t n);
/* Inline, because a cell is a few bytes and a list has millions of them. */
static inline void tl__put(struct tl_page *t, const void *bytes, size_t n)
{
    if (t->used + n >= t->easy) {
        tl__put_slowly(t, bytes, n);
        return;
    }
    memcpy(t->data + t->used, bytes, n);
    t->used += n;
}
void tl__put_fill(struct tl_page *t, char c, size_t n);
void tl__put_format(struct tl_page *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tl__put_u64(struct tl_page *t, uint64_t value);
/* Text of unknown content in a form of base/safe_text.h, whole. */
void tl__put_safe(struct tl_page *t, enum tl_safe form, const char *text, size_t bytes);

/* What a noun has behind a number. */
static inline const char *tl__plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* A kernel's name, a case, a path: the visible form. */
static inline void tl__put_name(struct tl_page *t, const char *name)
{
    tl__put_safe(t, TL_SAFE_NAME, name, strlen(name));
}

static inline void tl__put_str(struct tl_page *t, const char *text)
{
    tl__put(t, text, strlen(text));
}

#endif
