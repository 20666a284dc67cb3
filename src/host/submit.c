/* SPDX-License-Identifier: Apache-2.0 */
/* From a program and its data to a launch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/collectors.h"
#include "base/env.h"
#include "base/error.h"
#include "base/guard_layout.h"
#include "base/opts.h"
#include "host/worker_impl.h"

bool tl__run_records(const struct tl_run_config *c)
{
    return tl__levels_first(c->levels) >= 0;
}

static unsigned clusters_of(const struct tl_worker *w, const struct tl_run_config *c)
{
    return c->block_dim != 0 ? c->block_dim : w->arch->clusters;
}

/* Each has a cluster of its own; so by default there are no more than that. */
static unsigned schedulers_of(const struct tl_worker *w, const struct tl_run_config *c)
{
    unsigned of_arch = w->arch->aicpu_threads - 1, clusters = clusters_of(w, c);

    return c->aicpu_threads != 0 ? c->aicpu_threads - 1 : of_arch < clusters ? of_arch : clusters;
}

static int check_levels(const int32_t *levels, struct tl_error *reterr)
{
    int wrong = tl__levels_wrong(levels);

    if (wrong < 0)
        return 0;
    if (wrong >= TL_COLLECT_COUNT)
        return tl__fail(reterr, TL_ERANGE,
                        "there are %d diagnostics here; the level of number %d must be 0, not %" PRId32,
                        TL_COLLECT_COUNT, wrong, levels[wrong]);
    return tl__fail(reterr, TL_ERANGE, "%s has levels 0 to %" PRId32 ", not %" PRId32, tl__collect_rows[wrong].words,
                    tl__collect_rows[wrong].max, levels[wrong]);
}

static int check_config(const struct tl_worker *w, const struct tl_run_config *c, struct tl_error *reterr)
{
    int rc = check_levels(c->levels, reterr);

    if (rc != 0)
        return rc;
    if (c->block_dim > w->arch->clusters)
        return tl__fail(reterr, TL_ERANGE, "%s has %u clusters, not %u", w->platform, w->arch->clusters, c->block_dim);
    if (c->aicpu_threads != 0 && (c->aicpu_threads < 2 || c->aicpu_threads > TL_MAX_AICPU_THREADS))
        return tl__fail(reterr, TL_ERANGE, "a chip runs with 2 to %u AICPU threads, not %u", TL_MAX_AICPU_THREADS,
                        c->aicpu_threads);
    if (schedulers_of(w, c) > clusters_of(w, c))
        return tl__fail(reterr, TL_ERANGE,
                        "%u AICPU threads are %u schedulers, and each needs a cluster of its own: block_dim %u is too "
                        "small",
                        c->aicpu_threads, schedulers_of(w, c), clusters_of(w, c));
    if (c->task_window != 0 && (c->task_window < 2 || (c->task_window & (c->task_window - 1)) != 0))
        return tl__fail(reterr, TL_ERANGE, "the task window must be a power of two of at least 2, not %u",
                        c->task_window);
    if (c->heap_bytes > (UINT64_C(1) << 46))
        return tl__fail(reterr, TL_ERANGE, "a heap of %" PRIu64 " bytes is not possible", c->heap_bytes);
    if (!TASKLENS_DFX && tl__run_records(c))
        return tl__fail(reterr, TL_ENOTSUP,
                        "this build records nothing (TASKLENS_DFX=OFF); build it with TASKLENS_DFX=ON");
    if (c->format >= TL_FORMAT_COUNT)
        return tl__fail(reterr, TL_ERANGE, "the formats are 0 (default) to %d, not %u", TL_FORMAT_COUNT - 1, c->format);
    if (c->guard > TL_GUARD_ALIGN_MAX || (c->guard & (c->guard - 1)) != 0)
        return tl__fail(reterr, TL_ERANGE, "--guard takes a power of two of at most %u bytes, not %u",
                        TL_GUARD_ALIGN_MAX, c->guard);
    if (tl__run_records(c) && (c->output_prefix == NULL || c->output_prefix[0] == '\0'))
        return tl__fail(reterr, TL_EINVAL, "a run with diagnostics needs an output prefix: where they go");
    if (tl__run_records(c) && strlen(c->output_prefix) > TL_OUTPUT_PREFIX_MAX)
        return tl__fail(reterr, TL_ERANGE,
                        "the output prefix has %zu bytes; at most %d leave space for the names below it",
                        strlen(c->output_prefix), TL_OUTPUT_PREFIX_MAX);
    return 0;
}

