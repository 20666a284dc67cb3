/* SPDX-License-Identifier: Apache-2.0 */
/* The orchestrator's calls: submission with back-pressure, scopes, tags. One thread, the orchestration's. */
#include "device/orch.h"

#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "device/device_impl.h"
#include "device/fault.h"
#include "device/probes.h"
#include "wire/scope_record.h"

#define RECLAIM_EVERY 32u /* submits; small, so that memory is used again while it is in cache */
#define RUN_AHEAD 512u    /* unfinished tasks beyond which the orchestrator helps: what they touch stays in cache */

static void orch_fail(struct tl_orch *o, int code, const char *text)
{
    assert(code < 0);
    if (o->error != 0)
        return;
    o->error = code;
    tl__device_fail(o->device, code, text);
    if (tl__orch_records(o))
        tl__probes_end(o, true);
}

/* --- kernels --------------------------------------------------------------------------------------------------- */

static const struct tl_kernel_ref *find_kernel(const struct tl_device *d, int32_t func)
{
    if (func < 0 || (uint32_t)func >= d->n_func || d->by_func[func].kernel == NULL)
        return NULL;
    return &d->by_func[func];
}

static const char *core_name(enum tl_core core)
{
    return core == TL_AIC ? "AIC" : "AIV";
}

/* A mix runs on one cluster; a task of one kernel on any core of its type. */
static bool cluster_lacks(const struct tl_arch *arch, const struct tl_subtasks *subtasks, unsigned kind)
{
    if (kind == TL_KIND_AIV1 && subtasks->func[TL_KIND_AIC] < 0 && subtasks->func[TL_KIND_AIV0] < 0)
        kind = TL_KIND_AIV0;
    return !tl__cluster_has(arch, kind);
}

/* Resolves the kernels of a task, or fails the run with a line that says what is wrong. */
static bool resolve(struct tl_orch *o, const struct tl_subtasks *subtasks, const struct tl_kernel_ref **refs)
{
    static const char *const kinds[TL_KIND_COUNT] = {"AIC", "AIV0", "AIV1"};
    const struct tl_arch *arch = o->device->opts.arch;
    char text[256], name[40];

    for (unsigned k = 0; k < TL_KIND_COUNT; k++) {
        enum tl_core want = k == TL_KIND_AIC ? TL_AIC : TL_AIV;

        refs[k] = NULL;
        if (subtasks->func[k] < 0)
            continue;
        refs[k] = find_kernel(o->device, subtasks->func[k]);
        if (refs[k] != NULL && refs[k]->kernel->core == want && !cluster_lacks(arch, subtasks, k))
            continue;
        if (refs[k] == NULL)
            (void)snprintf(text, sizeof(text), "%s: the program has no kernel with func_id %d; add it to its table",
                           tl__graph_task_name(o->graph, name), subtasks->func[k]);
        else if (refs[k]->kernel->core == want)
            (void)snprintf(text, sizeof(text),
                           "%s: kernel \"%s\" was submitted to %s; a cluster of %s has %u AIC and %u AIV",
                           tl__graph_task_name(o->graph, name), refs[k]->kernel->name, kinds[k], arch->name,
                           arch->cluster_aics, arch->cluster_aivs);
        else
            (void)snprintf(text, sizeof(text), "%s: kernel \"%s\" runs on %s and was submitted to %s",
                           tl__graph_task_name(o->graph, name), refs[k]->kernel->name, core_name(refs[k]->kernel->core),
                           core_name(want));
        orch_fail(o, TL_EGRAPH, text);
        return false;
    }
    return true;
}

/* --- back-pressure --------------------------------------------------------------------------------------------- */

static bool all_retired(struct tl_orch *o)
{
    return tl__device_retired(o->device) == o->submitted;
}

/* Nothing runs and nothing can: what the open scopes hold will never be released. */
static int deadlock(struct tl_orch *o, const struct tl_lack *lack)
{
    char text[900];

    assert(lack->ring < o->policy->rings && lack->need > lack->size - lack->used); /* GI4 */
    tl__graph_explain_full(o->graph, lack, text, sizeof(text));
    orch_fail(o, TL_EDEADLOCK, text);
    return TL_EDEADLOCK;
}

