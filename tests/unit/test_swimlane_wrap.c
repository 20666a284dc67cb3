/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of 32 bits that begin again at 0 in a recording: once is mended, wherever it falls; what is broken otherwise
 * gets no verdict. */
#include "unit/swim_world.h"

#include "analysis/sched/sched.h"
#include "base/env.h"

#define TURN ((uint64_t)1 << 32)
#define CORES 3u
#define ROUNDS 8u

static struct swim_world w;

/* Rounds of one task a core, with the loops and submits that made them, from cycle 1,000 on; rows by core, as written.
 */
static uint64_t make(uint64_t apart)
{
    world_init(&w, 4, 0, CORES);
    for (unsigned c = 0; c < CORES; c++)
        for (unsigned i = 0; i < ROUNDS; i++) {
            uint64_t at = 1000 + i * apart + c * 10;

            world_slice(&w, c, i * CORES + c, i + 1, at, at + 700, 20, 30);
        }
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t at = 1000 + i * apart;

        world_phase(&w, 0, TL_PHASE_DISPATCH, at - 90, at - 5, 3)->loop_iter = 2 * i + 1;
        world_phase(&w, 0, TL_PHASE_COMPLETE, at + 705, at + 760, 3)->loop_iter = 2 * i + 2;
        for (unsigned c = 0; c < CORES; c++) {
            world_submit(&w, i * CORES + c, at - 300 + 20 * c, at - 290 + 20 * c);
            (void)world_task(&w, i * CORES + c, -1, 0, -1, 1);
        }
    }
    for (unsigned i = CORES; i < ROUNDS * CORES; i++)
        (void)world_edge(&w, i - CORES, i);
    w.lane.n_anchors = 2;
    w.lane.anchors[0] = (struct tl_swim_anchor){"begin", 50000, 500, 50010, 5};
    w.lane.anchors[1] = (struct tl_swim_anchor){"quiesce", 90000, 1000 + ROUNDS * apart, 90010, 5};
    return 1000 + ROUNDS * apart;
}

static void shift(uint64_t *stamp, uint64_t by)
{
    *stamp = (*stamp + by) % TURN;
    if (*stamp == 0) /* which would say that there is none */
        *stamp = 1;
}

static struct tl_swimlane read_shifted(uint64_t by)
{
    struct tl_swimlane back = {0};
    struct tl_error err = {0};

    for (uint64_t i = 0; i < w.lane.n_cores; i++) {
        shift(&w.cores[i].start_cycles, by);
        shift(&w.cores[i].end_cycles, by);
        shift(&w.aicpus[i].dispatch_cycles, by);
        shift(&w.aicpus[i].finish_cycles, by);
    }
    for (uint64_t i = 0; i < w.lane.n_phases; i++) {
        shift(&w.phases[i].start_cycles, by);
        shift(&w.phases[i].end_cycles, by);
    }
    for (uint64_t i = 0; i < w.lane.n_orchs; i++) {
        shift(&w.orchs[i].start_cycles, by);
        shift(&w.orchs[i].end_cycles, by);
    }
    for (uint32_t i = 0; i < w.lane.n_anchors; i++)
        shift(&w.lane.anchors[i].device_cycles, by);
    if (tl__swimlane_write(fixture_dir, &w.lane, &err) != 0 ||
        tl__swimlane_read(fixture_path(TL_SWIMLANE_NAME), &back, &err) != 0)
        fail_msg("%s", err.msg);
    return back;
}

/* As far from the first event as before it was shifted, by `slack`. */
static void same_times(const struct tl_swimlane *s, uint64_t apart)
{
    struct tl_swim_clock clock;

    tl__swim_clock_init(&clock, s);
    for (uint64_t i = 0; i < s->n_cores; i++) {
        uint64_t want = 1000 + i % ROUNDS * apart + i / ROUNDS * 10, first = 1000 - 300;
        uint64_t got = s->cores[i].start_cycles - clock.origin_cycles;

        assert_in_range(got + 1, want - first, want - first + 2); /* a stamp of 0 was made 1 */
        assert_in_range(s->cores[i].end_cycles - s->cores[i].start_cycles, 699, 701);
        assert_in_range(s->aicpus[i].finish_cycles - s->aicpus[i].dispatch_cycles, 749, 751);
    }
    assert_true(s->anchors[1].device_cycles > s->anchors[0].device_cycles);
}

