/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime costs per task: graphs of empty kernels, diagnostics off, beside the same graphs as libgomp
 * `depend` tasks in the same process, both with 2 threads and libgomp's threads kept awake (OMP_WAIT_POLICY=active).
 *
 *     bench_overhead [TASKS [ROUNDS]]         one line a graph: ns a task of each, median of ROUNDS, and the ratio
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <omp.h>

#include <tasklens/worker.h>

#include "median.h"

#define CHAINS 64
#define MAX_ROUNDS 101

enum { FUNC_NOP };

static void nop(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_NOP, "nop", TL_AIV, nop, TL_INOUT, TL_IN, TL_IN)};

/* --- the graphs, twice each ------------------------------------------------------------------------------------- */

static struct tl_tensor cell_of(const struct tl_program_args *in, uint32_t i)
{
    struct tl_tensor t;
    uint32_t one = 1;

    if (tl_view(&in->tensors[0], &i, &one, &t) < 0)
        abort();
    return t;
}

static void orchestrate_chains(struct tl_orch *o, const struct tl_program_args *in)
{
    int64_t tasks = in->params[0], chains = in->params[1];

    for (int64_t i = 0; i < tasks; i += CHAINS) {
        TL_SCOPE (o) {
            for (int64_t k = i; k < i + CHAINS && k < tasks; k++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;
                struct tl_tensor cell = cell_of(in, (uint32_t)(k % chains));

                tl_add_inout(&args, &cell);
                tl_submit_aiv(o, FUNC_NOP, &args);
            }
        }
    }
}

static void gomp_chains(int64_t tasks, int64_t chains)
{
    static char cell[CHAINS];

#pragma omp parallel num_threads(2)
#pragma omp single
    for (int64_t k = 0; k < tasks; k++) {
        char *c = &cell[k % chains];
#pragma omp task depend(inout : c[0]) firstprivate(c)
        __asm__ volatile("" ::"r"(c));
    }
}

static void orchestrate_independent(struct tl_orch *o, const struct tl_program_args *in)
{
    int64_t tasks = in->params[0];

    for (int64_t i = 0; i < tasks; i += CHAINS) {
        TL_SCOPE (o) {
            for (int64_t k = i; k < i + CHAINS && k < tasks; k++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;

                tl_submit_aiv(o, FUNC_NOP, &args);
            }
        }
    }
}

static void gomp_independent(int64_t tasks, int64_t chains)
{
    (void)chains;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int64_t k = 0; k < tasks; k++) {
#pragma omp task firstprivate(k)
        __asm__ volatile("" ::"r"(k));
    }
}

/* Each cell waits for its left and its upper neighbour. */
static void orchestrate_wavefront(struct tl_orch *o, const struct tl_program_args *in)
{
    int64_t side = in->params[1];

    for (int64_t i = 0; i < side; i++) {
        TL_SCOPE (o) {
            for (int64_t j = 0; j < side; j++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;
                struct tl_tensor cell = cell_of(in, (uint32_t)(i * side + j)), up, left;

                tl_add_inout(&args, &cell);
                if (i > 0) {
                    up = cell_of(in, (uint32_t)((i - 1) * side + j));
                    tl_add_input(&args, &up);
                }
                if (j > 0) {
                    left = cell_of(in, (uint32_t)(i * side + j - 1));
                    tl_add_input(&args, &left);
                }
                tl_submit_aiv(o, FUNC_NOP, &args);
            }
        }
    }
}

static void gomp_wavefront(int64_t tasks, int64_t side)
{
    char *cell = calloc((size_t)tasks, 1);

#pragma omp parallel num_threads(2)
#pragma omp single
    for (int64_t i = 0; i < side; i++) {
        for (int64_t j = 0; j < side; j++) {
            char *c = &cell[i * side + j], *up = i > 0 ? c - side : c, *left = j > 0 ? c - 1 : c;
            (void)up, (void)left; /* named in the pragma alone */
#pragma omp task depend(inout : c[0]) depend(in : up[0], left[0]) firstprivate(c)
            __asm__ volatile("" ::"r"(c));
        }
    }
    free(cell);
}

