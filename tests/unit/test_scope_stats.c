/* SPDX-License-Identifier: Apache-2.0 */
/* scope_stats.jsonl: what is written is read back, what others write is accepted, and bad input is named by line and
 * field. */
#include "unit/artifact_fixture.h"

#include <inttypes.h>

#include "artifact/scope_stats.h"
#include "base/env.h"

#define HEAD                                                                                                           \
    "{\"version\": 6, \"fatal\": false, \"dropped\": 0, \"total\": 2, \"task_window_max\": [16, 8], "                  \
    "\"heap_max\": [4096, 2048], \"dep_pool_max\": [64, 32], \"tensormap_max\": 100}\n"
#define BEGIN                                                                                                          \
    "{\"site\": \"a.c:7\", \"phase\": \"begin\", \"depth\": 1, \"ring\": 1, \"task_window_start\": 2, "                \
    "\"task_window_end\": 3, \"heap_start\": 1024, \"heap_end\": 3072, \"dep_pool_start\": 4, \"dep_pool_end\": 9, "   \
    "\"tensormap\": 5}\n"
#define END                                                                                                            \
    "{\"site\": \"a.c:7\", \"phase\": \"end\", \"depth\": 1, \"ring\": 1, \"task_window_start\": 2, "                  \
    "\"task_window_end\": 18446744073709551615, \"heap_start\": 1024, \"heap_end\": 3072, \"dep_pool_start\": 4, "     \
    "\"dep_pool_end\": 9, \"tensormap\": 6}\n"

static struct tl_scope_stats parse(const char *text)
{
    struct tl_scope_stats s;
    struct tl_error err = {0};

    if (tl__scope_stats_parse(text, strlen(text), "s.jsonl", &s, &err) != 0)
        fail_msg("%s", err.msg);
    return s;
}

/* Refused with exactly this line. */
static void refused(const char *text, int code, const char *message, long line)
{
    struct tl_scope_stats s;
    struct tl_error err = {0};

    assert_int_equal(tl__scope_stats_parse(text, strlen(text), "s.jsonl", &s, &err), code);
    assert_int_equal(err.code, code);
    assert_int_equal(err.offset, line);
    if (strstr(err.msg, message) == NULL)
        fail_msg("no \"%s\" in: %s", message, err.msg);
}

