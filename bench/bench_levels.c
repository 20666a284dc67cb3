/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each diagnostic adds to a task: graphs of empty kernels, each with the diagnostic and without in turn, in one
 * process. Told in clock reads, whose price is measured in the same rounds: what recording costs is mostly that.
 *
 *     bench_levels [TASKS [ROUNDS [THREADS [DIR]]]]
 *
 * Medians of ROUNDS pairs: CPU time of the chip's threads, and launch to completion. The two agree where nothing else
 * runs and the collector, which has its own threads, keeps up; other work on the machine shows in the second alone.
 * THREADS step the chip: with 1 the collector has the other CPU of two. Recordings go to DIR and are removed.
 */
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "graphs.h"
#include "median.h"
#include "support/submit_opts.h"

#define MAX_ROUNDS 101
#define CLOCK_LOOPS 20
#define CLOCK_READS 1000

static void swimlane_on(struct tl_run_config *config, int level)
{
    config->levels[TL_COLLECT_SWIMLANE] = level;
}

static void dep_gen_on(struct tl_run_config *config, int level)
{
    config->levels[TL_COLLECT_DEPS] = level != 0;
}

static void scope_stats_on(struct tl_run_config *config, int level)
{
    config->levels[TL_COLLECT_SCOPE] = level != 0;
}

static void pmu_on(struct tl_run_config *config, int level)
{
    config->levels[TL_COLLECT_PMU] = level;
}

/* `bar`: clock reads that it may add to a task; 0: only printed. */
static const struct level {
    const char *name;
    void (*on)(struct tl_run_config *config, int level);
    int level;
    double bar;
} levels[] = {
    {"swimlane 1", swimlane_on, 1, 4},  {"swimlane 2", swimlane_on, 2, 0}, {"swimlane 3", swimlane_on, 3, 0},
    {"swimlane 4", swimlane_on, 4, 16}, {"dep_gen", dep_gen_on, 1, 9},     {"scope stats", scope_stats_on, 1, 9},
    {"pmu, as it comes", pmu_on, 2, 9},
};

static const struct graph {
    const char *name;
    void (*orchestrate)(struct tl_orch *o, const struct tl_program_args *in);
    int64_t width; /* chains; 0: the side of a square */
} graphs[] = {
    {"one chain", orchestrate_chains, 1},
    {"independent", orchestrate_independent, 1},
    {"wavefront", orchestrate_wavefront, 0},
};

static struct {
    struct tl_worker *worker;
    int64_t tasks;
    int rounds;
    char dir[512];
} bench;

static void die(const char *what, const struct tl_error *err)
{
    fprintf(stderr, "bench_levels: %s: %s\n", what, err->msg);
    exit(2);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* The best of a few: what interrupts a loop is not the clock's price. */
static double clock_read_ns(void)
{
    double best = 1e9;

    for (int k = 0; k < CLOCK_LOOPS; k++) {
        uint64_t from = tl__now_ns();
        double ns;

        for (int i = 0; i < CLOCK_READS; i++)
            (void)tl__now_ns();
        ns = (double)(tl__now_ns() - from) / CLOCK_READS;
        best = ns < best ? ns : best;
    }
    return best;
}

/* What the chip's threads have used so far. */
static double chip_cpu_ns(void)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *entry;
    double sum = 0;

    while (d != NULL && (entry = readdir(d)) != NULL) {
        char path[300], name[32] = "";
        char text[64] = "";
        FILE *f;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        if ((f = fopen(path, "r")) == NULL)
            continue;
        if (fgets(name, sizeof(name), f) == NULL)
            name[0] = '\0';
        (void)fclose(f);
        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
        if (strncmp(name, "tl-chip", 7) != 0 || (f = fopen(path, "r")) == NULL)
            continue;
        if (fgets(text, sizeof(text), f) != NULL)
            sum += (double)strtoull(text, NULL, 10);
        (void)fclose(f);
    }
    if (d != NULL)
        (void)closedir(d);
    return sum;
}

struct cost {
    double cpu_ns, wall_ns; /* a task */
};

