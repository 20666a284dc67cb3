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
#include "base/log.h"
#include "base/pathname.h"
#include "collect/engine_impl.h"
#include "collect/recover.h"
#include "collect/run_dir.h"

/* A lane's end mark, and what it is compared with. */
struct lane_end {
    bool marked;
    uint64_t attempted, dropped, collected;
};

struct recovered {
    const struct tl_journal_run *run;
    /* By stream and lane number. */
    struct tl_batch *first[TL_STREAM_COUNT][TL_DFX_MAX_LANES], *last[TL_STREAM_COUNT][TL_DFX_MAX_LANES];
    struct tl_batch *all; /* by `queued`, to free them */
    struct tl_stream_totals totals[TL_STREAM_COUNT];
    struct tl_export_stream streams[TL_STREAM_COUNT];
    struct lane_end ends[TL_STREAM_COUNT][TL_DFX_MAX_LANES];
    const struct tl_journal_report *report;
    uint64_t left_out[TL_STREAM_COUNT]; /* records that hold what cannot be */
    uint64_t records_lost;              /* with the journal's damage */
    uint64_t dump_records;              /* in the manifest */
};

/* The block's records into the batch; those that cannot be are counted and left out. */
static void take_good(struct recovered *rec, const struct tl_journal_block *b, struct tl_batch *batch)
{
    const struct tl_collector_spec *spec = tl__collector_at(b->stream);
    const struct tl_record_limits limits = tl__journal_limits(rec->run);
    struct tl_stream_totals *t = &rec->totals[b->stream];
    struct lane_end *end = &rec->ends[b->stream][b->lane];
    const uint64_t *bins = batch->bin != NULL ? b->bin_offsets : NULL;
    uint8_t *to = (uint8_t *)(uintptr_t)batch->records;

    for (uint32_t i = 0; i < b->count; i++) {
        const uint8_t *record = (const uint8_t *)b->records + (size_t)i * spec->record_bytes;
        struct tl_payload p;

        if (tl__record_check(spec, &limits, record, &p) != NULL || (bins != NULL && !tl__journal_bin_is(bins[i]))) {
            t->dropped[TL_LOSS_CORRUPT]++;
            end->dropped++;
            rec->left_out[b->stream]++;
            continue;
        }
        if (bins != NULL)
            batch->bin[batch->count] = bins[i];
        memcpy(to + (size_t)batch->count++ * spec->record_bytes, record, spec->record_bytes);
        t->collected += p.whole;
        end->collected += p.whole;
    }
}

/* A copy of the block as the batch it was. The journal's records of one lane come in the lane's order. */
static int keep(struct recovered *rec, const struct tl_journal_block *b)
{
    const struct tl_collector_spec *spec = tl__collector_at(b->stream);
    size_t bins = b->bin_offsets != NULL ? b->count * sizeof(uint64_t) : 0, records;
    struct tl_batch *batch;

    if (!tl__journal_lane_is(rec->run, b->stream, b->lane) ||
        (spec->has_arena && b->count > 0 && b->bin_offsets == NULL)) {
        rec->totals[b->stream].dropped[TL_LOSS_CORRUPT] += b->count;
        rec->left_out[b->stream] += b->count;
        return 0;
    }
    records = (size_t)b->count * spec->record_bytes;
    batch = tl__alloc(1, sizeof(*batch) + bins + records);
    if (batch == NULL)
        return TL_ENOMEM;
    batch->bin = bins ? (uint64_t *)(void *)(batch + 1) : NULL;
    batch->records = (uint8_t *)(batch + 1) + bins;
    take_good(rec, b, batch);
    batch->queued = rec->all;
    rec->all = batch;
    if (rec->last[b->stream][b->lane] != NULL)
        rec->last[b->stream][b->lane]->next = batch;
    else
        rec->first[b->stream][b->lane] = batch;
    rec->last[b->stream][b->lane] = batch;
    return 0;
}

