/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a run in the engine: bound by begin, over when every lane's end is written, forgotten by export or
 * abandon. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "artifact/args_dump.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pathname.h"
#include "collect/engine_impl.h"
#include "collect/run_dir.h"

/* An end mark that is this late may be one that never comes. */
#define LATE_NS UINT64_C(1000000000)

static void copy_text(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from != NULL ? from : "");
}

static unsigned open_runs(const struct tl_engine *e)
{
    unsigned n = 0;

    for (unsigned i = 0; i < TL_ENGINE_RUNS; i++)
        n += tl_load_rlx(&e->runs[i].epoch) != 0; /* relaxed: only the worker writes it */
    return n;
}

/* --- begin --------------------------------------------------------------------------------------------------- */

static int journal_open(struct tl_engine *e, struct tl_crun *run, uint32_t epoch, struct tl_error *reterr)
{
    struct tl_journal_run j = {.start_unix_ns = run->start_unix_ns,
                               .clock_freq_hz = run->facts.clock_freq_hz,
                               .arena_bytes = e->shape.arena_bytes,
                               .epoch = epoch,
                               .flags = (run->config.dump_hash_off ? 0 : TL_JOURNAL_HASHES) |
                                        (run->config.dump_oversize_chunk ? TL_JOURNAL_PIECES : 0),
                               .stream_count = TL_STREAM_COUNT,
                               .records_per_buffer = e->shape.records,
                               .lane_count = e->n_lanes,
                               .format = run->config.format,
                               .facts = run->facts};

    memcpy(j.levels, run->config.levels, sizeof(j.levels));
    copy_text(j.program, sizeof(j.program), run->program);
    copy_text(j.case_name, sizeof(j.case_name), run->case_name);
    copy_text(j.platform, sizeof(j.platform), run->platform);
    copy_text(j.runtime, sizeof(j.runtime), run->runtime);
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++) {
        const struct tl_collector_spec *spec = tl__collector_at(i);

        copy_text(j.streams[i].name, sizeof(j.streams[i].name), spec->name);
        j.streams[i].record_bytes = spec->record_bytes;
        j.streams[i].version = spec->version;
    }
    return tl__journal_create(run->dir, &j, &run->journal, reterr);
}

/* Lanes of streams that this run has off are over before it begins. Returns how many. */
static uint32_t end_unused(const struct tl_engine *e, struct tl_crun *run)
{
    uint32_t n = 0;

    memset(run->lanes, 0, e->n_lanes * sizeof(run->lanes[0]));
    for (unsigned i = 0; i < e->n_lanes; i++) {
        run->lanes[i].ended = run->levels[e->lanes[i].spec->stream] == 0;
        n += run->lanes[i].ended;
    }
    assert(n <= e->n_lanes); /* CI10 */
    return n;
}

/* Everything that describes the run, from zero. Only the parts that are used are touched. */
static void bind(struct tl_engine *e, struct tl_crun *run, const struct tl_engine_run *opts)
{
    struct timespec now;

    assert(tl_load_rlx(&run->epoch) == 0);                     /* CI10; relaxed: only the worker writes it */
    assert(e->n_lanes != 0 && e->n_lanes <= TL_DFX_MAX_LANES); /* CI10 */
    run->config = *opts->config;
    run->throttle_bytes_s = e->throttle_bytes_s;
    run->config.output_prefix = run->config.runtime = NULL;
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        run->levels[i] = (uint32_t)tl__stream_level(opts->config->levels, i);
    run->n_lanes = e->n_lanes;
    run->reconciled = false;
    copy_text(run->dir, sizeof(run->dir), opts->config->output_prefix);
    copy_text(run->program, sizeof(run->program), opts->program);
    copy_text(run->case_name, sizeof(run->case_name), opts->case_name);
    copy_text(run->platform, sizeof(run->platform), opts->platform);
    copy_text(run->program_hash, sizeof(run->program_hash), opts->program_hash);
    copy_text(run->runtime, sizeof(run->runtime),
              opts->config->runtime != NULL ? opts->config->runtime : "tensormap_and_ringbuffer");
    copy_text(run->status, sizeof(run->status), "ok");
    memset(&run->outcome, 0, sizeof(run->outcome));
    run->error[0] = '\0';
    run->facts = opts->facts;
    run->facts.schedulers = opts->lanes;
    run->facts.lane_streams = e->shape.streams;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    run->start_unix_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    run->bin_end = run->jobs_queued = 0;
    run->bin_fd = -1;
    run->journal = NULL;
    run->disk_code = run->journal_code = 0;
    run->bin_size = run->window_end = run->throttle_until_ns = run->room_bytes = run->n_records = 0;
    run->journaled = run->reserved_bytes = run->room_asked_at = 0;
    run->reserve_fd = -1;
    run->index_full = false;
    run->disk_what[0] = '\0';
    tl_store_rlx(&run->written_bytes, 0); /* relaxed, these six: E1 publishes them */
    tl_store_rlx(&run->settled_bytes, 0);
    tl_store_rlx(&run->first_write_ns, 0);
    tl_store_rlx(&run->busy_ns, 0);
    tl_store_rlx(&run->jobs_done, 0);
    tl_store_rlx(&run->ends, end_unused(e, run));
    run->corrupt_code = 0;
    run->corrupt_what[0] = '\0';
    memset(run->slabs, 0, sizeof(run->slabs));
}

