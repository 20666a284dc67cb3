/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What streams have in common, with every one of them on: lanes by stream and role, each count held against what the
 * run calls for, values that come out as they went in, and records that no device can have meant.
 */
#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "artifact/pmu.h"
#include "artifact/scope_stats.h"
#include "artifact/swimlane.h"
#include "base/log.h"
#include "support/stream_records.h"

#include <tasklens/kernel.h>

static const struct tl_clock_pair begin_pair = {1000, 50, 1009}, end_pair = {900000, 45000, 900004};

/* All lanes pushed, ended and drained. `expected_more`: added to what is expected of one stream. */
static int whole_run(const struct tl_run_config *config, const struct stream_row *off, int64_t expected_more,
                     struct tl_error *err)
{
    struct tl_engine_outcome outcome = {.tasks = STREAM_RECORDS, .wall_ns = 5};
    uint64_t expected[TL_STREAM_COUNT] = {0};
    struct tl_run_result result = {0};
    struct fake_world w;
    int r;

    fake_world_init(&w, FAKE_MAPPED, 2, MEMORY);
    stream_push_all(&w, stream_begin(&w, config), true);
    assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
    for (size_t i = 0; i < STREAM_ROWS; i++)
        expected[stream_rows[i].stream] = (uint64_t)STREAM_RECORDS * stream_roles(&stream_rows[i]);
    if (off != NULL)
        expected[off->stream] += (uint64_t)expected_more;
    outcome.clock[TL_CLOCK_BEGIN] = begin_pair;
    outcome.clock[TL_CLOCK_QUIESCE] = end_pair;
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        outcome.record_ps[i] = 1000 * (i + 1);
    tl__engine_outcome(w.engine, 1, &outcome);
    r = tl__engine_export(w.engine, 1, expected, &result, err);
    fake_world_fini(&w);
    return r;
}

static void lanes_are_found_by_stream_and_role(void **state)
{
    struct tl_run_config c = stream_config(fresh_dir());
    bool taken[TL_DFX_MAX_LANES] = {false};
    struct fake_world w;
    uint64_t dfx;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    dfx = stream_begin(&w, &c);
    assert_int_equal(STREAM_ROWS, TL_STREAM_COUNT); /* else a stream is in no row */
    for (size_t i = 0; i < STREAM_ROWS; i++) {
        const struct stream_row *row = &stream_rows[i];

        for (uint32_t role = 0; role < stream_roles(row); role++) {
            int lane = tl__lane_find(&w.chip.mem, dfx, row->stream, role);
            struct tl_producer p = {0};

            assert_true(lane >= 0 && lane < (int)TL_DFX_MAX_LANES && !taken[lane]);
            taken[lane] = true;
            assert_int_equal(tl__producer_attach(&p, &w.chip.mem, dfx, (uint32_t)lane, w.chip.bells), 0);
            assert_int_equal(p.lane->stream, row->stream);
            assert_int_equal(p.lane->role, role);
            assert_int_equal(p.arena_bytes != 0, row->stream == TL_STREAM_DUMP);
        }
        assert_int_equal(tl__lane_find(&w.chip.mem, dfx, row->stream, stream_roles(row)), TL_ECORRUPT);
    }
    assert_int_equal(tl__lane_find(&w.chip.mem, dfx, TL_STREAM_COUNT, 0), TL_ECORRUPT);
    tl__engine_abandon(w.engine, 1);
    fake_world_fini(&w);
    /* A stream that is off has none. */
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    c = small_config(fresh_dir(), 0);
    c.levels[TL_COLLECT_SWIMLANE] = 2;
    dfx = stream_begin(&w, &c);
    assert_true(tl__lane_find(&w.chip.mem, dfx, TL_STREAM_SUBTASKS, STREAM_SCHEDULERS - 1) >= 0);
    assert_int_equal(tl__lane_find(&w.chip.mem, dfx, TL_STREAM_PHASES, 0), TL_ECORRUPT);
    assert_int_equal(tl__lane_find(&w.chip.mem, dfx, TL_STREAM_DUMP, 0), TL_ECORRUPT);
    tl__engine_abandon(w.engine, 1);
    fake_world_fini(&w);
}

static void each_count_is_held_against_the_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < STREAM_ROWS; i++)
        for (int more = -1; more <= 1; more += 2) {
            struct tl_run_config c = stream_config(fresh_dir());
            struct tl_error err = {0};

            assert_int_equal(whole_run(&c, &stream_rows[i], more, &err), TL_ELOST);
            if (strncmp(err.msg, stream_rows[i].name, strlen(stream_rows[i].name)) != 0 ||
                strstr(err.msg, "the tasks that ran call for") == NULL)
                fail_msg("%s: %s", stream_rows[i].name, err.msg);
        }
}

