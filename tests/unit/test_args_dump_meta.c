/* SPDX-License-Identifier: Apache-2.0 */
/* dfx_meta.json: all of it comes back, and what is wrong with one is named. */
#include "unit/artifact_fixture.h"

#include "artifact/dfx_meta.h"

static struct tl_meta full(void)
{
    struct tl_meta m;

    memset(&m, 0, sizeof(m)); /* padding too: compared as bytes */
    (void)snprintf(m.program, sizeof(m.program), "vector \"add\"");
    (void)snprintf(m.case_name, sizeof(m.case_name), "small");
    (void)snprintf(m.platform, sizeof(m.platform), "a5sim");
    (void)snprintf(m.runtime, sizeof(m.runtime), "host_build_graph");
    (void)snprintf(m.program_hash, sizeof(m.program_hash), "xxh3:0123456789abcdef");
    (void)snprintf(m.status, sizeof(m.status), "TL_EHANG");
    m.level = 3;
    m.epoch = UINT32_MAX;
    m.start_unix_ns = UINT64_MAX;
    m.wall_ns = (1ull << 53) + 1;
    m.parked_ns = 5;
    m.clock_freq_hz = 50000000;
    m.clock_start_cycles = 6;
    m.clock_start_ns = 7;
    m.tasks = 8;
    m.stream_count = TL_META_MAX_STREAMS;
    m.truncated_listed = TL_META_MAX_TRUNCATED;
    m.truncated_total = 99;
    for (unsigned s = 0; s < TL_META_MAX_STREAMS; s++) {
        (void)snprintf(m.streams[s].name, sizeof(m.streams[s].name), "stream%u", s);
        m.streams[s].attempted = 100 + s;
        m.streams[s].collected = 90 + s;
        m.streams[s].payload_bytes = 1ull << 40;
        m.streams[s].payloads_lost = s;
        m.streams[s].record_ns = s * 0.1;
        for (unsigned i = 0; i < s && i < TL_META_MAX_LOSSES; i++) {
            (void)snprintf(m.streams[s].losses[i].cause, sizeof(m.streams[s].losses[i].cause), "cause%u", i);
            m.streams[s].losses[i].count = i + 1;
        }
    }
    for (unsigned i = 0; i < TL_META_MAX_TRUNCATED; i++)
        m.truncated[i] = (struct tl_meta_tensor){UINT64_MAX - i, i, 0, 1000 + i, 500 + i};
    return m;
}

static void all_of_it_comes_back(void **state)
{
    struct tl_meta out = full(), in;
    struct tl_error err = {0};
    char *text;

    (void)state;
    memset(&in, 0xff, sizeof(in));
    assert_int_equal(tl__meta_write(fixture_dir, &out, &err), 0);
    assert_int_equal(tl__meta_read(fixture_dir, &in, &err), 0);
    assert_memory_equal(&in, &out, sizeof(in));
    text = fixture_read(TL_META_NAME, NULL);
    assert_non_null(strstr(text, "\n  \"version\": 1,\n  \"program\": \"vector \\\"add\\\"\",\n"));
    assert_non_null(strstr(text,
                           "    {\"name\": \"stream2\", \"attempted\": 102, \"collected\": 92, \"payload_bytes\": "
                           "1099511627776, \"payloads_lost\": 2, \"record_ns\": 0.2, \"dropped\": {\"cause0\": 1, "
                           "\"cause1\": 2}, \"dropped_total\": 3},\n"));
    assert_non_null(strstr(text, "{\"task_id\": \"0xffffffffffffffff\", \"arg_index\": 0, \"bytes\": 1000, "
                                 "\"kept_bytes\": 500}"));
    free(text);
    memset(&out, 0, sizeof(out));
    assert_int_equal(tl__meta_write(fixture_dir, &out, &err), 0);
    assert_int_equal(tl__meta_read(fixture_dir, &in, &err), 0);
    assert_memory_equal(&in, &out, sizeof(in));
}

