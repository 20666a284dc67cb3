/* SPDX-License-Identifier: Apache-2.0 */
/* The record of the PMU stream: what one core counted while it ran one subtask of a task. */
#ifndef TL_WIRE_PMU_RECORD_H
#define TL_WIRE_PMU_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define TL_WIRE_PMU_COUNTERS 10u

/* What the run got from the counters of the machine that simulates the chip. */
enum tl_wire_machine {
    TL_MACHINE_USED,      /* at least one column is measured */
    TL_MACHINE_NOT_ASKED, /* no column of the event type can be measured */
    TL_MACHINE_ABSENT,    /* it has none, or not these */
    TL_MACHINE_DENIED,    /* the system does not let this process count */
    TL_MACHINE_NO_NAMES,  /* the library that knows events by name is not installed */
    TL_MACHINE_FAILED,    /* the system refused for another reason */
    TL_MACHINE_COUNT
};

struct tl_wire_pmu {
    uint64_t task_id;
    uint64_t total_cycles;                   /* the device's clock, around the kernel */
    uint64_t counters[TL_WIRE_PMU_COUNTERS]; /* by column of the event type's set; 0 if not measured */
    int32_t func_id;
    uint32_t block;
    uint32_t core_id;
    uint16_t measured; /* bit: column that the machine measured; the others are the model's */
    uint8_t core_type; /* 0 AIC, 1 AIV */
    uint8_t event;     /* event type */
    uint8_t counted;   /* 1: the kernel reported by tl_count, so the model has input */
    uint8_t machine;   /* enum tl_wire_machine */
    uint8_t reserved[6];
};
_Static_assert(sizeof(struct tl_wire_pmu) == 120, "fixed layout");
_Static_assert(offsetof(struct tl_wire_pmu, counters) == 16, "read by the peer");
_Static_assert(offsetof(struct tl_wire_pmu, func_id) == 96, "read by the peer");
_Static_assert(offsetof(struct tl_wire_pmu, measured) == 108, "read by the peer");
_Static_assert(offsetof(struct tl_wire_pmu, counted) == 112, "read by the peer");

#endif
