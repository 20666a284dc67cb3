/* SPDX-License-Identifier: Apache-2.0 */
/* chip_swimlane_records.json in the form of September 2026: equal to the older one where both say it, and what only
 * the newer one has: executions, streams, unknown kinds. */
#include "unit/swim_world.h"

#include "analysis/swimlane/swim_sched.h"
#include "base/env.h"
#include "base/task_id.h"

#define HEAD(level, runtime)                                                                                           \
    "{\"chip_swimlane_level\": " level ", \"metadata\": {\"clock_freq_hz\": 1000000000, \"num_cores\": 2, "            \
    "\"core_types\": [\"aic\", \"aiv\"], \"runtime\": \"" runtime "\"}, "
#define STREAM(id, producer, capture, records, metrics)                                                                \
    "{\"platform\": \"a5\", \"producer\": \"" producer "\", \"scheduler_id\": " id ", \"worker_id\": 40, "             \
    "\"core_type\": \"aicpu\", \"physical_core_id\": null, \"capture\": " capture ", \"records\": [" records           \
    "], \"metrics\": [" metrics "]}"
#define WHOLE "{\"committed\": 1, \"dropped\": 0, \"truncated\": false}"
#define RECORD(kind, start, end, tasks)                                                                                \
    "{\"start_cycles\": " start ", \"end_cycles\": " end ", \"run_epoch\": 1, \"loop_iter\": 1, \"kind\": \"" kind     \
    "\", \"tasks_processed\": " tasks ", \"task_id\": null}"

static struct tl_swimlane parsed(const char *text)
{
    struct tl_swimlane s;
    struct tl_error err = {0};

    if (tl__swimlane_parse(text, strlen(text), "f.json", &s, &err) != 0)
        fail_msg("%s", err.msg);
    return s;
}

static void refused(const char *text, const char *message)
{
    struct tl_swimlane s;
    struct tl_error err = {0};

    assert_int_equal(tl__swimlane_parse(text, strlen(text), "f.json", &s, &err), TL_EPARSE);
    assert_string_equal(err.msg, message);
}

static struct tl_swimlane through(struct swim_world *w, enum tl_swim_form form)
{
    struct tl_swimlane back = {0};
    struct tl_error err = {0};

    w->lane.form = form;
    (void)snprintf(w->lane.runtime, sizeof(w->lane.runtime), "tensormap_and_ringbuffer");
    (void)snprintf(w->lane.platform, sizeof(w->lane.platform), "a2a3");
    if (tl__swimlane_write(fixture_dir, &w->lane, &err) != 0 ||
        tl__swimlane_read(fixture_path(TL_SWIMLANE_NAME), &back, &err) != 0)
        fail_msg("%s", err.msg);
    return back;
}

static void same_phases(const struct tl_swimlane *a, const struct tl_swimlane *b)
{
    assert_int_equal(a->n_phases, b->n_phases);
    for (uint64_t i = 0; i < a->n_phases; i++) {
        const struct tl_swim_phase *p = &a->phases[i], *q = &b->phases[i];

        assert_true(p->start_cycles == q->start_cycles && p->end_cycles == q->end_cycles);
        assert_true(p->kind == q->kind && p->thread == q->thread && p->has == q->has && p->task_id == q->task_id);
        assert_true(p->loop_iter == q->loop_iter && p->tasks_processed == q->tasks_processed);
        assert_true(p->pop_hit == q->pop_hit && p->pop_miss == q->pop_miss);
        assert_memory_equal(p->shared_at_start, q->shared_at_start, sizeof(p->shared_at_start));
        assert_memory_equal(p->shared_at_end, q->shared_at_end, sizeof(p->shared_at_end));
    }
}

static void both_forms_say_the_same(void **state)
{
    struct swim_world w;
    struct tl_swimlane older, newer;

    (void)state;
    world_everything(&w);
    older = through(&w, TL_SWIM_OLDER);
    newer = through(&w, TL_SWIM_2026_09);
    assert_int_equal(older.form, TL_SWIM_OLDER);
    assert_int_equal(newer.form, TL_SWIM_2026_09);
    assert_string_equal(older.runtime, "");
    assert_string_equal(newer.runtime, "tensormap_and_ringbuffer");
    assert_int_equal(older.n_cores, newer.n_cores);
    for (uint64_t i = 0; i < older.n_cores; i++) {
        const struct tl_swim_core *a = &older.cores[i], *b = &newer.cores[i];

        assert_true(a->task_id == b->task_id && a->start_cycles == b->start_cycles && a->end_cycles == b->end_cycles);
        assert_true(a->core_id == b->core_id && a->reg_task_id == b->reg_task_id);
        assert_true(a->receive_cycles == b->receive_cycles);
    }
    assert_int_equal(older.cores[0].receive_cycles, 5);
    assert_int_equal(older.n_aicpus, newer.n_aicpus);
    for (uint64_t i = 0; i < older.n_aicpus; i++) {
        const struct tl_swim_aicpu *a = &older.aicpus[i], *b = &newer.aicpus[i];

        assert_true(a->dispatch_cycles == b->dispatch_cycles && a->finish_cycles == b->finish_cycles);
        assert_true(a->core_id == b->core_id && a->reg_task_id == b->reg_task_id);
    }
    assert_int_equal(older.n_orchs, newer.n_orchs);
    for (uint64_t i = 0; i < older.n_orchs; i++) {
        const struct tl_swim_orch *a = &older.orchs[i], *b = &newer.orchs[i];

        assert_true(a->task_id == b->task_id && a->start_cycles == b->start_cycles && a->end_cycles == b->end_cycles);
        assert_true(a->submit_idx == b->submit_idx && a->thread == b->thread);
    }
    same_phases(&older, &newer);
    assert_int_equal(newer.n_streams, 1);
    assert_int_equal(newer.streams[0].committed, newer.n_phases);
    assert_string_equal(newer.platform, "a2a3");
    tl__swimlane_fini(&older);
    tl__swimlane_fini(&newer);
}

