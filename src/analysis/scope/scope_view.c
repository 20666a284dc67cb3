/* SPDX-License-Identifier: Apache-2.0 */
/* The words that every way of showing has in common. */
#include "analysis/scope/scope_view.h"

#include <inttypes.h>

/* ---- amounts ---- */

static void put_bytes_exact(struct tl_rendering *out, uint64_t bytes)
{
    static const char suffixes[] = {'G', 'M', 'K'};

    for (unsigned i = 0; i < sizeof(suffixes); i++) {
        unsigned shift = 30 - 10 * i;

        if (bytes != 0 && bytes % (UINT64_C(1) << shift) == 0) {
            tl__put_format(out, "%" PRIu64 "%c", bytes >> shift, suffixes[i]);
            return;
        }
    }
    tl__put_u64(out, bytes);
}

/* For reading: exact if that is short, else with one digit behind the point. */
static void put_bytes(struct tl_rendering *out, uint64_t bytes)
{
    if (bytes < 10000 || bytes % (UINT64_C(1) << 30) == 0 ||
        (bytes % (UINT64_C(1) << 20) == 0 && bytes >> 20 < 10000) || (bytes % 1024 == 0 && bytes >> 10 < 10000))
        put_bytes_exact(out, bytes);
    else if (bytes >> 20 < 1)
        tl__put_format(out, "%.1fK", (double)bytes / 0x1p10);
    else if (bytes >> 30 < 1)
        tl__put_format(out, "%.1fM", (double)bytes / 0x1p20);
    else
        tl__put_format(out, "%.1fG", (double)bytes / 0x1p30);
}

void tl__put_ring_amount(struct tl_rendering *out, unsigned resource, uint64_t amount)
{
    if (resource == TL_RING_HEAP)
        put_bytes(out, amount);
    else
        tl__put_u64(out, amount);
}

void tl__put_ring_setting(struct tl_rendering *out, unsigned resource, uint64_t enough)
{
    if (resource == TL_RING_HEAP)
        put_bytes_exact(out, enough);
    else
        tl__put_u64(out, enough);
}

static void put_settings(struct tl_rendering *out, const uint64_t *enough)
{
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        tl__put_format(out, "%s%s ", r > 0 ? " " : "", tl__ring_resource_flag(r));
        tl__put_ring_setting(out, r, enough[r]);
    }
}

/* ---- words ---- */

const char *tl__scope_why(unsigned resource, const struct tl_resource_use *use, enum tl_scope_state state)
{
    if (state == TL_SCOPE_STOPPED && tl__scope_was_full(use))
        return "full where the run stopped: the next size up, which later tasks may exceed";
    if (state == TL_SCOPE_STOPPED)
        return "taken when the run stopped";
    if (state == TL_SCOPE_PARTIAL)
        return "taken as far as it is recorded";
    if (use->size != 0 && use->enough > use->size)
        return "more than it had: in another order a gap lies elsewhere";
    if (use->size != 0 && use->peak >= use->size)
        return "all of it: with more, submission could run further ahead";
    if (use->peak == 0 && use->turned == 0)
        return "nothing was taken: the least possible";
    switch (resource) {
    case TL_RING_TASKS:
        return "peak, as a power of two";
    case TL_RING_HEAP:
        return use->turned > use->peak && use->enough > use->peak + 1023
                   ? "peak + a gap: no buffer crosses the heap's end"
                   : "peak, in steps of 1K";
    default:
        return use->enough == use->peak ? "peak" : "peak + the entry that the pool keeps";
    }
}

/* ---- sentences ---- */

uint64_t tl__scope_rings_used(const struct tl_scope_usage *u)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < u->stats->n_rings; i++)
        used += u->rings[i].used;
    return used;
}

static void put_many(struct tl_rendering *out, uint64_t n, const char *one, const char *more)
{
    tl__put_format(out, "%" PRIu64 " %s", n, n == 1 ? one : more);
}

