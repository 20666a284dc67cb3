/* SPDX-License-Identifier: Apache-2.0 */
/* The orchestrator: runs the program's function, links tasks to their predecessors (link.c), reclaims slots. */
#ifndef TL_DEVICE_ORCH_H
#define TL_DEVICE_ORCH_H

#include "device/device_impl.h"

/* What a runtime decides. */
struct tl_runtime_policy {
    const char *name;
    bool recycle;     /* rings are recycled; else one image */
    bool build_first; /* orchestrate to the end before any task runs */
    uint8_t rings;    /* 1..TL_GRAPH_RINGS */
};

struct tl_orch {
    struct tl_device *device;
    struct tl_graph *graph;
    const struct tl_runtime_policy *policy;
    uint64_t submitted, retired_early;
    int error;
};

/* Runs the orchestration to its end, errors included. */
void tl__orch_run(struct tl_orch *o);
/* Links a planned task to its predecessors and makes it ready if none is left. True: it is ready. */
bool tl__link(struct tl_orch *o, struct tl_slot *slot, const struct tl_plan *plan);
/* The second half of it: from the slot's own dep entries. */
bool tl__connect(struct tl_device *d, struct tl_slot *slot);
/* One warning for each tag that no task of the graph took. */
void tl__warn_unconsumed_tags(const struct tl_graph *graph);
/* Reclaims the slots that nothing holds any more. True if any. */
bool tl__reclaim(struct tl_orch *o);

#endif
