/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens recover`: the host was killed and left run.journal. Its blocks become the lists that the engine would have
 * had, and go through the same export.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/args_dump.h"
#include "artifact/dfx_meta.h"
#include "artifact/journal.h"
#include "artifact/open.h"
#include "base/env.h"
#include "base/error.h"
#include "collect/engine_impl.h"

struct recovered {
    const struct tl_journal_run *run;
    /* By stream and lane number. */
    struct tl_batch *first[TL_STREAM_COUNT][TL_DFX_MAX_LANES], *last[TL_STREAM_COUNT][TL_DFX_MAX_LANES];
    struct tl_batch *all; /* by `queued`, to free them */
    struct tl_stream_totals totals[TL_STREAM_COUNT];
    struct tl_export_stream streams[TL_STREAM_COUNT];
    uint64_t dump_records; /* in the manifest */
};

/* A copy of the block as the batch it was. The journal's records of one lane come in the lane's order. */
static int keep(struct recovered *rec, const struct tl_journal_block *b)
{
    const struct tl_collector_spec *spec = tl__collector_at(b->stream);
    size_t bins = b->bin_offsets != NULL ? b->count * sizeof(uint64_t) : 0, records;
    struct tl_batch *batch;

    records = (size_t)b->count * spec->record_bytes;
    batch = tl__alloc(1, sizeof(*batch) + bins + records);
    if (batch == NULL)
        return TL_ENOMEM;
    batch->count = b->count;
    batch->bin = bins ? (uint64_t *)(void *)(batch + 1) : NULL;
    batch->records = (uint8_t *)(batch + 1) + bins;
    if (bins != 0)
        memcpy(batch->bin, b->bin_offsets, bins);
    memcpy((uint8_t *)(batch + 1) + bins, b->records, records);
    batch->queued = rec->all;
    rec->all = batch;
    if (rec->last[b->stream][b->lane] != NULL)
        rec->last[b->stream][b->lane]->next = batch;
    else
        rec->first[b->stream][b->lane] = batch;
    rec->last[b->stream][b->lane] = batch;
    for (uint32_t i = 0; i < b->count; i++) {
        struct tl_payload p;

        (void)spec->inspect(batch->records + (size_t)i * spec->record_bytes, &p);
        rec->totals[b->stream].collected += p.whole;
    }
    return 0;
}

static int take(struct recovered *rec, const struct tl_journal_block *b)
{
    struct tl_stream_totals *t;

    if (b->stream >= TL_STREAM_COUNT || b->lane >= TL_DFX_MAX_LANES)
        return 0; /* of a newer version's collector: not ours to rebuild */
    t = &rec->totals[b->stream];
    if (b->kind == TL_JOURNAL_RECORDS)
        return keep(rec, b);
    t->attempted += b->attempted;
    for (unsigned i = 0; i < TL_LOSS_COUNT && i < TL_JOURNAL_MAX_LOSSES; i++)
        t->dropped[i] += b->losses[i];
    t->parked_ns += b->parked_ns;
    return 0;
}

static int read_all(struct tl_journal_reader *reader, struct recovered *rec, struct tl_error *reterr)
{
    struct tl_journal_block block;
    int r;

    for (unsigned i = 0; i < rec->run->stream_count && i < TL_STREAM_COUNT; i++) {
        const struct tl_journal_stream *s = &rec->run->streams[i];
        const struct tl_collector_spec *spec = tl__collector_at(i);

        if (strcmp(s->name, spec->name) != 0 || s->record_bytes != spec->record_bytes || s->version != spec->version)
            return tl__fail(reterr, TL_EVERSION,
                            "the journal's stream %u is %s version %u with records of %u bytes; this "
                            "version reads %s version %u",
                            i, s->name, s->version, s->record_bytes, spec->name, spec->version);
    }
    while ((r = tl__journal_next(reader, &block)) > 0) {
        r = take(rec, &block);
        if (r < 0)
            break;
    }
    return r < 0 ? tl__fail(reterr, r, "reading the journal: %s", tl_strerror(r)) : 0;
}

static void meta_of(const struct tl_journal_run *run, struct tl_meta *meta)
{
    memset(meta, 0, sizeof(*meta));
    (void)snprintf(meta->program, sizeof(meta->program), "%s", run->program);
    (void)snprintf(meta->case_name, sizeof(meta->case_name), "%s", run->case_name);
    (void)snprintf(meta->platform, sizeof(meta->platform), "%s", run->platform);
    (void)snprintf(meta->runtime, sizeof(meta->runtime), "%s", run->runtime);
    (void)snprintf(meta->status, sizeof(meta->status), TL_META_RECOVERED);
    meta->level = run->dump_level;
    meta->epoch = run->epoch;
    meta->start_unix_ns = run->start_unix_ns;
    meta->clock_freq_hz = run->clock_freq_hz;
}

/* The levels that the run was recorded at, as the collectors ask for them. */
static struct tl_run_config config_of(const struct tl_journal_run *run)
{
    return (struct tl_run_config){.dump_args = run->dump_level,
                                  .chip_swimlane = run->swimlane_level,
                                  .pmu = run->pmu_event,
                                  .dep_gen = run->dep_gen,
                                  .scope_stats = run->scope_stats};
}

/* Lanes are numbered stream by stream, as the run had laid them out. */
static void gather(struct recovered *rec, unsigned stream, const struct tl_run_config *config, unsigned *first_lane)
{
    struct tl_export_stream *s = &rec->streams[stream];
    struct tl_stream_totals *t = &rec->totals[stream];

    s->level = tl__collector_at(stream)->level(config);
    s->n_lanes =
        (rec->run->facts.lane_streams >> stream & 1u) != 0 ? tl__lanes_of(stream, rec->run->facts.schedulers) : 0;
    for (unsigned role = 0; role < s->n_lanes; role++)
        s->lanes[role] = *first_lane + role < TL_DFX_MAX_LANES ? rec->first[stream][*first_lane + role] : NULL;
    *first_lane += s->n_lanes;
    /* A lane without an end mark recorded what reached the journal, as far as anybody knows. */
    if (t->attempted < t->collected)
        t->attempted = t->collected;
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        s->dropped += t->dropped[i];
}

static int stream_export(struct recovered *rec, unsigned stream, struct tl_export *x, struct tl_meta *meta,
                         struct tl_recover_result *result, struct tl_error *reterr)
{
    const struct tl_collector_spec *spec = tl__collector_at(stream);
    struct tl_export_figures f = {.meta = meta};
    int r = 0;

    x->own = &rec->streams[stream];
    if (spec->export != NULL)
        r = spec->export(x, &f, reterr);
    tl__meta_stream(meta, spec, &rec->totals[stream], &f);
    if (x->own == &rec->streams[TL_STREAM_DUMP]) {
        rec->dump_records = f.records;
        meta->unrecorded_bytes = x->bin_bytes > f.payload_end ? x->bin_bytes - f.payload_end : 0;
        result->unrecorded_bytes = meta->unrecorded_bytes;
    }
    result->records += rec->totals[stream].collected;
    result->payload_bytes += f.payload_bytes;
    result->payloads_missing += f.payloads_missing;
    return r;
}

static int export_all(const char *dir, struct recovered *rec, struct tl_meta *meta, struct tl_recover_result *result,
                      struct tl_error *reterr)
{
    const struct tl_run_config config = config_of(rec->run);
    const struct tl_clock_pair clock[TL_CLOCK_MOMENTS] = {{0}};
    struct tl_scratch scratch = {0};
    struct tl_export x = {.dir = dir,
                          .streams = rec->streams,
                          .facts = &rec->run->facts,
                          .clock = clock,
                          .run_failed = true,
                          .scratch = &scratch};
    char path[1200];
    struct stat st;
    unsigned lane = 0;
    int r = 0;

    (void)snprintf(path, sizeof(path), "%s/%s/%s", dir, TL_DUMP_DIR_NAME, TL_DUMP_BIN_NAME);
    if (stat(path, &st) == 0) {
        x.bin_created = true;
        x.bin_bytes = (uint64_t)st.st_size;
    }
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        gather(rec, i, &config, &lane);
    for (unsigned i = 0; i < TL_STREAM_COUNT && r == 0; i++)
        if (rec->streams[i].level != 0)
            r = stream_export(rec, i, &x, meta, result, reterr);
    tl__scratch_fini(&scratch);
    return r;
}

static bool has_file(const char *dir, const char *name)
{
    char path[1200];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* Whether a run's artifact of any kind is there. */
static bool has_artifact(const char *dir)
{
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        for (const char *const *name = tl__collector_at(i)->files; name != NULL && *name != NULL; name++)
            if (strcmp(*name, TL_DUMP_DIR_NAME "/" TL_DUMP_BIN_NAME) != 0 && has_file(dir, *name))
                return true;
    return false;
}

/* Payloads whose records did not reach the journal: nothing names them. */
static void drop_payloads(const char *dir)
{
    char path[1200];

    (void)snprintf(path, sizeof(path), "%s/%s/%s", dir, TL_DUMP_DIR_NAME, TL_DUMP_BIN_NAME);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_DUMP_DIR_NAME);
    (void)rmdir(path);
}

/* What a recovery of the same run said, that was killed after it had dropped the payloads. */
static uint64_t told_before(const char *dir, const struct tl_meta *meta)
{
    struct tl_meta *before = tl__alloc(1, sizeof(*before));
    uint64_t bytes = 0;

    if (before != NULL && tl__meta_read(dir, before, NULL) == 0 && strcmp(before->status, TL_META_RECOVERED) == 0 &&
        before->start_unix_ns == meta->start_unix_ns && before->epoch == meta->epoch)
        bytes = before->unrecorded_bytes;
    tl__free(before);
    return bytes;
}

static int rebuild(const char *dir, struct tl_journal_reader *reader, struct recovered *rec,
                   struct tl_recover_result *result, struct tl_error *reterr)
{
    struct tl_meta meta;
    int r = read_all(reader, rec, reterr);

    meta_of(rec->run, &meta);
    result->records_per_buffer = rec->run->records_per_buffer;
    if (r == 0 && rec->all == NULL && has_artifact(dir)) {
        result->earlier = true; /* an earlier run's: this one was killed before it came to clear the directory */
        return 0;
    }
    if (r == 0)
        r = export_all(dir, rec, &meta, result, reterr);
    if (r == 0 && meta.unrecorded_bytes == 0)
        result->unrecorded_bytes = meta.unrecorded_bytes = told_before(dir, &meta);
    if (r == 0)
        r = tl__meta_write(dir, &meta, reterr);
    if (r == 0 && rec->dump_records == 0)
        drop_payloads(dir);
    while (rec->all != NULL) {
        struct tl_batch *next = rec->all->queued;

        tl__free(rec->all);
        rec->all = next;
    }
    return r;
}

static int recover_journal(const char *dir, const char *path, struct tl_recover_result *result, struct tl_error *reterr)
{
    struct tl_journal_reader *reader = NULL;
    struct recovered *rec = tl__alloc(1, sizeof(*rec));
    const struct tl_journal_report *report;
    int r;

    if (rec == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", dir);
    r = tl__journal_open(path, &reader, reterr);
    if (r == 0) {
        rec->run = tl__journal_run(reader);
        r = rebuild(dir, reader, rec, result, reterr);
        report = tl__journal_report(reader);
        result->buffers = report->blocks;
        result->torn_bytes = report->bytes_dropped;
        result->corrupt = report->corrupt;
    }
    tl__journal_reader_close(reader);
    tl__free(rec);
    return r;
}

/* The journal's descriptor with its lock, which the run holds while it lives, and a recovery while it works. */
static int lock_journal(const char *path, struct tl_error *reterr)
{
    int fd = tl__open_to_read(path);

    if (fd < 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot open: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return fd;
    (void)close(fd);
    return tl__fail(reterr, TL_EBUSY, "%s: its run is not over: the process that writes it lives; wait for its end",
                    path);
}

/* Without a journal: dfx_meta.json is the last that a run writes, and an artifact is all that foreign runs have. */
static int tell_complete(const char *dir, struct tl_recover_result *result, struct tl_error *reterr)
{
    struct tl_meta *meta;

    result->complete = has_file(dir, TL_META_NAME) || has_artifact(dir);
    if (!result->complete)
        return tl__fail(reterr, TL_ENOENT, "%s: no %s in it", dir, TL_JOURNAL_NAME);
    meta = tl__alloc(1, sizeof(*meta));
    if (meta == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", dir);
    if (tl__meta_read(dir, meta, NULL) == 0 && strcmp(meta->status, TL_META_RECOVERED) == 0) {
        result->again = true;
        result->unrecorded_bytes = meta->unrecorded_bytes;
        for (uint32_t i = 0; i < meta->stream_count; i++) {
            result->records += meta->streams[i].collected;
            result->payload_bytes += meta->streams[i].payload_bytes;
            result->payloads_missing += meta->streams[i].payloads_lost;
        }
    }
    tl__free(meta);
    return 0;
}

int tl__engine_recover(const char *dir, struct tl_recover_result *result, struct tl_error *reterr)
{
    char path[1200];
    struct stat st;
    int r = 0, lock;

    memset(result, 0, sizeof(*result));
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return tl__fail(reterr, TL_ENOENT, "%s: no such directory", dir);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_JOURNAL_NAME);
    if (stat(path, &st) != 0)
        return tell_complete(dir, result, reterr);
    lock = lock_journal(path, reterr);
    if (lock < 0)
        return lock;
    if (tl__journal_unborn(path)) {
        result->torn_bytes = (uint64_t)st.st_size;
        if (!has_file(dir, TL_DUMP_DIR_NAME "/" TL_DUMP_MANIFEST_NAME)) /* which would name them */
            drop_payloads(dir);
    } else {
        r = recover_journal(dir, path, result, reterr);
    }
    if (r == 0 && unlink(path) < 0)
        r = tl__fail(reterr, TL_EIO, "%s: the artifacts are rebuilt, but the journal cannot be removed", path);
    (void)close(lock);
    return r;
}
