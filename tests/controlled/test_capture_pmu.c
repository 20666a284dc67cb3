/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters under orders that a seed chooses: cores that hold two subtasks at once, buffers of four records, every
 * subtask's row has its own counts, and its cycles are the virtual time that its kernel took. Usage: test [FIRST_SEED
 * [SEEDS]].
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/env_controlled.h"
#include "support/pmu_world.h"
#include "support/submit_opts.h"

#define DEFAULT_SEEDS 300u
#define TASKS 24u

static struct capture c;
static uint32_t x[4];

/* Virtual ns that each subtask saw itself take, by core of the one cluster: AIC, AIV0, AIV1. */
static uint64_t took_ns[TASKS][3][4];

/* Counts in two halves, with others' steps and some time between. */
static void slow(const struct tl_kernel_args *k, bool reports)
{
    uint64_t began_ns = tl__now_ns();
    const uint32_t task = TL_SCALAR_OF(k, 0, uint32_t);

    for (uint32_t what = 0; what < TL_COUNT_CLASSES && reports; what++) {
        tl_count(k, (enum tl_count_class)what, pmu_count(task, k->block_idx, k->lane, what) - 7);
        TL__POINT();
    }
    tl__controlled_sleep(1000 * (task % 7));
    for (uint32_t what = 0; what < TL_COUNT_CLASSES && reports; what++) {
        tl_count(k, (enum tl_count_class)what, 7);
        TL__POINT();
    }
    took_ns[task][k->core][k->block_idx] = tl__now_ns() - began_ns;
}

static void slow_report(const struct tl_kernel_args *k)
{
    slow(k, true);
}

static void slow_silent(const struct tl_kernel_args *k)
{
    slow(k, false);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(PMU_CUBE, "cube", TL_AIC, slow_report, TL_IN),
    TL_KERNEL(PMU_VECTOR, "vector", TL_AIV, slow_report, TL_IN),
    TL_KERNEL(PMU_SILENT, "silent", TL_AIV, slow_silent, TL_IN),
};

static const struct tl_program program = CAPTURE_PROGRAM("slow", kernels, pmu_orchestrate);

static void body(void *arg)
{
    const struct capture_cell *cell = &capture_cells[c.cell];
    struct tl_host_tensor tensor = capture_row("x", TL_IN, TL_UINT32, x, 4);
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_worker *worker;
    struct tl_loaded *loaded;

    (void)arg;
    opts.platform = cell->platform;
    opts.transport = cell->transport;
    opts.mode = TL_DEVICE_THREAD;
    opts.memory_bytes = UINT64_C(64) << 20;
    opts.sim_threads = 2;
    tl__controlled_check(tl_worker_open(&opts, &worker, &c.error) == 0);
    tl__controlled_check(tl_worker_load_linked(worker, &program, &loaded, &c.error) == 0);
    c.code = tl_worker_run(worker, loaded, SUBMIT_OPTS(&tensor, 1, NULL, 0, &c.config), &c.result, &c.error);
    tl_worker_close(worker);
}

/* The row's cycles are what its subtask saw, and the two looks at the clock in between; one cycle may be lost
 * where a chip's cycle is not an integer number of the clock's ticks. */
static void check_cycles(const struct tl_pmu *pmu, const struct tl_arch *arch)
{
    for (uint64_t i = 0; i < pmu->n_rows; i++) {
        const struct tl_pmu_row *r = &pmu->rows[i];
        uint32_t t = 0;
        bool found = false;

        while (t < pmu_n_tasks && pmu_tasks[t].id != r->task_id)
            t++;
        assert_true(t < pmu_n_tasks && r->core_id < 3);
        for (uint32_t b = 0; b < pmu_tasks[t].blocks; b++) {
            uint64_t want = (took_ns[t][r->core_id][b] + 100) * (arch->clock_hz / 1000000) / 1000;

            found =
                found || (took_ns[t][r->core_id][b] != 0 && r->total_cycles + 1 >= want && r->total_cycles <= want + 1);
        }
        if (!found)
            fail_msg("task %u on core %u: %llu cycles", t, r->core_id, (unsigned long long)r->total_cycles);
    }
}

static void one_seed(uint64_t seed)
{
    static const int events[] = {1, 2, 4, 5, 6, 7, 8};
    struct tl_controlled_opts opts = {.seed = seed, .stack_bytes = 1 << 20};
    static struct tl_controlled_report report;
    static struct tl_pmu_meta meta;
    unsigned cell = (unsigned)(seed % CAPTURE_CELLS);
    const struct tl_arch *arch = tl__arch_find(strncmp(capture_cells[cell].platform, "a5", 2) == 0 ? "a5" : "a2a3");
    struct tl_pmu pmu = {0};

    pmu_n_tasks = TASKS;
    memset(took_ns, 0, sizeof(took_ns));
    capture_begin(&c, cell, 0);
    c.config.levels[TL_COLLECT_PMU] = events[seed / CAPTURE_CELLS % 7];
    c.config.block_dim = 1;
    c.config.aicpu_threads = 2;
    c.config.task_window = 64;
    c.config.dep_pool = 256;
    c.config.heap_bytes = 1 << 20;
    c.config.dfx_avg_bytes = 256;
    c.config.dfx_records = 4;
    if (tl__controlled_run(&opts, body, NULL, &report) != 0)
        fail_msg("%s", report.text);
    if (c.code != 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed, c.error.msg);
    assert_int_equal(report.allocs_live, 0);
    assert_int_equal(c.result.records_collected, pmu_subtasks());
    pmu_read(&c, &pmu, &meta);
    pmu_check_rows(&pmu, tl__pmu_set(arch, (uint32_t)c.config.levels[TL_COLLECT_PMU]));
    check_cycles(&pmu, arch);
    assert_string_equal(meta.mode, "modelled");
    tl__pmu_fini(&pmu);
    tl__pmu_meta_fini(&meta);
    capture_end(&c);
}

static uint64_t first_seed = 1, seeds = DEFAULT_SEEDS, seed_now;

static void subtasks_do_not_mix(void **state)
{
    (void)state;
    for (seed_now = first_seed; seed_now < first_seed + seeds; seed_now++)
        one_seed(seed_now);
    seed_now = 0;
}

static int say_seed(void **state)
{
    (void)state;
    if (seed_now != 0)
        print_error("seed %llu\n", (unsigned long long)seed_now);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(subtasks_do_not_mix, say_seed)};
    const char *many = getenv("TASKLENS_SEEDS");

    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 0);
    if (argc > 2 || many != NULL)
        seeds = strtoull(argc > 2 ? argv[2] : many, NULL, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
