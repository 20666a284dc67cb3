/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens critical-path` and `tasklens sched` on recordings that another runtime made; skipped where they are absent.
 */
#include "scene/sched_cli.h"

#define SCHED_SAMPLES 3u
/* The folder of a recording that another runtime made; NULL where there are none. */
static const char *sched_sample(unsigned i)
{
    static const char *const names[SCHED_SAMPLES] = {"samples/tmr-a2a3sim-vector", "samples/tmr-a2a3sim-mix",
                                                     "samples/hbg-a2a3sim-edge-sources"};

    return fixture_shared(names[i]);
}

static void paths(void **state)
{
    const char *parts[SCHED_SAMPLES] = {"static path: 140044.260 us", "MATMUL", "CLOBBER"};
    char words[1400];

    (void)state;
    for (unsigned i = 0; i < SCHED_SAMPLES; i++) {
        (void)snprintf(words, sizeof(words), "critical-path '%s' -o foreign.md", sched_sample(i));
        expect(0, words);
        sched_says(parts[i]);
        (void)snprintf(words, sizeof(words), "critical-path '%s' --json", sched_sample(i));
        expect(0, words);
    }
}

/* All six parts of each, and every scheduler's phases and idle time add up. */
static void schedules(void **state)
{
    char words[1400], title[10];

    (void)state;
    for (unsigned i = 0; i < SCHED_SAMPLES; i++) {
        (void)snprintf(words, sizeof(words), "sched '%s'", sched_sample(i));
        expect(0, words);
        for (int part = 1; part <= 6; part++) {
            (void)snprintf(title, sizeof(title), "\n%d. ", part);
            sched_says(title);
        }
        assert_null(strstr(output, "needs"));
        assert_null(strstr(output, " NO\n"));
        (void)snprintf(words, sizeof(words), "sched '%s' --json", sched_sample(i));
        expect(0, words);
        sched_says("\"sums_to_the_wall\": true");
        assert_null(strstr(output, "\"sums_to_the_wall\": false"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths), cmocka_unit_test(schedules)};

    if (sched_sample(0) == NULL)
        return 77;
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
