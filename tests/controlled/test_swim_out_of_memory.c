/* SPDX-License-Identifier: Apache-2.0 */
/* A trace with the nth allocation failing, for every n: TL_ENOMEM, nothing leaked, no crash. */
#include "unit/swim_world.h"

#include "analysis/swimlane/swim_summary.h"
#include "base/env_controlled.h"

static struct swim_world w;

struct attempt {
    int code;
    uint64_t events;
};

static int draw(const struct tl_swim_scheds *scheds, struct tl_swim_drawn *drawn)
{
    const struct tl_swim_trace_opts opts = {.overhead = true};
    struct tl_json json;
    int code, end;

    tl__json_init(&json, NULL, NULL);
    code = tl__swim_trace_write(&json, scheds, &opts, drawn);
    end = tl__json_finish(&json);
    return code != 0 ? code : end;
}

static int say(const struct tl_swim_scheds *scheds, const struct tl_swim_drawn *drawn)
{
    const struct tl_swim_summary summary = {
        .scheds = scheds, .drawn = drawn, .dir = "d", .trace = "t", .overhead = true};
    struct tl_rendering out;
    struct tl_json json;
    int code, end;

    tl__rendering_init(&out, NULL, NULL);
    (void)tl__swim_summary_text(&out, &summary);
    code = tl__rendering_end(&out);
    tl__rendering_fini(&out);
    tl__json_init(&json, NULL, NULL);
    tl__swim_summary_json(&json, &summary);
    end = tl__json_finish(&json);
    return code != 0 ? code : end;
}

static void attempt(void *arg)
{
    struct attempt *a = arg;
    struct tl_swim_join join = {0};
    struct tl_swim_scheds scheds = {0};
    struct tl_swim_drawn drawn = {0};
    struct tl_error error;

    a->code = tl__swim_join(&w.lane, &w.deps, &w.names, &join, &error);
    if (a->code == 0)
        a->code = tl__swim_scheds(&join, &scheds);
    if (a->code == 0)
        a->code = draw(&scheds, &drawn);
    if (a->code == 0)
        a->code = say(&scheds, &drawn);
    a->events = drawn.events;
    tl__swim_scheds_fini(&scheds);
    tl__swim_join_fini(&join);
}

static void each_failing_allocation_is_reported(void **state)
{
    static struct tl_controlled_report report;
    struct attempt good = {0};
    unsigned refused = 0;

    (void)state;
    world_everything(&w);
    attempt(&good);
    assert_int_equal(good.code, 0);
    for (unsigned n = 1; n < 1000; n++) {
        struct attempt a = {0};
        char faults[40];
        struct tl_controlled_opts opts = {.faults = faults};

        (void)snprintf(faults, sizeof(faults), "alloc@%u", n);
        if (tl__controlled_run(&opts, attempt, &a, &report) != 0)
            fail_msg("%s: %s", faults, report.text);
        assert_int_equal(report.allocs_live, 0);
        if (a.code != TL_ENOMEM && (a.code != 0 || a.events != good.events))
            fail_msg("%s: %s", faults, tl_errname(a.code));
        refused += a.code == TL_ENOMEM;
        if (report.faults.entries[0].fired == 0) {
            assert_true(refused > 15);
            return;
        }
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_failing_allocation_is_reported)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
