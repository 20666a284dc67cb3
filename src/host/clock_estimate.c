/* SPDX-License-Identifier: Apache-2.0 */
#include "host/clock_estimate.h"

#include <stdio.h>
#include <string.h>

void tl__clock_read_samples(const struct tl_clock_sample *samples, uint32_t n, uint32_t tries,
                            struct tl_clock_reading *r)
{
    uint64_t best = UINT64_MAX;

    memset(r, 0, sizeof(*r));
    r->tries = tries;
    for (uint32_t i = 0; i < n; i++) {
        const struct tl_clock_sample *s = &samples[i];
        uint64_t way = s->after_ns - s->before_ns;

        if (s->after_ns < s->before_ns)
            continue;
        r->answers++;
        if (way >= best)
            continue;
        best = way;
        r->at_ns = s->before_ns + way / 2;
        r->offset_ns = (int64_t)(r->at_ns - s->other_ns);
        r->error_ns = way - way / 2;
    }
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static uint64_t drift(uint64_t ns)
{
    return ns / 1000000 * TL_CLOCK_DRIFT_PPM + TL_CLOCK_DRIFT_PPM;
}

/* What `r` allows at the times begin_ns to end_ns, as a range. */
static void range_of(const struct tl_clock_reading *r, uint64_t begin_ns, uint64_t end_ns, bool drifts, int64_t *low,
                     int64_t *high)
{
    uint64_t far = apart(r->at_ns, begin_ns), error = r->error_ns;

    if (apart(r->at_ns, end_ns) > far)
        far = apart(r->at_ns, end_ns);
    error += drifts ? drift(far) : 0;
    *low = r->offset_ns - (int64_t)error;
    *high = r->offset_ns + (int64_t)error;
}

static void by_ping(struct tl_rank_clock *c, bool one_kernel, uint64_t begin_ns, uint64_t end_ns)
{
    bool both = c->begin.answers > 0 && c->end.answers > 0;
    int64_t low, high, low2, high2;

    range_of(c->begin.answers > 0 ? &c->begin : &c->end, begin_ns, end_ns, !both && !one_kernel, &low, &high);
    if (both) {
        range_of(&c->end, begin_ns, end_ns, false, &low2, &high2);
        low = low2 < low ? low2 : low;
        high = high2 > high ? high2 : high;
    }
    c->method = TL_CLOCK_PING;
    c->offset_ns = low + (high - low) / 2;
    c->error_ns = (uint64_t)(high - c->offset_ns);
}

static void by_wall(struct tl_rank_clock *c, const struct tl_rank_clock *r, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t far = apart(c->monotonic_ns, begin_ns);

    if (apart(c->monotonic_ns, end_ns) > far)
        far = apart(c->monotonic_ns, end_ns);
    c->method = TL_CLOCK_WALL;
    c->offset_ns = (int64_t)(c->monotonic_ns - c->unix_ns) - (int64_t)(r->monotonic_ns - r->unix_ns);
    c->error_ns = c->unix_error_ns + r->unix_error_ns + drift(far);
}

static bool same_clock(const struct tl_rank_clock *a, const struct tl_rank_clock *b)
{
    return a->boot_id[0] != '\0' && strcmp(a->boot_id, b->boot_id) == 0 && strcmp(a->time_ns, b->time_ns) == 0;
}

void tl__clock_conclude(struct tl_rank_clock *c, const struct tl_rank_clock *reference, uint64_t begin_ns,
                        uint64_t end_ns)
{
    bool one = reference != NULL && same_clock(c, reference);
    const char *unreached = c->begin.tries > 0 ? "the reference rank's host did not answer" : "";

    c->offset_ns = 0;
    c->error_ns = 0;
    c->reason[0] = '\0';
    if (c->begin.answers > 0 || c->end.answers > 0) {
        by_ping(c, one, begin_ns, end_ns);
        if (c->end.answers == 0 && c->end.tries > 0)
            (void)snprintf(c->reason, sizeof(c->reason), "at this rank's end the reference's host had left");
        return;
    }
    (void)snprintf(c->reason, sizeof(c->reason), "%s", unreached);
    if (one) {
        c->method = TL_CLOCK_SAME;
    } else if (reference != NULL && c->unix_error_ns != UINT64_MAX && reference->unix_error_ns != UINT64_MAX) {
        by_wall(c, reference, begin_ns, end_ns);
    } else {
        c->method = TL_CLOCK_UNKNOWN;
        (void)snprintf(c->reason, sizeof(c->reason), "%s, and %s", unreached,
                       reference == NULL ? "it left no " TL_RANK_CLOCK_NAME
                                         : "the wall clocks of the two machines are not both synchronised");
    }
}