/* --- values --------------------------------------------------------------------------------------------------------
 */

static void check_cores(const struct tl_swimlane *s)
{
    assert_int_equal(s->num_cores, 3 * STREAM_CLUSTERS);
    assert_int_equal(s->clock_freq_hz, 50000000);
    for (uint32_t i = 0; i < s->num_cores; i++) {
        assert_int_equal(s->core_types[i], i < STREAM_CLUSTERS ? TL_AIC : TL_AIV);
        assert_int_equal(s->core_to_thread[i], i % STREAM_CLUSTERS < STREAM_SCHEDULERS && i < 2 * STREAM_CLUSTERS
                                                   ? (int)(i % STREAM_CLUSTERS)
                                                   : -1);
    }
    assert_int_equal(s->n_cores, STREAM_RECORDS * STREAM_SCHEDULERS);
    assert_int_equal(s->n_aicpus, s->n_cores);
    for (uint64_t i = 0; i < s->n_cores; i++) { /* cores 0 1 2 6 7 8, each from its first subtask to its last */
        const uint32_t core = (uint32_t)(i / (STREAM_RECORDS / 2)), n = 1 + (uint32_t)(i % (STREAM_RECORDS / 2));
        const uint32_t role = core % STREAM_SCHEDULERS, half = core / STREAM_SCHEDULERS;
        const struct tl_swim_core *c = &s->cores[i];
        const struct tl_swim_aicpu *a = &s->aicpus[i];

        assert_int_equal(c->core_id, role + STREAM_CLUSTERS * half);
        assert_int_equal(c->reg_task_id, n);
        assert_int_equal(c->task_id, 1000 * role + 2 * (STREAM_RECORDS / 2 - n) + half);
        assert_int_equal(c->start_cycles, 10000 * n + 10);
        assert_int_equal(c->end_cycles, 10000 * n + 20);
        assert_int_equal(a->core_id, c->core_id);
        assert_int_equal(a->reg_task_id, n);
        assert_int_equal(a->dispatch_cycles, 10000 * n + 1);
        assert_int_equal(a->finish_cycles, 10000 * n + 30);
    }
}

/* By start: the outer complete, what it resolved, then the dispatch. */
static void check_phases(const struct tl_swimlane *s)
{
    static const uint8_t kinds[] = {TL_PHASE_COMPLETE, TL_PHASE_RESOLVE, TL_PHASE_DISPATCH};
    static const uint32_t starts[] = {1, 6, 101}, ends[] = {10, 9, 201};
    uint64_t at = 0;

    for (uint32_t role = 0; role < STREAM_SCHEDULERS; role++)
        for (uint32_t i = 0; i < STREAM_RECORDS; i++, at++) {
            const struct tl_swim_phase *p = &s->phases[at];

            assert_int_equal(p->thread, role);
            assert_int_equal(p->tasks_processed, role + 1);
            assert_int_equal(p->loop_iter, i / 3);
            if (i == STREAM_RECORDS - 2 || i == STREAM_RECORDS - 1) /* the last resolve came without a dispatch */
                continue;
            assert_int_equal(p->kind, kinds[i % 3]);
            assert_int_equal(p->start_cycles, 1000 * (i / 3) + starts[i % 3]);
            assert_int_equal(p->end_cycles, 1000 * (i / 3) + ends[i % 3]);
            assert_int_equal(p->has, p->kind == TL_PHASE_DISPATCH ? TL_SWIM_HAS_POP : 0);
            assert_int_equal(p->pop_hit, p->kind == TL_PHASE_DISPATCH ? 7 : 0);
            assert_int_equal(p->pop_miss, p->kind == TL_PHASE_DISPATCH ? 2 : 0);
        }
    assert_int_equal(s->n_phases, at);
}

