/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All collectors together, by the command: 65,536 tasks of every shape on both archs and runtimes lose nothing and join
 * one to one; every subset of the flags leaves exactly its files; former spellings and levels out of range.
 */
#include "scene/cli.h"

#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "artifact/pmu.h"
#include "artifact/scope_stats.h"
#include "artifact/traffic.h"
#include "scene/streams.h"
#include "support/scope_rules.h"
#include "support/swim_rules.h"

#ifdef __SANITIZE_THREAD__
#define TASKS 8192 /* minutes otherwise, and each shape is there */
#else
#define TASKS 65536
#endif
#define FEW 96
#define ENOUGH 65536 /* that each stream has a lane with more records than one sample is taken of */
#define IN_FLIGHT 2u

/* --- features: a row for each flag ------------------------------------------------------------------------------- */

struct scene {
    const char *dir; /* below the test's */
    int64_t tasks;
};

static void check_swimlane(const struct scene *s, int level);
static void check_deps(const struct scene *s, int level);
static void check_scopes(const struct scene *s, int level);
static void check_pmu(const struct scene *s, int level);
static void check_traffic(const struct scene *s, int level);
static void check_joins(const struct scene *s);

static const struct feature {
    const char *flag;
    int levels;
    bool takes_level;
    const char *files[3]; /* below the run's directory, sorted; at each level */
    void (*check)(const struct scene *s, int level);
} features[] = {
    {"--dump-args", 3, true, {"args_dump/args.bin", "args_dump/args_dump.json", "name_map_default.json"}, NULL},
    {"--enable-chip-swimlane", 4, true, {"chip_swimlane_records.json", "name_map_default.json"}, check_swimlane},
    {"--enable-dep-gen", 1, false, {"deps.json", "name_map_default.json"}, check_deps},
    {"--enable-scope-stats", 1, false, {"scope_stats/scope_stats.jsonl"}, check_scopes},
    {"--enable-pmu", 2, true, {"name_map_default.json", "pmu.csv", "pmu_meta.json"}, check_pmu},
    {"--enable-traffic", 1, false, {"name_map_default.json", "traffic.jsonl"}, check_traffic},
};
#define FEATURES (sizeof(features) / sizeof(features[0]))

static const char *const platforms[] = {"a2a3sim", "a5sim"};
static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};

/* `tasklens run` of the program with these levels. */
static void run(const char *dir, int64_t tasks, const int *levels, const char *more)
{
    char words[1200];
    int at = snprintf(words, sizeof(words), "run '%s/tests/streams.so' --set tasks=%lld --out %s %s",
                      TL_TEST_BINARY_DIR, (long long)tasks, dir, more);

    for (size_t i = 0; i < FEATURES; i++) {
        if (levels[i] == 0)
            continue;
        at += snprintf(words + at, sizeof(words) - (size_t)at, " %s", features[i].flag);
        if (features[i].takes_level)
            at += snprintf(words + at, sizeof(words) - (size_t)at, " %d", levels[i]);
    }
    expect(0, words);
}

/* --- artifacts -----------------------------------------------------------------------------------------------------
 */

static struct tl_swimlane swimlane;
static struct tl_deps deps;
static struct tl_pmu pmu;

static const char *path_in(const struct scene *s, const char *name)
{
    char below[100];

    (void)snprintf(below, sizeof(below), "%s/%s", s->dir, name);
    return fixture_path(below);
}

static uint64_t subtasks_of(int64_t tasks)
{
    uint64_t n = 0;

    for (int64_t i = 0; i < tasks; i++)
        n += streams_subtasks(i);
    return n;
}

