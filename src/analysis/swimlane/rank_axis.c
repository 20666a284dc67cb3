/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/rank_axis.h"

#include "base/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
#define DRIFT_PPM 200u /* that a device's clock may have against its host's, where one anchor has to do */
/* No two clocks of hosts drift faster: a crystal is within 100 parts in a million, and a kernel slews by at most 500.
 */
#define HOST_DRIFT_PPM 1200u

struct moment {
    uint64_t host_ns, cycles, error_ns;
};

/* The surest anchor of each end: the first position of the file, and the others. Number of moments: 0 to 2. */
static unsigned take_anchors(const struct tl_swimlane *lane, struct moment *m)
{
    const struct tl_swim_anchor *best[2] = {NULL, NULL};
    unsigned n = 0;

    for (uint32_t i = 0; i < lane->n_anchors; i++) {
        const struct tl_swim_anchor *a = &lane->anchors[i];
        unsigned end = strcmp(a->position, lane->anchors[0].position) != 0;

        if (a->host_after_ns >= a->host_before_ns && a->host_after_ns <= INT64_MAX / 4 &&
            (best[end] == NULL || a->uncertainty_ns < best[end]->uncertainty_ns))
            best[end] = a;
    }
    for (unsigned i = 0; i < 2; i++)
        if (best[i] != NULL)
            m[n++] = (struct moment){best[i]->host_before_ns + (best[i]->host_after_ns - best[i]->host_before_ns) / 2,
                                     best[i]->device_cycles, best[i]->uncertainty_ns};
    return n;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static uint64_t ns_of(uint64_t cycles, uint64_t freq_hz)
{
    return (uint64_t)((unsigned __int128)cycles * NS_PER_S / (freq_hz != 0 ? freq_hz : 1));
}

/* What both anchors say of the rate, if that is more than they may be off. */
static void mend_rate(struct tl_swim_clock *clock, const struct moment *m)
{
    uint64_t host = m[1].host_ns - m[0].host_ns, cycles = m[1].cycles - m[0].cycles;

    if (m[1].host_ns <= m[0].host_ns || m[1].cycles <= m[0].cycles ||
        apart(host, ns_of(cycles, clock->freq_hz)) <= m[0].error_ns + m[1].error_ns)
        return;
    clock->freq_hz = (uint64_t)(((unsigned __int128)cycles * NS_PER_S + host / 2) / host);
}

static int64_t host_of(const struct tl_swim_clock *clock, const struct moment *m, uint64_t cycles)
{
    uint64_t way = ns_of(apart(cycles, m->cycles), clock->freq_hz);
    int64_t ns = way > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)way;

    return (int64_t)m->host_ns + (cycles >= m->cycles ? ns : -ns);
}

static void by_anchors(const struct tl_swimlane *lane, struct tl_swim_clock *clock, struct tl_rank_place *p)
{
    struct moment m[2];
    unsigned n = take_anchors(lane, m);

    if (n == 0 || clock->freq_hz == 0)
        return;
    if (n == 2)
        mend_rate(clock, m);
    p->anchored = true;
    p->begin_ns = host_of(clock, &m[0], clock->origin_cycles) + clock->first_ps / 1000;
    p->error_ns = n == 2 && m[1].error_ns > m[0].error_ns ? m[1].error_ns : m[0].error_ns;
    p->error_ns += (NS_PER_S + clock->freq_hz - 1) / clock->freq_hz; /* no stamp is finer than a cycle */
    if (n == 1)
        p->error_ns += ns_of(apart(clock->origin_cycles, m[0].cycles), clock->freq_hz) / 1000000 * DRIFT_PPM;
}

/* ---- whether an error bar can be believed ---- */

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* "1.600 ms" */
static const char *time_text(uint64_t ns, char *to, size_t size)
{
    if (ns < 1000000)
        (void)tl__format(to, size, "%.3f us", (double)ns / 1e3);
    else if (ns < NS_PER_S)
        (void)tl__format(to, size, "%.3f ms", (double)ns / 1e6);
    else
        (void)tl__format(to, size, "%.6f s", (double)ns / 1e9);
    return to;
}

