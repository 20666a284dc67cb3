/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between chips, as data. A new chip is a file and a row in arch.c. */
#ifndef TL_ARCH_ARCH_H
#define TL_ARCH_ARCH_H

#include <stdint.h>

enum tl_transport_kind { TL_TRANSPORT_MAPPED, TL_TRANSPORT_COPY };

struct tl_pmu_set;

struct tl_arch {
    const char *name;          /* "a2a3"; the simulator's platform is name + "sim" */
    uint32_t clusters;         /* each 1 AIC + 2 AIV */
    uint32_t aicpu_threads;    /* control threads; the last one is the orchestrator's where one runs on the chip */
    uint64_t clock_hz;         /* of the counters in records */
    uint32_t pmu_counters;
    const struct tl_pmu_set *pmu_sets; /* by event type: arch/pmu.h */
    unsigned n_pmu_sets;
    enum tl_transport_kind transport;
};

#define TL_CORES_PER_CLUSTER 3u
#define TL_MAX_CLUSTERS 40u
#define TL_MAX_AICPU_THREADS 8u

/* By name ("a2a3", "a5"), or NULL. Static. */
const struct tl_arch *tl__arch_find(const char *name);
/* The i-th, NULL at the end: for messages that list them. */
const struct tl_arch *tl__arch_at(unsigned i);

#endif
