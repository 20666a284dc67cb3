/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a run recorded is still there: dfx_meta.json says what was collected, and each artifact is read. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "artifact/args_dump.h"
#include "artifact/deps.h"
#include "artifact/pmu.h"
#include "artifact/swimlane.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/pathname.h"
#include "collect/engine_impl.h"
#include "collect/recover.h"

/* Records that a run which was cut short may have without one whole task among them. */
#define FEW_DEPS_RECORDS 64u

void tl__recover_missing(struct tl_recover_result *result, const char *format, ...)
{
    va_list args;

    if (result->missing < COUNT_OF(result->missing_what)) {
        char *what = result->missing_what[result->missing];

        va_start(args, format);
        (void)vsnprintf(what, sizeof(result->missing_what[0]), format, args);
        va_end(args);
    }
    result->missing++;
}

/* What was collected of one stream, and what is found of it. */
struct check {
    const char *dir;
    const struct tl_meta *meta; /* NULL: nothing is known */
    const struct tl_meta_stream *stream;
    struct tl_recover_result *result;
};

static bool there(const struct check *c, const char *name)
{
    char path[TL_PATHNAME_BYTES];

    (void)tl__pathname(path, "%s/%s", c->dir, name);
    return access(path, F_OK) == 0;
}

static uint64_t collected(const struct check *c)
{
    return c->stream != NULL ? c->stream->collected : 0;
}

/* Whether the file is there to be read; if it is not, and should be, that is noted. */
static bool expect_file(const struct check *c, const char *name, bool due)
{
    bool is = there(c, name);

    if (!is && due)
        tl__recover_missing(c->result, "%s is not there; %llu records of %s had been collected", name,
                            (unsigned long long)collected(c), c->stream->name);
    return is;
}

static void expect_count(const struct check *c, const char *name, uint64_t count)
{
    if (count < collected(c))
        tl__recover_missing(c->result, "%s holds %llu of the %llu records that had been collected", name,
                            (unsigned long long)count, (unsigned long long)collected(c));
}

/* An error of a reader, which names the file. */
static void note_unreadable(const struct check *c, const struct tl_error *err)
{
    tl__recover_missing(c->result, "%.230s", err->msg);
}

static void check_dump(const struct check *c)
{
    static const char manifest[] = TL_DUMP_DIR_NAME "/" TL_DUMP_MANIFEST_NAME;
    struct tl_dump_reader *reader = NULL;
    struct tl_dump_verdict verdict;
    struct tl_error err = {0};
    char dir[TL_PATHNAME_BYTES];

    if (!expect_file(c, manifest, collected(c) != 0))
        return;
    (void)tl__pathname(dir, "%s/%s", c->dir, TL_DUMP_DIR_NAME);
    if (tl__dump_open(dir, &reader, &err) != 0) {
        note_unreadable(c, &err);
        return;
    }
    expect_count(c, manifest, tl__dump_record_count(reader));
    if (c->stream != NULL && c->stream->payload_bytes != 0 && !there(c, TL_DUMP_DIR_NAME "/" TL_DUMP_BIN_NAME))
        tl__recover_missing(c->result,
                            TL_DUMP_DIR_NAME "/" TL_DUMP_BIN_NAME " is not there; it had %llu bytes of payload",
                            (unsigned long long)c->stream->payload_bytes);
    else if (tl__dump_check(reader, &verdict) != 0)
        tl__recover_missing(c->result, "%.230s", verdict.first_fault);
    tl__dump_close(reader);
}

static void check_swimlane(const struct check *c)
{
    struct tl_swimlane s = {0};
    struct tl_error err = {0};
    char path[TL_PATHNAME_BYTES];

    if (!expect_file(c, TL_SWIMLANE_NAME, collected(c) != 0))
        return;
    (void)tl__pathname(path, "%s/%s", c->dir, TL_SWIMLANE_NAME);
    if (tl__swimlane_read(path, &s, &err) != 0)
        note_unreadable(c, &err);
    tl__swimlane_fini(&s);
}

static void check_deps(const struct check *c)
{
    const bool ended =
        c->meta != NULL && (strcmp(c->meta->status, "ok") == 0 || strcmp(c->meta->status, "differs") == 0);
    struct tl_deps deps = {0};
    struct tl_error err = {0};
    char path[TL_PATHNAME_BYTES];

    if (!expect_file(c, TL_DEPS_NAME, collected(c) > (ended ? 0 : FEW_DEPS_RECORDS)))
        return;
    (void)tl__pathname(path, "%s/%s", c->dir, TL_DEPS_NAME);
    if (tl__deps_read(path, &deps, &err) != 0)
        note_unreadable(c, &err);
    tl__deps_fini(&deps);
}

static void check_pmu(const struct check *c)
{
    struct tl_pmu_meta meta = {0};
    struct tl_pmu pmu = {0};
    struct tl_error err = {0};
    char path[TL_PATHNAME_BYTES];

    if (expect_file(c, TL_PMU_META_NAME, collected(c) != 0)) {
        if (tl__pmu_meta_read(c->dir, &meta, &err) != 0)
            note_unreadable(c, &err);
        tl__pmu_meta_fini(&meta);
    }
    if (!expect_file(c, TL_PMU_NAME, collected(c) != 0))
        return;
    (void)tl__pathname(path, "%s/%s", c->dir, TL_PMU_NAME);
    if (tl__pmu_read(path, &pmu, &err) != 0)
        note_unreadable(c, &err);
    else
        expect_count(c, TL_PMU_NAME, pmu.n_rows);
    tl__pmu_fini(&pmu);
}

/* An artifact that its collector reads again itself. */
static void check_by_spec(const struct check *c, const struct tl_collector_spec *spec)
{
    struct tl_error err = {0};
    char path[TL_PATHNAME_BYTES];
    uint64_t records = 0;

    if (!expect_file(c, spec->files[0], collected(c) != 0))
        return;
    (void)tl__pathname(path, "%s/%s", c->dir, spec->files[0]);
    if (spec->reread(path, &records, &err) != 0)
        note_unreadable(c, &err);
    else
        expect_count(c, spec->files[0], records);
}

static void find_stream(struct check *c, const char *name)
{
    for (uint32_t s = 0; c->meta != NULL && s < c->meta->stream_count; s++)
        if (strcmp(c->meta->streams[s].name, name) == 0)
            c->stream = &c->meta->streams[s];
}

void tl__recover_check(const char *dir, const struct tl_meta *meta, struct tl_recover_result *result)
{
    static const struct {
        unsigned stream;
        void (*check)(const struct check *c);
    } artifacts[] = {{TL_STREAM_DUMP, check_dump},
                     {TL_STREAM_SUBTASKS, check_swimlane},
                     {TL_STREAM_DEPS, check_deps},
                     {TL_STREAM_PMU, check_pmu}};

    for (size_t i = 0; i < COUNT_OF(artifacts); i++) {
        struct check c = {.dir = dir, .meta = meta, .result = result};

        find_stream(&c, tl__collector_at(artifacts[i].stream)->name);
        artifacts[i].check(&c);
    }
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++) {
        const struct tl_collector_spec *spec = tl__collector_at(i);
        struct check c = {.dir = dir, .meta = meta, .result = result};

        if (spec->reread == NULL)
            continue;
        find_stream(&c, spec->name);
        check_by_spec(&c, spec);
    }
}
