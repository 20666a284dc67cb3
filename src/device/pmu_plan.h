/* SPDX-License-Identifier: Apache-2.0 */
/* The PMU of one run. */
#ifndef TL_DEVICE_PMU_PLAN_H
#define TL_DEVICE_PMU_PLAN_H

#include "arch/pmu_set.h"
#include "device/counter_ops.h"

/* What this run counts, and where each column of the event type comes from. */
struct tl_pmu_plan {
    const struct tl_pmu_set *set;     /* NULL: nothing is counted */
    const struct tl_counter_ops *ops; /* NULL: the machine gives nothing */
    const char *names[1 + TL_PMU_MAX_MACHINE];
    unsigned n_names;
    uint8_t event[TL_PMU_MAX_COUNTERS], less[TL_PMU_MAX_COUNTERS]; /* by column; positions in names; 0: none */
    uint16_t measured;                                             /* bit: column that the machine gives */
    uint8_t machine;                                               /* enum tl_wire_machine */
};

#endif
