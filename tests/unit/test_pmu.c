/* SPDX-License-Identifier: Apache-2.0 */
/* pmu.csv and pmu_meta.json: what is written comes back, what is wrong is named, and what kernels' figures are. */
#include "unit/artifact_fixture.h"

#include "analysis/pmu/pmu_view.h"
#include "artifact/pmu.h"
#include "base/env.h"

static struct tl_pmu pmu;
static struct tl_error error;

static int parse(const char *text)
{
    memset(&error, 0, sizeof(error));
    return tl__pmu_parse(text, strlen(text), "pmu.csv", &pmu, &error);
}

/* The text is refused at this line, with these words. */
static void refuses(const char *text, long line, const char *words)
{
    assert_int_equal(parse(text), TL_EPARSE);
    assert_int_equal(error.offset, line);
    if (strstr(error.msg, words) == NULL)
        fail_msg("no \"%s\" in: %s", words, error.msg);
}

#define HEAD "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,a,b,event_type\n"

static void what_is_written_comes_back(void **state)
{
    char *names[] = {"vec_busy_cycles", "icache_miss"};
    struct tl_pmu_row rows[] = {{0x100000002, UINT64_MAX, 3, 71, -1, 1, 2, 0}, {7, 12, 0, 0, 5, 0, 2, 0}};
    uint64_t counters[] = {1, UINT64_MAX, 0, 9};
    struct tl_pmu out = {.names = names, .rows = rows, .counters = counters, .n_rows = 2, .n_counters = 2};
    char *text;

    (void)state;
    assert_int_equal(tl__pmu_write(fixture_dir, &out, &error), 0);
    text = fixture_read("pmu.csv", NULL);
    assert_string_equal(text,
                        "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,vec_busy_cycles,icache_miss,"
                        "event_type\n"
                        "3,71,0x0000000100000002,-1,1,18446744073709551615,1,18446744073709551615,2\n"
                        "0,0,0x0000000000000007,5,0,12,0,9,2\n");
    free(text);
    assert_int_equal(tl__pmu_read(fixture_path("pmu.csv"), &pmu, &error), 0);
    assert_int_equal(pmu.n_rows, 2);
    assert_int_equal(pmu.n_counters, 2);
    assert_string_equal(pmu.names[1], "icache_miss");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pmu.rows[i].task_id, rows[i].task_id);
        assert_int_equal(pmu.rows[i].total_cycles, rows[i].total_cycles);
        assert_int_equal(pmu.rows[i].thread_id, rows[i].thread_id);
        assert_int_equal(pmu.rows[i].core_id, rows[i].core_id);
        assert_int_equal(pmu.rows[i].func_id, rows[i].func_id);
        assert_int_equal(pmu.rows[i].core_type, rows[i].core_type);
    }
    assert_memory_equal(pmu.counters, counters, sizeof(counters));
    assert_int_equal(pmu.event_type, 2);
    tl__pmu_fini(&pmu);
    assert_int_equal(tl__pmu_read(fixture_path("absent"), &pmu, &error), TL_ENOENT);
    assert_int_equal(tl__pmu_write(fixture_path("absent"), &out, &error), TL_ENOENT);
    out.n_counters = TL_PMU_MAX_COLUMNS + 1;
    assert_int_equal(tl__pmu_write(fixture_dir, &out, &error), TL_EINVAL);
}

/* One file, two executions of one graph: core, task and kernel repeat, and only the epoch distinguishes rows. */
static void rows_of_several_runs_are_kept_apart(void **state)
{
    (void)state;
    assert_int_equal(parse("run_epoch,thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,a,event_type\n"
                           "4,0,0,0x0,0,0,10,1,2\n7,0,0,0x0,0,0,20,2,2\n4,0,0,0x1,0,0,30,3,2\n"),
                     0);
    assert_int_equal(pmu.n_counters, 1); /* the epoch is none */
    assert_int_equal(pmu.rows[1].run_epoch, 7);
    assert_true(pmu.first_epoch == 4 && pmu.last_epoch == 7);
    assert_int_equal(tl__pmu_keep_run(&pmu, 4), 2);
    assert_true(pmu.rows[1].total_cycles == 30 && pmu.counters[1] == 3 && pmu.last_epoch == 4);
    assert_int_equal(tl__pmu_keep_run(&pmu, 5), 0);
    tl__pmu_fini(&pmu);
    assert_int_equal(parse(HEAD "0,0,0x0,0,0,10,1,1,2\n"), 0);
    assert_true(pmu.first_epoch == 0 && pmu.last_epoch == 0);
    tl__pmu_fini(&pmu);
    refuses("run_epoch,run_epoch," HEAD, 1, "column 'run_epoch' appears twice");
    refuses("run_epoch," HEAD "4294967296,0,0,0x0,0,0,10,1,1,2\n", 2, "column 'run_epoch': expected an integer");
}

