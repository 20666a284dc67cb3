/* SPDX-License-Identifier: Apache-2.0 */
#include "host/rank_report.h"

#include "base/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define STILL_NS                                                                                                       \
    UINT64_C(1000000000) /* a rank without progress for this long counts as stuck; notes are at most 0.1 s old */
#define MS UINT64_C(1000000)

static const char *const states[] = {
    [TL_RANK_ABSENT] = "absent", [TL_RANK_STARTING] = "starting", [TL_RANK_RUNNING] = "running",
    [TL_RANK_DONE] = "done",     [TL_RANK_FAILED] = "failed",     [TL_RANK_STALLED] = "stalled"};

static uint64_t ago_ms(uint64_t now, uint64_t then)
{
    return now > then ? (now - then) / MS : 0;
}

/* Has not ended, and makes no progress. */
static bool is_still(const struct tl_rank_view *r, uint64_t now)
{
    const struct tl_rank_note *n = &r->note;

    return n->state == TL_RANK_STALLED || n->state == TL_RANK_ABSENT ||
           (n->state <= TL_RANK_RUNNING && now > n->still_ns && now - n->still_ns >= STILL_NS);
}

/* A rank's progress as one number that only grows. */
static bool is_behind(const struct tl_rank_note *a, const struct tl_rank_note *b)
{
    if (b->state == TL_RANK_DONE || a->state == TL_RANK_DONE)
        return b->state == TL_RANK_DONE && a->state != TL_RANK_DONE;
    return a->dispatch != b->dispatch ? a->dispatch < b->dispatch : a->retired < b->retired;
}

/* The rank that is behind all others, if it is one alone. */
static uint32_t find_behind(const struct tl_rank_view *ranks, uint32_t n)
{
    uint32_t least = 0;

    for (uint32_t i = 1; i < n; i++)
        if (is_behind(&ranks[i].note, &ranks[least].note))
            least = i;
    for (uint32_t i = 0; i < n; i++)
        if (i != least && !is_behind(&ranks[least].note, &ranks[i].note))
            return TL_RANK_NONE;
    return least;
}

uint32_t tl__rank_odd_one(const struct tl_rank_view *ranks, uint32_t n, uint64_t now, const char **ret_why)
{
    uint32_t gone = 0, still = 0, one_gone = 0, one_still = 0, behind;

    for (uint32_t i = 0; i < n; i++) {
        if (ranks[i].gone) {
            gone++;
            one_gone = i;
        }
        if (is_still(&ranks[i], now)) {
            still++;
            one_still = i;
        }
    }
    *ret_why = "its process has ended, the others run";
    if (n > 1 && gone == 1)
        return one_gone;
    *ret_why = ranks[one_still].note.state == TL_RANK_ABSENT ? "it did not start" : "the only one without progress";
    if (n > 1 && still == 1)
        return one_still;
    behind = n > 1 ? find_behind(ranks, n) : TL_RANK_NONE;
    *ret_why = "it is behind all others";
    if (behind != TL_RANK_NONE)
        return behind;
    *ret_why = n == 1       ? "there is no other rank"
               : still == 0 ? "all of them move"
                            : "several make no progress, and none is behind all others";
    return TL_RANK_NONE;
}

struct text {
    char at[900];
    size_t used;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = tl__vformat(t->at + t->used, sizeof(t->at) - t->used, format, ap);
    va_end(ap);
    if (n > 0)
        t->used += (size_t)n < sizeof(t->at) - t->used ? (size_t)n : sizeof(t->at) - t->used - 1;
}

static void put_rank(struct text *t, uint32_t rank, const struct tl_rank_view *r, uint64_t now)
{
    const struct tl_rank_note *n = &r->note;
    bool at_it = n->state == TL_RANK_RUNNING || n->state == TL_RANK_STALLED;

    put(t, "  rank %" PRIu32 ": ", rank);
    if (n->state == TL_RANK_ABSENT) {
        put(t, "its process has not started");
        return;
    }
    put(t, "%s%s, dispatch %" PRIu64 ", %" PRIu64 " of %" PRIu64 " tasks finished",
        r->gone ? "its process ended while " : "", states[n->state <= TL_RANK_STALLED ? n->state : 0], n->dispatch,
        n->retired, n->submitted);
    if (n->last_task != 0)
        put(t, ", last r%" PRIu64 "t%" PRIu64 " %" PRIu64 " ms ago", (n->last_task - 1) >> 32,
            (n->last_task - 1) & UINT32_MAX, ago_ms(now, n->last_ns));
    if (at_it && n->waits[0] != '\0')
        put(t, "; has waited %" PRIu64 " ms for: %s", ago_ms(now, n->still_ns), n->waits);
    else if (at_it && is_still(r, now))
        put(t, "; no progress for %" PRIu64 " ms, the cause is not known", ago_ms(now, n->still_ns));
    else if (at_it)
        put(t, "; it moves");
}

void tl__rank_report(const struct tl_rank_view *ranks, uint32_t n, uint64_t now,
                     void (*line)(void *ctx, const char *text), void *ctx)
{
    const char *why;
    uint32_t odd = tl__rank_odd_one(ranks, n, now, &why);

    for (uint32_t i = 0; i < n; i++) {
        struct text t = {.used = 0};

        put_rank(&t, i, &ranks[i], now);
        line(ctx, t.at);
    }
    if (n > 1) {
        struct text t = {.used = 0};

        if (odd != TL_RANK_NONE)
            put(&t, "  look at rank %" PRIu32 " first: %s", odd, why);
        else
            put(&t, "  no rank is the clear cause: %s", why);
        line(ctx, t.at);
    }
}
