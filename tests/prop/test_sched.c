/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of random rows, from nearly right to nonsense: whatever they hold, the wall is attributed exactly, phases
 * and idle add up unless they overlap, and everything can be shown. TL_SEED and TL_SEEDS choose the seeds; a failure
 * names its own.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/kernel.h>

#include "analysis/path/path_show.h"
#include "analysis/path/path_trace.h"
#include "analysis/sched/sched.h"

#define CORES 5u
#define ROWS 24u

static uint64_t random_state;

static uint64_t any(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(any() % n);
}

struct recording {
    struct tl_swimlane lane;
    struct tl_deps deps;
    uint8_t core_types[CORES];
    int32_t core_to_thread[CORES];
    struct tl_swim_core cores[ROWS];
    struct tl_swim_aicpu aicpus[ROWS];
    struct tl_swim_phase phases[ROWS];
    struct tl_swim_orch orchs[ROWS];
    struct tl_deps_task tasks[ROWS];
    struct tl_deps_edge edges[ROWS];
    uint32_t edge_pred[ROWS], edge_succ[ROWS];
};

/* A time: mostly close to the others, seldom anything. */
static uint64_t some_time(void)
{
    return below(50) == 0 ? any() : below(30) == 0 ? 0 : 1000000 + below(2000);
}

static void make_rows(struct recording *r)
{
    uint32_t core_rows = below(ROWS), aicpu_rows = r->lane.level >= 2 ? below(ROWS) : 0;
    uint32_t phase_rows = r->lane.level >= 3 ? below(ROWS) : 0, orch_rows = r->lane.level >= 4 ? below(ROWS) : 0;

    for (; r->lane.n_cores < core_rows; r->lane.n_cores++) {
        uint64_t start = some_time();

        r->cores[r->lane.n_cores] = (struct tl_swim_core){.task_id = below(10),
                                                          .start_cycles = start,
                                                          .end_cycles = below(9) == 0 ? some_time() : start + below(90),
                                                          .core_id = below(CORES),
                                                          .reg_task_id = below(9)};
    }
    for (; r->lane.n_aicpus < aicpu_rows; r->lane.n_aicpus++)
        r->aicpus[r->lane.n_aicpus] = (struct tl_swim_aicpu){some_time(), some_time(), below(CORES), below(9), 0, 0};
    for (; r->lane.n_phases < phase_rows; r->lane.n_phases++) {
        uint64_t start = some_time();

        r->phases[r->lane.n_phases] = (struct tl_swim_phase){.start_cycles = start,
                                                             .end_cycles = start + below(40),
                                                             .task_id = below(12),
                                                             .loop_iter = below(100),
                                                             .tasks_processed = below(4),
                                                             .thread = (uint16_t)(below(3) * 7),
                                                             .kind = (uint8_t)below(TL_PHASE_COUNT),
                                                             .has = (uint8_t)below(8)};
    }
    for (; r->lane.n_orchs < orch_rows; r->lane.n_orchs++)
        r->orchs[r->lane.n_orchs] = (struct tl_swim_orch){.task_id = below(12),
                                                          .start_cycles = some_time(),
                                                          .end_cycles = some_time(),
                                                          .submit_idx = (uint32_t)r->lane.n_orchs};
    r->lane.orch_is_host_clock = below(8) == 0;
}

/* Tasks 0, 1, 2 ... and edges from a lower to a higher one, some to tasks that are not listed; seldom a cycle. */
static void make_graph(struct recording *r)
{
    uint32_t n_tasks = below(12), n_edges = below(ROWS);

    for (; r->deps.n_tasks < n_tasks; r->deps.n_tasks++)
        r->tasks[r->deps.n_tasks] =
            (struct tl_deps_task){.task_id = r->deps.n_tasks,
                                  .kernel_ids = {(int32_t)below(3) - 1, (int32_t)below(3) - 1, (int32_t)below(3) - 1},
                                  .block_num = below(4)};
    for (; r->deps.n_edges < n_edges; r->deps.n_edges++) {
        uint32_t pred = below(11), succ = pred + 1 + below(3);
        struct tl_deps_edge *e = &r->edges[r->deps.n_edges];

        *e = (struct tl_deps_edge){
            .pred = pred, .succ = succ, .flags = (uint8_t)(below(4) | below(2) * TL_DEPS_HAS_FLAGS)};
        if (below(60) == 0)
            *e = (struct tl_deps_edge){.pred = succ, .succ = pred};
        r->edge_pred[r->deps.n_edges] = e->pred < r->deps.n_tasks ? (uint32_t)e->pred : UINT32_MAX;
        r->edge_succ[r->deps.n_edges] = e->succ < r->deps.n_tasks ? (uint32_t)e->succ : UINT32_MAX;
    }
}

