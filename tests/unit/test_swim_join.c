/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/swim_world.h"

#include "analysis/swimlane/swim_sched.h"
#include "base/env.h"

static struct swim_world w;
static struct tl_swim_join join;

static void do_join(bool deps, bool names)
{
    struct tl_error error = {0};

    assert_int_equal(tl__swim_join(&w.lane, deps ? &w.deps : NULL, names ? &w.names : NULL, &join, &error), 0);
}

static const struct tl_swim_slice *slice(uint64_t task, uint32_t i)
{
    uint32_t at = tl__swim_find(&join, task);

    assert_int_not_equal(at, TL_SWIM_NONE);
    assert_true(i < join.tasks[at].count);
    return &join.slices[join.by_task[join.tasks[at].first + i]];
}

static const char *label(const struct tl_swim_slice *s)
{
    static char text[TL_SWIM_LABEL_BYTES];

    tl__swim_label(&join, s, text);
    return text;
}

static void rows_are_joined_on_the_core(void **state)
{
    (void)state;
    world_init(&w, 2, 1, 2);
    /* One task twice on core 1, and another core with the same register value: only (core, register) distinguishes
     * them. */
    (void)world_core(&w, 1, 7, 2, 300, 340);
    (void)world_core(&w, 1, 7, 1, 200, 240);
    (void)world_core(&w, 0, 7, 1, 210, 290);
    world_aicpu(&w, 0, 1, 150, 310);
    world_aicpu(&w, 1, 1, 160, 250);
    world_aicpu(&w, 1, 2, 170, 350);
    do_join(false, false);
    assert_int_equal(join.n_slices, 3);
    assert_int_equal(join.n_tasks, 1);
    assert_int_equal(join.counts.joined, 3);
    assert_int_equal(join.counts.core_alone + join.counts.aicpu_alone + join.counts.same_key, 0);
    assert_int_equal(join.clock.origin_cycles, 150);
    assert_int_equal(join.end, 200);
    assert_int_equal(join.slices[0].core, 0);
    assert_int_equal(join.slices[0].dispatch, 0);
    assert_int_equal(join.slices[0].finish, 160);
    assert_int_equal(join.slices[1].start, 50);
    assert_int_equal(join.slices[1].dispatch, 10);
    assert_int_equal(join.slices[1].finish, 100);
    assert_int_equal(join.slices[2].start, 150);
    assert_int_equal(join.slices[2].dispatch, 20);
    assert_int_equal(join.slices[2].thread, -1);
    assert_int_equal(join.tasks[0].start, 50);
    assert_int_equal(join.tasks[0].end, 190);
    assert_int_equal(join.tasks[0].dispatch, 0);
    assert_int_equal(join.tasks[0].finish, 200);
    assert_int_equal(join.tasks[0].core_types, 3);
    assert_string_equal(label(&join.slices[0]), "task(r0t7)");
    assert_int_equal(tl__swim_find(&join, 8), TL_SWIM_NONE);
    tl__swim_join_fini(&join);
}

static void rows_without_their_other_half(void **state)
{
    (void)state;
    world_init(&w, 2, 1, 1);
    (void)world_core(&w, 0, 1, 1, 100, 200);
    world_aicpu(&w, 0, 2, 210, 0);
    world_aicpu(&w, 1, 1, 90, 95);
    do_join(false, false);
    assert_int_equal(join.n_slices, 3);
    assert_int_equal(join.n_ran, 1);
    assert_int_equal(join.counts.joined, 0);
    assert_int_equal(join.counts.core_alone, 1);
    assert_int_equal(join.counts.aicpu_alone, 2);
    assert_int_equal(join.counts.unfinished, 1);
    assert_int_equal(join.slices[1].flags, TL_SWIM_SENT);
    assert_int_equal(join.slices[1].task, TL_SWIM_NONE);
    assert_string_equal(label(&join.slices[1]), "never ended(reg 2)");
    assert_int_equal(join.tasks[0].flags, 0);
    tl__swim_join_fini(&join);
    w.lane.level = 1; /* where no AICPU rows are due */
    w.lane.n_aicpus = 0;
    do_join(false, false);
    assert_int_equal(join.counts.core_alone, 0);
    tl__swim_join_fini(&join);
}

