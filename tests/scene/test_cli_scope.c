/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens scope` as a user meets it: its text against tests/golden/scope/, its messages and exit codes, its page. */
#include "scene/cli.h"
#include "scene/golden.h"

/* A file of the fuzz corpus as the recording DIR. */
static void record(const char *dir, const char *corpus)
{
    char command[1500];

    (void)snprintf(command, sizeof(command),
                   "mkdir -p '%s/%s/scope_stats' && cp '%s/tests/fuzz/corpus/scope_stats/%s' "
                   "'%s/%s/scope_stats/scope_stats.jsonl'",
                   fixture_dir, dir, TL_TEST_SOURCE_DIR, corpus, fixture_dir, dir);
    assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    record("run", "nested.jsonl");
    record("stopped", "fatal.jsonl");
    return 0;
}

static void the_text_is_the_golden(void **state)
{
    (void)state;
    expect(0, "scope run");
    assert_string_equal(message, "");
    golden_is(output, "scope/nested.txt");
    expect(0, "scope run --sites 1");
    golden_is(output, "scope/one_site.txt");
    expect(0, "scope stopped");
    golden_is(output, "scope/fatal.txt");
    expect(0, "scope --help");
    golden_is(output, "scope/help.txt");
}

/* What is missing may have been more. */
static void no_line_of_a_part(void **state)
{
    static const char *const parts[][2] = {
        {"s/\"total\": 6/\"total\": 8/", "cut: the file says that it has 8 boundaries, and has 6"},
        {"s/\"dropped\": 0/\"dropped\": 1/", "dropped: "},
        {"$d", "open: scopes without an end: 1"},
    };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        char command[1500];

        record("part", "nested.jsonl");
        (void)snprintf(command, sizeof(command), "sed -i '%s' '%s/part/scope_stats/scope_stats.jsonl'", parts[i][0],
                       fixture_dir);
        assert_int_equal(system(command), 0);
        expect(0, "scope part");
        assert_non_null(strstr(output, parts[i][1]));
        assert_non_null(strstr(output, "Settings: lower bounds, because the recording is not whole\n"));
        assert_non_null(strstr(output, "taken as far as it is recorded"));
        assert_non_null(strstr(output, "  next      record the run again: "));
        assert_null(strstr(output, "tasklens run"));
        expect(0, "scope part --json");
        assert_non_null(strstr(output, "\"whole\": false,"));
        expect(0, "scope part --html -o part.html");
        free(fixture_read("part.html", NULL));
    }
}

static void json_has_what_the_text_has(void **state)
{
    (void)state;
    expect(0, "scope run --json");
    golden_is(output, "scope/nested.json");
    expect(0, "scope stopped --json");
    golden_is(output, "scope/fatal.json");
}

static void every_way_to_name_it(void **state)
{
    const char *words[] = {"scope run/", "scope run/scope_stats", "scope run/scope_stats/scope_stats.jsonl",
                           "scope ./run", NULL};
    char *first;

    (void)state;
    expect(0, "scope run");
    first = strdup(strchr(output, '\n'));
    for (int i = 0; words[i] != NULL; i++) {
        expect(0, words[i]);
        assert_string_equal(strchr(output, '\n'), first);
    }
    free(first);
}

static void bad_usage_and_input_are_refused(void **state)
{
    (void)state;
    refuses("scope nowhere", "nowhere");
    assert_int_equal(mkdir(fixture_path("empty"), 0777), 0);
    refuses("scope empty", "tasklens run PROGRAM --enable-scope-stats");
    refuses("scope run --json --html", "--html and -o write a page: they take no --json");
    refuses("scope run --sites x", "--sites");
    refuses("scope run -o nowhere/x.html", "nowhere/x.html: cannot create");
    assert_int_equal(mkdir(fixture_path("bad"), 0777), 0);
    fixture_write_text("bad/scope_stats.jsonl", "{\"version\": 6}\n");
    refuses("scope bad", "bad/scope_stats.jsonl, line 1: field 'fatal': missing");
    fixture_write_text("bad/scope_stats.jsonl", "{\"version\": 6");
    refuses("scope bad", "bad/scope_stats.jsonl, line 1: ");
}

/* One file that asks for nothing else. */
static void the_page_is_written(void **state)
{
    char *page;
    size_t size;

    (void)state;
    expect(0, "scope run --html");
    assert_string_equal(output, "run/scope_stats/scope.html\n");
    page = fixture_read("run/scope_stats/scope.html", &size);
    assert_true(size > 150000); /* d3 is in it */
    assert_non_null(strstr(page, "\"layers/attention.c:44\""));
    assert_non_null(strstr(page, "--task-window 4 --heap-bytes 192K --dep-pool 6"));
    assert_null(strstr(page, " src="));
    assert_null(strstr(page, "<link"));
    free(page);
    expect(0, "scope stopped -o page.html");
    assert_string_equal(output, "page.html\n");
    page = fixture_read("page.html", NULL);
    assert_non_null(strstr(page, "fatal: the run ended abnormally"));
    free(page);
}

static void files_of_other_writers_are_shown(void **state)
{
    static const struct {
        const char *name, *part;
    } samples[] = {
        {"sources", "No scope began or ended in this run"},
        {"mix", "--task-window 4 --heap-bytes 1K --dep-pool 3"},
        {"vector", "--task-window 4 --heap-bytes 3K --dep-pool 6"},
        {"samples/hbg-a2a3sim-edge-sources", "No scope began or ended in this run"},
        {"samples/tmr-a2a3sim-mix", "--task-window 4 --heap-bytes 1K --dep-pool 3"},
        {"samples/tmr-a2a3sim-vector", "--task-window 4 --heap-bytes 192K --dep-pool 7"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        const char *path = fixture_foreign(samples[i].name);
        char words[1200];

        if (path == NULL)
            continue; /* the samples are absent */
        (void)snprintf(words, sizeof(words), "scope '%s'", path);
        expect(0, words);
        if (strstr(output, samples[i].part) == NULL)
            fail_msg("%s: no \"%s\" in: %s", samples[i].name, samples[i].part, output);
        (void)snprintf(words, sizeof(words), "scope '%s' -o sample.html", path);
        expect(0, words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_the_golden),           cmocka_unit_test(no_line_of_a_part),
        cmocka_unit_test(json_has_what_the_text_has),       cmocka_unit_test(every_way_to_name_it),
        cmocka_unit_test(bad_usage_and_input_are_refused),  cmocka_unit_test(the_page_is_written),
        cmocka_unit_test(files_of_other_writers_are_shown),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