/* Register ids start again and task ids repeat: only the epoch distinguishes two executions. */
static void executions_are_kept_apart(void **state)
{
    struct swim_world w;
    struct tl_swimlane lane;
    struct tl_swim_join join;
    struct tl_error err = {0};

    (void)state;
    world_init(&w, 2, 1, 2);
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        uint64_t at = 1000 * epoch;

        world_slice(&w, 0, 0, 1, at, at + 100, 10, 10);
        world_slice(&w, 1, 1, 1, at + 200, at + 300, 10, 10);
        for (unsigned i = 0; i < 2; i++) {
            w.cores[w.lane.n_cores - 1 - i].run_epoch = epoch;
            w.aicpus[w.lane.n_aicpus - 1 - i].run_epoch = epoch;
        }
    }
    (void)world_task(&w, 0, 0, -1, -1, 1);
    (void)world_task(&w, 1, -1, 1, -1, 1);
    (void)world_edge(&w, 0, 1);
    lane = through(&w, TL_SWIM_2026_09);
    assert_int_equal(lane.duplicates, 0);
    assert_int_equal(tl__swim_join(&lane, &w.deps, NULL, &join, &err), 0);
    assert_int_equal(join.n_tasks, 4);
    assert_int_equal(join.n_epochs, 2);
    assert_int_equal(join.counts.joined, 4);
    assert_int_equal(join.counts.same_key + join.counts.tasks_reused + join.counts.tasks_unseen, 0);
    assert_int_equal(join.n_edges, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct tl_swim_edge *e = &join.edges[i];

        assert_int_equal(join.tasks[e->pred].run_epoch, i + 1);
        assert_int_equal(join.tasks[e->succ].run_epoch, i + 1);
        assert_int_equal(join.tasks[e->succ].start - join.tasks[e->pred].start, 200);
    }
    tl__swim_join_fini(&join);
    tl__swimlane_fini(&lane);
}

static void kinds_and_streams_are_kept(void **state)
{
    static const char text[] = HEAD(
        "3",
        "host_build_graph") "\"aicore_tasks\": [], \"scheduler_tasks\": {\"producer\": "
                            "\"aicore\", \"records\": []}, \"scheduler_records\": "
                            "{\"streams\": [" STREAM(
                                "7", "aicore", "{\"committed\": 9, \"dropped\": 4, \"truncated\": true}",
                                RECORD("state_probe", "10", "20", "0") "," RECORD(
                                    "resolve", "20", "30", "1") "," RECORD("nap", "30", "40",
                                                                           "0") "," RECORD("complete", "50", "90",
                                                                                           "1") "," RECORD("nap", "60",
                                                                                                           "70", "3"),
                                "{\"record_index\": 3, \"pop_hit\": 1, \"pop_miss\": 2}") "," STREAM("9000", "aicpu",
                                                                                                     WHOLE,
                                                                                                     RECORD(
                                                                                                         "resolve_"
                                                                                                         "standalone",
                                                                                                         "1", "2", "1"),
                                                                                                     "") "]}}";
    struct tl_swimlane s = parsed(text);

    (void)state;
    assert_int_equal(s.n_phases, 6);
    assert_int_equal(s.n_streams, 2);
    assert_int_equal(s.streams[0].dropped, 4);
    assert_int_equal(s.streams[0].read, 5);
    assert_true(s.streams[0].truncated && s.streams[0].aicore && s.cores_schedule);
    assert_int_equal(s.streams[0].worker_id, 40);
    assert_int_equal(s.phases[0].thread, 7);
    assert_int_equal(s.phases[5].thread, 9000);
    assert_int_equal(s.phases[0].kind, TL_PHASE_STATE_PROBE);
    assert_int_equal(tl__phase_group(s.phases[1].kind), TL_PHASE_OUTER); /* a core's lane is flat */
    assert_string_equal(tl__swim_phase_name(&s, &s.phases[1]), "resolve");
    assert_int_equal(s.unknown_kinds, 2);
    assert_int_equal(s.phases[2].kind, TL_PHASE_OTHER);
    assert_string_equal(tl__swim_phase_name(&s, &s.phases[2]), "nap");
    assert_int_equal(s.phases[4].kind, TL_PHASE_OTHER_INNER); /* within "complete" */
    assert_int_equal(s.phases[4].tasks_processed, 3);
    assert_int_equal(s.phases[3].pop_miss, 2);
    assert_int_equal(s.phases[3].has, TL_SWIM_HAS_POP);
    assert_string_equal(tl__swim_phase_name(&s, &s.phases[5]), "resolve");
    tl__swimlane_fini(&s);
}

