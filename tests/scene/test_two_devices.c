/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several devices in one process: different archs, in a process of their own or on threads, recording at the same time,
 * each its own run and nothing of another's; and one that is killed does not take another along. Besides: what a device
 * records does not depend on the mode it runs in, and the host cannot reach device memory by accident.
 */
#include "scene/cli.h"

#include <pthread.h>
#include <signal.h>

#include <tasklens/recording.h>
#include <tasklens/worker.h>

#include "artifact/args_dump.h"
#include "artifact/dfx_meta.h"
#include "host/worker_impl.h"
#include "support/submit_opts.h"

#define N 8192u
#define TILES 64u
#define STEP (N / TILES)
#define ARGS 5u /* x, y, bias, z and a scalar */

/* ---- A device that adds, with numbers of its own ---- */

struct device {
    const char *platform;
    enum tl_device_mode mode;
    float own; /* in every element of x; the others' differ */
    struct tl_worker *worker;
    struct tl_loaded *add;
    float x[N], y[N], bias[N], z[N];
    char dir[64];
    struct tl_run *run;
    int rounds; /* of a thread that drives it */
};

static void open_device(struct device *d, const char *platform, const char *transport, enum tl_device_mode mode,
                        float own)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_error err;
    char path[300];

    d->platform = opts.platform = platform;
    d->mode = opts.mode = mode;
    d->own = own;
    opts.transport = transport;
    opts.sim_threads = 2;
    opts.device_id = (int)own;
    (void)snprintf(path, sizeof(path), "%s/examples/vector_add.so", TL_TEST_BINARY_DIR);
    if (tl_worker_open(&opts, &d->worker, &err) != 0 || tl_worker_load(d->worker, path, &d->add, &err) != 0)
        fail_msg("%s", err.msg);
    for (uint32_t i = 0; i < N; i++) {
        d->x[i] = own;
        d->y[i] = (float)i;
        d->bias[i] = 0.5f;
    }
}

static struct tl_host_tensor row(const char *name, float *data, uint8_t role)
{
    return (struct tl_host_tensor){
        .name = name, .data = data, .shape = {N}, .dtype = TL_FLOAT32, .rank = 1, .role = role};
}

/* `slow`: its lanes wait for the writer nearly all the time. */
static void submit(struct device *d, const char *dir, bool slow)
{
    const struct tl_host_tensor tensors[4] = {row("x", d->x, TL_IN), row("y", d->y, TL_IN), row("bias", d->bias, TL_IN),
                                              row("z", d->z, TL_OUT)};
    const int64_t params[2] = {N, TILES};
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_error err;
    char prefix[400];

    memset(d->z, 0, sizeof(d->z));
    (void)snprintf(d->dir, sizeof(d->dir), "%s-%s", dir, d->platform);
    config.levels[TL_COLLECT_DUMP] = 2;
    (void)snprintf(prefix, sizeof(prefix), "%s/%s", fixture_dir, d->dir); /* two threads come here */
    config.output_prefix = prefix;
    config.dfx_records = 8;
    config.dfx_buffers = slow ? 2 : 0;
    config.dfx_avg_bytes = slow ? 1024 : 0;
    tl__worker_throttle_writer(d->worker, slow ? 100000 : 0);
    if (tl_worker_submit(d->worker, d->add, SUBMIT_OPTS(tensors, 4, params, 2, &config), &d->run, &err) != 0)
        fail_msg("%s: %s", d->platform, err.msg);
}

static float expected(const struct device *d, const struct tl_dump_record *r, uint64_t at)
{
    const float values[] = {d->own, (float)at, 0.5f, d->own + (float)at + 0.5f};

    return values[r->arg_index];
}

