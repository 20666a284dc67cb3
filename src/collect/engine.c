/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's threads: made once, asleep unless a bell rings. A service thread runs the roles of one shard, step by
 * step, each step saying whether it progressed; when none does, it arms the bell, looks once more, and sleeps.
 */
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "collect/engine_impl.h"
#include "wire/parked.h"

#define PASSES_PER_WATCH 64u /* a busy thread looks after its parked lanes too */

static void attach(struct tl_shard *s)
{
    s->n_lanes = 0;
    for (unsigned i = 0; i < s->engine->n_lanes; i++)
        if (s->engine->lanes[i].shard == s)
            s->lanes[s->n_lanes++] = &s->engine->lanes[i];
}

static void request_do(struct tl_shard *s)
{
    s->reply = 0;
    switch (s->what) {
    case TL_REQUEST_ATTACH:
        attach(s);
        break;
    case TL_REQUEST_DETACH:
        s->n_lanes = 0;
        s->handoff_head = s->handoff_tail;
        s->n_returned = 0;
        break;
    case TL_REQUEST_RECONCILE:
        s->reply = tl__reconcile_shard(s, s->run);
        break;
    case TL_REQUEST_LATE:
        tl__late_shard(s, s->run);
        break;
    case TL_REQUEST_SEAL:
        for (unsigned i = 0; i < s->n_lanes; i++) {
            tl__lane_end(s->lanes[i], s->run, NULL);
            s->run->lanes[s->lanes[i]->index].sealed = true;
        }
        break;
    case TL_REQUEST_STOP:
        s->stop = true;
        break;
    }
}

static bool request_step(struct tl_shard *s)
{
    uint32_t req = tl_load_acq(&s->req); /* Q2: the request's fields; pairs with Q1 */

    if (req == tl_load_rlx(&s->ack)) /* relaxed: only this thread writes it */
        return false;
    request_do(s);
    tl_store_rel(&s->ack, req); /* Q3: what was done for it; pairs with Q4 */
    tl__wake(&s->ack, UINT32_MAX);
    return true;
}

static bool pass(struct tl_shard *s)
{
    bool progressed = request_step(s);

    if (tl__drain_step(s))
        progressed = true;
    if (tl__consume_step(s))
        progressed = true;
    if (tl__replenish_step(s))
        progressed = true;
    if (s->ring_device) {
        s->ring_device = false;
        tl__bell_ring(&s->engine->transport->desc.bells->device);
    }
    return progressed;
}

/* Between runs nobody writes the bells, and nothing looks. */
static bool has_run(const struct tl_engine *e)
{
    for (unsigned i = 0; i < TL_ENGINE_RUNS; i++)
        if (tl_load_acq(&e->runs[i].epoch) != 0) /* E2 */
            return true;
    return false;
}

void tl__shard_main(void *shard)
{
    struct tl_shard *s = shard;
    uint32_t passes = 0;

    while (!s->stop) {
        uint64_t deadline;
        uint32_t ticket;

        if (pass(s)) {
            if (++passes % PASSES_PER_WATCH == 0)
                (void)tl__watch_step(s);
            continue;
        }
        ticket = tl__bell_arm(s->bell);
        if (!pass(s)) {
            deadline = tl__watch_step(s);
            if (!s->stop)
                (void)(has_run(s->engine) ? tl__bell_sleep_bounded : tl__bell_sleep)(s->bell, ticket, deadline);
        }
        tl__bell_disarm(s->bell);
    }
}

int tl__shard_request(struct tl_shard *s, enum tl_request what, struct tl_crun *run)
{
    uint32_t number = tl_load_rlx(&s->req) + 1, seen; /* relaxed: only the worker writes it */

    s->what = what;
    s->run = run;
    tl_store_rel(&s->req, number); /* Q1: the fields; pairs with Q2 */
    tl__bell_wake(s->bell);
    while ((seen = tl_load_acq(&s->ack)) != number) /* Q4: what was done; pairs with Q3 */
        (void)tl__park(&s->ack, seen, TL_FOREVER);
    return s->reply;
}

