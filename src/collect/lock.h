/* SPDX-License-Identifier: Apache-2.0 */
/* A lock for the few words that service threads share: free, held, or held with somebody asleep. Not recursive. */
#ifndef TL_COLLECT_LOCK_H
#define TL_COLLECT_LOCK_H

#include "base/env.h"

struct tl_lock {
    tl_au32 word; /* 0: free; 1: held; 2: held, and somebody may sleep on it */
};

static inline void tl__lock(struct tl_lock *lock)
{
    uint32_t seen = 0;

    if (tl_cas_acq_rel(&lock->word, &seen, 1u)) /* L1: sees what the last holder wrote; pairs with L2 */
        return;
    while (tl_xchg_acq_rel(&lock->word, 2u) != 0) /* L1: likewise */
        (void)tl__park(&lock->word, 2u, TL_FOREVER);
}

static inline void tl__unlock(struct tl_lock *lock)
{
    if (tl_xchg_acq_rel(&lock->word, 0u) == 2u) /* L2: hands over what the holder wrote; pairs with L1 */
        tl__wake(&lock->word, 1);
}

#endif
