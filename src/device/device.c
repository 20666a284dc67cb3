/* SPDX-License-Identifier: Apache-2.0 */
/* The device's threads: what a thread does in a run, how it sleeps, and the pool that waits between runs. */
#include "device/device.h"

#include <string.h>

#include "base/error.h"
#include "device/device_impl.h"
#include "device/device_run.h"
#include "device/hang_watch.h"

#define LEAVE_NS UINT64_C(100000000) /* after a hang: how long threads may take to return from their kernels */
#define SPINS 64u                    /* looks without progress before a thread sleeps */

bool tl__device_fail(struct tl_device *d, int code, const char *text)
{
    uint32_t none = 0;

    assert(code < 0);
    if (!tl_cas_acq_rel(&d->status->code, &none,
                        (uint32_t)-code)) /* F1: the first fatal code wins, and writes the text */
        return false;
    strncpy(d->status->message, text, sizeof(d->status->message) - 1);
    tl_store_rel(&d->failed, 1u); /* F2: every thread sees it and ends */
    return true;
}

uint64_t tl__device_retired(struct tl_device *d)
{
    uint64_t n = tl_load_acq(&d->retired_early); /* D8 */

    for (uint32_t i = 0; i < d->n_scheds; i++)
        n += tl_load_acq(&d->scheds[i].retired); /* D8: what those tasks did, and released, is visible */
    return n;
}

void tl__device_report_last(struct tl_device *d)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < d->n_scheds; i++) { /* relaxed, all: figures */
        struct tl_scheduler *s = &d->scheds[i];
        uint64_t retired = tl_load_rlx(&s->retired), task = tl_load_rlx(&s->last_task);

        if (retired == tl_load_rlx(&s->last_reported))
            continue;
        tl_store_rlx(&s->last_reported, retired);
        if (task > last)
            last = task;
    }
    if (last != 0)
        tl_store_rlx(&d->status->last_task, last);
}

bool tl__device_over(struct tl_device *d)
{
    return tl_load_acq(&d->over) != 0; /* D9: everything the run did; pairs with check_over */
}

static void check_over(struct tl_device *d)
{
    if (tl_load_rlx(&d->submitted_all) == 0 && tl_load_rlx(&d->hung) == 0) /* relaxed: looked at again */
        return;
    for (uint32_t i = 0; i < d->n_scheds; i++)
        if (tl_load_acq(&d->scheds[i].ended) == 0) /* D9: that lane's last record */
            return;
    if (tl_load_acq(&d->orch_record.ended) == 0) /* D9: likewise */
        return;
    assert(tl_load_rlx(&d->failed) != 0 ||
           tl__device_retired(d) == tl_load_rlx(&d->submitted)); /* DI9; relaxed: D8, F2 */
    tl_store_rel(&d->over, 1u);                                  /* D9 */
    tl__wake(&d->over, UINT32_MAX);                              /* the watch */
    tl__bell_ring(&d->opts.bells->device);
}

void tl__device_notify(struct tl_device *d)
{
    tl_fence_full(); /* B2: what was made ready before the look at `waiting`; pairs with B1 of tl__device_sleep */
    if (tl_load_rlx(&d->opts.bells->device.waiting) != 0)
        tl__bell_ring(&d->opts.bells->device);
}

/* Wakes a sleeping thread only for work that this thread will not do at once itself. */
static void share(struct tl_device *d)
{
    tl_fence_full(); /* B2: what this step did before the look at `waiting`; pairs with B1 of tl__device_sleep */
    if (tl_load_rlx(&d->opts.bells->device.waiting) == 0)
        return;
    if (tl__cores_todo(d, 2) || tl_load_rlx(&d->space_wanted) != 0)
        tl__bell_ring(&d->opts.bells->device);
}

bool tl__device_step(struct tl_device *d, unsigned hint)
{
    bool progress = false;

    for (uint32_t i = 0; i < d->n_scheds; i++) {
        struct tl_scheduler *s = &d->scheds[(i + hint) % d->n_scheds];

        if (tl__sched_has_work(s))
            progress |= tl__sched_step(s);
    }
    if (progress)
        share(d);
    return tl__cores_step(d, hint) || progress;
}

/* Steps all roles, without the hint that they have work: the end of a run is no work, but must be noticed. */
static bool step_all(struct tl_device *d, unsigned hint)
{
    bool progress = tl__device_step(d, hint);

    for (uint32_t i = 0; i < d->n_scheds && !progress; i++)
        progress |= tl__sched_step(&d->scheds[i]);
    return tl__orch_step(d) || progress;
}

static uint64_t wake_deadline(struct tl_device *d)
{
    uint64_t deadline = tl_load_rlx(&d->orch_record.deadline_ns); /* relaxed: as below */

    for (uint32_t i = 0; i < d->n_scheds; i++) {
        uint64_t at =
            tl_load_rlx(&d->scheds[i].deadline_ns); /* relaxed: set before this thread's look, or by a peer awake */

        if (at < deadline)
            deadline = at;
    }
    return deadline;
}