/* Offsets are within a quarter of 64 bits (artifact/rank_clock.c), so their difference is in range. */
static bool drifts_too_fast(const struct tl_rank_clock *c, char *why, size_t size)
{
    const struct tl_clock_reading *a = &c->begin, *b = &c->end;
    uint64_t moved = magnitude(b->offset_ns - a->offset_ns), between = apart(a->at_ns, b->at_ns);
    char moved_text[40], between_text[40];

    if (a->answers == 0 || b->answers == 0 ||
        moved <= a->error_ns + b->error_ns + between / 1000000 * HOST_DRIFT_PPM + HOST_DRIFT_PPM)
        return false;
    (void)snprintf(why, size, "its two measurements differ by %s, %s apart; no two clocks drift so fast",
                   time_text(moved, moved_text, sizeof(moved_text)),
                   time_text(between, between_text, sizeof(between_text)));
    return true;
}

static bool against_the_wall(const struct tl_rank_clock *c, const struct tl_rank_clock *r, char *why, size_t size)
{
    char off_text[40];
    uint64_t off, error;

    if (c->unix_ns == 0 || r->unix_ns == 0 || c->unix_error_ns > INT64_MAX / 4 || r->unix_error_ns > INT64_MAX / 4)
        return false;
    off = (c->monotonic_ns - c->unix_ns) - (r->monotonic_ns - r->unix_ns) - (uint64_t)c->offset_ns;
    off = magnitude((int64_t)off);
    /* Wall clocks run on between the two moments at which each host read its own. */
    error =
        c->error_ns + c->unix_error_ns + r->unix_error_ns + apart(c->unix_ns, r->unix_ns) / 1000000 * HOST_DRIFT_PPM;
    if (off <= error)
        return false;
    (void)snprintf(why, size, "the synchronised wall clocks of both hosts contradict it by %s",
                   time_text(off, off_text, sizeof(off_text)));
    return true;
}

bool tl__rank_clock_doubt(const struct tl_rank_clock *c, const struct tl_rank_clock *r, char *why, size_t size)
{
    char off_text[40];
    bool one = r != NULL && c->boot_id[0] != '\0' && strcmp(c->boot_id, r->boot_id) == 0 &&
               strcmp(c->time_ns, r->time_ns) == 0;

    if (c->method == TL_CLOCK_PING && c->error_ns == 0) {
        (void)snprintf(why, size, "it was measured by messages, and no message takes 0 ns");
        return true;
    }
    if (c->method != TL_CLOCK_UNKNOWN && one && magnitude(c->offset_ns) > c->error_ns) {
        (void)snprintf(why, size, "both hosts run on one kernel, and so on one clock; it says they are %s apart",
                       time_text(magnitude(c->offset_ns), off_text, sizeof(off_text)));
        return true;
    }
    if (c->method == TL_CLOCK_PING && drifts_too_fast(c, why, size))
        return true;
    return c->method == TL_CLOCK_PING && r != NULL && !one && against_the_wall(c, r, why, size);
}

/* ---- the places ---- */

void tl__rank_place(const struct tl_swimlane *lane, struct tl_swim_clock *clock, const struct tl_rank_clock *rank_clock,
                    const struct tl_rank_clock *reference, bool alone, struct tl_rank_place *p)
{
    p->anchored = p->known = p->by_clock = false;
    p->begin_ns = p->offset_ps = 0;
    p->error_ns = 0;
    p->method = rank_clock != NULL ? rank_clock->method : TL_CLOCK_UNKNOWN;
    p->why[0] = p->doubt[0] = '\0';
    (void)snprintf(p->domain, sizeof(p->domain), "%s", lane->host_domain);
    by_anchors(lane, clock, p);
    if (!p->anchored) {
        (void)snprintf(p->why, sizeof(p->why), "its recording has no clock anchor");
    } else if (alone) {
        p->known = true;
    } else if (rank_clock == NULL) {
        (void)snprintf(p->why, sizeof(p->why), "it has no " TL_RANK_CLOCK_NAME);
    } else if (p->method == TL_CLOCK_UNKNOWN) {
        (void)snprintf(p->why, sizeof(p->why), "%s",
                       rank_clock->reason[0] != '\0' ? rank_clock->reason : "not measured");
    } else if (lane->host_domain[0] != '\0' && rank_clock->boot_id[0] != '\0' &&
               strcmp(lane->host_domain, rank_clock->boot_id) != 0) {
        (void)snprintf(p->why, sizeof(p->why),
                       "its host_clock_domain_id is %.48s, and its " TL_RANK_CLOCK_NAME
                       " was measured in the boot %.40s",
                       lane->host_domain, rank_clock->boot_id);
    } else {
        p->known = p->by_clock = true;
        p->begin_ns -= rank_clock->offset_ns;
        p->error_ns += rank_clock->error_ns;
        (void)tl__rank_clock_doubt(rank_clock, reference, p->doubt, sizeof(p->doubt));
    }
}