/* Whether both ask for pools of the same sizes, whatever streams they are for. */
static bool same_sizes(const struct tl_shape *a, const struct tl_shape *b)
{
    return a->schedulers == b->schedulers && a->records == b->records && a->buffers == b->buffers &&
           a->ready_depth == b->ready_depth && a->free_depth == b->free_depth && a->arena_bytes == b->arena_bytes;
}

/* Runs whose streams come and go share the pools of all of them: only what is new is a reason to build. */
static bool serves(const struct tl_shape *have, const struct tl_shape *want)
{
    return same_sizes(have, want) && (want->streams & ~have->streams) == 0;
}

static int ensure_pools(struct tl_engine *e, const struct tl_engine_run *run, struct tl_error *reterr)
{
    struct tl_shape shape, together;
    int r;

    memset(&shape, 0, sizeof(shape));
    r = tl__shape_of(run->config, run->lanes, &shape, reterr);
    if (r < 0)
        return r;
    if (e->n_lanes != 0 &&
        tl_load_rlx(&e->broken) == 0 && /* relaxed: no run is open that could break it now, or EBUSY */
        serves(&e->shape, &shape))
        return 0;
    together = shape;
    if (e->n_lanes != 0 && same_sizes(&e->shape, &shape))
        tl__shape_add(&together, e->shape.streams);
    if (open_runs(e) > 0)
        return tl__fail(reterr, TL_EBUSY, "run %u needs other pools than the run that is not exported yet", run->epoch);
    (void)tl__all_request(e, TL_REQUEST_DETACH, NULL);
    r = tl__layout_build(e, &together, reterr);
    if (r == TL_ENOMEM && !serves(&shape, &together)) /* then for this run alone */
        r = tl__layout_build(e, &shape, reterr);
    if (r < 0)
        return r;
    tl_store_rlx(&e->broken, 0u); /* relaxed: the shards attach after it */
    (void)tl__all_request(e, TL_REQUEST_ATTACH, NULL);
    assert(serves(&e->shape, &shape) && e->n_lanes == e->shape.n_lanes); /* CI10 */
    return 0;
}

static int check(struct tl_engine *e, const struct tl_engine_run *run, struct tl_error *reterr)
{
    const char *dir = run->config->output_prefix;

    if (run->epoch <= tl_load_rlx(&e->last_epoch)) /* relaxed: only the worker writes it */
        return tl__fail(reterr, TL_EINVAL, "epoch %u is not above the last one, %u", run->epoch,
                        tl_load_rlx(&e->last_epoch)); /* relaxed: likewise */
    if (dir == NULL || dir[0] == '\0')
        return tl__fail(reterr, TL_EINVAL, "a run with diagnostics needs a directory for its artifacts");
    if (strlen(dir) >= sizeof(e->runs[0].dir))
        return tl__fail(reterr, TL_EINVAL, "the directory's name is longer than %zu bytes: %.100s...",
                        sizeof(e->runs[0].dir) - 1, dir);
    if (open_runs(e) == TL_ENGINE_RUNS)
        return tl__fail(reterr, TL_EBUSY, "%u runs are not exported yet", TL_ENGINE_RUNS);
    return 0;
}

int tl__engine_begin(struct tl_engine *e, const struct tl_engine_run *run, uint64_t *ret_dfx, struct tl_error *reterr)
{
    struct tl_crun *slot = e->runs;
    bool used = false;
    int r = check(e, run, reterr);

    if (r == 0)
        r = tl__run_dir_check(run->config->output_prefix, &used, reterr);
    if (r == 0)
        r = ensure_pools(e, run, reterr);
    if (r < 0)
        return r;
    while (tl_load_rlx(&slot->epoch) != 0) /* relaxed: only the worker writes it; check() has counted them */
        slot++;
    assert(slot < e->runs + TL_ENGINE_RUNS); /* CI10 */
    bind(e, slot, run);
    r = journal_open(e, slot, run->epoch, reterr);
    if (r < 0)
        return r;
    if (used)
        tl__run_dir_clear(slot->dir);
    r = tl__journal_begun(slot->journal); /* what is in the directory from here on is this run's */
    if (r < 0) {
        tl__journal_close(slot->journal, true);
        return tl__fail(reterr, r, "%s/%s: cannot write: %s", slot->dir, TL_JOURNAL_NAME, tl_strerror(r));
    }
    tl_store_rlx(&e->last_epoch, run->epoch);  /* relaxed: E1 publishes it */
    tl_store_rel(&slot->epoch, run->epoch);    /* E1: the run is bound; pairs with E2 */
    for (unsigned i = 0; i < e->n_shards; i++) /* from here on they look by themselves too */
        tl__bell_wake(e->shards[i].bell);
    *ret_dfx = e->region_addr;
    return 0;
}

