/* SPDX-License-Identifier: Apache-2.0 */
/* The six parts of `tasklens sched`, with exact numbers, on a recording that is worked out by hand. */
#include "support/sched_fixture.h"
#include "unit/artifact_fixture.h"

#include <tasklens/kernel.h>

#include "analysis/sched/sched.h"

struct opened {
    struct tl_swimlane lane;
    struct tl_deps deps;
    struct tl_name_map names;
    struct tl_swim_join join;
    struct tl_sched sched;
};

/* NULL `deps`: none. */
static void open_with(struct opened *o, const char *lane, const char *deps)
{
    struct tl_error error = {0};

    memset(o, 0, sizeof(*o));
    assert_int_equal(tl__swimlane_parse(lane, strlen(lane), "lane", &o->lane, &error), 0);
    if (deps != NULL)
        assert_int_equal(tl__deps_parse(deps, strlen(deps), "deps", &o->deps, &error), 0);
    assert_int_equal(tl__name_map_parse(sched_fixture_names, strlen(sched_fixture_names), "names", &o->names, &error),
                     0);
    assert_int_equal(tl__swim_join(&o->lane, deps != NULL ? &o->deps : NULL, &o->names, &o->join, &error), 0);
    if (tl__sched_make(&o->join, &o->sched, &error) < 0)
        fail_msg("%s", error.msg);
}

static void close_all(struct opened *o)
{
    tl__sched_fini(&o->sched);
    tl__swim_join_fini(&o->join);
    tl__name_map_fini(&o->names);
    tl__deps_fini(&o->deps);
    tl__swimlane_fini(&o->lane);
}

static void spread_is(const struct tl_spread *s, uint64_t count, uint64_t median, uint64_t p95, uint64_t total)
{
    assert_int_equal(s->count, count);
    assert_int_equal(s->median_ns, median);
    assert_int_equal(s->p95_ns, p95);
    assert_int_equal(s->total_ns, total);
}

static void a_spread_has_nearest_ranks(void **state)
{
    uint64_t values[100], one[] = {7};
    struct tl_spread s = tl__spread(values, 0);

    (void)state;
    spread_is(&s, 0, 0, 0, 0);
    s = tl__spread(one, 1);
    spread_is(&s, 1, 7, 7, 7);
    for (unsigned i = 0; i < 100; i++)
        values[i] = 100 - i;
    s = tl__spread(values, 100);
    spread_is(&s, 100, 50, 95, 5050);
    assert_int_equal(s.max_ns, 100);
    s = tl__spread(values, 19); /* 1..19: the 95th of 100 is the 19th of 19 */
    spread_is(&s, 19, 10, 19, 190);
    s = tl__spread(values, 20);
    spread_is(&s, 20, 10, 19, 210);
}

static void overhead_is_that_of_the_fixture(void **state)
{
    struct opened o;

    (void)state;
    open_with(&o, sched_fixture_lane[4], sched_fixture_deps);
    assert_null(o.sched.missing[TL_SCHED_OVERHEAD]);
    assert_int_equal(o.sched.overhead.cycles, 800);
    assert_int_equal(o.sched.overhead.overhead[TL_AIC], 40);
    assert_int_equal(o.sched.overhead.overhead[TL_AIV], 42 + 40 + 40);
    assert_int_equal(o.sched.overhead.has, 122);
    assert_string_equal(tl__sched_verdict(&o.sched), "acceptable");
    /* Of what is between the first dispatch and the last end: the rest of the wall has no task to run. */
    assert_int_equal(o.sched.overhead.active, 760 - 18);
    o.sched.overhead.has = 37; /* 4.99 % */
    assert_string_equal(tl__sched_verdict(&o.sched), "good");
    o.sched.overhead.has = 38;
    assert_string_equal(tl__sched_verdict(&o.sched), "acceptable");
    o.sched.overhead.has = 149; /* 20.1 %, of the wall 18.6 % */
    assert_string_equal(tl__sched_verdict(&o.sched), "bad");
    close_all(&o);
}