static void check_swimlane(const struct scene *s, int level)
{
    struct tl_error err = {0};
    const char *said;

    if (tl__swimlane_read(path_in(s, TL_SWIMLANE_NAME), &swimlane, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(swimlane.level, level);
    assert_int_equal(swimlane.n_cores, subtasks_of(s->tasks));
    assert_int_equal(swimlane.n_orchs, level == 4 ? s->tasks : 0);
    said = swim_rules(&swimlane, IN_FLIGHT);
    if (said[0] != '\0')
        fail_msg("%s: %s", s->dir, said);
}

static void check_traffic(const struct scene *s, int level)
{
    struct tl_traffic traffic;
    struct tl_error err = {0};
    uint64_t subtasks = 0, with_kernel = 0;

    (void)level;
    if (tl__traffic_file_read(path_in(s, TL_TRAFFIC_NAME), &traffic, &err) != 0)
        fail_msg("%s", err.msg);
    for (int64_t i = 0; i < s->tasks; i++)
        with_kernel += streams_subtasks(i) != 0;
    assert_int_equal(traffic.tasks.count, with_kernel);
    for (size_t i = 0; i < traffic.tasks.count; i++) {
        subtasks += traffic.tasks.items[i].subtasks;
        assert_true(traffic.tasks.items[i].start != 0);
        if (i > 0)
            assert_true(traffic.tasks.items[i].start >= traffic.tasks.items[i - 1].start);
    }
    assert_int_equal(subtasks, subtasks_of(s->tasks));
    tl__traffic_fini(&traffic);
}

static void check_deps(const struct scene *s, int level)
{
    struct tl_error err = {0};

    (void)level;
    if (tl__deps_read(path_in(s, TL_DEPS_NAME), &deps, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(deps.n_tasks, s->tasks);
    for (int64_t i = 0; i < s->tasks; i++) {
        const struct tl_deps_task *t = &deps.tasks[i];
        uint32_t subtasks = 0;

        assert_int_equal(t->block_num, streams_kind(i) == STREAMS_SPMD ? STREAMS_BLOCKS : 1);
        for (unsigned core = 0; core < 3; core++)
            subtasks += t->kernel_ids[core] >= 0 ? t->block_num : 0;
        assert_int_equal(subtasks, streams_subtasks(i));
    }
    for (uint64_t i = 0; i < deps.n_edges; i++)
        assert_true(deps.edge_pred[i] < deps.edge_succ[i] && deps.edge_succ[i] < deps.n_tasks);
}

static void check_scopes(const struct scene *s, int level)
{
    struct tl_scope_stats scopes = {0};
    struct tl_error err = {0};

    (void)level;
    if (tl__scope_stats_read(path_in(s, TL_SCOPE_DIR_NAME "/" TL_SCOPE_NAME), &scopes, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(scope_rules(&scopes), "");
    assert_int_equal(scopes.boundaries.count, 2 * ((s->tasks + STREAMS_SCOPE - 1) / STREAMS_SCOPE + 1));
    assert_false(scopes.fatal);
    tl__scope_stats_fini(&scopes);
}

static void check_pmu(const struct scene *s, int level)
{
    static struct tl_pmu_meta meta;
    struct tl_error err = {0};

    if (tl__pmu_read(path_in(s, TL_PMU_NAME), &pmu, &err) != 0 ||
        tl__pmu_meta_read(fixture_path(s->dir), &meta, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(pmu.event_type, level);
    assert_int_equal(pmu.n_rows, subtasks_of(s->tasks));
    assert_int_equal(meta.records, pmu.n_rows);
    assert_int_equal(meta.n_columns, pmu.n_counters + 1);
    tl__pmu_meta_fini(&meta);
}

static int compare_subtasks(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    for (unsigned i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* What a core ran and what it counted are the same subtasks: task, core, cycles. */
static void check_subtasks(void)
{
    uint64_t(*ran)[3] = calloc(swimlane.n_cores, sizeof(*ran)), (*counted)[3] = calloc(pmu.n_rows, sizeof(*counted));

    assert_true(ran != NULL && counted != NULL && swimlane.n_cores == pmu.n_rows);
    for (uint64_t i = 0; i < swimlane.n_cores; i++) {
        const struct tl_swim_core *r = &swimlane.cores[i];

        ran[i][0] = r->task_id;
        ran[i][1] = r->core_id;
        ran[i][2] = r->end_cycles - r->start_cycles;
        counted[i][0] = pmu.rows[i].task_id;
        counted[i][1] = pmu.rows[i].core_id;
        counted[i][2] = pmu.rows[i].total_cycles;
    }
    qsort(ran, swimlane.n_cores, sizeof(*ran), compare_subtasks);
    qsort(counted, pmu.n_rows, sizeof(*counted), compare_subtasks);
    assert_memory_equal(ran, counted, pmu.n_rows * sizeof(*ran));
    free(ran);
    free(counted);
}

/* Each subtask's task is in the graph, and each task has its subtasks; submits come as the graph has them. */
static void check_joins(const struct scene *s)
{
    uint32_t *rows = calloc((size_t)s->tasks, sizeof(*rows));

    assert_non_null(rows);
    for (uint64_t i = 0; i < swimlane.n_cores; i++) {
        uint32_t at = tl__deps_find(&deps, swimlane.cores[i].task_id);

        assert_true(at < deps.n_tasks);
        rows[at]++;
    }
    for (int64_t i = 0; i < s->tasks; i++)
        assert_int_equal(rows[i], streams_subtasks(i));
    for (uint64_t i = 0; i < swimlane.n_orchs; i++)
        assert_true(swimlane.orchs[i].task_id == deps.tasks[i].task_id);
    free(rows);
}

static void check_meta(const struct scene *s)
{
    static struct tl_meta meta;
    struct tl_error err = {0};
    int64_t allocations = 0;

    if (tl__meta_read(fixture_path(s->dir), &meta, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(meta.status, "ok");
    for (int64_t i = 0; i < s->tasks; i++)
        allocations += streams_kind(i) == STREAMS_ALLOC;
    assert_int_equal(meta.allocations, allocations);
    assert_int_equal(meta.tasks, s->tasks - allocations);
    for (uint32_t i = 0; i < meta.stream_count; i++) {
        const struct tl_meta_stream *stream = &meta.streams[i];

        assert_true(stream->attempted > 0);
        assert_int_equal(stream->attempted, stream->collected);
        assert_string_equal(stream->losses[0].cause, "");
        assert_int_equal(stream->payloads_lost, 0);
        assert_true(s->tasks < ENOUGH || stream->record_ns > 0); /* what a record cost was measured */
        if (strcmp(stream->name, "swim_parts") == 0 || strcmp(stream->name, "pmu") == 0)
            assert_int_equal(stream->attempted, subtasks_of(s->tasks));
        if (strcmp(stream->name, "swim_submits") == 0)
            assert_int_equal(stream->attempted, s->tasks);
    }
}

/* --- 65,536 tasks --------------------------------------------------------------------------------------------------
 */

static void many_tasks(const char *platform, const char *runtime, const char *more)
{
    struct scene s = {.dir = "many", .tasks = TASKS};
    int levels[FEATURES] = {0};
    char words[300];

    (void)snprintf(words, sizeof(words), "-p %s --runtime %s %s", platform, runtime, more);
    for (size_t i = 0; i < FEATURES; i++)
        levels[i] = i == 0 ? 1 : features[i].levels; /* payloads of what is marked */
    run(s.dir, s.tasks, levels, words);
    check_meta(&s);
    for (size_t i = 0; i < FEATURES; i++)
        if (features[i].check != NULL)
            features[i].check(&s, levels[i]);
    check_joins(&s);
    check_subtasks();
    tl__swimlane_fini(&swimlane);
    tl__deps_fini(&deps);
    tl__pmu_fini(&pmu);
}

static void no_stream_loses_a_record(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 2; p++)
        for (unsigned r = 0; r < 2; r++)
            many_tasks(platforms[p], runtimes[r], p == r ? "" : "--dfx-set records=32,buffers=4 --device-mode thread");
}

/* --- subsets -------------------------------------------------------------------------------------------------------
 */

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Exactly the files of what was on. */
static void check_files(const char *dir, const int *levels)
{
    const char *names[3 * FEATURES + 2] = {"dfx_meta.json", "program/streams.so"};
    char command[800], *files, wanted[1000] = "";
    size_t n = 2, at = 0;

    for (size_t i = 0; i < FEATURES; i++)
        for (unsigned k = 0; levels[i] != 0 && k < 3 && features[i].files[k] != NULL; k++)
            names[n++] = features[i].files[k];
    qsort(names, n, sizeof(names[0]), compare_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            at += (size_t)snprintf(wanted + at, sizeof(wanted) - at, "./%s\n", names[i]);
    (void)snprintf(command, sizeof(command), "cd '%s/%s' && find . ! -type d | LC_ALL=C sort >'%s/files'", fixture_dir,
                   dir, fixture_dir);
    assert_int_equal(system(command), 0);
    files = fixture_read("files", NULL);
    assert_string_equal(files, wanted);
    free(files);
}

static void every_subset_leaves_its_files(void **state)
{
    (void)state;
    /* Under sanitizers, ten times as slow, every third: the others differ from these by what is on beside it. */
    for (unsigned step = 1; step < 1u << FEATURES; step += SANITIZED ? 3 : 1) {
        const unsigned set = step * 27 % (1u << FEATURES); /* so that each flag is off after it was on */
        struct scene s = {.dir = "subset", .tasks = FEW};
        int levels[FEATURES] = {0};
        char words[200];

        for (size_t i = 0; i < FEATURES; i++)
            if ((set >> i & 1u) != 0)
                levels[i] = 1 + (int)(set * 5 + i) % features[i].levels;
        (void)snprintf(words, sizeof(words), "-p %s --runtime %s --device-mode %s", platforms[set % 2],
                       runtimes[set / 2 % 2], set % 3 != 0 ? "process" : "thread");
        run(s.dir, s.tasks, levels, words);
        check_files(s.dir, levels);
        check_meta(&s);
        for (size_t i = 0; i < FEATURES; i++)
            if (levels[i] != 0 && features[i].check != NULL)
                features[i].check(&s, levels[i]);
        tl__swimlane_fini(&swimlane);
        tl__deps_fini(&deps);
        tl__pmu_fini(&pmu);
        memset(&swimlane, 0, sizeof(swimlane));
        memset(&deps, 0, sizeof(deps));
    }
}

static void each_swimlane_level_records_its_streams(void **state)
{
    (void)state;
    for (int level = 1; level <= 4; level++) {
        struct scene s = {.dir = "level", .tasks = FEW};
        int levels[FEATURES] = {0, level};

        run(s.dir, s.tasks, levels, "--device-mode thread");
        check_files(s.dir, levels);
        check_swimlane(&s, level);
        tl__swimlane_fini(&swimlane);
    }
}

/* --- spellings -----------------------------------------------------------------------------------------------------
 */

static void expect_level(const char *words, int level, const char *warns)
{
    struct scene s = {.dir = "spelt", .tasks = 1};
    char command[600];

    (void)snprintf(command, sizeof(command), "run '%s/tests/streams.so' --set tasks=8 --out spelt %s",
                   TL_TEST_BINARY_DIR, words);
    expect(0, command);
    if (warns != NULL)
        assert_non_null(strstr(message, warns));
    else
        assert_string_equal(message, "");
    assert_int_equal(tl__swimlane_read(path_in(&s, TL_SWIMLANE_NAME), &swimlane, NULL), 0);
    assert_int_equal(swimlane.level, level);
    tl__swimlane_fini(&swimlane);
}

static void spellings_of_the_level(void **state)
{
    (void)state;
    expect_level("--enable-chip-swimlane", 4, NULL);
    expect_level("--enable-chip-swimlane 2", 2, NULL);
    expect_level("--enable-chip-swimlane=3", 3, NULL);
    expect_level("--chip-swimlane-level 1", 1, NULL);
    expect_level("--enable-l2-swimlane", 4, "former name of --enable-chip-swimlane");
    expect_level("--enable-l2-swimlane 2", 2, "former name of --enable-chip-swimlane");
}

static void levels_out_of_range(void **state)
{
    static const char *const words[] = {"--enable-chip-swimlane 5", "--enable-l2-swimlane 5",
                                        "--enable-chip-swimlane=-1", "--chip-swimlane-level 9", "--dump-args 4"};

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char command[600];

        (void)snprintf(command, sizeof(command), "run '%s/tests/streams.so' --out none %s", TL_TEST_BINARY_DIR,
                       words[i]);
        expect(2, command);
        assert_true(access(fixture_path("none"), F_OK) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_stream_loses_a_record),
        cmocka_unit_test(every_subset_leaves_its_files),
        cmocka_unit_test(each_swimlane_level_records_its_streams),
        cmocka_unit_test(spellings_of_the_level),
        cmocka_unit_test(levels_out_of_range),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
