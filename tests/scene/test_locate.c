/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command called from elsewhere: by a link to it, as an absolute path and through PATH, with a folder `examples`
 * beside the link that holds sources. It finds its bundled programs and its chip where it really stands.
 */
#include "scene/cli.h"

static void shell(const char *words)
{
    char command[2000];
    int status;

    (void)snprintf(command, sizeof(command), "cd '%s' && %s >out 2>err", fixture_dir, words);
    status = system(command);
    assert_true(WIFEXITED(status));
    exit_code = WEXITSTATUS(status);
    output = slurp("out");
    message = slurp("err");
}

static void runs(const char *words)
{
    shell(words);
    if (exit_code != 0)
        fail_msg("%s: exit code %d; it said: %s", words, exit_code, message);
    if (strstr(output, "vector_add") == NULL)
        fail_msg("%s: %s", words, output);
}

static void a_link_finds_the_bundled_programs(void **state)
{
    (void)state;
    shell("mkdir -p tree/build tree/examples && touch tree/examples/vector_add.c && "
          "ln -s '" TL_TEST_BINARY_DIR "/tasklens' tree/build/tasklens");
    runs("\"$PWD/tree/build/tasklens\" run vector_add");
    runs("tree/build/tasklens run vector_add");
    runs("env PATH=\"$PWD/tree/build:$PATH\" tasklens run vector_add");
    /* Some shells and execvp's callers pass the whole path that they found. */
    runs("sh -c 'exec \"$(PATH=\"$PWD/tree/build\" command -v tasklens)\" run vector_add'");
}

static void sources_are_no_bundled_programs(void **state)
{
    (void)state;
    shell("mkdir -p alone/build alone/examples && touch alone/examples/vector_add.c && "
          "cp '" TL_TEST_BINARY_DIR "/tasklens' alone/build/tasklens");
    shell("\"$PWD/alone/build/tasklens\" run vector_add");
    assert_int_equal(exit_code, 2);
    if (strstr(message, "no bundled programs are installed") == NULL)
        fail_msg("it said: %s", message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_finds_the_bundled_programs),
        cmocka_unit_test(sources_are_no_bundled_programs),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
