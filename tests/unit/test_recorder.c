/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A role's lanes as one object: which streams it has by the launch, end marks on every lane, and a role that is held up
 * by one lane while another one's time comes.
 */
#include "device/recorder.h"

#include "base/env_controlled.h"
#include "support/stream_records.h"

#define SECOND UINT64_C(1000000000)

static struct tl_launch launch_of(uint64_t dfx)
{
    return (struct tl_launch){.magic = TL_LAUNCH_MAGIC,
                              .version = TL_LAUNCH_VERSION,
                              .epoch = 1,
                              .dfx = dfx,
                              .schedulers = STREAM_SCHEDULERS,
                              .clusters = STREAM_CLUSTERS,
                              .levels = {[TL_COLLECT_DUMP] = 2,
                                         [TL_COLLECT_SWIMLANE] = 4,
                                         [TL_COLLECT_PMU] = 2,
                                         [TL_COLLECT_DEPS] = 1,
                                         [TL_COLLECT_SCOPE] = 1,
                                         [TL_COLLECT_TRAFFIC] = 1}};
}

static int begin(struct fake_world *w, const struct tl_launch *l, uint32_t streams, uint32_t role,
                 struct tl_recorder *ret)
{
    return tl__recorder_begin(ret, &w->chip.mem, w->chip.bells, l, streams, role);
}

/* Each level of each diagnostic turns on the streams that it has, for those who write them. */
static void a_level_turns_on_the_streams_that_it_has(void **state)
{
    struct tl_launch l = {.epoch = 0};

    (void)state;
    assert_int_equal(tl__streams_on(l.levels, TL_WRITER_SCHEDULER) | tl__streams_on(l.levels, TL_WRITER_ORCHESTRATOR),
                     0);
    for (uint32_t level = 1; level <= 4; level++) {
        l = (struct tl_launch){.levels = {[TL_COLLECT_SWIMLANE] = (int32_t)level}};
        assert_int_equal(tl__streams_on(l.levels, TL_WRITER_SCHEDULER),
                         1u << TL_STREAM_SUBTASKS | (level >= 3 ? 1u << TL_STREAM_PHASES : 0u));
        assert_int_equal(tl__streams_on(l.levels, TL_WRITER_ORCHESTRATOR), level == 4 ? 1u << TL_STREAM_SUBMITS : 0u);
    }
    l = launch_of(0);
    for (size_t i = 0; i < STREAM_ROWS; i++) {
        uint32_t streams = stream_rows[i].by_orchestrator ? tl__streams_on(l.levels, TL_WRITER_ORCHESTRATOR)
                                                          : tl__streams_on(l.levels, TL_WRITER_SCHEDULER);

        assert_true((streams >> stream_rows[i].stream & 1u) != 0);
    }
    assert_int_equal(tl__streams_on(l.levels, TL_WRITER_SCHEDULER) & tl__streams_on(l.levels, TL_WRITER_ORCHESTRATOR),
                     0);
}

