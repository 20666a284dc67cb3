/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens dump` on recordings that another runtime made; skipped where they are absent. */
#include "scene/cli.h"

static void foreign_recordings(void **state)
{
    const char *names[] = {"tmr-a2a3sim-vector", "tmr-a2a3sim-mix", "hbg-a2a3sim-edge-sources",
                           "hbg-a5sim-dump-level3"};
    const int counts[] = {18, 18, 10, 6};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char name[200], words[1400], shape[200];
        const char *path;

        (void)snprintf(name, sizeof(name), "samples/%s", names[i]);
        path = fixture_shared(name);
        assert_non_null(path);
        (void)snprintf(words, sizeof(words), "dump '%s'", path);
        expect(0, words);
        assert_string_equal(message, "");
        (void)snprintf(shape, sizeof(shape), ", %d args (", counts[i]);
        assert_non_null(strstr(output, shape));
        /* One of them has a name map beside its dump; the others have no column of names. */
        assert_int_equal(strstr(output, "  kernel  ") != NULL, strcmp(names[i], "tmr-a2a3sim-mix") == 0 || i == 2);
        if (i == 1)
            assert_non_null(strstr(output, "  0,1   MATMUL,ADD  before  input"));
        (void)snprintf(words, sizeof(words), "dump --verify '%s'", path);
        expect(0, words);
        for (int k = 0; k < counts[i]; k++) {
            (void)snprintf(words, sizeof(words), "dump '%s' -i %d", path, k);
            expect(0, words);
        }
    }
    {
        char words[1400];

        (void)snprintf(words, sizeof(words), "dump '%s' -t r0t0", fixture_shared("samples/tmr-a2a3sim-vector"));
        expect(0, words);
        assert_non_null(strstr(output, "2.0 2.0 2.0 2.0 ..."));
        assert_non_null(strstr(output, "3.0 3.0 3.0 3.0 ..."));
        assert_non_null(strstr(output, "5.0 5.0 5.0 5.0 ..."));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(foreign_recordings)};

    if (fixture_shared("samples") == NULL)
        return 77;
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