static int check_arguments(const struct tl_program *program, const struct tl_submit_opts *given,
                           struct tl_error *reterr)
{
    const uint32_t n_tensors = given->n_tensors, n_params = given->n_params;
    const struct tl_host_tensor *tensors = given->tensors;
    const int64_t *params = given->params;

    if (n_params != program->n_params)
        return tl__fail(reterr, TL_EINVAL, "%s takes %u parameters, not %u", program->name, program->n_params,
                        n_params);
    if (n_params > 0 && params == NULL)
        return tl__fail(reterr, TL_EINVAL, "%s takes %u parameters, and params is NULL", program->name, n_params);
    for (uint32_t i = 0; i < n_params; i++)
        if (params[i] < program->params[i].min || params[i] > program->params[i].max)
            return tl__fail(reterr, TL_ERANGE, "%s of %s must be %" PRId64 " to %" PRId64 ", not %" PRId64,
                            program->params[i].name, program->name, program->params[i].min, program->params[i].max,
                            params[i]);
    if (n_tensors > TL_MAX_PROGRAM_ARGS)
        return tl__fail(reterr, TL_EINVAL, "a program has at most %d tensors, not %u", TL_MAX_PROGRAM_ARGS, n_tensors);
    if (program->n_tensors != 0 && n_tensors != program->n_tensors)
        return tl__fail(reterr, TL_EINVAL, "%s takes %u tensors, not %u", program->name, program->n_tensors, n_tensors);
    if (n_tensors > 0 && tensors == NULL)
        return tl__fail(reterr, TL_EINVAL, "%u tensors for %s, and tensors is NULL", n_tensors, program->name);
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

/* ---- Submit ---- */

static void fill_launch(struct tl_run *run, uint32_t n_params, enum tl_runtime_kind kind)
{
    const struct tl_worker *w = run->worker;
    const struct tl_run_config *c = &run->config;

    run->args = (struct tl_launch){
        .magic = TL_LAUNCH_MAGIC,
        .version = TL_LAUNCH_VERSION,
        .runtime = kind,
        .clusters = clusters_of(w, c),
        .schedulers = schedulers_of(w, c),
        .n_tensors = run->n_tensors,
        .n_params = n_params,
        .dump_hash = !c->dump_hash_off,
        .dump_chunk = c->dump_oversize_chunk,
        .guard = c->guard,
        .scheduler_timeout_ms = (uint32_t)w->timeouts.scheduler_ms,
    };
    memcpy(run->args.levels, c->levels, sizeof(c->levels));
}

/* Outside a window nothing is recorded, whatever the run asks for. */
static void apply_window(const struct tl_worker *w, struct tl_run_config *c)
{
    if (w->capture_off)
        memset(c->levels, 0, sizeof(c->levels));
}

/* All that can be done before the device is free for it. Under the worker's lock. */
static int prepare(struct tl_run *run, const int64_t *params, const struct tl_chip_rings *rings,
                   struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    int rc;

    if (w->poisoned_epoch != 0)
        return tl__fail(reterr, TL_EPOISONED, "run %u left a kernel that never returns; open another worker",
                        w->poisoned_epoch);
    /* A run uses the heaps that it finds: they change while no other is there. */
    tl__queue_make_room(w, tl__heaps_fit(w, &run->config, rings) ? w->opts.depth - 1 : 0);
    rc = w->running == NULL ? tl__worker_revive(w, reterr) : 0;
    if (rc == 0)
        rc = tl__place(run, rings, params, reterr);
    if (rc == 0 && tl__run_records(&run->config))
        rc = tl__queue_bind(run, reterr);
    if (rc == 0 && !run->recording)
        run->epoch = ++w->epoch;
    return rc;
}

/* Into the worker's queue, and on the device if it is free. Under the worker's lock; frees `run` on failure. */
static int enter(struct tl_run *run, const int64_t *params, const struct tl_chip_rings *rings, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    int rc;

    tl__queue_enter(run);
    run->stage = TL_RUN_UNREADY;
    rc = prepare(run, params, rings, reterr);
    if (rc == 0) {
        run->stage = TL_RUN_PREPARED;
        tl__queue_start(w);
        rc = run->stage == TL_RUN_FINISHED ? run->code : 0; /* it could not be launched */
        if (rc != 0 && reterr != NULL)
            *reterr = run->error;
    }
    if (rc == 0)
        return 0;
    if (run->recording)
        tl__recording_abandon(run);
    tl__run_free(run);
    return rc;
}

/* The caller's options and configuration, each as this version knows it. */
static int copy_options(const struct tl_submit_opts *from, struct tl_submit_opts *ret_opts,
                        struct tl_run_config *ret_config, struct tl_error *reterr)
{
    static const struct tl_run_config defaults = TL_RUN_CONFIG_INIT;
    int rc = tl__copy_opts(ret_opts, sizeof(*ret_opts), from, "tl_submit_opts", "TL_SUBMIT_OPTS_INIT", reterr);

