/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export: the counts of each stream are checked, the collectors write their artifacts from the lanes' lists,
 * dfx_meta.json says what they cost and what is missing, and the journal goes. A failed run exports exactly like a good
 * one.
 */
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/engine_impl.h"

static const char *const cause_names[TL_LOSS_COUNT] = {"host_dead", "no_buffer", "disk", "corrupt", "device_dead"};

const char *tl__format_name(unsigned format)
{
    static const char *const names[TL_FORMAT_COUNT] = {
        [TL_FORMAT_DEFAULT] = "default", [TL_FORMAT_2026_09] = "2026-09"};

    return format < TL_FORMAT_COUNT ? names[format] : "unknown";
}

static uint64_t sum_dropped(const struct tl_stream_totals *t)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        n += t->dropped[i];
    return n;
}

/*
 * One lane's figures into the stream's. After an end mark attempted = collected + dropped must hold exactly. A
 * lane that a dead device left behind counts the record that it was in the middle of as lost with it; a lane that the
 * host stopped counts everything that did not come through.
 */
static void add_lane(const struct tl_lane_run *lr, bool reconciled, struct tl_stream_totals *t)
{
    uint64_t dropped = 0, seen;

    for (unsigned i = 0; i < TL_DROP_COUNT; i++) {
        t->dropped[i] += lr->counts.dropped[i] + lr->lost[i];
        dropped += lr->counts.dropped[i] + lr->lost[i];
    }
    seen = lr->collected + dropped;
    t->collected += lr->collected;
    t->parked_ns += lr->counts.parked_ns;
    if (!lr->counted) {
        t->uncounted++;
        t->attempted += seen;
        return;
    }
    t->attempted += reconciled && lr->counts.attempted < seen ? seen : lr->counts.attempted;
    if (reconciled && lr->counts.attempted > seen)
        t->dropped[TL_LOSS_DEVICE_DEAD] += lr->counts.attempted - seen;
}

/* What is missing and why, for the error; 0 if nothing is. */
static int judge(const struct tl_crun *run, const struct tl_collector_spec *spec, const struct tl_stream_totals *t,
                 const struct tl_export_figures *f, uint64_t expected, struct tl_error *reterr)
{
    uint64_t dropped = sum_dropped(t);
    char causes[256] = "";
    size_t at = 0;

    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        if (t->dropped[i] != 0 && at < sizeof(causes))
            at += (size_t)snprintf(causes + at, sizeof(causes) - at, "%s%s %llu", at ? ", " : "", cause_names[i],
                                   (unsigned long long)t->dropped[i]);
    if (run->corrupt_code != 0)
        return tl__fail(reterr, run->corrupt_code, "%s; %llu records of run %s were collected before",
                        run->corrupt_what, (unsigned long long)t->collected, run->dir);
    if (dropped != 0)
        return tl__fail(reterr, TL_ELOST, "%s: %llu of %llu records were lost (%s)%s%s", spec->name,
                        (unsigned long long)dropped, (unsigned long long)t->attempted, causes,
                        t->dropped[TL_LOSS_CORRUPT] != 0 ? "; first " : "",
                        t->dropped[TL_LOSS_CORRUPT] != 0 ? run->corrupt_what : "");
    if (t->attempted != t->collected)
        return tl__fail(reterr, TL_ELOST,
                        "%s: %llu records were attempted and %llu collected; %lld are unaccounted for", spec->name,
                        (unsigned long long)t->attempted, (unsigned long long)t->collected,
                        (long long)(t->attempted - t->collected));
    if (t->uncounted != 0 && expected == UINT64_MAX)
        return tl__fail(reterr, TL_ELOST, "%s: a lane never ended its run; %llu records were collected", spec->name,
                        (unsigned long long)t->collected);
    if (expected != UINT64_MAX && t->attempted != expected)
        return tl__fail(reterr, TL_ELOST, "%s: the tasks that ran call for %llu records and %llu were attempted",
                        spec->name, (unsigned long long)expected, (unsigned long long)t->attempted);
    if (f->payloads_lost != 0)
        return tl__fail(reterr, TL_ELOST, "%s: %s%s%llu payload%s lost, all or in part; the record%s say%s so",
                        run->disk_code != 0 ? "args.bin" : spec->name, run->disk_what,
                        run->disk_code != 0 ? "; so " : "", (unsigned long long)f->payloads_lost,
                        f->payloads_lost == 1 ? " is" : "s are", f->payloads_lost == 1 ? "" : "s",
                        f->payloads_lost == 1 ? "s" : "");
    return 0;
}