static void what_cores_did_is_that_of_the_fixture(void **state)
{
    const struct tl_sched_cores *aic, *aiv;
    struct opened o;

    (void)state;
    open_with(&o, sched_fixture_lane[4], sched_fixture_deps);
    aic = &o.sched.cores[TL_AIC];
    aiv = &o.sched.cores[TL_AIV];
    assert_int_equal(o.sched.wall_ns, 800);
    assert_int_equal(aic->cores, 2);
    assert_int_equal(aic->used, 2);
    assert_int_equal(aic->slices, 2);
    assert_int_equal(aic->busy_ns, 250);
    assert_int_equal(aiv->slices, 6);
    assert_int_equal(aiv->busy_ns, 100 + 120 + 50 + 57 + 45 + 60);
    spread_is(&aic->gaps, 0, 0, 0, 0);
    spread_is(&aiv->gaps, 4, 5, 230, 5 + 230 + 3 + 135);
    spread_is(&aiv->queued, 2, 3, 5, 8);
    assert_int_equal(aic->first_dispatch_ns, 18);
    assert_int_equal(aic->first_start_ns, 25);
    assert_int_equal(aic->ramp_end_ns, 470);
    assert_int_equal(aic->head_idle_ns, 25 + 470);
    assert_int_equal(aiv->first_dispatch_ns, 185);
    assert_int_equal(aiv->first_start_ns, 195);
    assert_int_equal(aiv->ramp_end_ns, 475);
    assert_int_equal(aiv->head_idle_ns, 195 + 475);
    assert_int_equal(aic->first_dry_ns, 145);
    assert_int_equal(aic->last_end_ns, 600);
    assert_int_equal(aic->tail_idle_ns, 455);
    assert_int_equal(aiv->first_dry_ns, 715);
    assert_int_equal(aiv->last_end_ns, 760);
    assert_int_equal(aiv->tail_idle_ns, 45);
    assert_int_equal(o.sched.submit_start_ns, 0);
    assert_int_equal(o.sched.submit_end_ns, 10);
    close_all(&o);
}

static void what_loops_did_is_that_of_the_fixture(void **state)
{
    const struct tl_sched_loop *l;
    struct opened o;

    (void)state;
    open_with(&o, sched_fixture_lane[4], sched_fixture_deps);
    assert_int_equal(o.sched.loops.count, 2);
    l = &o.sched.loops.list[0];
    assert_int_equal(l->thread, 0);
    assert_int_equal(l->wall_ns, 613);
    assert_int_equal(l->rendered_ns, 63);
    assert_int_equal(l->idle_ns, 550);
    assert_int_equal(l->kind_ns[TL_PHASE_DISPATCH], 21);
    assert_int_equal(l->kind_ns[TL_PHASE_COMPLETE], 42);
    assert_int_equal(l->kind_ns[TL_PHASE_RESOLVE], 12);
    assert_int_equal(l->iterations, 31);
    assert_int_equal(l->dispatches, 2);
    assert_int_equal(l->dispatched, 3);
    assert_int_equal(l->pop_hit, 2);
    assert_int_equal(l->pop_miss, 10);
    l = &o.sched.loops.list[1];
    assert_int_equal(l->wall_ns, 625);
    assert_int_equal(l->rendered_ns, 115);
    assert_int_equal(l->idle_ns, 510);
    assert_int_equal(l->kind_ns[TL_PHASE_RELEASE], 10);
    assert_int_equal(l->dispatched, 5);
    close_all(&o);
}

