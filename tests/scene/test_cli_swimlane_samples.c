/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens swimlane` on recordings in the layouts of other writers: those of this tree, and where they are present those
 * of another runtime, beside what its own tool made of them. */
#include "scene/cli.h"

static void check(const char *words)
{
    char command[4000];

    (void)snprintf(command, sizeof(command), "cd '%s' && python3 '%s/tests/scene/check_trace.py' %s", fixture_dir,
                   TL_TEST_SOURCE_DIR, words);
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* Ours have one dispatch and one completion for each slice, and a dependency's arrow for each pair of slices. Of the others
 * we draw as many events of each kind as their tool; it draws a submit's arrow to each subtask of a mix, we one. */
static void recordings_of_other_writers_are_drawn(void **state)
{
    const struct {
        const char *name, *counts;
    } samples[] = {
        {"vector", "--count flow:dependency:4=6 --count flow:dependency:3=6 --count flow:dispatch=10 "
                   "--count flow:complete=10 --count 'flow:complete\u2192ready=4' --count 'name:complete(1)=5'"},
        {"mix", "--count flow:dependency:4=8 --count flow:dependency:3=8 --count flow:dispatch=12 "
                "--count flow:complete=12 --count 'flow:complete\u2192ready=2' --count 'name:resolve(1)=2'"},
        {"mix-2026-09", "--count flow:dependency:4=8 --count flow:dependency:3=8 --count flow:dispatch=12 "
                        "--count flow:complete=12 --count 'name:resolve(1)=2'"},
        {"sources", "--count flow:dependency:4=3 --count flow:dependency:3=3 --count flow:dispatch=8 "
                    "--count flow:complete=8 --count 'flow:submit\u2192dispatch=4'"},
        {"samples/tmr-a2a3sim-vector",
         "--count flow:dependency:4=6 --count flow:dependency:3=6 --count flow:dispatch=10 "
         "--count flow:complete=10 --count 'flow:complete\u2192ready=4' --count 'name:complete(1)=5'"},
        {"samples/tmr-a2a3sim-mix",
         "--count flow:dependency:4=8 --count flow:dependency:3=8 --count flow:dispatch=12 "
         "--count flow:complete=12 --count 'flow:complete\u2192ready=2' --count 'name:resolve(1)=2'"},
        {"samples/hbg-a2a3sim-edge-sources",
         "--count flow:dependency:4=3 --count flow:dependency:3=3 --count flow:dispatch=8 "
         "--count flow:complete=8 --count 'flow:submit\u2192dispatch=4'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        const char *path = fixture_foreign(samples[i].name);
        char words[1400];

        if (path == NULL)
            continue; /* the samples are absent */
        if (strncmp(samples[i].name, "samples/", 8) == 0) {
            (void)snprintf(words, sizeof(words), "%s '%.590s/merged_swimlane.json'", samples[i].counts, path);
            check(words);
        }
        (void)snprintf(words, sizeof(words), "swimlane '%s' -o ours.json", path);
        expect(0, words);
        assert_null(strstr(output, "left out"));
        (void)snprintf(words, sizeof(words), "--strict %s ours.json", samples[i].counts);
        check(words);
        /* From a submit on the host's clock, 1 ms before the device's cycle 0 (41 ms in the sample). */
        if (strcmp(samples[i].name, "sources") == 0) {
            assert_non_null(strstr(output, "clock anchors place it to within 20 ns"));
            assert_non_null(strstr(output, "4 tasks on 2 of 6 cores, 1.040 ms"));
        }
        if (strcmp(samples[i].name, "samples/hbg-a2a3sim-edge-sources") == 0) {
            assert_non_null(strstr(output, "clock anchors place it to within 30 ns"));
            assert_non_null(strstr(output, "4 tasks on 2 of 24 cores, 42.940 ms"));
        }
    }
}

static void copy_to_run(const char *recording)
{
    char command[1000];

    assert_non_null(fixture_foreign(recording));
    (void)snprintf(command, sizeof(command), "cd '%s' && rm -rf run && cp -r '%.590s' run && chmod -R u+w run",
                   fixture_dir, fixture_foreign(recording));
    assert_int_equal(system(command), 0);
}

/* Every count, time and join of a recording in the form of September 2026 is that of the same one in the older form. */
static void compare_forms(const char *older_form, const char *newer_form)
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

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char *older;

        copy_to_run(older_form);
        tasklens(commands[i]);
        older = strdup(output);
        assert_non_null(older);
        assert_int_equal(exit_code, 0);
        copy_to_run(newer_form);
        expect(0, commands[i]);
        assert_string_equal(output, older);
        free(older);
    }
}

static void both_forms_of_a_recording_give_the_same(void **state)
{
    (void)state;
    compare_forms("mix", "mix-2026-09");
    if (fixture_shared("samples") != NULL)
        compare_forms("samples/tmr-a2a3sim-mix", "samples/tmr-a2a3sim-mix-2026-09");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recordings_of_other_writers_are_drawn),
                                       cmocka_unit_test(both_forms_of_a_recording_give_the_same)};

    if (system("python3 -c 'import json' >/dev/null 2>&1") != 0)
        return 77;
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
