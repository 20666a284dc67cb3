/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, from the kernel's tl_count to the rows: every event type of both chips under both runtimes, each subtask
 * with its own values, and what the companion says of their origin. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "artifact/swimlane.h"
#include "support/pmu_world.h"

static const uint32_t events[] = {1, 2, 4, 5, 6, 7, 8};

static struct capture c;
static struct tl_pmu pmu;
static struct tl_pmu_meta meta;
static uint32_t x[4];

static const struct tl_arch *arch_of(unsigned cell)
{
    return tl__arch_find(strncmp(capture_cells[cell].platform, "a5", 2) == 0 ? "a5" : "a2a3");
}

static void run(unsigned cell, int event, uint32_t tasks)
{
    struct tl_host_tensor tensor = capture_row("x", TL_IN, TL_UINT32, x, 4);

    pmu_n_tasks = tasks;
    capture_begin(&c, cell, 0);
    c.config.levels[TL_COLLECT_PMU] = event;
    if (capture_run(&c, &pmu_program, &tensor, 1) != 0)
        fail_msg("%s", c.error.msg);
    assert_int_equal(c.result.records_attempted, pmu_subtasks());
    assert_int_equal(c.result.records_collected, pmu_subtasks());
    pmu_read(&c, &pmu, &meta);
}

static void done(void)
{
    tl__pmu_fini(&pmu);
    tl__pmu_meta_fini(&meta);
    capture_end(&c);
}

/* What the companion says is what the set says, and what the machine said. */
static void check_meta(const struct tl_arch *arch, const struct tl_pmu_set *set)
{
    bool modelled = false, machine = false;

    assert_string_equal(meta.arch, arch->name);
    assert_int_equal(meta.event_type, set->event);
    assert_string_equal(meta.event_name, set->name);
    assert_int_equal(meta.clock_freq_hz, arch->clock_hz);
    assert_int_equal(meta.records, pmu.n_rows);
    assert_int_equal(meta.dropped, 0);
    assert_int_equal(meta.n_columns, set->n_columns + 1);
    assert_string_equal(meta.columns[0].name, "pmu_total_cycles");
    assert_int_equal(meta.columns[0].source, TL_PMU_MEASURED);
    for (uint32_t i = 0; i < set->n_columns; i++) {
        const struct tl_pmu_meta_column *m = &meta.columns[i + 1];
        char formula[300];

        assert_string_equal(m->name, set->columns[i].name);
        modelled = modelled || set->columns[i].per != 0;
        machine = machine || m->source == TL_PMU_MEASURED;
        if (m->source == TL_PMU_MODELLED)
            assert_string_equal(m->text, tl__pmu_formula(&set->columns[i], formula, sizeof(formula)));
        else if (m->source == TL_PMU_UNAVAILABLE)
            assert_ptr_equal(strstr(m->text, set->columns[i].lacking), m->text);
        else
            assert_ptr_equal(strstr(m->text, set->columns[i].machine.event), m->text);
        assert_int_equal(m->source == TL_PMU_MODELLED, set->columns[i].per != 0);
    }
    assert_string_equal(meta.mode, machine ? "measured" : "modelled");
    assert_int_equal(strncmp(meta.machine, "used: ", 6) == 0, machine);
    /* The kernel that reports nothing is named, where a model had use for it. */
    assert_int_equal(meta.n_silent, modelled ? 1 : 0);
    assert_true(!modelled || meta.silent[0] == PMU_SILENT);
}

/* Columns that this machine has counted may hold anything; the others are compared. */
static void forget_measured(const struct tl_pmu_set *set)
{
    for (uint32_t i = 0; i < set->n_columns; i++)
        for (uint64_t r = 0; r < pmu.n_rows && meta.columns[i + 1].source == TL_PMU_MEASURED; r++)
            pmu.counters[r * pmu.n_counters + i] = 0;
}

static void every_event_type_everywhere(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++)
        for (size_t e = 0; e < sizeof(events) / sizeof(events[0]); e++) {
            const struct tl_arch *arch = arch_of(cell);
            const struct tl_pmu_set *set = tl__pmu_set(arch, events[e]);

            run(cell, (int)events[e], 60);
            check_meta(arch, set);
            forget_measured(set);
            pmu_check_rows(&pmu, set);
            assert_false(pmu.several_events);
            assert_int_equal(pmu.event_type, events[e]);
            done();
        }
}

