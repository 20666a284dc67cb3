/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens run` on several chips and as one of a launcher's processes: the tree of rank<R>/d<K>/, whose each leaf is,
 * what is refused, a rank that hangs, a rank that is killed. The launcher is played by the shell, which sets what Open
 * MPI would; scene/test_run_mpirun.sh has the real one.
 */
#include "scene/cli.h"

#include <signal.h>

#include "artifact/dfx_meta.h"
#include "artifact/dispatch_program.h"
#include "artifact/rank_clock.h"
#include "base/env.h"

static const char *leaf(const char *root, unsigned rank, unsigned dispatch)
{
    char name[200];

    (void)snprintf(name, sizeof(name), "%s/rank%u/d%u", root, rank, dispatch);
    return fixture_path(name);
}

/* The leaf says that it is this rank's, and its recording is whole. */
static void expect_leaf(const char *root, unsigned rank, unsigned ranks, unsigned dispatch)
{
    struct tl_dispatch d;
    struct tl_meta meta;
    struct tl_error err;

    if (tl__dispatch_read(leaf(root, rank, dispatch), &d, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(d.program, "vector_add");
    assert_string_equal(d.case_name, "default");
    assert_string_equal(d.platform, "a2a3sim");
    assert_int_equal(d.rank, rank);
    assert_int_equal(d.ranks, ranks);
    assert_int_equal(d.dispatch, dispatch);
    assert_int_not_equal(d.pid, 0);
    assert_int_not_equal(d.start_unix_ns, 0);
    assert_int_equal(tl__meta_read(leaf(root, rank, dispatch), &meta, NULL), 0);
    assert_string_equal(meta.status, "ok");
    assert_int_equal(meta.tasks, 4);
    assert_string_equal(meta.program_hash, d.program_hash);
}

static void expect_no_leaf(const char *root, unsigned rank, unsigned dispatch)
{
    assert_int_equal(access(leaf(root, rank, dispatch), F_OK), -1);
}

static void run_refuses(const char *words, const char *part)
{
    expect(2, words);
    if (strstr(message, part) == NULL)
        fail_msg("tasklens %s: no \"%s\" in: %s", words, part, message);
}

/* ---- one process, several chips ---- */

static void dispatches_go_to_the_chips_in_turn(void **state)
{
    struct tl_rank_clock c;

    (void)state;
    expect(0, "run vector_add --chips 2 --rounds 5 --dump-args 2 --out turn");
    for (unsigned i = 0; i < 5; i++)
        expect_leaf("turn", i % 2, 2, i / 2);
    expect_no_leaf("turn", 1, 2);
    expect_no_leaf("turn", 2, 0);
    assert_non_null(strstr(output, "on 2 chips (devices 0 to 1, ranks 0 to 1 of 2)"));
    assert_non_null(strstr(output, "rank 1, dispatch 1\n"));
    assert_non_null(strstr(output, "\nturn\n"));
    assert_int_equal(tl__rank_clock_read(fixture_path("turn/rank1"), &c, NULL), 0);
    assert_int_equal(c.method, TL_CLOCK_SAME); /* one process has one clock */
    assert_int_equal(c.error_ns, 0);
    /* Again into the same directory: nothing is overwritten. */
    run_refuses("run vector_add --chips 2 --dump-args 2 --out turn", "turn holds another job's ranks");
    expect_leaf("turn", 1, 2, 1);
}

/* Each chip's task waits for the other's: one after the other they would never meet, and the golden would differ. */
static void chips_work_at_once(void **state)
{
    struct tl_meta first, second;

    (void)state;
    expect(0, "run " TL_TEST_BINARY_DIR "/tests/meets.so --chips 2 --dump-args 2 --out once");
    assert_int_equal(tl__meta_read(leaf("once", 0, 0), &first, NULL), 0);
    assert_int_equal(tl__meta_read(leaf("once", 1, 0), &second, NULL), 0);
    assert_true(second.start_unix_ns < first.start_unix_ns + first.wall_ns);
    assert_true(first.start_unix_ns < second.start_unix_ns + second.wall_ns);
}

static void dispatches_go_to_the_chips_that_pin_names(void **state)
{
    (void)state;
    expect(0, "run vector_add --chips 3 --rounds 3 --pin 1 --dump-args 2 --out one");
    for (unsigned i = 0; i < 3; i++)
        expect_leaf("one", 1, 3, i);
    expect_no_leaf("one", 0, 0);
    expect(0, "run vector_add --chips 2 --rounds 3 --pin 0,1,1 --dump-args 2 --out each");
    expect_leaf("each", 0, 2, 0);
    expect_leaf("each", 1, 2, 0);
    expect_leaf("each", 1, 2, 1);
    expect_no_leaf("each", 0, 1);
    expect(0, "run vector_add --chips 2 --rounds 4 --window 1:2 --dump-args 2 --out some");
    expect_no_leaf("some", 0, 0);
    expect_leaf("some", 1, 2, 0);
    expect_leaf("some", 0, 2, 1);
    expect_no_leaf("some", 1, 1);
    expect(0, "run vector_add --chips 2 --device-mode thread -p a5sim");
    assert_non_null(strstr(output, "rank 1, dispatch 0\n"));
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    run_refuses("run vector_add --pin 0", "add --chips");
    run_refuses("run vector_add --chips 0", "--chips");
    run_refuses("run vector_add --chips 2 --pin 2", "chips from 0 to 1");
    run_refuses("run vector_add --chips 2 --pin 0,", "chips from 0 to 1");
    run_refuses("run vector_add --chips 2 --pin 0,1,1", "3 dispatches, and there are 2");
    run_refuses("run vector_add --chips 2 --set tiles=0 --dump-args 2 --out none", "tiles");
}

/* The second of a chip's results is bad, and the tree is whole. */
static void a_result_that_differs(void **state)
{
    (void)state;
    expect(1, "run wrong_stride --chips 2 --dump-args 2 --out differs");
    assert_non_null(strstr(output, "differ from the golden"));
    assert_int_equal(access(leaf("differs", 1, 0), F_OK), 0);
}

/* ---- ranks of a launcher ---- */

/* Starts `tasklens run WORDS` once for each rank, as a launcher would, and waits for all. The output of rank R is in
 * out<R>, its messages in err<R>, its exit code in code<R>; %R% in the words is the rank. */
static void launch(unsigned ranks, const char *job, const char *words)
{
    char command[3000];

    (void)snprintf(
        command, sizeof(command),
        "cd '%s'; rm -f code*; for r in $(seq 0 %u); do (export OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=%u "
        "OMPI_MCA_ess_base_jobid=%s; words='%s'; '%s/tasklens' run ${words//%%R%%/$r} >out$r 2>err$r; "
        "echo $? >c$r; mv c$r code$r) & done; wait",
        fixture_dir, ranks - 1, ranks, job, words, TL_TEST_BINARY_DIR);
    fixture_write_text("launch.sh", command);
    (void)snprintf(command, sizeof(command), "bash '%s/launch.sh'", fixture_dir);
    assert_int_equal(system(command), 0);
}

/* Waits for it. */
static int code_of(unsigned rank)
{
    char name[20];
    char *text;
    int code;

    (void)snprintf(name, sizeof(name), "code%u", rank);
    for (unsigned i = 0; i < 3000 && access(fixture_path(name), F_OK) != 0; i++)
        (void)usleep(10000);
    text = fixture_read(name, NULL);
    code = (int)strtol(text, NULL, 10);
    free(text);
    return code;
}

/* What a rank said: "out" or "err". */
static char *said(const char *stream, unsigned rank)
{
    static char *text[2];
    static unsigned next;
    char name[20];

    (void)snprintf(name, sizeof(name), "%s%u", stream, rank);
    next = !next;
    free(text[next]);
    text[next] = fixture_read(name, NULL);
    return text[next];
}

static void four_ranks_of_two(void **state)
{
    (void)state;
    launch(4, "77", "vector_add --rounds 2 --dump-args 2 --enable-chip-swimlane --enable-dep-gen --out tree");
    for (unsigned r = 0; r < 4; r++) {
        char prefix[20];
        struct tl_rank_clock c;

        if (code_of(r) != 0)
            fail_msg("rank %u: %s", r, said("err", r));
        expect_leaf("tree", r, 4, 0);
        expect_leaf("tree", r, 4, 1);
        (void)snprintf(prefix, sizeof(prefix), "rank %u: ", r);
        for (char *line = strtok(said("out", r), "\n"); line != NULL; line = strtok(NULL, "\n"))
            assert_int_equal(strncmp(line, prefix, strlen(prefix)), 0);
        (void)snprintf(prefix, sizeof(prefix), "tree/rank%u", r);
        assert_int_equal(tl__rank_clock_read(fixture_path(prefix), &c, NULL), 0);
        /* On one machine all have one clock, and whatever was measured must say so. */
        assert_int_not_equal(c.method, TL_CLOCK_WALL);
        assert_in_range((uint64_t)(c.offset_ns < 0 ? -c.offset_ns : c.offset_ns), 0, c.error_ns);
    }
    assert_int_equal(access(fixture_path("tree/.clock"), F_OK), -1);
    expect(0, "swimlane tree");
    assert_non_null(strstr(output, "recording tree: 4 ranks, 8 dispatches\n"));
    assert_non_null(strstr(output, "rank 3 ")); /* its order to rank 0, known or not */
    assert_null(strstr(output, "axis of its own"));
    assert_int_equal(access(fixture_path("tree/merged_swimlane.json"), F_OK), 0);
    launch(4, "78", "vector_add --dump-args 2 --out tree");
    for (unsigned r = 0; r < 4; r++) {
        assert_int_equal(code_of(r), 2);
        assert_non_null(strstr(said("err", r), "tree holds another job's ranks (77, this one is 78)"));
    }
    launch(4, "77", "vector_add --dump-args 2 --out tree");
    assert_int_equal(code_of(3), 2);
    assert_non_null(strstr(said("err", 3), "rank 3 of this job has recorded before"));
    expect_leaf("tree", 3, 4, 1);
}

/* Each waits for all others in its task, so that rank 0 is there when the others ask for its clock. */
static void ranks_that_live_together_measure_their_clocks(void **state)
{
    (void)state;
    launch(4, "81", TL_TEST_BINARY_DIR "/tests/meets.so --set chips=4 --dump-args 2 --out together");
    for (unsigned r = 0; r < 4; r++) {
        char leaf_name[40];
        struct tl_rank_clock c;

        if (code_of(r) != 0)
            fail_msg("rank %u: %s", r, said("err", r));
        (void)snprintf(leaf_name, sizeof(leaf_name), "together/rank%u", r);
        assert_int_equal(tl__rank_clock_read(fixture_path(leaf_name), &c, NULL), 0);
        assert_int_equal(c.method, r == 0 ? TL_CLOCK_SAME : TL_CLOCK_PING);
        assert_in_range((uint64_t)(c.offset_ns < 0 ? -c.offset_ns : c.offset_ns), 0, c.error_ns);
    }
}

static void the_root_is_the_jobs(void **state)
{
    (void)state;
    launch(2, "79", "vector_add --chips 2 --dump-args 2");
    for (unsigned r = 0; r < 4; r++)
        expect_leaf("outputs/vector_add_default_79", r, 4, 0);
    launch(2, "\"\"", "vector_add --dump-args 2");
    assert_int_equal(code_of(0), 2);
    assert_non_null(strstr(said("err", 0), "--out DIR"));
    launch(2, "\"\"", "vector_add"); /* nothing is recorded: no root is needed */
    assert_int_equal(code_of(0), 0);
    assert_int_equal(code_of(1), 0);
    launch(1, "80", "vector_add --dump-args 2 --out single"); /* one process of one is no distributed run */
    assert_int_equal(access(fixture_path("single/args_dump/args_dump.json"), F_OK), 0);
}

/* ---- a rank that hangs ---- */

static void a_rank_hangs(void **state)
{
    unsigned reported = 0;

    (void)state;
    assert_int_equal(setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "3000", 1), 0); /* the other one is done by then */
    launch(2, "81", "tests/hangs.so --set stuck=%R% --dump-args 2 --out hung");
    assert_int_equal(unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS"), 0);
    assert_int_equal(code_of(0), 0);
    assert_int_equal(code_of(1), 3);
    for (unsigned r = 0; r < 2; r++)
        reported += strstr(said("err", r), "[RANKS]") != NULL;
    assert_int_equal(reported, 1);
    assert_non_null(strstr(said("err", 1), "rank 1 makes no progress; all 2 ranks:"));
    assert_non_null(strstr(said("err", 1), "rank 1: stalled, dispatch 0, 2 of 5 tasks finished, last r0t1 "));
    assert_non_null(strstr(said("err", 1), "for: task r0t2 \"stuck\" RUNNING on AIV core"));
    assert_non_null(strstr(said("err", 1), "rank 0: done, dispatch 0, 5 of 5 tasks finished"));
    assert_non_null(strstr(said("err", 1), "look at rank 1 first: the only one without progress"));
}

/* In one process too, and there both hang. */
static void several_hanging_chips_are_reported_once(void **state)
{
    char *first;

    (void)state;
    assert_int_equal(setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "3000", 1),
                     0); /* neither has made progress for a second by then */
    expect(3, "run tests/hangs.so --chips 2");
    assert_int_equal(unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS"), 0);
    first = strstr(message, "makes no progress; all 2 ranks:");
    assert_non_null(first);
    assert_null(strstr(first + 1, "makes no progress")); /* one report for all */
    assert_non_null(strstr(message, "no rank is the clear cause: several make no progress"));
}

/* ---- a rank that is killed ---- */

/* Kills the rank's host once it has recorded some payload, of more than one buffer. */
static void kill_when_it_records(const char *name)
{
    struct tl_dispatch d;
    struct stat st;
    char path[100];

    (void)snprintf(path, sizeof(path), "%s/args_dump/args.bin", name);
    for (unsigned i = 0; i < 3000; i++) {
        if (stat(fixture_path(path), &st) == 0 && st.st_size > 2000000) {
            assert_int_equal(tl__dispatch_read(fixture_path(name), &d, NULL), 0);
            assert_int_equal(kill((pid_t)d.pid, SIGKILL), 0);
            return;
        }
        (void)usleep(20000);
    }
    fail_msg("rank 3 records nothing");
}

static void a_rank_is_killed(void **state)
{
    char command[2000];

    (void)state;
    /* Three good ranks; the fourth writes slowly, so that it is in the middle when it dies. */
    (void)snprintf(
        command, sizeof(command),
        "cd '%s'; rm -f code*; for r in 0 1 2 3; do (export TASKLENS_RANK=$r TASKLENS_RANKS=4 TASKLENS_JOB=k; words=; "
        "[ $r = 3 ] && words='--set elements=4000000 --set tiles=400 --throttle-writer 2 --dfx-set records=16'; "
        "'%s/tasklens' run "
        "vector_add $words --dump-args 2 --enable-chip-swimlane --out killed >out$r 2>err$r; echo $? >c$r; mv c$r "
        "code$r) & "
        "done",
        fixture_dir, TL_TEST_BINARY_DIR);
    fixture_write_text("launch.sh", command);
    (void)snprintf(command, sizeof(command), "bash '%s/launch.sh'", fixture_dir);
    assert_int_equal(system(command), 0);
    kill_when_it_records("killed/rank3/d0");
    for (unsigned r = 0; r < 4; r++) {
        assert_int_equal(code_of(r), r == 3 ? 128 + SIGKILL : 0);
        if (r != 3)
            expect_leaf("killed", r, 4, 0);
    }
    run_refuses("swimlane killed",
                "rank 3 has no chip_swimlane_records.json in killed/rank3/d0: its run was cut short");
    expect(0, "recover killed/rank3/d0");
    expect(0, "swimlane killed");
    assert_non_null(strstr(output, "recording killed: 4 ranks, 4 dispatches\n"));
    expect(0, "dump --verify killed/rank3/d0");
    assert_int_equal(access(fixture_path("killed/rank3/d0/run.journal"), F_OK), -1);
    expect_leaf("killed", 2, 4, 0);
}

static int setup(void **state)
{
    char link[600];

    if (fixture_setup(state) != 0)
        return -1;
    (void)snprintf(link, sizeof(link), "%s/tests", TL_TEST_BINARY_DIR);
    (void)unsetenv("TASKLENS_RANK");
    return symlink(link, fixture_path("tests"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dispatches_go_to_the_chips_in_turn),
        cmocka_unit_test(chips_work_at_once),
        cmocka_unit_test(dispatches_go_to_the_chips_that_pin_names),
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(a_result_that_differs),
        cmocka_unit_test(four_ranks_of_two),
        cmocka_unit_test(ranks_that_live_together_measure_their_clocks),
        cmocka_unit_test(the_root_is_the_jobs),
        cmocka_unit_test(a_rank_hangs),
        cmocka_unit_test(several_hanging_chips_are_reported_once),
        cmocka_unit_test(a_rank_is_killed),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
