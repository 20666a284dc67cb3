/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a scheduler that the chip swimlane records at level 3. */
#ifndef TL_DEVICE_PHASES_H
#define TL_DEVICE_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/swimlane_record.h"

#define TL_PHASES_PENDING 32u
#define TL_PHASES_SPARE 4u /* of these; what the completion of one task and the rest of the step may add */

/* Phases of a scheduler that are not in their lane yet, and what the current one has counted. */
struct tl_phases {
    uint32_t count, flushed;
    uint32_t steps, tasks, pop_hit, pop_miss;
    struct tl_wire_phase pending[TL_PHASES_PENDING];
};

/* Whether the phases of one more step fit. */
static inline bool tl__phases_fit(const struct tl_phases *p)
{
    return p->count <= TL_PHASES_PENDING - TL_PHASES_SPARE;
}

#endif
