/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/words.h"

#include <stdbool.h>

#include "base/env.h"
#include "base/hash.h"

const char *tl__words_get(const struct tl_words *w, uint32_t number, size_t *ret_bytes)
{
    uint32_t begin = number > 0 ? w->end[number - 1] : 0;

    *ret_bytes = w->end[number] - begin;
    return w->text.data + begin;
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *slot_of(const struct tl_words *w, const char *text, size_t bytes)
{
    uint32_t at = (uint32_t)tl__hash64(text, bytes) & w->slot_mask;

    for (; w->slots[at] != 0; at = (at + 1) & w->slot_mask) {
        size_t n;
        const char *known = tl__words_get(w, w->slots[at] - 1, &n);

        if (n == bytes && (n == 0 || memcmp(known, text, n) == 0))
            break;
    }
    return &w->slots[at];
}

/* Room for one more, and slots that are at most half full. */
static bool grow(struct tl_words *w)
{
    uint32_t room = w->room == 0 ? 64 : w->room * 2;
    uint32_t *end, *slots;

    if (w->count < w->room)
        return true;
    if (room > UINT32_MAX / 4)
        return false;
    end = tl__realloc(w->end, room * sizeof(*end));
    if (end == NULL)
        return false;
    w->end = end;
    slots = tl__alloc(2 * (size_t)room, sizeof(*slots));
    if (slots == NULL)
        return false;
    tl__free(w->slots);
    w->slots = slots;
    w->slot_mask = 2 * room - 1;
    w->room = room;
    for (uint32_t i = 0; i < w->count; i++) {
        size_t n;
        const char *text = tl__words_get(w, i, &n);

        *slot_of(w, text, n) = i + 1;
    }
    return true;
}

uint32_t tl__words_add(struct tl_words *w, const char *text, size_t bytes)
{
    uint32_t *slot;

    if (w->text.room == 0 && w->count == 0)
        tl__rendering_init(&w->text, NULL, NULL);
    if (bytes > UINT32_MAX - 1 - w->text.used || !grow(w))
        return UINT32_MAX;
    slot = slot_of(w, text, bytes);
    if (*slot != 0)
        return *slot - 1;
    tl__put(&w->text, text, bytes);
    if (w->text.error != 0)
        return UINT32_MAX;
    w->end[w->count++] = (uint32_t)w->text.used;
    *slot = w->count;
    return w->count - 1;
}

void tl__words_fini(struct tl_words *w)
{
    tl__rendering_fini(&w->text);
    tl__free(w->end);
    tl__free(w->slots);
    *w = (struct tl_words){0};
}
