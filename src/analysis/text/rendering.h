/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rendering: text that is kept in a growing buffer, or handed on in pieces to a sink. The first error sticks, and
 * later puts do nothing, so that the caller looks once, at the end. One thread per object.
 */
#ifndef TL_ANALYSIS_RENDERING_H
#define TL_ANALYSIS_RENDERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/safe_text.h"

/* Takes `n` bytes. 0, or a negative code that stops the rendering. */
typedef int (*tl_rendering_sink)(void *ctx, const void *bytes, size_t n);

struct tl_rendering {
    char *data; /* ours; not NUL-terminated */
    size_t used, room;
    size_t easy; /* a put that ends before here needs no look */
    int error;   /* first TL_E code */
    tl_rendering_sink sink;
    void *ctx;
};

/* NULL `sink`: everything stays in data[0..used). Allocates nothing yet. */
void tl__rendering_init(struct tl_rendering *t, tl_rendering_sink sink, void *ctx);
/* Hands on what is left, and returns the error, if any. */
int tl__rendering_end(struct tl_rendering *t);
/* Frees; the object may be initialised again. */
void tl__rendering_fini(struct tl_rendering *t);

/* At least `n` further bytes at the returned place, or NULL after an error. The caller adds to `used` what it wrote. */
char *tl__rendering_room(struct tl_rendering *t, size_t n);
void tl__put_slowly(struct tl_rendering *t, const void *bytes, size_t n);
/* Inline, because a cell is a few bytes and a list has millions of them. */
static inline void tl__put(struct tl_rendering *t, const void *bytes, size_t n)
{
    if (t->used + n >= t->easy) {
        tl__put_slowly(t, bytes, n);
        return;
    }
    memcpy(t->data + t->used, bytes, n);
    t->used += n;
}
void tl__put_fill(struct tl_rendering *t, char c, size_t n);
void tl__put_format(struct tl_rendering *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tl__put_u64(struct tl_rendering *t, uint64_t value);
/* Text of unknown content in a form of base/safe_text.h, whole. */
void tl__put_safe(struct tl_rendering *t, enum tl_safe form, const char *text, size_t bytes);

/* What a noun has behind a number. */
static inline const char *tl__plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* A kernel's name, a case, a path: the visible form. */
static inline void tl__put_name(struct tl_rendering *t, const char *name)
{
    tl__put_safe(t, TL_SAFE_NAME, name, strlen(name));
}

static inline void tl__put_str(struct tl_rendering *t, const char *text)
{
    tl__put(t, text, strlen(text));
}

#endif
