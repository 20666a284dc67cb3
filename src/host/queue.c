/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a worker's runs. One run is on the device. The runs behind it are prepared: their tensors are in device
 * memory and their recordings have begun. A thread that waits for a run drives the queue: it waits for the device with
 * the lock released, settles the run that ended, and launches the next one before it exports anything, so that the
 * device works while recordings are written. A failed run is finished before the next launch, because its records may
 * still have to be read from device memory.
 *
 * The worker's lock guards everything except the wait for the device. One thread at a time does that (`driven`); the
 * others sleep until the state changes.
 */
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "host/worker_impl.h"

static struct tl_run *first_at(struct tl_worker *w, enum tl_run_stage stage)
{
    struct tl_run *run = w->runs;

    while (run != NULL && run->stage != stage)
        run = run->next;
    return run;
}

static void changed(struct tl_worker *w)
{
    (void)tl_add_rel(&w->changes, 1u); /* X1: what changed under the lock; pairs with X2 */
    tl__wake(&w->changes, UINT32_MAX);
}

/* ---- Launching ---- */

/* The mailbox may close before the monitor has reaped the chip's process. Waits for the reaping, so that the message
 * can say how the chip ended. */
static int gone(struct tl_worker *w, int rc, struct tl_error *reterr)
{
    int signal_number;

    (void)tl__chip_kill(w->chip);
    return tl__fail(reterr, rc, "device %d is gone before the launch: it %s", w->opts.device_id,
                    tl__chip_death(w->chip, &signal_number));
}

/* A failed run also ends the recordings that began after it, because the lanes are shared. They begin again. */
static void unbind_prepared(struct tl_worker *w)
{
    for (struct tl_run *run = w->runs; run != NULL; run = run->next)
        if (run->stage == TL_RUN_PREPARED && run->recording)
            tl__recording_abandon(run);
}

/* Finishes the oldest run whose recording is complete or can be completed; false if there is none. */
static bool finish_one(struct tl_worker *w, const struct tl_run *but)
{
    for (struct tl_run *run = w->runs; run != NULL; run = run->next)
        if (run != but && run->stage == TL_RUN_SETTLED && run->recording) {
            tl__run_finish(run);
            return true;
        }
    return false;
}

/* Whether another run that is not exported yet records into the directory. */
static bool shares_prefix(const struct tl_run *run)
{
    for (const struct tl_run *other = run->worker->runs; other != NULL; other = other->next)
        if (other != run && other->recording && strcmp(other->prefix, run->prefix) == 0)
            return true;
    return false;
}

/* 0; TL_EBUSY: an earlier run holds a resource that this one needs. */
static int bind(struct tl_run *run, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    int rc;

    do {
        rc = shares_prefix(run) ? TL_EBUSY : tl__recording_begin(run, reterr);
    } while (rc == TL_EBUSY && finish_one(w, run));
    return rc;
}

static int launch(struct tl_run *run, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    int rc;

    if (w->poisoned_epoch != 0)
        return tl__fail(reterr, TL_EPOISONED, "run %u left a kernel that never returns; open another worker",
                        w->poisoned_epoch);
    rc = tl__worker_revive(w, reterr);
    if (rc == 0 && w->engine != NULL && tl__engine_broken(w->engine))
        unbind_prepared(w);
    if (rc == 0 && tl__run_records(&run->config) && !run->recording)
        rc = bind(run, reterr);
    if (rc != 0)
        return rc;
    run->args.epoch = run->epoch;
    if (run->recording && run->args.runtime == TL_RUNTIME_HOST_BUILD) /* its graph is complete before its first task */
        run->args.disk_limit_bytes = tl__engine_room_bytes(run->prefix);
    rc = tl__chip_copy_in(w->chip, run->launch, &run->args, sizeof(run->args));
    if (rc != 0)
        return tl__fail(reterr, rc, "cannot write the launch to the device: %s", tl_strerror(rc));
    run->launched_ns = run->idle_from_ns = tl__now_ns();
    rc = tl__chip_launch(w->chip, run->launch, run->status, run->loaded->handle);
    return rc == 0 ? 0 : gone(w, rc, reterr);
}

