/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of a core, as data: per chip and event type the columns of pmu.csv, and for each column the source of
 * its value. That is one event of the machine that simulates the chip, where that machine counts the same thing; or a
 * model, a weighted sum of what kernels report by tl_count, divided by a stated throughput; or neither.
 */
#ifndef TL_ARCH_PMU_SET_H
#define TL_ARCH_PMU_SET_H

#include <stddef.h>
#include <stdint.h>

#include <tasklens/kernel.h>

#include "arch/arch.h"

#define TL_PMU_MAX_COUNTERS 10u
#define TL_PMU_MAX_TERMS 6u
#define TL_PMU_MAX_MACHINE 6u /* different events of the machine that one set needs */
#define TL_PMU_DEFAULT_EVENT 2u

#define TL_PMU_AIC 1u
#define TL_PMU_AIV 2u
#define TL_PMU_BOTH (TL_PMU_AIC | TL_PMU_AIV)

enum tl_pmu_unit { TL_PMU_CYCLES, TL_PMU_COUNT, TL_PMU_BYTES, TL_PMU_OPS };

struct tl_pmu_term {
    uint8_t what;    /* enum tl_count_class */
    uint8_t cores;   /* TL_PMU_AIC, TL_PMU_AIV: on which it adds */
    uint16_t weight; /* 0: the end of the terms */
};

struct tl_pmu_machine {
    const char *event; /* as libpfm4 names it; NULL: none */
    const char *less;  /* this event is subtracted; NULL: none */
    uint32_t times; /* value = times x (event - less); 0: in core cycles of the machine, converted to device cycles */
};

struct tl_pmu_column {
    const char *name;
    uint8_t unit; /* enum tl_pmu_unit */
    struct tl_pmu_term terms[TL_PMU_MAX_TERMS];
    uint32_t per; /* value = sum of weight x count, divided by this, rounded up; 0: no model */
    struct tl_pmu_machine machine;
    const char *lacking; /* without a model: the reason */
};

struct tl_pmu_set {
    uint32_t event;
    const char *name; /* "PIPE_UTILIZATION" */
    uint32_t n_columns;
    struct tl_pmu_column columns[TL_PMU_MAX_COUNTERS];
};

/* The set of an event type of this chip, or NULL: the event is not defined. */
const struct tl_pmu_set *tl__pmu_set(const struct tl_arch *arch, uint32_t event);
/* The i-th set of the chip, NULL at the end: for messages that list them. */
const struct tl_pmu_set *tl__pmu_set_at(const struct tl_arch *arch, unsigned i);
/* The model's value of a column for one part on a core of kind `core` (enum tl_core). 0 for a column without a model.
 */
uint64_t tl__pmu_model(const struct tl_pmu_column *column, unsigned core, const uint64_t counts[TL_COUNT_CLASSES]);
/* The model as text, as in pmu_meta.json; cut to `size`. Returns `to`. */
const char *tl__pmu_formula(const struct tl_pmu_column *column, char *to, size_t size);
/* "TL_COUNT_MTE2_BYTES" is "mte2_bytes". "unknown" beyond the last. */
const char *tl__pmu_count_name(unsigned what);

#endif