/* The example with its first `from` replaced. */
static void refused_with(const char *from, const char *to, int code, const char *message, long line)
{
    const char *text = HEAD BEGIN END, *at = strstr(text, from);
    char made[4096];

    assert_non_null(at);
    (void)snprintf(made, sizeof(made), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    refused(made, code, message, line);
}

static void the_example_of_the_format(void **state)
{
    struct tl_scope_stats s = parse(HEAD BEGIN END);

    (void)state;
    assert_int_equal(s.version, 6);
    assert_false(s.fatal);
    assert_int_equal(s.total, 2);
    assert_int_equal(s.n_rings, 2);
    assert_int_equal(s.size[TL_RING_TASKS][1], 8);
    assert_int_equal(s.size[TL_RING_HEAP][0], 4096);
    assert_int_equal(s.size[TL_RING_DEPS][1], 32);
    assert_int_equal(s.tensormap_max, 100);
    assert_int_equal(s.boundaries.count, 2);
    assert_false(s.boundaries.items[0].ends);
    assert_true(s.boundaries.items[1].ends);
    assert_int_equal(s.boundaries.items[0].depth, 1);
    assert_int_equal(s.boundaries.items[0].ring, 1);
    assert_int_equal(s.boundaries.items[0].span[TL_RING_TASKS].tail, 2);
    assert_int_equal(s.boundaries.items[0].span[TL_RING_TASKS].head, 3);
    assert_int_equal(s.boundaries.items[0].span[TL_RING_HEAP].tail, 1024);
    assert_int_equal(s.boundaries.items[0].span[TL_RING_HEAP].head, 3072);
    assert_int_equal(s.boundaries.items[0].span[TL_RING_DEPS].tail, 4);
    assert_int_equal(s.boundaries.items[0].span[TL_RING_DEPS].head, 9);
    assert_true(s.boundaries.items[1].span[TL_RING_TASKS].head == UINT64_MAX);
    assert_int_equal(s.boundaries.items[1].tensormap, 6);
    assert_int_equal(s.n_sites, 1);
    assert_int_equal(s.boundaries.items[1].site, 0);
    assert_string_equal(s.sites[0], "a.c:7");
    tl__scope_stats_fini(&s);
}

/* What an equal reader of another kind would also take. */
static void what_others_may_write(void **state)
{
    struct tl_scope_stats s =
        parse("{\"tensormap_max\": 1, \"new\": {\"x\": [1]}, \"dep_pool_max\": [], \"heap_max\": [], "
              "\"task_window_max\": [], \"total\": 0, \"dropped\": 3, \"fatal\": true, "
              "\"version\": 5}");

    (void)state;
    assert_int_equal(s.version, 5);
    assert_true(s.fatal);
    assert_int_equal(s.dropped, 3);
    assert_int_equal(s.n_rings, 0);
    tl__scope_stats_fini(&s);
    s = parse(HEAD "\r\n  \n" BEGIN "\n");
    assert_int_equal(s.boundaries.count, 1);
    tl__scope_stats_fini(&s);
}

static void bad_input_is_named(void **state)
{
    (void)state;
    refused("", TL_EPARSE, "s.jsonl: empty", 0);
    refused("\n \n", TL_EPARSE, "s.jsonl: empty", 2);
    refused("[1]", TL_EPARSE, "s.jsonl, line 1", 1);
    refused_with("\"version\": 6, ", "", TL_EPARSE, "s.jsonl, line 1: field 'version': missing", 1);
    refused_with("\"version\": 6", "\"version\": 7", TL_EVERSION, "field 'version': 7", 1);
    refused_with("false", "0", TL_EPARSE, "line 1: field 'fatal': expected a bool", 1);
    refused_with("[16, 8]", "[16, \"x\"]", TL_EPARSE, "line 1: field 'task_window_max'", 1);
    refused_with("[4096, 2048]", "[4096]", TL_EPARSE, "field 'heap_max': 1 rings, and 2 in 'task_window_max'", 1);
    refused_with("[64, 32]", "64", TL_EPARSE, "field 'dep_pool_max'", 1);
    refused_with("\"a.c:7\"", "7", TL_EPARSE, "s.jsonl, line 2: field 'site': expected a string", 2);
    refused_with("\"begin\"", "\"middle\"", TL_EPARSE, "line 2: field 'phase': expected \"begin\" or \"end\"", 2);
    refused_with("\"begin\"", "null", TL_EPARSE, "line 2: field 'phase': expected a string", 2);
    refused_with("\"depth\": 1", "\"depth\": -1", TL_EPARSE, "line 2: field 'depth'", 2);
    refused_with("\"depth\": 1", "\"depth\": 1048577", TL_EPARSE, "line 2: field 'depth'", 2);
    refused_with("\"ring\": 1", "\"ring\": 2", TL_EPARSE, "field 'ring': 2, but line 1 has the sizes of 2 rings", 2);
    refused_with("\"heap_end\": 3072, ", "", TL_EPARSE, "line 2: field 'heap_end': missing", 2);
    refused_with("18446744073709551615", "18446744073709551616", TL_EPARSE, "line 3: field 'task_window_end'", 3);
    refused_with(", \"tensormap\": 6}", "", TL_EPARSE, "line 3", 3);
    refused_with("\"site\": \"a.c:7\", \"phase\": \"end\"", "}", TL_EPARSE, "line 3", 3);
}

static void too_many_rings_are_refused(void **state)
{
    char text[2000] = "{\"version\": 6, \"fatal\": false, \"dropped\": 0, \"total\": 0, \"tensormap_max\": 0, "
                      "\"task_window_max\": [1";

    (void)state;
    for (int i = 0; i < 64; i++)
        (void)strcat(text, ",1");
    (void)strcat(text, "], \"heap_max\": [], \"dep_pool_max\": []}");
    refused(text, TL_EPARSE, "field 'task_window_max': 65 rings", 1);
}

static void written_and_read_again(void **state)
{
    struct tl_scope_stats s = {.n_rings = 4, .fatal = true, .dropped = 2, .tensormap_max = 7}, back;
    struct tl_boundary b = {.depth = 3, .ring = 2, .tensormap = UINT64_MAX};
    struct tl_error err = {0};
    char *text;
    char site[20];

    (void)state;
    s.size[TL_RING_HEAP][3] = 1u << 30;
    for (uint32_t i = 0; i < 1000; i++) { /* the index of sites grows on the way */
        (void)snprintf(site, sizeof(site), "f\"%u.c:%u", i % 300, i % 300);
        assert_int_equal(tl__scope_stats_site(&s, site, strlen(site), &b.site), 0);
        assert_int_equal(b.site, i % 300);
        b.ends = i % 2 != 0;
        b.span[TL_RING_DEPS].head = i;
        assert_int_equal(tl__scope_stats_add(&s, &b), 0);
    }
    assert_int_equal(tl__scope_stats_write(fixture_dir, &s, &err), 0);
    assert_int_equal(tl__scope_stats_read(fixture_path(TL_SCOPE_NAME), &back, &err), 0);
    assert_int_equal(back.version, TL_SCOPE_VERSION);
    assert_true(back.fatal);
    assert_int_equal(back.dropped, 2);
    assert_int_equal(back.total, 1000);
    assert_int_equal(back.n_rings, 4);
    assert_memory_equal(back.size, s.size, sizeof(s.size));
    assert_int_equal(back.boundaries.count, 1000);
    assert_memory_equal(back.boundaries.items, s.boundaries.items, 1000 * sizeof(b));
    assert_int_equal(back.n_sites, 300);
    assert_string_equal(back.sites[299], s.sites[299]);
    tl__scope_stats_fini(&back);
    /* In the words of the format. */
    s.boundaries.count = 1;
    s.dropped = 0;
    assert_int_equal(tl__scope_stats_write(fixture_dir, &s, &err), 0);
    text = fixture_read(TL_SCOPE_NAME, NULL);
    assert_string_equal(
        text, "{\"version\": 6, \"fatal\": true, \"dropped\": 0, \"total\": 1, \"task_window_max\": [0, 0, 0, "
              "0], \"heap_max\": [0, 0, 0, 1073741824], \"dep_pool_max\": [0, 0, 0, 0], \"tensormap_max\": 7}\n"
              "{\"site\": \"f\\\"0.c:0\", \"phase\": \"begin\", \"depth\": 3, \"ring\": 2, "
              "\"task_window_start\": 0, \"task_window_end\": 0, \"heap_start\": 0, \"heap_end\": 0, "
              "\"dep_pool_start\": 0, \"dep_pool_end\": 0, \"tensormap\": 18446744073709551615}\n");
    free(text);
    s.boundaries.items[0].ring = 4;
    assert_int_equal(tl__scope_stats_write(fixture_dir, &s, &err), TL_EINVAL);
    s.boundaries.items[0].ring = 0;
    s.boundaries.items[0].site = 300;
    assert_int_equal(tl__scope_stats_write(fixture_dir, &s, &err), TL_EINVAL);
    tl__scope_stats_fini(&s);
}

static void where_there_is_none(void **state)
{
    struct tl_scope_stats s;
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__scope_stats_read(fixture_path("none.jsonl"), &s, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "none.jsonl: cannot open"));
    assert_int_equal(tl__scope_stats_read(fixture_dir, &s, &err), TL_EIO);
    fixture_write_text("empty", "");
    assert_int_equal(tl__scope_stats_read(fixture_path("empty"), &s, &err), TL_EPARSE);
}

