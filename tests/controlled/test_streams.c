/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every stream at once, under orders that a seed chooses: random graphs of chains, blocks and mixes on a real device,
 * with a real engine, through buffers of a few records, on hosts that are slow or stop. Whatever the order, each
 * subtask of each task is recorded once, as what it was. Usage: test [FIRST_SEED [SEEDS]]; a seed that fails is
 * printed.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "artifact/name_map.h"
#include "artifact/pmu.h"
#include "artifact/scope_stats.h"
#include "artifact/traffic.h"
#include "base/atomic.h"
#include "base/env_controlled.h"
#include "support/capture.h"
#include "support/scope_rules.h"
#include "support/seeds.h"
#include "support/swim_rules.h"
#include "support/scratch.h"
#include "support/submit_opts.h"
#include "wire/launch.h"

#define CELLS 6u
#define TASKS_MAX 48u
#define CORES_MAX 9u /* 3 clusters */
#define SUBTASKS_MAX 512u
#define RUNS 2u
#define IN_FLIGHT 2u /* the slots of a core: a subtask keeps its own until it is taken back */
#define DEFAULT_SEEDS 200u

enum { FUNC_STEP, FUNC_CUBE, FUNC_MIX_AIC, FUNC_MIX_AIV, FUNC_COUNT };

/* --- what ran, as the kernels report it -------------------------------------------------------------------------- */

struct submitted {
    uint64_t id, before; /* before: the task that it waits for by name; TL_NO_TASK: none */
    uint32_t kernels, blocks;
};

static struct truth {
    struct submitted task[TASKS_MAX];
    uint32_t n_tasks, n_subtasks, n_scopes;
    bool built;                             /* the orchestration has returned */
    bool early;                             /* a kernel ran before that */
    uint32_t call[CORES_MAX][SUBTASKS_MAX]; /* by core, in order: the number of the task whose subtask it ran */
    uint32_t n_calls[CORES_MAX];
} truths[RUNS], *truth; /* of the run that goes on, or is looked at */

static void note_call(const struct tl_kernel_args *k)
{
    uint64_t points = TL_SCALAR_OF(k, 0, uint64_t) * 7 % 5;

    truth->early = truth->early || !truth->built;
    truth->call[k->core][truth->n_calls[k->core]++] = (uint32_t)TL_SCALAR_OF(k, 0, uint64_t);
    for (uint64_t i = 0; i < points; i++)
        TL__POINT(); /* others may run meanwhile */
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_STEP, "step", TL_AIV, note_call, TL_INOUT),
    TL_KERNEL(FUNC_CUBE, "cube", TL_AIC, note_call, TL_INOUT),
    TL_KERNEL(FUNC_MIX_AIC, "mix_aic", TL_AIC, note_call, TL_INOUT),
    TL_KERNEL(FUNC_MIX_AIV, "mix_aiv", TL_AIV, note_call, TL_INOUT),
};

/* --- the graph -----------------------------------------------------------------------------------------------------
 */

static uint64_t graph_random; /* state of this run's graph */
static uint32_t graph_tasks;

static uint64_t draw(uint64_t n)
{
    return tl__random_next(&graph_random) % n;
}

static void note_submit(tl_task_id id, tl_task_id before, uint32_t kernels_of_it, uint32_t blocks)
{
    tl__controlled_check(id != TL_NO_TASK && truth->n_tasks < TASKS_MAX);
    truth->task[truth->n_tasks++] = (struct submitted){id, before, kernels_of_it, blocks};
    truth->n_subtasks += kernels_of_it * blocks;
}

static void submit_one(struct tl_orch *o, struct tl_task_args *args)
{
    static const struct tl_mix mixes[] = {{FUNC_MIX_AIC, FUNC_MIX_AIV, FUNC_MIX_AIV}, {FUNC_MIX_AIC, FUNC_MIX_AIV, -1}};
    uint32_t blocks = draw(4) == 0 ? 1 + (uint32_t)draw(7) : 1;
    uint64_t shape = draw(8);
    tl_task_id id;

    tl_set_block_num(args, blocks);
    if (shape < 4)
        id = tl_submit_aiv(o, FUNC_STEP, args);
    else if (shape < 6)
        id = tl_submit_aic(o, FUNC_CUBE, args);
    else
        id = tl_submit_mix(o, mixes[shape - 6], args);
    note_submit(id, args->n_deps != 0 ? args->deps[0] : TL_NO_TASK, shape < 6 ? 1 : shape == 6 ? 3 : 2, blocks);
}