/* What a hang leaves: a kernel that started and has no end. It is drawn to where the run was given up. */
static void a_row_without_an_end_runs_to_the_end(void **state)
{
    (void)state;
    world_init(&w, 2, 1, 2);
    (void)world_core(&w, 0, 1, 1, 100, 200);
    (void)world_core(&w, 1, 2, 1, 150, 0);
    world_aicpu(&w, 0, 1, 90, 210);
    world_aicpu(&w, 1, 1, 120, 0);
    w.lane.n_anchors = 1;
    w.lane.anchors[0] = (struct tl_swim_anchor){.position = "quiesce", .device_cycles = 5090};
    do_join(false, false);
    assert_int_equal(join.counts.running, 1);
    assert_int_equal(join.counts.unfinished, 1);
    assert_int_equal(join.counts.backward, 0);
    assert_int_equal(join.end, 5000);
    assert_int_equal(slice(2, 0)->start, 60);
    assert_int_equal(slice(2, 0)->end, 5000);
    assert_true((slice(2, 0)->flags & TL_SWIM_RUNNING) != 0);
    assert_int_equal(slice(1, 0)->end, 110);
    tl__swim_join_fini(&join);
}

static void rows_that_cannot_be_right(void **state)
{
    (void)state;
    world_init(&w, 4, 1, 1);
    (void)world_core(&w, 0, 1, 1, 200, 150);
    world_core(&w, 0, 2, 2, 300, 310)->receive_cycles = 1000; /* longer ago than the clock */
    (void)world_core(&w, 0, 3, 2, 320, 330);
    world_aicpu(&w, 0, 1, 180, 170);
    world_aicpu(&w, 0, 2, 290, 312);
    (void)world_phase(&w, 0, TL_PHASE_DISPATCH, 190, 185, 0);
    world_submit(&w, 1, 179, 120);
    world_submit(&w, 1, 180, 181);
    do_join(false, false);
    assert_int_equal(join.clock.origin_cycles, 179);
    assert_int_equal(join.counts.backward, 4);
    assert_int_equal(join.counts.same_key, 1);
    assert_int_equal(join.counts.tasks_reused, 1);
    assert_int_equal(join.slices[0].start, 21);
    assert_int_equal(join.slices[0].end, 21);
    assert_int_equal(join.slices[0].finish, join.slices[0].dispatch);
    assert_true((join.slices[0].flags & TL_SWIM_BACKWARD) != 0);
    assert_int_equal(join.slices[1].receive, join.slices[1].start);
    assert_true((join.slices[1].flags & TL_SWIM_SENT) != 0); /* the first of one key gets the row */
    assert_false((join.slices[2].flags & TL_SWIM_SENT) != 0);
    tl__swim_join_fini(&join);
}

static void slices_have_their_kernels_and_names(void **state)
{
    char long_name[300];

    (void)state;
    world_everything(&w);
    do_join(true, true);
    assert_int_equal(join.n_tasks, 4);
    assert_string_equal(label(slice(0, 0)), "load(r0t0)");
    assert_string_equal(label(slice(1, 0)), "matmul(r0t1)");
    assert_string_equal(label(slice(1, 1)), "func_2(r0t1)");
    assert_string_equal(label(slice(1, 2)), "func_3(r0t1)");
    assert_int_equal(slice(1, 2)->core, 2); /* the odd AIV core runs AIV1 */
    assert_int_equal(slice(1, 2)->subtask, 2);
    assert_string_equal(label(slice((uint64_t)1 << 32, 3)), "load_spmd(r1t0)");
    assert_int_equal(slice((uint64_t)1 << 32, 3)->subtask, 1); /* on core 2, of one AIV kernel */
    assert_int_equal(slice(0, 0)->receive + 5, slice(0, 0)->start);
    tl__swim_join_fini(&join);
    do_join(true, false);
    assert_string_equal(label(slice(1, 0)), "func_1(r0t1)");
    tl__swim_join_fini(&join);
    do_join(false, true);
    assert_string_equal(label(slice(1, 0)), "task(r0t1)");
    tl__swim_join_fini(&join);

    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    world_name(&w, 0, long_name);
    do_join(true, true);
    assert_true(strlen(label(slice((uint64_t)1 << 32, 0))) < TL_SWIM_LABEL_BYTES);
    assert_non_null(strstr(label(slice((uint64_t)1 << 32, 0)), "xxx_spmd(r1t0)"));
    tl__swim_join_fini(&join);
}

