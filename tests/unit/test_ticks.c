/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of records: it goes forward, at its rate, from the monotonic clock's zero; and in virtual time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/env_controlled.h"
#include "base/ticks.h"

#define RATE_PPM 200
#define MS UINT64_C(1000000)

static void wait_ns(uint64_t ns)
{
    tl_au32 word = 0;
    const uint64_t until = tl__now_ns() + ns;

    while (tl__now_ns() < until)
        (void)tl__park(&word, 0, until);
}

/* Cycles as ns, rounded down. */
static uint64_t ns_of(uint64_t cycles, uint64_t hz)
{
    return (uint64_t)((unsigned __int128)cycles * 1000000000u / hz);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* One moment on both clocks, and how far apart the two may be. */
struct moment {
    uint64_t ns, cycles_ns, off_ns;
};

static struct moment look(const struct tl_clock *c)
{
    struct moment m;
    uint64_t before, after;

    m.cycles_ns = ns_of(tl__clock_pair(c, &before, &after), c->hz);
    assert_true(after >= before);
    m.ns = before + (after - before) / 2;
    m.off_ns = (after - before + 1) / 2 + 1000000000u / c->hz + 1;
    return m;
}

static void check_rate(uint64_t hz)
{
    struct tl_clock c = {0};
    struct moment first, last;

    tl__clock_mark(&c);
    assert_int_equal(c.cycles_per_tick, 0);
    tl__clock_ready(&c, hz);
    assert_int_equal(c.hz, hz);
    first = look(&c);
    wait_ns(100 * MS);
    last = look(&c);
    assert_true(apart(last.cycles_ns - first.cycles_ns, last.ns - first.ns) <=
                (last.ns - first.ns) * RATE_PPM / 1000000 + first.off_ns + last.off_ns);
    /* And it counts from where the monotonic clock does. */
    assert_true(apart(first.cycles_ns, first.ns) <= first.off_ns + 2000 + 3 * MS * RATE_PPM / 1000000);
}

static void the_clock_goes_at_its_rate(void **state)
{
    static const uint64_t rates[] = {50000000, 1000000000};

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        check_rate(rates[i]);
}

static void the_clock_goes_forward(void **state)
{
    struct tl_clock c = {0};
    uint64_t last = 0;

    (void)state;
    tl__clock_mark(&c);
    tl__clock_ready(&c, 1000000000);
    for (unsigned i = 0; i < 200000; i++) {
        const uint64_t now = tl__clock_cycles(&c);

        assert_true(now >= last);
        last = now;
    }
}

/* Ready again with the same rate changes nothing; with another, the cycles are that clock's. */
static void a_clock_of_another_rate_is_converted(void **state)
{
    struct tl_clock c = {0};
    struct moment slow, fast;
    uint64_t per_tick;

    (void)state;
    tl__clock_mark(&c);
    tl__clock_ready(&c, 1000000000);
    per_tick = c.cycles_per_tick;
    tl__clock_ready(&c, 1000000000);
    assert_int_equal(c.cycles_per_tick, per_tick);
    fast = look(&c);
    tl__clock_ready(&c, 50000000);
    assert_int_equal(c.hz, 50000000);
    slow = look(&c);
    assert_true(slow.cycles_ns + slow.off_ns + 2000 >= fast.cycles_ns);
    assert_true(apart(slow.cycles_ns, slow.ns) <= slow.off_ns + 2000 + (slow.ns - fast.ns + 100 * MS) / 1000);
}

#ifdef TASKLENS_CONTROLLED
static void in_virtual_time(void *arg)
{
    struct tl_clock c = {0};
    uint64_t before, after, from, to;

    (void)arg;
    tl__clock_mark(&c);
    tl__clock_ready(&c, 50000000);
    tl__controlled_check(!c.tsc);
    from = tl__clock_cycles(&c);
    tl__controlled_sleep(30 * UINT64_C(1000000000));
    to = tl__clock_cycles(&c);
    tl__controlled_check(apart(to - from, UINT64_C(1500000000)) < 1000);
    to = tl__clock_pair(&c, &before, &after);
    tl__controlled_check(ns_of(to, 50000000) + 20 + 1000 >= before && ns_of(to, 50000000) <= after + 1000);
}

static void virtual_time_is_its_time(void **state)
{
    struct tl_controlled_opts opts = {.seed = 1};
    static struct tl_controlled_report report;

    (void)state;
    if (tl__controlled_run(&opts, in_virtual_time, NULL, &report) != 0)
        fail_msg("%s", report.text);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_goes_forward),
        cmocka_unit_test(the_clock_goes_at_its_rate),
        cmocka_unit_test(a_clock_of_another_rate_is_converted),
#ifdef TASKLENS_CONTROLLED
        cmocka_unit_test(virtual_time_is_its_time),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