/* Changes whenever a ring releases something. */
static uint32_t tails_of(const struct tl_orch *o)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < TL_GRAPH_RINGS; i++)
        sum += tl_load_rlx(&o->device->rings[i].tail); /* relaxed: own */
    return sum;
}

/* What ends the wait: something can be reclaimed, or nothing ever will. */
static bool space_may_be_free(void *arg)
{
    struct tl_orch *o = arg;

    return all_retired(o) || tl__reclaim(o) || tl_load_rlx(&o->device->failed) != 0;
}

/* Waits, stepping the other roles, until something was reclaimed. */
static int wait_for_space(struct tl_orch *o, const struct tl_lack *lack)
{
    struct tl_device *d = o->device;
    /* A task with very many dependencies needs the ring empty: planning it again after each retirement would take too
     * long. */
    const bool alone = lack->resource == TL_RESOURCE_DEP_POOL && lack->need > lack->size;
    bool retired;

    assert(o->policy->recycle); /* an image's plan fails at once */
    for (uint32_t tails = tails_of(o);;) {
        if (tl_load_rlx(&d->failed) != 0) /* relaxed: looked at again */
            return TL_EGRAPH;
        retired = all_retired(o); /* before the reclaim, which then sees all that it can ever see */
        (void)tl__reclaim(o);
        if (tails_of(o) != tails && !alone) {
            tl__device_notify(d); /* the last kernel that ran here may have made others ready, and the caller submits */
            return 0;
        }
        if (retired && lack->resource == TL_RESOURCE_DEP_POOL && tl__graph_all_complete(o->graph))
            return 0;
        if (retired || o->policy->build_first)
            return deadlock(o, lack);
        if (tl__device_step(d, 0))
            continue;
        tl_store_rlx(&d->space_wanted, 1); /* relaxed: the sleep's fence orders it */
        tl__device_sleep(d, 0, space_may_be_free, o);
        tl_store_rlx(&d->space_wanted, 0);
    }
}

/* --- submission -------------------------------------------------------------------------------------------------- */

/* Kernels, shape, and whose signature is the widest. Returns how many kernels there are. */
static uint32_t fill_kernels(struct tl_slot *slot, const struct tl_kernel_ref *const *refs)
{
    uint32_t n = 0;

    slot->widest = NULL;
    slot->width = 0;
    for (unsigned k = 0; k < TL_KIND_COUNT; k++) {
        slot->kernels[k] = refs[k] != NULL ? refs[k]->kernel : NULL;
        if (refs[k] == NULL)
            continue;
        n++;
        if (slot->widest == NULL || refs[k]->width > slot->width) {
            slot->widest = refs[k]->kernel;
            slot->width = refs[k]->width;
        }
    }
    assert(n <= TL_KIND_COUNT && (slot->widest != NULL) == (n != 0)); /* DI5 */
    slot->shape = n > 1 ? TL_SHAPE_MIX : refs[TL_KIND_AIC] != NULL ? TL_SHAPE_AIC : TL_SHAPE_AIV;
    return n;
}

/* Payload memory in ring order: it holds a full window of the largest payloads, so this never fails. */
static struct tl_task_payload *payload_place(struct tl_ring *ring, uint32_t bytes)
{
    uint64_t at = ring->payload_at + bytes > ring->payload_bytes ? 0 : ring->payload_at;

    assert(bytes <= TL_PAYLOAD_MAX && bytes % 8 == 0); /* DI6 */
    assert(at + bytes <= ring->payload_bytes);         /* DI6 */
    ring->payload_at = at + bytes;
    return (void *)(ring->payloads + at);
}