static void the_graph_by_position(void **state)
{
    const struct tl_swim_task *t;
    struct tl_deps_edge *retain;

    (void)state;
    world_everything(&w);
    (void)world_task(&w, 99, 0, -1, -1, 1); /* never ran */
    (void)world_edge(&w, 1, 99);
    (void)world_edge(&w, 1, 1);
    (void)world_edge(&w, 12345, 1); /* not listed at all */
    retain = world_edge(&w, 0, (uint64_t)1 << 32);
    retain->flags = TL_DEPS_HAS_FLAGS | TL_DEPS_RETAIN;
    do_join(true, false);
    assert_int_equal(join.counts.pairs, 7);
    assert_int_equal(join.counts.pairs_outside, 2);
    assert_int_equal(join.counts.pairs_self, 1);
    assert_int_equal(join.counts.tasks_unseen, 1);
    assert_int_equal(join.counts.first_unseen, 99);
    assert_int_equal(join.counts.tasks_unlisted, 0);
    assert_int_equal(join.n_edges, 4);
    t = &join.tasks[tl__swim_find(&join, (uint64_t)1 << 32)];
    assert_int_equal(t->edge_count, 2);
    assert_int_equal(join.tasks[join.edges[t->first_edge].pred].task_id, 0);
    assert_false(join.edges[t->first_edge].wait);
    assert_true(join.edges[t->first_edge + 1].wait);
    assert_int_equal(join.task_of_deps[4], TL_SWIM_NONE);
    assert_int_equal(join.tasks[join.task_of_deps[1]].task_id, 1);
    assert_int_equal(join.tasks[join.task_of_deps[1]].deps, 1);
    tl__swim_join_fini(&join);
    w.deps.n_tasks = 2;
    do_join(true, false);
    assert_int_equal(join.counts.tasks_unlisted, 2);
    tl__swim_join_fini(&join);
}

static void allocations_run_nowhere(void **state)
{
    struct tl_error error = {0};

    (void)state;
    world_everything(&w);
    (void)world_task(&w, 50, -1, -1, -1, 1);
    (void)world_edge(&w, 50, 0);
    (void)world_edge(&w, 51, 0); /* not listed: who knows */
    assert_int_equal(tl__deps_index(&w.deps, &error), 0);
    do_join(true, false);
    assert_int_equal(join.counts.pairs_without, 1);
    assert_int_equal(join.counts.pairs_outside, 1);
    assert_int_equal(join.counts.tasks_unseen, 0);
    tl__swim_join_fini(&join);
    tl__free(w.deps.edge_pred);
    tl__free(w.deps.edge_succ);
    tl__free(w.deps.by_id);
}

static void an_id_that_is_used_again_is_counted(void **state)
{
    (void)state;
    world_everything(&w);
    world_slice(&w, 1, 0, 9, 2400, 2410, 1, 1);
    do_join(true, false);
    assert_int_equal(join.counts.tasks_reused, 1);
    tl__swim_join_fini(&join);
}

static void tasks_that_no_core_ran(void **state)
{
    const struct tl_swim_task *t;

    (void)state;
    world_everything(&w);
    do_join(true, false);
    t = &join.tasks[tl__swim_find(&join, ((uint64_t)1 << 32) + 1)];
    assert_int_equal(t->count, 0);
    assert_int_equal(w.phases[t->phase].kind, TL_PHASE_DUMMY_TASK);
    assert_int_equal(t->start, 1355);
    assert_int_equal(t->end, 1375);
    assert_int_equal(w.orchs[t->submit].submit_idx, 3);
    tl__swim_join_fini(&join);
}

static void an_empty_recording_is_joined(void **state)
{
    struct tl_swim_scheds scheds;

    (void)state;
    world_init(&w, 4, 0, 0);
    do_join(true, true);
    assert_int_equal(join.n_slices + join.n_tasks + join.n_edges, 0);
    assert_int_equal(join.end, 0);
    assert_int_equal(tl__swim_scheds(&join, &scheds), 0);
    assert_int_equal(scheds.count, 0);
    tl__swim_scheds_fini(&scheds);
    tl__swim_join_fini(&join);
}