/* Every record is there once and every payload is this device's. */
static void expect_recording(const struct device *d)
{
    struct tl_recording *recording;
    struct tl_dump_verdict verdict;
    struct tl_meta meta;

    assert_int_equal(tl_recording_open(fixture_path(d->dir), &recording, NULL), 0);
    assert_int_equal(tl_recording_count(recording), TILES * ARGS);
    assert_int_equal(tl_recording_verify(recording, &verdict), 0);
    for (uint64_t i = 0; i < TILES * ARGS; i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);
        const void *data;

        if (r->kind == TL_KIND_SCALAR)
            continue;
        assert_int_equal(tl_recording_payload(recording, i, &data, NULL), 0);
        assert_int_equal(r->bin_size, STEP * sizeof(float));
        for (uint32_t k = 0; k < STEP; k++) {
            const float value = expected(d, r, r->start_offset + k);

            assert_memory_equal((const char *)data + k * sizeof(float), &value, sizeof(value));
        }
    }
    tl_recording_close(recording);
    assert_int_equal(tl__meta_read(fixture_path(d->dir), &meta, NULL), 0);
    assert_string_equal(meta.platform, d->platform);
    assert_int_equal(meta.tasks, TILES);
    assert_int_equal(meta.streams[0].attempted, TILES * ARGS);
    assert_int_equal(meta.streams[0].collected, TILES * ARGS);
}

static void wait_for(struct device *d)
{
    struct tl_run_result result;
    struct tl_error err = {.msg = ""};

    if (tl_worker_wait(d->worker, d->run, &result, &err) != 0)
        fail_msg("%s: %s", d->platform, err.msg);
    assert_int_equal(result.tasks, TILES);
    for (uint32_t i = 0; i < N; i++)
        assert_true(d->z[i] == d->own + (float)i + 0.5f);
}

static struct device one, two;

/* One thread of the host: both run, and are waited for in either order. */
static void side_by_side(enum tl_device_mode a, enum tl_device_mode b)
{
    open_device(&one, "a2a3sim", NULL, a, 1000.0f);
    open_device(&two, "a5sim", NULL, b, 2000.0f);
    for (int round = 0; round < 4; round++) {
        char dir[40];

        (void)snprintf(dir, sizeof(dir), "both-%d-%d-%d", (int)a, (int)b, round);
        submit(&one, dir, false);
        submit(&two, dir, false);
        wait_for(round % 2 == 0 ? &one : &two);
        wait_for(round % 2 == 0 ? &two : &one);
        expect_recording(&one);
        expect_recording(&two);
    }
    tl_worker_close(one.worker);
    /* The other does not notice. */
    submit(&two, "alone", false);
    wait_for(&two);
    expect_recording(&two);
    tl_worker_close(two.worker);
    expect(0, "dump --verify alone-a5sim");
}

static void two_devices_in_processes_keep_apart(void **state)
{
    (void)state;
    side_by_side(TL_DEVICE_PROCESS, TL_DEVICE_PROCESS);
}

static void two_devices_on_threads_keep_apart(void **state)
{
    (void)state;
    side_by_side(TL_DEVICE_THREAD, TL_DEVICE_THREAD);
}

static void a_device_in_a_process_and_one_on_threads_keep_apart(void **state)
{
    (void)state;
    side_by_side(TL_DEVICE_PROCESS, TL_DEVICE_THREAD);
    side_by_side(TL_DEVICE_THREAD, TL_DEVICE_PROCESS);
}

static void *drive(void *arg)
{
    struct device *d = arg;

    for (int i = 0; i < d->rounds; i++) {
        struct tl_run_result result;
        char dir[32];

        (void)snprintf(dir, sizeof(dir), "driven-%d", i);
        submit(d, dir, false);
        if (tl_worker_wait(d->worker, d->run, &result, NULL) != 0 || result.records_collected != TILES * ARGS)
            return d;
    }
    return NULL;
}

/* Two threads of the host, a device each. */
static void each_driven_by_its_thread(void **state)
{
    pthread_t threads[2];
    void *failed;

    (void)state;
    open_device(&one, "a2a3sim", NULL, TL_DEVICE_THREAD, 300.0f);
    open_device(&two, "a5sim", NULL, TL_DEVICE_PROCESS, 400.0f);
    one.rounds = two.rounds = 6;
    assert_int_equal(pthread_create(&threads[0], NULL, drive, &one), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, drive, &two), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    for (int i = 0; i < 6; i++) {
        (void)snprintf(one.dir, sizeof(one.dir), "driven-%d-a2a3sim", i);
        (void)snprintf(two.dir, sizeof(two.dir), "driven-%d-a5sim", i);
        expect_recording(&one);
        expect_recording(&two);
    }
    tl_worker_close(one.worker);
    tl_worker_close(two.worker);
}

