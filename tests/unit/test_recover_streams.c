/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal of every stream: what `tasklens recover` makes of it is what the export of the same run makes, each lane of
 * a stream as the role that it was; and of a run that was killed, what had reached the journal.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "artifact/journal_format.h"
#include "artifact/scope_stats.h"
#include "artifact/swimlane.h"
#include "artifact/traffic.h"
#include "base/hash.h"
#include "base/log.h"
#include "wire/dump_record.h"
#include "support/stream_records.h"

static void copy_journal(const char *from, const char *to)
{
    char command[900];

    (void)snprintf(command, sizeof(command), "cp '%s/%s' '%s/'", from, TL_JOURNAL_NAME, to);
    assert_int_equal(system(command), 0);
}

/* Records a run, copies its journal before the export takes it away, exports. */
static void record(const char *dir, const char *killed, bool ends)
{
    struct tl_run_config c = stream_config(dir);
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    struct fake_world w;

    fake_world_init(&w, FAKE_MAPPED, 2, MEMORY);
    stream_push_all(&w, stream_begin(&w, &c), ends);
    if (ends)
        assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
    else
        assert_int_equal(tl__engine_reconcile(w.engine, 1, &err), 0);
    copy_journal(dir, killed);
    (void)tl__engine_export(w.engine, 1, NULL, &result, &err);
    fake_world_fini(&w);
}

static void read_swimlane(const char *dir, struct tl_swimlane *s)
{
    struct tl_error err = {0};
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_SWIMLANE_NAME);
    if (tl__swimlane_read(path, s, &err) != 0)
        fail_msg("%s", err.msg);
}

/* Bytes of a row up to its last member: what follows is padding, which holds anything. */
#define NAMED(type, last) (offsetof(type, last) + sizeof(((type *)NULL)->last))

static bool same_core(const struct tl_swim_core *a, const struct tl_swim_core *b)
{
    return memcmp(a, b, NAMED(struct tl_swim_core, run_epoch)) == 0;
}

/* All but the clocks, which the journal does not have. */
static void same_swimlane(const char *one, const char *two)
{
    struct tl_swimlane a, b;

    read_swimlane(one, &a);
    read_swimlane(two, &b);
    assert_int_equal(a.level, b.level);
    assert_int_equal(a.num_cores, b.num_cores);
    assert_int_equal(a.clock_freq_hz, b.clock_freq_hz);
    assert_true(a.n_cores > 0 && a.n_phases > 0 && a.n_orchs > 0);
    assert_int_equal(a.n_cores, b.n_cores);
    assert_int_equal(a.n_aicpus, b.n_aicpus);
    assert_int_equal(a.n_phases, b.n_phases);
    assert_int_equal(a.n_orchs, b.n_orchs);
    assert_memory_equal(a.core_types, b.core_types, a.num_cores);
    assert_memory_equal(a.core_to_thread, b.core_to_thread, a.num_cores * sizeof(*a.core_to_thread));
    for (uint64_t i = 0; i < a.n_cores; i++)
        assert_true(same_core(&a.cores[i], &b.cores[i]));
    for (uint64_t i = 0; i < a.n_aicpus; i++)
        assert_memory_equal(&a.aicpus[i], &b.aicpus[i], NAMED(struct tl_swim_aicpu, run_epoch));
    for (uint64_t i = 0; i < a.n_phases; i++)
        assert_memory_equal(&a.phases[i], &b.phases[i], NAMED(struct tl_swim_phase, other));
    for (uint64_t i = 0; i < a.n_orchs; i++)
        assert_memory_equal(&a.orchs[i], &b.orchs[i], NAMED(struct tl_swim_orch, run_epoch));
    tl__swimlane_fini(&a);
    tl__swimlane_fini(&b);
}

static void same_file(const char *one, const char *two, const char *name)
{
    char command[1200];

    (void)snprintf(command, sizeof(command), "cmp '%s/%s' '%s/%s'", one, name, two, name);
    if (system(command) != 0)
        fail_msg("%s differs", name);
}

