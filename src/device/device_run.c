/* SPDX-License-Identifier: Apache-2.0 */
/* One launch: reading it, setting the roles up, running them, reporting. Runs on the thread that received it. */
#include "device/device_run.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "device/device_impl.h"
#include "device/dump_probe.h"
#include "device/orch.h"
#include "device/probes.h"
#include "device/swimlane_probe.h"
#include "wire/parked.h"

#define MAX_FUNC 65536 /* a larger func_id would make the table too large */

/* --- memory of the rings: kept from run to run, made again only when a run asks for other sizes ---------------------
 */

static void free_ring(struct tl_ring *ring)
{
    if (ring->slots != NULL)
        tl__release(ring->slots, ring->window * sizeof(struct tl_slot));
    if (ring->deps != NULL)
        tl__release(ring->deps, ring->dep_pool * sizeof(struct tl_dep));
    if (ring->payloads != NULL)
        tl__release(ring->payloads, ring->payload_bytes);
    if (ring->released != NULL)
        tl__release(ring->released, ring->window * sizeof(bool));
    memset(ring, 0, sizeof(*ring));
}

void tl__device_free_rings(struct tl_device *d)
{
    tl__image_drop(d);
    tl__graph_destroy(d->spare);
    d->spare = NULL;
    for (unsigned i = 0; i < TL_GRAPH_RINGS; i++)
        free_ring(&d->rings[i]);
    for (unsigned i = 0; i < TL_SHAPE_COUNT; i++)
        tl__ready_fini(&d->ready[i]);
    d->ready_capacity = 0;
}

static int make_ring(struct tl_ring *ring, uint32_t window, uint32_t dep_pool)
{
    if (ring->window != window || ring->dep_pool != dep_pool) {
        free_ring(ring);
        ring->window = window;
        ring->dep_pool = dep_pool;
        /* A full window of the largest payloads and one skipped end; touched only as far as it is used. */
        ring->payload_bytes = (window + 2) * (uint64_t)TL_PAYLOAD_MAX;
        ring->slots = tl__reserve(window * sizeof(struct tl_slot));
        ring->deps = tl__reserve(dep_pool * sizeof(struct tl_dep));
        ring->payloads = tl__reserve(ring->payload_bytes);
        ring->released = tl__reserve(window * sizeof(bool));
        if (ring->slots == NULL || ring->deps == NULL || ring->payloads == NULL || ring->released == NULL) {
            free_ring(ring); /* the next run must not use half of a ring */
            return TL_ENOMEM;
        }
    }
    tl_store_rlx(&ring->head, 0); /* relaxed: no other thread is in the run yet */
    tl_store_rlx(&ring->tail, 0);
    ring->payload_at = 0;
    return 0;
}

/* Each queue can hold every slot at once, so a push never fails. */
static int make_ready(struct tl_device *d, uint64_t slots)
{
    uint64_t capacity = 2;
    int r = 0;

    while (capacity < slots)
        capacity *= 2;
    if (capacity == d->ready_capacity) {
        for (unsigned i = 0; i < TL_SHAPE_COUNT; i++)
            while (tl__ready_pop(&d->ready[i]) != NULL)
                ; /* what a failed run left: the next run has its slots now, and they must not start twice */
        return 0;
    }
    for (unsigned i = 0; i < TL_SHAPE_COUNT && r == 0; i++) {
        tl__ready_fini(&d->ready[i]);
        r = tl__ready_init(&d->ready[i], capacity);
    }
    d->ready_capacity = r == 0 ? capacity : 0;
    return r;
}

/* `keep`: ring 0 holds an image. */
static int make_rings(struct tl_device *d, unsigned rings, bool keep)
{
    uint64_t slots = 0;

    for (unsigned i = 0; i < TL_GRAPH_RINGS; i++) {
        if (i >= rings) {
            free_ring(&d->rings[i]);
            continue;
        }
        if (!keep && make_ring(&d->rings[i], d->launch->task_window[i], d->launch->dep_pool[i]) < 0)
            return TL_ENOMEM;
        slots += d->launch->task_window[i];
    }
    return make_ready(d, slots);
}

/* --- kernels ---------------------------------------------------------------------------------------------------------
 */

static uint8_t tensor_width(const struct tl_kernel *kernel)
{
    uint8_t n = 0;

    while (n < kernel->signature_count && n < TL_MAX_TENSORS && kernel->signature[n] != TL_SCALAR)
        n++;
    return n;
}

