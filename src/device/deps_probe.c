/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dep_gen on the device: each submit is recorded as it was made, with what the graph decided about it
 * (wire/deps_record.h). Orchestrator's thread, between the plan and the task's start. The plan's arrays stay valid
 * meanwhile: nothing that runs while a lane waits plans anything.
 */

#include "device/device_impl.h"
#include "device/orch.h"
#include "device/probes.h"
#include "graph/region.h"
#include "wire/deps_record.h"

/* What is recorded of one task. */
struct submit {
    const struct tl_plan *plan;
    const uint64_t *deps; /* as submitted */
    uint32_t n_deps, n_args;
};

static struct tl_wire_deps_edge edge_of(const struct tl_edge *e)
{
    assert(e->arg >= -1 && e->arg < (int32_t)TL_MAX_TENSORS); /* GI2; a record has 8 bits for it */
    return (struct tl_wire_deps_edge){.pred = e->pred,
                                      .view = e->producer != NULL ? tl__region_hash(e->producer) : 0,
                                      .arg = (int8_t)e->arg,
                                      .source = e->source,
                                      .flags = e->flags};
}

static void record_task(struct tl_orch *o, const struct submit *s)
{
    struct tl_wire_deps_task *r = tl__orch_reserve(o, TL_STREAM_DEPS);
    const struct tl_plan *plan = s->plan;

    if (r == NULL)
        return;
    assert(o->submitted > 0); /* DI9: counted before it is recorded */
    *r = (struct tl_wire_deps_task){
        .kind = TL_WIRE_DEPS_TASK,
        .flags = (uint8_t)((plan->manual ? TL_WIRE_DEPS_MANUAL : 0) | (plan->args == NULL ? TL_WIRE_DEPS_ALLOC : 0)),
        .n_args = s->n_args,
        .task_id = plan->id,
        .index = (uint32_t)(o->submitted - 1),
        .depth = plan->scope_depth,
        .func = {plan->subtasks.func[0], plan->subtasks.func[1], plan->subtasks.func[2]},
        .block_num = plan->args != NULL && plan->args->block_num > 1 ? plan->args->block_num : 1,
        .n_deps = s->n_deps,
        .n_edges = plan->n_edges};
    for (uint32_t i = 0; i < TL_DEPS_RINGS; i++)
        r->tail[i] = tl_load_rlx(&o->device->rings[i].tail); /* relaxed: own */
    for (uint32_t i = 0; i < TL_WIRE_DEPS_TASK_IDS && i < s->n_deps; i++)
        r->deps[i] = s->deps[i];
    for (uint32_t i = 0; i < TL_WIRE_DEPS_TASK_EDGES && i < plan->n_edges; i++)
        r->edges[i] = edge_of(&plan->edges[i]);
    tl__orch_commit(o, TL_STREAM_DEPS);
}

static void record_arg(struct tl_orch *o, const struct submit *s, uint32_t arg, unsigned direction,
                       const struct tl_tensor *tensor)
{
    struct tl_wire_deps_arg *r = tl__orch_reserve(o, TL_STREAM_DEPS);

    if (r == NULL)
        return;
    r->kind = TL_WIRE_DEPS_ARG;
    r->direction = (uint8_t)direction;
    r->reserved[0] = r->reserved[1] = 0;
    r->arg = arg;
    r->task_id = s->plan->id;
    r->tensor = *tensor;
    if (direction == TL_OUT && s->plan->args != NULL) {
        r->tensor.buffer = s->plan->out_buffer[arg];
        r->tensor.buffer_bytes = s->plan->out_bytes[arg];
        r->tensor.owner = s->plan->id;
        r->tensor.version = r->tensor.tag = 0;
    }
    tl__orch_commit(o, TL_STREAM_DEPS);
}

