/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ticks.h"

#if TL_TICKS_TSC
#include <cpuid.h>
#endif

#define RATE_NS UINT64_C(2000000) /* two readings of 50 ns error each then give a rate that is good to 50 ppm */
#define TRIES 5
#define HZ_MIN 500000000.0 /* a counter beyond these is not a time-stamp counter as we know them */
#define HZ_MAX 10000000000.0

static bool has_tsc(void)
{
#if TL_TICKS_TSC
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d >> 8 & 1u) != 0; /* runs at one rate in all states */
#else
    return false;
#endif
}

/* A tick and the time of it: the closest of a few tries. */
static uint64_t moment(const struct tl_clock *c, uint64_t *ret_ns)
{
    uint64_t best = UINT64_MAX, ticks = 0;

    *ret_ns = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t before = tl__now_ns(), at = tl__ticks(c), after = tl__now_ns();

        if (after - before >= best)
            continue;
        best = after - before;
        ticks = at;
        *ret_ns = before + best / 2;
    }
    return ticks;
}

void tl__clock_mark(struct tl_clock *c)
{
    c->tsc = has_tsc();
    c->cycles_per_tick = 0;
    c->mark_ticks = moment(c, &c->mark_ns);
}

static void use_ns(struct tl_clock *c)
{
    c->tsc = false;
    c->mark_ticks = moment(c, &c->mark_ns);
}

/* Ticks a second since the mark; 0: no clock. */
static double rate(const struct tl_clock *c)
{
    uint64_t ns, ticks;

    while (tl__now_ns() - c->mark_ns < RATE_NS)
        tl__relax();
    ticks = moment(c, &ns) - c->mark_ticks;
    return (double)ticks * 1e9 / (double)(ns - c->mark_ns);
}

void tl__clock_ready(struct tl_clock *c, uint64_t hz)
{
    double ticks_per_second = 1e9;

    if (c->cycles_per_tick != 0 && c->hz == hz)
        return;
    if (c->tsc) {
        ticks_per_second = rate(c);
        if (ticks_per_second < HZ_MIN || ticks_per_second > HZ_MAX) {
            use_ns(c);
            ticks_per_second = 1e9;
        }
    }
    c->hz = hz;
    c->cycles_per_tick = (uint64_t)((double)hz / ticks_per_second * 4294967296.0);
    c->mark_cycles = (uint64_t)((unsigned __int128)c->mark_ns * hz / 1000000000u);
}

uint64_t tl__clock_pair(const struct tl_clock *c, uint64_t *ret_before_ns, uint64_t *ret_after_ns)
{
    uint64_t cycles = 0, best = UINT64_MAX;

    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t before = tl__now_ns(), at = tl__clock_cycles(c), after = tl__now_ns();

        if (after - before >= best)
            continue;
        best = after - before;
        cycles = at;
        *ret_before_ns = before;
        *ret_after_ns = after;
    }
    return cycles;
}