static struct tl_slot *fill_slot(struct tl_orch *o, const struct tl_plan *plan, const struct tl_kernel_ref *const *refs)
{
    struct tl_ring *ring = &o->device->rings[plan->ring];
    struct tl_slot *slot = &ring->slots[plan->slot];
    uint32_t kernels = fill_kernels(slot, refs);

    assert(plan->slot == (tl__task_local(plan->id) & (ring->window - 1))); /* DI6 */
    assert(tl__task_local(plan->id) == tl_load_rlx(&ring->head)); /* DI6: in the order of their ids; relaxed: own */
    slot->payload = payload_place(ring, plan->payload_bytes);
    tl__plan_write_payload(plan, slot->payload);
    slot->ring = (uint8_t)plan->ring;
    slot->next_block = 0;
    slot->single = slot->payload->block_num == 1;
    slot->captured = false;
    ring->released[plan->slot] = false;
    slot->dep_at = plan->n_preds != 0 ? (uint32_t)(plan->dep_first % ring->dep_pool) : 0;
    slot->n_deps = plan->n_preds;
    /* Relaxed, all three: tl__link publishes the slot (D2). */
    tl_store_rlx(&slot->subtasks, kernels * slot->payload->block_num);
    tl_store_rlx(&slot->holds, 1u); /* itself */
    tl_store_rlx(&slot->fanout, NULL);
    tl_store_rlx(&slot->stalled, 0u);
    tl_store_rel(&ring->head, tl__task_local(plan->id) + 1); /* S2: the slot; pairs with the watch's look */
    tl__ring_assert(ring, tl_load_rlx(&ring->tail), tl_load_rlx(&ring->head)); /* relaxed: own */
    return slot;
}

/* Plans with back-pressure. 0, or the error that ended the run. */
static int plan_task(struct tl_orch *o, const struct tl_task_args *args, const struct tl_subtasks *subtasks,
                     struct tl_tensor *const *alloc, uint32_t n_alloc, struct tl_plan *plan)
{
    struct tl_error err; /* a kilobyte: not cleared for each task */
    int r;

    err.msg[0] = '\0';
    do {
        if (alloc != NULL)
            r = tl__graph_plan_alloc(o->graph, alloc, n_alloc, plan, &err);
        else
            r = tl__graph_plan(o->graph, args, subtasks, plan, &err);
        if (r != TL_EAGAIN)
            break;
        r = wait_for_space(o, &plan->lack);
    } while (r == 0);
    if (r < 0)
        orch_fail(o, r, err.msg);
    return r;
}

/* Far ahead, the orchestrator steps the other roles for a while. It never waits here: without progress it continues. */
static void help(struct tl_orch *o)
{
    struct tl_device *d = o->device;
    bool helped = false;

    while (!o->policy->build_first && o->submitted - tl__device_retired(d) > RUN_AHEAD && tl__device_step(d, 0))
        helped = true;
    if (helped)
        tl__device_notify(d); /* others do what is left: its next submits may make nothing ready */
}

static uint64_t submit_start(const struct tl_orch *o)
{
    const struct tl_device *d = o->device;

    return tl__orch_records(o) && d->probes.submitted != 0 ? tl__clock_cycles(&d->clock) : 0;
}

static void submit_end(struct tl_orch *o, tl_task_id id, uint64_t start)
{
    if (tl__orch_records(o))
        tl__probes_submitted(o, id, start);
}

/* Of a run that has failed: no submit is accepted. An orchestration that ignores it may submit without end. */
static tl_task_id refuse(struct tl_orch *o)
{
    tl_au64 *refused = &o->device->status->refused_submits;

    if (o->error == 0)
        (void)tl_load_acq(&o->device->failed);       /* F2: another thread wrote the message */
    tl_store_rel(refused, tl_load_rlx(refused) + 1); /* F3: the message is written; pairs with F4 */
    return TL_NO_TASK;
}