/* Files of other writers are read, and written again as they were. */
static void files_of_other_writers_are_read(void **state)
{
    static const char *const names[] = {"sources",
                                        "mix",
                                        "vector",
                                        "samples/hbg-a2a3sim-edge-sources",
                                        "samples/tmr-a2a3sim-mix",
                                        "samples/tmr-a2a3sim-vector"};
    static const uint64_t counts[] = {0, 2, 4, 0, 2, 4};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        char name[200];
        const char *path;
        struct tl_scope_stats s, back;
        struct tl_error err = {0};

        (void)snprintf(name, sizeof(name), "%s/scope_stats/scope_stats.jsonl", names[i]);
        path = fixture_foreign(name);
        if (path == NULL)
            continue;
        assert_int_equal(tl__scope_stats_read(path, &s, &err), 0);
        assert_int_equal(s.boundaries.count, counts[i]);
        assert_int_equal(s.total, counts[i]);
        assert_int_equal(s.n_rings, 4);
        if (i == 2) {
            assert_int_equal(s.boundaries.items[2].ring, 1);
            assert_int_equal(s.boundaries.items[2].span[TL_RING_HEAP].head, 3072);
            assert_int_equal(s.boundaries.items[2].span[TL_RING_DEPS].head, 6);
        }
        assert_int_equal(tl__scope_stats_write(fixture_dir, &s, &err), 0);
        assert_int_equal(tl__scope_stats_read(fixture_path(TL_SCOPE_NAME), &back, &err), 0);
        assert_int_equal(back.boundaries.count, s.boundaries.count);
        if (s.boundaries.count > 0)
            assert_memory_equal(back.boundaries.items, s.boundaries.items,
                                s.boundaries.count * sizeof(*s.boundaries.items));
        tl__scope_stats_fini(&back);
        tl__scope_stats_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_format),
        cmocka_unit_test(what_others_may_write),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(too_many_rings_are_refused),
        cmocka_unit_test(written_and_read_again),
        cmocka_unit_test(where_there_is_none),
        cmocka_unit_test(files_of_other_writers_are_read),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
