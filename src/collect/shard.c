/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector shard: a handed buffer's records are checked, copied into the list that its lane keeps for its run,
 * given to the writer, and the buffer goes back. From here on nothing is read from the device but payloads.
 */
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/engine_impl.h"

#define TOTAL_MAX (UINT64_C(1) << 46) /* no chip has such a tensor */

struct tl_crun *tl__run_find(struct tl_engine *e, uint32_t epoch)
{
    if (epoch == 0)
        return NULL;
    for (unsigned i = 0; i < TL_ENGINE_RUNS; i++)
        if (tl_load_acq(&e->runs[i].epoch) == epoch) /* E2: all of the run is bound; pairs with E1 */
            return &e->runs[i];
    return NULL;
}

void tl__batch_queue(struct tl_batch *batch, uint64_t bin_bytes)
{
    struct tl_engine *e = batch->lane->engine;
    struct tl_batch *last;

    assert(tl_load_rlx(&batch->lane->jobs_done) <= batch->lane->jobs_queued); /* CI5; relaxed: only grows */
    assert(tl_load_rlx(&batch->run->epoch) != 0); /* CI5; relaxed: bound while it has jobs */
    batch->lane->jobs_queued++;
    (void)tl_add_rlx(&e->queued_bytes, batch->payload_bytes); /* relaxed, both: figures */
    (void)tl_add_rlx(&e->jobs, 1u);
    tl__lock(&e->queue_lock);
    batch->bin_base = batch->run->bin_end;
    batch->run->bin_end += bin_bytes;
    batch->run->jobs_queued++;
    last = tl_load_rlx(&e->queue_last); /* relaxed: the exchange below validates it */
    do
        batch->queued = last;
    while (!tl_cas_acq_rel(&e->queue_last, &last, batch)); /* J1: the batch; pairs with J2 */
    tl__unlock(&e->queue_lock);
    tl__bell_ring(&e->writer_bell);
}

void tl__lane_end(struct tl_hlane *lane, struct tl_crun *run, const struct tl_lane_counts *counts)
{
    struct tl_lane_run *lr = &run->lanes[lane->index];

    if (lr->ended)
        return;
    assert(!lr->sealed); /* CI5: an export begins when each lane has ended */
    lr->ended = true;
    lr->counted = counts != NULL;
    if (counts != NULL)
        lr->counts = *counts;
    memset(&lr->end, 0, sizeof(lr->end));
    lr->end.run = run;
    lr->end.lane = lane;
    lr->end.seq = lane->seq_next;
    lr->end.end = true;
    lr->end.marked = counts != NULL;
    tl__batch_queue(&lr->end, 0);
}

/* What stopped a lane: a field of it, or that its memory could not be copied. */
static void stop_text(const struct tl_hlane *lane, const char *field, uint64_t value, char *to, size_t size)
{
    if (strcmp(field, TL_LANE_MEMORY) == 0)
        (void)snprintf(to, size, "%s lane %u: its device memory at 0x%llx cannot be copied", lane->spec->name,
                       lane->index, (unsigned long long)value);
    else
        (void)snprintf(to, size, "%s lane %u: %s holds the impossible value 0x%llx", lane->spec->name, lane->index,
                       field, (unsigned long long)value);
}

/* The run's message names what was found first; `code`: the run fails with it. */
static void blame(struct tl_hlane *lane, struct tl_crun *run, const char *field, uint64_t value, int code)
{
    tl__lock(&run->corrupt_lock);
    if (run->corrupt_code == 0 && (code != 0 || run->corrupt_what[0] == '\0')) {
        run->corrupt_code = code;
        stop_text(lane, field, value, run->corrupt_what, sizeof(run->corrupt_what));
    }
    tl__unlock(&run->corrupt_lock);
}

