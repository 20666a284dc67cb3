/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens deps` on graphs that another runtime recorded; skipped where they are absent. */
#include "scene/cli.h"

/* The sample's answer to the options holds each of the parts. */
static void says(const char *sample, const char *options, const char *const *parts)
{
    char name[200], words[1400];

    (void)snprintf(name, sizeof(name), "samples/%s", sample);
    (void)snprintf(words, sizeof(words), "deps '%s' %s", fixture_shared(name), options);
    expect(0, words);
    assert_string_equal(message, "");
    for (; *parts != NULL; parts++)
        if (strstr(output, *parts) == NULL)
            fail_msg("tasklens %s: no \"%s\" in: %s", words, *parts, output);
}
#define SAYS(sample, options, ...) says(sample, options, (const char *const[]){__VA_ARGS__, NULL})

static void creators(void **state)
{
    (void)state;
    SAYS("tmr-a2a3sim-vector", "", "5 tasks, 7 tensors, 6 edges between 6 pairs", "6 creator",
         "4 levels; the widest, level 1, has 2 tasks", "6 wait and retain", "func_2");
    SAYS("tmr-a2a3sim-vector", "-t r1t3", "fed by 2 tasks, by 2 edges", "r0t0      func_0   creator  wait retain    1",
         "r1t2      func_2   creator  wait retain    0", "feeds no task");
    SAYS("tmr-a2a3sim-vector", "-t r1t0", "  1  OUTPUT  allocated at submit");
    SAYS("tmr-a2a3sim-vector", "--path 0 r1t2", "2 edges, no way is shorter");
}

static void mixes(void **state)
{
    (void)state;
    SAYS("tmr-a2a3sim-mix", "", "3 tasks, 8 tensors, 4 edges between 2 pairs", "MATMUL (0)  ADD (1)",
         "4 cover what is read");
    SAYS("tmr-a2a3sim-mix", "-t 2", "r0t1      MATMUL+ADD  tensormap  wait     3", "[16384] offset 16384");
    SAYS("tmr-a2a3sim-mix", "--kernel ADD", "3 of 3 tasks run ADD");
    SAYS("tmr-a2a3sim-mix", "--tensor 486182800", "the buffer at 0x1cfa8f90", "OUTPUT_EXISTING");
}

static void three_sources(void **state)
{
    (void)state;
    SAYS("hbg-a2a3sim-edge-sources", "", "1 explicit, 2 tensormap", "3 come without flags");
    SAYS("hbg-a2a3sim-edge-sources", "-t 2", "r0t0      WRITE_GATE   explicit   not said    -",
         "r0t1      WRITE_CONST  tensormap  not said    0");
    SAYS("hbg-a2a3sim-edge-sources", "-t 3 --up", "   1  r0t2  CLOBBER   tensormap arg 0",
         "   2    r0t0  WRITE_GATE   explicit");
    SAYS("hbg-a2a3sim-edge-sources", "--json", "\"flags_not_said\": 3", "\"filtered_edges\": null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(creators), cmocka_unit_test(mixes),
                                       cmocka_unit_test(three_sources)};

    if (fixture_shared("samples") == NULL)
        return 77;
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
