/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorded task costs, all in: tasks with 3 tiny tensors and 2 scalars at each dump level, through the worker,
 * to files in the current directory (removed afterwards).
 *
 *     bench_dump [TASKS [ROUNDS [TRANSPORT]]]     one line a level: wall on the device a task, medians; records, losses
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tasklens/worker.h>

#include "median.h"
#include "support/submit_opts.h"

#define ELEMENTS 16u
#define TILES 1024
#define PER_SCOPE 64
#define MAX_ROUNDS 101

enum { FUNC_AXPY };

static void axpy(const struct tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float), *y = TL_DATA(k, 1, const float);
    float *z = TL_DATA(k, 2, float), a = TL_SCALAR_OF(k, 0, float);
    int32_t n = TL_SCALAR_OF(k, 1, int32_t);

    for (int32_t i = 0; i < n; i++)
        z[i] = a * x[i] + y[i];
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_AXPY, "axpy", TL_AIV, axpy, TL_IN, TL_IN, TL_OUT)};
static const struct tl_param params[] = {{"tasks", 1, 1, 1 << 24, "tasks"}};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    int64_t tasks = in->params[0];

    for (int64_t first = 0; first < tasks; first += PER_SCOPE) {
        TL_SCOPE (o) {
            for (int64_t i = first; i < first + PER_SCOPE && i < tasks; i++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;
                struct tl_tensor x, y, z;
                uint32_t at = (uint32_t)(i % TILES) * ELEMENTS, shape = ELEMENTS;
                int32_t n = (int32_t)ELEMENTS;
                float a = 2.0f;

                if (tl_view(&in->tensors[0], &at, &shape, &x) < 0 || tl_view(&in->tensors[1], &at, &shape, &y) < 0 ||
                    tl_view(&in->tensors[2], &at, &shape, &z) < 0) {
                    tl_orch_fail(o, "a tile lies outside of its tensor");
                    return;
                }
                tl_add_input(&args, &x);
                tl_add_input(&args, &y);
                tl_add_output(&args, &z);
                tl_add_scalar(&args, a);
                tl_add_scalar(&args, n);
                tl_submit_aiv(o, FUNC_AXPY, &args);
            }
        }
    }
}

static const struct tl_program program = {.struct_size = sizeof(program),
                                          .api_version = TL_PROGRAM_API,
                                          .name = "bench_dump",
                                          .kernels = kernels,
                                          .n_kernels = TL_ARRAY_COUNT(kernels),
                                          .params = params,
                                          .n_params = TL_ARRAY_COUNT(params),
                                          .orchestrate = orchestrate};

static void die(const char *what, const struct tl_error *err)
{
    fprintf(stderr, "bench_dump: %s: %s\n", what, err->msg);
    exit(2);
}

static void run(struct tl_worker *w, struct tl_loaded *loaded, int64_t tasks, int level, const char *dir,
                struct tl_run_result *result)
{
    static float data[3][TILES * ELEMENTS];
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_host_tensor tensors[3];
    struct tl_error err;

    for (int i = 0; i < 3; i++)
        tensors[i] = (struct tl_host_tensor){.name = i == 0   ? "x"
                                                     : i == 1 ? "y"
                                                              : "z",
                                             .data = data[i],
                                             .shape = {TILES * ELEMENTS},
                                             .dtype = TL_FLOAT32,
                                             .rank = 1,
                                             .role = i == 2 ? TL_OUT : TL_IN};
    config.levels[TL_COLLECT_DUMP] = level;
    config.output_prefix = level == 0 ? NULL : dir;
    if (tl_worker_run(w, loaded, SUBMIT_OPTS(tensors, 3, &tasks, 1, &config), result, &err) < 0)
        die("run", &err);
}

static void measure(struct tl_worker *w, struct tl_loaded *loaded, int64_t tasks, int level, int rounds)
{
    struct tl_run_result result = {0};
    double us[MAX_ROUNDS];
    char dir[64], command[96];

    for (int i = -1; i < rounds; i++) {
        (void)snprintf(dir, sizeof(dir), "bench_dump.%d.%d.%d", getpid(), level, i + 1);
        run(w, loaded, tasks, level, dir, &result);
        if (i >= 0)
            us[i] = (double)result.wall_ns / 1e3 / (double)tasks;
        (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
        if (system(command) != 0)
            exit(2);
    }
    printf("level %d   %lld tasks   %6.2f us a task   %9llu records   %5.1f MB payload   dropped %llu, lost %llu\n",
           level, (long long)tasks, bench_median(us, rounds), (unsigned long long)result.records_collected,
           (double)result.payload_bytes / 1e6,
           (unsigned long long)(result.records_attempted - result.records_collected),
           (unsigned long long)result.payloads_lost);
}

int main(int argc, char **argv)
{
    int64_t tasks = argc > 1 ? atoll(argv[1]) : 65536;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_worker *w;
    struct tl_loaded *loaded;
    struct tl_error err;

    if (tasks < 1 || tasks > 1 << 24 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_dump [TASKS [ROUNDS 1..%d [mapped|copy]]]\n", MAX_ROUNDS);
        return 2;
    }
    opts.mode = TL_DEVICE_THREAD;
    opts.transport = argc > 3 ? argv[3] : NULL;
    if (tl_worker_open(&opts, &w, &err) < 0)
        die("open", &err);
    if (tl_worker_load_linked(w, &program, &loaded, &err) < 0)
        die("load", &err);
    for (int level = 0; level <= 3; level++) {
        if (level != 1) /* nothing is marked */
            measure(w, loaded, tasks, level, rounds);
    }
    tl_worker_close(w);
    return 0;
}
