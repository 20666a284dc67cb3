/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of one worker, one behind the other: what each records is its own and later than the one before it, what is left
 * of runs that nobody waited for when their worker closes, and which calls report a kernel that never returns. (At random,
 * and compared with workers that do nothing else: tests/stress/series.c.)
 */
#include "unit/artifact_fixture.h"

#include <sys/wait.h>

#include <tasklens/recording.h>
#include <tasklens/worker.h>

#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "artifact/swimlane.h"
#include "base/env.h"
#include "host/worker_impl.h"
#include "support/submit_opts.h"

#define N 16u
enum { TILES = 4 };

static float data[4][4][N]; /* of several runs, each with x, y, bias and z */
static float in[64], out[64];

static struct tl_worker *open_worker(enum tl_device_mode mode, const char *platform, unsigned depth)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_worker *w = NULL;
    struct tl_error err;

    opts.mode = mode;
    opts.platform = platform;
    opts.sim_threads = 2;
    opts.depth = depth;
    if (tl_worker_open(&opts, &w, &err) != 0)
        fail_msg("%s", err.msg);
    return w;
}

static struct tl_loaded *load(struct tl_worker *w, const char *name)
{
    struct tl_loaded *l = NULL;
    struct tl_error err;
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/examples/%s.so", TL_TEST_BINARY_DIR, name);
    if (tl_worker_load(w, path, &l, &err) != 0)
        fail_msg("%s", err.msg);
    return l;
}

static struct tl_run_config everything(const char *dir)
{
    struct tl_run_config c = TL_RUN_CONFIG_INIT;

    c.output_prefix = fixture_path(dir);
    c.levels[TL_COLLECT_DUMP] = 2;
    c.levels[TL_COLLECT_SWIMLANE] = 4;
    c.levels[TL_COLLECT_PMU] = 2;
    c.levels[TL_COLLECT_DEPS] = c.levels[TL_COLLECT_SCOPE] = true;
    return c;
}

static struct tl_run *submit_add(struct tl_worker *w, struct tl_loaded *l, unsigned set, const char *dir)
{
    static const char *const names[4] = {"x", "y", "bias", "z"};
    const struct tl_run_config c = everything(dir);
    const int64_t params[2] = {N, TILES};
    struct tl_host_tensor t[4];
    struct tl_run *run = NULL;
    struct tl_error err;

    for (unsigned i = 0; i < 4; i++) {
        t[i] = (struct tl_host_tensor){.name = names[i],
                                       .data = data[set][i],
                                       .shape = {N},
                                       .dtype = TL_FLOAT32,
                                       .rank = 1,
                                       .role = i < 3 ? TL_IN : TL_OUT};
        for (unsigned k = 0; k < N; k++)
            data[set][i][k] = i < 3 ? (float)(set + i + k) : -1.0f;
    }
    if (tl_worker_submit(w, l, SUBMIT_OPTS(t, 4, params, 2, &c), &run, &err) != 0)
        fail_msg("%s", err.msg);
    return run;
}

