/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens dump` on recordings in the layouts of other writers: those of this tree, and another runtime's where they are
 * present. */
#include "scene/cli.h"

static void has(const char *text)
{
    if (strstr(output, text) == NULL)
        fail_msg("no \"%s\" in: %s", text, output);
}

static void recordings_of_other_writers_are_shown(void **state)
{
    static const struct {
        const char *name;
        int count;
        const char *kernels; /* a row with names, where a name map is beside the dump; without one no such column */
        const char *first_task[3]; /* values of r0t0 */
    } rows[] = {
        {"vector", 17, NULL, {"1.5 1.5 1.5 1.5 ...", "4.0 4.0 4.0 4.0 ...", "5.5 5.5 5.5 5.5 ..."}},
        {"mix", 18, "  4,7   PRODUCT,SUM  before  input", {"0.5 0.5 0.5 0.5 ...", "2.5 2.5 2.5 2.5 ..."}},
        {"sources", 10, "  5     OPEN_GATE  before  inout", {"-9007199254740993", "-7 -7 -7 -7 ..."}},
        {"level3", 6, NULL, {"float32  [32]   -"}},
        {"samples/tmr-a2a3sim-vector", 18, NULL, {"2.0 2.0 2.0 2.0 ...", "3.0 3.0 3.0 3.0 ...", "5.0 5.0 5.0 5.0 ..."}},
        {"samples/tmr-a2a3sim-mix", 18, "  0,1   MATMUL,ADD  before  input", {NULL}},
        {"samples/hbg-a2a3sim-edge-sources", 10, "WRITE_GATE", {NULL}},
        {"samples/hbg-a5sim-dump-level3", 6, NULL, {NULL}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char words[1400], shape[200];
        const char *path = fixture_foreign(rows[i].name);

        if (path == NULL)
            continue; /* the samples are absent */
        (void)snprintf(words, sizeof(words), "dump '%s'", path);
        expect(0, words);
        assert_string_equal(message, "");
        (void)snprintf(shape, sizeof(shape), ", %d args (", rows[i].count);
        has(shape);
        assert_int_equal(strstr(output, "  kernel  ") != NULL, rows[i].kernels != NULL);
        if (rows[i].kernels != NULL)
            has(rows[i].kernels);
        (void)snprintf(words, sizeof(words), "dump --verify '%s'", path);
        expect(0, words);
        for (int k = 0; k < rows[i].count; k++) {
            (void)snprintf(words, sizeof(words), "dump '%s' -i %d", path, k);
            expect(0, words);
        }
        (void)snprintf(words, sizeof(words), "dump '%s' -t r0t0", path);
        expect(0, words);
        for (int k = 0; k < 3 && rows[i].first_task[k] != NULL; k++)
            has(rows[i].first_task[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recordings_of_other_writers_are_shown)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