void tl__lane_corrupt(struct tl_hlane *lane, const char *field, uint64_t value)
{
    struct tl_engine *e = lane->engine;
    char text[sizeof(((struct tl_crun *)NULL)->corrupt_what)];

    if (lane->stopped)
        return;
    lane->stopped = true;
    /* The device must not wait for what never comes: where it would, it is refused at once. */
    (void)tl__index_push(e->transport, &lane->view->closed, lane->addr + offsetof(struct tl_lane, closed), 1);
    tl__bell_wake(&e->transport->desc.bells->device);
    tl_store_rlx(&e->broken, 1u); /* relaxed: the worker reads it after a seal */
    stop_text(lane, field, value, text, sizeof(text));
    tl_log_error("%s; the lane is stopped", text);
    for (unsigned i = 0; i < TL_ENGINE_RUNS; i++) {
        struct tl_crun *run = &e->runs[i];

        if (tl_load_acq(&run->epoch) == 0 || run->lanes[lane->index].ended) /* E2 */
            continue;
        blame(lane, run, field, value, TL_ECORRUPT);
        tl__lane_end(lane, run, NULL);
    }
    if (strcmp(field, TL_LANE_MEMORY) == 0 && e->transport->desc.lost != NULL)
        e->transport->desc.lost(e->transport->desc.ctx);
}

/* --- what a buffer holds ------------------------------------------------------------------------------------- */

/* Where the buffer's payloads go, collected record by record. */
struct plan {
    uint64_t bin_bytes, payload_end, collected;
    uint64_t limit; /* no payload reaches beyond; 0: not known yet */
    bool has_payload, disordered;
};

/* Offset of a piece; the first reserves room for all. NULL, or the field that is impossible. */
static const char *plan_piece(struct tl_lane_run *lr, const struct tl_payload *p, struct plan *plan, uint64_t *ret_bin)
{
    if (p->total > TOTAL_MAX)
        return "record.shape";
    if (p->piece == 0) {
        lr->chunk_open = true;
        lr->chunk_lost = false;
        lr->chunk_next = 0;
        lr->chunk_base = plan->bin_bytes;
        lr->chunk_done = 0;
        lr->chunk_total = p->total;
        plan->bin_bytes += p->total;
    }
    if (lr->chunk_lost) { /* what came before it is gone: it is written, and export leaves it out */
        *ret_bin = plan->bin_bytes;
        plan->bin_bytes += p->bytes;
        return NULL;
    }
    if (!lr->chunk_open || p->piece != lr->chunk_next || p->total != lr->chunk_total)
        return "record.piece";
    if (p->bytes > lr->chunk_total - lr->chunk_done)
        return "record.payload_bytes";
    *ret_bin = lr->chunk_base + lr->chunk_done;
    lr->chunk_done += p->bytes;
    assert(lr->chunk_done <= lr->chunk_total); /* CI8 */
    lr->chunk_next++;
    if (p->last)
        lr->chunk_open = false;
    return NULL;
}

static bool place_is_possible(const struct tl_hlane *lane, uint64_t at)
{
    return at >= lane->payload_next && at - lane->acked <= 2 * lane->arena_bytes;
}

static const char *plan_payload(struct tl_hlane *lane, struct tl_lane_run *lr, const struct tl_payload *p,
                                struct plan *plan, uint64_t *ret_bin)
{
    *ret_bin = TL_BIN_NONE;
    if (p->bytes == 0)
        return p->total != 0 ? "record.payload_bytes" : NULL;
    if (p->bytes > lane->arena_bytes || p->offset % lane->arena_bytes > lane->arena_bytes - p->bytes)
        return "record.payload_bytes";
    /* Not below what was read before this buffer, and not further ahead than a lane that starts its arena again can
     * be. Within the buffer no order is asked for: a record that was hit must not take those behind it along. */
    if (!place_is_possible(lane, p->offset) || p->offset + p->bytes > plan->limit)
        return "record.payload";
    if (p->total != 0) {
        const char *bad = plan_piece(lr, p, plan, ret_bin);

        if (bad != NULL)
            return bad;
    } else {
        lr->chunk_open = false; /* pieces are side by side: an open payload ends here */
        *ret_bin = plan->bin_bytes;
        plan->bin_bytes += p->bytes;
    }
    plan->disordered |= p->offset < plan->payload_end;
    if (p->offset + p->bytes > plan->payload_end)
        plan->payload_end = p->offset + p->bytes;
    plan->has_payload = true;
    assert(plan->payload_end >= p->offset + p->bytes && plan->payload_end <= plan->limit); /* CI8 */
    return NULL;
}