/* All but that one run was killed. */
static void same_traffic(const char *one, const char *two)
{
    struct tl_traffic a, b;
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/%s", one, TL_TRAFFIC_NAME);
    assert_int_equal(tl__traffic_file_read(path, &a, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", two, TL_TRAFFIC_NAME);
    assert_int_equal(tl__traffic_file_read(path, &b, NULL), 0);
    assert_true(!a.fatal && b.fatal && a.tasks.count > 0 && a.args.count == 2 * a.tasks.count);
    assert_int_equal(a.tasks.count, b.tasks.count);
    assert_int_equal(a.args.count, b.args.count);
    assert_memory_equal(a.tasks.items, b.tasks.items, a.tasks.count * sizeof(a.tasks.items[0]));
    for (size_t i = 0; i < a.args.count; i++)
        assert_true(a.args.items[i].buffer == b.args.items[i].buffer && a.args.items[i].bytes == b.args.items[i].bytes);
    tl__traffic_fini(&a);
    tl__traffic_fini(&b);
}

static void every_artifact_is_rebuilt(void **state)
{
    const char *whole = fresh_dir(), *killed = fresh_dir();
    struct tl_recover_result result;
    struct tl_error err = {0};
    static struct tl_meta meta;
    uint64_t records = 0;

    (void)state;
    record(whole, killed, true);
    if (tl__engine_recover(killed, NULL, &result, &err) != 0)
        fail_msg("%s", err.msg);
    same_swimlane(whole, killed);
    same_file(whole, killed, TL_DEPS_NAME);
    same_traffic(whole, killed);
    assert_true(fake_exists(killed, TL_SCOPE_DIR_NAME "/" TL_SCOPE_NAME));
    assert_true(fake_exists(killed, "args_dump/args_dump.json"));
    assert_false(fake_exists(killed, TL_JOURNAL_NAME));
    assert_int_equal(tl__meta_read(killed, &meta, NULL), 0);
    assert_string_equal(meta.status, "recovered");
    assert_int_equal(meta.stream_count, STREAM_ROWS);
    for (size_t i = 0; i < STREAM_ROWS; i++) {
        assert_int_equal(meta.streams[i].collected, STREAM_RECORDS * stream_roles(&stream_rows[i]));
        assert_int_equal(meta.streams[i].attempted, meta.streams[i].collected);
        records += meta.streams[i].collected;
    }
    assert_int_equal(result.records, records);
    assert_int_equal(tl__engine_recover(killed, NULL, &result, &err), 0); /* again: nothing is left to do */
    assert_true(result.complete);
}

/* Lanes without end marks: their full buffers, and what the last ones held. */
static void a_run_that_was_killed(void **state)
{
    const char *whole = fresh_dir(), *killed = fresh_dir();
    struct tl_recover_result result;
    struct tl_error err = {0};

    (void)state;
    record(whole, killed, false);
    if (tl__engine_recover(killed, NULL, &result, &err) != 0)
        fail_msg("%s", err.msg);
    same_swimlane(whole, killed);
    same_file(whole, killed, TL_DEPS_NAME);
}

/* A graph that was cut is one up to there. */
static void a_journal_that_was_cut(void **state)
{
    const char *whole = fresh_dir(), *killed = fresh_dir();
    struct tl_recover_result result;
    struct tl_error err = {0};
    struct tl_swimlane all, some;
    char path[400];
    struct stat st;

    (void)state;
    record(whole, killed, true);
    (void)snprintf(path, sizeof(path), "%s/%s", killed, TL_JOURNAL_NAME);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size / 8), 0);
    if (tl__engine_recover(killed, NULL, &result, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(result.torn_bytes > 0 || result.buffers > 0);
    read_swimlane(whole, &all);
    read_swimlane(killed, &some);
    assert_true(some.n_cores + some.n_phases + some.n_orchs < all.n_cores + all.n_phases + all.n_orchs);
    for (uint64_t i = 0, k = 0; i < some.n_cores; i++, k++) { /* each of them is one of the whole's */
        while (k < all.n_cores && !same_core(&all.cores[k], &some.cores[i]))
            k++;
        assert_true(k < all.n_cores);
    }
    for (uint64_t i = 0; i < some.n_phases; i++)
        assert_int_equal(some.phases[i].tasks_processed, some.phases[i].thread + 1); /* by role */
    tl__swimlane_fini(&all);
    tl__swimlane_fini(&some);
}

/* The run as version 1 described it. */
static struct tl_journal_run_2 old_run(const struct tl_journal_run *run)
{
    struct tl_journal_run_2 old = {.start_unix_ns = run->start_unix_ns,
                                   .clock_freq_hz = run->clock_freq_hz,
                                   .arena_bytes = run->arena_bytes,
                                   .epoch = run->epoch,
                                   .dump_level = (uint8_t)run->levels[TL_COLLECT_DUMP],
                                   .swimlane_level = (uint8_t)run->levels[TL_COLLECT_SWIMLANE],
                                   .pmu_event = (uint8_t)run->levels[TL_COLLECT_PMU],
                                   .dep_gen = (uint8_t)run->levels[TL_COLLECT_DEPS],
                                   .scope_stats = (uint8_t)run->levels[TL_COLLECT_SCOPE],
                                   .dump_hash = (run->flags & TL_JOURNAL_HASHES) != 0,
                                   .dump_chunk = (run->flags & TL_JOURNAL_PIECES) != 0,
                                   .stream_count = (uint8_t)run->stream_count,
                                   .records_per_buffer = run->records_per_buffer,
                                   .lane_count = run->lane_count,
                                   .format = run->format,
                                   .facts = run->facts};

    memcpy(old.program, run->program, sizeof(old.program));
    memcpy(old.case_name, run->case_name, sizeof(old.case_name));
    memcpy(old.platform, run->platform, sizeof(old.platform));
    memcpy(old.runtime, run->runtime, sizeof(old.runtime));
    memcpy(old.streams, run->streams, sizeof(old.streams));
    return old;
}

/* A journal as version 1 wrote it: no block says that the run has begun. */
static void a_journal_of_version_1(void **state)
{
    const char *whole = fresh_dir(), *killed = fresh_dir();
    const size_t begun = sizeof(struct tl_journal_block_header) + sizeof(struct tl_journal_run);
    struct tl_recover_result result;
    struct tl_error err = {0};
    const size_t front = offsetof(struct tl_journal_header, run);
    struct tl_journal_header header;
    struct tl_journal_run_2 old;
    char path[400];
    struct stat st;
    char *bytes;
    size_t blocks;
    int fd;

    (void)state;
    record(whole, killed, true);
    (void)snprintf(path, sizeof(path), "%s/%s", killed, TL_JOURNAL_NAME);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    bytes = malloc((size_t)st.st_size);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
    memcpy(&header, bytes, sizeof(header));
    old = old_run(&header.run);
    header.version = header.min_reader_version = 1;
    header.header_bytes = (uint32_t)(front + sizeof(old));
    header.checksum = tl__hash64(&old, sizeof(old));
    blocks = (size_t)st.st_size - sizeof(header) - begun;
    assert_int_equal(pwrite(fd, &header, front, 0), front);
    assert_int_equal(pwrite(fd, &old, sizeof(old), (off_t)front), sizeof(old));
    assert_int_equal(pwrite(fd, bytes + sizeof(header) + begun, blocks, (off_t)(front + sizeof(old))), blocks);
    assert_int_equal(ftruncate(fd, (off_t)(front + sizeof(old) + blocks)), 0);
    (void)close(fd);
    free(bytes);
    if (tl__engine_recover(killed, NULL, &result, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(result.damaged_bytes, 0);
    assert_false(result.kept);
    same_swimlane(whole, killed);
    same_file(whole, killed, TL_DEPS_NAME);
}

/* Copies the journal of `from` to `to`, with one record of the dump that no manifest can hold. */
static void copy_with_an_impossible_record(const char *from, const char *to)
{
    struct tl_journal_reader *reader;
    struct tl_journal_writer *writer;
    struct tl_journal_block block;
    bool done = false;
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/%s", from, TL_JOURNAL_NAME);
    assert_int_equal(tl__journal_open(path, &reader, NULL), 0);
    assert_int_equal(tl__journal_create(to, tl__journal_run(reader), &writer, NULL), 0);
    assert_int_equal(tl__journal_begun(writer), 0);
    while (tl__journal_next(reader, &block) == 1) {
        size_t bytes = (size_t)block.count * tl__journal_run(reader)->streams[block.stream].record_bytes;
        struct tl_wire_dump_record *copy = malloc(bytes + 1);

        assert_non_null(copy);
        if (bytes != 0)
            memcpy(copy, block.records, bytes);
        if (!done && block.stream == TL_STREAM_DUMP && block.count > 2) {
            copy[1].kind = TL_WIRE_SCALAR; /* each is possible, and both together are not */
            copy[1].stage = TL_WIRE_AFTER_COMPLETION;
            copy[1].flags &= (uint16_t)~TL_DUMP_PIECE;
            done = true;
        }
        block.records = bytes != 0 ? copy : NULL;
        assert_int_equal(tl__journal_append(writer, &block), 0);
        free(copy);
    }
    assert_true(done);
    tl__journal_close(writer, false);
    tl__journal_reader_close(reader);
}

/* It is counted, and all the others are recovered. */
static void a_record_that_no_manifest_holds(void **state)
{
    const char *whole = fresh_dir(), *killed = fresh_dir(), *bad = fresh_dir();
    static struct tl_meta good, meta;
    struct tl_recover_result result;
    struct tl_error err = {0};

    (void)state;
    record(whole, killed, true);
    copy_with_an_impossible_record(killed, bad);
    assert_int_equal(tl__engine_recover(killed, NULL, &result, &err), 0);
    for (int i = 0; i < 2; i++) {
        if (tl__engine_recover(bad, NULL, &result, &err) != 0)
            fail_msg("%s", err.msg);
        assert_int_equal(result.records_corrupt, 1);
        assert_true(result.kept);
        assert_false(result.complete);
        assert_true(fake_exists(bad, TL_JOURNAL_DAMAGED_NAME));
        assert_false(fake_exists(bad, TL_JOURNAL_NAME));
        same_file(killed, bad, TL_DEPS_NAME);
        assert_int_equal(tl__meta_read(killed, &good, NULL), 0);
        assert_int_equal(tl__meta_read(bad, &meta, NULL), 0);
        assert_int_equal(meta.streams[0].collected, good.streams[0].collected - 1);
        assert_int_equal(meta.streams[0].attempted, good.streams[0].attempted);
        assert_string_equal(meta.streams[0].losses[0].cause, "corrupt");
        assert_int_equal(meta.streams[0].losses[0].count, 1);
    }
}

/* What a run that was killed was just writing goes, and with it only what the names of artifacts begin. */
static void temporary_files_of_a_killed_run_are_removed(void **state)
{
    static const char *const ours[] = {"deps.json.0123abcd.tmp",
                                       "args_dump/args_dump.json.0123abcd.tmp",
                                       "scope_stats/scope_stats.jsonl.0123abcd.tmp",
                                       "program/x.so.0123abcd.tmp",
                                       "name_map_1.json.0123abcd.tmp",
                                       "dfx_meta.json.0123abcd.tmp"};
    static const char *const others[] = {
        "notes.json.0123abcd.tmp",     "deps.json.tmp", "deps.json.0123abcde.tmp",
        "deps.json.0123abcd.tmp.json", ".0123abcd.tmp", "args_dump/deps.json.0123abcd.tmp",
        "args_dump_json.0123abcd.tmp"};
    const char *whole = fresh_dir(), *killed = fresh_dir();
    const size_t n_ours = sizeof(ours) / sizeof(ours[0]), n_others = sizeof(others) / sizeof(others[0]);
    struct tl_recover_result result;
    struct tl_error err = {0};
    char command[600];

    (void)state;
    record(whole, killed, true);
    (void)snprintf(command, sizeof(command), "cd '%s' && mkdir -p args_dump scope_stats program", killed);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < n_ours + n_others; i++) {
        (void)snprintf(command, sizeof(command), "echo >'%s/%s'", killed, i < n_ours ? ours[i] : others[i - n_ours]);
        assert_int_equal(system(command), 0);
    }
    if (tl__engine_recover(killed, NULL, &result, &err) != 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < n_ours + n_others; i++) {
        const char *name = i < n_ours ? ours[i] : others[i - n_ours];

        if (fake_exists(killed, name) != (i >= n_ours))
            fail_msg("%s is %s", name, i < n_ours ? "left" : "gone");
    }
    assert_false(fake_exists(killed, "program")); /* nothing else was in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_artifact_is_rebuilt),
        cmocka_unit_test(a_run_that_was_killed),
        cmocka_unit_test(a_journal_that_was_cut),
        cmocka_unit_test(a_journal_of_version_1),
        cmocka_unit_test(a_record_that_no_manifest_holds),
        cmocka_unit_test(temporary_files_of_a_killed_run_are_removed),
    };

    return fake_main("recover_streams", tests, sizeof(tests) / sizeof(tests[0]));
}
