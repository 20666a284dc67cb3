/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between chips, as data. A new chip is a file and a row in arch.c. */
#ifndef TL_ARCH_ARCH_H
#define TL_ARCH_ARCH_H

#include <stdint.h>

enum tl_transport_kind { TL_TRANSPORT_MAPPED, TL_TRANSPORT_COPY };

struct tl_pmu_set;

struct tl_arch {
    const char *name;                    /* "a2a3"; the simulator's platform is name + "sim" */
    uint32_t clusters;
    uint32_t cluster_aics, cluster_aivs; /* cores of each cluster; at most TL_CLUSTER_AICS_MAX, TL_CLUSTER_AIVS_MAX */
    uint32_t aicpu_threads;              /* control threads; the last is the orchestrator's if one runs on the chip */
    uint64_t clock_hz;                   /* of the counters in records */
    uint32_t pmu_counters;
    const struct tl_pmu_set *pmu_sets;   /* by event type: arch/pmu_set.h */
    unsigned n_pmu_sets;
    enum tl_transport_kind transport;
};

/* What a mix can name: struct tl_mix of tasklens/task.h. */
#define TL_CLUSTER_AICS_MAX 1u
#define TL_CLUSTER_AIVS_MAX 2u
#define TL_CLUSTER_CORES_MAX (TL_CLUSTER_AICS_MAX + TL_CLUSTER_AIVS_MAX)
#define TL_MAX_CLUSTERS 40u
#define TL_MAX_AICPU_THREADS 8u

/* Of a run that uses `clusters` of the chip's clusters. The ids of cores: 0 and on the AICs by cluster, after them the
 * AIVs by cluster. */
static inline uint32_t tl__arch_aics(const struct tl_arch *arch, uint32_t clusters)
{
    return arch->cluster_aics * clusters;
}
static inline uint32_t tl__arch_cores(const struct tl_arch *arch, uint32_t clusters)
{
    return (arch->cluster_aics + arch->cluster_aivs) * clusters;
}

/* By name ("a2a3", "a5"), or NULL. Static. */
const struct tl_arch *tl__arch_find(const char *name);
/* The i-th, NULL at the end: for messages that list them. */
const struct tl_arch *tl__arch_at(unsigned i);

#endif
