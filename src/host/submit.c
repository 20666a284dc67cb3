/* SPDX-License-Identifier: Apache-2.0 */
/* From a program and its data to a launch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "artifact/name_map.h"
#include "base/env.h"
#include "base/error.h"
#include "base/guard.h"
#include "host/files.h"
#include "host/worker_impl.h"
#include "wire/memory.h"

#define ALIGN_UP(n, a) (((n) + (a)-1) / (a) * (a))

/* What lies beyond the size that this library knows must be zero. */
static int copy_config(const struct tl_run_config *config, struct tl_run_config *ret_config, struct tl_error *reterr)
{
    const unsigned char *tail = (const unsigned char *)config;

    if (config == NULL || config->struct_size < sizeof(config->struct_size))
        return tl__fail(reterr, TL_EINVAL, "struct tl_run_config begins with its size: TL_RUN_CONFIG_INIT");
    for (size_t i = sizeof(*config); i < config->struct_size; i++)
        if (tail[i] != 0)
            return tl__fail(reterr, TL_EVERSION, "struct tl_run_config asks for what this version does not know");
    memset(ret_config, 0, sizeof(*ret_config));
    memcpy(ret_config, config, config->struct_size < sizeof(*ret_config) ? config->struct_size : sizeof(*ret_config));
    return 0;
}

static bool wants_recording(const struct tl_run_config *c)
{
    return c->dump_args > 0 || c->chip_swimlane > 0 || c->pmu > 0 || c->dep_gen || c->scope_stats;
}

static int check_config(const struct tl_worker *w, const struct tl_run_config *c, struct tl_error *reterr)
{
    if (c->dump_args < 0 || c->dump_args > 3)
        return tl__fail(reterr, TL_ERANGE, "the args dump has levels 0 to 3, not %d", c->dump_args);
    if (c->chip_swimlane < 0 || c->chip_swimlane > 4)
        return tl__fail(reterr, TL_ERANGE, "the chip swimlane has levels 0 to 4, not %d", c->chip_swimlane);
    if (c->pmu != 0 || c->dep_gen || c->scope_stats)
        return tl__fail(reterr, TL_ENOTSUP, "%s is not available yet in this version",
                        c->pmu != 0  ? "the PMU collector"
                        : c->dep_gen ? "the dependency generator"
                                     : "scope statistics");
    if (c->block_dim > w->arch->clusters)
        return tl__fail(reterr, TL_ERANGE, "%s has %u clusters, not %u", w->platform, w->arch->clusters, c->block_dim);
    if (c->aicpu_threads != 0 && (c->aicpu_threads < 2 || c->aicpu_threads > TL_MAX_AICPU_THREADS))
        return tl__fail(reterr, TL_ERANGE, "a chip runs with 2 to %u AICPU threads, not %u", TL_MAX_AICPU_THREADS,
                        c->aicpu_threads);
    if (c->task_window != 0 && (c->task_window < 2 || (c->task_window & (c->task_window - 1)) != 0))
        return tl__fail(reterr, TL_ERANGE, "the task window must be a power of two of at least 2, not %u",
                        c->task_window);
    if (c->heap_bytes > (UINT64_C(1) << 46))
        return tl__fail(reterr, TL_ERANGE, "a heap of %" PRIu64 " bytes is not possible", c->heap_bytes);
    if (!TASKLENS_DFX && wants_recording(c))
        return tl__fail(reterr, TL_ENOTSUP,
                        "this build records nothing (TASKLENS_DFX=OFF); build it with TASKLENS_DFX=ON");
    if (c->guard > TL_GUARD_ALIGN_MAX || (c->guard & (c->guard - 1)) != 0)
        return tl__fail(reterr, TL_ERANGE, "--guard takes a power of two of at most %u bytes, not %u",
                        TL_GUARD_ALIGN_MAX, c->guard);
    if (wants_recording(c) && (c->output_prefix == NULL || c->output_prefix[0] == '\0'))
        return tl__fail(reterr, TL_EINVAL, "a run with diagnostics needs an output prefix: where they go");
    return 0;
}

