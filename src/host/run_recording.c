/* SPDX-License-Identifier: Apache-2.0 */
/* A run's recording, as the worker sees it: begun before the launch, collected when the device is done, exported. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "artifact/journal.h"
#include "artifact/name_map.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pathname.h"
#include "host/files.h"
#include "host/worker_impl.h"

/* How long a failed run's lanes get to end by themselves before what they hold is taken from memory. */
#define FAILED_QUIESCE_NS UINT64_C(10000000000)

static struct tl_run_facts facts_of(const struct tl_worker *w, const struct tl_launch *l)
{
    struct tl_run_facts facts = {.clock_freq_hz = w->arch->clock_hz,
                                 .clusters = l->clusters,
                                 .schedulers = l->schedulers,
                                 .host_build = l->runtime == TL_RUNTIME_HOST_BUILD};

    (void)snprintf(facts.arch, sizeof(facts.arch), "%s", w->arch->name);
    for (unsigned i = 0; i < TL_RINGS; i++) {
        facts.heap_bytes[i] = l->heap_bytes[i];
        facts.task_window[i] = l->task_window[i];
        facts.dep_pool[i] = l->dep_pool[i];
    }
    return facts;
}

/* Whether anything is recorded that is about kernels: all but the rings' use. */
static bool names_kernels(const struct tl_run_config *c)
{
    for (int i = 0; i < TL_COLLECT_COUNT; i++)
        if (i != TL_COLLECT_SCOPE && c->levels[i] != 0)
            return true;
    return false;
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

/* Somebody's journal is in the directory. */
static int refuse_taken(const struct tl_run *run, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];

    (void)tl__pathname(path, "%s/%s", run->prefix, TL_JOURNAL_NAME);
    if (tl__journal_lives(path))
        return tl__fail(reterr, TL_EEXIST,
                        "another run is still recording into %s; wait for its end, or take another "
                        "directory (--out)",
                        run->prefix);
    return tl__fail(reterr, TL_EEXIST, "%s holds the journal of a run that was killed; first `tasklens recover %s`",
                    run->prefix, run->prefix);
}

int tl__recording_begin(struct tl_run *run, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    struct tl_launch *l = &run->args;
    const struct tl_engine_opts opts = {.transport = &w->transport, .threads = w->opts.dfx_threads};
    struct tl_engine_run what = {0};
    int rc = tl__make_dirs(run->prefix, reterr);

    if (rc == 0 && w->engine == NULL)
        rc = tl__engine_create(&opts, &w->engine, reterr);
    if (rc == 0)
        tl__engine_throttle_writer(w->engine, w->throttle_bytes_s);
    if (rc != 0)
        return rc;
    if (run->loaded->object.path != NULL)
        (void)snprintf(run->program_hash, sizeof(run->program_hash), "xxh3:%016" PRIx64, run->loaded->object.hash);
    run->epoch = ++w->epoch; /* each attempt has its own: what an abandoned one left in the lanes is nobody's */
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
        return refuse_taken(run, reterr);
    run->recording = rc == 0;
    if (rc == 0 && names_kernels(&run->config)) /* docs/adr/0008: the dump too */
        rc = write_names(run, reterr);
    return rc == 0 ? tl__object_keep(&run->loaded->object, run->prefix, reterr) : rc;
}

/* Brings in what the lanes hold. After a good run each lane ends by its mark, however slow the disk is; after a failed
 * one a lane may have lost its owner. Then its memory is read: the device is out of the run, or is stopped. */
static int collect(struct tl_run *run, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    int rc;

    /* What a watchdog stopped will not end its lanes by itself, and what never began has none to end. */
    if (!run->dead && run->code != TL_ETIMEDOUT && run->end.refused != TL_REFUSED_SET_UP) {
        rc = tl__engine_quiesce(w->engine, run->epoch, run->code == 0 ? TL_FOREVER : tl__now_ns() + FAILED_QUIESCE_NS);
        if (rc != TL_ETIMEDOUT)
            return rc == 0 ? 0 : tl__fail(reterr, rc, "the recording did not end: %s", tl_strerror(rc));
        if (run->stuck && tl__chip_kill(w->chip) != 0)
            w->poisoned_epoch = run->epoch;
    }
    return tl__engine_reconcile(w->engine, run->epoch, reterr);
}

void tl__recording_abandon(struct tl_run *run)
{
    tl__engine_abandon(run->worker->engine, run->epoch);
    tl__object_unkeep(&run->loaded->object, run->prefix);
    run->recording = false;
    run->args.dfx = 0;
}

int tl__run_drain(struct tl_run *run, uint64_t deadline_ns)
{
    struct tl_worker *w = run->worker;
    int rc = 0;

    tl__lock(&w->lock);
    if (run->stage == TL_RUN_SETTLED && run->recording && run->code == 0)
        rc = tl__engine_quiesce(w->engine, run->epoch, deadline_ns);
    tl__unlock(&w->lock);
    return rc == TL_ETIMEDOUT ? rc : 0;
}

int tl__recording_end(struct tl_run *run, struct tl_run_result *result, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    struct tl_error collect_error = {0};
    int collected = collect(run, &collect_error), rc;
    struct tl_engine_outcome outcome = {
        .status = run->code != 0 ? tl_errname(run->code) : "ok",
        .error = run->code != 0 ? run->error.msg : NULL,
        .tasks = run->end.retired,
        .allocations = run->end.allocations,
        .wall_ns = run->end.wall_ns,
        .parked_ns = run->end.parked_ns,
    };

    if (run->end.refused == TL_REFUSED_DISK) { /* nothing was run: nothing to tell */
        tl__recording_abandon(run);
        return 0;
    }
    memcpy(outcome.clock, run->end.clock, sizeof(outcome.clock));
    memcpy(outcome.record_ps, run->end.record_ps, sizeof(outcome.record_ps));
    tl__engine_outcome(w->engine, run->epoch, &outcome);
    rc = tl__engine_export(w->engine, run->epoch, run->code == 0 ? run->end.expected : NULL, result, reterr);
    (void)snprintf(result->artifacts, sizeof(result->artifacts), "%s", run->prefix);
    run->recording = false;
    if (collected != 0) {
        if (reterr != NULL)
            *reterr = collect_error;
        rc = collected;
    }
    return rc;
}