/* A step of a chain over one cell, or of none; sometimes after an earlier task by name, or in a tensor of its own. */
static void submit_task(struct tl_orch *o, const struct tl_tensor *cells)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    uint32_t cell = (uint32_t)draw(CELLS), one = 1;
    uint64_t number = truth->n_tasks;
    struct tl_tensor word, *list[] = {&word};
    tl_task_id before;

    if (draw(5) == 0) {
        word = tl_tensor_make(TL_UINT64, 1, &one);
        note_submit(tl_alloc_tensors(o, list, 1), TL_NO_TASK, 0, 1);
        number = truth->n_tasks;
    } else {
        tl__controlled_check(tl_view(cells, &cell, &one, &word) == 0);
    }
    tl_add_inout(&args, &word);
    tl_add_scalar(&args, number);
    if (draw(2) == 0)
        tl_dump(&args, word);
    if (number > 0 && draw(4) == 0) {
        before = truth->task[draw(number)].id;
        tl_set_dependencies(&args, &before, 1);
    }
    submit_one(o, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    while (truth->n_tasks + 2 <= graph_tasks) {
        TL_SCOPE (o) {
            truth->n_scopes++;
            for (uint64_t left = 1 + draw(4); left > 0 && truth->n_tasks + 2 <= graph_tasks; left--)
                submit_task(o, &in->tensors[0]);
        }
    }
    truth->built = true;
}

static const struct tl_program program = CAPTURE_PROGRAM("streams", kernels, orchestrate);

/* --- streams: a row for each feature that may be on ----------------------------------------------------------------
 */

static const struct capture *c; /* of the run that is looked at */

static void check_swimlane(bool whole);
static void check_deps(bool whole);
static void check_scopes(bool whole);
static void check_pmu(bool whole);
static void check_traffic(bool whole);

static const struct feature {
    const char *name;
    uint32_t levels; /* 1..levels; drawn */
    enum tl_collect collector;
    /* What it left. `whole`: nothing may be missing. NULL: other tests look at it. */
    void (*check)(bool whole);
} features[] = {
    {"args_dump", 3, TL_COLLECT_DUMP, NULL},     {"swimlane", 4, TL_COLLECT_SWIMLANE, check_swimlane},
    {"dep_gen", 1, TL_COLLECT_DEPS, check_deps}, {"scope_stats", 1, TL_COLLECT_SCOPE, check_scopes},
    {"pmu", 2, TL_COLLECT_PMU, check_pmu},       {"traffic", 1, TL_COLLECT_TRAFFIC, check_traffic},
};

/* --- the swimlane --------------------------------------------------------------------------------------------------
 */

/* The n-th subtask of a core is what its n-th kernel call says. */
static void check_tokens(const struct tl_swimlane *s, bool whole)
{
    uint32_t rows[CORES_MAX] = {0};

    for (uint64_t i = 0; i < s->n_cores; i++) {
        const struct tl_swim_core *row = &s->cores[i];

        assert_true(row->core_id < CORES_MAX && row->reg_task_id >= 1 &&
                    row->reg_task_id <= truth->n_calls[row->core_id]);
        assert_int_equal(row->task_id, truth->task[truth->call[row->core_id][row->reg_task_id - 1]].id);
        rows[row->core_id]++;
    }
    for (uint32_t core = 0; whole && core < CORES_MAX; core++)
        assert_int_equal(rows[core], truth->n_calls[core]);
}

static void check_submits(const struct tl_swimlane *s)
{
    assert_int_equal(s->n_orchs, s->level >= 4 ? truth->n_tasks : 0);
    for (uint64_t i = 0; i < s->n_orchs; i++)
        assert_int_equal(s->orchs[i].task_id, truth->task[i].id);
}

static void check_names(void)
{
    struct tl_name_map map;
    struct tl_error err = {0};

    if (tl__name_map_find(c->dir, &map, &err) != 0)
        fail_msg("%s", err.msg);
    for (int func = 0; func < FUNC_COUNT; func++)
        assert_string_equal(tl__name_of(&map, func), kernels[func].name);
    tl__name_map_fini(&map);
}