static bool of_one_boot(const struct tl_rank_place *a, const struct tl_rank_place *b)
{
    return a->domain[0] == '\0' || b->domain[0] == '\0' || strcmp(a->domain, b->domain) == 0;
}

/* Whether two have times of one clock. */
static bool comparable(const struct tl_rank_place *a, const struct tl_rank_place *b)
{
    return a == b || (a->known && b->known) ||
           (!a->known && !b->known && a->rank == b->rank && a->seat == b->seat && a->anchored && b->anchored &&
            of_one_boot(a, b));
}

/* Of those that are known by their own clock: another boot than the first one's. */
static void part_boots(struct tl_rank_place *places, uint32_t n)
{
    const struct tl_rank_place *first = NULL;

    for (uint32_t i = 0; i < n; i++) {
        struct tl_rank_place *p = &places[i];

        if (!p->known || p->by_clock || p->domain[0] == '\0')
            continue;
        if (first == NULL)
            first = p;
        if (of_one_boot(first, p))
            continue;
        p->known = false;
        (void)snprintf(p->why, sizeof(p->why),
                       "its host_clock_domain_id is %.48s and the first one's is %.48s: times of two boots are not "
                       "compared",
                       p->domain, first->domain);
    }
}

/* Nobody has a clock.json, and all say that their hosts' clocks are one. */
static void share_domain(struct tl_rank_place *places, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (places[i].known || !places[i].anchored || places[i].method != TL_CLOCK_UNKNOWN ||
            places[i].domain[0] == '\0' || strcmp(places[i].domain, places[0].domain) != 0)
            return;
    for (uint32_t i = 0; i < n; i++) {
        places[i].known = true;
        places[i].method = TL_CLOCK_SAME;
        places[i].why[0] = '\0';
    }
}

/* At most a quarter of what 64 bits hold, 26 days: the recording's own times come on top. */
static int64_t ps_between(int64_t from_ns, int64_t to_ns)
{
    int64_t ns = to_ns - from_ns;

    return ns > INT64_MAX / 4000 ? INT64_MAX / 4 : ns * 1000;
}

void tl__rank_axes(struct tl_rank_place *places, uint32_t n)
{
    part_boots(places, n);
    share_domain(places, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t first = places[i].begin_ns;

        for (uint32_t k = 0; k < n; k++)
            if (comparable(&places[i], &places[k]) && places[k].begin_ns < first)
                first = places[k].begin_ns;
        places[i].offset_ps = ps_between(first, places[i].begin_ns);
    }
}

/* "rank 3", or where it is among nodes. */
static const char *name_of(const struct tl_rank_place *p, char *to, size_t size)
{
    if (p->name[0] != '\0')
        return p->name;
    (void)snprintf(to, size, "rank %" PRIu32, p->rank);
    return to;
}

void tl__rank_order_text(const struct tl_rank_place *a, const struct tl_rank_place *b, char *to)
{
    char between[40], bar[40], one[24], other[24];
    const char *from = name_of(a, one, sizeof(one)), *name = name_of(b, other, sizeof(other));
    uint64_t ns, error = a->error_ns + b->error_ns;
    bool later = b->begin_ns >= a->begin_ns;

    if (!a->known || !b->known) {
        (void)snprintf(to, TL_RANK_ORDER_BYTES, "order of %s and %s not known: their clocks are not%s", from, name,
                       of_one_boot(a, b) || a->by_clock || b->by_clock ? "" : ", and are of two boots");
        return;
    }
    if (a->doubt[0] != '\0' || b->doubt[0] != '\0') {
        const struct tl_rank_place *odd = a->doubt[0] != '\0' ? a : b;

        (void)snprintf(to, TL_RANK_ORDER_BYTES,
                       "order of %s and %s not known: the error bar of %s is not believable: %s", from, name,
                       odd == a ? from : name, odd->doubt);
        return;
    }
    ns = later ? (uint64_t)(b->begin_ns - a->begin_ns) : (uint64_t)(a->begin_ns - b->begin_ns);
    (void)time_text(ns, between, sizeof(between));
    (void)time_text(error, bar, sizeof(bar));
    if (ns > error)
        (void)snprintf(to, TL_RANK_ORDER_BYTES, "%s began %s %s %s (+-%s)", name, between, later ? "after" : "before",
                       from, bar);
    else
        (void)snprintf(to, TL_RANK_ORDER_BYTES, "order of %s and %s not known: %s apart, error %s", from, name, between,
                       bar);
}
