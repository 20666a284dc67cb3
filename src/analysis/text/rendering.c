/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/rendering.h"

#include <stdarg.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "base/env.h"
#include "base/format.h"
#include "base/number.h"

#define PIECE ((size_t)64 << 10) /* what the sink is given at a time, about */

void tl__rendering_init(struct tl_rendering *t, tl_rendering_sink sink, void *ctx)
{
    *t = (struct tl_rendering){.sink = sink, .ctx = ctx};
}

static void hand_on(struct tl_rendering *t)
{
    if (t->error == 0 && t->used > 0)
        t->error = t->sink(t->ctx, t->data, t->used);
    t->used = 0;
    t->easy = t->error == 0 ? t->easy : 0;
}

int tl__rendering_end(struct tl_rendering *t)
{
    if (t->sink != NULL)
        hand_on(t);
    return t->error;
}

void tl__rendering_fini(struct tl_rendering *t)
{
    tl__free(t->data);
    *t = (struct tl_rendering){0};
}

static char *refuse(struct tl_rendering *t)
{
    t->error = TL_ENOMEM;
    t->easy = 0;
    return NULL;
}

char *tl__rendering_room(struct tl_rendering *t, size_t n)
{
    size_t room = t->room;
    char *grown;

    if (t->sink != NULL && t->used >= PIECE)
        hand_on(t);
    if (t->error != 0)
        return NULL;
    if (n <= room - t->used)
        return t->data + t->used;
    room = room == 0 ? 2 * PIECE : room;
    while (room - t->used < n) {
        if (room > SIZE_MAX / 4)
            return refuse(t);
        room *= 2;
    }
    grown = tl__realloc(t->data, room);
    if (grown == NULL)
        return refuse(t);
    t->data = grown;
    t->room = room;
    t->easy = t->sink == NULL || room < PIECE ? room : PIECE;
    return t->data + t->used;
}

void tl__put_slowly(struct tl_rendering *t, const void *bytes, size_t n)
{
    char *p = tl__rendering_room(t, n);

    if (p == NULL)
        return;
    memcpy(p, bytes, n);
    t->used += n;
}

void tl__put_fill(struct tl_rendering *t, char c, size_t n)
{
    char *p = tl__rendering_room(t, n);

    if (p == NULL)
        return;
    memset(p, c, n);
    t->used += n;
}

void tl__put_u64(struct tl_rendering *t, uint64_t value)
{
    char *p = tl__rendering_room(t, TL_NUMBER_BYTES);

    if (p != NULL)
        t->used += tl__print_u64(p, value);
}

void tl__put_safe(struct tl_rendering *t, enum tl_safe form, const char *text, size_t bytes)
{
    size_t most = bytes <= SIZE_MAX / 8 ? bytes * TL_SAFE_GROWTH + 32 : SIZE_MAX;
    char *p = tl__rendering_room(t, most);

    if (p != NULL)
        t->used += tl__safe_text(p, most, form, text, bytes);
}

void tl__put_format(struct tl_rendering *t, const char *format, ...)
{
    va_list ap, again;
    char *p = tl__rendering_room(t, 256);
    int n;

    if (p == NULL)
        return;
    va_start(ap, format);
    va_copy(again, ap);
    n = tl__vformat(p, 256, format, ap);
    if (n >= 256) {
        p = tl__rendering_room(t, (size_t)n + 1);
        if (p != NULL)
            (void)tl__vformat(p, (size_t)n + 1, format, again);
    }
    va_end(again);
    va_end(ap);
    if (p != NULL && n > 0)
        t->used += (size_t)n;
}
