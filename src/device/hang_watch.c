/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch: a thread of its own, so that it can act when every other thread is stuck in a kernel. It declares a hang
 * when tasks are outstanding and nothing has moved for the scheduler timeout, parked time not counted. While nothing
 * moves it steps the roles that record, for threads that cannot. After the hang no kernel is started; the watch steps
 * the schedulers itself, which record what runs and end their lanes, and writes the run's status if the thread that
 * should is stuck. During the run it also reports progress to the host, which costs the schedulers nothing.
 */
#include "device/hang_watch.h"

#include "base/error.h"
#include "device/device_impl.h"
#include "device/device_run.h"
#include "device/stall.h"
#include "wire/parked.h"

#define LOOKS 8u                        /* per timeout; a hang is declared at most an eighth of it late */
#define LOOK_NS_MAX UINT64_C(100000000) /* also how old the figures in the run's status may be */
#define LOOK_NS_MIN UINT64_C(1000000)

static uint64_t moved(struct tl_device *d)
{
    uint64_t n = tl_load_rlx(&d->submitted) + tl__device_retired(d); /* relaxed, all: only change matters */

    for (uint32_t i = 0; i < d->n_cores; i++)
        n += tl_load_rlx(&d->cores[i].fin_count) + tl_load_rlx(&d->cores[i].running);
    return n;
}

static uint64_t parked_ns(const struct tl_device *d, uint64_t now)
{
    struct tl_dfx_header *dfx = d->launch->dfx != 0 ? tl__dev_ptr(&d->opts.memory, d->launch->dfx, sizeof(*dfx)) : NULL;

    return dfx == NULL ? 0 : tl__parked_sum(tl_load_rlx(&dfx->parked), now);
}

/* The host's watchdogs and progress lines use these figures, and after a kill they are what is known. */
static void show_progress(struct tl_device *d)
{
    tl__device_report_counts(d, d->status);
    tl__device_report_last(d);
}

static bool outstanding(struct tl_device *d)
{
    return tl__device_retired(d) != tl_load_rlx(&d->submitted);
}

static void declare(struct tl_device *d, uint64_t still_ns)
{
    char text[900];

    tl__stall_lines(d, still_ns, text, sizeof(text));
    tl__device_fail(d, TL_EHANG, text);
    tl_store_rel(&d->hung, 1u); /* H1: pairs with drained() */
    tl__bell_ring(&d->opts.bells->device);
    tl__device_work(d, 0);
    tl__device_report(d);
}

/*
 * Every thread may be in a kernel: then a lane that waited, and could continue now, would count as parked without end.
 * A thread that found a role locked by the watch went to sleep, and relies on the lock's holder to see what it saw; but
 * the watch runs no kernel and does not look again. So it rings, whether anything moved or not.
 */
static void step_roles(struct tl_device *d)
{
    for (uint32_t i = 0; i < d->n_scheds; i++)
        (void)tl__sched_step(&d->scheds[i]);
    (void)tl__orch_step(d);
    tl__bell_ring(&d->opts.bells->device);
}

static void watch_run(struct tl_device *d)
{
    uint64_t budget = (uint64_t)d->launch->scheduler_timeout_ms * 1000000, every = budget / LOOKS;
    uint64_t last = moved(d), since = tl__now_ns(), parked = parked_ns(d, since);

    every = every > LOOK_NS_MAX ? LOOK_NS_MAX : every < LOOK_NS_MIN ? LOOK_NS_MIN : every;
    while (!tl__device_over(d)) {
        uint64_t now, count, waited, still;

        (void)tl__park(&d->over, 0, tl__now_ns() + every);
        now = tl__now_ns();
        show_progress(d);
        count = moved(d);
        if (count != last || !outstanding(d)) {
            last = count;
            since = now;
            parked = parked_ns(d, now);
            continue;
        }
        step_roles(d);
        waited = parked_ns(d, now) - parked; /* exact to some hundred ns: it may exceed the time that has passed */
        still = now - since > waited ? now - since - waited : 0;
        if (budget != 0 && still >= budget && !tl__device_over(d)) {
            declare(d, still);
            return;
        }
    }
}

void tl__watch_main(void *arg)
{
    struct tl_device *d = arg;
    uint32_t seen = 0, go;

    if (d->opts.thread_begin != NULL)
        d->opts.thread_begin();
    for (;;) {
        while ((go = tl_load_acq(&d->go)) == seen) /* G1: the run's set-up; pairs with tl__device_enter */
            (void)tl__park(&d->go, seen, TL_FOREVER);
        seen = go;
        if (tl_load_acq(&d->stop) != 0) /* G1 */
            return;
        watch_run(d);
        if (tl_sub_acq_rel(&d->inside, 1u) == 1) /* G2 */
            tl__wake(&d->inside, UINT32_MAX);
    }
}
