/* SPDX-License-Identifier: Apache-2.0 */
/* Files that viewers and the compiler's caller write: whole or not at all, whoever else writes them, however the
 * command ends; a device or a FIFO that a user names is written to, never replaced. */
#include "scene/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>

static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    expect(0, "run vector_add --set elements=65536 --set tiles=64 --dump-args 2 --enable-chip-swimlane 2 "
              "--enable-dep-gen --enable-scope-stats --out run");
    return 0;
}

/* How many temporary files there are below the test's directory. */
static void expect_no_temps(void)
{
    char command[600];

    (void)snprintf(command, sizeof(command), "test -z \"$(find '%s' -name '*.tmp*')\"", fixture_dir);
    if (system(command) != 0)
        fail_msg("a temporary file is left");
}

static void shell(const char *words)
{
    char command[2000];

    (void)snprintf(command, sizeof(command), "cd '%s' && t='%s/tasklens' && { %s; }", fixture_dir, TL_TEST_BINARY_DIR,
                   words);
    if (system(command) != 0)
        fail_msg("%s", words);
}

static void a_file_that_may_not_grow_is_one_line(void **state)
{
    static const char *const words[] = {"swimlane run -o trace.json", "deps run --format dot -o graph.dot",
                                        "scope run -o page.html",     "critical-path run -o report.md",
                                        "dump run --export txt",      "dump run --export npy"};
    char command[400];

    (void)state;
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        (void)snprintf(command, sizeof(command),
                       "said=$( (ulimit -f 0; $t %s 2>&1 >/dev/null) ); code=$?; test $code = 2 && "
                       "test $(echo \"$said\" | wc -l) = 1 && echo \"$said\" | grep -q tasklens",
                       words[i]);
        shell(command);
        expect_no_temps();
    }
    shell("test ! -e trace.json && test ! -e graph.dot && test ! -e page.html && test ! -e report.md");
    shell("(ulimit -f 0; $t swimlane run -o trace.json 2>/dev/null); test $? = 2");
}

static void a_run_whose_files_may_not_grow_says_so(void **state)
{
    (void)state;
    shell("said=$( (ulimit -f 1; $t run vector_add --dump-args 2 --out small 2>&1) ); echo \"$said\" | grep -q "
          "'tasklens run'");
    shell("(ulimit -f 1; $t run vector_add --dump-args 2 --out small2 >/dev/null 2>&1); test $? = 4 -o $? = 2");
    expect_no_temps();
}

static void two_writers_of_one_file_do_not_meet(void **state)
{
    (void)state;
    shell("for i in 1 2 3 4 5 6 7 8; do for j in 1 2 3; do $t swimlane run -o both.json >/dev/null 2>&1 || echo bad "
          ">>failed & $t scope run --html >/dev/null 2>&1 || echo bad >>failed & done; wait; "
          "tail -c 2 both.json | grep -q '[]}]' || echo cut >>failed; tail -c 8 run/scope_stats/scope.html | grep -q "
          "'</html>' || tail -c 8 run/scope.html | grep -q '</html>' || echo cut >>failed; done; test ! -e failed");
    expect_no_temps();
}

/* Starts `tasklens WORDS` and ends it by `number` once a temporary file is there, or it has ended by itself. */
static bool end_in_the_middle(char *const argv[], int number, const char *pattern)
{
    char command[700];
    int status = 0;
    bool met = false;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || chdir(fixture_dir) != 0)
            _exit(99);
        (void)execv(TL_TEST_BINARY_DIR "/tasklens", argv);
        _exit(99);
    }
    (void)snprintf(command, sizeof(command), "test -n \"$(find '%s' -name '%s' 2>/dev/null)\"", fixture_dir, pattern);
    while (!met && waitpid(pid, &status, WNOHANG) == 0)
        met = system(command) == 0;
    if (!met)
        return false;
    assert_int_equal(kill(pid, number), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == number;
}

static void an_interrupted_compile_leaves_no_folder(void **state)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    (void)state;
    /* A compiler that says where it is asked to write, and then takes its time. */
    shell("printf '#!/bin/sh\\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo partial >\"$2\"; shift; done\\n"
          "exec sleep 30\\n' >slow-cc && chmod +x slow-cc && echo 'int x;' >p.c && mkdir -p tmp");
    (void)setenv("CC", "./slow-cc", 1);
    for (unsigned i = 0; i < 3; i++) {
        char tmp[300];
        char *argv[] = {(char *)"tasklens", (char *)"run", (char *)"p.c", NULL};

        (void)snprintf(tmp, sizeof(tmp), "%s/tmp", fixture_dir);
        (void)setenv("TMPDIR", tmp, 1);
        assert_true(end_in_the_middle(argv, numbers[i], "program.so"));
        shell("test -z \"$(ls tmp)\"");
    }
    (void)unsetenv("CC");
    (void)unsetenv("TMPDIR");
}

static void an_interrupted_export_leaves_no_temporary_file(void **state)
{
    unsigned met = 0;

    (void)state;
    for (unsigned i = 0; i < 40 && met < 3; i++) {
        char *argv[] = {(char *)"tasklens", (char *)"dump", (char *)"run", (char *)"--export", (char *)"npy", NULL};

        met += end_in_the_middle(argv, SIGTERM, "*.tmp") ? 1 : 0;
        expect_no_temps();
    }
    if (met == 0)
        print_message("the command was never met in the middle\n");
}

static void a_device_or_a_fifo_is_written_to(void **state)
{
    struct stat before, after;

    (void)state;
    /* The third descriptor keeps the FIFO open until the reader is there and the command has ended. */
    shell("mkfifo pipe; $t swimlane run -o plain.json >/dev/null && exec 3<>pipe && { cat <pipe >through.json 3>&- & } "
          "&& "
          "$t swimlane run -o pipe >/dev/null 3>&-; code=$?; exec 3>&-; wait; test $code = 0 && test -p pipe && "
          "cmp plain.json through.json");
    shell("mkfifo unread; $t swimlane run -o unread >/dev/null 2>said; test $? = 2 && test -p unread && "
          "grep -q unread said");
    assert_int_equal(stat("/dev/null", &before), 0);
    if (!S_ISCHR(before.st_mode) || before.st_uid == getuid())
        return; /* a command that does it wrong would take it from the whole machine */
    shell("$t swimlane run -o /dev/null >/dev/null");
    assert_int_equal(stat("/dev/null", &after), 0);
    assert_true(S_ISCHR(after.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_may_not_grow_is_one_line),
        cmocka_unit_test(a_run_whose_files_may_not_grow_says_so),
        cmocka_unit_test(two_writers_of_one_file_do_not_meet),
        cmocka_unit_test(an_interrupted_compile_leaves_no_folder),
        cmocka_unit_test(an_interrupted_export_leaves_no_temporary_file),
        cmocka_unit_test(a_device_or_a_fifo_is_written_to),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
