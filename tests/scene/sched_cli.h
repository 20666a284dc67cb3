/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the commands about schedules share: the recording of sched_fixture.h as files, and comparison. */
#ifndef TL_TESTS_SCHED_CLI_H
#define TL_TESTS_SCHED_CLI_H

#include "scene/cli.h"
#include "scene/golden.h"
#include "support/sched_fixture.h"

/* DIR with the swimlane of `level`, `deps` and the names, where they are not NULL. */
static inline void sched_record(const char *dir, unsigned level, const char *deps, const char *names)
{
    char name[200];

    assert_int_equal(mkdir(fixture_path(dir), 0777), 0);
    (void)snprintf(name, sizeof(name), "%s/chip_swimlane_records.json", dir);
    if (level > 0)
        fixture_write_text(name, sched_fixture_lane[level]);
    (void)snprintf(name, sizeof(name), "%s/deps.json", dir);
    if (deps != NULL)
        fixture_write_text(name, deps);
    (void)snprintf(name, sizeof(name), "%s/name_map_default.json", dir);
    if (names != NULL)
        fixture_write_text(name, names);
}

/* One line on stderr that holds `part`, nothing on stdout, exit code 2. */
static inline void sched_refuses(const char *words, const char *part)
{
    expect(2, words);
    if (strstr(message, part) == NULL)
        fail_msg("tasklens %s: no \"%s\" in: %s", words, part, message);
    assert_string_equal(output, "");
    assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1);
}

/* The output must hold `part`. */
static inline void sched_says(const char *part)
{
    if (strstr(output, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, output);
}

#endif
