/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that come again and again, each kept once and named by its number. One thread per object. */
#ifndef TL_ANALYSIS_WORDS_H
#define TL_ANALYSIS_WORDS_H

#include "analysis/text/rendering.h"

struct tl_words {
    struct tl_rendering text; /* all of them, side by side; data is ours */
    uint32_t *end;            /* of word i in the text */
    uint32_t count, room;
    uint32_t *slots, slot_mask; /* open addressing: number + 1, or 0 */
};

/* All zero is an empty set. The number of the text, new or known; UINT32_MAX: out of memory, or four billion bytes. */
uint32_t tl__words_add(struct tl_words *w, const char *text, size_t bytes);
/* Borrowed until the next call; not NUL-terminated. */
const char *tl__words_get(const struct tl_words *w, uint32_t number, size_t *ret_bytes);
void tl__words_fini(struct tl_words *w);

#endif