/* Before a graph is complete no watch looks after the run: the host sees by this word that it grows. */
static void count_submitted(struct tl_orch *o)
{
    assert(o->submitted == tl_load_rlx(&o->device->submitted)); /* relaxed: own */
    assert(tl__device_retired(o->device) <= o->submitted);      /* DI9 */
    o->submitted++;
    tl_store_rlx(&o->device->submitted, o->submitted); /* relaxed: D8 publishes the last one */
    if (o->policy->build_first)
        tl_store_rlx(&o->device->status->submitted, o->submitted); /* relaxed: a figure until R7 */
}

static tl_task_id submit(struct tl_orch *o, struct tl_subtasks subtasks, const struct tl_task_args *args)
{
    const struct tl_kernel_ref *refs[TL_KIND_COUNT];
    const uint64_t start = submit_start(o);
    struct tl_plan plan;
    bool ready;

    if (o->error != 0 ||
        tl_load_rlx(&o->device->failed) != 0) /* relaxed: the next submit sees it if this one does not */
        return refuse(o);
    if (o->submitted % RECLAIM_EVERY == 0) {
        help(o);
        (void)tl__reclaim(o);
    }
    if (!resolve(o, &subtasks, refs) || plan_task(o, args, &subtasks, NULL, 0, &plan) < 0)
        return TL_NO_TASK;
    count_submitted(o);
    tl__guard_plan(o->device, &plan, NULL, 0);
    if (tl__orch_records(o))
        tl__probes_submit(o, &plan, NULL, 0);
    ready = tl__link(o, fill_slot(o, &plan, refs), &plan);
    if (ready && !o->policy->build_first) /* else the thread that finishes what it waits for is awake */
        tl__device_notify(o->device);
    submit_end(o, plan.id, start);
    return plan.id;
}

TL_API tl_task_id tl_submit_aiv(struct tl_orch *o, int32_t func_id, const struct tl_task_args *args)
{
    return submit(o, (struct tl_subtasks){{-1, func_id, -1}}, args);
}

TL_API tl_task_id tl_submit_aic(struct tl_orch *o, int32_t func_id, const struct tl_task_args *args)
{
    return submit(o, (struct tl_subtasks){{func_id, -1, -1}}, args);
}

TL_API tl_task_id tl_submit_mix(struct tl_orch *o, struct tl_mix mix, const struct tl_task_args *args)
{
    return submit(o, (struct tl_subtasks){{mix.aic, mix.aiv0, mix.aiv1}}, args);
}

TL_API tl_task_id tl_alloc_tensors(struct tl_orch *o, struct tl_tensor *const *tensors, uint32_t count)
{
    static const struct tl_kernel_ref *const none[TL_KIND_COUNT];
    const uint64_t start = submit_start(o);
    struct tl_plan plan;
    struct tl_slot *slot;

    if (o->error != 0)
        return refuse(o);
    if (plan_task(o, NULL, NULL, tensors, count, &plan) < 0)
        return TL_NO_TASK;
    count_submitted(o);
    o->retired_early++;
    tl__guard_plan(o->device, &plan, tensors, count);
    if (tl__orch_records(o))
        tl__probes_submit(o, &plan, tensors, count);
    slot = fill_slot(o, &plan, none);
    tl_store_rlx(&slot->fanout, TL_FANOUT_CLOSED); /* nobody has seen the slot */
    tl__hold_drop(slot);
    tl_store_rel(&o->device->retired_early, o->retired_early); /* D8 */
    submit_end(o, plan.id, start);
    return plan.id;
}

/* --- scopes ------------------------------------------------------------------------------------------------------ */

static void release_ranges(struct tl_orch *o, const struct tl_range *ranges, int n)
{
    for (int i = 0; i < n; i++) {
        struct tl_ring *ring = &o->device->rings[ranges[i].ring];

        for (uint32_t local = ranges[i].first; local != ranges[i].end; local++) {
            assert(!ring->released[local & (ring->window - 1)]); /* DI6: a scope releases its tasks once */
            ring->released[local & (ring->window - 1)] = true;
        }
    }
}