    if (rc != 0)
        return rc;
    if (ret_opts->config == NULL)
        ret_opts->config = &defaults;
    return tl__copy_opts(ret_config, sizeof(*ret_config), ret_opts->config, "tl_run_config", "TL_RUN_CONFIG_INIT",
                         reterr);
}

TL_API int tl_worker_submit(struct tl_worker *w, struct tl_loaded *program, const struct tl_submit_opts *opts,
                            struct tl_run **ret_run, struct tl_error *reterr)
{
    struct tl_submit_opts given;
    struct tl_chip_rings rings;
    struct tl_run *run;
    int kind, rc;

    if (w == NULL || program == NULL || ret_run == NULL)
        return tl__fail(reterr, TL_EINVAL, "a run needs a worker, a program and a place for the run: %s is NULL",
                        w == NULL         ? "the worker"
                        : program == NULL ? "the program"
                                          : "ret_run");
    run = tl__alloc(1, sizeof(*run));
    if (run == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a run");
    rc = copy_options(opts, &given, &run->config, reterr);
    if (rc == 0)
        rc = check_config(w, &run->config, reterr);
    if (rc == 0)
        tl__settle_pmu(w, &run->config);
    if (rc == 0)
        rc = keep_text(run->prefix, sizeof(run->prefix), &run->config.output_prefix, reterr);
    if (rc == 0)
        rc = keep_text(run->case_name, sizeof(run->case_name), &run->config.case_name, reterr);
    if (rc == 0)
        rc = check_arguments(program->object.program, &given, reterr);
    kind = tl__chip_runtime(run->config.runtime != NULL ? run->config.runtime : "tensormap_and_ringbuffer", &rings);
    if (rc == 0 && kind < 0)
        rc = tl__fail(reterr, TL_EINVAL, "no runtime \"%s\"; the runtimes: tensormap_and_ringbuffer, host_build_graph",
                      run->config.runtime);
    if (rc != 0) {
        tl__free(run);
        return rc;
    }
    run->worker = w;
    run->loaded = program;
    run->n_tensors = given.n_tensors;
    if (given.n_tensors > 0)
        memcpy(run->tensors, given.tensors, given.n_tensors * sizeof(*given.tensors));
    tl__lock(&w->lock);
    apply_window(w, &run->config);
    fill_launch(run, given.n_params, (enum tl_runtime_kind)kind);
    rc = enter(run, given.params, &rings, reterr);
    tl__unlock(&w->lock);
    if (rc == 0)
        *ret_run = run;
    return rc;
}

TL_API void tl_worker_capture_begin(struct tl_worker *w)
{
    tl__lock(&w->lock);
    w->capture_off = false;
    tl__unlock(&w->lock);
}

TL_API void tl_worker_capture_end(struct tl_worker *w)
{
    tl__lock(&w->lock);
    w->capture_off = true;
    tl__unlock(&w->lock);
}
