/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orchestrator's own lanes: what it records, and how they end. The orchestration's thread fills the records. A
 * record that does not fit into its lane is kept here until it does, and any thread that steps the roles may hand it
 * over: the orchestration's thread steps roles while it waits, and may be stuck in a kernel when the lane has space
 * again or the host is dead. Likewise the end marks are sent by any thread that steps the roles when the orchestration
 * is over, or when a hang was declared and its thread may never return from the program's code. A lock protects them
 * (O1); it is hardly ever contended.
 */
#include "device/orch_record.h"

#include <string.h>

#include "base/error.h"
#include "device/device_impl.h"
#include "device/orch.h"

static bool try_lock(struct tl_orch_record *r)
{
    uint32_t unlocked = 0;

    return tl_cas_acq_rel(&r->lock, &unlocked, 1u); /* O1: what the last holder left of the lanes */
}

static void unlock(struct tl_orch_record *r)
{
    tl_store_rlx(&r->deadline_ns, tl__recorder_deadline(&r->rec)); /* relaxed: a thread looks itself before it sleeps */
    tl_store_rel(&r->lock, 0u);                                    /* O1: pairs with the CAS above */
}

static void lock(struct tl_orch_record *r)
{
    while (!try_lock(r))
        tl__relax();
}

int tl__orch_record_begin(struct tl_device *d)
{
    struct tl_orch_record *r = &d->orch_record;
    uint32_t streams = tl__streams_on(d->launch->levels, TL_WRITER_ORCHESTRATOR);
    int rc = tl__recorder_begin(&r->rec, &d->opts.memory, d->opts.bells, d->launch, streams, 0);

    tl_store_rlx(&r->lock, 0u); /* relaxed, all: no other thread is in the run yet */
    tl_store_rlx(&r->ended, r->rec.on == 0);
    tl_store_rlx(&r->deadline_ns, TL_FOREVER);
    r->waits = 0;
    for (unsigned stream = 0; stream < TL_STREAM_COUNT && rc == 0; stream++)
        if (tl__records(&r->rec, stream) && r->rec.producer[stream].record_bytes > sizeof(r->waiting))
            rc = TL_ECORRUPT;
    return rc;
}

void *tl__orch_reserve(struct tl_orch *o, unsigned stream)
{
    struct tl_orch_record *r = &o->device->orch_record;
    struct tl_producer *lane = &r->rec.producer[stream];
    uint64_t offset;
    void *payload;
    int rc = TL_ELOST;

    lock(r);
    if (tl_load_rlx(&r->ended) == 0) /* relaxed: written under the lock */
        rc = tl__producer_reserve(lane, 0, &payload, &offset);
    if (rc == TL_EAGAIN) {
        r->waits = stream + 1;
        return r->waiting;
    }
    if (rc == 0)
        return tl__producer_record(lane);
    unlock(r);
    return NULL;
}

/* Hands over the record that waits. True: none waits any more. Guard: lock held. */
static bool hand_over(struct tl_orch_record *r)
{
    struct tl_producer *lane;
    uint64_t offset;
    void *payload;
    int rc;

    if (r->waits == 0)
        return true;
    lane = &r->rec.producer[r->waits - 1];
    rc = tl__producer_reserve(lane, 0, &payload, &offset);
    if (rc == TL_EAGAIN)
        return false;
    if (rc == 0) {
        memcpy(tl__producer_record(lane), r->waiting, lane->record_bytes);
        tl__producer_commit(lane, 0);
    }
    r->waits = 0; /* else lost, and counted */
    return true;
}

static bool is_handed_over(void *arg)
{
    struct tl_orch_record *r = arg;
    bool done;

    lock(r);
    done = hand_over(r);
    unlock(r);
    return done;
}

/* No task may run yet: waits without stepping anything. */
static void wait_alone(struct tl_device *d)
{
    struct tl_bell *bell = &d->opts.bells->device;

    for (;;) {
        uint32_t ticket = tl__bell_arm(bell); /* B1 */
        const bool done = is_handed_over(&d->orch_record);

        if (!done) /* relaxed: this thread has just set it */
            (void)tl__bell_sleep_bounded(bell, ticket, tl_load_rlx(&d->orch_record.deadline_ns));
        tl__bell_disarm(bell);
        if (done)
            return;
    }
}

void tl__orch_commit(struct tl_orch *o, unsigned stream)
{
    struct tl_device *d = o->device;
    struct tl_orch_record *r = &d->orch_record;
    bool waits = r->waits != 0;

    if (!waits)
        tl__producer_commit(&r->rec.producer[stream], 0);
    unlock(r);
    if (waits && o->policy->build_first)
        wait_alone(d);
    while (waits && !is_handed_over(r))
        if (!tl__device_step(d, 0))
            tl__device_sleep(d, 0, is_handed_over, r);
    if (waits)
        tl__device_notify(d); /* the last kernel that it ran meanwhile may have made others ready */
}

bool tl__orch_step(struct tl_device *d)
{
    struct tl_orch_record *r = &d->orch_record;
    bool done = false, over;

    if (tl_load_acq(&r->ended) != 0) /* D9 */
        return false;
    over = tl_load_acq(&d->submitted_all) != 0 || tl_load_acq(&d->hung) != 0;  /* D8, H1 */
    if ((!over && tl_load_rlx(&r->deadline_ns) == TL_FOREVER) || !try_lock(r)) /* relaxed: a hint that nothing waits */
        return false;
    if (r->waits != 0)
        done = hand_over(r);
    if (over && r->waits == 0 && tl__recorder_end(&r->rec) == 0) {
        tl_store_rel(&r->ended, 1u); /* D9: that lane's last record; pairs with check_over */
        done = true;
    }
    unlock(r);
    return done;
}
