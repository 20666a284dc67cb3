/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker that serves a stream of short runs does in a second: each run behind the export of the one before it,
 * and the next prepared while one is on the device (depth 2); without diagnostics and with all five collectors on, each
 * into a directory of its own. And what a recorded run costs beside its artifacts: begin and quiesce; and the same when
 * each run is treated as one whose chip died, which adds its reconcile and, in the next begin, pools built anew.
 *
 *     bench_series [RUNS [DIR [TASKS [US]]]]        default: 1,000, /tmp, 16 tasks of 50 us
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <tasklens/worker.h>

#include "base/env.h"
#include "collect/engine.h"

#include "median.h"
#include "support/submit_opts.h"

#define ROUNDS 5

/* ---- A program that takes its time, and not the host's: as on a chip ---- */

static int64_t task_us;

static void work(const struct tl_kernel_args *k)
{
    const struct timespec time = {.tv_nsec = task_us * 1000};

    (void)nanosleep(&time, NULL);
    TL_DATA(k, 1, float)[0] = TL_DATA(k, 0, const float)[0] + 1.0f;
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    TL_SCOPE (o) {
        for (uint32_t i = 0, one = 1; i < (uint32_t)in->params[0]; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor to;

            if (tl_view(&in->tensors[1], &i, &one, &to) != 0)
                tl_orch_fail(o, "no such element");
            tl_add_input(&args, &in->tensors[0]);
            tl_add_output(&args, &to);
            tl_submit_aiv(o, 0, &args);
        }
    }
}

static int no_data(struct tl_data *d)
{
    (void)d;
    return 0;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(0, "work", TL_AIV, work, TL_IN, TL_OUT)};
static const struct tl_param params[] = {{"tasks", 16, 1, 4096, ""}};
static const struct tl_program program = {.struct_size = sizeof(program),
                                          .api_version = TL_PROGRAM_API,
                                          .name = "work",
                                          .kernels = kernels,
                                          .n_kernels = 1,
                                          .params = params,
                                          .n_params = 1,
                                          .orchestrate = orchestrate,
                                          .prepare = no_data};

/* ---- What the engine takes, seen from outside (the linker's --wrap) ---- */

static uint64_t spent_ns, spent_runs;
static bool as_if_dead;

int __real_tl__engine_begin(struct tl_engine *e, const struct tl_engine_run *run, uint64_t *ret_dfx,
                            struct tl_error *reterr);
int __wrap_tl__engine_begin(struct tl_engine *e, const struct tl_engine_run *run, uint64_t *ret_dfx,
                            struct tl_error *reterr);
int __wrap_tl__engine_begin(struct tl_engine *e, const struct tl_engine_run *run, uint64_t *ret_dfx,
                            struct tl_error *reterr)
{
    uint64_t from = tl__now_ns();
    int rc = __real_tl__engine_begin(e, run, ret_dfx, reterr);

    spent_ns += tl__now_ns() - from;
    spent_runs++;
    return rc;
}

int __real_tl__engine_quiesce(struct tl_engine *e, uint32_t epoch, uint64_t deadline_ns);
int __wrap_tl__engine_quiesce(struct tl_engine *e, uint32_t epoch, uint64_t deadline_ns);
int __wrap_tl__engine_quiesce(struct tl_engine *e, uint32_t epoch, uint64_t deadline_ns)
{
    uint64_t from = tl__now_ns();
    int rc = __real_tl__engine_quiesce(e, epoch, deadline_ns);

    if (as_if_dead && rc == 0)
        rc = tl__engine_reconcile(e, epoch, NULL);
    spent_ns += tl__now_ns() - from;
    return rc;
}

/* ---- A series ---- */

static struct tl_worker *worker;
static struct tl_loaded *loaded;
static float in[1], out[2][4096];
static char root[300];
static int64_t tasks = 16;

static void fail(const struct tl_error *err)
{
    (void)fprintf(stderr, "bench_series: %s\n", err->msg);
    exit(1);
}

