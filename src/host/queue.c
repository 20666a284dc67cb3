/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a worker's runs. One is on the device; those behind it are prepared: their tensors are in device memory
 * and their recordings begun. Whoever waits for a run drives the queue: it waits for the device with the lock open,
 * settles what ended, and launches the next at once, before anything is exported, so that the device works on while
 * recordings are written. A run that failed is finished before the next is launched, because what it left in device
 * memory may have to be read there.
 *
 * The worker's lock guards everything but the wait for the device, which one thread at a time does (`driven`); others
 * sleep until something has changed.
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

/* The mailbox may be closed before the monitor has buried the chip; then it is waited for, so as to tell how it ended.
 */
static int gone(struct tl_worker *w, int rc, struct tl_error *reterr)
{
    int signal_number;

    (void)tl__chip_kill(w->chip);
    return tl__fail(reterr, rc, "device %d is gone before the launch: it %s", w->opts.device_id,
                    tl__chip_death(w->chip, &signal_number));
}

/* What a failed run did to the lanes ends the recordings that were begun behind it; they begin again. */
static void unbind_prepared(struct tl_worker *w)
{
    for (struct tl_run *run = w->runs; run != NULL; run = run->next)
        if (run->stage == TL_RUN_PREPARED && run->recording)
            tl__recording_abandon(run);
}

/* Finishes the oldest run whose recording is collected or can be; false if there is none. */
static bool finish_one(struct tl_worker *w, const struct tl_run *but)
{
    for (struct tl_run *run = w->runs; run != NULL; run = run->next)
        if (run != but && run->stage == TL_RUN_SETTLED && run->recording) {
            tl__run_finish(run);
            return true;
        }
    return false;
}

/* Whether the directory is another's that is not exported yet. */
static bool shares_prefix(const struct tl_run *run)
{
    for (const struct tl_run *other = run->worker->runs; other != NULL; other = other->next)
        if (other != run && other->recording && strcmp(other->prefix, run->prefix) == 0)
            return true;
    return false;
}

/* 0; TL_EBUSY: a run on the device, or before it, has what this one needs. */
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
    if (run->recording && run->args.runtime == TL_RUNTIME_HOST_BUILD) /* whose graph is known before its first task */
        run->args.disk_room_bytes = tl__engine_room_bytes(run->prefix);
    rc = tl__chip_copy_in(w->chip, run->launch, &run->args, sizeof(run->args));
    if (rc != 0)
        return tl__fail(reterr, rc, "cannot write the launch to the device: %s", tl_strerror(rc));
    run->launched_ns = run->idle_from_ns = tl__now_ns();
    rc = tl__chip_launch(w->chip, run->launch, run->status, run->loaded->handle);
    return rc == 0 ? 0 : gone(w, rc, reterr);
}

/* Gives the device its next run if it has none. A run that cannot be launched ends here. */
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

/* Sleeps, with the lock open, until something has changed. */
static int await_change(struct tl_worker *w, uint64_t deadline_ns)
{
    uint32_t seen = tl_load_acq(&w->changes); /* X2: under the lock, so that no change is missed; pairs with X1 */
    int rc;

    tl__unlock(&w->lock);
    rc = tl__park(&w->changes, seen, deadline_ns);
    tl__lock(&w->lock);
    return rc;
}

/* Waits for the run on the device, with the lock open. 0: it is settled. */
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

/* Waits for the next change, the device's or another thread's. 0, or TL_ETIMEDOUT. A run that the caller does not wait
 * for may be gone after it. */
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
        (void)advance(w, TL_FOREVER); /* what it needs is free when the run that has it is exported */
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
