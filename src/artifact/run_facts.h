/* SPDX-License-Identifier: Apache-2.0 */
/* What a run was launched with, as far as its artifacts say. A plain value, and part of the journal's header. */
#ifndef TL_ARTIFACT_RUN_FACTS_H
#define TL_ARTIFACT_RUN_FACTS_H

#include <stdint.h>

#define TL_FACTS_RINGS 4

struct tl_run_facts {
    uint64_t clock_freq_hz;                                         /* of device cycles */
    uint64_t heap_bytes[TL_FACTS_RINGS];                            /* 0: the runtime does not use the ring */
    uint32_t task_window[TL_FACTS_RINGS], dep_pool[TL_FACTS_RINGS]; /* slots, entries */
    uint32_t clusters, schedulers; /* used. Core ids: the AICs by cluster, then the AIVs by cluster */
    uint32_t host_build;           /* 1: the graph was built to its end before the first task ran */
    uint32_t lane_streams;         /* bit: the stream had lanes, be it on or off in this run */
    char arch[8];                  /* the chip's arch by name, with a zero behind it; "": not stated */
};

#endif