/* Launches the next run if the device is idle. A run that cannot be launched ends here. */
static void launch_next(struct tl_worker *w)
{
    struct tl_run *run;

    while (w->running == NULL && !w->closing && (run = first_at(w, TL_RUN_PREPARED)) != NULL) {
        run->code = launch(run, &run->error);
        if (run->code == 0) {
            run->stage = TL_RUN_LAUNCHED;
            w->running = run;
            return;
        }
        if (run->recording)
            tl__recording_abandon(run);
        run->result.run_code = run->code;
        run->stage = TL_RUN_FINISHED;
    }
}

/* ---- Driving ---- */

/* Sleeps, with the lock released, until the state changes. */
static int await_change(struct tl_worker *w, uint64_t deadline_ns)
{
    uint32_t seen = tl_load_acq(&w->changes); /* X2: under the lock, so that no change is missed; pairs with X1 */
    int rc;

    tl__unlock(&w->lock);
    rc = tl__park(&w->changes, seen, deadline_ns);
    tl__lock(&w->lock);
    return rc;
}

/* Waits for the run on the device, with the lock released. 0: the run is settled. */
static int drive(struct tl_worker *w, uint64_t deadline_ns)
{
    struct tl_run *run = w->running;
    struct tl_ending ending;
    int rc;

    w->driven = true;
    tl__unlock(&w->lock);
    rc = tl__run_await(run, deadline_ns, &ending);
    tl__lock(&w->lock);
    w->driven = false;
    if (rc == 0) {
        tl__run_note_end(run, &ending);
        w->running = NULL;
        if (run->code != 0)
            tl__run_finish(run);
        launch_next(w);
    }
    changed(w);
    return rc;
}

/* Waits for the next change, by the device or another thread. 0, or TL_ETIMEDOUT. Runs that the caller does not wait
 * for may be freed meanwhile. */
static int advance(struct tl_worker *w, uint64_t deadline_ns)
{
    if (w->driven)
        return await_change(w, deadline_ns);
    launch_next(w);
    return w->running != NULL ? drive(w, deadline_ns) : 0;
}

int tl__queue_settle(struct tl_run *run, uint64_t deadline_ns)
{
    int rc = 0;

    while (run->stage < TL_RUN_SETTLED && rc != TL_ETIMEDOUT)
        rc = advance(run->worker, deadline_ns);
    return run->stage < TL_RUN_SETTLED ? TL_ETIMEDOUT : 0;
}

/* ---- Entering ---- */

static bool is_active(const struct tl_run *run)
{
    return run->stage == TL_RUN_PREPARED || run->stage == TL_RUN_LAUNCHED;
}

static unsigned count_active(const struct tl_worker *w)
{
    unsigned n = 0;

    for (const struct tl_run *run = w->runs; run != NULL; run = run->next)
        n += is_active(run);
    return n;
}

void tl__queue_make_room(struct tl_worker *w, unsigned most)
{
    while (count_active(w) > most)
        (void)advance(w, TL_FOREVER);
}

int tl__queue_bind(struct tl_run *run, struct tl_error *reterr)
{
    struct tl_worker *w = run->worker;
    int rc;

    while ((rc = bind(run, reterr)) == TL_EBUSY && count_active(w) > 0)
        (void)advance(w, TL_FOREVER); /* the export of the run that holds the resource releases it */
    return rc;
}

void tl__queue_enter(struct tl_run *run)
{
    struct tl_run **at = &run->worker->runs;

    while (*at != NULL)
        at = &(*at)->next;
    *at = run;
}

void tl__queue_start(struct tl_worker *w)
{
    launch_next(w);
    changed(w);
}