static void check_rest(const struct tl_swimlane *s)
{
    assert_int_equal(s->n_orchs, STREAM_RECORDS);
    for (uint32_t i = 0; i < STREAM_RECORDS; i++) {
        assert_int_equal(s->orchs[i].task_id, i);
        assert_int_equal(s->orchs[i].submit_idx, i);
        assert_int_equal(s->orchs[i].start_cycles, 100 * i + 1);
        assert_int_equal(s->orchs[i].end_cycles, 100 * i + 50);
        assert_int_equal(s->orchs[i].thread, 0);
    }
    assert_int_equal(s->n_anchors, 2);
    assert_string_equal(s->anchors[0].position, "begin");
    assert_string_equal(s->anchors[1].position, "quiesce");
    assert_int_equal(s->anchors[0].host_before_ns, 1000);
    assert_int_equal(s->anchors[0].device_cycles, 50);
    assert_int_equal(s->anchors[0].host_after_ns, 1009);
    assert_int_equal(s->anchors[0].uncertainty_ns, 5); /* half of 9, rounded up */
    assert_int_equal(s->anchors[1].device_cycles, 45000);
    assert_int_equal(s->anchors[1].uncertainty_ns, 2);
}

static void check_meta(const char *dir)
{
    static struct tl_meta meta;

    assert_int_equal(tl__meta_read(dir, &meta, NULL), 0);
    assert_int_equal(meta.stream_count, STREAM_ROWS);
    for (size_t i = 0; i < STREAM_ROWS; i++) {
        assert_string_equal(meta.streams[i].name, stream_rows[i].name);
        assert_int_equal(meta.streams[i].attempted, STREAM_RECORDS * stream_roles(&stream_rows[i]));
        assert_int_equal(meta.streams[i].collected, meta.streams[i].attempted);
        assert_true(meta.streams[i].record_ns == (double)(stream_rows[i].stream + 1));
    }
    assert_int_equal(meta.clock_start_cycles, 50);
    assert_int_equal(meta.clock_start_ns, 1004);
    assert_int_equal(meta.clock_end_cycles, 45000);
    assert_int_equal(meta.clock_end_ns, 900002);
    assert_int_equal(meta.clock_error_ns, 5);
}

static void check_others(const char *dir)
{
    struct tl_scope_stats scopes = {0};
    struct tl_pmu pmu = {0};
    struct tl_deps deps;
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_DEPS_NAME);
    assert_int_equal(tl__deps_read(path, &deps, NULL), 0);
    assert_int_equal(deps.n_tasks, STREAM_RECORDS);
    for (uint32_t i = 0; i < STREAM_RECORDS; i++) {
        assert_int_equal(deps.tasks[i].task_id, i);
        assert_int_equal(deps.tasks[i].kernel_ids[1], i % 5);
        assert_int_equal(deps.tasks[i].block_num, 1 + i % 3);
    }
    tl__deps_fini(&deps);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", dir, TL_SCOPE_DIR_NAME, TL_SCOPE_NAME);
    assert_int_equal(tl__scope_stats_read(path, &scopes, NULL), 0);
    assert_int_equal(scopes.boundaries.count, STREAM_RECORDS);
    for (uint32_t i = 0; i < STREAM_RECORDS; i++) {
        assert_int_equal(scopes.boundaries.items[i].span[TL_RING_TASKS].tail, i);
        assert_int_equal(scopes.boundaries.items[i].span[TL_RING_TASKS].head, 2 * i);
    }
    tl__scope_stats_fini(&scopes);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_PMU_NAME);
    assert_int_equal(tl__pmu_read(path, &pmu, NULL), 0);
    assert_int_equal(pmu.n_rows, STREAM_RECORDS * STREAM_SCHEDULERS);
    for (uint64_t i = 0; i < pmu.n_rows; i++) { /* by task, then by core */
        assert_int_equal(pmu.rows[i].task_id, i / STREAM_SCHEDULERS);
        assert_int_equal(pmu.rows[i].core_id, STREAM_CLUSTERS + i % STREAM_SCHEDULERS);
        assert_int_equal(pmu.rows[i].thread_id, i % STREAM_SCHEDULERS);
        assert_int_equal(pmu.rows[i].total_cycles, 100 + i / STREAM_SCHEDULERS);
        assert_int_equal(pmu.counters[i * pmu.n_counters + 1], 2 * (i / STREAM_SCHEDULERS));
    }
    tl__pmu_fini(&pmu);
}