static int check_arguments(const struct tl_program *program, const struct tl_host_tensor *tensors, uint32_t n_tensors,
                           const int64_t *params, uint32_t n_params, struct tl_error *reterr)
{
    if (n_params != program->n_params)
        return tl__fail(reterr, TL_EINVAL, "%s takes %u parameters, not %u", program->name, program->n_params,
                        n_params);
    for (uint32_t i = 0; i < n_params; i++)
        if (params[i] < program->params[i].min || params[i] > program->params[i].max)
            return tl__fail(reterr, TL_ERANGE, "%s of %s must be %" PRId64 " to %" PRId64 ", not %" PRId64,
                            program->params[i].name, program->name, program->params[i].min, program->params[i].max,
                            params[i]);
    if (n_tensors > TL_MAX_PROGRAM_ARGS)
        return tl__fail(reterr, TL_EINVAL, "a program has at most %d tensors, not %u", TL_MAX_PROGRAM_ARGS, n_tensors);
    for (uint32_t i = 0; i < n_tensors; i++) {
        const struct tl_host_tensor *t = &tensors[i];

        if (t->rank > TL_MAX_DIMS || tl_dtype_bits(t->dtype) == 0 || t->data == NULL ||
            (t->role != TL_IN && t->role != TL_OUT && t->role != TL_INOUT))
            return tl__fail(reterr, TL_EINVAL, "tensor %u (%s) of %s has no data, or an impossible dtype, rank or role",
                            i, t->name != NULL ? t->name : "?", program->name);
    }
    return 0;
}

/* Sets text to a copy of `from`, and the configuration to that copy. */
static int keep_text(char *text, size_t size, const char **field, struct tl_error *reterr)
{
    if (*field == NULL)
        return 0;
    if ((size_t)snprintf(text, size, "%s", *field) >= size)
        return tl__fail(reterr, TL_EINVAL, "too long for a run: %.200s...", *field);
    *field = text;
    return 0;
}

/* ---- Memory ---- */

/* The rings' heaps stay from run to run; they change only with the sizes asked for. An image has one. */
static int size_heaps(struct tl_worker *w, const struct tl_run_config *c, const struct tl_chip_rings *rings,
                      struct tl_error *reterr)
{
    uint64_t each = ALIGN_UP(c->heap_bytes ? c->heap_bytes : rings->heap_bytes, TL_DEV_ALIGN);

    for (uint32_t i = 0; i < TL_RINGS; i++)
        if (w->heap[i] != 0 && (i >= rings->heaps || w->heap_bytes[i] != each)) {
            tl__chip_free(w->chip, w->heap[i]);
            w->heap[i] = w->heap_bytes[i] = 0;
        }
    for (uint32_t i = 0; i < rings->heaps; i++) {
        char what[64];
        int rc;

        if (w->heap[i] != 0)
            continue;
        (void)snprintf(what, sizeof(what), "heap of ring %u (--heap-bytes)", i);
        rc = tl__chip_alloc(w->chip, each, what, &w->heap[i], reterr);
        if (rc != 0)
            return rc;
        w->heap_bytes[i] = each;
    }
    return 0;
}

/* Memory for one tensor. In a guarded run there is a page before and after its own for the device to close. */
static int place_tensor(struct tl_run *run, uint32_t i, uint64_t bytes, const char *what, struct tl_error *reterr)
{
    const uint32_t guard = run->config.guard;
    /* One page to begin at a page, one in front, one behind. What no memory holds is refused as it is. */
    uint64_t room = guard != 0 && bytes <= UINT64_C(1) << 46 ? tl__guard_room(bytes) + 2 * TL_GUARD_PAGE : bytes;
    int rc = tl__chip_alloc(run->worker->chip, room, what, &run->tensor_block[i], reterr);

    if (rc != 0)
        return rc;
    run->tensor_bytes[i] = bytes;
    run->tensor_addr[i] = run->tensor_block[i];
    if (guard != 0)
        run->tensor_addr[i] = tl__guard_up(run->tensor_block[i], TL_GUARD_PAGE) + TL_GUARD_PAGE +
                              tl__guard_lead(bytes, tl__guard_align(tl_dtype_bits(run->tensors[i].dtype), guard));
    return 0;
}