static void end_marks_on_every_lane(void **state)
{
    struct tl_run_config c = stream_config(fresh_dir());
    struct tl_recorder r[STREAM_SCHEDULERS + 1];
    struct tl_run_result result = {0};
    uint64_t expected[TL_STREAM_COUNT] = {0};
    struct tl_error err = {0};
    struct tl_launch l;
    struct fake_world w;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    l = launch_of(stream_begin(&w, &c));
    for (uint32_t role = 0; role < STREAM_SCHEDULERS; role++)
        assert_int_equal(begin(&w, &l, tl__streams_on(l.levels, TL_WRITER_SCHEDULER), role, &r[role]), 0);
    assert_int_equal(begin(&w, &l, tl__streams_on(l.levels, TL_WRITER_ORCHESTRATOR), 0, &r[STREAM_SCHEDULERS]), 0);
    for (uint32_t i = 0; i <= STREAM_SCHEDULERS; i++) {
        assert_int_equal(r[i].on, i < STREAM_SCHEDULERS ? tl__streams_on(l.levels, TL_WRITER_SCHEDULER)
                                                        : tl__streams_on(l.levels, TL_WRITER_ORCHESTRATOR));
        assert_false(tl__recorder_waits(&r[i]));
        assert_true(tl__recorder_deadline(&r[i]) == TL_FOREVER);
        /* Nobody's marks but its own: the run is not over before the last of them. */
        assert_int_equal(tl__engine_quiesce(w.engine, 1, tl__now_ns() + 1000000), TL_ETIMEDOUT);
        while (tl__recorder_end(&r[i]) == TL_EAGAIN)
            tl__relax();
        assert_int_equal(r[i].ended, r[i].on);
        assert_int_equal(tl__recorder_end(&r[i]), 0); /* again: there is nothing left to end */
    }
    assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
    if (tl__engine_export(w.engine, 1, expected, &result, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(result.records_attempted, 0);
    fake_world_fini(&w);
}

static void what_is_not_there(void **state)
{
    struct tl_run_config c = stream_config(fresh_dir());
    struct tl_recorder r;
    struct tl_launch l;
    struct fake_world w;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    l = launch_of(stream_begin(&w, &c));
    assert_int_equal(begin(&w, &l, tl__streams_on(l.levels, TL_WRITER_SCHEDULER), STREAM_SCHEDULERS, &r), TL_ECORRUPT);
    assert_int_equal(begin(&w, &l, tl__streams_on(l.levels, TL_WRITER_ORCHESTRATOR), 1, &r), TL_ECORRUPT);
    assert_int_equal(begin(&w, &l, 0, 0, &r), 0);
    assert_int_equal(r.on, 0);
    l.dfx = 0; /* no diagnostic in this run */
    assert_int_equal(begin(&w, &l, tl__streams_on(l.levels, TL_WRITER_SCHEDULER), 0, &r), 0);
    assert_int_equal(r.on, 0);
    assert_int_equal(tl__recorder_end(&r), 0);
    tl__engine_abandon(w.engine, 1);
    fake_world_fini(&w);
}

#ifdef TASKLENS_CONTROLLED
/* Until it is parked. */
static void fill(struct tl_producer *p)
{
    uint64_t offset;
    void *payload;

    while (tl__producer_reserve(p, 0, &payload, &offset) == 0)
        tl__producer_commit(p, 0);
}

/* Two lanes of one role are parked one after the other, and only the second is asked again. */
static void held_up(void *arg)
{
    static const struct tl_run_config *config;
    struct tl_recorder r;
    struct tl_launch l;
    struct fake_world w;
    uint64_t rounds = 0, until;

    config = arg;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    l = launch_of(stream_begin(&w, config));
    tl__controlled_freeze("host", TL_FOREVER);
    tl__controlled_check(begin(&w, &l, tl__streams_on(l.levels, TL_WRITER_SCHEDULER), 0, &r) == 0);
    fill(&r.producer[TL_STREAM_SUBTASKS]);
    tl__controlled_sleep(SECOND);
    fill(&r.producer[TL_STREAM_PHASES]);
    tl__controlled_check(tl__recorder_waits(&r));
    until = tl__now_ns() + 25 * SECOND;
    while (!r.producer[TL_STREAM_PHASES].given_up) {
        const uint64_t deadline = tl__recorder_deadline(&r);
        uint64_t offset;
        void *payload;

        tl__controlled_check(deadline > tl__now_ns() && deadline < until + 10 * SECOND);
        tl__controlled_sleep(deadline - tl__now_ns());
        (void)tl__producer_reserve(&r.producer[TL_STREAM_PHASES], 0, &payload, &offset);
        rounds++;
    }
    tl__controlled_check(rounds <= 3 && tl__now_ns() >= until);
    tl__controlled_check(r.producer[TL_STREAM_SUBTASKS].given_up); /* seen to on the way */
    tl__controlled_kill("host");
}

static void a_lane_whose_role_is_held_up(void **state)
{
    struct tl_run_config config = stream_config(fresh_dir());
    struct tl_controlled_opts opts = {.seed = 1, .stack_bytes = 1 << 20};
    static struct tl_controlled_report report;

    (void)state;
    if (tl__controlled_run(&opts, held_up, &config, &report) != 0)
        fail_msg("%s", report.text);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_turns_on_the_streams_that_it_has),
        cmocka_unit_test(end_marks_on_every_lane),
        cmocka_unit_test(what_is_not_there),
#ifdef TASKLENS_CONTROLLED
        cmocka_unit_test(a_lane_whose_role_is_held_up),
#endif
    };

    return fake_main("recorder", tests, sizeof(tests) / sizeof(tests[0]));
}