static void record_ids(struct tl_orch *o, const struct submit *s, uint32_t first)
{
    struct tl_wire_deps_ids *r = tl__orch_reserve(o, TL_STREAM_DEPS);
    uint32_t left = s->n_deps - first, n = left < TL_WIRE_DEPS_IDS_MAX ? left : TL_WIRE_DEPS_IDS_MAX;

    assert(first >= TL_WIRE_DEPS_TASK_IDS && first < s->n_deps); /* DI10 */
    if (r == NULL)
        return;
    *r = (struct tl_wire_deps_ids){.kind = TL_WIRE_DEPS_IDS, .count = (uint8_t)n, .first = first};
    for (uint32_t i = 0; i < n; i++)
        r->ids[i] = s->deps[first + i];
    tl__orch_commit(o, TL_STREAM_DEPS);
}

static void record_edges(struct tl_orch *o, const struct submit *s, uint32_t first)
{
    struct tl_wire_deps_edges *r = tl__orch_reserve(o, TL_STREAM_DEPS);
    uint32_t left = s->plan->n_edges - first, n = left < TL_WIRE_DEPS_EDGES_MAX ? left : TL_WIRE_DEPS_EDGES_MAX;

    assert(first >= TL_WIRE_DEPS_TASK_EDGES && first < s->plan->n_edges); /* DI10 */
    if (r == NULL)
        return;
    *r = (struct tl_wire_deps_edges){
        .kind = TL_WIRE_DEPS_EDGES, .count = (uint8_t)n, .first = first, .task_id = s->plan->id};
    for (uint32_t i = 0; i < n; i++)
        r->edges[i] = edge_of(&s->plan->edges[first + i]);
    tl__orch_commit(o, TL_STREAM_DEPS);
}

/* After the args: what did not fit into the task record. */
static void record_rest(struct tl_orch *o, const struct submit *s)
{
    uint32_t at;

    for (at = TL_WIRE_DEPS_TASK_IDS; at < s->n_deps; at += TL_WIRE_DEPS_IDS_MAX) {
        record_ids(o, s, at);
        if (s->n_deps - at <= TL_WIRE_DEPS_IDS_MAX)
            break;
    }
    for (at = TL_WIRE_DEPS_TASK_EDGES; at < s->plan->n_edges; at += TL_WIRE_DEPS_EDGES_MAX) {
        record_edges(o, s, at);
        if (s->plan->n_edges - at <= TL_WIRE_DEPS_EDGES_MAX)
            break;
    }
}

/* By the rules alone, independent of the recording code. */
static void expect(struct tl_orch *o, const struct submit *s)
{
    o->device->orch_record.rec.expected[TL_STREAM_DEPS] +=
        1 + s->n_args + tl__deps_more_ids(s->n_deps) + tl__deps_more_edges(s->plan->n_edges);
}

static void record_submit(struct tl_orch *o, const struct tl_plan *plan)
{
    const struct tl_task_args *args = plan->args;
    const struct submit s = {.plan = plan, .deps = args->deps, .n_deps = args->n_deps, .n_args = args->n_tensors};

    expect(o, &s);
    record_task(o, &s);
    for (uint32_t i = 0; i < args->n_tensors; i++)
        record_arg(o, &s, i, args->tensors[i].direction, &args->tensors[i].tensor);
    record_rest(o, &s);
}

static void record_alloc(struct tl_orch *o, const struct tl_plan *plan, struct tl_tensor *const *tensors,
                         uint32_t count)
{
    const struct submit s = {.plan = plan, .n_args = count};

    expect(o, &s);
    record_task(o, &s);
    for (uint32_t i = 0; i < count; i++)
        record_arg(o, &s, i, TL_OUT, tensors[i]);
}

static void deps_submit(struct tl_orch *o, const struct tl_plan *plan, struct tl_tensor *const *allocated,
                        uint32_t count)
{
    if (plan->args != NULL)
        record_submit(o, plan);
    else
        record_alloc(o, plan, allocated, count);
}

const struct tl_probe_ops tl__deps_probe = {.submit = deps_submit};
