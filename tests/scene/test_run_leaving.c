/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of the program's author that leaves by another way than return: whose it was and how is said in one line, and
 * the exit code is a failure, the same each time. Children that it forks may end as they like, and do not outlive the
 * chip.
 */
#include "cli.h"

#include <signal.h>

#include "leaver.h"

#define PROGRAM "'" TL_TEST_BINARY_DIR "/tests/leaver.so' "

static const char *const modes[] = {"process", "thread"};
static const char *const who[] = {"kernel \"leaver\"", "the orchestration", "golden() of leaver",
                                  "prepare() of leaver"};
static const char *const calls[WAYS_OUT] = {"",        "exit(0)",  "_exit(0)",      "quick_exit()", "pthread_exit()",
                                            "execv()", "execlp()", "exit_group(0)", "SIGTERM",      "SIGUSR1",
                                            "SIGUSR1", "SIGUSR2",  "SIGTERM",       "SIGUSR1",      "SIGKILL",
                                            "SIGKILL", "SIGALRM",  "SIGUSR1",       "SIGUSR2"};
static const struct {
    int number;
    const char *name;
} signals[] = {{SIGTERM, "SIGTERM"}, {SIGPIPE, "SIGPIPE"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},
               {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGALRM, "SIGALRM"},
               {SIGPROF, "SIGPROF"}, {SIGSYS, "SIGSYS"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}};

static void leaves(unsigned mode, int where, int way, const char *how)
{
    char words[300];

    (void)snprintf(words, sizeof(words), "run " PROGRAM "--device-mode %s --set where=%d --set way=%d", modes[mode],
                   where, way);
    expect(where == IN_GOLDEN || where == IN_PREPARE ? 2 : 3, words);
    if (strstr(message, who[where]) == NULL || strstr(message, how) == NULL)
        fail_msg("%s: no \"%s\" and \"%s\" in: %s", words, who[where], how, message);
    if (where == IN_KERNEL && (strstr(message, "task r0t0") == NULL || strstr(message, "AIV core ") == NULL))
        fail_msg("%s: no task and core in: %s", words, message);
}

/* With the chip in a process there is room to say what sent the signal. */
static void what_sent_the_signal_is_named(void **state)
{
    (void)state;
    leaves(0, IN_KERNEL, WAY_ALARM, ": a timer that the program set");
    leaves(0, IN_KERNEL, WAY_KILL_HARD, ": the program sends it to its own process");
}

static void each_way_out_is_named_and_a_failure(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < 2; mode++)
        for (int where = IN_KERNEL; where <= IN_PREPARE; where++)
            for (int way = WAY_EXIT; way < WAYS_OUT; way++)
                leaves(mode, where, way, calls[way]);
}

static void each_signal_is_named_and_a_failure(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < 2; mode++)
        for (int where = IN_KERNEL; where <= IN_PREPARE; where++)
            for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
                leaves(mode, where, WAY_SIGNAL + signals[i].number, signals[i].name);
}

static void a_child_may_end_as_it_likes(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < 2; mode++)
        for (int where = IN_KERNEL; where <= IN_PREPARE; where++)
            for (int way = WAY_CHILD_EXITS; way < WAY_CHILD_STAYS; way++) {
                char words[300];

                (void)snprintf(words, sizeof(words), "run " PROGRAM "--device-mode %s --set where=%d --set way=%d",
                               modes[mode], where, way);
                expect(0, words);
                assert_string_equal(message, "");
            }
}

/* Its child holds standard error, which ends only with the last that holds it. */
static void a_child_does_not_outlive_the_chip(void **state)
{
    char command[1000];

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "cd '%s' && timeout 60 sh -c \"'%s/tasklens' run " PROGRAM
                   "--set where=%d --set way=%d 2>&1 >/dev/null | cat\"",
                   fixture_dir, TL_TEST_BINARY_DIR, IN_KERNEL, WAY_CHILD_STAYS);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_out_is_named_and_a_failure), cmocka_unit_test(what_sent_the_signal_is_named),
        cmocka_unit_test(each_signal_is_named_and_a_failure),  cmocka_unit_test(a_child_may_end_as_it_likes),
        cmocka_unit_test(a_child_does_not_outlive_the_chip),
    };

    return SANITIZED ? 77 : cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