static struct tl_run *submit_spin(struct tl_worker *w, struct tl_loaded *l, const char *dir, struct tl_error *err)
{
    const struct tl_host_tensor t[2] = {
        {.name = "x", .data = in, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "y", .data = out, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const struct tl_run_config c = everything(dir);
    struct tl_run *run = NULL;

    if (tl_worker_submit(w, l, SUBMIT_OPTS(t, 2, NULL, 0, &c), &run, err) != 0)
        return NULL;
    return run;
}

static bool there(const char *name)
{
    return access(fixture_path(name), F_OK) == 0;
}

static const char *file_of(const char *dir, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return fixture_path(path);
}

/* A whole recording of vector_add, and no more: nothing of a neighbour's, no journal. Returns when it ended. */
static uint64_t expect_whole(const char *dir, uint64_t after_cycles)
{
    struct tl_recording *r;
    struct tl_swimlane s;
    struct tl_deps d;
    struct tl_dump_verdict verdict;
    uint64_t last = 0;

    assert_int_equal(tl_recording_open(fixture_path(dir), &r, NULL), 0);
    assert_int_equal(tl_recording_count(r), TILES * 5);
    assert_int_equal(tl_recording_verify(r, &verdict), 0);
    tl_recording_close(r);
    assert_int_equal(tl__deps_read(file_of(dir, "deps.json"), &d, NULL), 0);
    assert_int_equal(d.n_tasks, TILES);
    for (uint64_t i = 0; i < d.n_tasks; i++)
        assert_int_equal(d.tasks[i].task_id & UINT32_MAX, i);
    tl__deps_fini(&d);
    assert_int_equal(tl__swimlane_read(file_of(dir, "chip_swimlane_records.json"), &s, NULL), 0);
    assert_int_equal(s.n_cores, TILES);
    assert_int_equal(s.n_orchs, TILES);
    for (uint64_t i = 0; i < s.n_cores; i++) {
        assert_true(s.cores[i].start_cycles >= after_cycles);
        last = s.cores[i].end_cycles > last ? s.cores[i].end_cycles : last;
    }
    for (uint64_t i = 0; i < s.n_orchs; i++)
        assert_true(s.orchs[i].start_cycles >= after_cycles);
    for (uint64_t i = 0; i < s.n_phases; i++) {
        assert_true(s.phases[i].start_cycles >= after_cycles);
        last = s.phases[i].end_cycles > last ? s.phases[i].end_cycles : last;
    }
    tl__swimlane_fini(&s);
    assert_int_equal(access(file_of(dir, "run.journal"), F_OK), -1);
    return last;
}

static void each_run_is_later_and_whole(void **state)
{
    static const char *const platforms[] = {"a2a3sim", "a5sim"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct tl_worker *w = open_worker(TL_DEVICE_PROCESS, platforms[i], 0);
        struct tl_loaded *l = load(w, "vector_add");
        struct tl_run *run, *before = NULL;
        uint64_t last = 0;
        char dir[32];

        for (unsigned k = 0; k < 6; k++) { /* half of them one by one, then one beside the other */
            (void)snprintf(dir, sizeof(dir), "later-%u-%u", i, k);
            run = submit_add(w, l, k % 4, dir);
            if (before != NULL)
                assert_int_equal(tl_worker_wait(w, before, NULL, NULL), 0);
            before = k < 3 ? NULL : run;
            if (k < 3)
                assert_int_equal(tl_worker_wait(w, run, NULL, NULL), 0);
        }
        assert_int_equal(tl_worker_wait(w, before, NULL, NULL), 0);
        for (unsigned k = 0; k < 6; k++) {
            (void)snprintf(dir, sizeof(dir), "later-%u-%u", i, k);
            last = expect_whole(dir, last);
        }
        tl_worker_close(w);
    }
}

/* One has ended, one is on the device, one is prepared. */
static void closing_exports_what_had_ended(void **state)
{
    struct tl_worker *w = open_worker(TL_DEVICE_PROCESS, "a2a3sim", 4);
    struct tl_loaded *add = load(w, "vector_add"), *spin = load(w, "spin");
    struct tl_run *run = submit_add(w, add, 0, "ended");
    struct tl_error err;

    (void)state;
    assert_int_equal(mkdir(fixture_path("launched"), 0777), 0);
    fixture_write_text("launched/mine", "a file of the user's");
    assert_int_equal(tl__run_settle(run, TL_FOREVER), 0);
    assert_non_null(submit_spin(w, spin, "launched", &err));
    run = submit_add(w, add, 1, "prepared");
    assert_int_equal(run->stage, TL_RUN_PREPARED);
    assert_true(there("prepared/run.journal"));
    tl_worker_close(w);
    (void)expect_whole("ended", 0);
    assert_false(there("prepared"));
    assert_true(there("launched/mine"));
    assert_int_equal(unlink(fixture_path("launched/mine")), 0);
    assert_int_equal(rmdir(fixture_path("launched")), 0); /* which holds nothing else */
}

/* A thread cannot be stopped: what is on the device ends, and is exported. */
static void closing_waits_for_a_thread(void **state)
{
    struct tl_worker *w = open_worker(TL_DEVICE_THREAD, "a5sim", 4);
    struct tl_loaded *add = load(w, "vector_add");

    (void)state;
    (void)submit_add(w, add, 0, "thread-0");
    (void)submit_add(w, add, 1, "thread-1");
    (void)submit_add(w, add, 2, "thread-2");
    tl_worker_close(w);
    (void)expect_whole("thread-0", 0);
    assert_true(!there("thread-1") || there("thread-1/dfx_meta.json"));
    assert_true(!there("thread-2") || there("thread-2/dfx_meta.json"));
}

static int next_is_reported(void)
{
    struct tl_worker *w = open_worker(TL_DEVICE_THREAD, "a2a3sim", 2);
    struct tl_loaded *spin = load(w, "spin"), *add = load(w, "vector_add");
    struct tl_error err = {.msg = ""};
    struct tl_run *bad = submit_spin(w, spin, "poison", &err), *behind = submit_add(w, add, 0, "behind");

    if (bad == NULL || tl_worker_wait(w, bad, NULL, &err) != TL_EHANG)
        return 1;
    if (tl_worker_wait(w, behind, NULL, &err) != TL_EPOISONED || strstr(err.msg, "run 1 left a kernel") == NULL)
        return 2;
    if (submit_spin(w, spin, "after", &err) != NULL || strstr(err.msg, "run 1 left a kernel") == NULL)
        return 3;
    tl_worker_close(w);
    return 0;
}

static void a_poisoned_worker_names_the_run(void **state)
{
    struct tl_meta meta;
    int status;
    pid_t pid;

    (void)state;
    (void)setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "1000", 1);
    pid = fork(); /* the stuck thread ends with that process */
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(next_is_reported());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(tl__meta_read(fixture_path("poison"), &meta, NULL), 0); /* and it is exported like a good one */
    assert_string_equal(meta.status, "TL_EHANG");
    assert_int_equal(meta.tasks, 2);
    assert_false(there("behind/run.journal"));
    assert_false(there("after"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_run_is_later_and_whole),
        cmocka_unit_test(closing_exports_what_had_ended),
        cmocka_unit_test(closing_waits_for_a_thread),
        cmocka_unit_test(a_poisoned_worker_names_the_run),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