void tl__count_corrupt(struct tl_stream_totals *t, const struct tl_export_figures *f)
{
    uint64_t n = f->corrupt < t->collected ? f->corrupt : t->collected;

    assert(n <= t->collected); /* CI10 */
    t->collected -= n;
    t->dropped[TL_LOSS_CORRUPT] += n;
}

void tl__meta_stream(struct tl_meta *meta, const struct tl_collector_spec *spec, const struct tl_stream_totals *totals,
                     const struct tl_export_figures *figures)
{
    struct tl_meta_stream *s = &meta->streams[meta->stream_count++];
    unsigned n = 0;

    assert(meta->stream_count <= TL_STREAM_COUNT); /* CI10 */
    (void)snprintf(s->name, sizeof(s->name), "%s", spec->name);
    s->attempted = totals->attempted;
    s->collected = totals->collected;
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++) {
        if (totals->dropped[i] == 0)
            continue;
        (void)snprintf(s->losses[n].cause, sizeof(s->losses[n].cause), "%s", cause_names[i]);
        s->losses[n++].count = totals->dropped[i];
    }
    assert(n <= TL_LOSS_COUNT); /* CI10 */
    s->payload_bytes = figures->payload_bytes;
    s->payloads_lost = figures->payloads_lost;
}

static uint64_t middle_ns(const struct tl_clock_pair *p)
{
    return p->host_before_ns + (p->host_after_ns - p->host_before_ns) / 2;
}

static void meta_clock(struct tl_meta *meta, const struct tl_clock_pair *clock)
{
    meta->clock_start_cycles = clock[TL_CLOCK_BEGIN].device_cycles;
    meta->clock_start_ns = middle_ns(&clock[TL_CLOCK_BEGIN]);
    meta->clock_end_cycles = clock[TL_CLOCK_QUIESCE].device_cycles;
    meta->clock_end_ns = middle_ns(&clock[TL_CLOCK_QUIESCE]);
    for (unsigned i = 0; i < TL_CLOCK_MOMENTS; i++) {
        uint64_t error = (clock[i].host_after_ns - clock[i].host_before_ns + 1) / 2;

        if (error > meta->clock_error_ns)
            meta->clock_error_ns = error;
    }
}

static void meta_of(const struct tl_crun *run, uint32_t epoch, struct tl_meta *meta)
{
    (void)snprintf(meta->program, sizeof(meta->program), "%s", run->program);
    (void)snprintf(meta->case_name, sizeof(meta->case_name), "%s", run->case_name);
    (void)snprintf(meta->platform, sizeof(meta->platform), "%s", run->platform);
    (void)snprintf(meta->runtime, sizeof(meta->runtime), "%s", run->runtime);
    (void)snprintf(meta->program_hash, sizeof(meta->program_hash), "%s", run->program_hash);
    (void)snprintf(meta->format, sizeof(meta->format), "%s", tl__format_name(run->config.format));
    (void)snprintf(meta->status, sizeof(meta->status), "%s", run->status);
    (void)snprintf(meta->error, sizeof(meta->error), "%s", run->error);
    meta->level = (uint32_t)run->config.levels[TL_COLLECT_DUMP];
    meta->epoch = epoch;
    meta->start_unix_ns = run->start_unix_ns;
    meta->wall_ns = run->outcome.wall_ns;
    meta->parked_ns = run->outcome.parked_ns;
    meta->clock_freq_hz = run->facts.clock_freq_hz;
    meta_clock(meta, run->outcome.clock);
    meta->tasks = run->outcome.tasks;
    meta->allocations = run->outcome.allocations;
}

