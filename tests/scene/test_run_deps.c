/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens run --enable-dep-gen`: the graph of bundled programs on each arch and runtime, 65,536 tasks, and what there
 * is of it when a kernel hangs or crashes, or the host is killed.
 */
#include "scene/cli.h"
#include "scene/process.h"

#include <fcntl.h>
#include <signal.h>

#include "artifact/deps.h"
#include "artifact/journal.h"

static const char *const platforms[] = {"a2a3sim", "a5sim"};
static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};

/* DIR's graph; every edge's ends are listed, the earlier first. */
static void read_graph(const char *dir, struct tl_deps *ret_deps)
{
    struct tl_error err = {0};
    char name[100];

    (void)snprintf(name, sizeof(name), "%s/" TL_DEPS_NAME, dir);
    if (tl__deps_read(fixture_path(name), ret_deps, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(ret_deps->has_filtered);
    for (uint64_t i = 0; i < ret_deps->n_edges; i++) {
        assert_int_not_equal(ret_deps->edge_succ[i], UINT32_MAX);
        assert_true(ret_deps->edge_pred[i] < ret_deps->edge_succ[i]);
    }
}

static bool exists(const char *dir, const char *file)
{
    char name[100];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, file);
    return access(fixture_path(name), F_OK) == 0;
}

static void the_graph_of_each_program_is_recorded(void **state)
{
    static const struct {
        const char *words;
        uint64_t tasks, edges;
    } rows[] = {
        {"wavefront", 256, 2 * 16 * 15},
        {"wavefront --task-window 64", 256, 2 * 16 * 15},
        {"chain", 256, 255},
        {"independent", 256, 0},
        {"many_deps --set deps=646", 66, 646},
        {"many_deps --dep-pool 1", 66, 65},
        {"wavefront --dep-pool 1", 256, 2 * 16 * 15},
        {"spmd", 3, 0},
    };

    (void)state;
    for (unsigned p = 0; p < 2; p++)
        for (unsigned r = 0; r < 2; r++)
            for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct tl_deps d = {0};
                char words[300], dir[40];

                if (r == 1 && strstr(rows[i].words, " --") != NULL)
                    continue; /* an image is not recycled */
                (void)snprintf(dir, sizeof(dir), "g%u%u%u", p, r, i);
                (void)snprintf(words, sizeof(words), "run %s -p %s --runtime %s --enable-dep-gen --out %s",
                               rows[i].words, platforms[p], runtimes[r], dir);
                expect(0, words);
                read_graph(dir, &d);
                assert_int_equal(d.n_tasks, rows[i].tasks);
                assert_int_equal(d.n_edges, rows[i].edges);
                if (r == 1)
                    assert_int_equal(d.n_filtered, 0);
                tl__deps_fini(&d);
            }
}

/* With other recordings of the same run, and in each round of several. */
static void the_graph_is_recorded_beside_other_recordings(void **state)
{
    (void)state;
    expect(0, "run paged_attention --runtime host_build_graph --rounds 2 --dump-args 2 --enable-chip-swimlane "
              "--enable-dep-gen --out all");
    for (unsigned round = 0; round < 2; round++) {
        struct tl_deps d = {0};
        char dir[40];

        (void)snprintf(dir, sizeof(dir), "all/round%u", round);
        read_graph(dir, &d);
        assert_int_equal(d.n_tasks, 56);
        assert_int_equal(d.n_edges, 136);
        assert_true(exists(dir, "args_dump/args_dump.json"));
        assert_true(exists(dir, "chip_swimlane_records.json"));
        tl__deps_fini(&d);
    }
    expect(0, "run vector_add --out all/round0 --dump-args 2"); /* an older graph is not this run's */
    assert_false(exists("all/round0", TL_DEPS_NAME));
}

#ifdef __SANITIZE_THREAD__
#define SIDE 64u /* minutes otherwise */
#else
#define SIDE 256u
#endif

static void the_graph_of_many_tasks_is_recorded(void **state)
{
    (void)state;
    for (unsigned r = 0; r < 2; r++) {
        struct tl_deps d = {0};
        char words[300];

        (void)snprintf(words, sizeof(words),
                       "run wavefront --set n=%u --set width=%u --runtime %s --enable-dep-gen --out big", SIDE, SIDE,
                       runtimes[r]);
        expect(0, words);
        read_graph("big", &d);
        assert_int_equal(d.n_tasks, SIDE * SIDE);
        assert_int_equal(d.n_args, SIDE * SIDE + 2 * SIDE * (SIDE - 1));
        assert_int_equal(d.n_edges, 2 * SIDE * (SIDE - 1));
        for (uint64_t i = 0; i < d.n_edges; i++) {
            assert_int_equal(d.edges[i].source, TL_DEPS_TENSORMAP);
            assert_int_equal(d.edges[i].overlap, TL_DEPS_COVERED);
            assert_memory_equal(&d.edges[i].consumer, &d.edges[i].producer, sizeof(struct tl_deps_view));
        }
        tl__deps_fini(&d);
    }
}

/* --- runs that end otherwise ----------------------------------------------------------------------------------------
 */

static void a_run_that_failed_has_its_graph(void **state)
{
    char hang[700];

    (void)state;
    (void)snprintf(hang, sizeof(hang), "run '%s/tests/hangs.so' --enable-dep-gen", TL_TEST_BINARY_DIR);
    assert_int_equal(setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "1000", 1), 0);
    for (unsigned r = 0; r < 2; r++) {
        static const char *const programs[] = {NULL, "run crash --enable-dep-gen"};

        for (unsigned i = 0; i < 2; i++) {
            struct tl_deps d = {0};
            char words[900], dir[40];

            (void)snprintf(dir, sizeof(dir), "failed%u%u", r, i);
            (void)snprintf(words, sizeof(words), "%s --runtime %s --out %s", i == 0 ? hang : programs[i], runtimes[r],
                           dir);
            expect(3, words);
            read_graph(dir, &d);
            assert_true(d.n_tasks >= 3 && d.n_tasks <= 5); /* a crash may come before the last submits */
            assert_true(i == 1 || d.n_tasks == 5);
            for (unsigned k = 1; k < d.n_tasks; k++) { /* a chain by allocated outputs */
                bool found = false;

                for (uint64_t e = 0; e < d.n_edges; e++)
                    found |= d.edge_pred[e] == k - 1 && d.edge_succ[e] == k;
                assert_true(found);
            }
            assert_false(exists(dir, TL_JOURNAL_NAME));
            tl__deps_fini(&d);
        }
    }
    assert_int_equal(unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS"), 0);
}

static pid_t start_long(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        const char *command = TL_TEST_BINARY_DIR "/tasklens";
        int null = open("/dev/null", O_RDWR);

        if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || chdir(fixture_dir) != 0)
            _exit(99);
        (void)execl(command, "tasklens", "run", "chain", "--set", "n=8000000", "--enable-dep-gen", "--dfx-set",
                    "records=32", "--out", "killed", (char *)NULL);
        _exit(99);
    }
    return pid;
}

static void a_killed_host_s_graph_is_recovered(void **state)
{
    pid_t pid = start_long();
    struct tl_deps d = {0};
    struct stat st = {0};
    int status;

    (void)state;
    for (int i = 0; i < 2000 && st.st_size < 400000; i++) {
        usleep(5000);
        (void)stat(fixture_path("killed/" TL_JOURNAL_NAME), &st);
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_false(exists("killed", TL_DEPS_NAME));
    for (int i = 0; i < 100; i++) { /* the journal's lock goes with the process */
        tasklens("recover killed");
        if (exit_code == 0)
            break;
        usleep(50000);
    }
    assert_int_equal(exit_code, 0);
    assert_non_null(strstr(output, "\nnext       tasklens deps killed\nkilled\n")); /* and no dump, which it has not */
    read_graph("killed", &d);
    assert_true(d.n_tasks > 500);
    assert_int_equal(d.n_edges, d.n_tasks - 1);
    for (uint64_t i = 0; i < d.n_edges; i++) {
        assert_int_equal(d.edge_succ[i], i + 1);
        assert_int_equal(d.edge_pred[i], i);
    }
    assert_false(exists("killed", TL_JOURNAL_NAME));
    tl__deps_fini(&d);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_graph_of_each_program_is_recorded), TEST(the_graph_is_recorded_beside_other_recordings),
        TEST(the_graph_of_many_tasks_is_recorded),   TEST(a_run_that_failed_has_its_graph),
        TEST(a_killed_host_s_graph_is_recovered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
