/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that every pmu.csv has, in the order in which it is written: the counters come before the last. */
#ifndef TL_ARTIFACT_PMU_WORDS_H
#define TL_ARTIFACT_PMU_WORDS_H

enum tl_pmu_fixed {
    TL_PMU_THREAD_ID,
    TL_PMU_CORE_ID,
    TL_PMU_TASK_ID,
    TL_PMU_FUNC_ID,
    TL_PMU_CORE_TYPE,
    TL_PMU_TOTAL_CYCLES,
    TL_PMU_EVENT_TYPE,
    TL_PMU_FIXED
};
#define TL_PMU_FIXED_WORDS "thread_id", "core_id", "task_id", "func_id", "core_type", "pmu_total_cycles", "event_type"

/* One of enum tl_pmu_fixed. */
const char *tl__pmu_fixed_name(unsigned column);

#endif
