/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens critical-path` as a user meets it: text, report and JSON against tests/golden/critical-path/, its messages
 * and exit codes. */
#include "scene/sched_cli.h"

#include <time.h>

#define FOLDER "critical-path"

static void the_whole_report_is_the_golden(void **state)
{
    char *report;

    (void)state;
    sched_record("run", 4, sched_fixture_deps, sched_fixture_names);
    expect(0, "critical-path run");
    assert_string_equal(message, "");
    golden_is(output, FOLDER "/text.txt");
    report = fixture_read("run/critical_path.md", NULL);
    golden_is(report, FOLDER "/report.md");
    free(report);
    expect(0, "critical-path run --json");
    golden_is(output, FOLDER "/paths.json");
    expect(0, "critical-path --help");
    golden_is(output, FOLDER "/help.txt");
}

/* Where the report goes: into the recording by rename, elsewhere on request, nowhere for machines. */
static void the_report_goes_where_it_was_asked_for(void **state)
{
    char *first, *second;

    (void)state;
    sched_record("there", 4, sched_fixture_deps, NULL);
    expect(0, "critical-path there --json");
    assert_int_equal(access(fixture_path("there/critical_path.md"), F_OK), -1);
    expect(0, "critical-path there -o elsewhere.md");
    sched_says("\nreport: elsewhere.md\n");
    assert_int_equal(access(fixture_path("there/critical_path.md"), F_OK), -1);
    expect(0, "critical-path there --json --output json.md");
    first = fixture_read("elsewhere.md", NULL);
    second = fixture_read("json.md", NULL);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "func_2+func_3")); /* no names: by func_id */
    free(first);
    free(second);
    expect(0, "critical-path there");
    sched_says("\nreport: there/critical_path.md\n");
    sched_refuses("critical-path there -o no/such/dir.md", "no/such/dir.md: cannot create: No such file or directory");
    sched_record("full", 4, sched_fixture_deps,
                 NULL); /* the report cannot be written there: all the same it is shown */
    assert_int_equal(mkdir(fixture_path("full/critical_path.md"), 0777), 0);
    expect(2, "critical-path full");
    assert_non_null(strstr(message, "full/critical_path.md"));
    assert_non_null(strstr(message, "-o FILE.md writes the report elsewhere"));
    sched_says("observed path: 6 steps");
    assert_null(strstr(output, "report:"));
}

static void the_trace_has_both_paths(void **state)
{
    char *text;

    (void)state;
    sched_record("traced", 4, sched_fixture_deps, sched_fixture_names);
    expect(0, "critical-path traced --trace trace.json");
    sched_says("\ntrace:  trace.json, for https://ui.perfetto.dev\n");
    text = fixture_read("trace.json", NULL);
    assert_non_null(strstr(text, "\"observed path\""));
    free(text);
    if (system("python3 -c 'import json' >/dev/null 2>&1") == 0) {
        char command[1400];

        (void)snprintf(command, sizeof(command),
                       "python3 '%s/tests/scene/check_trace.py' --strict --count name:'core busy'=2 '%s'",
                       TL_TEST_SOURCE_DIR, fixture_path("trace.json"));
        if (system(command) != 0)
            fail_msg("%s", command);
    }
    expect(2, "critical-path traced --trace no/such/trace.json");
    assert_non_null(strstr(message, "no/such/trace.json"));
}

static void a_lower_level_is_noted(void **state)
{
    (void)state;
    sched_record("l3", 3, sched_fixture_deps, sched_fixture_names);
    expect(0, "critical-path l3");
    sched_says("note: below level 4 the orchestrator is not seen");
    sched_record("l1", 1, sched_fixture_deps, sched_fixture_names);
    expect(0, "critical-path l1");
    sched_says("note: level 1 has no dispatch times");
    golden_is(output, FOLDER "/level_1.txt");
}

static void a_missing_file_is_named_with_its_flag(void **state)
{
    (void)state;
    sched_record("nodeps", 4, NULL, NULL);
    sched_refuses("critical-path nodeps", "nodeps has no deps.json: run with --enable-dep-gen");
    sched_record("nolane", 0, sched_fixture_deps, NULL);
    sched_refuses("critical-path nolane", "--enable-chip-swimlane");
    sched_record("cycle", 4, sched_fixture_cycle, NULL);
    sched_refuses("critical-path cycle", "cycle/deps.json: its edges have a cycle of 3 tasks: r0t");
    sched_record("cut", 4, "{\"tasks\": [", NULL);
    sched_refuses("critical-path cut", "deps.json");
    sched_refuses("critical-path nowhere", "nowhere");
    sched_refuses("critical-path run --nothing", "--nothing");
    sched_refuses("critical-path one two", "two");
    assert_int_equal(access(fixture_path("cycle/critical_path.md"), F_OK), -1);
}

/* Names of two programs would be guesses: said, and shown without. */
static void names_of_two_programs_are_not_guessed(void **state)
{
    (void)state;
    sched_record("two", 4, sched_fixture_deps, sched_fixture_names);
    fixture_write_text("two/name_map_other.json",
                       "{\"level\": 2, \"orchestrator_name\": null, \"callable_id_to_name\": {\"0\": \"other\"}}");
    expect(0, "critical-path two");
    assert_non_null(strstr(message, "without kernel names"));
    sched_says("func_1");
    assert_null(strstr(output, "scale"));
}

/* 65,536 tasks: 16 chains side by side on 16 cores, in about a second. */
static void a_path_through_65536_tasks_is_found(void **state)
{
    enum { N = 65536, CORES = 16 };
    struct timespec begin, end;
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(fixture_path("many"), 0777), 0);
    f = fopen(fixture_path("many/chip_swimlane_records.json"), "wb");
    assert_non_null(f);
    (void)fprintf(f,
                  "{\"chip_swimlane_level\": 2, \"metadata\": {\"clock_freq_hz\": 1000000000, \"num_cores\": %d, "
                  "\"core_types\": [",
                  CORES);
    for (int c = 0; c < CORES; c++)
        (void)fprintf(f, "%s\"aiv\"", c > 0 ? ", " : "");
    (void)fprintf(f, "]}, \"aicore_tasks\": [");
    for (int i = 0; i < N; i++)
        (void)fprintf(f, "%s[%d, %d, %d, %d, %d]", i > 0 ? ",\n" : "", i % CORES, i, i / CORES, 100 * (i / CORES) + 110,
                      100 * (i / CORES) + 170);
    (void)fprintf(f, "], \"aicpu_tasks\": [");
    for (int i = 0; i < N; i++)
        (void)fprintf(f, "%s[%d, %d, %d, %d]", i > 0 ? ",\n" : "", i % CORES, i / CORES, 100 * (i / CORES) + 100,
                      100 * (i / CORES) + 180);
    (void)fprintf(f, "]}\n");
    assert_int_equal(fclose(f), 0);
    f = fopen(fixture_path("many/deps.json"), "wb");
    assert_non_null(f);
    (void)fprintf(f, "{\"tasks\": [");
    for (int i = 0; i < N; i++)
        (void)fprintf(f,
                      "%s"
                      "{\"task_id\": \"%d\", \"scope\": \"auto\", \"kernel_ids\": [-1, 0, -1], \"block_num\": 1, "
                      "\"args\": []}",
                      i > 0 ? ",\n" : "", i);
    (void)fprintf(f, "], \"tensors\": [], \"edges\": [");
    for (int i = CORES; i < N; i++)
        (void)fprintf(f, "%s{\"pred\": \"%d\", \"succ\": \"%d\", \"arg\": -1, \"source\": \"explicit\"}",
                      i > CORES ? ",\n" : "", i - CORES, i);
    (void)fprintf(f, "]}\n");
    assert_int_equal(fclose(f), 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    expect(0, "critical-path many");
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    sched_says("static path: 245.760 us"); /* 4,096 of 60 ns */
    sched_says("observed path: 4,096 steps");
    print_message("65,536 tasks: %.2f s\n",
                  (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    assert_true(end.tv_sec - begin.tv_sec < 20); /* about one second; a machine with more to do may take longer */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_report_is_the_golden),
        cmocka_unit_test(the_report_goes_where_it_was_asked_for),
        cmocka_unit_test(the_trace_has_both_paths),
        cmocka_unit_test(a_lower_level_is_noted),
        cmocka_unit_test(a_missing_file_is_named_with_its_flag),
        cmocka_unit_test(names_of_two_programs_are_not_guessed),
        cmocka_unit_test(a_path_through_65536_tasks_is_found),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