void tl__device_sleep(struct tl_device *d, unsigned hint, bool (*look)(void *arg), void *arg)
{
    struct tl_bell *bell = &d->opts.bells->device;
    uint32_t ticket = tl__bell_arm(bell); /* B1 */

    if (!step_all(d, hint) && (look == NULL || !look(arg))) {
        check_over(d);
        if (!tl__device_over(d))
            (void)tl__bell_sleep_bounded(bell, ticket, wake_deadline(d));
    }
    tl__bell_disarm(bell);
}

void tl__device_work(struct tl_device *d, unsigned hint)
{
    unsigned dry = 0;

    while (!tl__device_over(d)) {
        if (tl__device_step(d, hint)) {
            dry = 0;
        } else if (dry < SPINS) {
            dry++;
            tl__relax();
        } else {
            dry = 0;
            tl__device_sleep(d, hint, NULL, NULL);
        }
    }
}

/* --- the pool ---------------------------------------------------------------------------------------------------- */

struct pool_thread {
    struct tl_device *device;
    unsigned idx;
};

static void pool_main(void *arg)
{
    struct pool_thread self = *(struct pool_thread *)arg;
    struct tl_device *d = self.device;
    uint32_t seen = 0, go;

    tl__free(arg);
    if (d->opts.thread_begin != NULL)
        d->opts.thread_begin();
    for (;;) {
        while ((go = tl_load_acq(&d->go)) == seen) /* G1: the run's set-up; pairs with tl__device_enter */
            (void)tl__park(&d->go, seen, TL_FOREVER);
        seen = go;
        if (tl_load_acq(&d->stop) != 0) /* G1 */
            return;
        tl__device_work(d, self.idx);
        if (tl_sub_acq_rel(&d->inside, 1u) ==
            1) /* G2: this thread's last look at the run; pairs with tl__device_leave */
            tl__wake(&d->inside, UINT32_MAX);
    }
}

void tl__device_enter(struct tl_device *d)
{
    assert(!d->stuck && tl_load_rlx(&d->inside) == 0); /* DI11; relaxed: G2 was seen at the last run's end */
    tl_store_rlx(&d->over, 0);                         /* relaxed: G1 publishes it */
    tl_store_rlx(&d->inside, d->opts.threads);         /* the pool and the watch */
    (void)tl_add_rel(&d->go, 1u);                      /* G1 */
    tl__wake(&d->go, UINT32_MAX);
}

void tl__device_leave(struct tl_device *d)
{
    uint64_t deadline = tl_load_rlx(&d->hung) != 0 ? tl__now_ns() + LEAVE_NS : TL_FOREVER;
    uint32_t n;

    while ((n = tl_load_acq(&d->inside)) != 0) /* G2 */
        if (tl__park(&d->inside, n, deadline) == TL_ETIMEDOUT) {
            d->stuck = true;
            return;
        }
}

static int start_thread(struct tl_device *d, unsigned idx)
{
    struct pool_thread *self = tl__alloc(1, sizeof(*self));
    int r;

    if (self == NULL)
        return TL_ENOMEM;
    *self = (struct pool_thread){d, idx};
    r = tl__spawn("tl-chip", pool_main, self, &d->threads[idx]);
    if (r < 0)
        tl__free(self);
    return r;
}

int tl__device_create(const struct tl_device_opts *opts, struct tl_device **ret_device)
{
    struct tl_device *d = tl__reserve(sizeof(*d)); /* for its alignment */
    int r = TL_ENOMEM;

    if (d == NULL)
        return TL_ENOMEM;
    d->opts = *opts;
    tl__clock_mark(&d->clock);
    d->threads = tl__alloc(opts->threads, sizeof(struct tl_thread *));
    d->scheds = tl__reserve(TL_MAX_SCHEDULERS * sizeof(struct tl_scheduler));
    d->cores = tl__alloc(tl__arch_cores(opts->arch, opts->arch->clusters), sizeof(struct tl_core_role));
    if (d->threads == NULL || d->scheds == NULL || d->cores == NULL)
        goto out;
    r = 0;
    for (unsigned i = 1; i < opts->threads && r == 0; i++)
        r = start_thread(d, i);
out:
    if (r == 0)
        r = tl__spawn("tl-watch", tl__watch_main, d, &d->watch);
    if (r < 0)
        tl__device_destroy(d);
    else
        *ret_device = d;
    return r;
}

bool tl__device_stuck(const struct tl_device *d)
{
    return d->stuck;
}

void tl__device_destroy(struct tl_device *d)
{
    if (d == NULL || d->stuck) /* a stuck thread still uses the device */
        return;
    tl_store_rlx(&d->stop, 1);    /* relaxed: G1 publishes it */
    (void)tl_add_rel(&d->go, 1u); /* G1 */
    tl__wake(&d->go, UINT32_MAX);
    tl__join(d->watch);
    for (unsigned i = 1; d->threads != NULL && i < d->opts.threads; i++)
        tl__join(d->threads[i]);
    tl__device_free_rings(d);
    if (d->scheds != NULL)
        tl__release(d->scheds, TL_MAX_SCHEDULERS * sizeof(struct tl_scheduler));
    tl__free(d->by_func);
    tl__free(d->cores);
    tl__free(d->threads);
    tl__release(d, sizeof(*d));
}
