/* SPDX-License-Identifier: Apache-2.0 */
/* dep_gen: what the orchestrator submits, recorded. Orchestrator's thread. */
#ifndef TL_DEVICE_DEPS_PROBE_H
#define TL_DEVICE_DEPS_PROBE_H

#include "device/internal.h"

/* Whether this run records its submits. */
static inline bool tl__deps_on(const struct tl_orch *o)
{
    return tl__records(&o->device->orch_record.rec, TL_STREAM_DEPS);
}

/* Records a task that was planned and counted, before it can run. Waits for the host as long as it lives. */
void tl__deps_record(struct tl_orch *o, const struct tl_plan *plan);
/* The same of tl_alloc_tensors. */
void tl__deps_record_alloc(struct tl_orch *o, const struct tl_plan *plan, struct tl_tensor *const *tensors,
                           uint32_t count);

#endif
