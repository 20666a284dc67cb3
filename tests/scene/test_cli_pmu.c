/* SPDX-License-Identifier: Apache-2.0 */
/* `tasklens pmu` as a user meets it: its text against tests/golden/pmu/ (TL_UPDATE_GOLDEN=1 rewrites it), its messages
 * and exit codes, and files that another runtime made. */
#include "scene/cli.h"
#include "scene/golden.h"

#include "artifact/name_map.h"
#include "artifact/pmu.h"

#define KERNELS 3u
#define SUBTASKS 40u

static struct tl_pmu_meta meta;

static void write_meta(void)
{
    static const char *const names[] = {"vec_busy_cycles", "cube_busy_cycles", "mte2_busy_cycles", "icache_miss",
                                        "icache_req"};
    static int32_t silent[] = {2};
    struct tl_error error = {0};

    meta = (struct tl_pmu_meta){.arch = "a2a3",
                                .event_name = "PIPE_UTILIZATION",
                                .mode = "modelled",
                                .machine = "not used: this machine has no counters",
                                .clock_freq_hz = 50000000,
                                .records = SUBTASKS * KERNELS,
                                .event_type = 2,
                                .n_columns = 6,
                                .n_silent = 1,
                                .silent = silent};
    meta.columns[0] = (struct tl_pmu_meta_column){
        .name = "pmu_total_cycles", .unit = "cycles", .text = "the device's clock", .source = TL_PMU_MEASURED};
    for (unsigned i = 0; i < 5; i++) {
        struct tl_pmu_meta_column *c = &meta.columns[i + 1];

        (void)snprintf(c->name, sizeof(c->name), "%s", names[i]);
        (void)snprintf(c->unit, sizeof(c->unit), "%s", i < 3 ? "cycles" : "count");
        (void)snprintf(c->text, sizeof(c->text), "%s",
                       i < 3 ? "its_bytes / 1300, rounded up" : "instruction fetches are not counted here");
        c->source = i < 3 ? TL_PMU_MODELLED : TL_PMU_UNAVAILABLE;
    }
    if (tl__pmu_meta_write(fixture_path("run"), &meta, &error) != 0)
        fail_msg("%s", error.msg);
}

static void write_rows(void)
{
    char *names[] = {meta.columns[1].name, meta.columns[2].name, meta.columns[3].name, meta.columns[4].name,
                     meta.columns[5].name};
    struct tl_pmu_row rows[SUBTASKS * KERNELS];
    uint64_t counters[SUBTASKS * KERNELS * 5] = {0};
    struct tl_pmu pmu = {
        .names = names, .rows = rows, .counters = counters, .n_rows = SUBTASKS * KERNELS, .n_counters = 5};
    struct tl_error error = {0};

    for (unsigned i = 0; i < SUBTASKS * KERNELS; i++) {
        unsigned kernel = i % KERNELS;

        rows[i] = (struct tl_pmu_row){.task_id = i, .func_id = (int32_t)kernel, .core_id = i % 8, .event_type = 2};
        rows[i].core_type = kernel != 0;
        rows[i].total_cycles = 1000 * (kernel + 1) + i;
        counters[5 * i + 0] = kernel == 1 ? 700 + i : 0;
        counters[5 * i + 1] = kernel == 0 ? 250 : 0;
        counters[5 * i + 2] = kernel != 2 ? 100 : 0;
    }
    if (tl__pmu_write(fixture_path("run"), &pmu, &error) != 0)
        fail_msg("%s", error.msg);
}

static int setup(void **state)
{
    char *names[] = {"matmul", "add", "silent"};
    struct tl_name_map map = {.count = 3, .names = names};
    struct tl_error error = {0};

    if (fixture_setup(state) != 0 || mkdir(fixture_path("run"), 0777) != 0)
        return -1;
    write_meta();
    write_rows();
    return tl__name_map_write(fixture_path("run"), "default", &map, &error);
}

static void each_view_is_the_golden_text(void **state)
{
    (void)state;
    expect(0, "pmu run");
    assert_string_equal(message, "");
    golden_is(output, "pmu/all.txt");
    expect(0, "pmu run/pmu.csv");
    expect(0, "pmu run --column mte2_busy_cycles");
    golden_is(output, "pmu/column.txt");
    expect(0, "pmu -c all run");
    golden_is(output, "pmu/every_column.txt");
    expect(0, "pmu run --json");
    golden_is(output, "pmu/all.json");
    expect(0, "pmu run --json --column icache_req");
    golden_is(output, "pmu/column.json");
    expect(0, "help pmu");
    golden_is(output, "pmu/help.txt");
}

