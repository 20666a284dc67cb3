/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time in which any lane is parked, read while lanes come and go: a reader never sees an interval twice or not at all.
 * The watch takes the difference of two looks from the time between them; were it larger, or missing, a run that waits
 * for its host would be declared to hang. (So it was, under seed 99 of test_streams.)
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/env_controlled.h"
#include "wire/parked.h"

#define LANES 3u
#define ROUNDS 12u
#define GRAIN_NS INT64_C(256)
#define STEP_NS INT64_C(4000) /* of virtual time between a clock's reading and the step it is for */

struct scene {
    struct tl_dfx_header dfx;
    tl_au32 running; /* lanes that are not done */
};

static void lane_main(void *arg)
{
    struct scene *s = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        tl__controlled_sleep(1 + tl__controlled_choose(1000000));
        tl__parked_enter(&s->dfx, tl__now_ns());
        tl__controlled_sleep(1 + tl__controlled_choose(3000000));
        tl__parked_leave(&s->dfx, tl__now_ns());
    }
    (void)tl_sub_acq_rel(&s->running, 1u);
}

/* Looks as the watch does. */
static void body(void *arg)
{
    struct scene *s = arg;
    struct tl_thread *threads[LANES];
    uint64_t before_ns = tl__now_ns(), before = 0, intervals = LANES * ROUNDS;

    tl_store_rlx(&s->running, LANES);
    tl__parked_reset(&s->dfx);
    for (unsigned i = 0; i < LANES; i++)
        tl__controlled_check(tl__spawn("tl-lane", lane_main, s, &threads[i]) == 0);
    while (tl_load_acq(&s->running) != 0) {
        uint64_t now = tl__now_ns(), sum = tl__parked_sum(tl_load_rlx(&s->dfx.parked), now);
        int64_t waited = (int64_t)(sum - before), passed = (int64_t)(now - before_ns);

        tl__controlled_check(waited <= passed + (int64_t)intervals * (GRAIN_NS + STEP_NS));
        tl__controlled_check(waited >= -(int64_t)intervals * (GRAIN_NS + STEP_NS));
        before = sum;
        before_ns = now;
        tl__controlled_sleep(1 + tl__controlled_choose(20000));
    }
    for (unsigned i = 0; i < LANES; i++)
        tl__join(threads[i]);
    tl__controlled_check((tl_load_rlx(&s->dfx.parked) & TL__PARKED_COUNT) == 0);
    tl__controlled_check(before <= tl__now_ns());
}

static void parked_time_is_the_union_of_the_waits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct tl_controlled_opts opts = {.seed = seed};
        static struct tl_controlled_report report;
        static struct scene s;

        memset(&s, 0, sizeof(s));
        if (tl__controlled_run(&opts, body, &s, &report) != 0)
            fail_msg("%s", report.text);
    }
}

/* By hand: the union of overlapping intervals, the open one included. */
static void the_union_of_intervals(void **state)
{
    static struct tl_dfx_header dfx;

    (void)state;
    tl__parked_reset(&dfx);
    assert_int_equal(tl__parked_sum(tl_load_rlx(&dfx.parked), 99999), 0);
    tl__parked_enter(&dfx, 256 * 100);
    assert_int_equal(tl__parked_sum(tl_load_rlx(&dfx.parked), 256 * 90), 0); /* a clock read before */
    assert_int_equal(tl__parked_sum(tl_load_rlx(&dfx.parked), 256 * 110), 256 * 10);
    tl__parked_enter(&dfx, 256 * 120);
    tl__parked_leave(&dfx, 256 * 130);
    assert_int_equal(tl__parked_sum(tl_load_rlx(&dfx.parked), 256 * 140), 256 * 40);
    tl__parked_leave(&dfx, 256 * 150);
    assert_int_equal(tl__parked_sum(tl_load_rlx(&dfx.parked), 256 * 1000), 256 * 50);
    tl__parked_enter(&dfx, 256 * 1000);
    assert_int_equal(tl__parked_sum(tl_load_rlx(&dfx.parked), 256 * 1001), 256 * 51);
    tl__parked_leave(&dfx, 256 * 1002);
    assert_int_equal(tl__parked_sum(tl_load_rlx(&dfx.parked), 256 * 2000), 256 * 52);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_union_of_intervals),
        cmocka_unit_test(parked_time_is_the_union_of_the_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
