/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C API: runs on one worker, in both device modes, with and without a recording, several in a row, one beside the
 * export of another, after a crash, and what a worker refuses.
 */
#include "unit/artifact_fixture.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <tasklens/log.h>
#include <tasklens/recording.h>
#include <tasklens/worker.h>

#include "base/env.h"
#include "host/worker_impl.h"
#include "support/submit_opts.h"

#define N 4096u

/* ---- A program linked into this test: out = in + add, in TASKS tasks ---- */

enum { TASKS = 16, STEP = N / TASKS };

static void add_kernel(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < k->tensors[1].shape[0]; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, const float)[i] + (float)TL_SCALAR_OF(k, 0, int64_t);
}

static void add_orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const int64_t add = in->params[0];

    TL_SCOPE (o) {
        for (uint32_t at = 0, count = STEP; at < N; at += STEP) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor from, to;

            if (tl_view(&in->tensors[0], &at, &count, &from) != 0 || tl_view(&in->tensors[1], &at, &count, &to) != 0)
                tl_orch_fail(o, "impossible view");
            tl_add_input(&args, &from);
            tl_add_output(&args, &to);
            tl_add_scalar(&args, add);
            tl_submit_aiv(o, 0, &args);
        }
    }
}

static int add_prepare(struct tl_data *d)
{
    (void)d;
    return 0;
}

static const struct tl_kernel add_kernels[] = {TL_KERNEL(0, "add", TL_AIV, add_kernel, TL_IN, TL_OUT)};
static const struct tl_param add_params[] = {{"add", 1, 0, 1000, ""}};
static const struct tl_program add_program = {.struct_size = sizeof(add_program),
                                              .api_version = TL_PROGRAM_API,
                                              .name = "adder",
                                              .kernels = add_kernels,
                                              .n_kernels = 1,
                                              .params = add_params,
                                              .n_params = 1,
                                              .orchestrate = add_orchestrate,
                                              .prepare = add_prepare};

/* ---- Another, whose tasks take their time ---- */

enum { SLOW_TASKS = 128 };

static void slow_kernel(const struct tl_kernel_args *k)
{
    usleep(20000);
    TL_DATA(k, 0, float)[0] = 1.0f;
}

static void slow_orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    TL_SCOPE (o) {
        for (uint32_t at = 0, count = 1; at < SLOW_TASKS; at++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor to;

            if (tl_view(&in->tensors[0], &at, &count, &to) != 0)
                tl_orch_fail(o, "impossible view");
            tl_add_output(&args, &to);
            tl_submit_aiv(o, 0, &args);
        }
    }
}

static const struct tl_kernel slow_kernels[] = {TL_KERNEL(0, "slow", TL_AIV, slow_kernel, TL_OUT)};
static const struct tl_program slow_program = {.struct_size = sizeof(slow_program),
                                               .api_version = TL_PROGRAM_API,
                                               .name = "slow",
                                               .kernels = slow_kernels,
                                               .n_kernels = 1,
                                               .orchestrate = slow_orchestrate,
                                               .prepare = add_prepare};

/* ---- Help ---- */

static float in[N], out[N], out_too[N];

static struct tl_worker *open_worker(enum tl_device_mode mode, const char *transport)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_worker *w = NULL;
    struct tl_error err;

    opts.mode = mode;
    opts.transport = transport;
    opts.sim_threads = 2;
    if (tl_worker_open(&opts, &w, &err) != 0)
        fail_msg("%s", err.msg);
    return w;
}

static struct tl_run_config config_for(int level, const char *dir)
{
    struct tl_run_config config = TL_RUN_CONFIG_INIT;

    config.levels[TL_COLLECT_DUMP] = level;
    config.output_prefix = level > 0 ? fixture_path(dir) : NULL;
    return config;
}