static void make(struct recording *r)
{
    static const uint64_t clocks[] = {50000000, 1000000000, 1, 333333333, 3000000000};

    memset(r, 0, sizeof(*r));
    for (uint32_t i = 0; i < CORES; i++) {
        r->core_types[i] = below(2) == 0 ? TL_AIC : TL_AIV;
        r->core_to_thread[i] = (int32_t)below(4) * 7 - 7;
    }
    r->lane = (struct tl_swimlane){.level = 1 + below(4),
                                   .num_cores = CORES,
                                   .clock_freq_hz = clocks[below(5)],
                                   .core_types = r->core_types,
                                   .core_to_thread = below(3) == 0 ? NULL : r->core_to_thread,
                                   .cores = r->cores,
                                   .aicpus = r->aicpus,
                                   .phases = r->phases,
                                   .orchs = r->orchs};
    r->deps =
        (struct tl_deps){.tasks = r->tasks, .edges = r->edges, .edge_pred = r->edge_pred, .edge_succ = r->edge_succ};
    make_rows(r);
    make_graph(r);
}

static void check_path(const struct tl_sched *s)
{
    uint64_t spent = 0, split = 0;

    for (unsigned k = 0; k < TL_PATH_KINDS; k++)
        spent += s->path.observed.spent_ns[k];
    assert_int_equal(spent, s->wall_ns);
    for (unsigned k = 0; k < TL_PHASE_COUNT; k++)
        split += s->path_phase_ns[k];
    if (s->loops.count > 0)
        assert_int_equal(split, s->path.observed.spent_ns[TL_PATH_SCHEDULER]);
    assert_true(tl__sched_until_noticed(&s->path) <= s->path.observed.spent_ns[TL_PATH_SCHEDULER]);
    if (s->path.graph.early_edges == 0)
        assert_true(s->path.chain.length_ns <= s->wall_ns);
}

static void show(const struct tl_sched *s)
{
    struct tl_swim_drawn drawn;
    struct tl_json json;
    struct tl_rendering out;

    tl__rendering_init(&out, NULL, NULL);
    tl__json_init(&json, NULL, NULL);
    assert_int_equal(tl__sched_text(&out, s, "dir"), 0);
    tl__sched_json(&json, s, "dir");
    if (s->missing[TL_SCHED_PATH] == NULL) {
        assert_int_equal(tl__path_text(&out, &s->path, "dir"), 0);
        assert_int_equal(tl__path_markdown(&out, &s->path, "dir"), 0);
        assert_int_equal(tl__path_json(&json, &s->path, "dir"), 0);
        assert_int_equal(tl__path_trace_write(&json, &s->path, &drawn), 0);
    }
    assert_int_equal(tl__rendering_end(&out), 0);
    assert_int_equal(tl__json_finish(&json), 0);
    tl__rendering_fini(&out);
}

static void check(struct recording *r)
{
    static struct tl_sched sched;
    struct tl_error error = {0};
    struct tl_swim_join join;

    assert_int_equal(tl__swim_join(&r->lane, below(6) == 0 ? NULL : &r->deps, NULL, &join, &error), 0);
    if (tl__sched_make(&join, &sched, &error) < 0)
        fail_msg("%s", error.msg);
    if (sched.missing[TL_SCHED_PATH] == NULL)
        check_path(&sched);
    for (uint32_t i = 0; i < sched.loops.count; i++) {
        const struct tl_sched_loop *l = &sched.loops.list[i];

        if (l->overlaps == 0)
            assert_int_equal(l->rendered_ns + l->idle_ns, l->wall_ns);
        else
            assert_true(l->rendered_ns + l->idle_ns >= l->wall_ns);
    }
    show(&sched);
    tl__sched_fini(&sched);
    tl__swim_join_fini(&join);
}

static void random_recordings_have_the_naive_oracles_figures(void **state)
{
    const char *seed = getenv("TL_SEED"), *seeds = getenv("TL_SEEDS");
    uint64_t first = seed != NULL ? strtoull(seed, NULL, 0) : 1;
    uint64_t count = seeds != NULL ? strtoull(seeds, NULL, 0) : seed != NULL ? 1 : 5000;
    static struct recording r;
    char name[80];

    (void)state;
    for (uint64_t s = first; s < first + count; s++) {
        random_state = s;
        (void)snprintf(name, sizeof(name), "TL_SEED=%llu", (unsigned long long)s);
        (void)setenv("TL_LAST_SEED", name, 1);
        make(&r);
        check(&r);
    }
}

static int name_the_seed(void **state)
{
    (void)state;
    print_message("the last was %s\n", getenv("TL_LAST_SEED"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_recordings_have_the_naive_oracles_figures, name_the_seed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