static void files_of_other_writers_are_read(void **state)
{
    (void)state;
    assert_int_equal(parse("event_type,note,task_id,func_id,thread_id,core_id,core_type,pmu_total_cycles,x\r\n"
                           "4,a b,7,-1,0,0,1,8,1\r\n\r\n5,,0xFf,2147483647,4294967295,3,0,0,5"),
                     0);
    assert_int_equal(pmu.n_rows, 2);
    assert_int_equal(pmu.n_counters, 1);
    assert_string_equal(pmu.names[0], "x");
    assert_int_equal(pmu.n_text, 1);
    assert_string_equal(pmu.first_text, "note");
    assert_int_equal(pmu.rows[0].task_id, 7);
    assert_int_equal(pmu.rows[0].func_id, -1);
    assert_int_equal(pmu.rows[1].task_id, 255);
    assert_int_equal(pmu.counters[1], 5);
    assert_int_equal(pmu.event_type, 4);
    assert_true(pmu.several_events);
    tl__pmu_fini(&pmu);
    assert_int_equal(parse(HEAD), 0);
    assert_int_equal(pmu.n_rows, 0);
    assert_int_equal(pmu.n_counters, 2);
    tl__pmu_fini(&pmu);
}

static void a_spreadsheet_saved_it_again(void **state)
{
    static const char *const texts[] = {
        "\xef\xbb\xbfthread_id;core_id;task_id;func_id;core_type;pmu_total_cycles;a;note;event_type;;\r\n"
        "3;4;0x10;-1;1;5,00;6;;2;;\r\n;;;;;;;;;;\r\n",
        "sep=;\r\n\"thread_id\";\"core_id\";\"task_id\";\"func_id\";\"core_type\";\"pmu_total_cycles\";\"a\";\"note\";"
        "\"event_type\"\r\n\"3\";\"4\";\"0x10\";\"-1\";\"1\";\"5\";\"6\";\"x;y\";\"2\"\r\n",
        "thread_id\tcore_id\ttask_id\tfunc_id\tcore_type\tpmu_total_cycles\ta\tnote\tevent_type\n"
        "3\t4\t0x10\t-1\t1\t5.0\t6\tx\t2\n",
        "\"thread_id\",core_id,task_id,func_id,core_type,pmu_total_cycles,a,note,event_type,,\n"
        "3,4,0x10,-1,1,\"5,0\",6,\"x,y\",2,,\n,,\n",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(parse(texts[i]), 0);
        assert_int_equal(pmu.n_rows, 1);
        assert_int_equal(pmu.rows[0].thread_id, 3);
        assert_int_equal(pmu.rows[0].core_id, 4);
        assert_int_equal(pmu.rows[0].task_id, 16);
        assert_int_equal(pmu.rows[0].func_id, -1);
        assert_int_equal(pmu.rows[0].core_type, 1);
        assert_int_equal(pmu.rows[0].total_cycles, 5);
        assert_int_equal(pmu.rows[0].event_type, 2);
        assert_int_equal(pmu.n_counters, 1);
        assert_string_equal(pmu.names[0], "a");
        assert_int_equal(pmu.counters[0], 6);
        assert_string_equal(pmu.first_text, "note");
        tl__pmu_fini(&pmu);
    }
    /* What was rounded is not a count. */
    refuses("thread_id;core_id;task_id;func_id;core_type;pmu_total_cycles;a;event_type\n0;0;1;0;0;5,5;6;2\n", 2,
            "column 'pmu_total_cycles': expected an integer, found '5,5'");
    refuses("thread_id;core_id;task_id;func_id;core_type;pmu_total_cycles;a;event_type\n0;0;1;0;0;1,2E+10;6;2\n", 2,
            "column 'pmu_total_cycles': expected an integer, found '1,2E+10'");
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    refuses("", 1, "no header");
    refuses("\n", 1, "no header");
    refuses("thread_id,core_id,task_id,func_id,core_type,event_type\n", 1, "column 'pmu_total_cycles': missing");
    refuses("thread_id,thread_id,core_id\n", 1, "column 'thread_id' appears twice");
    refuses(HEAD "0,0,0x1,0,0,5,6,7,2\n0,0,0x1,0,0,5\n", 3,
            "cut: 6 of 9 fields, the first that is missing is column 'a'");
    refuses(HEAD "0,0,0x1,0,0,5,6,7,2,9\n", 2, "10 fields, and the header has 9");
    refuses(HEAD "0,0,0x1,0,0,5,6,7,2\n0,0,0x1,0,0,5,6,7x,2\n", 3, "column 'b': expected an integer, found '7x'");
    refuses(HEAD "0,0,0x1,0,0,5,6,7,2\n0,0,0x1,0,0,5,6,7,\n", 3, "column 'event_type': expected an integer, found ''");
    refuses(HEAD "0,0,0xg,0,0,5,6,7,2\n", 2, "column 'task_id': expected 0x and hexadecimal digits, found '0xg'");
    refuses(HEAD "0,0,0x11111111111111111,0,0,5,6,7,2\n", 2, "column 'task_id'");
    refuses(HEAD "0,0,1,2147483648,0,5,6,7,2\n", 2, "column 'func_id'");
    refuses(HEAD "0,0,1,-2147483649,0,5,6,7,2\n", 2, "column 'func_id'");
    refuses(HEAD "0,0,1,0,2,5,6,7,2\n", 2, "column 'core_type': expected 0 (AIC) or 1 (AIV), found '2'");
    refuses(HEAD "0,4294967296,1,0,0,5,6,7,2\n", 2, "column 'core_id'");
    refuses(HEAD "0,0,1,0,0,18446744073709551616,6,7,2\n", 2, "column 'pmu_total_cycles'");
    refuses(HEAD "0,0,1,0,0,5,6,7,256\n", 2, "column 'event_type'");
    refuses(HEAD "\x1b[31m,0,1,0,0,5,6,7,2\n", 2, "column 'thread_id': expected an integer, found ''...");
}

