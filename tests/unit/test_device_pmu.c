/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that a machine counts, with a machine that is made up: what is asked of it, what becomes of its numbers, and
 * what is in the files when it gives some, none, or stops on one thread. From the device's hooks to the export.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "artifact/pmu.h"
#include "device/probes.h"
#include "support/fake_run.h"
#include "wire/pmu_record.h"

/* ---- the machine ---- */

#define GROW (1 + TL_PMU_MAX_MACHINE)

static struct {
    uint32_t gives; /* bit: names that it counts */
    uint8_t state;
    unsigned n_names;
    const char *names[1 + TL_PMU_MAX_MACHINE];
    uint64_t now[1 + TL_PMU_MAX_MACHINE];
    bool broken; /* on this thread */
} machine;

static uint32_t machine_begin(void *ctx, const char *const *names, unsigned n, uint8_t *ret_state)
{
    assert_ptr_equal(ctx, &machine);
    assert_true(n <= 1 + TL_PMU_MAX_MACHINE);
    memcpy(machine.names, names, n * sizeof(*names));
    machine.n_names = n;
    *ret_state = machine.state;
    return machine.gives;
}

static bool machine_read(void *ctx, uint64_t *ret_values)
{
    assert_ptr_equal(ctx, &machine);
    memcpy(ret_values, machine.now, sizeof(machine.now));
    return !machine.broken;
}

static const struct tl_counter_ops ops = {&machine, machine_begin, machine_read};

/* ---- a scheduler with one core, on an engine that collects ---- */

static struct fake_world world;
static struct tl_device device;
static struct tl_scheduler sched;
static struct tl_core_role core;
static struct tl_slot slot;
static struct tl_task_payload payload;
static struct tl_launch launch;
static struct tl_pmu pmu;
static struct tl_pmu_meta meta;
static const struct tl_kernel kernel = TL_KERNEL(5, "k", TL_AIV, NULL, TL_IN);
static char dir[64];
static uint32_t epoch;

static void begin(const char *arch, int event, const struct tl_counter_ops *counters)
{
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_engine_run run = {.config = &config, .lanes = 1, .program = "p", .case_name = "c", .platform = "x"};
    struct tl_error err = {0};

    (void)snprintf(dir, sizeof(dir), "/tmp/tl_device_pmu_XXXXXX");
    assert_non_null(mkdtemp(dir));
    config.output_prefix = dir;
    config.levels[TL_COLLECT_PMU] = event;
    config.dfx_records = 4;
    config.dfx_avg_bytes = 64;
    (void)snprintf(run.facts.arch, sizeof(run.facts.arch), "%s", arch);
    run.facts.clock_freq_hz = tl__arch_find(arch)->clock_hz;
    run.epoch = launch.epoch = ++epoch;
    if (tl__engine_begin(world.engine, &run, &launch.dfx, &err) != 0)
        fail_msg("%s", err.msg);
    launch.levels[TL_COLLECT_PMU] = event;
    memset(&device, 0, sizeof(device));
    device.opts = (struct tl_device_opts){.arch = tl__arch_find(arch), .counters = counters};
    device.launch = &launch;
    memset(&sched, 0, sizeof(sched));
    sched.device = &device;
    core = (struct tl_core_role){.id = 30, .kind = TL_KIND_AIV1, .sched = &sched};
    slot = (struct tl_slot){.payload = &payload, .shape = TL_SHAPE_AIV, .widest = &kernel};
    assert_int_equal(tl__recorder_begin(&sched.rec, &world.chip.mem, world.chip.bells, &launch,
                                        tl__streams_on(launch.levels, TL_WRITER_SCHEDULER), 0),
                     0);
    tl__probes_begin(&device);
}

/* One subtask: 100 device cycles, in which the machine's numbers grow by `grow` and the kernel reports `bytes` of
 * MTE2. */
static void subtask(uint64_t id, const uint64_t grow[GROW], uint64_t bytes)
{
    struct tl_token token = {.slot = &slot, .start = 1000, .end = 1100};
    struct tl_kernel_args args = {0};
    int r;

    payload.id = id;
    tl__probes_before(&device, &token, &args);
    for (unsigned i = 0; i < GROW && grow != NULL; i++)
        machine.now[i] += grow[i];
    if (bytes != 0)
        tl_count(&args, TL_COUNT_MTE2_BYTES, bytes);
    tl__probes_after(&device, &token);
    while ((r = tl__pmu_probe.subtask(&sched, &core, &token)) == TL_EAGAIN)
        (void)usleep(100); /* until the host has served the lane */
    assert_int_equal(r, 0);
}

