/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: one thread that puts payloads into args.bin and then the batch into the journal. Only when the journal's
 * append has returned has a record reached the host. Payloads that are side by side are one write, straight from the
 * arena (mapped), or piece by piece through the first of its shadow (copy).
 *
 * A disk error is sticky for its run: from then on payloads are acknowledged without being written, and their records
 * say so. The device never waits for a disk that cannot take anything more.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <errno.h>

#include "artifact/args_dump.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pathname.h"
#include "collect/engine_impl.h"

/* Payloads of one batch that are side by side in the arena and in the file. */
struct extent {
    uint64_t arena, bytes, bin;
    uint32_t first, last; /* records [first, last] hold them */
};

static void disk_failed(struct tl_crun *run, int code, const char *what)
{
    assert(code < 0 && run->disk_code == 0); /* CI9 */
    run->disk_code = code;
    (void)snprintf(run->disk_what, sizeof(run->disk_what), "%s", what);
    tl_log_error("%s/args_dump/args.bin: %s; the run goes on, payloads from here on are lost", run->dir,
                 run->disk_what);
}

static void disk_error(struct tl_crun *run, int code, const char *what)
{
    char text[sizeof(run->disk_what)];

    (void)snprintf(text, sizeof(text), "%s: %s", what, tl_strerror(code));
    disk_failed(run, code, text);
}

static void bin_open(struct tl_crun *run)
{
    char path[TL_PATHNAME_BYTES];

    if (run->bin_fd >= 0 || run->disk_code != 0)
        return;
    (void)tl__pathname(path, "%s/%s", run->dir, TL_DUMP_DIR_NAME);
    if (mkdir(path, 0777) < 0 && errno != EEXIST) {
        disk_error(run, tl__code_of_errno(errno), "cannot make its directory");
        return;
    }
    (void)tl__pathname(path, "%s/%s/%s", run->dir, TL_DUMP_DIR_NAME, TL_DUMP_BIN_NAME);
    run->bin_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (run->bin_fd < 0)
        disk_error(run, tl__code_of_errno(errno), "cannot be made");
}

/* --- pace ---------------------------------------------------------------------------------------------------- */

/* For tests: as slow as a disk of so many bytes a second, which does not catch up on time when nothing came. */
static void throttle(struct tl_crun *run, uint64_t bytes, uint64_t from)
{
    static tl_au32 nobody;
    uint64_t rate = run->throttle_bytes_s, until;

    if (rate == 0)
        return;
    if (run->throttle_until_ns > from)
        from = run->throttle_until_ns;
    until = from + (uint64_t)((double)bytes * 1e9 / (double)rate);
    run->throttle_until_ns = until;
    while (tl__now_ns() < until)
        (void)tl__park(&nobody, 0, until);
}

/* Write-back starts a window behind the writes and is waited for one window later: dirty memory stays bounded. */
static void window(struct tl_crun *run)
{
    const uint64_t w = TL_ENGINE_WINDOW_BYTES;

    while (run->bin_size - run->window_end >= w) {
        uint64_t before = run->window_end >= w ? run->window_end - w : 0;

        tl__sync_window(run->bin_fd, run->window_end, w, before, run->window_end - before);
        run->window_end += w;
    }
}

/* --- payloads ------------------------------------------------------------------------------------------------ */

/* Writes the extent as far as it goes; returns the bytes that are in the file. */
static uint64_t extent_write(struct tl_hlane *lane, struct tl_crun *run, const struct extent *x)
{
    struct tl_transport *t = lane->engine->transport;
    uint64_t at = x->arena % lane->arena_bytes, done = 0;
    uint64_t from = tl__now_ns(), now, piece = t->ops->in_place ? TL_ENGINE_WRITE_BYTES : TL_ENGINE_PULL_BYTES;
    size_t written;
    char why[200];
    int r = 0;

    assert(run->bin_fd >= 0 && run->disk_code == 0); /* CI9 */
    assert(at + x->bytes <= lane->arena_bytes);      /* LI3 */
    if (!tl__room_for(run, x->bytes, x->bin + x->bytes, why, sizeof(why))) {
        disk_failed(run, TL_ENOSPC, why);
        return 0;
    }
    while (done < x->bytes && r == 0) {
        uint64_t n = x->bytes - done < piece ? x->bytes - done : piece;
        /* Pulled pieces pass through the first of the shadow: it stays in cache, and the rest is never touched. */
        uint8_t *data = t->ops->in_place ? lane->arena_view + at + done : lane->arena_view;

        r = t->ops->copy_from_device(t, data, lane->arena_addr + at + done, n);
        if (r < 0) {
            disk_error(run, r, "the payload cannot be read from the device");
            break;
        }
        r = tl__write(run->bin_fd, data, (size_t)n, x->bin + done, &written);
        done += written;
        if (r < 0)
            disk_error(run, r, "cannot be written");
        throttle(run, written, from);
        (void)tl_add_rlx(&run->written_bytes, written); /* relaxed, all three: figures */
        (void)tl_add_rlx(&run->settled_bytes, written);
        if (x->bin + done > run->bin_size)
            run->bin_size = x->bin + done;
        window(run);
        now = tl__now_ns();
        (void)tl_add_rlx(&run->busy_ns, now - from);
        from = now;
    }
    assert(done <= x->bytes && (done == x->bytes || run->disk_code != 0)); /* CI9 */
    return done;
}