/* ---- clocks ---- */

static const char *us(int64_t ps)
{
    static char text[TL_SWIM_US_BYTES + 1];

    text[tl__swim_us_text(text, ps)] = 0;
    return text;
}

static void times_are_exact(void **state)
{
    struct tl_swim_clock clock = {.freq_hz = 50000000};

    (void)state;
    assert_int_equal(tl__swim_ps(&clock, 3), 60000);
    assert_string_equal(us(tl__swim_ps(&clock, 2058623)), "41172.46");
    clock.freq_hz = 1000000000;
    assert_string_equal(us(tl__swim_ps(&clock, 1)), "0.001");
    assert_string_equal(us(tl__swim_ps(&clock, 1234567890123456)), "1234567890123.456");
    clock.freq_hz = 3000000000;
    assert_string_equal(us(tl__swim_ps(&clock, 1)), "0.000333");
    assert_string_equal(us(tl__swim_ps(&clock, 2)), "0.000667");
    assert_string_equal(us(tl__swim_ps(&clock, 3)), "0.001");
    assert_int_equal(tl__swim_ps(&clock, UINT64_MAX), INT64_MAX / 2);
    clock.freq_hz = 0;
    assert_int_equal(tl__swim_ps(&clock, 5), 0);
    assert_string_equal(us(0), "0");
    assert_string_equal(us(-5), "0");
    assert_string_equal(us(1), "0.000001");
    assert_string_equal(us(INT64_MAX), "9223372036854.775807");
}

/* Device cycle 0 is host 1,000,000 ns; the host's clock runs 1 ns ahead in each 1,000. */
static void a_host_orchestrator_is_placed(void **state)
{
    (void)state;
    world_init(&w, 4, 1, 0);
    w.lane.clock_freq_hz = 50000000;
    world_slice(&w, 0, 5, 1, 500000, 500100, 50, 50);
    world_submit(&w, 5, 1000500, 1001000);
    w.lane.orch_is_host_clock = true;
    do_join(false, false);
    assert_int_equal(join.clock.orch, TL_SWIM_ORCH_APART);
    assert_int_equal(tl__swim_orch_ps(&join.clock, 1001000), 500000);
    assert_int_equal(join.clock.first_ps, 0);
    tl__swim_join_fini(&join);

    w.lane.n_anchors = 3;
    w.lane.anchors[0] = (struct tl_swim_anchor){"begin", 999000, 7, 1002000, 1500}; /* a worse reading */
    w.lane.anchors[1] = (struct tl_swim_anchor){"begin", 999990, 0, 1000010, 10};
    w.lane.anchors[2] = (struct tl_swim_anchor){"quiesce", 1000000 + 20019970, 1000000, 1000000 + 20020030, 30};
    do_join(false, false);
    assert_int_equal(join.clock.orch, TL_SWIM_ORCH_PLACED);
    assert_int_equal(join.clock.uncertainty_ns, 30);
    assert_int_equal(join.clock.origin_cycles, 499950);
    /* 500 ns of the host are 499.5 ns of the device, 9,999,000 ns before the origin; given in integer nanoseconds. */
    assert_int_equal(tl__swim_orch_ps(&join.clock, 1000500), -9998500000);
    assert_int_equal(join.clock.first_ps, -9998500000);
    tl__swim_join_fini(&join);

    w.lane.n_anchors = 2; /* one position alone gives no rate */
    do_join(false, false);
    assert_int_equal(tl__swim_orch_ps(&join.clock, 1000500), -9999000000 + 500000);
    tl__swim_join_fini(&join);
    w.lane.anchors[0].host_after_ns = w.lane.anchors[1].host_after_ns = 0; /* not moments at all */
    do_join(false, false);
    assert_int_equal(join.clock.orch, TL_SWIM_ORCH_APART);
    tl__swim_join_fini(&join);
}

/* ---- schedulers ---- */