#define NESTED "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } bad[] = {
        {"", "the file is empty", TL_EPARSE},
        {"{\"version\": 1", "the file is cut", TL_EPARSE},
        {"[]", "expected an object", TL_EPARSE},
        {"{}", "field 'version': missing", TL_EPARSE},
        {"{\"version\": \"1\"}", "field 'version': expected an integer", TL_EPARSE},
        {"{\"version\": 2}", "version 2 is newer", TL_EVERSION},
        {"{\"version\": 1, \"program\": 3}", "field 'program': expected a string", TL_EPARSE},
        {"{\"version\": 1, \"tasks\": -3}", "field 'tasks': expected an integer", TL_EPARSE},
        {"{\"version\": 1, \"epoch\": 4294967296}", "field 'epoch': expected an integer", TL_EPARSE},
        {"{\"version\": 1, \"streams\": {}}", "field 'streams': expected an array", TL_EPARSE},
        {"{\"version\": 1, \"streams\": [1]}", "field 'streams': expected an array of objects", TL_EPARSE},
        {"{\"version\": 1, \"streams\": [{\"collected\": null}]}", "field 'streams.collected'", TL_EPARSE},
        {"{\"version\": 1, \"streams\": [{\"record_ns\": \"x\"}]}", "field 'streams.record_ns': expected a number",
         TL_EPARSE},
        {"{\"version\": 1, \"streams\": [{\"dropped\": 3}]}", "field 'streams.dropped': expected an object", TL_EPARSE},
        {"{\"version\": 1, \"streams\": [{\"dropped\": {\"disk\": 1.5}}]}", "field 'streams.dropped.disk'", TL_EPARSE},
        {"{\"version\": 1, \"truncated\": [{\"task_id\": \"7\"}]}", "field 'truncated.task_id'", TL_EPARSE},
        {"{\"version\": 1, \"truncated\": [{\"task_id\": \"0x123456789abcdef01\"}]}", "field 'truncated.task_id'",
         TL_EPARSE},
        {"{\"version\": 1, \"truncated\": [{\"task_id\": \"0xg\"}]}", "field 'truncated.task_id'", TL_EPARSE},
        {NESTED, "more than 64 levels", TL_EPARSE},
    };
    struct tl_meta meta;
    struct tl_error err = {0};

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fixture_write_text(TL_META_NAME, bad[i].text);
        assert_int_equal(tl__meta_read(fixture_dir, &meta, &err), bad[i].code);
        if (strstr(err.msg, bad[i].says) == NULL || strstr(err.msg, TL_META_NAME) == NULL)
            fail_msg("case %u: '%s' lacks '%s'", i, err.msg, bad[i].says);
        assert_null(strchr(err.msg, '\n'));
    }
    assert_int_equal(tl__meta_read("/nonexistent", &meta, &err), TL_ENOENT);
    assert_int_equal(unlink(fixture_path(TL_META_NAME)), 0);
    assert_int_equal(mkdir(fixture_path(TL_META_NAME), 0777), 0);
    assert_int_equal(tl__meta_read(fixture_dir, &meta, &err), TL_EIO);
}

static void newer_fields_are_passed_over(void **state)
{
    struct tl_meta meta;
    struct tl_error err = {0};

    (void)state;
    fixture_write_text(TL_META_NAME,
                       "{\"new\": [{\"a\": \"[[[\\\"\"}], \"version\": 1, \"tasks\": 18446744073709551615, "
                       "\"streams\": [{\"name\": \"a name that is longer than its field has room for\"}]}");
    assert_int_equal(tl__meta_read(fixture_dir, &meta, &err), 0);
    assert_true(meta.tasks == UINT64_MAX);
    assert_int_equal(meta.stream_count, 1);
    assert_string_equal(meta.streams[0].name, "a name that is longer t");
}

static void what_does_not_fit_is_not_written(void **state)
{
    struct tl_meta meta = full();
    struct tl_error err = {0};

    (void)state;
    meta.stream_count = TL_META_MAX_STREAMS + 1;
    assert_int_equal(tl__meta_write(fixture_dir, &meta, &err), TL_EINVAL);
    meta = full();
    meta.truncated_listed = TL_META_MAX_TRUNCATED + 1;
    assert_int_equal(tl__meta_write(fixture_dir, &meta, &err), TL_EINVAL);
    meta = full();
    memset(meta.streams[0].losses[0].cause, 'x', sizeof(meta.streams[0].losses[0].cause));
    assert_int_equal(tl__meta_write(fixture_dir, &meta, &err), TL_EINVAL);
    assert_int_equal(access(fixture_path(TL_META_NAME), F_OK), -1);
    meta = full();
    assert_int_equal(tl__meta_write("/nonexistent", &meta, &err), TL_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_of_it_comes_back, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_named, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(newer_fields_are_passed_over, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_not_written, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