static void extent_flush(struct tl_batch *batch, struct extent *x)
{
    struct tl_hlane *lane = batch->lane;
    struct tl_crun *run = batch->run;
    uint64_t done = 0, end;

    if (x->bytes == 0)
        return;
    if (tl_load_rlx(&run->first_write_ns) == 0)
        tl_store_rlx(&run->first_write_ns, tl__now_ns()); /* relaxed, both: a figure */
    bin_open(run);
    if (run->disk_code == 0)
        done = extent_write(lane, run, x);
    (void)tl_add_rlx(&run->settled_bytes, x->bytes - done); /* relaxed: a figure */
    end = x->bin + done;
    for (uint32_t i = x->first; i <= x->last; i++) {
        struct tl_payload p;

        if (batch->bin[i] == TL_BIN_NONE)
            continue;
        (void)lane->spec->inspect(batch->records + (size_t)i * lane->record_bytes, &p);
        if (batch->bin[i] + p.bytes > end)
            batch->bin[i] = TL_BIN_LOST(run->disk_code == TL_EDEVICE ? TL_DUMP_CAUSE_DEVICE_DEAD : TL_DUMP_CAUSE_DISK);
    }
    assert(x->first <= x->last && x->last < batch->count); /* CI8 */
    end = x->arena + x->bytes;
    x->bytes = 0;
    if (batch->disordered)
        return;
    tl_store_rel(&lane->written_end, end); /* H1: pairs with H2 in replenish */
    /* A device that waits for room goes on while the rest of a large batch is written. */
    if (end - lane->rung_end >= lane->arena_bytes / 8) {
        lane->rung_end = end;
        tl__bell_ring(lane->shard->bell);
    }
}

static void payloads_write(struct tl_batch *batch)
{
    struct tl_hlane *lane = batch->lane;
    struct extent x = {0};

    for (uint32_t i = 0; i < batch->count; i++) {
        struct tl_payload p;

        if (batch->bin[i] == TL_BIN_NONE)
            continue;
        batch->bin[i] =
            (batch->bin[i] & TL_BIN_ABSOLUTE) != 0 ? batch->bin[i] & ~TL_BIN_ABSOLUTE : batch->bin[i] + batch->bin_base;
        (void)lane->spec->inspect(batch->records + (size_t)i * lane->record_bytes, &p);
        if (x.bytes != 0 && (p.offset != x.arena + x.bytes || batch->bin[i] != x.bin + x.bytes ||
                             p.offset % lane->arena_bytes == 0 || x.bytes + p.bytes > TL_ENGINE_WRITE_BYTES))
            extent_flush(batch, &x);
        if (x.bytes == 0)
            x = (struct extent){.arena = p.offset, .bin = batch->bin[i], .first = i};
        x.bytes += p.bytes;
        x.last = i;
        assert(p.bytes != 0 && x.arena % lane->arena_bytes + x.bytes <= lane->arena_bytes); /* LI3 */
    }
    extent_flush(batch, &x);
}

/* The disk may not hold the index: payloads end, the journal gets the room that was held, and the user knows. */
static void index_full(struct tl_crun *run)
{
    tl__room_release(run);
    run->index_full = true;
    tl_log_error("%s: the disk has no room that is sure for the index of more than %llu records: payloads end here, "
                 "records go on into %s; should the index not fit, `tasklens recover` makes it with --out on a larger "
                 "disk",
                 run->dir, (unsigned long long)run->n_records, TL_JOURNAL_NAME);
    if (run->disk_code == 0) {
        run->disk_code = TL_ENOSPC;
        (void)snprintf(run->disk_what, sizeof(run->disk_what), "the disk is full");
    }
}

/* --- the journal --------------------------------------------------------------------------------------------- */