/* Device memory of the program's tensors, filled. Outputs too: what a program does not write is then what was there. */
static int place_tensors(struct tl_run *run, struct tl_tensor *table, struct tl_error *reterr)
{
    struct tl_chip *chip = run->worker->chip;

    for (uint32_t i = 0; i < run->n_tensors; i++) {
        const struct tl_host_tensor *h = &run->tensors[i];
        struct tl_tensor t = tl_tensor_make((enum tl_dtype)h->dtype, h->rank, h->shape);
        uint64_t bytes = tl_tensor_bytes(&t);
        char what[96];
        int rc;

        (void)snprintf(what, sizeof(what), "tensor %.60s", h->name != NULL ? h->name : "of the program");
        rc = place_tensor(run, i, bytes, what, reterr);
        if (rc != 0)
            return rc;
        rc = tl__chip_copy_in(chip, run->tensor_addr[i], h->data, bytes);
        if (rc != 0)
            return tl__fail(reterr, rc, "%s: cannot copy %" PRIu64 " bytes to the device: %s", what, bytes,
                            tl_strerror(rc));
        t.buffer = run->tensor_addr[i];
        t.buffer_bytes = bytes;
        table[i] = t;
    }
    return 0;
}

static void fill_rings(const struct tl_worker *w, const struct tl_run_config *c, const struct tl_chip_rings *rings,
                       struct tl_launch *l)
{
    for (uint32_t i = 0; i < TL_RINGS; i++) {
        l->heap[i] = w->heap[i];
        l->heap_bytes[i] = w->heap_bytes[i];
        l->task_window[i] = c->task_window ? c->task_window : rings->task_window;
        l->dep_pool[i] = c->dep_pool ? c->dep_pool : rings->dep_pool;
    }
}

/* Puts launch, status, tensor table and parameters side by side into device memory. */
static int place_launch(struct tl_run *run, struct tl_launch *l, const struct tl_tensor *table, const int64_t *params,
                        struct tl_error *reterr)
{
    const struct tl_run_status idle = {.state = TL_RUN_IDLE, .epoch = run->epoch};
    struct tl_chip *chip = run->worker->chip;
    uint64_t tensors_at = ALIGN_UP(sizeof(*l), 1024) + sizeof(idle);
    uint64_t params_at = ALIGN_UP(tensors_at + l->n_tensors * sizeof(*table), 64);
    int rc = tl__chip_alloc(chip, params_at + l->n_params * sizeof(*params), "launch", &run->block, reterr);

    if (rc != 0)
        return rc;
    run->launch = run->block;
    run->status = l->status = run->block + ALIGN_UP(sizeof(*l), 1024);
    l->tensors = run->block + tensors_at;
    l->params = run->block + params_at;
    rc = tl__chip_copy_in(chip, run->status, &idle, sizeof(idle));
    if (rc == 0)
        rc = tl__chip_copy_in(chip, l->tensors, table, l->n_tensors * sizeof(*table));
    if (rc == 0)
        rc = tl__chip_copy_in(chip, l->params, params, l->n_params * sizeof(*params));
    if (rc == 0)
        rc = tl__chip_copy_in(chip, run->launch, l, sizeof(*l));
    return rc == 0 ? 0 : tl__fail(reterr, rc, "cannot write the launch to the device: %s", tl_strerror(rc));
}

/* ---- Recording ---- */

static struct tl_run_facts facts_of(const struct tl_worker *w, const struct tl_launch *l)
{
    struct tl_run_facts facts = {.clock_freq_hz = w->arch->clock_hz,
                                 .clusters = l->clusters,
                                 .schedulers = l->schedulers,
                                 .host_build = l->runtime == TL_RUNTIME_HOST_BUILD};

    for (unsigned i = 0; i < TL_RINGS; i++) {
        facts.heap_bytes[i] = l->heap_bytes[i];
        facts.task_window[i] = l->task_window[i];
        facts.dep_pool[i] = l->dep_pool[i];
    }
    return facts;
}