/* False: this version has no such diagnostic. */
static bool run_once(struct tl_loaded *loaded, const struct level *level, int64_t tasks, int64_t width,
                     struct cost *ret_cost)
{
    struct tl_host_tensor t = bench_cells(tasks);
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_run_result result;
    struct tl_error err = {0};
    int64_t values[] = {tasks, width};
    double from = chip_cpu_ns();
    int r;

    config.output_prefix = bench.dir;
    if (level != NULL)
        level->on(&config, level->level);
    r = tl_worker_run(bench.worker, loaded, SUBMIT_OPTS(&t, 1, values, 2, &config), &result, &err);
    (void)nftw(bench.dir, remove_one, 8, FTW_PHYS | FTW_DEPTH);
    if (r == TL_ENOTSUP)
        return false;
    if (r < 0)
        die(level != NULL ? level->name : "off", &err);
    ret_cost->cpu_ns = (chip_cpu_ns() - from) / (double)tasks;
    ret_cost->wall_ns = (double)result.wall_ns / (double)tasks;
    return true;
}

static void measure_level(struct tl_loaded *loaded, const struct level *level, int64_t tasks, int64_t width)
{
    double off[MAX_ROUNDS], cpu[MAX_ROUNDS], wall[MAX_ROUNDS], clock[MAX_ROUNDS], reads;

    for (int i = -1; i < bench.rounds; i++) { /* the first round only warms up */
        double clock_ns = clock_read_ns();
        struct cost without, with;

        (void)run_once(loaded, NULL, tasks, width, &without);
        if (!run_once(loaded, level, tasks, width, &with)) {
            printf("  %-18s not in this version\n", level->name);
            return;
        }
        if (i < 0)
            continue;
        off[i] = without.cpu_ns;
        clock[i] = clock_ns;
        cpu[i] = (with.cpu_ns - without.cpu_ns) / clock_ns;
        wall[i] = (with.wall_ns - without.wall_ns) / clock_ns;
    }
    reads = bench_median(cpu, bench.rounds);
    printf("  %-18s off %6.0f ns   adds %5.1f clock reads of %.1f ns   (launch to completion: %.1f)", level->name,
           bench_median(off, bench.rounds), reads, bench_median(clock, bench.rounds), bench_median(wall, bench.rounds));
    if (level->bar > 0)
        printf("   at most %.0f: %s", level->bar, reads <= level->bar ? "held" : "MISSED");
    printf("\n");
    (void)fflush(stdout);
}

static void measure(const struct graph *g)
{
    struct tl_program program = bench_program(g->orchestrate);
    int64_t tasks = bench.tasks, width = g->width;
    struct tl_loaded *loaded;
    struct tl_error err;

    if (width == 0)
        width = bench_square(&tasks);
    if (tl_worker_load_linked(bench.worker, &program, &loaded, &err) < 0)
        die("load", &err);
    printf("%s, %lld tasks\n", g->name, (long long)tasks);
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        measure_level(loaded, &levels[i], tasks, width);
}

int main(int argc, char **argv)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_error err;
    char root[256];

    bench.tasks = argc > 1 ? atoll(argv[1]) : 100000;
    bench.rounds = argc > 2 ? atoi(argv[2]) : 9;
    opts.mode = TL_DEVICE_THREAD;
    opts.sim_threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    if (bench.tasks < 1 || bench.tasks > 1 << 20 || bench.rounds < 1 || bench.rounds > MAX_ROUNDS ||
        opts.sim_threads < 1) {
        fprintf(stderr, "usage: bench_levels [TASKS 1..1048576 [ROUNDS 1..%d [THREADS [DIR]]]]\n", MAX_ROUNDS);
        return 2;
    }
    (void)snprintf(root, sizeof(root), "%.200s/tl-bench-XXXXXX", argc > 4 ? argv[4] : "/tmp");
    if (mkdtemp(root) == NULL) {
        perror(root);
        return 1;
    }
    (void)snprintf(bench.dir, sizeof(bench.dir), "%s/run", root);
    if (tl_worker_open(&opts, &bench.worker, &err) < 0)
        die("open", &err);
    for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++)
        measure(&graphs[i]);
    tl_worker_close(bench.worker);
    (void)rmdir(root);
    return 0;
}