/* func_id -> kernel. The loader has checked that ids are unique; here only that they can index a table. */
static int index_kernels(struct tl_device *d)
{
    const struct tl_program *program = d->program;
    int32_t max = -1;

    for (uint32_t i = 0; i < program->n_kernels; i++) {
        if (program->kernels[i].func_id < 0 || program->kernels[i].func_id >= MAX_FUNC)
            return TL_EINVAL;
        if (program->kernels[i].func_id > max)
            max = program->kernels[i].func_id;
    }
    tl__free(d->by_func);
    d->n_func = (uint32_t)(max + 1);
    d->by_func = tl__alloc(d->n_func != 0 ? d->n_func : 1, sizeof(*d->by_func));
    if (d->by_func == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < program->n_kernels; i++) {
        const struct tl_kernel *kernel = &program->kernels[i];

        d->by_func[kernel->func_id] = (struct tl_kernel_ref){kernel, tensor_width(kernel)};
    }
    return 0;
}

/* --- roles
 * ------------------------------------------------------------------------------------------------------------- */

static void make_core(struct tl_device *d, struct tl_scheduler *s, unsigned kind, uint32_t id)
{
    struct tl_core_role *core = &d->cores[id];
    uint64_t bit = UINT64_C(1) << s->n_clusters;

    memset(core, 0, sizeof(*core));
    core->id = id;
    core->kind = (uint8_t)kind;
    core->cluster = (uint8_t)s->n_clusters;
    core->sched = s;
    s->cores[kind][s->n_clusters] = core;
    s->idle[kind] |= bit;
    s->accepts[kind] |= bit;
}

static uint32_t core_id(const struct tl_arch *arch, uint32_t clusters, uint32_t cluster, unsigned kind)
{
    if (kind == TL_KIND_AIC)
        return cluster;
    return tl__arch_aics(arch, clusters) + arch->cluster_aivs * cluster + (kind - TL_KIND_AIV0);
}

/* The schedulers get clusters in turn. */
static int make_roles(struct tl_device *d)
{
    uint32_t clusters = d->launch->clusters;
    int r = 0;

    d->n_scheds = d->launch->schedulers;
    d->n_cores = tl__arch_cores(d->opts.arch, clusters);
    memset(d->scheds, 0, TL_MAX_SCHEDULERS * sizeof(struct tl_scheduler));
    for (uint32_t c = 0; c < clusters; c++) {
        struct tl_scheduler *s = &d->scheds[c % d->n_scheds];

        for (unsigned kind = 0; kind < TL_KIND_COUNT; kind++)
            if (tl__cluster_has(d->opts.arch, kind))
                make_core(d, s, kind, core_id(d->opts.arch, clusters, c, kind));
        s->n_clusters++;
    }
    for (uint32_t i = 0; i < d->n_scheds && r == 0; i++) {
        d->scheds[i].idx = i;
        d->scheds[i].device = d;
        tl_store_rlx(&d->scheds[i].deadline_ns, TL_FOREVER); /* relaxed: no other thread is in the run yet */
        r = tl__recorder_begin(&d->scheds[i].rec, &d->opts.memory, d->opts.bells, d->launch,
                               tl__streams_on(d->launch->levels, TL_WRITER_SCHEDULER), i);
        if (r == 0)
            r = tl__probes_begin_role(&d->scheds[i]);
    }
    return r == 0 ? tl__orch_record_begin(d) : r;
}

static int make_graph(struct tl_device *d, const struct tl_runtime_policy *policy, struct tl_graph **ret_graph,
                      struct tl_error *reterr)
{
    const struct tl_launch *l = d->launch;
    struct tl_graph_opts opts = {.rings = policy->rings,
                                 .recycle = policy->recycle,
                                 .dump_level = (uint8_t)l->levels[TL_COLLECT_DUMP],
                                 .guard = l->guard};

    for (unsigned i = 0; i < policy->rings; i++) {
        opts.task_window[i] = l->task_window[i];
        opts.dep_pool[i] = l->dep_pool[i];
        opts.heap[i] = l->heap[i];
        opts.heap_bytes[i] = l->heap_bytes[i];
        tl__guard_heap(d, &opts.heap[i], &opts.heap_bytes[i]);
    }
    *ret_graph = d->spare;
    d->spare = NULL;
    if (*ret_graph != NULL && tl__graph_reset(*ret_graph, &opts))
        return 0;
    tl__graph_destroy(*ret_graph);
    *ret_graph = NULL;
    return tl__graph_create(&opts, ret_graph, reterr);
}

/* --- the launch
 * ---------------------------------------------------------------------------------------------------------- */

const struct tl_launch *tl__device_launch(const struct tl_device *d, uint64_t addr)
{
    const struct tl_launch *l = tl__dev_ptr(&d->opts.memory, addr, sizeof(*l));

    return l != NULL && l->magic == TL_LAUNCH_MAGIC && l->version == TL_LAUNCH_VERSION ? l : NULL;
}

