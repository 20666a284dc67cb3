/* SPDX-License-Identifier: Apache-2.0 */
#include "device/ready.h"

#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "device/slot.h"

int tl__ready_init(struct tl_ready *q, uint64_t capacity)
{
    assert(capacity >= 2 && (capacity & (capacity - 1)) == 0); /* DI8 */
    memset(q, 0, sizeof(*q));
    q->cells = tl__reserve(capacity * sizeof(*q->cells));
    if (q->cells == NULL)
        return TL_ENOMEM;
    q->mask = capacity - 1;
    for (uint64_t i = 0; i < capacity; i++)
        tl_store_rlx(&q->cells[i].seq, i); /* relaxed: no other thread has the queue yet */
    return 0;
}

void tl__ready_fini(struct tl_ready *q)
{
    if (q->cells != NULL)
        tl__release(q->cells, (q->mask + 1) * sizeof(*q->cells));
    memset(q, 0, sizeof(*q));
}

bool tl__ready_push(struct tl_ready *q, struct tl_slot *slot)
{
    uint64_t pos = tl_load_rlx(&q->tail); /* relaxed: the CAS validates it */

    for (;;) {
        struct tl_ready_cell *cell = &q->cells[pos & q->mask];
        uint64_t seq = tl_load_acq(&cell->seq); /* Q2: the last consumer has read the cell; pairs with pop's store */
        int64_t turn = (int64_t)(seq - pos);

        if (turn == 0) {
            if (tl_cas_acq_rel(&q->tail, &pos, pos + 1)) {      /* Q3: claims the position */
                assert(pos - tl_load_rlx(&q->head) <= q->mask); /* DI8; relaxed: Q2 has shown that much of it */
                cell->slot = slot;
                tl_store_rel(&cell->seq, pos + 1); /* Q1: publishes the slot; pairs with pop's load */
                return true;
            }
        } else if (turn < 0) {
            return false;
        } else {
            pos = tl_load_rlx(&q->tail);
        }
    }
}

struct tl_slot *tl__ready_pop(struct tl_ready *q)
{
    uint64_t pos = tl_load_rlx(&q->head); /* relaxed: the CAS validates it */

    for (;;) {
        struct tl_ready_cell *cell = &q->cells[pos & q->mask];
        uint64_t seq = tl_load_acq(&cell->seq); /* Q1: the slot; pairs with push's store */
        int64_t turn = (int64_t)(seq - (pos + 1));

        if (turn == 0) {
            if (tl_cas_acq_rel(&q->head, &pos, pos + 1)) { /* Q3: claims the position */
                struct tl_slot *slot = cell->slot;

                assert(slot != NULL && pos != tl_load_rlx(&q->tail)); /* DI8; relaxed: Q1 has shown that much of it */
                tl_store_rel(&cell->seq, pos + q->mask + 1); /* Q2: gives the cell back; pairs with push's load */
                return slot;
            }
        } else if (turn < 0) {
            return NULL;
        } else {
            pos = tl_load_rlx(&q->head);
        }
    }
}