static struct tl_run *submit(struct tl_worker *w, struct tl_loaded *l, float *to, int64_t add, int level,
                             const char *dir)
{
    const struct tl_host_tensor tensors[2] = {
        {.name = "in", .data = in, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "out", .data = to, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const struct tl_run_config config = config_for(level, dir);
    struct tl_run *run = NULL;
    struct tl_error err = {.msg = ""};

    if (tl_worker_submit(w, l, SUBMIT_OPTS(tensors, 2, &add, 1, &config), &run, &err) != 0)
        fail_msg("%s", err.msg);
    return run;
}

static void expect_sum(const float *to, int64_t add)
{
    for (uint32_t i = 0; i < N; i++)
        assert_true(to[i] == in[i] + (float)add);
}

static void finish(struct tl_worker *w, struct tl_run *run, const float *to, int64_t add, int level)
{
    struct tl_run_result result;
    struct tl_error err = {.msg = ""};

    if (tl_worker_wait(w, run, &result, &err) != 0)
        fail_msg("%s", err.msg);
    expect_sum(to, add);
    assert_int_equal(result.tasks, TASKS);
    assert_int_equal(result.records_collected, level == 2 ? TASKS * 3 : 0);
    assert_int_equal(result.records_attempted, result.records_collected);
    assert_int_equal(result.payload_bytes, level == 2 ? 2 * sizeof(in) : 0);
    assert_int_equal(result.artifacts[0] != '\0', level > 0);
}

/* Every output of the recording is `add` more than its input. */
static void expect_recording(const char *dir, int64_t add)
{
    struct tl_recording *r;
    struct tl_dump_verdict verdict;
    uint64_t outputs = 0;

    assert_int_equal(tl_recording_open(fixture_path(dir), &r, NULL), 0);
    assert_int_equal(tl_recording_count(r), TASKS * 3);
    assert_int_equal(tl_recording_verify(r, &verdict), 0);
    for (uint64_t i = 0; i < TASKS * 3; i++) {
        const struct tl_dump_record *at = tl_recording_at(r, i);
        const void *data;

        if (at->kind == TL_KIND_SCALAR) {
            assert_int_equal(at->value_bits, add);
            assert_int_equal(at->dtype, TL_INT64);
            continue;
        }
        assert_int_equal(tl_recording_payload(r, i, &data, NULL), 0);
        for (uint32_t k = 0; k < STEP; k++) {
            float value;

            memcpy(&value, (const char *)data + k * sizeof(value), sizeof(value));
            assert_true(value == in[at->start_offset + k] + (at->role == TL_ROLE_OUTPUT ? (float)add : 0.0f));
        }
        outputs += at->role == TL_ROLE_OUTPUT;
    }
    assert_int_equal(outputs, TASKS);
    tl_recording_close(r);
}

static int count_in(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

/* ---- Tests ---- */

static void a_linked_program_runs_again_and_again(void **state)
{
    static const char *const transports[] = {"mapped", "copy"};

    (void)state;
    for (int t = 0; t < 2; t++) {
        struct tl_worker *w = open_worker(TL_DEVICE_THREAD, transports[t]);
        struct tl_loaded *l = NULL;
        int threads = 0;

        assert_int_equal(tl_worker_load_linked(w, &add_program, &l, NULL), 0);
        assert_ptr_equal(tl_loaded_program(l), &add_program);
        for (int64_t i = 0; i < 6; i++) {
            char dir[32];
            int level = i % 3 == 2 ? 0 : 2;

            (void)snprintf(dir, sizeof(dir), "linked-%d-%d", t, (int)i);
            finish(w, submit(w, l, out, i, level, dir), out, i, level);
            if (level == 2)
                expect_recording(dir, i);
            else
                assert_int_equal(access(fixture_path(dir), F_OK), -1);
            if (i == 0)
                threads = count_in("/proc/self/task");
            assert_int_equal(count_in("/proc/self/task"), threads); /* later runs make no thread */
        }
        tl_worker_close(w);
    }
}

/* By default there are no more schedulers than clusters. */
static void one_cluster_is_enough(void **state)
{
    const struct tl_host_tensor tensors[2] = {
        {.name = "in", .data = in, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "out", .data = out, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const int64_t add = 3;

    (void)state;
    for (unsigned block_dim = 1; block_dim <= 4; block_dim++) {
        struct tl_worker *w = open_worker(TL_DEVICE_THREAD, "mapped");
        struct tl_run_config config = config_for(2, "narrow");
        struct tl_loaded *l = NULL;
        struct tl_error err = {.msg = ""};

        config.block_dim = block_dim;
        assert_int_equal(tl_worker_load_linked(w, &add_program, &l, NULL), 0);
        if (tl_worker_run(w, l, SUBMIT_OPTS(tensors, 2, &add, 1, &config), NULL, &err) != 0)
            fail_msg("%s", err.msg);
        expect_sum(out, add);
        expect_recording("narrow", add);
        tl_worker_close(w);
    }
}

static void a_run_starts_while_another_waits_for_its_export(void **state)
{
    struct tl_worker *w = open_worker(TL_DEVICE_THREAD, "mapped");
    struct tl_loaded *l = NULL;
    struct tl_run *first, *second;

    (void)state;
    assert_int_equal(tl_worker_load_linked(w, &add_program, &l, NULL), 0);
    first = submit(w, l, out, 7, 2, "pipe-1");
    second = submit(w, l, out_too, 8, 2, "pipe-2");
    finish(w, first, out, 7, 2);
    finish(w, second, out_too, 8, 2);
    expect_recording("pipe-1", 7);
    expect_recording("pipe-2", 8);
    tl_worker_close(w);
}

static bool maps_device_memory(void)
{
    char line[512];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        found = found || strstr(line, "tasklens-gm") != NULL;
    (void)fclose(f);
    return found;
}

static void with_copies_the_host_does_not_map_device_memory(void **state)
{
    struct tl_worker *w = open_worker(TL_DEVICE_PROCESS, "copy");

    (void)state;
    assert_false(maps_device_memory());
    tl_worker_close(w);
    w = open_worker(TL_DEVICE_PROCESS, "mapped");
    assert_true(maps_device_memory());
    tl_worker_close(w);
}

static struct tl_loaded *load_example(struct tl_worker *w, const char *name)
{
    struct tl_loaded *l = NULL;
    struct tl_error err;
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/examples/%s.so", TL_TEST_BINARY_DIR, name);
    if (tl_worker_load(w, path, &l, &err) != 0)
        fail_msg("%s", err.msg);
    return l;
}

/* A crash takes the chip, not the worker: programs are loaded again, and nobody has to know. */
static void a_worker_outlives_its_chip(void **state)
{
    struct tl_worker *w = open_worker(TL_DEVICE_PROCESS, "copy");
    struct tl_loaded *crash = load_example(w, "crash"), *add = load_example(w, "vector_add");
    float x[64] = {0}, y[64], a[16] = {1}, b[16] = {2}, bias[16] = {3}, z[16];
    const struct tl_host_tensor crash_tensors[2] = {
        {.name = "x", .data = x, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "y", .data = y, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const struct tl_host_tensor add_tensors[4] = {
        {.name = "x", .data = a, .shape = {16}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "y", .data = b, .shape = {16}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "bias", .data = bias, .shape = {16}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "z", .data = z, .shape = {16}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const int64_t crash_params[1] = {0}, add_params_[2] = {16, 4};
    struct tl_run_result result;
    struct tl_run *run, *next;
    struct tl_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        char dir[16], beside[16];
        struct tl_run_config config;

        (void)snprintf(dir, sizeof(dir), "outlive-%d", i);
        config = config_for(2, dir);
        assert_int_equal(
            tl_worker_submit(w, crash, SUBMIT_OPTS(crash_tensors, 2, crash_params, 1, &config), &run, NULL), 0);
        (void)snprintf(beside, sizeof(beside), "beside-%d", i);
        config = config_for(2, beside);
        z[0] = 0.0f;
        assert_int_equal(tl_worker_submit(w, add, SUBMIT_OPTS(add_tensors, 4, add_params_, 2, &config), &next, &err),
                         0);
        assert_int_equal(tl_worker_wait(w, run, &result, &err), TL_ECRASH);
        assert_int_equal(result.run_code, TL_ECRASH);
        assert_true(result.records_collected >= 5);
        assert_string_equal(result.artifacts, fixture_path(dir));
        /* The one behind it was prepared on the chip that died, and its recording begun in pools that went with it. */
        assert_int_equal(tl_worker_wait(w, next, &result, &err), 0);
        assert_int_equal(result.records_collected, 20);
        assert_string_equal(result.artifacts, fixture_path(beside));
        assert_true(z[0] == 6.0f && z[15] == 0.0f);
        config = config_for(0, NULL);
        assert_int_equal(tl_worker_run(w, add, SUBMIT_OPTS(add_tensors, 4, add_params_, 2, &config), &result, &err), 0);
        assert_true(z[0] == 6.0f && z[15] == 0.0f);
    }
    tl_worker_close(w);
}

static int run_spin(struct tl_worker *w, struct tl_loaded *l, struct tl_run_result *result, struct tl_error *err)
{
    float x[64] = {0}, y[64];
    const struct tl_host_tensor tensors[2] = {
        {.name = "x", .data = x, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "y", .data = y, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const struct tl_run_config config = config_for(0, NULL);

    return tl_worker_run(w, l, SUBMIT_OPTS(tensors, 2, NULL, 0, &config), result, err);
}

/* A kernel that never returns: a chip of its own is replaced, a thread of ours stays, and the worker says so. */
static void a_hang_costs_the_chip_or_the_worker(void **state)
{
    struct tl_run_result result;
    struct tl_error err;
    struct tl_worker *w;
    struct tl_loaded *l;
    int status;
    pid_t pid;

    (void)state;
    setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "1000", 1);
    w = open_worker(TL_DEVICE_PROCESS, NULL);
    l = load_example(w, "spin");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_spin(w, l, &result, &err), TL_EHANG);
        assert_int_equal(result.tasks, 2);
    }
    tl_worker_close(w);
    pid = fork(); /* the stuck thread ends with that process */
    assert_true(pid >= 0);
    if (pid == 0) {
        w = open_worker(TL_DEVICE_THREAD, NULL);
        l = load_example(w, "spin");
        if (run_spin(w, l, &result, &err) != TL_EHANG)
            _exit(1);
        if (run_spin(w, l, &result, &err) != TL_EPOISONED || strstr(err.msg, "run 1 left a kernel") == NULL)
            _exit(2);
        tl_worker_close(w);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS");
}

/* The host sees how far a run is, and its watchdogs count from the last time that it moved. */
static void a_long_run_that_moves_is_left_alone(void **state)
{
    const struct tl_host_tensor tensor = {
        .name = "out", .data = out, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT};
    const struct tl_run_config config = config_for(0, NULL);
    struct tl_loaded *l = NULL;
    struct tl_run_result result;
    struct tl_error err = {.msg = ""};
    struct tl_worker *w;
    struct tl_run *run;
    uint64_t retired, submitted, seen = 0;

    (void)state;
    setenv("TASKLENS_OP_EXECUTE_TIMEOUT_US", "700000", 1); /* half of what it takes */
    w = open_worker(TL_DEVICE_THREAD, NULL);
    unsetenv("TASKLENS_OP_EXECUTE_TIMEOUT_US");
    assert_int_equal(tl_worker_load_linked(w, &slow_program, &l, NULL), 0);
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(&tensor, 1, NULL, 0, &config), &run, NULL), 0);
    while (tl__run_settle(run, tl__now_ns() + 20000000) == TL_ETIMEDOUT) {
        tl__run_progress(run, &retired, &submitted);
        assert_true(retired <= submitted && submitted <= SLOW_TASKS);
        seen += retired > 0 && retired < SLOW_TASKS;
    }
    if (tl_worker_wait(w, run, &result, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(result.tasks, SLOW_TASKS);
    assert_true(seen > 0);
    assert_true(result.wall_ns > 700000000);
    tl_worker_close(w);
}

static void closing_does_not_wait_for_a_run(void **state)
{
    struct tl_worker *w = open_worker(TL_DEVICE_PROCESS, "mapped");
    struct tl_loaded *l = load_example(w, "spin");
    float x[64] = {0}, y[64];
    const struct tl_host_tensor tensors[2] = {
        {.name = "x", .data = x, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "y", .data = y, .shape = {64}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const struct tl_run_config config = config_for(2, "closed");
    struct tl_run *run;

    (void)state;
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(tensors, 2, NULL, 0, &config), &run, NULL), 0);
    tl_worker_close(w);
    tl_worker_close(NULL);
}

/* A caller of a newer version has more options, one of an older version fewer; no configuration is every default. */
static void expect_options_checked(struct tl_worker *w, struct tl_loaded *l)
{
    const struct tl_host_tensor tensors[2] = {
        {.name = "in", .data = in, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "out", .data = out, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    struct {
        struct tl_submit_opts known;
        uint64_t later;
    } future = {.known = TL_SUBMIT_OPTS_INIT, .later = 1};
    const int64_t add = 3;
    struct tl_run_result result;
    struct tl_error err;

    future.known.struct_size = sizeof(future);
    future.known.tensors = tensors;
    future.known.n_tensors = 2;
    future.known.params = &add;
    future.known.n_params = 1;
    assert_int_equal(tl_worker_run(w, l, &future.known, &result, &err), TL_EVERSION);
    assert_non_null(strstr(err.msg, "tl_submit_opts"));
    assert_int_equal(result.run_code, TL_EVERSION);
    future.later = 0;
    assert_int_equal(tl_worker_run(w, l, &future.known, &result, &err), 0);
    expect_sum(out, add);
    assert_string_equal(result.artifacts, "");
    future.known.struct_size = offsetof(struct tl_submit_opts, config);
    future.known.config = (const struct tl_run_config *)&add; /* beyond what an older caller has: never read */
    memset(out, 0, sizeof(out));
    assert_int_equal(tl_worker_run(w, l, &future.known, &result, &err), 0);
    expect_sum(out, add);
    future.known.struct_size = 3;
    assert_int_equal(tl_worker_run(w, l, &future.known, &result, &err), TL_EINVAL);
}

struct said {
    unsigned lines;
    enum tl_log_level level;
    char text[1001];
};

static void keep_said(void *user, enum tl_log_level level, const char *text)
{
    struct said *said = user;

    said->lines++;
    said->level = level;
    (void)snprintf(said->text, sizeof(said->text), "%s", text);
}

/* A warning of a worker comes to the sink that is set, with its user pointer, once a worker; and to none else. */
static void a_warning_reaches_the_programs_sink(void **state)
{
    const struct tl_host_tensor tensors[2] = {
        {.name = "in", .data = in, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "out", .data = out, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    const int64_t add = 1;
    struct said first = {0}, second = {0};

    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        struct tl_run_config config = config_for(0, NULL);
        struct tl_worker *w;
        struct tl_loaded *l;

        tl_log_set_sink(round < 2 ? keep_said : NULL, round == 0 ? &first : &second);
        w = open_worker(TL_DEVICE_THREAD, NULL);
        assert_int_equal(tl_worker_load_linked(w, &add_program, &l, NULL), 0);
        config.levels[TL_COLLECT_PMU] = 99;
        for (unsigned run = 0; run < 2; run++) {
            char dir[30];

            (void)snprintf(dir, sizeof(dir), "said%u-%u", round, run);
            config.output_prefix = fixture_path(dir);
            assert_int_equal(tl_worker_run(w, l, SUBMIT_OPTS(tensors, 2, &add, 1, &config), NULL, NULL), 0);
        }
        tl_worker_close(w);
        assert_int_equal(first.lines, 1);
        assert_int_equal(second.lines, round > 0);
    }
    assert_int_equal(first.level, TL_LOG_WARN);
    assert_non_null(strstr(first.text, "99 is no event type of a2a3"));
    assert_string_equal(second.text, first.text);
}

static void what_a_worker_refuses(void **state)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct {
        struct tl_run_config known;
        uint64_t later;
    } future = {.known = TL_RUN_CONFIG_INIT, .later = 1};
    struct tl_worker *w = NULL, *process;
    struct tl_run *run;
    struct tl_loaded *l = NULL;
    struct tl_error err;
    const int64_t too_much = 1001, one = 1;
    struct tl_host_tensor tensor = {.name = "in", .data = in, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1};

    (void)state;
    opts.platform = NULL;
    assert_int_equal(tl_worker_open(&opts, &w, &err), TL_EINVAL);
    opts.struct_size = 0;
    assert_int_equal(tl_worker_open(&opts, &w, &err), TL_EINVAL);
    process = open_worker(TL_DEVICE_PROCESS, NULL);
    assert_int_equal(tl_worker_load_linked(process, &add_program, &l, &err), TL_ENOTSUP);
    tl_worker_close(process);

    w = open_worker(TL_DEVICE_THREAD, NULL);
    assert_int_equal(tl_worker_load_linked(w, &add_program, &l, NULL), 0);
    expect_options_checked(w, l);
    future.known.struct_size = sizeof(future);
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, &one, 1, &future.known), &run, &err), TL_EVERSION);
    future.later = 0;
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, &too_much, 1, &future.known), &run, &err), TL_ERANGE);
    assert_non_null(strstr(err.msg, "add of adder must be 0 to 1000, not 1001"));
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, NULL, 0, &future.known), &run, &err), TL_EINVAL);
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(&tensor, 1, &one, 1, &future.known), &run, &err), TL_EINVAL);
    future.known.levels[TL_COLLECT_DUMP] = 4;
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, &one, 1, &future.known), &run, &err), TL_ERANGE);
    future.known.levels[TL_COLLECT_DUMP] = 2;
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, &one, 1, &future.known), &run, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "output prefix"));
    future.known.levels[TL_COLLECT_DUMP] = 0;
    future.known.levels[TL_COLLECT_DEPS] = true;
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, &one, 1, &future.known), &run, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "output prefix"));
    future.known.levels[TL_COLLECT_DEPS] = false;
    future.known.block_dim = 2;
    future.known.aicpu_threads = 4;
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, &one, 1, &future.known), &run, &err), TL_ERANGE);
    assert_non_null(strstr(err.msg, "4 AICPU threads are 3 schedulers"));
    future.known.block_dim = future.known.aicpu_threads = 0;
    future.known.runtime = "other";
    assert_int_equal(tl_worker_submit(w, l, SUBMIT_OPTS(NULL, 0, &one, 1, &future.known), &run, &err), TL_EINVAL);
    tl_worker_close(w);
}

