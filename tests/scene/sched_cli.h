/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the commands about schedules share: the recording of sched_fixture.h as files, and comparison. */
#ifndef TL_TESTS_SCHED_CLI_H
#define TL_TESTS_SCHED_CLI_H

#include <stdbool.h>

#include "scene/cli.h"
#include "support/sched_fixture.h"

/* DIR with the swimlane of `level`, `deps` and the names, where they are not NULL. */
static void sched_record(const char *dir, unsigned level, const char *deps, const char *names)
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

/* Against tests/golden/FOLDER/NAME; TL_UPDATE_GOLDEN=1 rewrites that. */
static void sched_golden(const char *text, const char *folder, const char *name)
{
    bool update = getenv("TL_UPDATE_GOLDEN") != NULL;
    char path[600], *want;
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), "%s/tests/golden/%s/%s", TL_TEST_SOURCE_DIR, folder, name);
    f = fopen(path, update ? "wb" : "rb");
    if (f == NULL)
        fail_msg("cannot open %s", path);
    want = update ? strdup(text) : calloc(1, 1 << 20);
    assert_non_null(want);
    n = update ? fwrite(text, 1, strlen(text), f) : fread(want, 1, (1 << 20) - 1, f);
    assert_int_equal(n, strlen(want));
    assert_int_equal(fclose(f), 0);
    if (strcmp(text, want) != 0)
        print_message("---- %s has:\n%s---- but it is:\n%s", path, want, text);
    assert_string_equal(text, want);
    free(want);
}

/* One line on stderr that holds `part`, nothing on stdout, exit code 2. */
static void sched_refuses(const char *words, const char *part)
{
    expect(2, words);
    if (strstr(message, part) == NULL)
        fail_msg("tasklens %s: no \"%s\" in: %s", words, part, message);
    assert_string_equal(output, "");
    assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1);
}

/* The output must hold `part`. */
static void sched_says(const char *part)
{
    if (strstr(output, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, output);
}

#define SCHED_SAMPLES 3u
/* The folder of a recording that another runtime made; NULL where there are none. */
static const char *sched_sample(unsigned i)
{
    static const char *const names[SCHED_SAMPLES] = {"samples/tmr-a2a3sim-vector", "samples/tmr-a2a3sim-mix",
                                                     "samples/hbg-a2a3sim-edge-sources"};

    return fixture_shared(names[i]);
}

#endif