static int read_launch(struct tl_device *d, uint64_t addr)
{
    const struct tl_launch *l = tl__device_launch(d, addr);

    if (l == NULL)
        return TL_ECORRUPT;
    d->status = tl__dev_ptr(&d->opts.memory, l->status, sizeof(*d->status));
    if (d->status == NULL || l->clusters == 0 || l->clusters > d->opts.arch->clusters || l->schedulers == 0 ||
        l->schedulers > TL_MAX_SCHEDULERS || l->schedulers > l->clusters ||
        (l->n_tensors != 0 &&
         tl__dev_ptr(&d->opts.memory, l->tensors, l->n_tensors * sizeof(struct tl_tensor)) == NULL) ||
        (l->n_params != 0 && tl__dev_ptr(&d->opts.memory, l->params, l->n_params * sizeof(int64_t)) == NULL))
        return TL_ECORRUPT;
    d->launch = l;
    return 0;
}

static void reset(struct tl_device *d)
{
    tl_store_rlx(&d->over, 0); /* relaxed, all: G1 publishes them to the pool */
    tl_store_rlx(&d->submitted_all, 0);
    tl_store_rlx(&d->submitted, 0);
    tl_store_rlx(&d->retired_early, 0);
    tl_store_rlx(&d->space_wanted, 0);
    tl_store_rlx(&d->failed, 0);
    tl_store_rlx(&d->hung, 0);
    tl_store_rlx(&d->warned, 0);
    tl_store_rlx(&d->status->code, 0);
    tl_store_rlx(&d->status->retired, 0);
    tl_store_rlx(&d->status->submitted, 0);
    tl_store_rlx(&d->status->allocations, 0);
    tl_store_rlx(&d->status->last_task, 0);
    tl_store_rlx(&d->status->orchestration, TL_ORCHESTRATION_NOT_BEGUN);
    tl_store_rlx(&d->status->refused_submits, 0);
    tl_store_rlx(&d->status->epoch, d->launch->epoch);
    d->status->refused = TL_REFUSED_NOT;
    d->status->estimated_bytes = 0;
    d->status->message[0] = '\0';
    d->status->block[0] = '\0';
    if (d->launch->dfx != 0) {
        struct tl_dfx_header *dfx = tl__dev_ptr(&d->opts.memory, d->launch->dfx, sizeof(*dfx));

        if (dfx != NULL)
            tl__parked_reset(dfx);
    }
    tl__probes_begin(d);
    tl__timing_begin(d);
}

/* *ret_graph: an empty one, or NULL: an image is there to start from. */
static int set_up(struct tl_device *d, const struct tl_runtime_policy *policy, struct tl_graph **ret_graph)
{
    /* If the orchestrator records, the orchestration must run. */
    bool keep = policy->build_first && !policy->recycle &&
                tl__streams_on(d->launch->levels, TL_WRITER_ORCHESTRATOR) == 0 && tl__image_fits(d);
    struct tl_error err = {0};
    int r;

    if (!keep)
        tl__image_drop(d);
    reset(d);
    if ((r = index_kernels(d)) == TL_ENOMEM)
        (void)tl__fail(&err, r, "no memory for the program's kernel table");
    else if (r < 0)
        (void)tl__fail(&err, r, "the program's kernel table cannot be used: func_ids must be in 0..%d", MAX_FUNC - 1);
    else if ((r = make_rings(d, policy->rings, keep)) < 0)
        (void)tl__fail(&err, r, "no memory for the task rings; lower --task-window or --dep-pool");
    else if ((r = make_roles(d)) < 0)
        (void)tl__fail(&err, r, "the lanes in device memory are not usable: %s", tl_strerror(r));
    else if ((r = tl__guard_begin(d)) < 0)
        (void)tl__fail(&err, r, "the buffers cannot be guarded: %s", tl_strerror(r));
    else if (!keep)
        r = make_graph(d, policy, ret_graph, &err);
    if (r < 0) {
        d->status->refused = TL_REFUSED_SET_UP;
        tl__device_fail(d, r, err.msg);
    }
    return r;
}

/* After a failure some tasks ran and did not retire: how many records they call for is unknown. */
static void count_expected(struct tl_device *d)
{
    bool known = tl_load_rlx(&d->status->code) == 0; /* relaxed: the run is over */

    for (unsigned stream = 0; stream < TL_STREAM_COUNT; stream++) {
        uint64_t n = d->orch_record.rec.expected[stream];

        for (uint32_t i = 0; i < d->n_scheds; i++)
            n += d->scheds[i].rec.expected[stream];
        d->status->expected[stream] = known ? n : UINT64_MAX;
    }
}