static struct tl_record_limits limits_of(const struct tl_crun *run)
{
    return tl__record_limits(&run->facts, (uint32_t)run->config.levels[TL_COLLECT_PMU],
                             run->config.dump_oversize_chunk);
}

/* End of the last payload that the buffer's records name; 0: none. */
static uint64_t last_end(const struct tl_hlane *lane, const struct tl_record_limits *limits, const uint8_t *records,
                         uint32_t count)
{
    while (count-- > 0) {
        struct tl_payload p;

        memcpy(lane->copy, records + (size_t)count * lane->record_bytes, lane->record_bytes);
        if (tl__record_check(lane->spec, limits, lane->copy, &p) == NULL && p.bytes != 0)
            return p.offset + p.bytes;
    }
    return 0;
}

/*
 * No payload of the buffer reaches beyond. A buffer is published with the end of its last payload in arena_end, so
 * that word and that record confirm each other. If they do not, one of them was hit, and the limit is the lane's own
 * place, which is at that end or behind it; nor is that believed beyond what the arena holds.
 */
static uint64_t payload_limit(const struct tl_hlane *lane, const struct tl_record_limits *limits,
                              const struct tl_lane_buffer *b, uint32_t count)
{
    const uint64_t stated = b->arena_end, most = lane->acked + 2 * lane->arena_bytes;
    uint64_t place;

    if (lane->arena_bytes == 0 ||
        (place_is_possible(lane, stated) && stated == last_end(lane, limits, (const uint8_t *)(b + 1), count)))
        return stated;
    if (tl__index_pull(lane->engine->transport, &lane->view->arena_pos,
                       lane->addr + offsetof(struct tl_lane, arena_pos), &place) < 0) /* A11: the same word */
        return most;
    return place_is_possible(lane, place) ? place : most;
}

/* A record that cannot be: it is counted, reported once a lane and run, and left out. */
static void leave_out(struct tl_hlane *lane, struct tl_crun *run, const char *field, const void *record)
{
    struct tl_lane_run *lr = &run->lanes[lane->index];
    uint64_t word;

    memcpy(&word, record, sizeof(word));
    if (!lr->chunk_open) /* else it was a piece of a record that is counted by its first */
        lr->lost[TL_LOSS_CORRUPT]++;
    lr->chunk_open = false;
    lr->chunk_lost = true;
    blame(lane, run, field, word, 0);
    if (lr->corrupt_records++ == 0)
        tl_log_error("%s lane %u: %s of a record holds an impossible value (the record begins with 0x%llx); such "
                     "records are left out and counted",
                     lane->spec->name, lane->index, field, (unsigned long long)word);
}

/* Fills the batch from the buffer, whose records are copied before they are looked at: what the device still writes
 * then cannot change what was checked. */
static void fill(struct tl_batch *batch, const struct tl_lane_buffer *b, uint32_t count, struct plan *plan)
{
    struct tl_hlane *lane = batch->lane;
    struct tl_lane_run *lr = &batch->run->lanes[lane->index];
    const struct tl_record_limits limits = limits_of(batch->run);
    const uint8_t *records = (const uint8_t *)(b + 1);
    uint8_t *copy = (uint8_t *)(uintptr_t)batch->records;

    for (uint32_t i = 0; i < count; i++) {
        uint8_t *to = copy + (size_t)batch->count * lane->record_bytes;
        struct tl_payload p;
        uint64_t bin = TL_BIN_NONE;
        const char *bad;

        memcpy(to, records + (size_t)i * lane->record_bytes, lane->record_bytes);
        bad = tl__record_check(lane->spec, &limits, to, &p);
        if (bad == NULL && p.bytes != 0 && plan->limit == 0)
            plan->limit = payload_limit(lane, &limits, b, count);
        if (bad == NULL)
            bad = plan_payload(lane, lr, &p, plan, &bin);
        if (bad != NULL) {
            leave_out(lane, batch->run, bad, to);
            continue;
        }
        if (batch->bin != NULL)
            batch->bin[batch->count] = bin;
        assert(batch->count <= i); /* CI8: what is left out makes the batch shorter */
        plan->collected += p.whole;
        batch->payload_bytes += p.bytes;
        batch->count++;
    }
}

