/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope statistics by the command line: the sizes that `tasklens scope` says are enough are, with less a run stops and
 * says so, and what was recorded survives a crash, a hang, and a chip or a host that is killed.
 */
#include "scene/cli.h"
#include "scene/slow_run.h"
#include "scene/process.h"

#include <fcntl.h>
#include <signal.h>

#include "artifact/scope_stats.h"

static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};

static struct tl_scope_stats stats_of(const char *dir)
{
    struct tl_scope_stats s;
    struct tl_error err = {0};
    char name[200];

    (void)snprintf(name, sizeof(name), "%s/scope_stats/scope_stats.jsonl", dir);
    if (tl__scope_stats_read(fixture_path(name), &s, &err) != 0)
        fail_msg("%s", err.msg);
    return s;
}

/* The flags of the line to type: copied to `flags`. */
static void take_flags(char *flags, size_t size)
{
    const char *line = strstr(output, "tasklens run PROGRAM ");
    size_t n;

    assert_non_null(line);
    line += strlen("tasklens run PROGRAM ");
    n = strcspn(line, "\n");
    assert_true(n < size);
    memcpy(flags, line, n);
    flags[n] = '\0';
    if (strstr(flags, "   (") != NULL)
        *strstr(flags, "   (") = '\0';
}

/* What is said to be enough is enough; the peaks then are the same, or smaller where tasks retire earlier. */
static void a_size_said_to_be_enough_is_enough(void **state)
{
    static const char *const programs[] = {"vector_add", "bgemm", "paged_attention"};

    (void)state;
    for (unsigned p = 0; p < 3; p++)
        for (unsigned r = 0; r < 2; r++) {
            char words[400], flags[200], out[60];
            struct tl_scope_stats s;

            (void)snprintf(out, sizeof(out), "%s-%u", programs[p], r);
            (void)snprintf(words, sizeof(words), "run %s --runtime %s -p %s --enable-scope-stats --out %s", programs[p],
                           runtimes[r], p % 2 != 0 ? "a5sim" : "a2a3sim", out);
            expect(0, words);
            s = stats_of(out);
            assert_false(s.fatal);
            assert_true(s.boundaries.count >= 4);
            tl__scope_stats_fini(&s);
            (void)snprintf(words, sizeof(words), "scope %s", out);
            expect(0, words);
            take_flags(flags, sizeof(flags));
            assert_int_equal(strstr(flags, "--runtime host_build_graph ") != NULL, r == 1);
            (void)snprintf(words, sizeof(words), "run %s -p %s --enable-scope-stats --out %s-again %s", programs[p],
                           p % 2 != 0 ? "a5sim" : "a2a3sim", out, flags);
            expect(0, words);
        }
}

/* One scope holds 64 tasks: 64 slots are enough, and 32 are not, which the recording of the failed run says too. */
static void with_less_it_stops(void **state)
{
    (void)state;
    for (unsigned r = 0; r < 2; r++) {
        char words[400];
        struct tl_scope_stats s;

        (void)snprintf(words, sizeof(words),
                       "run vector_add --set elements=65536 --set tiles=64 --runtime %s --task-window 64 "
                       "--enable-scope-stats --out fits",
                       runtimes[r]);
        expect(0, words);
        expect(0, "scope fits --html");
        assert_int_equal(access(fixture_path("fits/scope_stats/scope.html"), F_OK), 0);
        (void)snprintf(words, sizeof(words),
                       "run vector_add --set elements=65536 --set tiles=64 --runtime %s --task-window 32 "
                       "--enable-scope-stats --out fits",
                       runtimes[r]);
        tasklens(words);
        assert_true(exit_code == 2 || exit_code == 3);
        assert_non_null(strstr(message, "--task-window"));
        s = stats_of("fits");
        assert_true(s.fatal);
        assert_int_equal(s.boundaries.count, 4);
        assert_int_equal(s.boundaries.items[2].span[TL_RING_TASKS].head, 32);
        tl__scope_stats_fini(&s);
        assert_int_equal(access(fixture_path("fits/scope_stats/scope.html"), F_OK), -1); /* of the run before */
        expect(0, "scope fits");
        assert_non_null(strstr(output, "fatal: the run ended abnormally"));
        assert_non_null(strstr(output, "full where the run stopped: the next size up"));
    }
}

