/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every recording of ring usage that lost nothing. */
#ifndef TL_TESTS_SCOPE_RULES_H
#define TL_TESTS_SCOPE_RULES_H

#include <stdint.h>
#include <string.h>

#include "artifact/scope_stats.h"

/* "", or the rule that does not hold: boundaries nest, a ring's ends only grow, and it never holds more than it can. */
static inline const char *scope_rules(const struct tl_scope_stats *s)
{
    struct tl_ring_span last[TL_SCOPE_MAX_RINGS][TL_RING_RESOURCES];
    uint32_t depth = 0;

    memset(last, 0, sizeof(last));
    for (uint64_t i = 0; i < s->boundaries.count; i++) {
        const struct tl_boundary *b = &s->boundaries.items[i];

        if (b->ends && depth-- == 0)
            return "a scope ends that has not begun";
        if (b->depth != depth || b->ring >= s->n_rings || b->ring > b->depth)
            return "a boundary at the wrong depth or in the wrong ring";
        depth += !b->ends;
        for (unsigned k = 0; k < TL_RING_RESOURCES; k++) {
            struct tl_ring_span *was = &last[b->ring][k];

            if (b->span[k].head < b->span[k].tail || b->span[k].head < was->head || b->span[k].tail < was->tail)
                return "an end of a ring went back";
            if (s->size[k][b->ring] != 0 && b->span[k].head - b->span[k].tail > s->size[k][b->ring])
                return "more in a ring than it holds";
            *was = b->span[k];
        }
    }
    return depth == 0 ? "" : "a scope never ends";
}

#endif
