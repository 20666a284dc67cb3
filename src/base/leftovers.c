/* SPDX-License-Identifier: Apache-2.0 */
#include "base/leftovers.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/pathname.h"

#define SLOTS 32

enum state { FREE, TAKEN, LISTED };

static struct {
    tl_au32 state; /* LO1: LISTED publishes the path; pairs with LO2 in tl__leftovers_discard */
    char path[TL_PATHNAME_BYTES];
} slots[SLOTS];

int tl__leftover_add(const char *path)
{
    size_t bytes = strlen(path) + 1;

    for (int i = 0; i < SLOTS && bytes <= TL_PATHNAME_BYTES; i++) {
        uint32_t was = FREE;

        if (!tl_cas_acq_rel(&slots[i].state, &was, (uint32_t)TAKEN)) /* LO3: from whom had it before */
            continue;
        memcpy(slots[i].path, path, bytes);
        tl_store_rel(&slots[i].state, (uint32_t)LISTED); /* LO1: pairs with LO2 */
        return i;
    }
    return -1;
}

void tl__leftover_remove(int number)
{
    if (number >= 0)
        tl_store_rel(&slots[number].state, (uint32_t)FREE); /* LO3: to whom takes it next; pairs with itself */
}

void tl__leftovers_discard(void)
{
    for (int i = SLOTS - 1; i >= 0; i--) {
        if (tl_load_acq(&slots[i].state) != LISTED) /* LO2: the path; pairs with LO1 */
            continue;
        if (unlink(slots[i].path) != 0)
            (void)rmdir(slots[i].path);
    }
}
