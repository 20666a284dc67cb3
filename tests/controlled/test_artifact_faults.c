/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation, write and sync of the artifact writers and readers fails once: the error comes back as what it is,
 * nothing leaks, and a file is either the old one or the new one. */
#include "unit/artifact_fixture.h"

#include "artifact/args_dump.h"
#include "artifact/dfx_meta.h"
#include "artifact/journal.h"
#include "artifact/npy.h"
#include "controlled/fail_each.h"

#define RECORDS 50

static int write_dump(void)
{
    struct tl_dump_record r[RECORDS];
    struct tl_dump_summary s = {.level = 2, .bin_file = "args.bin"};
    struct tl_error err;
    int code;

    for (unsigned i = 0; i < RECORDS; i++) {
        tl__dump_record_init(&r[i]);
        r[i].task_id = RECORDS - i; /* so that sorting has to allocate */
        r[i].dtype = TL_INT8;
    }
    code = tl__dump_sort(r, RECORDS);
    return code != 0 ? code : tl__dump_write_manifest(fixture_dir, &s, r, RECORDS, &err);
}

static int read_dump(void)
{
    struct tl_recording *rec = NULL;
    struct tl_error err;
    int code = tl_recording_open(fixture_dir, &rec, &err);

    if (code == 0)
        tl__controlled_check(tl_recording_count(rec) == RECORDS);
    tl_recording_close(rec);
    return code;
}

/* Parses what is in memory, by the general way, in which the list of records grows. */
static int parse_dump(void)
{
    static const char text[] =
        "{\"bin_format\": {\"type\": \"logical_contiguous\", \"byte_order\": \"little_endian\"}, \"bin_file\": null, "
        "\"tensors\": [{\"task_id\": 1, \"role\": \"input\", \"stage\": \"before_dispatch\", \"arg_index\": 0, "
        "\"dtype\": \"INT8\", \"shape\": [], \"bin_offset\": 0, \"bin_size\": 0}]}";
    struct tl_dump_reader *reader = NULL;
    struct tl_error err;
    int code = tl__dump_parse(text, sizeof(text) - 1, "memory", &reader, &err);

    tl__dump_close(reader);
    return code;
}

static int write_journal(void)
{
    struct tl_journal_run run = {.stream_count = 1, .streams = {{"args_dump", 8, 1}}};
    struct tl_journal_block block = {.kind = TL_JOURNAL_RECORDS, .count = 2, .records = "0123456789abcdef"};
    struct tl_journal_writer *w = NULL;
    struct tl_error err;
    int code = tl__journal_create(fixture_dir, &run, &w, &err);

    for (block.seq = 0; code == 0 && block.seq < 3; block.seq++)
        code = tl__journal_append(w, &block);
    tl__journal_close(w, code == 0);
    return code;
}

/* The blocks that are in the journal; the file is then removed. */
static int read_journal(void)
{
    struct tl_journal_reader *r = NULL;
    struct tl_journal_block block;
    struct tl_error err;
    int code = tl__journal_open(fixture_path(TL_JOURNAL_NAME), &r, &err), n;

    if (code != 0)
        return code;
    while ((n = tl__journal_next(r, &block)) == 1)
        code++;
    tl__controlled_check(n == 0 ? !tl__journal_report(r)->torn && !tl__journal_report(r)->corrupt : n == TL_ENOMEM);
    tl__journal_reader_close(r);
    return n < 0 ? n : code;
}

static int write_npy(void)
{
    struct tl_npy npy = {.type = TL_NPY_F4, .rank = 1, .shape = {4}, .bytes = 16, .data = (char[16]){0}};
    struct tl_error err;

    return tl__npy_write(fixture_path("a.npy"), &npy, &err);
}

static int read_npy(void)
{
    struct tl_npy npy;
    struct tl_error err;
    int code = tl__npy_read(fixture_path("a.npy"), &npy, &err);

    if (code == 0)
        tl__npy_free(&npy);
    return code;
}

static int write_meta(void)
{
    static const struct tl_meta meta = {.program = "p", .stream_count = 1};
    struct tl_error err;

    return tl__meta_write(fixture_dir, &meta, &err);
}

static int read_meta(void)
{
    struct tl_meta meta;
    struct tl_error err;

    return tl__meta_read(fixture_dir, &meta, &err);
}

static void a_writer_that_fails_leaves_the_older_file(void **state)
{
    static const struct {
        int (*write)(void), (*read)(void);
        const char *target;
    } files[] = {
        {write_dump, read_dump, TL_DUMP_MANIFEST_NAME},
        {write_npy, read_npy, "a.npy"},
        {write_meta, read_meta, TL_META_NAME},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(fail_each(files[i].write, "alloc", TL_ENOMEM, files[i].target), i == 0 ? 2 : i == 1 ? 0 : 1);
        assert_true(fail_each(files[i].write, "write_eio", TL_EIO, files[i].target) >= 1);
        assert_int_equal(fail_each(files[i].write, "disk_full", TL_ENOSPC, files[i].target),
                         fail_each(files[i].write, "write_eio", TL_EIO, files[i].target));
        (void)fail_each(files[i].write, "short_write", 0, NULL);
        assert_true(fail_each(files[i].read, "alloc", TL_ENOMEM, NULL) >= 1);
    }
    assert_true(fail_each(parse_dump, "alloc", TL_ENOMEM, NULL) >= 3);
}

/* The sync of the file's bytes counts; that of the directory is the file system's best effort. */
static void a_failed_sync_is_a_failed_write(void **state)
{
    bool fired = false;
    char *text;

    (void)state;
    fixture_write_text(TL_DUMP_MANIFEST_NAME, "old");
    assert_int_equal(call_with(write_dump, "sync_eio", 1, &fired), TL_EIO);
    assert_true(fired);
    text = fixture_read(TL_DUMP_MANIFEST_NAME, NULL);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(call_with(write_dump, "sync_eio", 2, &fired), 0);
    assert_true(fired);
}

/* Whatever append fails, the blocks before it can be read, and the file ends with them. */
static void a_journal_keeps_what_it_has(void **state)
{
    static const char *const faults[] = {"write_eio", "disk_full", "alloc"};
    static const int codes[] = {TL_EIO, TL_ENOSPC, TL_ENOMEM};
    unsigned failed = 0;

    (void)state;
    for (unsigned f = 0; f < 3; f++) {
        for (unsigned n = 1;; n++) {
            bool fired;
            int code = call_with(write_journal, faults[f], n, &fired);

            assert_int_equal(code, fired ? codes[f] : 0);
            if (!fired)
                break;
            failed++;
            if (access(fixture_path(TL_JOURNAL_NAME), F_OK) != 0)
                continue; /* it failed at its very beginning, and is gone */
            /* A write that fails is the header's or one block's. */
            code = call_with(read_journal, "none", 1, &fired);
            assert_int_equal(code, f == 2 ? 0 : (int)n - 2);
            assert_int_equal(unlink(fixture_path(TL_JOURNAL_NAME)), 0);
        }
    }
    assert_int_equal(failed, 4 + 4 + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_writer_that_fails_leaves_the_older_file, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_failed_sync_is_a_failed_write, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_journal_keeps_what_it_has, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