/* One is killed in the middle: the other's recording is whole, and both go on. */
static void a_killed_device_leaves_the_other_alone(void **state)
{
    struct tl_run_result result;
    struct tl_error err;
    struct tl_recording *recording;
    struct tl_dump_verdict verdict;
    struct stat st = {0};
    char journal[96];

    (void)state;
    open_device(&one, "a2a3sim", NULL, TL_DEVICE_PROCESS, 5.0f);
    open_device(&two, "a5sim", NULL, TL_DEVICE_PROCESS, 6.0f);
    submit(&one, "killed", true);
    submit(&two, "killed", false);
    (void)snprintf(journal, sizeof(journal), "%s/run.journal", one.dir);
    for (int i = 0; i < 20000 && (stat(fixture_path(journal), &st) != 0 || st.st_size < 4000); i++)
        usleep(500);
    assert_true(st.st_size >= 4000);
    assert_int_equal(kill(tl__chip_pid(one.worker->chip), SIGKILL), 0);
    wait_for(&two);
    expect_recording(&two);
    assert_int_equal(tl_worker_wait(one.worker, one.run, &result, &err), TL_EDEVICE);
    assert_non_null(strstr(err.msg, "SIGKILL"));
    assert_int_equal(tl_recording_open(fixture_path(one.dir), &recording, NULL), 0);
    assert_int_equal(tl_recording_verify(recording, &verdict), 0);
    assert_in_range(tl_recording_count(recording), 20, TILES * ARGS - 1);
    assert_int_equal(tl_recording_count(recording), result.records_collected);
    tl_recording_close(recording);
    for (int i = 0; i < 2; i++) {
        submit(&one, i == 0 ? "again-0" : "again-1", false);
        submit(&two, i == 0 ? "again-0" : "again-1", false);
        wait_for(&one);
        wait_for(&two);
        expect_recording(&one);
        expect_recording(&two);
    }
    tl_worker_close(one.worker);
    tl_worker_close(two.worker);
}

/* ---- The same run in either mode ---- */

static void expect_equal_records(const struct tl_recording *a, const struct tl_recording *b)
{
    assert_int_equal(tl_recording_count(a), tl_recording_count(b));
    for (uint64_t i = 0; i < tl_recording_count(a); i++) {
        struct tl_dump_record p = *tl_recording_at(a, i), q = *tl_recording_at(b, i);
        const void *data_p = NULL, *data_q = NULL;

        assert_int_equal(tl__dump_compare(&p, &q), 0);
        assert_int_equal(p.bin_size, q.bin_size);
        assert_int_equal(tl_recording_payload(a, i, &data_p, NULL), 0);
        assert_int_equal(tl_recording_payload(b, i, &data_q, NULL), 0);
        if (p.bin_size != 0)
            assert_memory_equal(data_p, data_q, p.bin_size);
        p.bin_offset = q.bin_offset = 0; /* as the lanes' turns fell */
        assert_memory_equal(&p, &q, sizeof(p));
    }
}

static void expect_equal_heads(const struct tl_recording *a, const struct tl_recording *b)
{
    const struct tl_dump_summary *s = tl_recording_summary(a), *t = tl_recording_summary(b);

    assert_memory_equal(s, t, sizeof(*s)); /* counts, level, names and the payload file's size */
}

