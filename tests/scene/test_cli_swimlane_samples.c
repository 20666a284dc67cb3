/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens swimlane` on recordings that another runtime made, and what its own tool made of them; skipped where they
 * are absent. */
#include "scene/cli.h"

static void check(const char *words)
{
    char command[4000];

    (void)snprintf(command, sizeof(command), "cd '%s' && python3 '%s/tests/scene/check_trace.py' %s", fixture_dir,
                   TL_TEST_SOURCE_DIR, words);
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* As many events of each kind as the other tool drew; it draws a submit's arrow to each part of a mix, we one. */
static void foreign_recordings(void **state)
{
    const struct {
        const char *name, *counts;
    } samples[] = {
        {"tmr-a2a3sim-vector",
         "--count flow:dependency:4=6 --count flow:dependency:3=6 --count flow:dispatch=10 "
         "--count flow:complete=10 --count 'flow:complete\u2192ready=4' --count 'name:complete(1)=5'"},
        {"tmr-a2a3sim-mix",
         "--count flow:dependency:4=8 --count flow:dependency:3=8 --count flow:dispatch=12 "
         "--count flow:complete=12 --count 'flow:complete\u2192ready=2' --count 'name:resolve(1)=2'"},
        {"hbg-a2a3sim-edge-sources", "--count flow:dependency:4=3 --count flow:dependency:3=3 --count flow:dispatch=8 "
                                     "--count flow:complete=8 --count 'flow:submit\u2192dispatch=4'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        char path[600], words[1400], name[100];

        (void)snprintf(name, sizeof(name), "samples/%s", samples[i].name);
        assert_non_null(fixture_shared(name));
        (void)snprintf(path, sizeof(path), "%.590s", fixture_shared(name));
        (void)snprintf(words, sizeof(words), "%s '%s/merged_swimlane.json'", samples[i].counts, path);
        check(words);
        (void)snprintf(words, sizeof(words), "swimlane '%s' -o ours.json", path);
        expect(0, words);
        assert_null(strstr(output, "left out"));
        (void)snprintf(words, sizeof(words), "--strict %s ours.json", samples[i].counts);
        check(words);
    }
    /* A submit on the host's clock, 41 ms before the device's first phase. */
    assert_non_null(strstr(output, "clock anchors place it to within 30 ns"));
    assert_non_null(strstr(output, "4 tasks on 2 of 24 cores, 42.940 ms"));
}

static void lay(const char *sample)
{
    char command[1000];

    assert_non_null(fixture_shared(sample));
    (void)snprintf(command, sizeof(command), "cd '%s' && rm -rf run && cp -r '%.590s' run && chmod -R u+w run",
                   fixture_dir, fixture_shared(sample));
    assert_int_equal(system(command), 0);
}

/* Every count, time and join of a recording in the form of September 2026 is that of the same one in the older form. */
static void both_forms_of_one_recording(void **state)
{
    static const char *const commands[] = {
        "swimlane run -o t.json",
        "swimlane run -o t.json --json",
        "critical-path run",
        "critical-path run --json",
        "sched run",
        "sched run --json",
        "deps run",
        "deps run --json",
        "deps run -t r0t1",
        "pmu run",
        "pmu run --json",
        "swimlane run --overhead -o t.json",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char *older;

        lay("samples/tmr-a2a3sim-mix");
        tasklens(commands[i]);
        older = strdup(output);
        assert_non_null(older);
        assert_int_equal(exit_code, 0);
        lay("samples/tmr-a2a3sim-mix-2026-09");
        expect(0, commands[i]);
        assert_string_equal(output, older);
        free(older);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(foreign_recordings),
                                       cmocka_unit_test(both_forms_of_one_recording)};

    if (fixture_shared("samples") == NULL || system("python3 -c 'import json' >/dev/null 2>&1") != 0)
        return 77;
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