static void one_turn_is_mended_wherever_it_falls(void **state)
{
    static const uint64_t aparts[] = {1000, 40000, 300000000}; /* the last run takes more than half of the 32 bits */

    (void)state;
    for (unsigned a = 0; a < 3; a++) {
        uint64_t end = make(aparts[a]), step = aparts[a] == 1000 ? 37 : end / 97;

        for (uint64_t at = 760; at < end - aparts[a] + 740; at += step) { /* two stamps or more on each side */
            struct tl_swimlane s;

            (void)make(aparts[a]);
            s = read_shifted(TURN - at); /* what was at `at` is 0 now */
            if (!s.wrapped || s.falls != 0 || s.backward != 0)
                fail_msg("%llu apart, turn at %llu: not mended", (unsigned long long)aparts[a], (unsigned long long)at);
            same_times(&s, aparts[a]);
            tl__swimlane_fini(&s);
        }
    }
}

static void a_good_recording_is_left_alone(void **state)
{
    struct tl_swimlane s;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        (void)make(40000);
        s = read_shifted((uint64_t[]){0, 5000000, TURN - 400000}[i]);
        assert_false(s.wrapped);
        assert_int_equal(s.falls + s.backward, 0);
        same_times(&s, 40000);
        tl__swimlane_fini(&s);
    }
}

static void verdict_of(const struct tl_swimlane *lane, const char *want)
{
    struct tl_swim_join join;
    struct tl_sched *sched = calloc(1, sizeof(*sched));
    struct tl_error err = {0};
    struct tl_rendering out;

    assert_non_null(sched);
    assert_int_equal(tl__deps_index(&w.deps, &err), 0);
    assert_int_equal(tl__swim_join(lane, &w.deps, NULL, &join, &err), 0);
    assert_int_equal(tl__sched_make(&join, sched, &err), 0);
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__sched_text(&out, sched, "."), 0);
    tl__put(&out, "", 1);
    if (strstr(out.data, want) == NULL)
        fail_msg("no \"%s\" in:\n%s", want, out.data);
    tl__rendering_fini(&out);
    tl__sched_fini(sched);
    free(sched);
    tl__swim_join_fini(&join);
    tl__free(w.deps.edge_pred);
    tl__free(w.deps.edge_succ);
    tl__free(w.deps.by_id);
    w.deps.edge_pred = w.deps.edge_succ = NULL;
    w.deps.by_id = NULL;
}

static void what_no_turn_explains_gets_no_verdict(void **state)
{
    struct tl_swimlane s;

    (void)state;
    (void)make(40000);
    s = read_shifted(TURN - 90000); /* mended: there is a verdict */
    verdict_of(&s, "1. overhead: bad, ");
    tl__swimlane_fini(&s);
    /* A row that ends a little before it starts is no turn. */
    (void)make(40000);
    w.cores[3].end_cycles = w.cores[3].start_cycles - 5;
    s = read_shifted(0);
    assert_false(s.wrapped);
    assert_int_equal(s.backward, 1);
    verdict_of(&s, "1. overhead: time is broken: rows end before they start\n");
    tl__swimlane_fini(&s);
    /* One stamp that is far off: the others are not moved for it. */
    (void)make(40000);
    w.aicpus[3].dispatch_cycles = TURN - 1;
    s = read_shifted(0);
    assert_false(s.wrapped);
    assert_true(s.backward + s.falls > 0);
    verdict_of(&s, "1. overhead: time is broken: ");
    tl__swimlane_fini(&s);
    /* Two new beginnings: 8 rounds of 1.2e9 cycles. */
    (void)make(1200000000);
    s = read_shifted(0);
    assert_false(s.wrapped);
    assert_true(s.falls > 0);
    verdict_of(&s, "1. overhead: time is broken: rows stand far before");
    tl__swimlane_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_turn_is_mended_wherever_it_falls, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_good_recording_is_left_alone, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_no_turn_explains_gets_no_verdict, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