/* Phases that overlap do not add up, and that is seen; sparse thread ids keep their numbers. */
static void loops_that_do_not_add_up(void **state)
{
    static const char lane[] = SCHED_FIXTURE_HEAD(3) SCHED_FIXTURE_THREADS
        "\"aicore_tasks\": [], \"aicpu_tasks\": [], \"aicpu_scheduler_phases\": [[], [], "
        "[" SCHED_FIXTURE_PHASE("complete", 100, 150, 1, 1) "}, " SCHED_FIXTURE_PHASE(
            "dispatch", 130, 160, 1, 1) "}, " SCHED_FIXTURE_PHASE("poll", 180, 190, 2, 0) "}]]}";
    struct tl_rendering out;
    struct opened o;

    (void)state;
    open_with(&o, lane, NULL);
    assert_int_equal(o.sched.loops.count, 1);
    assert_int_equal(o.sched.loops.list[0].thread, 2);
    assert_int_equal(o.sched.loops.list[0].wall_ns, 90);
    assert_int_equal(o.sched.loops.list[0].rendered_ns, 50 + 30 + 10);
    assert_int_equal(o.sched.loops.list[0].idle_ns, 20);
    assert_int_equal(o.sched.loops.list[0].overlaps, 1);
    assert_string_equal(o.sched.missing[TL_SCHED_SWITCH], "no core ran anything");
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__sched_text(&out, &o.sched, "dir"), 0);
    tl__put(&out, "", 1);
    assert_non_null(strstr(out.data, "note: on 1 of 1 threads phases overlap"));
    tl__rendering_fini(&out);
    close_all(&o);
}

static void the_paths_share_of_the_schedulers_is_that_of_the_fixture(void **state)
{
    struct opened o;
    uint64_t sum = 0;

    (void)state;
    open_with(&o, sched_fixture_lane[4], sched_fixture_deps);
    assert_int_equal(o.sched.path.observed.spent_ns[TL_PATH_SCHEDULER], 128);
    assert_int_equal(o.sched.path_phase_ns[TL_PHASE_DISPATCH], 6 + 10 + 8 + 8);
    assert_int_equal(o.sched.path_phase_ns[TL_PHASE_IDLE], 2 + 30 + 32 + 32);
    for (unsigned kind = 0; kind < TL_PHASE_COUNT; kind++)
        sum += o.sched.path_phase_ns[kind];
    assert_int_equal(sum, 128);
    assert_int_equal(tl__sched_until_noticed(&o.sched.path), 10 + 10 + 10);
    close_all(&o);
}

/* What each part needs, level by level, with and without the graph. */
static void each_missing_part_says_what_it_needs(void **state)
{
    struct opened o;

    (void)state;
    for (unsigned level = 1; level <= 4; level++)
        for (unsigned graph = 0; graph < 2; graph++) {
            open_with(&o, sched_fixture_lane[level], graph == 1 ? sched_fixture_deps : NULL);
            assert_true((o.sched.missing[TL_SCHED_OVERHEAD] == NULL) == (level >= 2 && graph == 1));
            if (level == 1)
                assert_non_null(strstr(o.sched.missing[TL_SCHED_OVERHEAD], "--enable-chip-swimlane 2"));
            else if (graph == 0)
                assert_non_null(strstr(o.sched.missing[TL_SCHED_OVERHEAD], "--enable-dep-gen"));
            assert_null(o.sched.missing[TL_SCHED_SWITCH]);
            assert_null(o.sched.missing[TL_SCHED_HEAD]);
            assert_null(o.sched.missing[TL_SCHED_TAIL]);
            assert_true((o.sched.missing[TL_SCHED_LOOP] == NULL) == (level >= 3));
            assert_true((o.sched.missing[TL_SCHED_PATH] == NULL) == (graph == 1));
            assert_true((o.sched.submit_end_ns != TL_SCHED_UNKNOWN) == (level == 4));
            assert_true((o.sched.cores[TL_AIC].first_dispatch_ns != TL_SCHED_UNKNOWN) == (level >= 2));
            close_all(&o);
        }
    open_with(&o, sched_fixture_lane[4], sched_fixture_cycle);
    assert_non_null(strstr(o.sched.missing[TL_SCHED_PATH], "a cycle of 3 tasks: r0t"));
    close_all(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spread_has_nearest_ranks),
        cmocka_unit_test(overhead_is_that_of_the_fixture),
        cmocka_unit_test(what_cores_did_is_that_of_the_fixture),
        cmocka_unit_test(what_loops_did_is_that_of_the_fixture),
        cmocka_unit_test(loops_that_do_not_add_up),
        cmocka_unit_test(the_paths_share_of_the_schedulers_is_that_of_the_fixture),
        cmocka_unit_test(each_missing_part_says_what_it_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
