/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All collectors in a run that does not come to its end: a kernel that never returns, one that crashes, a host that is
 * killed. Every artifact is there and whole up to that moment, and the kernels' names have been there from the start.
 */
#include "scene/cli.h"

#include <fcntl.h>
#include <signal.h>

#include "artifact/deps.h"
#include "artifact/name_map.h"
#include "artifact/pmu.h"
#include "artifact/scope_stats.h"
#include "artifact/swimlane.h"

#define ALL                                                                                                            \
    "--dump-args 2 --enable-chip-swimlane --enable-dep-gen --enable-pmu --enable-scope-stats --dfx-set records=1"
#define TASKS 5u    /* of hangs.so, a chain */
#define FINISHED 2u /* before the third, which does not return */

static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};
static const char *const platforms[] = {"a2a3sim", "a5sim"};

/* Submits that were recorded. All, of a graph that was built first; beside the schedulers the orchestration's thread
 * may itself be in the kernel that does not return. */
static uint64_t check_swimlane(const char *dir, bool built_first, unsigned anchors, uint64_t running)
{
    uint64_t submits, still = 0;
    struct tl_error err = {0};
    struct tl_swimlane s;
    char name[96];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, TL_SWIMLANE_NAME);
    if (tl__swimlane_read(fixture_path(name), &s, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(s.level, 4);
    assert_int_equal(s.n_cores, FINISHED + running);
    assert_int_equal(s.n_aicpus, FINISHED + running);
    for (uint64_t i = 0; i < s.n_cores; i++) {
        const struct tl_swim_core *c = &s.cores[i];

        if (c->end_cycles == 0) { /* it ran when the hang was declared */
            still++;
            assert_int_equal(c->task_id, FINISHED);
            assert_int_equal(s.aicpus[i].finish_cycles, 0);
            assert_true(s.aicpus[i].dispatch_cycles != 0 && s.aicpus[i].dispatch_cycles <= c->start_cycles);
            continue;
        }
        assert_true(c->task_id < FINISHED);
        assert_true(s.aicpus[i].dispatch_cycles <= c->start_cycles && c->start_cycles <= c->end_cycles &&
                    c->end_cycles <= s.aicpus[i].finish_cycles);
    }
    assert_int_equal(still, running);
    submits = s.n_orchs;
    assert_true(built_first ? submits == TASKS : submits >= FINISHED && submits <= TASKS);
    for (uint64_t i = 0; i < s.n_orchs; i++)
        assert_int_equal(s.orchs[i].task_id, i);
    assert_true(s.n_phases >= 2 * FINISHED + 1); /* given out and taken back, and the last one given out */
    assert_int_equal(s.n_anchors, anchors);
    tl__swimlane_fini(&s);
    return submits;
}

/* A task goes into the graph before its submit is over. */
static void check_graph(const char *dir, uint64_t submits)
{
    struct tl_error err = {0};
    struct tl_deps d;
    char name[96];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, TL_DEPS_NAME);
    if (tl__deps_read(fixture_path(name), &d, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(d.n_tasks == submits || d.n_tasks == submits + 1);
    assert_true(d.n_edges >= d.n_tasks - 1); /* a chain */
    tl__deps_fini(&d);
}

static void check_counters(const char *dir)
{
    struct tl_error err = {0};
    struct tl_pmu p = {0};
    char name[96];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, TL_PMU_NAME);
    if (tl__pmu_read(fixture_path(name), &p, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(p.n_rows, FINISHED);
    for (uint64_t i = 0; i < p.n_rows; i++)
        assert_int_equal(p.rows[i].task_id, i);
    tl__pmu_fini(&p);
}

static void check_rings(const char *dir, bool fatal)
{
    struct tl_scope_stats s = {0};
    struct tl_error err = {0};
    char name[96];

    (void)snprintf(name, sizeof(name), "%s/%s/%s", dir, TL_SCOPE_DIR_NAME, TL_SCOPE_NAME);
    if (tl__scope_stats_read(fixture_path(name), &s, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(s.boundaries.count >= 2);
    assert_int_equal(s.fatal, fatal);
    tl__scope_stats_fini(&s);
}

static void check_names(const char *dir, const char *first)
{
    struct tl_error err = {0};
    struct tl_name_map map;

    if (tl__name_map_find(fixture_path(dir), &map, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(tl__name_of(&map, 0), first);
    tl__name_map_fini(&map);
}

/* The dump's own tests look at its values. */
static void check_dump(const char *dir)
{
    char words[200];

    (void)snprintf(words, sizeof(words), "dump --verify %s", dir);
    tasklens(words); /* unfinished records may be lost, and the loss is reported; the others are right */
    assert_true(exit_code == 0 || (exit_code == 4 && strstr(output, "lost: ") != NULL));
    assert_non_null(strstr(output, "; 0 faults"));
}

static void a_kernel_that_never_returns(void **state)
{
    (void)state;
    assert_int_equal(setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "1000", 1), 0);
    for (unsigned i = 0; i < 4; i++) {
        char words[700], dir[20];

        (void)snprintf(dir, sizeof(dir), "hang%u", i);
        (void)snprintf(words, sizeof(words), "run '%s/tests/hangs.so' -p %s --runtime %s --device-mode %s %s --out %s",
                       TL_TEST_BINARY_DIR, platforms[i % 2], runtimes[i / 2], i % 2 != 0 ? "thread" : "process", ALL,
                       dir);
        expect(3, words);
        check_graph(dir, check_swimlane(dir, i / 2 == 1, 2, 1));
        check_counters(dir);
        check_rings(dir, true);
        check_names(dir, "add");
        check_dump(dir);
    }
    assert_int_equal(unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS"), 0);
}

static void a_kernel_that_crashes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char words[700], dir[20], name[96];
        struct tl_swimlane s;
        struct tl_error err = {0};

        (void)snprintf(dir, sizeof(dir), "crash%u", i);
        (void)snprintf(words, sizeof(words), "run '%s/tests/faults.so' -p %s --runtime %s %s --out %s",
                       TL_TEST_BINARY_DIR, platforms[i % 2], runtimes[i / 2], ALL, dir);
        expect(3, words);
        (void)snprintf(name, sizeof(name), "%s/%s", dir, TL_SWIMLANE_NAME);
        if (tl__swimlane_read(fixture_path(name), &s, &err) != 0)
            fail_msg("%s", err.msg);
        assert_int_equal(s.n_cores, FINISHED); /* the third dies */
        assert_int_equal(s.n_aicpus, FINISHED);
        assert_true(s.n_orchs >= FINISHED); /* the third may crash before its submit is over */
        tl__swimlane_fini(&s);
        check_counters(dir);
        check_rings(dir, true);
        check_dump(dir);
    }
}

/* --- a host that is killed -----------------------------------------------------------------------------------------
 */

static pid_t start(const char *platform, const char *runtime, const char *dir)
{
    pid_t pid = fork();
    char command[1200];
    int null;

    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || chdir(fixture_dir) != 0)
        _exit(99);
    (void)snprintf(command, sizeof(command),
                   "exec '%s/tasklens' run '%s/tests/hangs.so' -p %s --runtime %s %s --out %s", TL_TEST_BINARY_DIR,
                   TL_TEST_BINARY_DIR, platform, runtime, ALL, dir);
    (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(99);
}

static off_t journal_size(const char *dir)
{
    struct stat st;
    char name[96];

    (void)snprintf(name, sizeof(name), "%s/run.journal", dir);
    return stat(fixture_path(name), &st) == 0 ? st.st_size : -1;
}

/* Until the journal has grown and then not any more: all has arrived that will. */
static void wait_for_the_journal(const char *dir)
{
    off_t seen = -1;
    int still = 0;

    for (int i = 0; i < 3000 && still < 60; i++) {
        off_t size = journal_size(dir);

        still = size == seen && size > 4096 ? still + 1 : 0;
        seen = size;
        usleep(10000);
    }
    assert_int_equal(still, 60);
}

static void a_host_that_is_killed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char words[100], dir[20];
        int status;
        pid_t pid;

        (void)snprintf(dir, sizeof(dir), "kill%u", i);
        pid = start(platforms[i % 2], runtimes[i / 2], dir);
        wait_for_the_journal(dir);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        check_names(dir, "add"); /* before anybody recovers anything */
        (void)snprintf(words, sizeof(words), "recover %s", dir);
        expect(0, words);
        assert_int_equal(journal_size(dir), -1);
        check_graph(dir, check_swimlane(dir, i / 2 == 1, 0, 0));
        check_counters(dir);
        check_rings(dir, true);
        check_dump(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_never_returns),
        cmocka_unit_test(a_kernel_that_crashes),
        cmocka_unit_test(a_host_that_is_killed),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
