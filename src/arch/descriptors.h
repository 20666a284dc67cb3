/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors, one file each. */
#ifndef TL_ARCH_DESCRIPTORS_H
#define TL_ARCH_DESCRIPTORS_H

#include "arch/arch.h"
#include "arch/pmu_set.h"

extern const struct tl_arch tl__arch_a2a3;
extern const struct tl_arch tl__arch_a5;

#define TL_PMU_EVENTS 7u /* event types that each of them has */
extern const struct tl_pmu_set tl__pmu_a2a3[TL_PMU_EVENTS];
extern const struct tl_pmu_set tl__pmu_a5[TL_PMU_EVENTS];

#endif
