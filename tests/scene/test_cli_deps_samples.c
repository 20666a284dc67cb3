/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens deps` on graphs in the layouts of other writers: those of this tree, and another runtime's where they are
 * present. */
#include "scene/cli.h"

/* What the command prints about the recording holds each of the texts. */
static void says(const char *recording, const char *options, const char *const *parts)
{
    const char *path = fixture_foreign(recording);
    char words[1400];

    if (path == NULL)
        return; /* the samples are absent */
    (void)snprintf(words, sizeof(words), "deps '%s' %s", path, options);
    expect(0, words);
    assert_string_equal(message, "");
    for (; *parts != NULL; parts++)
        if (strstr(output, *parts) == NULL)
            fail_msg("tasklens %s: no \"%s\" in: %s", words, *parts, output);
}
#define SAYS(sample, options, ...) says(sample, options, (const char *const[]){__VA_ARGS__, NULL})

static void creator_edges_are_listed(void **state)
{
    (void)state;
    SAYS("vector", "", "5 tasks, 7 tensors, 6 edges between 6 pairs", "6 creator",
         "4 levels; the widest, level 1, has 2 tasks", "6 wait and retain", "func_3");
    SAYS("vector", "-t r1t3", "fed by 2 tasks, by 2 edges", "r1t2      func_3   creator  wait retain    0",
         "r0t0      func_0   creator  wait retain    1", "0x30000         float32  [4, 6]", "feeds no task");
    SAYS("vector", "-t r1t0", "  1  OUTPUT  allocated at submit");
    SAYS("vector", "--path 0 r1t2", "2 edges, no way is shorter");
    SAYS("samples/tmr-a2a3sim-vector", "", "5 tasks, 7 tensors, 6 edges between 6 pairs", "6 creator",
         "4 levels; the widest, level 1, has 2 tasks", "6 wait and retain", "func_2");
    SAYS("samples/tmr-a2a3sim-vector", "-t r1t3", "fed by 2 tasks, by 2 edges",
         "r0t0      func_0   creator  wait retain    1", "r1t2      func_2   creator  wait retain    0",
         "feeds no task");
    SAYS("samples/tmr-a2a3sim-vector", "-t r1t0", "  1  OUTPUT  allocated at submit");
    SAYS("samples/tmr-a2a3sim-vector", "--path 0 r1t2", "2 edges, no way is shorter");
}

static void a_mix_is_listed_with_both_kernels(void **state)
{
    static const char *const forms[] = {"mix", "mix-2026-09"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        SAYS(forms[i], "", "3 tasks, 8 tensors, 4 edges between 2 pairs", "PRODUCT (4)  SUM (7)",
             "4 cover what is read");
        SAYS(forms[i], "-t 2", "r0t1      PRODUCT+SUM  tensormap  wait     3", "float16  [16] offset 16");
        SAYS(forms[i], "--kernel SUM", "3 of 3 tasks run SUM");
        SAYS(forms[i], "--tensor 393216", "the buffer at 0x60000", "OUTPUT_EXISTING");
    }
    SAYS("samples/tmr-a2a3sim-mix", "", "3 tasks, 8 tensors, 4 edges between 2 pairs", "MATMUL (0)  ADD (1)",
         "4 cover what is read");
    SAYS("samples/tmr-a2a3sim-mix", "-t 2", "r0t1      MATMUL+ADD  tensormap  wait     3", "[16384] offset 16384");
    SAYS("samples/tmr-a2a3sim-mix", "--kernel ADD", "3 of 3 tasks run ADD");
    SAYS("samples/tmr-a2a3sim-mix", "--tensor 486182800", "the buffer at 0x1cfa8f90", "OUTPUT_EXISTING");
}

static void edges_without_flags_are_listed(void **state)
{
    (void)state;
    SAYS("sources", "", "1 explicit, 2 tensormap", "3 come without flags");
    SAYS("sources", "-t 2", "r0t0      OPEN_GATE  explicit   not said    -",
         "r0t1      FILL       tensormap  not said    0");
    SAYS("sources", "-t 3 --up", "   1  r0t2  OVERWRITE   tensormap arg 0", "   2    r0t0  OPEN_GATE   explicit");
    SAYS("sources", "--json", "\"flags_not_said\": 3", "\"filtered_edges\": null");
    SAYS("samples/hbg-a2a3sim-edge-sources", "", "1 explicit, 2 tensormap", "3 come without flags");
    SAYS("samples/hbg-a2a3sim-edge-sources", "-t 2", "r0t0      WRITE_GATE   explicit   not said    -",
         "r0t1      WRITE_CONST  tensormap  not said    0");
    SAYS("samples/hbg-a2a3sim-edge-sources", "-t 3 --up", "   1  r0t2  CLOBBER   tensormap arg 0",
         "   2    r0t0  WRITE_GATE   explicit");
    SAYS("samples/hbg-a2a3sim-edge-sources", "--json", "\"flags_not_said\": 3", "\"filtered_edges\": null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(creator_edges_are_listed),
                                       cmocka_unit_test(a_mix_is_listed_with_both_kernels),
                                       cmocka_unit_test(edges_without_flags_are_listed)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