/* Rows are in the order of the tasks, name cores that exist, and were written by the scheduler that owns the core. */
static void rows_are_of_their_cores(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        int32_t thread[128];

        memset(thread, -1, sizeof(thread));
        run(cell, 2, 400);
        for (uint64_t i = 0; i < pmu.n_rows; i++) {
            const struct tl_pmu_row *r = &pmu.rows[i];

            assert_true(i == 0 || r[-1].task_id <= r->task_id);
            assert_true(r->core_id < arch_of(cell)->clusters * 3);
            assert_int_equal(r->core_type, r->core_id >= arch_of(cell)->clusters);
            assert_true(r->thread_id < arch_of(cell)->aicpu_threads - 1);
            assert_true(thread[r->core_id] < 0 || thread[r->core_id] == (int32_t)r->thread_id);
            thread[r->core_id] = (int32_t)r->thread_id;
        }
        done();
    }
}

/* Each subtask's cycles are those of its row in the swimlane: one subtask, one core, one time. */
static void check_swimlane(void)
{
    struct tl_swimlane swim;
    struct tl_error err = {0};
    char path[200];

    (void)snprintf(path, sizeof(path), "%s/%s", c.dir, TL_SWIMLANE_NAME);
    if (tl__swimlane_read(path, &swim, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(swim.n_cores, pmu.n_rows);
    for (uint64_t i = 0; i < pmu.n_rows; i++) {
        const struct tl_pmu_row *r = &pmu.rows[i];
        uint64_t at = 0;

        while (at < swim.n_cores && (swim.cores[at].task_id != r->task_id || swim.cores[at].core_id != r->core_id ||
                                     swim.cores[at].end_cycles - swim.cores[at].start_cycles != r->total_cycles))
            at++;
        assert_true(at < swim.n_cores);
        swim.cores[at].core_id = UINT32_MAX; /* taken */
    }
    tl__swimlane_fini(&swim);
}

/* With small buffers, the swimlane and the dump beside it: three records a subtask, none lost, none of another
 * subtask. */
static void counts_stay_apart_beside_other_streams(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        struct tl_host_tensor tensor = capture_row("x", TL_IN, TL_UINT32, x, 4);

        pmu_n_tasks = 300;
        capture_begin(&c, cell, 2);
        c.config.levels[TL_COLLECT_PMU] = 4;
        c.config.levels[TL_COLLECT_SWIMLANE] = 2;
        c.config.block_dim = 1;
        c.config.aicpu_threads = 2;
        c.config.dfx_records = 4;
        if (capture_run(&c, &pmu_program, &tensor, 1) != 0)
            fail_msg("%s", c.error.msg);
        assert_int_equal(c.result.records_collected, 2 * pmu_subtasks() + 2 * pmu_n_tasks);
        pmu_read(&c, &pmu, &meta);
        forget_measured(tl__pmu_set(arch_of(cell), 4));
        pmu_check_rows(&pmu, tl__pmu_set(arch_of(cell), 4));
        check_swimlane();
        done();
    }
}

static void an_event_that_is_none(void **state)
{
    (void)state;
    run(0, 3, 8);
    assert_int_equal(pmu.event_type, 2);
    assert_int_equal(capture_logged("--enable-pmu 3 is no event type of a2a3: 2 (PIPE_UTILIZATION) is counted"), 1);
    done();
    run(0, 1000, 8); /* said once a worker */
    assert_int_equal(pmu.event_type, 2);
    assert_int_equal(capture_logged("is no event type"), 0);
    done();
}

/* The second run of an image, and runs without the PMU between: nothing is left over. */
static void a_second_run_keeps_nothing_of_the_first(void **state)
{
    struct tl_host_tensor tensor = capture_row("x", TL_IN, TL_UINT32, x, 4);

    (void)state;
    for (unsigned cell = 0; cell < 4; cell++) {
        for (int round = 0; round < 3; round++) {
            run(cell, 4, 40);
            forget_measured(tl__pmu_set(arch_of(cell), 4));
            pmu_check_rows(&pmu, tl__pmu_set(arch_of(cell), 4));
            done();
            capture_begin(&c, cell, 0);
            c.config.output_prefix = NULL;
            assert_int_equal(capture_run(&c, &pmu_program, &tensor, 1), 0);
            assert_int_equal(c.result.records_attempted, 0);
            capture_end(&c);
        }
    }
}

static int close_chips(void **state)
{
    (void)state;
    capture_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_type_everywhere),
        cmocka_unit_test(rows_are_of_their_cores),
        cmocka_unit_test(counts_stay_apart_beside_other_streams),
        cmocka_unit_test(an_event_that_is_none),
        cmocka_unit_test(a_second_run_keeps_nothing_of_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, close_chips);
}