/* --- measuring ------------------------------------------------------------------------------------------------------
 */

struct graph {
    const char *name;
    void (*orchestrate)(struct tl_orch *o, const struct tl_program_args *in);
    void (*gomp)(int64_t tasks, int64_t width);
    int64_t width; /* chains; 0: the side of a square */
};

static const struct graph graphs[] = {
    {"one chain", orchestrate_chains, gomp_chains, 1},
    {"64 chains", orchestrate_chains, gomp_chains, CHAINS},
    {"wavefront", orchestrate_wavefront, gomp_wavefront, 0},
    {"independent", orchestrate_independent, gomp_independent, 1},
};

static void die(const char *what, const struct tl_error *err)
{
    fprintf(stderr, "bench_overhead: %s: %s\n", what, err->msg);
    exit(2);
}

static double run_ours(struct tl_worker *w, struct tl_loaded *loaded, int64_t tasks, int64_t width)
{
    static float cells[1 << 20];
    struct tl_host_tensor t = {.name = "cells",
                               .data = cells,
                               .shape = {(uint32_t)(tasks < CHAINS ? CHAINS : tasks)},
                               .dtype = TL_FLOAT32,
                               .rank = 1,
                               .role = TL_IN};
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_run_result result;
    struct tl_error err;
    int64_t values[] = {tasks, width};

    if (tl_worker_run(w, loaded, &t, 1, values, 2, &config, &result, &err) < 0)
        die("run", &err);
    return (double)result.wall_ns / (double)tasks;
}

static const struct tl_param params[] = {{"tasks", 1, 1, 1 << 20, "tasks"},
                                         {"width", 1, 1, 1 << 20, "chains, or side"}};

static void measure(struct tl_worker *w, const struct graph *g, int64_t tasks, int rounds)
{
    struct tl_program program = {.struct_size = sizeof(program),
                                 .api_version = TL_PROGRAM_API,
                                 .name = "overhead",
                                 .kernels = kernels,
                                 .n_kernels = TL_COUNT(kernels),
                                 .params = params,
                                 .n_params = TL_COUNT(params),
                                 .orchestrate = g->orchestrate};
    double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], a, b;
    int64_t side = 1, width = g->width;
    struct tl_loaded *loaded;
    struct tl_error err;

    while ((side + 1) * (side + 1) <= tasks)
        side++;
    if (width == 0) {
        width = side;
        tasks = side * side;
    }
    if (tl_worker_load_linked(w, &program, &loaded, &err) < 0)
        die("load", &err);
    for (int i = -1; i < rounds; i++) { /* the first round of each only warms up */
        double began, x = run_ours(w, loaded, tasks, width);

        began = omp_get_wtime();
        g->gomp(tasks, width);
        if (i < 0)
            continue;
        ours[i] = x;
        theirs[i] = (omp_get_wtime() - began) * 1e9 / (double)tasks;
    }
    a = bench_median(ours, rounds);
    b = bench_median(theirs, rounds);
    printf("%-12s %8lld tasks   tasklens %7.0f ns   libgomp %7.0f ns   ratio %.2f\n", g->name, (long long)tasks, a, b,
           a / b);
}

int main(int argc, char **argv)
{
    int64_t tasks = argc > 1 ? atoll(argv[1]) : 50000;
    int rounds = argc > 2 ? atoi(argv[2]) : 7;
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_worker *w;
    struct tl_error err;

    if (tasks < 1 || tasks > 1 << 20 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_overhead [TASKS 1..1048576 [ROUNDS 1..%d]]\n", MAX_ROUNDS);
        return 2;
    }
    if (getenv("OMP_WAIT_POLICY") == NULL) { /* libgomp reads it before main */
        setenv("OMP_WAIT_POLICY", "active", 1);
        execv("/proc/self/exe", argv);
    }
    opts.mode = TL_DEVICE_THREAD;
    opts.sim_threads = 2;
    if (tl_worker_open(&opts, &w, &err) < 0)
        die("open", &err);
    for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++)
        measure(w, &graphs[i], tasks, rounds);
    tl_worker_close(w);
    return 0;
}