static void journal_append(struct tl_crun *run, const struct tl_journal_block *block)
{
    int r = run->journal_code != 0 ? 0 : tl__journal_append(run->journal, block);

    if (r == TL_ENOSPC && run->reserved_bytes != 0) {
        index_full(run);
        r = tl__journal_append(run->journal, block);
    }
    if (run->journal_code == 0 && r == 0)
        run->journaled += block->count;
    if (r == 0)
        return;
    run->journal_code = r;
    tl_log_error("%s/%s: %s; the run goes on, but what it records from here on is lost if this process dies", run->dir,
                 TL_JOURNAL_NAME, tl_strerror(r));
}

static void journal_batch(struct tl_batch *batch)
{
    struct tl_crun *run = batch->run;
    struct tl_journal_block block = {.stream = (uint8_t)batch->lane->spec->stream,
                                     .lane = (uint16_t)batch->lane->index,
                                     .seq = (uint32_t)batch->seq,
                                     .epoch = tl_load_rlx(&run->epoch)}; /* relaxed: bound while it has jobs */

    if (batch->count > 0) {
        block.kind = TL_JOURNAL_RECORDS;
        block.count = batch->count;
        block.bin_offsets = batch->bin;
        block.records = batch->records;
        journal_append(run, &block);
    } else if (batch->marked) {
        const struct tl_lane_run *lr = &run->lanes[batch->lane->index];
        const struct tl_lane_counts *c = &lr->counts;

        block.kind = TL_JOURNAL_END;
        block.attempted = c->attempted;
        for (unsigned i = 0; i < TL_DROP_COUNT; i++)
            block.losses[i] = c->dropped[i] + lr->lost[i]; /* J1: the shard is done with them */
        block.parked_ns = c->parked_ns;
        journal_append(run, &block);
    }
}

/* --- the thread ---------------------------------------------------------------------------------------------- */

static void job_do(struct tl_batch *batch)
{
    struct tl_hlane *lane = batch->lane;
    struct tl_crun *run = batch->run;
    struct tl_engine *e = lane->engine;
    bool end = batch->end, ring = batch->payload_end != 0;

    run->n_records += batch->count;
    if (!tl__room_for_index(run, batch->count))
        index_full(run);
    if (batch->count > 0 && lane->spec->has_arena && lane->spec->eager_bin(run->levels[lane->spec->stream]))
        bin_open(run);
    if (batch->has_payload)
        payloads_write(batch);
    if (batch->payload_end > tl_load_rlx(&lane->written_end))     /* relaxed: the writer's own, while it has jobs */
        tl_store_rel(&lane->written_end, batch->payload_end);     /* H1: records that were left out had payloads too */
    (void)tl_add_rlx(&e->queued_bytes, 0 - batch->payload_bytes); /* relaxed: a figure */
    journal_batch(batch);
    (void)tl_add_rel(&lane->jobs_done, 1u); /* H3: pairs with H4 */
    if (ring)
        tl__bell_ring(lane->shard->bell);
    if (end)
        (void)tl_add_rel(&run->ends, 1u); /* H7: all that the lane recorded is written; pairs with H8 */
    (void)tl_add_rlx(&e->jobs_over, 1u);  /* relaxed: a figure */
    /* Last: after it the run may be gone. */
    (void)tl_add_rel(&run->jobs_done, 1u); /* H5: pairs with H6 */
    if (end)
        tl__bell_ring(&e->done_bell);
}

/* All that is queued, oldest first. */
static struct tl_batch *queue_take(struct tl_engine *e)
{
    struct tl_batch *last = tl_xchg_acq_rel(&e->queue_last, NULL), *first = NULL; /* J2: the batches; pairs with J1 */

    while (last != NULL) {
        struct tl_batch *before = last->queued;

        last->queued = first;
        first = last;
        last = before;
    }
    return first;
}

void tl__writer_main(void *engine)
{
    struct tl_engine *e = engine;

    for (;;) {
        struct tl_batch *batch = queue_take(e);
        uint32_t ticket;

        if (batch == NULL) {
            ticket = tl__bell_arm(&e->writer_bell);
            batch = queue_take(e);
            if (batch == NULL && tl_load_acq(&e->stopping) == 0) /* S2: pairs with S1 */
                (void)tl__bell_sleep(&e->writer_bell, ticket, TL_FOREVER);
            tl__bell_disarm(&e->writer_bell);
            if (batch == NULL && tl_load_acq(&e->stopping) != 0) /* S2 */
                return;
        }
        if (batch == NULL)
            continue;
        while (batch != NULL) {
            struct tl_batch *next = batch->queued;

            job_do(batch);
            batch = next;
        }
        /* Sealing waits for the queue, and a discarded buffer for its lane's last job. */
        for (unsigned i = 0; i < e->n_shards; i++)
            tl__bell_ring(e->shards[i].bell);
        tl__bell_ring(&e->done_bell);
    }
}