static int take(struct recovered *rec, const struct tl_journal_block *b)
{
    struct tl_stream_totals *t;
    struct lane_end *end;

    if (b->stream >= TL_STREAM_COUNT || b->lane >= TL_DFX_MAX_LANES)
        return 0; /* of a newer version's collector: not ours to rebuild */
    t = &rec->totals[b->stream];
    if (b->kind == TL_JOURNAL_RECORDS)
        return keep(rec, b);
    if (!tl__journal_counts_are(b)) /* as if the mark had not come */
        return 0;
    end = &rec->ends[b->stream][b->lane];
    end->marked = true;
    end->attempted = b->attempted;
    for (unsigned i = 0; i < TL_LOSS_COUNT && i < TL_JOURNAL_MAX_LOSSES; i++) {
        t->dropped[i] += b->losses[i];
        end->dropped += b->losses[i];
    }
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
    (void)snprintf(meta->format, sizeof(meta->format), "%s", tl__format_name(run->format));
    (void)snprintf(meta->status, sizeof(meta->status), TL_META_RECOVERED);
    meta->level = (uint32_t)run->levels[TL_COLLECT_DUMP];
    meta->epoch = run->epoch;
    meta->start_unix_ns = run->start_unix_ns;
    meta->clock_freq_hz = run->clock_freq_hz;
}

/* A lane without an end mark recorded what reached the journal, as far as anybody knows. Records that a lane's end mark
 * counts, and that are neither there nor dropped, were lost with the journal's damage; so were those of damaged buffers
 * whose headers are not. */
static void count_attempted(struct recovered *rec, unsigned stream)
{
    struct tl_stream_totals *t = &rec->totals[stream];
    uint64_t lost = 0, reported = rec->report->records_lost_in[stream];

    for (unsigned i = 0; i < TL_DFX_MAX_LANES; i++) {
        const struct lane_end *end = &rec->ends[stream][i];
        uint64_t seen = end->collected + end->dropped;

        t->attempted += end->marked && end->attempted > seen ? end->attempted : seen;
        if (end->marked && end->attempted > seen)
            lost += end->attempted - seen;
    }
    if (reported > lost) {
        t->attempted += reported - lost;
        lost = reported;
    }
    if (rec->report->corrupt || rec->report->blocks_lost != 0) {
        t->dropped[TL_LOSS_CORRUPT] += lost;
        rec->records_lost += lost;
    } else {
        t->dropped[TL_LOSS_DEVICE_DEAD] += lost; /* what a dead device was in the middle of */
    }
}

/* Lanes are numbered stream by stream, as the run had laid them out. */
static void gather(struct recovered *rec, unsigned stream, unsigned *first_lane)
{
    struct tl_export_stream *s = &rec->streams[stream];
    struct tl_stream_totals *t = &rec->totals[stream];

    s->level = (uint32_t)tl__stream_level(rec->run->levels, stream);
    s->n_lanes =
        (rec->run->facts.lane_streams >> stream & 1u) != 0 ? tl__lanes_of(stream, rec->run->facts.schedulers) : 0;
    for (unsigned role = 0; role < s->n_lanes; role++)
        s->lanes[role] = *first_lane + role < TL_DFX_MAX_LANES ? rec->first[stream][*first_lane + role] : NULL;
    *first_lane += s->n_lanes;
    count_attempted(rec, stream);
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        s->dropped += t->dropped[i];
    if (t->attempted < t->collected + s->dropped)
        t->attempted = t->collected + s->dropped;
}

static int stream_export(struct recovered *rec, unsigned stream, struct tl_export *x, struct tl_meta *meta,
                         struct tl_recover_result *result, struct tl_error *reterr)
{
    const struct tl_collector_spec *spec = tl__collector_at(stream);
    struct tl_export_figures f = {.meta = meta};
    struct tl_error err = {0};
    int r = 0;