static void too_many_columns_are_refused(void **state)
{
    char text[2000];
    size_t n =
        (size_t)snprintf(text, sizeof(text), "%s", "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles");

    (void)state;
    for (unsigned i = 0; i < TL_PMU_MAX_COLUMNS; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",c%u", i);
    (void)snprintf(text + n, sizeof(text) - n, ",event_type\n");
    assert_int_equal(parse(text), 0);
    assert_int_equal(pmu.n_counters, TL_PMU_MAX_COLUMNS);
    tl__pmu_fini(&pmu);
    (void)snprintf(text + n, sizeof(text) - n, ",one_more,event_type\n");
    refuses(text, 1, "more than 64 counters");
    for (unsigned i = 0; i < 128; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",c");
    refuses(text, 1, "columns, of 128 at most");
}

/* ---- pmu_meta.json ---- */

static void fill_meta(struct tl_pmu_meta *m)
{
    static int32_t silent[] = {3, 9};

    *m = (struct tl_pmu_meta){
        .arch = "a5",
        .event_name = "PIPE_UTILIZATION",
        .mode = "measured",
        .machine = "perf",
        .clock_freq_hz = 1000000000,
        .records = 5,
        .dropped = 1,
        .event_type = 2,
        .n_columns = 3,
        .columns = {{.name = "pmu_total_cycles",
                     .unit = "cycles",
                     .text = "the device clock",
                     .source = TL_PMU_MEASURED,
                     .rows_lacking = 1},
                    {.name = "a", .unit = "bytes", .text = "mte2_bytes", .source = TL_PMU_MODELLED},
                    {.name = "b", .unit = "count", .text = "no counters \"here\"", .source = TL_PMU_UNAVAILABLE}},
        .n_silent = 2,
        .silent = silent,
    };
}

static void the_meta_comes_back(void **state)
{
    static struct tl_pmu_meta out, in;

    (void)state;
    fill_meta(&out);
    assert_int_equal(tl__pmu_meta_write(fixture_dir, &out, &error), 0);
    assert_int_equal(tl__pmu_meta_read(fixture_dir, &in, &error), 0);
    assert_int_equal(in.version, TL_PMU_META_VERSION);
    assert_string_equal(in.arch, out.arch);
    assert_string_equal(in.event_name, out.event_name);
    assert_string_equal(in.mode, out.mode);
    assert_string_equal(in.machine, out.machine);
    assert_int_equal(in.clock_freq_hz, out.clock_freq_hz);
    assert_int_equal(in.records, 5);
    assert_int_equal(in.dropped, 1);
    assert_int_equal(in.event_type, 2);
    assert_int_equal(in.n_columns, 3);
    assert_memory_equal(in.columns, out.columns, 3 * sizeof(in.columns[0]));
    assert_int_equal(in.n_silent, 2);
    assert_true(tl__pmu_meta_is_silent(&in, 9) && tl__pmu_meta_is_silent(&in, 3));
    assert_false(tl__pmu_meta_is_silent(&in, 4) || tl__pmu_meta_is_silent(&in, 10));
    assert_ptr_equal(tl__pmu_meta_column(&in, "b"), &in.columns[2]);
    assert_null(tl__pmu_meta_column(&in, "c"));
    tl__pmu_meta_fini(&in);
    assert_int_equal(tl__pmu_meta_read(fixture_path("absent"), &in, &error), TL_ENOENT);
    assert_string_equal(tl__pmu_source_name(TL_PMU_MEASURED), "measured");
    assert_string_equal(tl__pmu_source_name(7), "unknown");
}