/* --- the end ------------------------------------------------------------------------------------------------- */

/* It would be taken for a killed run's. */
static void report_if_kept(const char *dir)
{
    char path[TL_PATHNAME_BYTES];

    (void)tl__pathname(path, "%s/%s", dir, TL_JOURNAL_NAME);
    if (access(path, F_OK) == 0)
        tl_log_warn("%s cannot be removed, although the run is over: `tasklens recover %s` does, once it can", path,
                    dir);
}

void tl__run_forget(struct tl_engine *e, struct tl_crun *run, bool remove_journal)
{
    tl__journal_close(run->journal, remove_journal);
    if (remove_journal && run->journal != NULL)
        report_if_kept(run->dir);
    if (run->bin_fd >= 0)
        (void)close(run->bin_fd);
    run->journal = NULL;
    run->bin_fd = -1;
    tl__room_release(run);
    tl__slabs_give_back(e, run);
    tl_store_rel(&run->epoch, 0u); /* E1: nothing of it is used any more */
}

/* Sleeps on the done bell until `done(e, run)`, or the deadline. */
static int wait_for(struct tl_engine *e, struct tl_crun *run, bool (*done)(struct tl_engine *, struct tl_crun *),
                    uint64_t deadline_ns)
{
    while (!done(e, run)) {
        uint32_t ticket = tl__bell_arm(&e->done_bell);
        int r = 0;

        if (!done(e, run))
            r = tl__bell_sleep(&e->done_bell, ticket, deadline_ns);
        tl__bell_disarm(&e->done_bell);
        if (r == TL_ETIMEDOUT)
            return done(e, run) ? 0 : TL_ETIMEDOUT;
    }
    return 0;
}

static bool lanes_ended(struct tl_engine *e, struct tl_crun *run)
{
    (void)e;
    return tl_load_acq(&run->ends) == run->n_lanes; /* H8: all that the lanes recorded is written; pairs with H7 */
}

static bool jobs_finished(struct tl_engine *e, struct tl_crun *run)
{
    uint64_t queued;

    tl__lock(&e->queue_lock);
    queued = run->jobs_queued;
    tl__unlock(&e->queue_lock);
    return tl_load_acq(&run->jobs_done) == queued; /* H6: the writer is done with the run; pairs with H5 */
}

void tl__run_seal(struct tl_engine *e, struct tl_crun *run)
{
    if (!lanes_ended(e, run))
        (void)tl__all_request(e, TL_REQUEST_SEAL, run);
    (void)wait_for(e, run, jobs_finished, TL_FOREVER);
    assert(lanes_ended(e, run));              /* CI10 */
    assert(run->journaled <= run->n_records); /* CI15: the writer is done with it */
}

void tl__engine_abandon(struct tl_engine *e, uint32_t epoch)
{
    struct tl_crun *run = tl__run_find(e, epoch);

    if (run == NULL)
        return;
    (void)tl__all_request(e, TL_REQUEST_SEAL, run);
    (void)wait_for(e, run, jobs_finished, TL_FOREVER);
    tl__run_forget(e, run, true);
    tl__run_dir_clear(run->dir);
}

int tl__engine_quiesce(struct tl_engine *e, uint32_t epoch, uint64_t deadline_ns)
{
    struct tl_crun *run = tl__run_find(e, epoch);

    if (run == NULL)
        return TL_ENOENT;
    for (;;) {
        uint64_t look = tl__now_ns() + LATE_NS;
        int r = wait_for(e, run, lanes_ended, look < deadline_ns ? look : deadline_ns);

        if (r == 0 || look >= deadline_ns)
            return r;
        (void)tl__all_request(e, TL_REQUEST_LATE, run);
    }
}

int tl__engine_reconcile(struct tl_engine *e, uint32_t epoch, struct tl_error *reterr)
{
    struct tl_crun *run = tl__run_find(e, epoch);
    int r;

    if (run == NULL)
        return tl__fail(reterr, TL_ENOENT, "run %u is not open", epoch);
    tl_store_rlx(&e->broken, 1u); /* relaxed: the device's half of the lanes is gone; only the worker reads it */
    run->reconciled = true;
    r = tl__all_request(e, TL_REQUEST_RECONCILE, run);
    (void)wait_for(e, run, lanes_ended, TL_FOREVER);
    if (r < 0)
        return tl__fail(reterr, r, "%s", run->corrupt_what);
    return 0;
}

bool tl__engine_broken(const struct tl_engine *e)
{
    return tl_load_rlx(&e->broken) != 0; /* relaxed: looked at after a settled run */
}

void tl__engine_outcome(struct tl_engine *e, uint32_t epoch, const struct tl_engine_outcome *outcome)
{
    struct tl_crun *run = tl__run_find(e, epoch);

    if (run == NULL)
        return;
    run->outcome = *outcome;
    (void)snprintf(run->error, sizeof(run->error), "%s", outcome->error != NULL ? outcome->error : "");
    run->outcome.error = NULL;
    run->outcome.status = NULL;
    copy_text(run->status, sizeof(run->status), outcome->status != NULL ? outcome->status : "ok");
}
