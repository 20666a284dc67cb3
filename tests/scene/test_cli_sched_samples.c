/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens critical-path` and `tasklens sched` on recordings in the layouts of other writers: those of this tree, and
 * another runtime's where they are present. */
#include "scene/sched_cli.h"

#define SCHED_SAMPLES 7u
/* The folder of a recording; NULL where it is a sample of another runtime and those are absent. */
static const char *sched_sample(unsigned i)
{
    static const char *const names[SCHED_SAMPLES] = {"vector",
                                                     "mix",
                                                     "mix-2026-09",
                                                     "sources",
                                                     "samples/tmr-a2a3sim-vector",
                                                     "samples/tmr-a2a3sim-mix",
                                                     "samples/hbg-a2a3sim-edge-sources"};

    return fixture_foreign(names[i]);
}

static void the_static_path_is_found(void **state)
{
    /* Of ours, by hand: the kernels of a chain in cycles, 5,700 of 10 ns, 4,350 and 160 of 20 ns. */
    const char *parts[SCHED_SAMPLES] = {"static path: 57.000 us",
                                        "static path: 87.000 us",
                                        "static path: 87.000 us",
                                        "static path: 3.200 us",
                                        "static path: 140044.260 us",
                                        "MATMUL",
                                        "CLOBBER"};
    char words[1400];

    (void)state;
    for (unsigned i = 0; i < SCHED_SAMPLES; i++) {
        if (sched_sample(i) == NULL)
            continue;
        (void)snprintf(words, sizeof(words), "critical-path '%s' -o foreign.md", sched_sample(i));
        expect(0, words);
        sched_says(parts[i]);
        (void)snprintf(words, sizeof(words), "critical-path '%s' --json", sched_sample(i));
        expect(0, words);
    }
}

/* All six sections of each, and every scheduler's phases and idle time add up. */
static void every_section_is_there_and_sums_agree(void **state)
{
    char words[1400], title[10];

    (void)state;
    for (unsigned i = 0; i < SCHED_SAMPLES; i++) {
        if (sched_sample(i) == NULL)
            continue;
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_static_path_is_found),
                                       cmocka_unit_test(every_section_is_there_and_sums_agree)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