/* A kept image would skip the orchestration in the second round, and with it what is to be recorded. */
static void each_round_is_recorded(void **state)
{
    char words[600];

    (void)state;
    for (unsigned r = 0; r < 2; r++) {
        (void)snprintf(words, sizeof(words),
                       "run '%s/tests/hangs.so' --set stuck=0 --set tell=1 --runtime %s --rounds 3 "
                       "--enable-scope-stats --out rounds-%u",
                       TL_TEST_BINARY_DIR, runtimes[r], r);
        expect(0, words);
        for (unsigned round = 0; round < 3; round++) {
            struct tl_scope_stats s;

            (void)snprintf(words, sizeof(words), "rounds-%u/round%u", r, round);
            s = stats_of(words);
            assert_int_equal(s.boundaries.count, 4);
            assert_int_equal(s.boundaries.items[3].span[TL_RING_TASKS].head, 5);
            tl__scope_stats_fini(&s);
        }
    }
}

static void what_a_crash_leaves(void **state)
{
    (void)state;
    for (unsigned r = 0; r < 2; r++) {
        char words[400];
        struct tl_scope_stats s;

        (void)snprintf(words, sizeof(words), "run crash --runtime %s --enable-scope-stats --out crashed-%u",
                       runtimes[r], r);
        expect(3, words);
        (void)snprintf(words, sizeof(words), "crashed-%u", r);
        s = stats_of(words);
        assert_true(s.fatal);
        assert_true(s.boundaries.count >= 2);
        assert_int_equal(s.boundaries.items[0].depth, 0);
        assert_int_equal(s.boundaries.items[1].depth, 1);
        tl__scope_stats_fini(&s);
    }
}

/* The orchestration waits for a slot that a stuck task holds: its scopes end there. */
static void what_a_hang_leaves(void **state)
{
    (void)state;
    for (unsigned full = 0; full < 2; full++) {
        char words[400];
        struct tl_scope_stats s;
        uint64_t most = 0;

        assert_int_equal(setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "700", 1), 0);
        (void)snprintf(words, sizeof(words),
                       "run '%s/tests/hangs.so' --set tasks=%u --task-window 8 --enable-scope-stats --out hung-%u",
                       TL_TEST_BINARY_DIR, full != 0 ? 20 : 5, full);
        expect(3, words);
        assert_int_equal(unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS"), 0);
        (void)snprintf(words, sizeof(words), "hung-%u", full);
        s = stats_of(words);
        assert_true(s.fatal);
        assert_true(s.boundaries.count >= 2);
        for (uint64_t i = 0; i < s.boundaries.count; i++)
            most = s.boundaries.items[i].span[TL_RING_TASKS].head > most
                       ? s.boundaries.items[i].span[TL_RING_TASKS].head
                       : most;
        if (full == 0) {
            assert_int_equal(s.boundaries.count, 4);
            assert_int_equal(most, 5);
        }
        tl__scope_stats_fini(&s);
        (void)snprintf(words, sizeof(words), "scope hung-%u", full);
        expect(0, words);
        assert_non_null(strstr(output, "lower bounds, because the run did not end well"));
    }
}

static void begins_are_there(const char *out)
{
    struct tl_scope_stats s = stats_of(out);

    assert_true(s.fatal);
    assert_true(s.boundaries.count >= 2);
    assert_string_equal(s.sites[s.boundaries.items[0].site], "(orchestration):0");
    assert_false(s.boundaries.items[1].ends);
    assert_int_equal(s.boundaries.items[1].depth, 1);
    assert_int_equal(s.size[TL_RING_TASKS][3], 16384);
    tl__scope_stats_fini(&s);
}

static void what_a_killed_chip_leaves(void **state)
{
    pid_t pid = slow_run_start("--enable-scope-stats", "chip");
    int status;

    (void)state;
    slow_run_await("chip", 10000);
    assert_int_equal(kill(child_of(pid), SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    begins_are_there("chip");
}

static void what_a_killed_host_leaves(void **state)
{
    pid_t pid = slow_run_start("--enable-scope-stats", "host");
    int status;

    (void)state;
    slow_run_await("host", 10000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(access(fixture_path("host/scope_stats/scope_stats.jsonl"), F_OK), -1);
    expect(0, "recover host");
    assert_non_null(strstr(output, "\nnext       tasklens dump host\n           tasklens scope host\nhost\n"));
    expect(0, "scope host");
    assert_non_null(strstr(message, "tasklens scope: host/scope_stats is of a run that was cut short"));
    begins_are_there("host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_said_to_be_enough_is_enough),
        cmocka_unit_test(with_less_it_stops),
        cmocka_unit_test(each_round_is_recorded),
        cmocka_unit_test(what_a_crash_leaves),
        cmocka_unit_test(what_a_hang_leaves),
        cmocka_unit_test(what_a_killed_chip_leaves),
        cmocka_unit_test(what_a_killed_host_leaves),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