/* The orchestration reads two tensors and never sees a byte that is none of them, said how many it takes or not. */
static void tensors_that_are_missing_are_refused_and_the_result_says_so(void **state)
{
    const struct tl_host_tensor tensors[3] = {
        {.name = "in", .data = in, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "out", .data = out, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT},
        {.name = "more", .data = in, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
    };
    struct tl_program counted = add_program;
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_worker *w = open_worker(TL_DEVICE_THREAD, NULL);
    struct tl_loaded *open, *closed;
    struct tl_run_result result;
    const int64_t add = 1;
    struct tl_error err;

    (void)state;
    counted.n_tensors = 2;
    assert_int_equal(tl_worker_load_linked(w, &add_program, &open, &err), 0);
    assert_int_equal(tl_worker_load_linked(w, &counted, &closed, &err), 0);
    for (uint32_t n = 0; n <= 3; n++) {
        if (n == 2)
            continue;
        memset(&result, 0x5a, sizeof(result));
        assert_int_equal(tl_worker_run(w, closed, SUBMIT_OPTS(tensors, n, &add, 1, &config), &result, &err), TL_EINVAL);
        assert_non_null(strstr(err.msg, "adder takes 2 tensors, not"));
        assert_int_equal(result.run_code, TL_EINVAL);
        assert_int_equal(result.tasks, 0);
        assert_int_equal(result.record_code, 0);
        assert_string_equal(result.artifacts, "");
    }
    for (uint32_t n = 0; n < 2; n++) {
        assert_int_equal(tl_worker_run(w, open, SUBMIT_OPTS(tensors, n, &add, 1, &config), &result, &err), TL_EGRAPH);
        assert_non_null(strstr(err.msg, n == 0 ? "tensor 0 is a tensor of the program that this run was not given"
                                               : "tensor 1 is a tensor of the program that this run was not given"));
        assert_int_equal(result.run_code, TL_EGRAPH);
    }
    assert_int_equal(tl_worker_run(w, open, SUBMIT_OPTS(NULL, 2, &add, 1, &config), &result, &err), TL_EINVAL);
    assert_int_equal(tl_worker_run(w, open, SUBMIT_OPTS(tensors, 2, NULL, 1, &config), &result, &err), TL_EINVAL);
    assert_int_equal(tl_worker_run(w, open, NULL, &result, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "TL_SUBMIT_OPTS_INIT"));
    assert_int_equal(tl_worker_run(w, NULL, SUBMIT_OPTS(tensors, 2, &add, 1, &config), &result, &err), TL_EINVAL);
    assert_int_equal(tl_worker_run(NULL, open, SUBMIT_OPTS(tensors, 2, &add, 1, &config), &result, &err), TL_EINVAL);
    assert_int_equal(result.run_code, TL_EINVAL);
    assert_int_equal(tl_worker_submit(w, open, SUBMIT_OPTS(tensors, 2, &add, 1, &config), NULL, &err), TL_EINVAL);
    assert_int_equal(tl_worker_run(w, closed, SUBMIT_OPTS(tensors, 2, &add, 1, &config), &result, &err), 0);
    assert_int_equal(result.run_code, 0);
    tl_worker_close(w);
}

static uint64_t cpu_us(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Chip, service threads and host all sleep when there is nothing to do. */
static void an_idle_worker_uses_no_cpu(void **state)
{
    struct tl_worker *w = open_worker(TL_DEVICE_THREAD, NULL);
    struct tl_loaded *l = NULL;
    uint64_t before;

    (void)state;
    assert_int_equal(tl_worker_load_linked(w, &add_program, &l, NULL), 0);
    finish(w, submit(w, l, out, 1, 2, "idle"), out, 1, 2);
    usleep(300000); /* the last spins end */
    before = cpu_us();
    usleep(1000000);
    assert_true(cpu_us() - before < 2000);
    tl_worker_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_that_are_missing_are_refused_and_the_result_says_so),
        cmocka_unit_test(a_linked_program_runs_again_and_again),
        cmocka_unit_test(one_cluster_is_enough),
        cmocka_unit_test(a_run_starts_while_another_waits_for_its_export),
        cmocka_unit_test(with_copies_the_host_does_not_map_device_memory),
        cmocka_unit_test(a_worker_outlives_its_chip),
        cmocka_unit_test(a_hang_costs_the_chip_or_the_worker),
        cmocka_unit_test(a_long_run_that_moves_is_left_alone),
        cmocka_unit_test(closing_does_not_wait_for_a_run),
        cmocka_unit_test(what_a_worker_refuses),
        cmocka_unit_test(a_warning_reaches_the_programs_sink),
        cmocka_unit_test(an_idle_worker_uses_no_cpu),
    };

    for (uint32_t i = 0; i < N; i++)
        in[i] = (float)i * 0.5f;
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