#define CORES(rows) HEAD("1", "x") "\"aicore_tasks\": [" rows "]}"
#define TASKS(rows)                                                                                                    \
    HEAD("2", "x")                                                                                                     \
    "\"aicore_tasks\": [[0, 0, 1, 2, 3, 0, 1]], \"scheduler_tasks\": {\"producer\": \"aicpu\", "                       \
    "\"records\": [" rows "]}}"

static void rows_of_other_widths_are_named(void **state)
{
    (void)state;
    refused(CORES("[0, 0, 1, 2, 3, 0, 1], [0, 0, 2, 2, 3, 0, 1, 9]"),
            "f.json: aicore_tasks[1]: the row has 8 columns; 7 is the most");
    refused(CORES("[0, 0, 1, 2, 3, 0, 1], [0, 0, 2, 2, 3, 0]"),
            "f.json: aicore_tasks[1]: the row has 6 columns, and the first row has 7");
    refused(CORES("[0, 0, 1, 2]"), "f.json: aicore_tasks[0]: field 'end_cycles': missing: the row has 4 columns");
    refused(TASKS("[0, 1, 2, 3, 1], [0, 2, 3, 4]"),
            "f.json: scheduler_tasks.records[1]: field 'run_epoch': missing: the row has 4 columns");
    refused(TASKS("[0, 1, 2, 3, 1, 1]"), "f.json: scheduler_tasks.records[0]: the row has 6 columns; 5 is the most");
    refused(HEAD("2", "x") "\"aicore_tasks\": [[0, 0, 1, 2, 3]], \"aicpu_tasks\": [[0, 1, 2, 3, 1]]}",
            "f.json: aicpu_tasks[0]: the row has 5 columns; 4 is the most");
    refused(HEAD("2", "x") "\"aicore_tasks\": [[0, 0, 1, 2, 3, 0, 1]], \"aicpu_tasks\": [[0, 1, 2, 3]]}",
            "f.json: aicore_tasks[0]: the row has 7 columns; beside 'aicpu_tasks' it has 5 or 6");
    refused(TASKS("[2, 1, 2, 3, 1]"), "f.json: scheduler_tasks[0]: field 'core_id': 2, but there are 2 cores");
    refused(HEAD("3", "x") "\"aicore_tasks\": [], \"aicpu_tasks\": [], \"scheduler_records\": {\"streams\": [" STREAM(
                "0", "aicpu", WHOLE, "", "{\"record_index\": 0}") "]}}",
            "f.json: scheduler_records.streams[0].metrics[0]: field 'record_index': 0, and the stream has 0 records");
}

static void tasks_are_named_by_their_runtime(void **state)
{
    static const struct {
        uint64_t id;
        const char *rings, *spaces;
    } tasks[] = {
        {5, "r0t5", "t5"},
        {(uint64_t)1 << 62 | (uint64_t)3 << 32 | 7, "r1073741827t7", "g3t7"},
        {(uint64_t)2 << 62 | 9, "r2147483648t9", "p9"},
    };
    char text[TL_TASK_BYTES];
    uint64_t id;

    (void)state;
    for (unsigned i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        assert_string_equal(tl__task_text(text, tl__task_layout_of("tensormap_and_ringbuffer"), tasks[i].id),
                            tasks[i].rings);
        assert_string_equal(tl__task_text(text, tl__task_layout_of(""), tasks[i].id), tasks[i].rings);
        assert_string_equal(tl__task_text(text, tl__task_layout_of("host_build_graph"), tasks[i].id), tasks[i].spaces);
        assert_int_equal(tl__task_parse(tasks[i].spaces, &id), 0);
        assert_true(id == tasks[i].id);
    }
    assert_int_equal(tl__task_parse("g1048576t0", &id), TL_EPARSE);
    assert_int_equal(tl__task_parse("t", &id), TL_EPARSE);
    assert_int_equal(tl__task_parse("p1x", &id), TL_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_forms_say_the_same, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(executions_are_kept_apart, fixture_setup, fixture_teardown),
        cmocka_unit_test(kinds_and_streams_are_kept),
        cmocka_unit_test(rows_of_other_widths_are_named),
        cmocka_unit_test(tasks_are_named_by_their_runtime),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