/* The payload file's bytes are down before the manifest that names them. */
static void bin_settle(struct tl_crun *run)
{
    int r = run->bin_fd >= 0 && run->bin_size > 0 ? tl__sync(run->bin_fd) : 0;

    if (r == 0 || run->disk_code != 0)
        return;
    run->disk_code = r;
    (void)snprintf(run->disk_what, sizeof(run->disk_what), "its last bytes may be missing: %s", tl_strerror(r));
    tl_log_error("%s/args_dump/args.bin: %s", run->dir, run->disk_what);
}

static void result_add(struct tl_run_result *result, const struct tl_stream_totals *t,
                       const struct tl_export_figures *f)
{
    result->records_attempted += t->attempted;
    result->records_collected += t->collected;
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        result->records_dropped[i] += t->dropped[i];
    result->payload_bytes += f->payload_bytes;
    result->payloads_truncated += f->truncated;
    result->payloads_lost += f->payloads_lost;
}

/* What the run's lanes hold of one stream, and its counts. */
static void gather(struct tl_engine *e, struct tl_crun *run, unsigned stream, uint64_t expected,
                   struct tl_export_stream *ret_stream, struct tl_stream_totals *t)
{
    assert(run->n_lanes == e->n_lanes); /* CI10 */
    ret_stream->level = run->levels[stream];
    ret_stream->n_lanes = 0;
    for (unsigned i = 0; i < run->n_lanes; i++) {
        if (e->lanes[i].spec != tl__collector_at(stream))
            continue;
        ret_stream->lanes[ret_stream->n_lanes++] = run->lanes[i].first;
        add_lane(&run->lanes[i], run->reconciled, t);
    }
    /* Without its counters, what a lane took with it is known only from what should have come. Either it was stopped
     * here, or the device had given the host up at its end mark and went on to the next run. */
    if (t->uncounted != 0 && expected != UINT64_MAX && expected > t->attempted) {
        t->dropped[run->corrupt_code != 0 ? TL_LOSS_CORRUPT : TL_LOSS_HOST_DEAD] += expected - t->attempted;
        t->attempted = expected;
    }
    ret_stream->dropped = sum_dropped(t);
}

/* What the streams of a run have in common while it is exported. */
struct tl_exporting {
    struct tl_export x;
    struct tl_export_stream streams[TL_STREAM_COUNT];
    struct tl_stream_totals totals[TL_STREAM_COUNT];
    struct tl_meta meta;
};

size_t tl__exporting_bytes(void)
{
    return sizeof(struct tl_exporting);
}

/* One stream: artifacts, figures, judgement (the first one of the run stays in *judged). */
static int stream_export(struct tl_crun *run, unsigned stream, uint64_t expected, struct tl_exporting *ex,
                         struct tl_run_result *result, int *judged, struct tl_error *reterr)
{
    const struct tl_collector_spec *spec = tl__collector_at(stream);
    struct tl_stream_totals *t = &ex->totals[stream];
    struct tl_export_figures f = {.meta = &ex->meta};
    struct tl_error err = {0};
    bool artifact_cannot_be;
    int r = 0;

    assert(run->levels[stream] != 0 && ex->meta.stream_count < TL_STREAM_COUNT); /* CI10 */
    ex->x.own = &ex->streams[stream];
    if (spec->export != NULL)
        r = spec->export(&ex->x, &f, &err);
    artifact_cannot_be = r == TL_ECORRUPT || r == TL_ERANGE; /* the others can */
    if (r < 0 && reterr != NULL && (*judged == 0 || !artifact_cannot_be))
        *reterr = err;
    if (artifact_cannot_be && *judged == 0)
        *judged = r;
    if (artifact_cannot_be)
        r = 0;
    tl__count_corrupt(t, &f);
    tl__meta_stream(&ex->meta, spec, t, &f);
    ex->meta.streams[ex->meta.stream_count - 1].record_ns = (double)run->outcome.record_ps[stream] / 1e3;
    result_add(result, t, &f);
    if (r == 0 && *judged == 0)
        *judged = judge(run, spec, t, &f, expected, reterr);
    return r;
}