TL_API void tl_scope_begin(struct tl_orch *o, enum tl_scope_kind kind, const char *file, int line)
{
    if (o->error != 0)
        return;
    if (tl__graph_scope_begin(o->graph, kind, file, line) < 0)
        orch_fail(o, TL_ENOMEM, "no memory for another scope");
    else if (tl__orch_records(o))
        tl__probes_scope(o, tl__graph_scope(o->graph), TL_WIRE_SCOPE_BEGIN);
}

TL_API void tl_scope_end(struct tl_orch *o)
{
    const struct tl_range *ranges;
    int n;

    if (o->error != 0)
        return;
    if (tl__orch_records(o) && tl__graph_scope(o->graph) != NULL)
        tl__probes_scope(o, tl__graph_scope(o->graph), TL_WIRE_SCOPE_END);
    n = tl__graph_scope_end(o->graph, &ranges);
    if (n < 0)
        orch_fail(o, n, "tl_scope_end without an open scope; each needs its tl_scope_begin");
    else
        release_ranges(o, ranges, n);
}

TL_API void tl__dump_tag(struct tl_orch *o, struct tl_tensor *t, const char *name, const char *file, int line)
{
    struct tl_error err = {0};
    int r;

    if (o->error != 0)
        return;
    r = tl__graph_tag(o->graph, t, name, file, line, &err);
    if (r < 0)
        orch_fail(o, r, err.msg);
}

TL_API int tl_orch_error(const struct tl_orch *o)
{
    return o->error;
}

TL_API void tl_orch_fail(struct tl_orch *o, const char *message)
{
    orch_fail(o, TL_EGRAPH, message);
}

/* --- the whole orchestration ---------------------------------------------------------------------------------------
 */

void tl__warn_unconsumed_tags(const struct tl_graph *graph)
{
    uint32_t n;
    const struct tl_tag *tags = tl__graph_tags(graph, &n);

    for (uint32_t i = 0; i < n; i++)
        if (!tags[i].consumed)
            tl_log_warn(
                "tl_dump_tag(%s) at %s:%d: no later task takes exactly this value, so nothing of it is recorded; "
                "tag the value that the kernel receives",
                tags[i].name, tags[i].file, tags[i].line);
}

static void read_args(struct tl_device *d, struct tl_program_args *args)
{
    const struct tl_launch *l = d->launch;

    args->tensors = tl__dev_ptr(&d->opts.memory, l->tensors, l->n_tensors * sizeof(struct tl_tensor));
    args->params = tl__dev_ptr(&d->opts.memory, l->params, l->n_params * sizeof(int64_t));
    args->n_tensors = l->n_tensors;
    args->n_params = l->n_params;
}

/* Releases the tasks outside any scope. */
static void end_whole(struct tl_orch *o, const struct tl_range *ranges, int n)
{
    if (tl__orch_records(o)) {
        tl__probes_scope(o, NULL, TL_WIRE_SCOPE_END);
        tl__probes_end(o, false);
    }
    release_ranges(o, ranges, n);
}

void tl__orch_run(struct tl_orch *o)
{
    const struct tl_current current = {.device = o->device};
    struct tl_program_args args;
    struct tl_error err = {0};
    const struct tl_range *ranges;
    int n;

    read_args(o->device, &args);
    if (tl__orch_records(o))
        tl__probes_scope(o, NULL, TL_WIRE_SCOPE_BEGIN);
    tl__current = &current;
    tl_store_rlx(&o->device->status->orchestration, TL_ORCHESTRATION_RUNS); /* relaxed, both: for a run that stalls */
    o->device->program->orchestrate(o, &args);
    tl_store_rlx(&o->device->status->orchestration, TL_ORCHESTRATION_RETURNED);
    tl__current = NULL;
    if (o->error == 0) {
        n = tl__graph_finish(o->graph, &ranges, &err);
        if (n < 0)
            orch_fail(o, n, err.msg);
        else
            end_whole(o, ranges, n);
        tl__warn_unconsumed_tags(o->graph);
    }
    tl_store_rel(&o->device->submitted_all, 1u); /* D8: `submitted` is final; pairs with drained() */
}
