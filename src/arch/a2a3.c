/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/descriptors.h"

const struct tl_arch tl__arch_a2a3 = {
    .name = "a2a3",
    .clusters = 24,
    .cluster_aics = 1,
    .cluster_aivs = 2,
    .aicpu_threads = 4,
    .clock_hz = 50000000,
    .pmu_counters = 8,
    .pmu_sets = tl__pmu_a2a3,
    .n_pmu_sets = TL_PMU_EVENTS,
    .transport = TL_TRANSPORT_MAPPED,
};