static void busy_and_idle_are_the_wall(void **state)
{
    struct tl_swim_scheds scheds;
    const struct tl_swim_sched *s;

    (void)state;
    world_everything(&w);
    (void)world_phase(&w, 7, TL_PHASE_DISPATCH, 1200, 1200, 0); /* ids are sparse */
    (void)world_phase(&w, 7, TL_PHASE_IDLE, 1200, 1300, 0);     /* what others say of a gap */
    do_join(true, false);
    assert_int_equal(tl__swim_scheds(&join, &scheds), 0);
    assert_int_equal(scheds.count, 2);
    s = &scheds.list[0];
    assert_int_equal(s->outer_count, 10);
    assert_int_equal(s->inner_count, 1);
    assert_int_equal(s->task_count, 1);
    assert_int_equal(s->start, 160);
    assert_int_equal(s->end, 1380);
    assert_int_equal(s->busy, 30 + 80 + 60 + 140 + 90 + 110 + 25 + 9 + 45 + 30);
    assert_int_equal(s->busy + s->idle, s->end - s->start);
    assert_int_equal(s->overlaps + s->stray, 0);
    assert_int_equal(scheds.list[1].thread, 7);
    assert_int_equal(scheds.list[1].outer_count, 1);
    assert_int_equal(scheds.list[1].idle, 0);
    tl__swim_scheds_fini(&scheds);
    tl__swim_join_fini(&join);

    (void)world_phase(&w, 0, TL_PHASE_RELEASE, 2370, 2390, 1);       /* begins within another */
    (void)world_phase(&w, 0, TL_PHASE_DRAIN_PREPARE, 2385, 2391, 1); /* ends behind all */
    (void)world_phase(&w, 0, TL_PHASE_DRAIN_PUBLISH, 1461, 1470, 1); /* in a gap */
    do_join(true, false);
    assert_int_equal(tl__swim_scheds(&join, &scheds), 0);
    assert_int_equal(scheds.list[0].overlaps, 1);
    assert_int_equal(scheds.list[0].stray, 2);
    assert_int_not_equal(scheds.list[0].busy + scheds.list[0].idle, scheds.list[0].end - scheds.list[0].start);
    tl__swim_scheds_fini(&scheds);
    tl__swim_join_fini(&join);
}

static void the_phase_of_a_moment(void **state)
{
    struct tl_swim_scheds scheds;

    (void)state;
    world_everything(&w);
    do_join(true, false);
    assert_int_equal(tl__swim_scheds(&join, &scheds), 0);
    assert_int_equal(tl__swim_phase_at(&scheds, 0, 180, TL_SWIM_SENDS), 0);
    assert_int_equal(tl__swim_phase_at(&scheds, 0, 159, TL_SWIM_SENDS), TL_SWIM_NONE);
    assert_int_equal(tl__swim_phase_at(&scheds, 0, 191, TL_SWIM_SENDS), TL_SWIM_NONE);
    assert_int_equal(tl__swim_phase_at(&scheds, 0, 400, TL_SWIM_SENDS), 3); /* a complete ends, a dispatch begins */
    assert_int_equal(tl__swim_phase_at(&scheds, 0, 400, TL_SWIM_ENDS), 2);
    assert_int_equal(tl__swim_phase_at(&scheds, 0, 180, TL_SWIM_ENDS), 0); /* nothing better there */
    assert_int_equal(tl__swim_phase_at(&scheds, 1, 180, TL_SWIM_SENDS), TL_SWIM_NONE);
    assert_int_equal(tl__swim_phase_at(&scheds, -1, 180, TL_SWIM_SENDS), TL_SWIM_NONE);
    tl__swim_scheds_fini(&scheds);
    tl__swim_join_fini(&join);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_joined_on_the_core),
        cmocka_unit_test(rows_without_their_other_half),
        cmocka_unit_test(a_row_without_an_end_runs_to_the_end),
        cmocka_unit_test(rows_that_cannot_be_right),
        cmocka_unit_test(slices_have_their_kernels_and_names),
        cmocka_unit_test(the_graph_by_position),
        cmocka_unit_test(allocations_run_nowhere),
        cmocka_unit_test(an_id_that_is_used_again_is_counted),
        cmocka_unit_test(tasks_that_no_core_ran),
        cmocka_unit_test(an_empty_recording_is_joined),
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(a_host_orchestrator_is_placed),
        cmocka_unit_test(busy_and_idle_are_the_wall),
        cmocka_unit_test(the_phase_of_a_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