static int export_all(struct tl_engine *e, struct tl_crun *run, const uint64_t *expected, struct tl_exporting *ex,
                      struct tl_run_result *result, int *judged, struct tl_error *reterr)
{
    int r = 0;

    ex->x = (struct tl_export){.dir = run->dir,
                               .streams = ex->streams,
                               .facts = &run->facts,
                               .clock = run->outcome.clock,
                               .runtime = run->runtime,
                               .epoch = tl_load_rlx(&run->epoch), /* relaxed: only the worker writes it */
                               .format = run->config.format,
                               .bin_created = run->bin_fd >= 0,
                               .run_failed = strcmp(run->status, "ok") != 0,
                               .bin_bytes = run->bin_size,
                               .scratch = &e->scratch};
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        gather(e, run, i, expected != NULL ? expected[i] : UINT64_MAX, &ex->streams[i], &ex->totals[i]);
    for (unsigned i = 0; i < TL_STREAM_COUNT && r == 0; i++)
        if (run->levels[i] != 0)
            r = stream_export(run, i, expected != NULL ? expected[i] : UINT64_MAX, ex, result, judged, reterr);
    return r != 0 ? r : tl__meta_write(run->dir, &ex->meta, reterr);
}

/* An artifact could not be written: where its records are, behind why. */
static void report_journal(const struct tl_crun *run, struct tl_error *reterr)
{
    struct tl_error why;

    if (reterr == NULL)
        return;
    why = *reterr;
    if (run->journaled == 0)
        (void)tl__fail(reterr, why.code,
                       "%s; none of the %llu records that came is in %s: nothing of this run is readable", why.msg,
                       (unsigned long long)run->n_records, TL_JOURNAL_NAME);
    else if (run->journaled < run->n_records)
        (void)tl__fail(reterr, why.code,
                       "%s; %llu of the %llu records that came are in %s, the others are lost: `tasklens recover %s`, "
                       "with --out DIR where there is more room, makes them readable",
                       why.msg, (unsigned long long)run->journaled, (unsigned long long)run->n_records, TL_JOURNAL_NAME,
                       run->dir);
    else
        (void)tl__fail(
            reterr, why.code,
            "%s; all %llu records are in %s: `tasklens recover %s`, with --out DIR where there is more room, "
            "makes them readable",
            why.msg, (unsigned long long)run->journaled, TL_JOURNAL_NAME, run->dir);
}

int tl__engine_export(struct tl_engine *e, uint32_t epoch, const uint64_t *expected, struct tl_run_result *result,
                      struct tl_error *reterr)
{
    struct tl_crun *run = tl__run_find(e, epoch);
    struct tl_exporting *ex = e->exporting;
    int r, judged = 0;

    if (run == NULL)
        return tl__fail(reterr, TL_ENOENT, "run %u is not open", epoch);
    tl__run_seal(e, run);
    assert(run->journaled <= run->n_records); /* CI15 */
    memset(ex, 0, sizeof(*ex));
    meta_of(run, epoch, &ex->meta);
    bin_settle(run);
    tl__room_release(run);
    r = export_all(e, run, expected, ex, result, &judged, reterr);
    if (r != 0)
        report_journal(run, reterr);
    if (r == 0)
        (void)snprintf(result->artifacts, sizeof(result->artifacts), "%s", run->dir);
    tl__run_forget(e, run, r == 0 || run->journaled == 0); /* a journal without records is only in the way */
    return r != 0 ? r : judged;
}
