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

#include "graphs.h"
#include "median.h"
#include "support/submit_opts.h"

#define MAX_ROUNDS 101

/* --- the graphs again ------------------------------------------------------------------------------------- */

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
    struct tl_host_tensor t = bench_cells(tasks);
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_run_result result;
    struct tl_error err;
    int64_t values[] = {tasks, width};

    if (tl_worker_run(w, loaded, SUBMIT_OPTS(&t, 1, values, 2, &config), &result, &err) < 0)
        die("run", &err);
    return (double)result.wall_ns / (double)tasks;
}

static void measure(struct tl_worker *w, const struct graph *g, int64_t tasks, int rounds)
{
    struct tl_program program = bench_program(g->orchestrate);
    double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], a, b;
    int64_t width = g->width;
    struct tl_loaded *loaded;
    struct tl_error err;

    if (width == 0)
        width = bench_square(&tasks);
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