/* dfx_meta.json, but for the times and the run's number on its worker. */
static void expect_equal_meta(const char *a, const char *b)
{
    static struct tl_meta meta[2];
    const char *const dirs[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        memset(&meta[i], 0, sizeof(meta[i]));
        assert_int_equal(tl__meta_read(fixture_path(dirs[i]), &meta[i], NULL), 0);
        meta[i].start_unix_ns = meta[i].wall_ns = meta[i].parked_ns = 0;
        meta[i].clock_start_cycles = meta[i].clock_start_ns = 0;
        meta[i].streams[0].record_ns = 0;
    }
    assert_memory_equal(&meta[0], &meta[1], sizeof(meta[0]));
    assert_string_equal(meta[0].status, "ok");
}

static char *files_of(const char *dir)
{
    char words[600];

    (void)snprintf(words, sizeof(words), "cd '%s' && find . -type f | sort >../list", fixture_path(dir));
    assert_int_equal(system(words), 0);
    return fixture_read("list", NULL);
}

static void expect_same_artifacts(const char *program, const char *platform, const char *runtime)
{
    static const char *const modes[2] = {"process", "thread"};
    struct tl_recording *recordings[2];
    char *files[2];

    for (int i = 0; i < 2; i++) {
        char words[240];

        (void)snprintf(words, sizeof(words), "run %s -p %s --runtime %s --device-mode %s --dump-args 2 --out %s",
                       program, platform, runtime, modes[i], modes[i]);
        expect(0, words);
        assert_int_equal(tl_recording_open(fixture_path(modes[i]), &recordings[i], NULL), 0);
        files[i] = files_of(modes[i]);
    }
    assert_true(tl_recording_count(recordings[0]) > 0);
    expect_equal_records(recordings[0], recordings[1]);
    expect_equal_heads(recordings[0], recordings[1]);
    expect_equal_meta(modes[0], modes[1]);
    assert_string_equal(files[0], files[1]);
    for (int i = 0; i < 2; i++) {
        tl_recording_close(recordings[i]);
        free(files[i]);
    }
}

static void process_and_thread_record_the_same(void **state)
{
    static const char *const programs[] = {"vector_add", "bgemm", "paged_attention", "layer"};
    static const char *const platforms[] = {"a2a3sim", "a5sim"};
    static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};

    (void)state;
    for (unsigned p = 0; p < 4; p++)
        for (unsigned i = 0; i < 4; i++)
            expect_same_artifacts(programs[p], platforms[i / 2], runtimes[i % 2]);
}

/* ---- A stray dereference ---- */

static bool maps_device_memory(void)
{
    char line[512];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        found = found || strstr(line, "memfd:tasklens-gm") != NULL;
    (void)fclose(f);
    return found;
}

/* A child of ours, with our mappings, reads what a device address would be on the host. */
static void expect_fault(uint64_t addr)
{
    int status;
    pid_t pid;

    assert_true(addr != 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)alarm(20);
        _exit(*(const volatile unsigned char *)(uintptr_t)addr == 0 ? 40 : 41);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void a_stray_dereference_faults(void **state)
{
    static const char *const transports[] = {"copy", "mapped"};

    (void)state;
    for (int t = 0; t < 2; t++) {
        open_device(&two, "a5sim", transports[t], TL_DEVICE_PROCESS, 7.0f);
        submit(&two, transports[t], false); /* the collectors are there, with their shadows of what the lanes hold */
        assert_int_equal(maps_device_memory(), t == 1);
        for (int i = 0; i < 4; i++)
            expect_fault(two.run->tensor_addr[i]);
        expect_fault(two.run->launch);
        expect_fault(two.run->status);
        expect_fault(two.worker->heap[0]);
        wait_for(&two);
        assert_int_equal(maps_device_memory(), t == 1);
        expect_recording(&two);
        tl_worker_close(two.worker);
        assert_false(maps_device_memory());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_devices_in_processes_keep_apart),
        cmocka_unit_test(two_devices_on_threads_keep_apart),
        cmocka_unit_test(a_device_in_a_process_and_one_on_threads_keep_apart),
        cmocka_unit_test(each_driven_by_its_thread),
        cmocka_unit_test(a_killed_device_leaves_the_other_alone),
        cmocka_unit_test(process_and_thread_record_the_same),
        cmocka_unit_test(a_stray_dereference_faults),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