static void check_swimlane(bool whole)
{
    struct tl_swimlane s;
    struct tl_error err = {0};
    char path[220];
    const char *said;

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, TL_SWIMLANE_NAME);
    if (tl__swimlane_read(path, &s, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(s.level, c->config.levels[TL_COLLECT_SWIMLANE]);
    assert_int_equal(s.num_cores, c->config.block_dim * 3);
    check_tokens(&s, whole);
    said = whole ? swim_rules(&s, IN_FLIGHT) : "";
    if (said[0] != '\0')
        fail_msg("%s", said);
    if (whole)
        check_submits(&s);
    tl__swimlane_fini(&s);
    check_names();
}

/* --- the graph -------------------------------------------------------------------------------------------------------
 */

static void check_edges(const struct tl_deps *d)
{
    uint64_t named = 0;

    for (uint64_t i = 0; i < d->n_edges; i++) {
        assert_true(d->edge_pred[i] < truth->n_tasks && d->edge_succ[i] < truth->n_tasks);
        assert_true(d->edge_pred[i] < d->edge_succ[i]);
        if (d->edges[i].source != TL_DEPS_EXPLICIT)
            continue;
        assert_int_equal(truth->task[d->edge_succ[i]].before, d->edges[i].pred);
        named++;
    }
    for (uint32_t i = 0; i < truth->n_tasks; i++)
        named -= truth->task[i].before != TL_NO_TASK;
    assert_int_equal(named, 0);
}

static void check_deps(bool whole)
{
    struct tl_deps d;
    struct tl_error err = {0};
    char path[220];

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, TL_DEPS_NAME);
    if (!whole && access(path, F_OK) != 0)
        return;
    if (tl__deps_read(path, &d, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(whole ? d.n_tasks == truth->n_tasks : d.n_tasks <= truth->n_tasks);
    for (uint32_t i = 0, at = 0; i < d.n_tasks; i++, at++) {
        const int32_t *func = d.tasks[i].kernel_ids;

        while (!whole && at < truth->n_tasks && truth->task[at].id != d.tasks[i].task_id)
            at++; /* lost */
        assert_int_equal(d.tasks[i].task_id, truth->task[at].id);
        assert_int_equal((func[0] >= 0) + (func[1] >= 0) + (func[2] >= 0), truth->task[at].kernels);
        assert_int_equal(d.tasks[i].block_num, truth->task[at].blocks);
    }
    if (whole)
        check_edges(&d);
    tl__deps_fini(&d);
}

/* --- ring usage ------------------------------------------------------------------------------------------------------
 */

static void check_scopes(bool whole)
{
    struct tl_scope_stats s = {0};
    struct tl_error err = {0};
    char path[220];

    (void)snprintf(path, sizeof(path), "%s/%s/%s", c->dir, TL_SCOPE_DIR_NAME, TL_SCOPE_NAME);
    if (!whole && access(path, F_OK) != 0)
        return;
    if (tl__scope_stats_read(path, &s, &err) != 0)
        fail_msg("%s", err.msg);
    if (whole) {
        assert_string_equal(scope_rules(&s), "");
        assert_int_equal(s.boundaries.count, 2 * (truth->n_scopes + 1)); /* the orchestration is one */
        assert_int_equal(s.dropped, 0);
    }
    assert_false(s.fatal);
    tl__scope_stats_fini(&s);
}

/* --- counters --------------------------------------------------------------------------------------------------------
 */

/* Rows of one core and task, and the calls that they stand for. */
static void check_counts_of(const struct tl_pmu *p, uint32_t core, uint32_t number, bool whole)
{
    uint32_t rows = 0, calls = 0;

    for (uint64_t i = 0; i < p->n_rows; i++)
        rows += p->rows[i].core_id == core && p->rows[i].task_id == truth->task[number].id;
    for (uint32_t i = 0; i < truth->n_calls[core]; i++)
        calls += truth->call[core][i] == number;
    assert_true(whole ? rows == calls : rows <= calls);
}

static void check_pmu(bool whole)
{
    const uint32_t clusters = c->config.block_dim;
    struct tl_error err = {0};
    struct tl_pmu p = {0};
    char path[220];

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, TL_PMU_NAME);
    if (tl__pmu_read(path, &p, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(whole ? p.n_rows == truth->n_subtasks : p.n_rows <= truth->n_subtasks);
    for (uint32_t core = 0; core < 3 * clusters; core++)
        for (uint32_t number = 0; number < truth->n_tasks; number++)
            check_counts_of(&p, core, number, whole);
    for (uint64_t i = 0; i < p.n_rows; i++) {
        const struct tl_pmu_row *row = &p.rows[i];

        assert_int_equal(row->event_type, c->config.levels[TL_COLLECT_PMU]);
        assert_int_equal(row->core_type, row->core_id < clusters ? TL_AIC : TL_AIV);
        assert_true(row->func_id >= 0 && row->func_id < FUNC_COUNT);
        assert_int_equal(kernels[row->func_id].core, row->core_type);
        assert_true(row->thread_id + 1 < c->config.aicpu_threads);
    }
    tl__pmu_fini(&p);
}

/* --- traffic ------------------------------------------------------------------------------------------------------ */

/* Kernel calls of the task with this number. */
static uint32_t calls_of(uint32_t number)
{
    uint32_t calls = 0;

    for (uint32_t core = 0; core < CORES_MAX; core++)
        for (uint32_t i = 0; i < truth->n_calls[core]; i++)
            calls += truth->call[core][i] == number;
    return calls;
}

static void check_traffic(bool whole)
{
    struct tl_error err = {0};
    struct tl_traffic t;
    char path[220];
    uint64_t subtasks = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, TL_TRAFFIC_NAME);
    if (tl__traffic_file_read(path, &t, &err) != 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < t.tasks.count; i++) {
        const struct tl_traffic_task *task = &t.tasks.items[i];
        uint32_t number = 0, calls;

        while (number < truth->n_tasks && truth->task[number].id != task->task_id)
            number++;
        assert_true(number < truth->n_tasks);
        calls = calls_of(number);
        assert_true(whole ? task->subtasks == calls : task->subtasks <= calls);
        subtasks += task->subtasks;
    }
    assert_true(whole ? subtasks == truth->n_subtasks : subtasks <= truth->n_subtasks);
    tl__traffic_fini(&t);
}

/* --- one seed ------------------------------------------------------------------------------------------------------
 */

/* What may happen to the host; the device must not notice but by waiting. `lossy`: a host that stops for longer
 * than a lane believes in it. */
static const struct {
    const char *faults;
    bool lossy;
} troubles[] = {
    {"", false},
    {"slow_write=2000", false},
    {"freeze.host-collect@%u=5000000000", false},
    {"freeze.host-writer@%u=12000000000", false},
    {"short_write%%30=7,slow_write=300", false},
    {"freeze.host@%u=9000000000,slow_write=100", false},
    {"freeze.host@%u=45000000000", true},
};

struct scene {
    struct tl_worker *worker;
    uint64_t seed;
    unsigned sim_threads, dfx_threads;
    bool lossy;
    struct capture run[RUNS];
};

static void configure(struct scene *s, unsigned cell, uint64_t *random)
{
    static const uint32_t records[] = {4, 4, 2, 1};
    const uint64_t r = tl__random_next(random);
    const unsigned clusters = 1 + (unsigned)(r % 3);
    const unsigned schedulers = 1 + (unsigned)(r / 3 % clusters);
    const uint32_t per_buffer = records[r / 16 % 4], buffers = 2 + (uint32_t)(r / 64 % 3);

    s->sim_threads = 1 + (unsigned)(r / 256 % 3);
    s->dfx_threads = 1 + (unsigned)(r / 1024 % 2);
    for (unsigned run = 0; run < RUNS; run++) {
        struct capture *at = &s->run[run];
        bool any = false;

        capture_begin(at, cell, 0);
        /* A thousand runs wait for no disk. */
        (void)snprintf(at->dir, sizeof(at->dir), "%s/%u", scratch(true), run);
        at->config.block_dim = clusters;
        at->config.aicpu_threads = schedulers + 1;
        at->config.task_window = 64;
        at->config.dep_pool = 256;
        at->config.heap_bytes = 1 << 18;
        at->config.dfx_avg_bytes = 256;
        at->config.dfx_records = per_buffer;
        at->config.dfx_buffers = buffers;
        while (!any)
            for (unsigned i = 0; i < TL_ARRAY_COUNT(features); i++) {
                int level = (int)(tl__random_next(random) % (features[i].levels + 1));

                at->config.levels[features[i].collector] = level;
                any = any || level != 0;
            }
    }
}

static uint32_t allocations(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < truth->n_tasks; i++)
        count += truth->task[i].kernels == 0;
    return count;
}

static void check_meta(const struct scene *s)
{
    struct tl_error err = {0};
    static struct tl_meta meta;

    if (tl__meta_read(c->dir, &meta, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(meta.status, "ok");
    assert_int_equal(meta.tasks, truth->n_tasks - allocations());
    assert_int_equal(meta.allocations, allocations());
    for (uint32_t i = 0; i < meta.stream_count; i++) {
        const struct tl_meta_stream *stream = &meta.streams[i];
        uint64_t seen = stream->collected;

        for (unsigned k = 0; k < TL_META_MAX_LOSSES && stream->losses[k].cause[0] != '\0'; k++)
            seen += stream->losses[k].count;
        assert_int_equal(stream->attempted, seen);
        if (!s->lossy)
            assert_int_equal(stream->collected, stream->attempted);
        if (strcmp(stream->name, "swim_parts") == 0)
            assert_int_equal(stream->attempted, truth->n_subtasks);
        if (strcmp(stream->name, "swim_submits") == 0)
            assert_int_equal(stream->attempted, truth->n_tasks);
    }
}

static void check_run(const struct scene *s)
{
    uint64_t lost = 0;

    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        lost += c->result.records_dropped[i];
    if (c->code != 0 && !(s->lossy && c->code == TL_ELOST))
        fail_msg("%s", c->error.msg);
    assert_int_equal(c->code == TL_ELOST, lost != 0);
    assert_int_equal(c->result.records_attempted, c->result.records_collected + lost);
    assert_int_equal(c->result.tasks, truth->n_tasks - allocations());
    assert_int_equal(c->result.allocations, allocations());
    if (strcmp(c->config.runtime, "host_build_graph") == 0)
        assert_false(truth->early);
    check_meta(s);
    for (unsigned i = 0; i < TL_ARRAY_COUNT(features); i++)
        if (c->config.levels[features[i].collector] != 0 && features[i].check != NULL)
            features[i].check(lost == 0);
}

static void body(void *arg)
{
    static uint64_t cells[CELLS];
    struct tl_host_tensor tensor = capture_row("cells", TL_INOUT, TL_UINT64, cells, CELLS);
    struct scene *s = arg;
    struct tl_loaded *loaded;

    tl__controlled_check(capture_worker(&s->run[0], s->sim_threads, s->dfx_threads, &program, &s->worker, &loaded) ==
                         0);
    for (unsigned run = 0; run < RUNS; run++) {
        struct capture *at = &s->run[run];

        truth = &truths[run];
        memset(truth, 0, sizeof(*truth));
        graph_random = s->seed * RUNS + run;
        graph_tasks = 8 + (uint32_t)draw(TASKS_MAX - 8);
        at->code =
            tl_worker_run(s->worker, loaded, SUBMIT_OPTS(&tensor, 1, NULL, 0, &at->config), &at->result, &at->error);
    }
    tl_worker_close(s->worker);
}

static uint64_t lossy_seeds, fired_seeds;

static void one_seed(uint64_t seed)
{
    static struct tl_controlled_report report;
    static struct scene s;
    char faults[200];
    uint64_t random = seed;
    struct tl_controlled_opts opts = {.seed = seed, .faults = faults, .stack_bytes = 1 << 20};
    const unsigned cell = (unsigned)(seed % CAPTURE_CELLS), trouble = (unsigned)(seed / 8 % TL_ARRAY_COUNT(troubles));

    memset(&s, 0, sizeof(s));
    s.seed = seed;
    s.lossy = troubles[trouble].lossy;
    configure(&s, cell, &random);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(faults, sizeof(faults), troubles[trouble].faults, 1 + (unsigned)(tl__random_next(&random) % 20000));
#pragma GCC diagnostic pop
    if (tl__controlled_run(&opts, body, &s, &report) != 0)
        fail_msg("%s\nruns: %d %s; %d %s", report.text, s.run[0].code, s.run[0].error.msg, s.run[1].code,
                 s.run[1].error.msg);
    assert_int_equal(report.allocs_live, 0);
    for (uint32_t i = 0; i < report.faults.count; i++)
        fired_seeds += report.faults.entries[i].fired != 0;
    for (unsigned run = 0; run < RUNS; run++) {
        truth = &truths[run];
        c = &s.run[run];
        check_run(&s);
        lossy_seeds += c->code == TL_ELOST;
        capture_end(&s.run[run]);
    }
}

static void each_subtask_is_recorded_once(void **state)
{
    (void)state;
    for (seed_now = first_seed; seed_now < first_seed + seeds; seed_now++)
        one_seed(seed_now);
    seed_now = 0;
    if (seeds >= DEFAULT_SEEDS) {
        assert_true(fired_seeds > seeds / 4); /* else the hosts were well */
        assert_true(lossy_seeds > 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(each_subtask_is_recorded_once, say_seed)};

    seeds_from(argc, argv, DEFAULT_SEEDS, true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