static void values_come_out_as_they_went_in(void **state)
{
    struct tl_run_config c = stream_config(fresh_dir());
    struct tl_error err = {0};
    struct tl_swimlane s;
    char path[400];

    (void)state;
    if (whole_run(&c, NULL, 0, &err) != 0)
        fail_msg("%s", err.msg);
    (void)snprintf(path, sizeof(path), "%s/%s", c.output_prefix, TL_SWIMLANE_NAME);
    if (tl__swimlane_read(path, &s, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(s.level, 4);
    check_cores(&s);
    check_phases(&s);
    check_rest(&s);
    tl__swimlane_fini(&s);
    check_meta(c.output_prefix);
    check_others(c.output_prefix);
}

/* The device does not know yet that its run was given up: what it still records of any stream is discarded, and its lanes
 * get their buffers back, without which they could not finish. */
static void buffers_of_a_run_that_was_given_up_come_back(void **state)
{
    struct tl_run_config c = stream_config(fresh_dir());
    struct fake_world w;
    uint64_t dfx;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 2, MEMORY);
    dfx = stream_begin(&w, &c);
    tl__engine_abandon(w.engine, 1);
    stream_push_all(&w, dfx, true);
    assert_false(tl__engine_broken(w.engine)); /* no lane was stopped */
    fake_world_fini(&w);
}

/* --- what no device can have meant ---------------------------------------------------------------------------------
 */

static void bad_core(void *record)
{
    ((struct tl_wire_subtask *)record)->core_id = 4096;
}

static void subtask_backward(void *record)
{
    ((struct tl_wire_subtask *)record)->end = ((struct tl_wire_subtask *)record)->start - 1;
}

static void bad_phase(void *record)
{
    ((struct tl_wire_phase *)record)->kind = TL_WIRE_PHASE_COUNT;
}

static void phase_backward(void *record)
{
    ((struct tl_wire_phase *)record)->end = 0;
}

static void submit_backward(void *record)
{
    ((struct tl_wire_submit *)record)->end = 0;
}

static void deps_kind(void *record)
{
    ((struct tl_wire_deps_task *)record)->kind = 77;
}

static void pmu_core(void *record)
{
    ((struct tl_wire_pmu *)record)->core_id = 1u << 20;
}

static void scope_phase(void *record)
{
    ((struct tl_wire_scope_record *)record)->phase = 9;
}

static const struct stream_row *row_of(unsigned stream)
{
    for (size_t i = 0; i < STREAM_ROWS; i++)
        if (stream_rows[i].stream == stream)
            return &stream_rows[i];
    fail_msg("no row of stream %u", stream);
    return NULL;
}

static void impossible_records_are_named(void **state)
{
    static const struct {
        unsigned stream;
        void (*spoil)(void *record);
        const char *says;
    } cases[] = {
        {TL_STREAM_SUBTASKS, bad_core, "record.core_id"},   {TL_STREAM_SUBTASKS, subtask_backward, "record.end"},
        {TL_STREAM_PHASES, bad_phase, "record.kind"},       {TL_STREAM_PHASES, phase_backward, "record.end"},
        {TL_STREAM_SUBMITS, submit_backward, "record.end"}, {TL_STREAM_DEPS, deps_kind, "record.kind"},
        {TL_STREAM_PMU, pmu_core, "record.core_id"},        {TL_STREAM_SCOPE, scope_phase, "record.phase"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tl_run_config c = stream_config(fresh_dir());
        const struct stream_row *row = row_of(cases[i].stream);
        struct tl_run_result result = {0};
        struct tl_error err = {0};
        struct fake_world w;
        uint64_t dfx;

        c.dfx_records = 64; /* one buffer holds all, so that the lane that is stopped holds up nobody */
        fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
        dfx = stream_begin(&w, &c);
        for (size_t k = 0; k < STREAM_ROWS; k++)
            for (uint32_t role = 0; role < stream_roles(&stream_rows[k]); role++)
                stream_push(&w, dfx, &stream_rows[k], role, &stream_rows[k] == row && role == 0 ? cases[i].spoil : NULL,
                            true);
        assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
        assert_int_equal(tl__engine_export(w.engine, 1, NULL, &result, &err), TL_ELOST);
        assert_int_equal(result.records_dropped[TL_LOSS_CORRUPT], 1);
        if (strstr(err.msg, cases[i].says) == NULL || strstr(err.msg, row->name) == NULL)
            fail_msg("%s: %s", cases[i].says, err.msg);
        fake_world_fini(&w);
    }
}

static void silent(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_are_found_by_stream_and_role),
        cmocka_unit_test(each_count_is_held_against_the_run),
        cmocka_unit_test(values_come_out_as_they_went_in),
        cmocka_unit_test(impossible_records_are_named),
        cmocka_unit_test(buffers_of_a_run_that_was_given_up_come_back),
    };

    tl_log_set_sink(silent, NULL);
    return fake_main("engine_streams", tests, sizeof(tests) / sizeof(tests[0]));
}