static struct tl_run *submit(unsigned number, bool recorded)
{
    const struct tl_host_tensor tensors[2] = {
        {.name = "in", .data = in, .shape = {1}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_IN},
        {.name = "out", .data = out[number % 2], .shape = {4096}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_OUT}};
    struct tl_run_config c = TL_RUN_CONFIG_INIT;
    struct tl_run *run = NULL;
    struct tl_error err;
    char dir[400];

    if (recorded) {
        (void)snprintf(dir, sizeof(dir), "%s/%u", root, number);
        c.output_prefix = dir;
        c.levels[TL_COLLECT_DUMP] = 2;
        c.levels[TL_COLLECT_SWIMLANE] = 4;
        c.levels[TL_COLLECT_PMU] = 2;
        c.levels[TL_COLLECT_DEPS] = c.levels[TL_COLLECT_SCOPE] = true;
    }
    if (tl_worker_submit(worker, loaded, SUBMIT_OPTS(tensors, 2, &tasks, 1, &c), &run, &err) != 0)
        fail(&err);
    return run;
}

static void finish(struct tl_run *run)
{
    struct tl_error err;

    if (tl_worker_wait(worker, run, NULL, &err) != 0)
        fail(&err);
}

/* Runs a second. */
static double series(unsigned runs, bool recorded, bool overlapped)
{
    struct tl_run *last = NULL;
    uint64_t from = tl__now_ns();
    double seconds;
    char command[400];

    for (unsigned i = 0; i < runs; i++) {
        struct tl_run *run = submit(i, recorded);

        if (!overlapped)
            finish(run);
        else if (last != NULL)
            finish(last);
        last = run;
    }
    if (overlapped)
        finish(last);
    seconds = (double)(tl__now_ns() - from) / 1e9;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'/*", root);
    if (recorded && system(command) != 0)
        exit(1);
    return runs / seconds;
}

static void compare(unsigned runs, bool recorded)
{
    double one[ROUNDS], two[ROUNDS], ratio[ROUNDS];

    (void)series(runs / 20 + 2, recorded, true);
    for (int i = 0; i < ROUNDS; i++) { /* side by side, so that both meet the same moment of the machine */
        one[i] = series(runs / ROUNDS, recorded, false);
        two[i] = series(runs / ROUNDS, recorded, true);
        ratio[i] = two[i] / one[i];
    }
    (void)printf("%-14s %8.0f runs/s one by one, %8.0f overlapped: %.2f\n", recorded ? "all collectors" : "none",
                 bench_median(one, ROUNDS), bench_median(two, ROUNDS), bench_median(ratio, ROUNDS));
}

/* Microseconds of the engine in a run. */
static double engine_us(unsigned runs, bool dead)
{
    as_if_dead = dead;
    (void)series(5, true, false);
    spent_ns = spent_runs = 0;
    (void)series(runs, true, false);
    return (double)spent_ns / 1e3 / (double)spent_runs;
}

int main(int argc, char **argv)
{
    unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_error err;

    tasks = argc > 3 ? strtol(argv[3], NULL, 10) : 16;
    task_us = argc > 4 ? strtol(argv[4], NULL, 10) : 50;
    (void)snprintf(root, sizeof(root), "%s/tl-bench-XXXXXX", argc > 2 ? argv[2] : "/tmp");
    if (mkdtemp(root) == NULL)
        return 1;
    opts.mode = TL_DEVICE_THREAD;
    if (tl_worker_open(&opts, &worker, &err) != 0 || tl_worker_load_linked(worker, &program, &loaded, &err) != 0)
        fail(&err);
    compare(runs, false);
    compare(runs, true);
    (void)printf("begin + quiesce of a recorded run: %.0f us\n", engine_us(runs / ROUNDS, false));
    (void)printf("begin with new pools + quiesce + reconcile: %.0f us\n", engine_us(runs / ROUNDS, true));
    tl_worker_close(worker);
    return rmdir(root) != 0;
}