static void bad_metadata_is_refused(void **state)
{
    static struct tl_pmu_meta in;
    static const struct {
        const char *text, *words;
        int code;
    } cases[] = {
        {"{", "pmu_meta.json", TL_EPARSE},
        {"{\"version\": 2}", "newer", TL_EVERSION},
        {"{\"version\": 1}", "event_type", TL_EPARSE},
        {"{\"version\": 1, \"event_type\": 2, \"event_name\": 3}", "event_name", TL_EPARSE},
        {"{\"version\": 1, \"event_type\": 2, \"event_name\": \"x\"}", "columns", TL_EPARSE},
        {"{\"version\": 1, \"event_type\": 2, \"event_name\": \"x\", \"columns\": [{\"name\": \"a\", \"source\": "
         "\"guessed\"}]}",
         "columns[0]", TL_EPARSE},
        {"{\"version\": 1, \"event_type\": 2, \"event_name\": \"x\", \"columns\": [{\"name\": \"a\", \"source\": "
         "\"modelled\"}]}",
         "formula", TL_EPARSE},
        {"{\"version\": 1, \"event_type\": 2, \"event_name\": \"x\", \"columns\": [], \"kernels_without_counts\": [2, "
         "1]}",
         "rising", TL_EPARSE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture_write_text("pmu_meta.json", cases[i].text);
        assert_int_equal(tl__pmu_meta_read(fixture_dir, &in, &error), cases[i].code);
        if (strstr(error.msg, cases[i].words) == NULL)
            fail_msg("no \"%s\" in: %s", cases[i].words, error.msg);
    }
    assert_int_equal(unlink(fixture_path("pmu_meta.json")), 0);
}

/* ---- figures ---- */

static void figures_are_nearest_ranks_by_kernel(void **state)
{
    struct tl_pmu_view view = {.pmu = &pmu, .dir = "x"};
    char text[4000], *names[] = {"zero", NULL, "two"};
    struct tl_name_map map = {.count = 3, .names = names};
    size_t n = (size_t)snprintf(text, sizeof(text), "%s", HEAD);
    const struct tl_pmu_figure *f;

    (void)state;
    for (unsigned i = 1; i <= 20; i++) /* 20 19 .. 1 cycles, AIV */
        n += (size_t)snprintf(text + n, sizeof(text) - n, "0,0,%u,2,1,%u,%u,0,2\n", i, 21 - i, 100 * i);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "0,0,50,0,0,1000,7,0,2\n0,0,51,0,1,90,3,4,2\n");
    assert_int_equal(parse(text), 0);
    assert_int_equal(tl__pmu_view_make(&view, &map), 0);
    assert_int_equal(view.n_kernels, 2);
    assert_int_equal(view.n_columns, 3);
    assert_string_equal(view.kernels[0].name, "zero"); /* most cycles first */
    assert_int_equal(view.kernels[0].subtasks, 2);
    assert_int_equal(view.kernels[0].core_type, TL_PMU_MIXED_CORES);
    assert_int_equal(view.kernels[1].core_type, 1);
    f = &view.figures[view.kernels[0].first];
    assert_int_equal(f->min, 90);
    assert_int_equal(f->median, 90);
    assert_int_equal(f->p95, 1000);
    assert_int_equal(f->max, 1000);
    f = &view.figures[view.kernels[1].first];
    assert_int_equal(f->min, 1);
    assert_int_equal(f->median, 10);
    assert_int_equal(f->p95, 19);
    assert_int_equal(f->max, 20);
    assert_true(f->sum == 210.0);
    assert_int_equal(f[1].median, 1000);
    assert_true(view.columns[0].sum == 1300.0);
    assert_int_equal(tl__pmu_view_find(&view, "b"), 2);
    assert_int_equal(tl__pmu_view_find(&view, "pmu_total_cycles"), 0);
    assert_int_equal(tl__pmu_view_find(&view, "c"), -1);
    tl__pmu_view_fini(&view);
    tl__pmu_fini(&pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(rows_of_several_runs_are_kept_apart),
        cmocka_unit_test(files_of_other_writers_are_read),
        cmocka_unit_test(a_spreadsheet_saved_it_again),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(too_many_columns_are_refused),
        cmocka_unit_test(the_meta_comes_back),
        cmocka_unit_test(bad_metadata_is_refused),
        cmocka_unit_test(figures_are_nearest_ranks_by_kernel),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