static void bad_usage_and_input_are_refused(void **state)
{
    (void)state;
    refuses("pmu nowhere", "nowhere: no such file");
    refuses("pmu run run", "");
    refuses("pmu run --column mte9", "no column mte9 in it; the columns: pmu_total_cycles, vec_busy_cycles");
    assert_int_equal(mkdir(fixture_path("empty"), 0777), 0);
    refuses("pmu empty", "make one with `tasklens run PROGRAM --enable-pmu`");
    assert_int_equal(mkdir(fixture_path("bad"), 0777), 0);
    fixture_write_text("bad/pmu.csv",
                       "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,a,event_type\n0,0\n");
    refuses("pmu bad", "bad/pmu.csv: line 2: cut: 2 of 8 fields, the first that is missing is column 'task_id'");
    fixture_write_text("bad/pmu.csv", "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,a,event_type\n");
    expect(0, "pmu bad");
    assert_non_null(strstr(output, "no rows"));
    fixture_write_text("bad/pmu_meta.json", "{\"version\": 1");
    refuses("pmu bad", "pmu_meta.json");
}

/* Cut at a line's end the file is well-formed: only the run knows how many rows there were. */
static void a_cut_file_is_refused(void **state)
{
    char command[1200];

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "cd '%s' && mkdir cut && cp run/pmu_meta.json cut && head -n 91 run/pmu.csv >cut/pmu.csv",
                   fixture_dir);
    assert_int_equal(system(command), 0);
    expect(0, "pmu cut");
    assert_string_equal(message, "tasklens pmu: cut/pmu.csv has 90 rows of the 120 that were collected: the rest was "
                                 "cut off, and the figures are of what is there\n");
    assert_int_equal(unlink(fixture_path("cut/pmu_meta.json")), 0);
    expect(0, "pmu cut");
    assert_string_equal(message, "");
    fixture_write_text("cut/dfx_meta.json", "{\"version\": 1, \"streams\": [{\"name\": \"args_dump\", \"collected\": "
                                            "500}, {\"name\": \"pmu\", \"collected\": 91}]}");
    expect(0, "pmu cut");
    assert_non_null(strstr(message, "90 rows of the 91"));
    fixture_write_text("cut/dfx_meta.json", "{\"version\": 1, \"streams\": [{\"name\": \"pmu\", \"collected\": 90}]}");
    expect(0, "pmu cut");
    assert_string_equal(message, "");
}

static void files_of_other_writers_are_shown(void **state)
{
    static const char *const names[] = {"vector",
                                        "mix",
                                        "mix-2026-09",
                                        "sources",
                                        "samples/tmr-a2a3sim-vector",
                                        "samples/tmr-a2a3sim-mix",
                                        "samples/hbg-a2a3sim-edge-sources"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = fixture_foreign(names[i]);
        char words[1400];

        if (path == NULL)
            continue; /* the samples are absent */
        (void)snprintf(words, sizeof(words), "pmu '%s'", path);
        expect(0, words);
        assert_string_equal(message, "");
        assert_non_null(strstr(output, "event type 2 PIPE_UTILIZATION, "));
        assert_non_null(strstr(output, "There is no pmu_meta.json here"));
        assert_non_null(strstr(output, "most likely nothing was counted"));
        assert_int_equal(strstr(output, "func_0") == NULL, strstr(names[i], "vector") == NULL); /* it has no name map */
    }
}

static void rows_of_several_runs_are_kept_apart(void **state)
{
    static const char rows[] = "run_epoch,thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,a,event_type\n"
                               "4,0,0,0x0,0,0,10,1,2\n7,0,0,0x0,0,0,20,2,2\n4,0,0,0x1,0,0,30,3,2\n";
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(fixture_path("several"), 0777), 0);
    f = fopen(fixture_path("several/pmu.csv"), "w");
    assert_true(f != NULL && fputs(rows, f) >= 0 && fclose(f) == 0);
    expect(0, "pmu several");
    assert_non_null(strstr(output, ", 3 subtasks of 1 kernel"));
    assert_non_null(strstr(output, "rows of several runs, run_epoch 4 to 7: the figures are of all"));
    expect(0, "pmu several --run-epoch 7");
    assert_non_null(strstr(output, ", 1 subtask of 1 kernel"));
    assert_null(strstr(output, "several runs"));
    refuses("pmu several --run-epoch 5", "several/pmu.csv has no row of run_epoch 5; it has 4 to 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_view_is_the_golden_text),
        cmocka_unit_test(bad_usage_and_input_are_refused),
        cmocka_unit_test(a_cut_file_is_refused),
        cmocka_unit_test(files_of_other_writers_are_shown),
        cmocka_unit_test(rows_of_several_runs_are_kept_apart),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
