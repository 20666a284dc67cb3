/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes: what the device's roles call where something happens that a diagnostic records. A stream of
 * <tasklens/collectors.h> has its row of operations in its own file, tl__<name>_probe; the roles go through the rows of
 * the streams that are on (probes.c), and know none of them by name. A stream that is off costs its role one branch,
 * and a build without the probes (TASKLENS_DFX=OFF) none.
 */
#ifndef TL_DEVICE_PROBES_H
#define TL_DEVICE_PROBES_H

#include "device/orch.h"

struct tl_tensor;

/* NULL: the stream has nothing to do there. An operation that returns int may return TL_EAGAIN: its lane is parked,
 * and it is called again with the same arguments; anything else: done. */
struct tl_probe_ops {
    bool timed;   /* cores stamp their subtasks' start and end */
    bool counted; /* kernels count (tl_count) */
    bool barrier; /* a full barrier before FIN: what a kernel stored is read */

    /* Before a run's roles are made. */
    void (*begin)(struct tl_device *d);
    /* Once the scheduler's lanes are bound. 0, or TL_ECORRUPT. */
    int (*begin_role)(struct tl_scheduler *s);

    /* A task is about to be dispatched; its last subtask has finished, and it is about to retire. One stream at most
     * has these: where they return TL_EAGAIN, the scheduler continues its capture (tl__probe_resume). */
    int (*inputs)(struct tl_scheduler *s, struct tl_slot *slot);
    int (*outputs)(struct tl_scheduler *s, struct tl_slot *slot);
    /* Right before and after a kernel, on its core's thread. */
    void (*before)(const struct tl_device *d, struct tl_token *token, struct tl_kernel_args *args);
    void (*after)(const struct tl_device *d, struct tl_token *token);
    /* A subtask that the scheduler takes back from its core, before anything else is done with it. */
    int (*subtask)(struct tl_scheduler *s, const struct tl_core_role *core, struct tl_token *token);
    /* Records that a retired task calls for by the rules alone. */
    uint64_t (*expected)(const struct tl_scheduler *s, const struct tl_slot *slot);
    /* After a hang: what is to be recorded of tasks that never finish. */
    int (*hung)(struct tl_scheduler *s);

    /* This and those that follow: orchestrator's thread. A task was planned, and cannot run yet; for tl_alloc_tensors
     * (plan->args NULL) with what it allocates. */
    void (*submit)(struct tl_orch *o, const struct tl_plan *plan, struct tl_tensor *const *allocated, uint32_t count);
    /* Its submission is over; it began at `start`, by the device clock. */
    void (*submitted)(struct tl_orch *o, uint64_t task_id, uint64_t start);
    /* A scope (NULL: the orchestration as a whole) begins or ends (enum tl_wire_boundary). */
    void (*scope)(struct tl_orch *o, const struct tl_scope_info *scope, unsigned boundary);
    /* The orchestration is over: it failed, or it returned well. */
    void (*end)(struct tl_orch *o, bool failed);
};

#define TL__STREAM_PROBE(id, number, collector, name, writer, from) extern const struct tl_probe_ops tl__##name##_probe;
TL__COLLECTORS(TL__STREAMS_ONLY, TL__COLLECT_NONE, TL__STREAM_PROBE)
#undef TL__STREAM_PROBE
/* By stream. */
extern const struct tl_probe_ops *const tl__probe_rows[TL_STREAM_COUNT];

/* Number of subtasks of the task, as submitted. */
static inline uint64_t tl__subtasks_of(const struct tl_slot *slot)
{
    const struct tl_task_payload *p = slot->payload;

    return (uint64_t)((p->func[0] >= 0) + (p->func[1] >= 0) + (p->func[2] >= 0)) * p->block_num;
}

/* Finds the operations of the streams that are on, once a run, before its roles are made; then calls their `begin`. */
void tl__probes_begin(struct tl_device *d);
int tl__probes_begin_role(struct tl_scheduler *s);
void tl__probes_before(const struct tl_device *d, struct tl_token *token, struct tl_kernel_args *args);
void tl__probes_after(const struct tl_device *d, struct tl_token *token);
/* False: the lane is parked. */
bool tl__probes_inputs(struct tl_scheduler *s, struct tl_slot *slot);
bool tl__probes_outputs(struct tl_scheduler *s, struct tl_slot *slot);
/* False: a lane is parked, and the subtask stays with the core. */
bool tl__probes_subtask(struct tl_scheduler *s, struct tl_core_role *core);
void tl__probes_expected(struct tl_scheduler *s, const struct tl_slot *slot);
/* False: a lane is parked. */
bool tl__probes_hung(struct tl_scheduler *s);
void tl__probes_submit(struct tl_orch *o, const struct tl_plan *plan, struct tl_tensor *const *allocated,
                       uint32_t count);
void tl__probes_submitted(struct tl_orch *o, uint64_t task_id, uint64_t start);
void tl__probes_scope(struct tl_orch *o, const struct tl_scope_info *scope, unsigned boundary);
void tl__probes_end(struct tl_orch *o, bool failed);

/* Whether a scheduler, or the orchestrator, records anything at all: the one branch. */
static inline bool tl__sched_records(const struct tl_scheduler *s)
{
    return TASKLENS_DFX && s->rec.on != 0;
}
static inline bool tl__orch_records(const struct tl_orch *o)
{
    return TASKLENS_DFX && o->device->orch_record.rec.on != 0;
}

#endif
