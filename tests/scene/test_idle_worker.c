/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open worker that does nothing uses no CPU: over a second no thread of the process, nor of its chip's process, is
 * scheduled even once. And only the first run with a diagnostic makes threads. With "--twice" it only does the runs,
 * between marks in the system call trace: test_idle_worker.sh counts the clones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <tasklens/worker.h>

#include "support/submit_opts.h"

#define MAX_THREADS 64

static char artifacts[] = "/tmp/tasklens-idle-XXXXXX";

/* Threads of `pid` and how often each was ever scheduled; threads other than the caller. */
struct census {
    unsigned threads;
    unsigned long switches;
};

static unsigned long read_switches(const char *path)
{
    char line[256];
    unsigned long total = 0, n;
    FILE *f = fopen(path, "r");

    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
            total += n;
    (void)fclose(f);
    return total;
}

static void count_process(int pid, struct census *c)
{
    char path[320];
    struct dirent *entry;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        int tid = atoi(entry->d_name);

        if (tid == 0)
            continue;
        c->threads++;
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
        if (tid != getpid()) /* the caller itself sleeps and wakes */
            c->switches += read_switches(path);
    }
    (void)closedir(dir);
}

/* This process and, in process mode, its chip. */
static struct census count_all(void)
{
    struct census c = {0};
    char path[64];
    int child;
    FILE *f;

    count_process(getpid(), &c);
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    f = fopen(path, "r");
    assert_non_null(f);
    while (fscanf(f, "%d", &child) == 1)
        count_process(child, &c);
    (void)fclose(f);
    return c;
}

static void check(int rc, const struct tl_error *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

struct rig {
    struct tl_worker *worker;
    struct tl_loaded *program;
    float data[4][16384];
    int runs;
};

static void rig_open(struct rig *r, enum tl_device_mode mode)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_error err;

    opts.mode = mode;
    check(tl_worker_open(&opts, &r->worker, &err), &err);
    check(tl_worker_load(r->worker, TL_TEST_BINARY_DIR "/examples/vector_add.so", &r->program, &err), &err);
}

static void run(struct rig *r, int level)
{
    static const char *const names[] = {"x", "y", "bias", "z"};
    const struct tl_program *program = tl_loaded_program(r->program);
    struct tl_host_tensor tensors[4];
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_run_result result;
    struct tl_error err;
    int64_t params[16];
    char dir[128];

    assert_true(program->n_params <= 16);
    for (uint32_t i = 0; i < program->n_params; i++)
        params[i] = program->params[i].value;
    for (int i = 0; i < 4; i++)
        tensors[i] = (struct tl_host_tensor){.name = names[i],
                                             .data = r->data[i],
                                             .shape = {16384},
                                             .dtype = TL_FLOAT32,
                                             .rank = 1,
                                             .role = i == 3 ? TL_OUT : TL_IN};
    (void)snprintf(dir, sizeof(dir), "%s/%d", artifacts, r->runs++);
    config.levels[TL_COLLECT_DUMP] = level;
    config.output_prefix = dir;
    check(tl_worker_run(r->worker, r->program, SUBMIT_OPTS(tensors, 4, params, program->n_params, &config), &result,
                        &err),
          &err);
}

static void check_idle(enum tl_device_mode mode)
{
    struct census before, after;
    struct rig r = {.runs = mode == TL_DEVICE_THREAD ? 100 : 0};

    rig_open(&r, mode);
    run(&r, 2);
    usleep(200000); /* whoever still spins goes to sleep */
    before = count_all();
    usleep(1000000);
    after = count_all();
    assert_int_equal(after.switches, before.switches);
    run(&r, 2);
    run(&r, 3);
    after = count_all();
    assert_int_equal(after.threads, before.threads);
    tl_worker_close(r.worker);
}

static void an_idle_worker_sleeps(void **state)
{
    (void)state;
    check_idle(TL_DEVICE_THREAD);
    check_idle(TL_DEVICE_PROCESS);
}

static int trace_twice(void)
{
    struct rig r = {.runs = 200};

    rig_open(&r, TL_DEVICE_THREAD);
    run(&r, 2);
    (void)!write(STDOUT_FILENO, "first run done\n", 15);
    run(&r, 2);
    run(&r, 2);
    (void)!write(STDOUT_FILENO, "all runs done\n", 14);
    tl_worker_close(r.worker);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_idle_worker_sleeps)};
    char command[128];
    int rc;

#ifdef __SANITIZE_THREAD__
    return 77; /* its runtime has a thread of its own that does not sleep */
#endif
    if (mkdtemp(artifacts) == NULL)
        return 1;
    rc = argc > 1 && strcmp(argv[1], "--twice") == 0 ? trace_twice() : cmocka_run_group_tests(tests, NULL, NULL);
    (void)snprintf(command, sizeof(command), "rm -rf %s", artifacts);
    return system(command) == 0 ? rc : 1;
}
