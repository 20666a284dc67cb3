/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs run on both archs under both runtimes; then `tasklens critical-path` and `tasklens sched` of what they
 * recorded: the wall is attributed exactly, nothing of the recording is left out, and the schedulers' phases add up.
 */
#include "scene/cli.h"

static const char *const archs[] = {"a2a3sim", "a5sim"};
static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};
static const char *const programs[] = {"chain", "wavefront", "layer", "spmd"};

/* The number behind `key` in the output. */
static uint64_t number(const char *key)
{
    char quoted[60];
    const char *at;

    (void)snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
    at = strstr(output, quoted);
    if (at == NULL)
        fail_msg("no %s in: %s", quoted, output);
    return strtoull(at + strlen(quoted), NULL, 10);
}

/* The sum of the members of the object behind `key`, all of them numbers. */
static uint64_t sum(const char *key)
{
    char quoted[60];
    const char *at;
    uint64_t total = 0;

    (void)snprintf(quoted, sizeof(quoted), "\"%s\": {", key);
    at = strstr(output, quoted);
    if (at == NULL)
        fail_msg("no %s in: %s", quoted, output);
    for (at += strlen(quoted); *at != 0 && *at != '}'; at++)
        if (at[0] == ':')
            total += strtoull(at + 1, NULL, 10);
    return total;
}

static void check_run(const char *words, const char *dir)
{
    char command[300];
    uint64_t wall;

    expect(0, words);
    (void)snprintf(command, sizeof(command), "critical-path %s", dir);
    expect(0, command);
    (void)snprintf(command, sizeof(command), "critical-path %s --json", dir);
    expect(0, command);
    wall = number("wall_ns");
    assert_true(wall > 0);
    assert_int_equal(sum("spent_ns"), wall);
    assert_true(number("length_ns") <= wall);
    if (sum("warnings") != 0)
        fail_msg("%s: %s", words, strstr(output, "\"warnings\""));
    (void)snprintf(command, sizeof(command), "sched %s --json", dir);
    expect(0, command);
    assert_int_equal(number("wall_ns"), wall);
    assert_int_equal(sum("spent_ns"), wall);
    assert_null(strstr(output, "\"missing\""));
    assert_non_null(strstr(output, "\"sums_to_the_wall\": true"));
    if (strstr(output, "\"sums_to_the_wall\": false") != NULL)
        fail_msg("%s: %s", words, output);
}

static void every_program_has_its_critical_paths(void **state)
{
    char words[400], dir[60];

    (void)state;
    for (size_t a = 0; a < 2; a++)
        for (size_t r = 0; r < 2; r++)
            for (size_t p = 0; p < sizeof(programs) / sizeof(programs[0]); p++) {
                (void)snprintf(dir, sizeof(dir), "run_%zu%zu%zu", a, r, p);
                (void)snprintf(words, sizeof(words),
                               "run %s -p %s --runtime %s --enable-chip-swimlane --enable-dep-gen --out %s",
                               programs[p], archs[a], runtimes[r], dir);
                check_run(words, dir);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_program_has_its_critical_paths)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
