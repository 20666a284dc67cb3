/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/rank_board.h"

#include <string.h>

#include "base/env.h"

#define LOOKS 1000

void tl__rank_slot_write(struct tl_rank_slot *slot, const struct tl_rank_note *note)
{
    uint64_t words[TL_NOTE_WORDS], count = tl_load_rlx(&slot->count) | 1; /* relaxed: nobody else writes it */

    memcpy(words, note, sizeof(words));
    tl_store_rlx(&slot->count, count);
    tl_fence_rel(); /* N1: the odd count before the words */
    for (size_t i = 0; i < TL_NOTE_WORDS; i++)
        tl_store_rlx(&slot->words[i], words[i]); /* relaxed: the count orders them */
    tl_store_rel(&slot->count, count + 1);       /* N1 */
}

bool tl__rank_slot_read(struct tl_rank_slot *slot, struct tl_rank_note *ret_note)
{
    uint64_t words[TL_NOTE_WORDS], before, after;
    bool whole = false;

    for (unsigned look = 0; look < LOOKS && !whole; look++) {
        before = tl_load_acq(&slot->count); /* N2 */
        for (size_t i = 0; i < TL_NOTE_WORDS; i++)
            words[i] = tl_load_rlx(&slot->words[i]); /* relaxed: the count orders them */
        tl_fence_acq();                              /* N2: the words before the second look at the count */
        after = tl_load_rlx(&slot->count);
        whole = before == after && before % 2 == 0;
        if (!whole)
            tl__relax();
    }
    memcpy(ret_note, words, sizeof(*ret_note));
    ret_note->waits[sizeof(ret_note->waits) - 1] = '\0';
    return whole;
}