static struct tl_batch *batch_make(struct tl_hlane *lane, struct tl_crun *run, uint32_t count, uint64_t seq)
{
    size_t bins = lane->spec->has_arena ? count * sizeof(uint64_t) : 0;
    struct tl_batch *batch = tl__slab_take(lane->engine, run, lane->shard->index,
                                           sizeof(*batch) + bins + (size_t)count * lane->record_bytes);

    if (batch == NULL)
        return NULL;
    memset(batch, 0, sizeof(*batch));
    batch->run = run;
    batch->lane = lane;
    batch->seq = seq;
    batch->bin = bins ? (uint64_t *)(void *)(batch + 1) : NULL;
    batch->records = (uint8_t *)(batch + 1) + bins;
    assert(count <= lane->records); /* LI2, checked by the caller */
    return batch;
}

/* --- buffers that become nothing ----------------------------------------------------------------------------- */

/*
 * A buffer whose records nobody gets: of a run that is over, or without memory for them. Its payloads still leave the
 * arena; the watermark may pass them only after those that the writer has yet to do.
 */
static int discard(struct tl_hlane *lane, struct tl_lane_run *lr, const struct tl_lane_buffer *b, uint32_t count)
{
    static const struct tl_record_limits any = {0};
    const uint8_t *records = (const uint8_t *)(b + 1);
    uint64_t end = 0;

    if (tl_load_acq(&lane->jobs_done) != lane->jobs_queued) /* H4: all before is written; pairs with H3 */
        return TL_EAGAIN;
    assert(tl_load_rlx(&lane->written_end) <= lane->payload_next || lane->arena_bytes == 0); /* CI4; relaxed: H4 */
    for (uint32_t i = 0; i < count; i++) {
        struct tl_payload p;
        const char *bad;

        memcpy(lane->copy, records + (size_t)i * lane->record_bytes, lane->record_bytes);
        bad = tl__record_check(lane->spec, &any, lane->copy, &p);
        if (bad == NULL && p.bytes != 0 &&
            (p.bytes > lane->arena_bytes || !place_is_possible(lane, p.offset + p.bytes)))
            bad = "record.payload";
        if (bad == NULL && p.bytes != 0 && p.offset + p.bytes > end)
            end = p.offset + p.bytes;
        if (lr != NULL) {
            lr->lost[TL_LOSS_NO_BUFFER] += bad != NULL ? !lr->chunk_open : p.whole;
            lr->chunk_lost = bad != NULL || p.total != 0;
            lr->chunk_open = false;
        }
    }
    if (end > lane->payload_next) {
        lane->payload_next = end;
        tl_store_rel(&lane->written_end, end); /* H1: the writer has nothing of this lane, so its word is ours */
    }
    return 0;
}

/* --- consume ------------------------------------------------------------------------------------------------- */

static const char *header_fault(const struct tl_hlane *lane, const struct tl_lane_buffer *b)
{
    if (b->magic != TL_BUFFER_MAGIC)
        return "buffer.magic";
    if (b->lane != lane->index)
        return "buffer.lane";
    if (b->epoch == 0 || b->epoch > tl_load_rlx(&lane->engine->last_epoch)) /* relaxed: the launch came after it */
        return "buffer.epoch";
    if ((b->flags & ~TL_BUFFER_END) != 0)
        return "buffer.flags";
    if (b->seq < lane->seq_next)
        return "buffer.seq";
    return NULL;
}

