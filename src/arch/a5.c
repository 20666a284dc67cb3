/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/descriptors.h"

const struct tl_arch tl__arch_a5 = {
    .name = "a5",
    .clusters = 36,
    .cluster_aics = 1,
    .cluster_aivs = 2,
    .aicpu_threads = 5,
    .clock_hz = 1000000000,
    .pmu_counters = 10,
    .pmu_sets = tl__pmu_a5,
    .n_pmu_sets = TL_PMU_EVENTS,
    .transport = TL_TRANSPORT_COPY,
};
