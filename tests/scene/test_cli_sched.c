/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens sched` as a user meets it: text and JSON against tests/golden/sched/, its messages and exit codes. */
#include "scene/sched_cli.h"

#define FOLDER "sched"

static void all_parts_of_a_level_4_recording_are_shown(void **state)
{
    (void)state;
    sched_record("run", 4, sched_fixture_deps, sched_fixture_names);
    expect(0, "sched run");
    assert_string_equal(message, "");
    golden_is(output, FOLDER "/text.txt");
    expect(0, "sched run --json");
    assert_string_equal(message, "");
    golden_is(output, FOLDER "/parts.json");
    expect(0, "sched --help");
    golden_is(output, FOLDER "/help.txt");
}

/* Level 1 without a graph: what can be said is said, the rest says what it needs. */
static void a_part_without_its_data_names_the_flag(void **state)
{
    (void)state;
    sched_record("bare", 1, NULL, NULL);
    expect(0, "sched bare");
    assert_string_equal(message, "");
    golden_is(output, FOLDER "/bare.txt");
    expect(0, "sched bare --json");
    sched_says("\"overhead\": {\"missing\": \"needs dispatch times and deps.json");
    sched_says("\"loop_budget\": {\"missing\": \"needs the phases of the schedulers");
    sched_record("l2", 2, sched_fixture_deps, NULL);
    expect(0, "sched l2");
    sched_says("\n1. overhead: acceptable");
    sched_says("\n5. loop budget: needs the phases of the schedulers: run with --enable-chip-swimlane 3 or more\n");
    sched_says("\n6. critical path: the wall along");
    sched_record("l3", 3, NULL, NULL);
    expect(0, "sched l3");
    sched_says("\n1. overhead: needs deps.json: run with --enable-dep-gen too\n");
    sched_says("\n5. loop budget: per scheduler thread");
    sched_says("\n6. critical path: needs deps.json: run with --enable-dep-gen too\n");
    sched_record("cycle", 4, sched_fixture_cycle, NULL);
    expect(0, "sched cycle");
    sched_says("\n6. critical path: needs a usable deps.json: its edges have a cycle of 3 tasks: r0t");
}

static void bad_usage_and_input_are_refused(void **state)
{
    (void)state;
    sched_record("nolane", 0, sched_fixture_deps, NULL);
    sched_refuses("sched nolane", "--enable-chip-swimlane");
    sched_refuses("sched nowhere", "nowhere");
    sched_refuses("sched run --nothing", "--nothing");
    sched_refuses("sched one two", "two");
    sched_record("cut", 4, "{\"tasks\": [", NULL);
    sched_refuses("sched cut", "deps.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_of_a_level_4_recording_are_shown),
        cmocka_unit_test(a_part_without_its_data_names_the_flag),
        cmocka_unit_test(bad_usage_and_input_are_refused),

    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