void tl__put_scope_summary(struct tl_rendering *out, const struct tl_scope_usage *u)
{
    put_many(out, u->n_scopes, "scope", "scopes");
    tl__put_format(out, " on %" PRIu64 " of ", tl__scope_rings_used(u));
    put_many(out, u->stats->n_rings, "ring, ", "rings, ");
    put_many(out, u->stats->boundaries.count, "boundary", "boundaries");
}

bool tl__put_scope_warning(struct tl_rendering *out, const struct tl_scope_usage *u, enum tl_scope_warning warning)
{
    const struct tl_scope_stats *s = u->stats;

    switch (warning) {
    case TL_SCOPE_FATAL:
        if (s->fatal)
            tl__put_str(out, "fatal: the run ended abnormally; the peaks are where it stopped");
        return s->fatal;
    case TL_SCOPE_DROPPED:
        if (s->dropped > 0)
            tl__put_format(out,
                           "dropped: boundaries that the device saw and that are not here: %" PRIu64
                           "; a peak may be higher than it looks",
                           s->dropped);
        return s->dropped > 0;
    case TL_SCOPE_CUT:
        if (s->total == s->boundaries.count || s->total == s->boundaries.count + s->dropped)
            return false;
        tl__put_format(out, "cut: the file says that it has %" PRIu64 " boundaries, and has %" PRIu64, s->total,
                       s->boundaries.count);
        return true;
    case TL_SCOPE_OPEN:
        if (u->open > 0)
            tl__put_format(out,
                           "open: scopes without an end: %" PRIu64 "; each counts up to the last boundary of its ring",
                           u->open);
        return u->open > 0;
    case TL_SCOPE_UNMATCHED:
        if (u->endings > 0)
            tl__put_format(out, "unmatched: ends without a begin before them, left out: %" PRIu64, u->endings);
        return u->endings > 0;
    default:
        if (u->backward > 0)
            tl__put_format(out,
                           "backward: boundaries that stand behind an earlier one: %" PRIu64
                           "; do not trust the peaks of their rings",
                           u->backward);
        return u->backward > 0;
    }
}

enum tl_scope_state tl__scope_state(const struct tl_scope_usage *u)
{
    const struct tl_scope_stats *s = u->stats;

    if (s->fatal)
        return TL_SCOPE_STOPPED;
    return s->dropped > 0 || s->total != s->boundaries.count || u->open > 0 || u->endings > 0 || u->backward > 0
               ? TL_SCOPE_PARTIAL
               : TL_SCOPE_WHOLE;
}

const char *tl__scope_settings_title(const struct tl_scope_usage *u)
{
    static const char *const titles[] = {
        [TL_SCOPE_WHOLE] =
            "enough for this run, whatever the order in which its tasks end; less may do, with more waiting",
        [TL_SCOPE_STOPPED] = "lower bounds, because the run did not end well",
        [TL_SCOPE_PARTIAL] = "lower bounds, because the recording is not whole",
    };

    return titles[tl__scope_state(u)];
}

void tl__put_ring_settings(struct tl_rendering *out, const struct tl_ring_use *ring)
{
    uint64_t enough[TL_RING_RESOURCES];

    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        enough[r] = ring->use[r].enough;
    put_settings(out, enough);
}

bool tl__put_scope_line(struct tl_rendering *out, const struct tl_scope_view *view)
{
    if (tl__scope_state(view->usage) != TL_SCOPE_WHOLE)
        return false;
    tl__put_str(out, "tasklens run PROGRAM ");
    if (view->runtime != NULL)
        tl__put_format(out, "--runtime %s ", view->runtime);
    put_settings(out, view->usage->enough);
    return true;
}

const char *tl__scope_note(const struct tl_scope_usage *u)
{
    switch (tl__scope_state(u)) {
    case TL_SCOPE_STOPPED:
        return "a run that ends well says what is enough; the line with which this one failed says what was missing";
    case TL_SCOPE_PARTIAL:
        return "record the run again: a whole recording says what is enough, and what to type";
    default:
        return tl__scope_rings_used(u) > 1 ? "a flag sets every ring alike" : NULL;
    }
}