/* What records cost, over the roles: the mean of those that were measured. */
static void count_costs(struct tl_device *d)
{
    for (unsigned stream = 0; stream < TL_STREAM_COUNT; stream++) {
        uint64_t sum = tl__producer_record_ps(&d->orch_record.rec.producer[stream]), n = sum != 0;

        for (uint32_t i = 0; i < d->n_scheds; i++) {
            uint64_t ps = tl__producer_record_ps(&d->scheds[i].rec.producer[stream]);

            sum += ps;
            n += ps != 0;
        }
        d->status->record_ps[stream] = n != 0 ? sum / n : 0;
    }
}

void tl__device_report(struct tl_device *d)
{
    struct tl_run_status *status = d->status;
    uint32_t no = 0;

    if (!tl_cas_acq_rel(&d->reported, &no, 1u)) /* H2: the caller, or the watch if the caller is stuck in a kernel */
        return;
    count_expected(d);
    count_costs(d);
    tl__timing_end(d);
    if (d->launch->dfx != 0) {
        struct tl_dfx_header *dfx = tl__dev_ptr(&d->opts.memory, d->launch->dfx, sizeof(*dfx));

        if (dfx != NULL) /* relaxed: the lanes have ended */
            status->parked_ns = tl__parked_sum(tl_load_rlx(&dfx->parked), tl__now_ns());
    }
    status->wall_ns = tl__now_ns() - d->began_ns;
    tl__device_report_counts(d, status);
    tl__device_report_last(d);
    tl_store_rel(&status->state, (uint32_t)TL_RUN_DONE); /* R7 */
    tl__bell_ring(&d->opts.bells->run);
}

/* A graph that is complete before its first task: what it would record must fit on the disk. */
static void check_disk(struct tl_device *d)
{
    uint64_t limit = d->launch->disk_limit_bytes, needed;
    struct tl_record_estimate f;
    char text[400];

    if (!tl__probe_on(&d->scheds[0]) || tl_load_rlx(&d->failed) != 0) /* relaxed: nothing runs yet */
        return;
    tl__probe_estimate(d, &f);
    d->status->estimated_bytes = f.payload_bytes;
    needed = f.payload_bytes + f.records * TL_RECORD_DISK_BYTES;
    if (limit == 0 || needed <= limit)
        return;
    d->status->refused = TL_REFUSED_DISK;
    (void)tl__format(
        text, sizeof(text),
        "nothing was run: its recording needs %.1f MB (%llu records with %.1f MB of payload) and the disk has "
        "space for %.1f MB; free some, choose another directory with --out, or record less (level 1, or 3 "
        "with marks)",
        (double)needed / 1e6, (unsigned long long)f.records, (double)f.payload_bytes / 1e6, (double)limit / 1e6);
    tl__device_fail(d, TL_ENOSPC, text);
}

static void execute(struct tl_device *d, const struct tl_runtime_policy *policy, struct tl_graph *graph)
{
    struct tl_orch orch = {.device = d, .graph = graph, .policy = policy};

    if (policy->build_first) {
        if (graph == NULL)
            tl__image_start(d);
        else
            tl__orch_run(&orch);
        check_disk(d);
    }
    tl__device_enter(d);
    if (!policy->build_first)
        tl__orch_run(&orch);
    tl__device_work(d, 0);
    tl__device_leave(d);
}

int tl__device_run(struct tl_device *d, uint64_t launch, const struct tl_program *program,
                   const struct tl_runtime_policy *policy)
{
    struct tl_graph *graph = NULL;
    int r = d->stuck ? TL_EPOISONED : read_launch(d, launch);

    if (r < 0)
        return r;
    d->program = program;
    d->began_ns = tl__now_ns();
    tl_store_rlx(&d->reported, 0);                             /* relaxed: no other thread is in the run yet */
    tl_store_rlx(&d->status->state, (uint32_t)TL_RUN_RUNNING); /* relaxed: a figure until R7 */
    if (set_up(d, policy, &graph) == 0)
        execute(d, policy, graph);
    tl__guard_end(d);
    if (tl_load_rlx(&d->status->code) != 0) { /* relaxed: the run is over */
        tl__image_drop(d);
        tl__graph_destroy(graph);
    } else if (graph != NULL && policy->build_first && !policy->recycle && d->launch->guard == 0) {
        tl__image_keep(d, graph);
    } else if (graph != NULL) {
        tl__graph_destroy(d->spare);
        d->spare = graph;
    }
    tl__device_report(d);
    return -(int)tl_load_rlx(&d->status->code);
}