static int collect(struct tl_hlane *lane, struct tl_crun *run, const struct tl_lane_buffer *b, uint32_t count)
{
    struct tl_lane_run *lr = &run->lanes[lane->index];
    struct tl_batch *batch = batch_make(lane, run, count, b->seq);
    struct plan plan = {0};

    if (batch == NULL)
        return discard(lane, lr, b, count);
    fill(batch, b, count, &plan);
    assert(batch->count <= count && plan.collected <= count); /* CI8 */
    lr->collected += plan.collected;
    if (plan.payload_end != 0)
        lane->payload_next = plan.payload_end;
    batch->payload_end = plan.payload_end;
    batch->has_payload = plan.has_payload;
    batch->disordered = plan.disordered;
    if (batch->count == 0 && batch->payload_end == 0)
        return 0;
    if (lr->last != NULL)
        lr->last->next = batch;
    else
        lr->first = batch;
    lr->last = batch;
    tl__batch_queue(batch, plan.bin_bytes);
    /* The rest of an open chunk goes where its first piece went. */
    if (lr->chunk_open && (lr->chunk_base & TL_BIN_ABSOLUTE) == 0)
        lr->chunk_base = (lr->chunk_base + batch->bin_base) | TL_BIN_ABSOLUTE;
    return 0;
}

bool tl__counts_are_possible(const struct tl_lane_counts *c)
{
    uint64_t sum = c->committed;

    for (unsigned i = 0; i < TL_DROP_COUNT; i++) {
        if (c->dropped[i] > TL_COUNT_MAX)
            return false;
        sum += c->dropped[i];
    }
    return c->attempted <= TL_COUNT_MAX && c->committed <= TL_COUNT_MAX && sum == c->attempted;
}

/* From a copy: the buffer is the device's memory, and may still be written. */
static void end_by_mark(struct tl_hlane *lane, struct tl_crun *run, const struct tl_lane_counts *mark)
{
    const struct tl_lane_counts counts = *mark;

    if (tl__counts_are_possible(&counts))
        tl__lane_end(lane, run, &counts);
    else
        tl__lane_corrupt(lane, "buffer.counts", counts.attempted);
}

int tl__consume(struct tl_hlane *lane, uint32_t index)
{
    const struct tl_lane_buffer *b = tl__buffer_view(lane, index);
    const uint64_t count64 = tl_load_rlx(&b->count); /* relaxed: the buffer is ours since A1 */
    const uint32_t count = (uint32_t)count64;
    const char *bad = count64 > lane->records ? "buffer.count" : header_fault(lane, b);
    struct tl_crun *run;
    int r = 0;

    if (bad != NULL)
        return tl__lane_corrupt(lane, bad, b->epoch), 0;
    run = tl__run_find(lane->engine, b->epoch);
    if (run != NULL && run->lanes[lane->index].sealed)
        run = NULL;
    if (run != NULL && run->lanes[lane->index].ended)
        return tl__lane_corrupt(lane, "buffer.epoch", b->epoch), 0;
    if (count > 0)
        r = run != NULL ? collect(lane, run, b, count) : discard(lane, NULL, b, count);
    if (r < 0)
        return r;
    assert(run == NULL || !run->lanes[lane->index].sealed); /* CI5 */
    lane->seq_next = b->seq + 1;
    if (run != NULL && (b->flags & TL_BUFFER_END) != 0 && !lane->stopped)
        end_by_mark(lane, run, &b->counts);
    return 0;
}

bool tl__consume_step(struct tl_shard *s)
{
    bool progressed = false;

    while (s->handoff_head != s->handoff_tail) {
        struct tl_handoff h = s->handoff[s->handoff_head & (TL_ENGINE_HANDOFF - 1)];

        if (!h.lane->stopped && tl__consume(h.lane, h.buffer) == TL_EAGAIN)
            break;
        assert(h.lane->shard == s && h.lane->state[h.buffer] == TL_HBUFFER_HANDED); /* CI1 */
        h.lane->state[h.buffer] = TL_HBUFFER_RETURNED;
        s->returned[s->n_returned++] = h;
        s->handoff_head++;
        progressed = true;
    }
    return progressed;
}