    x->own = &rec->streams[stream];
    if (spec->export != NULL)
        r = spec->export(x, &f, &err);
    if (r == TL_ECORRUPT || r == TL_ERANGE || r == TL_EINVAL) { /* this artifact cannot be; the others can */
        if (result->refused++ == 0)
            (void)snprintf(result->refused_what, sizeof(result->refused_what), "%.230s", err.msg);
        r = 0;
    }
    if (r < 0)
        return tl__fail(reterr, r, "%s", err.msg);
    tl__count_corrupt(&rec->totals[stream], &f);
    result->records_corrupt += f.corrupt;
    tl__meta_stream(meta, spec, &rec->totals[stream], &f);
    if (x->own == &rec->streams[TL_STREAM_DUMP]) {
        rec->dump_records = f.records;
        meta->unrecorded_bytes = x->bin_bytes > f.payload_end ? x->bin_bytes - f.payload_end : 0;
        result->unrecorded_bytes = meta->unrecorded_bytes;
    }
    result->records += rec->totals[stream].collected;
    result->records_corrupt += rec->left_out[stream];
    result->payload_bytes += f.payload_bytes;
    result->payloads_missing += f.payloads_missing;
    return 0;
}

static int export_all(const char *dir, struct recovered *rec, struct tl_meta *meta, struct tl_recover_result *result,
                      struct tl_error *reterr)
{
    const struct tl_clock_pair clock[TL_CLOCK_MOMENTS] = {{0}};
    struct tl_scratch scratch = {0};
    struct tl_export x = {.dir = dir,
                          .streams = rec->streams,
                          .facts = &rec->run->facts,
                          .clock = clock,
                          .runtime = rec->run->runtime,
                          .epoch = rec->run->epoch,
                          .format = rec->run->format,
                          .run_failed = true,
                          .scratch = &scratch};
    char path[TL_PATHNAME_BYTES];
    struct stat st;
    unsigned lane = 0;
    int r = 0;

    (void)tl__pathname(path, "%s/%s/%s", dir, TL_DUMP_DIR_NAME, TL_DUMP_BIN_NAME);
    if (stat(path, &st) == 0) {
        x.bin_created = true;
        x.bin_bytes = (uint64_t)st.st_size;
    }
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        gather(rec, i, &lane);
    result->records_lost = rec->records_lost;
    for (unsigned i = 0; i < TL_STREAM_COUNT && r == 0; i++)
        if (rec->streams[i].level != 0)
            r = stream_export(rec, i, &x, meta, result, reterr);
    tl__scratch_fini(&scratch);
    return r;
}

