/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we record makes a good trace, over arch x runtime x program: every core row has its AICPU row, every task is in
 * deps.json, nothing is left out, and the trace holds what check_trace.py asks of it.
 */
#include "scene/cli.h"

#include <stdbool.h>

static const char *const platforms[] = {"a2a3sim", "a5sim"};
static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};
static const char *const programs[] = {"layer", "bgemm", "spmd", "wavefront", "many_deps"};

/* The number behind "key": in the summary. */
static unsigned long number(const char *key)
{
    char quoted[60];
    const char *at;

    (void)snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
    at = strstr(output, quoted);
    if (at == NULL)
        fail_msg("no %s in:\n%s", quoted, output);
    return strtoul(at + strlen(quoted), NULL, 10);
}

static void is_zero(const char *key, const char *where)
{
    if (number(key) != 0)
        fail_msg("%s: %s is %lu in:\n%s", where, key, number(key), output);
}

static void records_and_draws(const char *platform, const char *runtime, const char *program, bool python)
{
    static const char *const none[] = {
        "core_without_aicpu",     "aicpu_without_core",   "same_key", "backward",      "without_finish",
        "tasks_reused",           "tasks_not_in_deps",    "unplaced", "unknown_kinds", "deps_tasks_without_rows",
        "dependencies_on_itself", "dependencies_outside",
    };
    char words[1200], where[200], command[1500];

    (void)snprintf(where, sizeof(where), "%s-%s-%s", platform, runtime, program);
    (void)snprintf(words, sizeof(words),
                   "run '%s/examples/%s.so' -p %s --runtime %s --enable-chip-swimlane 4 --enable-dep-gen --out %s",
                   TL_TEST_BINARY_DIR, program, platform, runtime, where);
    expect(0, words);
    (void)snprintf(words, sizeof(words), "swimlane %s --overhead --json", where);
    expect(0, words);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        is_zero(none[i], where);
    if (strstr(output, "\"overlaps\": 0, \"inner_in_no_outer\": 0") == NULL ||
        strstr(output, "\"arrows_backward\": {\"dependency_worker\": 0, \"dependency_scheduler\": 0, \"dispatch\": 0, "
                       "\"complete\": 0, \"complete_ready\": 0, \"submit_dispatch\": 0}") == NULL)
        fail_msg("%s:\n%s", where, output);
    assert_int_equal(number("joined"), number("worker_slices"));
    assert_int_equal(number("joined"), number("scheduler_slices"));
    assert_true(number("submit_dispatch") == number("tasks"));
    if (!python)
        return;
    (void)snprintf(command, sizeof(command),
                   "python3 '%s/tests/scene/check_trace.py' --strict '%s/%s/merged_swimlane.json'", TL_TEST_SOURCE_DIR,
                   fixture_dir, where);
    if (system(command) != 0)
        fail_msg("%s", command);
}

static void every_program_leaves_a_trace_that_holds(void **state)
{
    bool python = system("python3 -c 'import json' >/dev/null 2>&1") == 0;

    (void)state;
    for (size_t p = 0; p < sizeof(platforms) / sizeof(platforms[0]); p++)
        for (size_t r = 0; r < sizeof(runtimes) / sizeof(runtimes[0]); r++)
            for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
                records_and_draws(platforms[p], runtimes[r], programs[i], python);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_program_leaves_a_trace_that_holds)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