static void end(uint64_t subtasks)
{
    uint64_t expected[TL_STREAM_COUNT] = {[TL_STREAM_PMU] = subtasks};
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    char path[100];
    int r;

    while ((r = tl__recorder_end(&sched.rec)) == TL_EAGAIN)
        (void)usleep(100);
    assert_int_equal(r, 0);
    assert_int_equal(tl__engine_quiesce(world.engine, epoch, TL_FOREVER), 0);
    if (tl__engine_export(world.engine, epoch, expected, &result, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(result.records_collected, subtasks);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_PMU_NAME);
    if (tl__pmu_read(path, &pmu, &err) != 0 || tl__pmu_meta_read(dir, &meta, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(pmu.n_rows, subtasks);
}

static void forget(void)
{
    char command[100];

    tl__pmu_fini(&pmu);
    tl__pmu_meta_fini(&meta);
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    memset(&machine, 0, sizeof(machine));
}

static uint64_t cell(uint64_t row, const char *name)
{
    for (uint32_t c = 0; c < pmu.n_counters; c++)
        if (strcmp(pmu.names[c], name) == 0)
            return pmu.counters[row * pmu.n_counters + c];
    fail_msg("no column %s", name);
    return 0;
}

static const struct tl_pmu_meta_column *column(const char *name)
{
    const struct tl_pmu_meta_column *c = tl__pmu_meta_column(&meta, name);

    assert_non_null(c);
    return c;
}

/* ---- tests ---- */

static void what_the_machine_counts(void **state)
{
    const uint64_t grow[GROW] = {5000, 30, 4, 0};

    (void)state;
    machine.gives = 6;
    begin("a2a3", 2, &ops);
    assert_int_equal(machine.n_names, 3);
    assert_string_equal(machine.names[0], "CYCLES");
    assert_string_equal(machine.names[1], "L1-ICACHE-LOAD-MISSES");
    assert_string_equal(machine.names[2], "L1-ICACHE-LOADS");
    subtask(7, grow, 2600);
    end(1);
    assert_int_equal(pmu.rows[0].task_id, 7);
    assert_int_equal(pmu.rows[0].func_id, 5);
    assert_int_equal(pmu.rows[0].core_id, 30);
    assert_int_equal(pmu.rows[0].core_type, TL_AIV);
    assert_int_equal(pmu.rows[0].total_cycles, 100);
    assert_int_equal(cell(0, "icache_miss"), 30);
    assert_int_equal(cell(0, "icache_req"), 4);
    assert_int_equal(cell(0, "mte2_busy_cycles"), 2); /* the model's, beside them */
    assert_string_equal(meta.mode, "measured");
    assert_int_equal(strncmp(meta.machine, "used: ", 6), 0);
    assert_int_equal(column("icache_miss")->source, TL_PMU_MEASURED);
    assert_string_equal(column("icache_miss")->text, "L1-ICACHE-LOAD-MISSES");
    assert_int_equal(column("mte2_busy_cycles")->source, TL_PMU_MODELLED);
    assert_int_equal(meta.n_silent, 0);
    forget();
}

/* Sums, differences, multiples, and core cycles as cycles of the device's clock. */
static void how_numbers_become_columns(void **state)
{
    const uint64_t l2[GROW] = {1, 100, 30, 50, 60}, memory[GROW] = {1, 3, 5}, stalls[GROW] = {4000, 1000};

    (void)state;
    machine.gives = 30;
    begin("a5", 8, &ops);
    assert_int_equal(machine.n_names, 5);
    subtask(1, l2, 0); /* stores, their misses, loads, their misses: more misses than loads */
    end(1);
    assert_int_equal(cell(0, "write_cache_hit"), 70);
    assert_int_equal(cell(0, "write_cache_miss_allocate"), 30);
    assert_int_equal(cell(0, "r0_read_cache_hit"), 0);
    assert_int_equal(cell(0, "r0_read_cache_miss_allocate"), 60);
    assert_string_equal(column("write_cache_hit")->text, "LLC-STORES less LLC-STORE-MISSES");
    assert_int_equal(column("r1_read_cache_hit")->source, TL_PMU_UNAVAILABLE);
    forget();
    machine.gives = 6;
    begin("a5", 4, &ops);
    subtask(1, memory, 10);
    end(1);
    assert_int_equal(cell(0, "main_mem_read_bytes"), 3 * 64);
    assert_int_equal(cell(0, "main_mem_write_bytes"), 5 * 64);
    assert_int_equal(cell(0, "l2_read_bytes"), 10);
    assert_string_equal(column("main_mem_read_bytes")->text, "LLC-LOAD-MISSES, times 64");
    forget();
    machine.gives = 2;
    begin("a2a3", 6, &ops);
    subtask(1, stalls, 0);
    end(1);
    assert_int_equal(cell(0, "vec_resc_cflt_cycles"), 25); /* a quarter of 100 */
    assert_non_null(strstr(column("vec_resc_cflt_cycles")->text, "converted"));
    assert_int_equal(column("vec_bank_cflt_cycles")->source, TL_PMU_UNAVAILABLE);
    forget();
}

/* Of what is asked for the machine has a subtask: the rest is unavailable, for a reason. */
static void a_machine_that_gives_less(void **state)
{
    const uint64_t grow[GROW] = {10, 8, 3};

    (void)state;
    machine.gives = 2;
    begin("a2a3", 8, &ops); /* stores, not their misses */
    subtask(1, grow, 0);
    end(1);
    assert_string_equal(meta.mode, "modelled");
    assert_int_equal(cell(0, "write_cache_hit"), 0);
    assert_int_equal(column("write_cache_hit")->source, TL_PMU_UNAVAILABLE);
    forget();
    machine.gives = 4;
    begin("a2a3", 8, &ops); /* the misses alone: one column */
    subtask(1, grow, 0);
    end(1);
    assert_string_equal(meta.mode, "measured");
    assert_int_equal(cell(0, "write_cache_miss_allocate"), 3);
    assert_int_equal(column("write_cache_hit")->source, TL_PMU_UNAVAILABLE);
    forget();
}

/* On one thread the counters cannot be read: those rows are counted apart. */
static void a_thread_that_cannot_count(void **state)
{
    const uint64_t grow[GROW] = {10, 8, 3};

    (void)state;
    machine.gives = 6;
    begin("a2a3", 2, &ops);
    subtask(1, grow, 1300);
    machine.broken = true;
    subtask(2, grow, 1300);
    machine.broken = false;
    subtask(3, grow, 1300);
    end(3);
    assert_int_equal(cell(0, "icache_miss"), 8);
    assert_int_equal(cell(1, "icache_miss"), 0);
    assert_int_equal(cell(1, "mte2_busy_cycles"), 1);
    assert_int_equal(cell(2, "icache_miss"), 8);
    assert_int_equal(column("icache_miss")->rows_lacking, 1);
    forget();
}

static void why_there_is_none(void **state)
{
    static const struct {
        uint8_t state;
        const char *words;
    } cases[] = {{TL_MACHINE_ABSENT, "no such hardware counters"},
                 {TL_MACHINE_DENIED, "perf_event_paranoid"},
                 {TL_MACHINE_NO_NAMES, "libpfm4"},
                 {TL_MACHINE_FAILED, "refused"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        machine.state = cases[i].state;
        begin("a5", 2, &ops);
        subtask(1, NULL, 0);
        end(1);
        assert_non_null(strstr(meta.machine, cases[i].words));
        assert_int_equal(strncmp(meta.machine, "not used: ", 10), 0);
        assert_non_null(strstr(column("icache_req")->text, cases[i].words));
        assert_string_equal(meta.mode, "modelled");
        assert_int_equal(meta.n_silent, 1);
        assert_int_equal(meta.silent[0], 5);
        forget();
    }
    begin("a2a3", 5, &ops); /* nothing of it is a machine's */
    subtask(1, NULL, 0);
    end(1);
    assert_int_equal(machine.n_names, 0);
    assert_non_null(strstr(meta.machine, "no counter of this event type"));
    forget();
    begin("a2a3", 2, NULL);
    subtask(1, NULL, 1);
    end(1);
    assert_non_null(strstr(meta.machine, "no such hardware counters"));
    forget();
}

static void a_run_without_subtasks(void **state)
{
    (void)state;
    begin("a2a3", 2, NULL);
    end(0);
    assert_int_equal(pmu.n_counters, 8);
    assert_non_null(strstr(meta.machine, "not known"));
    forget();
}

/* A kernel that reports in one subtask only is no silent one; ids are sorted. */
static void a_kernel_that_reports_once_is_not_silent(void **state)
{
    static const struct tl_kernel others[] = {TL_KERNEL(9, "a", TL_AIV, NULL, TL_IN),
                                              TL_KERNEL(2, "b", TL_AIV, NULL, TL_IN)};

    (void)state;
    begin("a2a3", 2, NULL);
    slot.widest = &others[0];
    subtask(1, NULL, 0);
    slot.widest = &kernel;
    subtask(2, NULL, 0);
    subtask(3, NULL, 64);
    slot.widest = &others[1];
    subtask(4, NULL, 0);
    end(4);
    assert_int_equal(meta.n_silent, 2);
    assert_int_equal(meta.silent[0], 2);
    assert_int_equal(meta.silent[1], 9);
    forget();
}

static int open_world(void **state)
{
    (void)state;
    fake_world_init(&world, FAKE_MAPPED, 1, UINT64_C(64) << 20);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    fake_world_fini(&world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_machine_counts),
        cmocka_unit_test(how_numbers_become_columns),
        cmocka_unit_test(a_machine_that_gives_less),
        cmocka_unit_test(a_thread_that_cannot_count),
        cmocka_unit_test(why_there_is_none),
        cmocka_unit_test(a_run_without_subtasks),
        cmocka_unit_test(a_kernel_that_reports_once_is_not_silent),
    };

    if (!TASKLENS_DFX)
        return 77;
    return cmocka_run_group_tests(tests, open_world, close_world);
}
