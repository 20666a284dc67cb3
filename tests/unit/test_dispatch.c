/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch_program.json and clock.json: what is written is read back, what is wrong is refused by field. */
#include "unit/artifact_fixture.h"

#include "artifact/dispatch_program.h"
#include "artifact/rank_clock.h"

static const struct tl_dispatch full = {.program = "vector_add",
                                        .case_name = "ragged \"1\"",
                                        .program_hash = "xxh3:0123456789abcdef",
                                        .platform = "a5sim",
                                        .runtime = "host_build_graph",
                                        .rank = 3,
                                        .ranks = 4,
                                        .dispatch = 17,
                                        .pid = 4711,
                                        .host = "node7",
                                        .job = "12.0",
                                        .start_unix_ns = UINT64_C(1796030453832314257)};

static void a_dispatch_comes_back(void **state)
{
    struct tl_dispatch d;

    (void)state;
    assert_int_equal(tl__dispatch_write(fixture_dir, &full, NULL), 0);
    assert_int_equal(tl__dispatch_read(fixture_dir, &d, NULL), 0);
    assert_memory_equal(&d, &full, sizeof(d));
    assert_int_equal(tl__dispatch_read("/nowhere", &d, NULL), TL_ENOENT);
}

static void a_foreign_dispatch_names_its_program(void **state)
{
    const char text[] = "{\"program\": \"p\", \"extra\": [1, {\"rank\": 9}]}";
    struct tl_dispatch d;

    (void)state;
    assert_int_equal(tl__dispatch_parse(text, sizeof(text) - 1, "x", &d, NULL), 0);
    assert_string_equal(d.program, "p");
    assert_int_equal(d.ranks, 0);
}

static void refuses_dispatch(const char *text, int code, const char *part)
{
    struct tl_dispatch d;
    struct tl_error err = {0};

    assert_int_equal(tl__dispatch_parse(text, strlen(text), "x.json", &d, &err), code);
    if (strstr(err.msg, part) == NULL)
        fail_msg("no \"%s\" in: %s", part, err.msg);
}

static void wrong_dispatches_are_refused(void **state)
{
    (void)state;
    refuses_dispatch("{}", TL_EPARSE, "program");
    refuses_dispatch("{\"program\": \"\"}", TL_EPARSE, "program");
    refuses_dispatch("{\"program\": 3}", TL_EPARSE, "program");
    refuses_dispatch("{\"program\": \"p\", \"rank\": -1}", TL_EPARSE, "rank");
    refuses_dispatch("{\"program\": \"p\", \"rank\": 4, \"ranks\": 4}", TL_EPARSE, "none of 4 ranks");
    refuses_dispatch("{\"program\": \"p\", \"ranks\": 70000}", TL_EPARSE, "ranks");
    refuses_dispatch("{\"program\": \"p\", \"start_unix_ns\": \"now\"}", TL_EPARSE, "start_unix_ns");
    refuses_dispatch("{\"program\": \"p\", \"version\": 2}", TL_EVERSION, "version");
    refuses_dispatch("{\"program\": \"p\"", TL_EPARSE, "x.json");
}

/* ---- clocks ---- */

static const struct tl_rank_clock measured = {
    .rank = 3,
    .reference_rank = 0,
    .method = TL_CLOCK_PING,
    .offset_ns = -11000001600,
    .error_ns = 4300,
    .reason = "why",
    .host = "node7",
    .boot_id = "a8ea6e67-8d31-413b-acc0-3da5e7552e54",
    .time_ns = "time:[4026531834]",
    .monotonic_ns = UINT64_C(15971705410669),
    .unix_ns = UINT64_C(1796030453787506979),
    .unix_error_ns = 500000,
    .begin = {.at_ns = 1, .offset_ns = -11000001601, .error_ns = 4200, .tries = 64, .answers = 64},
    .end = {.at_ns = 2, .tries = 64, .answers = 0}};

static void a_clock_comes_back(void **state)
{
    struct tl_rank_clock c, unknown = measured;

    (void)state;
    assert_int_equal(tl__rank_clock_write(fixture_dir, &measured, NULL), 0);
    assert_int_equal(tl__rank_clock_read(fixture_dir, &c, NULL), 0);
    assert_memory_equal(&c, &measured, sizeof(c));
    unknown.method = TL_CLOCK_UNKNOWN;
    unknown.offset_ns = 0;
    unknown.error_ns = 0;
    unknown.unix_error_ns = UINT64_MAX;
    unknown.begin = unknown.end = (struct tl_clock_reading){0};
    assert_int_equal(tl__rank_clock_write(fixture_dir, &unknown, NULL), 0);
    assert_int_equal(tl__rank_clock_read(fixture_dir, &c, NULL), 0);
    assert_memory_equal(&c, &unknown, sizeof(c));
    assert_int_equal(tl__rank_clock_read("/nowhere", &c, NULL), TL_ENOENT);
}

static void refuses_clock(const char *text, int code, const char *part)
{
    struct tl_rank_clock c;
    struct tl_error err = {0};

    assert_int_equal(tl__rank_clock_parse(text, strlen(text), "clock.json", &c, &err), code);
    if (strstr(err.msg, part) == NULL)
        fail_msg("no \"%s\" in: %s", part, err.msg);
}

static void wrong_clocks_are_refused(void **state)
{
    (void)state;
    refuses_clock("{\"reference_rank\": 0, \"method\": \"unknown\"}", TL_EPARSE, "'rank'");
    refuses_clock("{\"rank\": 1, \"method\": \"unknown\"}", TL_EPARSE, "reference_rank");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0}", TL_EPARSE, "method");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0, \"method\": \"guess\"}", TL_EPARSE, "method");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0, \"method\": \"ping\"}", TL_EPARSE, "offset_ns");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0, \"method\": \"ping\", \"offset_ns\": 1}", TL_EPARSE,
                  "error_ns");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0, \"method\": \"ping\", \"offset_ns\": 1, \"error_ns\": -1}",
                  TL_EPARSE, "error_ns");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0, \"method\": \"ping\", \"offset_ns\": -9223372036854775807, "
                  "\"error_ns\": 1}",
                  TL_EPARSE, "offset_ns");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0, \"method\": \"unknown\", \"begin\": {\"at_ns\": 1}}", TL_EPARSE,
                  "tries");
    refuses_clock("{\"rank\": 1, \"reference_rank\": 0, \"method\": \"unknown\", \"version\": 9}", TL_EVERSION,
                  "version");
}

static void a_clock_names_its_method(void **state)
{
    (void)state;
    assert_string_equal(tl__clock_method_name(TL_CLOCK_WALL), "wall_clock");
    assert_string_equal(tl__clock_method_name(99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dispatch_comes_back),        cmocka_unit_test(a_foreign_dispatch_names_its_program),
        cmocka_unit_test(wrong_dispatches_are_refused), cmocka_unit_test(a_clock_comes_back),
        cmocka_unit_test(wrong_clocks_are_refused),     cmocka_unit_test(a_clock_names_its_method),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