int tl__all_request(struct tl_engine *e, enum tl_request what, struct tl_crun *run)
{
    int r, first = 0;

    for (unsigned i = 0; i < e->n_shards; i++) {
        r = tl__shard_request(&e->shards[i], what, run);
        if (first == 0)
            first = r;
    }
    return first;
}

static int start(struct tl_engine *e)
{
    int r = tl__spawn("host-writer", tl__writer_main, e, &e->writer);

    for (unsigned i = 0; i < e->n_shards && r == 0; i++)
        r = tl__spawn("host-collect", tl__shard_main, &e->shards[i], &e->shards[i].thread);
    return r;
}

int tl__engine_create(const struct tl_engine_opts *opts, struct tl_engine **ret_engine, struct tl_error *reterr)
{
    struct tl_engine *e = tl__alloc(1, sizeof(*e));
    unsigned threads = opts->threads != 0 ? opts->threads : 1;
    int r = TL_ENOMEM;

    if (e == NULL)
        return tl__fail(reterr, TL_ENOMEM, "the collectors: out of memory");
    e->transport = opts->transport;
    e->n_shards = threads < TL_MAX_SHARDS ? threads : TL_MAX_SHARDS;
    e->shards = tl__alloc(e->n_shards, sizeof(*e->shards));
    e->runs = tl__alloc(TL_ENGINE_RUNS, sizeof(*e->runs));
    e->exporting = tl__alloc(1, tl__exporting_bytes());
    if (e->shards != NULL && e->runs != NULL && e->exporting != NULL) {
        for (unsigned i = 0; i < e->n_shards; i++) {
            e->shards[i].engine = e;
            e->shards[i].index = i;
            e->shards[i].bell = &opts->transport->desc.bells->shard[i];
        }
        r = start(e);
    }
    if (r < 0) {
        tl__engine_destroy(e);
        return tl__fail(reterr, r, "the collectors' threads: %s", tl_strerror(r));
    }
    *ret_engine = e;
    return 0;
}

static void stop(struct tl_engine *e)
{
    for (unsigned i = 0; e->shards != NULL && i < e->n_shards; i++) {
        if (e->shards[i].thread == NULL)
            continue;
        (void)tl__shard_request(&e->shards[i], TL_REQUEST_STOP, NULL);
        tl__join(e->shards[i].thread);
    }
    if (e->writer != NULL) {
        tl_store_rel(&e->stopping, 1u); /* S1: pairs with S2 */
        tl__bell_ring(&e->writer_bell);
        tl__join(e->writer);
    }
}

void tl__engine_destroy(struct tl_engine *e)
{
    if (e == NULL)
        return;
    stop(e);
    for (unsigned i = 0; e->runs != NULL && i < TL_ENGINE_RUNS; i++)
        if (tl_load_rlx(&e->runs[i].epoch) != 0) /* relaxed: the threads are gone */
            tl__run_forget(e, &e->runs[i], false);
    if (e->shards != NULL)
        tl__layout_drop(e);
    while (e->free_slabs != NULL) {
        struct tl_slab *slab = e->free_slabs;

        e->free_slabs = slab->next;
        tl__release(slab, slab->bytes);
    }
    tl__scratch_fini(&e->scratch);
    tl__free(e->exporting);
    tl__free(e->shards);
    tl__free(e->runs);
    tl__free(e);
}

bool tl__engine_works(struct tl_engine *e, uint64_t *seen)
{
    const uint64_t over = tl_load_rlx(&e->jobs_over), jobs = tl_load_rlx(&e->jobs); /* relaxed: only change matters */
    const bool works = over != jobs || jobs != *seen;

    *seen = jobs;
    return works;
}

void tl__engine_throttle_writer(struct tl_engine *e, uint64_t bytes_s)
{
    e->throttle_bytes_s = bytes_s;
}

uint64_t tl__engine_parked_ns(struct tl_engine *e, uint32_t epoch)
{
    struct tl_transport *t = e->transport;
    uint64_t parked = 0;

    (void)epoch; /* the device counts one run at a time and starts from zero at each launch */
    if (e->header == NULL ||
        tl__index_pull(t, &e->header->parked, e->region_addr + offsetof(struct tl_dfx_header, parked), &parked) < 0)
        return 0;
    return tl__parked_sum(parked, tl__now_ns());
}