/* The kernels' names, for the viewers; before the run, so that however it ends they are there. */
static int write_names(const struct tl_run *run, struct tl_error *reterr)
{
    const struct tl_program *program = run->loaded->object.program;
    struct tl_name_map map = {0};
    int rc;

    for (uint32_t i = 0; i < program->n_kernels; i++)
        if ((uint32_t)program->kernels[i].func_id >= map.count)
            map.count = (uint32_t)program->kernels[i].func_id + 1;
    map.names = tl__alloc(map.count + 1, sizeof(*map.names));
    if (map.names == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the kernels' names");
    for (uint32_t i = 0; i < program->n_kernels; i++)
        map.names[program->kernels[i].func_id] = (char *)(uintptr_t)program->kernels[i].name; /* read, and not freed */
    rc = tl__name_map_write(run->prefix, run->case_name[0] != '\0' ? run->case_name : "default", &map, reterr);
    tl__free(map.names);
    return rc;
}

/* Sets l->dfx. */
static int start_recording(struct tl_run *run, struct tl_launch *l, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    const struct tl_engine_opts opts = {.transport = &w->transport, .threads = w->opts.dfx_threads};
    struct tl_engine_run what = {0};
    int rc = tl__make_dirs(run->prefix, reterr);

    if (rc == 0 && w->engine == NULL)
        rc = tl__engine_create(&opts, &w->engine, reterr);
    if (rc != 0)
        return rc;
    if (run->loaded->object.path != NULL)
        (void)snprintf(run->program_hash, sizeof(run->program_hash), "xxh3:%016" PRIx64, run->loaded->object.hash);
    what.epoch = run->epoch;
    what.config = &run->config;
    what.lanes = l->schedulers;
    what.program = run->loaded->object.program->name;
    what.case_name = run->case_name;
    what.platform = w->platform;
    what.program_hash = run->program_hash[0] != '\0' ? run->program_hash : NULL;
    what.facts = facts_of(w, l);
    memset(&w->alloc_error, 0, sizeof(w->alloc_error));
    rc = tl__engine_begin(w->engine, &what, &l->dfx, reterr);
    if (rc == TL_ENOMEM && w->alloc_error.code != 0)
        return tl__fail(reterr, rc, "%.600s; smaller: --dfx-set records=, buffers= or avg-bytes=", w->alloc_error.msg);
    if (rc == TL_EEXIST)
        return tl__fail(reterr, rc, "%s holds the journal of a run that was killed; first `tasklens recover %s`",
                        run->prefix, run->prefix);
    run->recording = rc == 0;
    if (rc == 0 && (run->config.chip_swimlane > 0 || run->config.dep_gen))
        rc = write_names(run, reterr);
    return rc == 0 ? tl__object_keep(&run->loaded->object, run->prefix, reterr) : rc;
}

/* ---- Submit ---- */

/* The device runs one launch at a time: what runs is run to its end first. */
static int make_way(struct tl_worker *w, struct tl_error *reterr)
{
    struct tl_run *before = w->running;

    if (w->poisoned_epoch != 0)
        return tl__fail(reterr, TL_EPOISONED, "run %u left a kernel that never returns; open another worker",
                        w->poisoned_epoch);
    if (before != NULL)
        (void)tl__run_settle(before, TL_FOREVER);
    for (before = w->runs; before != NULL; before = before->next)
        if (before->settled && before->code != 0)
            return tl__fail(reterr, TL_EBUSY, "run %u failed: wait for it before the next", before->epoch);
    return tl__worker_revive(w, reterr);
}

/* The mailbox may be closed before the monitor has buried the chip; then it is waited for, so as to tell how it ended.
 */
static int gone(struct tl_worker *w, int rc, struct tl_error *reterr)
{
    int signal_number;

    (void)tl__chip_kill(w->chip);
    return tl__fail(reterr, rc, "device %d is gone before the launch: it %s", w->opts.device_id,
                    tl__chip_death(w->chip, &signal_number));
}

static int launch_run(struct tl_run *run, const int64_t *params, uint32_t n_params, enum tl_runtime_kind kind,
                      const struct tl_chip_rings *rings, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    struct tl_launch l = {.magic = TL_LAUNCH_MAGIC, .version = TL_LAUNCH_VERSION, .epoch = run->epoch};
    struct tl_tensor table[TL_MAX_PROGRAM_ARGS];
    const struct tl_run_config *c = &run->config;
    int rc;

    l.runtime = kind;
    l.clusters = c->block_dim ? c->block_dim : w->arch->clusters;
    l.schedulers = (c->aicpu_threads ? c->aicpu_threads : w->arch->aicpu_threads) - 1;
    l.n_tensors = run->n_tensors;
    l.n_params = n_params;
    l.dump_level = (uint32_t)c->dump_args;
    l.swimlane_level = (uint32_t)c->chip_swimlane;
    l.pmu_event = (uint32_t)c->pmu;
    l.dep_gen = c->dep_gen;
    l.scope_stats = c->scope_stats;
    l.dump_hash = !c->dump_hash_off;
    l.dump_chunk = c->dump_oversize_chunk;
    l.guard = c->guard;
    l.scheduler_timeout_ms = (uint32_t)w->timeouts.scheduler_ms;
    rc = size_heaps(w, c, rings, reterr);
    fill_rings(w, c, rings, &l);
    if (rc == 0)
        rc = place_tensors(run, table, reterr);
    if (rc == 0 && wants_recording(c))
        rc = start_recording(run, &l, reterr);
    if (rc == 0 && run->recording && kind == TL_RUNTIME_HOST_BUILD) /* whose graph is known before its first task */
        l.disk_room_bytes = tl__engine_room_bytes(run->prefix);
    if (rc == 0)
        rc = place_launch(run, &l, table, params, reterr);
    if (rc != 0)
        return rc;
    run->idle_from_ns = tl__now_ns();
    rc = tl__chip_launch(w->chip, run->launch, run->status, run->loaded->handle);
    return rc == 0 ? 0 : gone(w, rc, reterr);
}

TL_API int tl_worker_submit(struct tl_worker *w, struct tl_loaded *program, const struct tl_host_tensor *tensors,
                            uint32_t n_tensors, const int64_t *params, uint32_t n_params,
                            const struct tl_run_config *config, struct tl_run **ret_run, struct tl_error *reterr)
{
    struct tl_run *run = tl__alloc(1, sizeof(*run));
    struct tl_chip_rings rings;
    int kind, rc;

    if (run == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a run");
    rc = copy_config(config, &run->config, reterr);
    if (rc == 0)
        rc = check_config(w, &run->config, reterr);
    if (rc == 0)
        rc = keep_text(run->prefix, sizeof(run->prefix), &run->config.output_prefix, reterr);
    if (rc == 0)
        rc = keep_text(run->case_name, sizeof(run->case_name), &run->config.case_name, reterr);
    if (rc == 0)
        rc = check_arguments(program->object.program, tensors, n_tensors, params, n_params, reterr);
    kind = tl__chip_runtime(run->config.runtime != NULL ? run->config.runtime : "tensormap_and_ringbuffer", &rings);
    if (rc == 0 && kind < 0)
        rc = tl__fail(reterr, TL_EINVAL, "no runtime \"%s\"; the runtimes: tensormap_and_ringbuffer, host_build_graph",
                      run->config.runtime);
    if (rc == 0)
        rc = make_way(w, reterr);
    if (rc != 0) {
        tl__free(run);
        return rc;
    }
    run->worker = w;
    run->loaded = program;
    run->epoch = ++w->epoch;
    run->n_tensors = n_tensors;
    if (n_tensors > 0)
        memcpy(run->tensors, tensors, n_tensors * sizeof(*tensors));
    run->next = w->runs;
    w->runs = run;
    rc = launch_run(run, params, n_params, (enum tl_runtime_kind)kind, &rings, reterr);
    if (rc != 0) {
        if (run->recording)
            tl__engine_abandon(w->engine, run->epoch);
        tl__run_free(run);
        return rc;
    }
    w->running = run;
    *ret_run = run;
    return 0;
}