static bool has_file(const char *dir, const char *name)
{
    char path[TL_PATHNAME_BYTES];

    (void)tl__pathname(path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* Payloads whose records did not reach the journal: nothing names them. */
static void drop_payloads(const char *dir)
{
    char path[TL_PATHNAME_BYTES];

    (void)tl__pathname(path, "%s/%s/%s", dir, TL_DUMP_DIR_NAME, TL_DUMP_BIN_NAME);
    (void)unlink(path);
    (void)tl__pathname(path, "%s/%s", dir, TL_DUMP_DIR_NAME);
    (void)rmdir(path);
}

/* The directory's dfx_meta.json, if it is of the run that wrote the journal: the caller's to free. */
static struct tl_meta *meta_of_same_run(const char *dir, const struct tl_journal_run *run)
{
    struct tl_meta *meta = tl__alloc(1, sizeof(*meta));

    if (meta != NULL && tl__meta_read(dir, meta, NULL) == 0 && meta->start_unix_ns == run->start_unix_ns &&
        meta->epoch == run->epoch)
        return meta;
    tl__free(meta);
    return NULL;
}

/* What a recovery of the same run said, that was killed after it had dropped the payloads. */
static uint64_t reported_before(const char *dir, const struct tl_journal_run *run)
{
    struct tl_meta *before = meta_of_same_run(dir, run);
    uint64_t bytes = before != NULL && strcmp(before->status, TL_META_RECOVERED) == 0 ? before->unrecorded_bytes : 0;

    tl__free(before);
    return bytes;
}

static void count_meta(const struct tl_meta *meta, struct tl_recover_result *result)
{
    result->unrecorded_bytes = meta->unrecorded_bytes;
    result->payloads_missing = meta->payloads_missing;
    for (uint32_t i = 0; i < meta->stream_count; i++) {
        result->records += meta->streams[i].collected;
        result->payload_bytes += meta->streams[i].payload_bytes;
    }
}

/* The run had exported, and only its journal was not removed yet: what it wrote says more than the journal does. */
static bool had_ended(const char *dir, const struct tl_journal_run *run, struct tl_recover_result *result)
{
    struct tl_meta *meta = meta_of_same_run(dir, run);
    bool ended = meta != NULL && strcmp(meta->status, TL_META_RECOVERED) != 0;

    if (ended) {
        tl__recover_check(dir, meta, result);
        ended = result->missing == 0;
    }
    if (ended) {
        count_meta(meta, result);
        result->complete = result->ended = true;
    } else {
        result->missing = 0; /* the journal has it */
    }
    tl__free(meta);
    return ended;
}

/* Whether something in the directory is of this run, and not of one before it, which this one had not cleared away. */
static bool has_begun(const char *dir, const struct recovered *rec)
{
    struct tl_meta *meta;
    bool begun;

    if (rec->report->begun || rec->all != NULL)
        return true;
    if (rec->report->says_begun)
        return false;
    meta = meta_of_same_run(dir, rec->run); /* before version 2 */
    begun = meta != NULL || !tl__run_dir_has_artifact(dir);
    tl__free(meta);
    return begun;
}

/* What is in the directory is of an earlier run, whole or half cleared away. */
static void leave_earlier(const char *dir, struct tl_recover_result *result)
{
    result->earlier = tl__run_dir_has_artifact(dir);
    if (!has_file(dir, TL_DUMP_DIR_NAME "/" TL_DUMP_MANIFEST_NAME)) /* which would name them */
        drop_payloads(dir);
}

static bool all_was_read(const struct tl_recover_result *r)
{
    return r->damaged_bytes == 0 && r->buffers_lost == 0 && r->records_lost == 0 && r->records_corrupt == 0 &&
           r->refused == 0;
}

static void free_batches(struct recovered *rec)
{
    while (rec->all != NULL) {
        struct tl_batch *next = rec->all->queued;

        tl__free(rec->all);
        rec->all = next;
    }
}

static int rebuild(const char *dir, struct tl_journal_reader *reader, struct recovered *rec,
                   struct tl_recover_result *result, struct tl_error *reterr)
{
    const struct tl_journal_report *report = tl__journal_report(reader);
    struct tl_meta meta;
    int r;

    if (had_ended(dir, rec->run, result))
        return 0;
    rec->report = report;
    r = read_all(reader, rec, reterr);
    result->buffers = report->blocks;
    result->torn_bytes = report->bytes_torn;
    result->damaged_bytes = report->bytes_dropped - report->bytes_torn;
    result->damaged_places = report->places;
    result->buffers_lost = report->blocks_lost;
    result->records_per_buffer = rec->run->records_per_buffer;
    if (r == 0 && !has_begun(dir, rec)) {
        if (!report->corrupt)
            leave_earlier(dir, result);
        return 0;
    }
    meta_of(rec->run, &meta);
    if (r == 0)
        r = export_all(dir, rec, &meta, result, reterr);
    if (r == 0 && meta.unrecorded_bytes == 0)
        result->unrecorded_bytes = meta.unrecorded_bytes = reported_before(dir, rec->run);
    meta.payloads_missing = result->payloads_missing;
    if (r == 0)
        r = tl__meta_write(dir, &meta, reterr);
    if (r == 0 && rec->dump_records == 0 && all_was_read(result))
        drop_payloads(dir);
    return r;
}

static int recover_journal(const char *dir, const char *path, struct tl_recover_result *result, struct tl_error *reterr)
{
    struct tl_journal_reader *reader = NULL;
    struct recovered *rec = tl__alloc(1, sizeof(*rec));
    int r;

    if (rec == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", dir);
    r = tl__journal_open(path, &reader, reterr);
    if (r == 0) {
        rec->run = tl__journal_run(reader);
        r = tl__journal_run_check(rec->run, path, reterr);
    }
    if (r == 0) {
        r = rebuild(dir, reader, rec, result, reterr);
    }
    free_batches(rec);
    tl__journal_reader_close(reader);
    tl__free(rec);
    return r;
}

int tl__recover_lock(const char *path, struct tl_error *reterr)
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
static int report_complete(const char *dir, struct tl_recover_result *result, struct tl_error *reterr)
{
    struct tl_meta *meta;
    struct tl_error err = {0};
    int r;

    result->complete = has_file(dir, TL_META_NAME) || tl__run_dir_has_artifact(dir);
    if (!result->complete)
        return tl__fail(reterr, TL_ENOENT, "%s: no %s in it", dir, TL_JOURNAL_NAME);
    meta = tl__alloc(1, sizeof(*meta));
    if (meta == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", dir);
    r = tl__meta_read(dir, meta, &err);
    if (r != 0 && r != TL_ENOENT)
        tl__recover_missing(result, "%.230s", err.msg);
    if (r == 0 && strcmp(meta->status, TL_META_RECOVERED) == 0) {
        result->again = true;
        count_meta(meta, result);
    }
    tl__recover_check(dir, r == 0 ? meta : NULL, result);
    tl__free(meta);
    return 0;
}

/* The journal goes, or stays under the name that says that it has been read as far as it can be. */
static int end_journal(const char *dir, const char *path, struct tl_recover_result *result, struct tl_error *reterr)
{
    char damaged[1200];

    if (all_was_read(result))
        return unlink(path) == 0
                   ? 0
                   : tl__fail(reterr, TL_EIO, "%s: the artifacts are rebuilt, but the journal cannot be removed", path);
    result->kept = true;
    (void)snprintf(damaged, sizeof(damaged), "%s/%s", dir, TL_JOURNAL_DAMAGED_NAME);
    if (strcmp(damaged, path) != 0 && rename(path, damaged) != 0)
        return tl__fail(reterr, TL_EIO, "%s: the artifacts are rebuilt, but the journal cannot be renamed to %s", path,
                        damaged);
    return 0;
}

static int recover_in(const char *dir, const char *path, struct tl_recover_result *result, struct tl_error *reterr)
{
    struct stat st;
    int lock = tl__recover_lock(path, reterr), r = 0;

    if (lock < 0)
        return lock;
    tl__run_dir_clear_temps(dir);
    if (tl__journal_not_begun(path)) {
        result->torn_bytes = fstat(lock, &st) == 0 ? (uint64_t)st.st_size : 0;
        leave_earlier(dir, result);
    } else {
        r = recover_journal(dir, path, result, reterr);
    }
    if (r == 0)
        r = end_journal(dir, path, result, reterr);
    (void)close(lock);
    return r;
}

int tl__engine_recover(const char *dir, const char *out, struct tl_recover_result *result, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];
    struct stat st;
    int r;

    memset(result, 0, sizeof(*result));
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return tl__fail(reterr, TL_ENOENT, "%s: no such directory", dir);
    if (strlen(dir) > 1000 || (out != NULL && strlen(out) > 1000))
        return tl__fail(reterr, TL_EINVAL, "%.100s...: the path is longer than 1000 bytes", dir);
    if (out != NULL) {
        r = tl__recover_copy(dir, out, reterr);
        if (r <= 0)
            return r < 0 ? r : report_complete(dir, result, reterr);
        dir = out;
    }
    (void)tl__pathname(path, "%s/%s", dir, TL_JOURNAL_NAME);
    if (stat(path, &st) != 0)
        (void)tl__pathname(path, "%s/%s", dir, TL_JOURNAL_DAMAGED_NAME);
    if (stat(path, &st) != 0)
        return report_complete(dir, result, reterr);
    return recover_in(dir, path, result, reterr);
}
