/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orchestrator's own lanes: what it records, and how they end. The orchestration's thread writes them; their end
 * marks are sent by whoever steps the roles when the orchestration is over, or when a hang was declared and that thread
 * may never come back from the program's code. A lock keeps the two apart (O1); it is free but for those moments.
 */
#include "device/internal.h"

#include "base/error.h"

static bool try_lock(struct tl_orch_record *r)
{
    uint32_t unlocked = 0;

    return tl_cas_acq_rel(&r->lock, &unlocked, 1u); /* O1: what the last holder left of the lanes */
}

static void unlock(struct tl_orch_record *r)
{
    tl_store_rlx(&r->deadline_ns, tl__recorder_deadline(&r->rec)); /* relaxed: the sleeper has looked itself */
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
    uint32_t streams = tl__orchestrator_streams(d->launch);
    int rc = tl__recorder_begin(&r->rec, &d->opts.memory, d->opts.bells, d->launch, streams, 0);

    tl_store_rlx(&r->lock, 0u); /* relaxed, all: no other thread is in the run yet */
    tl_store_rlx(&r->ended, r->rec.on == 0);
    tl_store_rlx(&r->deadline_ns, TL_FOREVER);
    return rc;
}

struct room {
    struct tl_orch_record *record;
    unsigned stream;
    int rc; /* of the last reserve */
};

/* Tries once more. True: there is an answer, and unless that is TL_ELOST the lock is held. */
static bool room_is(void *arg)
{
    struct room *room = arg;
    struct tl_orch_record *r = room->record;
    void *payload;
    uint64_t offset;

    lock(r);
    room->rc = TL_ELOST;
    if (tl_load_rlx(&r->ended) == 0) /* relaxed: written under the lock */
        room->rc = tl__producer_reserve(&r->rec.producer[room->stream], 0, &payload, &offset);
    if (room->rc != 0)
        unlock(r);
    return room->rc != TL_EAGAIN;
}

void *tl__orch_reserve(struct tl_orch *o, unsigned stream)
{
    struct tl_device *d = o->device;
    struct room room = {.record = &d->orch_record, .stream = stream};

    while (!room_is(&room))
        if (o->policy->build_first || !tl__device_step(d, 0)) {
            tl__device_sleep(d, 0, room_is, &room);
            if (room.rc != TL_EAGAIN)
                break;
        }
    return room.rc == 0 ? tl__producer_record(&d->orch_record.rec.producer[stream]) : NULL;
}

void tl__orch_commit(struct tl_orch *o, unsigned stream)
{
    struct tl_orch_record *r = &o->device->orch_record;

    tl__producer_commit(&r->rec.producer[stream], 0);
    unlock(r);
}

bool tl__orch_end_step(struct tl_device *d)
{
    struct tl_orch_record *r = &d->orch_record;
    bool done = false;

    if (tl_load_acq(&r->ended) != 0) /* D9 */
        return false;
    if (tl_load_acq(&d->submitted_all) == 0 && tl_load_acq(&d->hung) == 0) /* D8, H1 */
        return false;
    if (!try_lock(r))
        return false;
    if (!tl__recorder_waits(&r->rec) && tl__recorder_end(&r->rec) == 0) {
        tl_store_rel(&r->ended, 1u); /* D9: that lane's last record; pairs with check_over */
        done = true;
    }
    unlock(r);
    return done;
}
