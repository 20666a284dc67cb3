/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include <tasklens/kernel.h>

#include "analysis/text/phrases.h"
#include "analysis/sched/sched_text.h"
#include "analysis/text/table.h"
#include "base/count_of.h"

static const char *const type_names[2] = {[TL_AIC] = "AIC", [TL_AIV] = "AIV"};

/* Core types that ran something; those that are shown. */
struct types {
    const struct tl_sched *s;
    unsigned list[2], count;
};

static struct types used_types(const struct tl_sched *s)
{
    struct types types = {.s = s};

    for (unsigned type = 0; type < 2; type++)
        if (s->cores[type].used > 0)
            types.list[types.count++] = type;
    return types;
}

/* ---- 1 ---- */

static uint64_t overhead_ns(const struct tl_sched *s, uint64_t cycles)
{
    return tl__path_ns(s->join, cycles);
}

static void overhead_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct types *types = ctx;
    const struct tl_swim_overhead *o = &types->s->overhead;
    uint64_t cycles = number < types->count ? o->overhead[types->list[number]] : o->has;

    tl__sched_text_cell(row, number < types->count ? type_names[types->list[number]] : "either");
    tl__sched_us_cell(row, overhead_ns(types->s, cycles));
    tl__sched_share_cell(row, cycles, o->active);
    tl__sched_share_cell(row, cycles, o->cycles);
}

static int put_overhead(struct tl_rendering *out, const struct tl_sched *s)
{
    static const struct tl_column columns[] = {
        {"cores", false, false}, {"us", true, false}, {"of that time", true, false}, {"of the wall", true, false}};
    struct types types = used_types(s);
    int r;

    if (!tl__sched_begin(out, s, TL_SCHED_OVERHEAD))
        return 0;
    tl__put_format(out, "%s, ", tl__sched_verdict(s));
    tl__put_share(out, s->overhead.has, s->overhead.active);
    tl__put_str(out, " of the ");
    tl__put_us(out, overhead_ns(s, s->overhead.active));
    tl__put_format(out,
                   " us in which a task was ready or on a core (good below %u %%, acceptable below %u %%)\n"
                   "Overhead: time in which a core type had an idle core and a ready task that nobody dispatched.\n",
                   TL_SCHED_GOOD_BELOW, TL_SCHED_BAD_FROM);
    r = tl__table_put(out, columns, 4, types.count + 1, overhead_row, &types);
    tl__put_count(out, s->overhead.late_tasks, "task");
    tl__put_str(out, " dispatched later than ready");
    tl__put_str(out,
                strcmp(tl__sched_verdict(s), "good") == 0
                    ? "\n"
                    : "; more schedulers (--aicpu-threads) or fewer, larger tasks help; part 5 shows their time\n");
    return r;
}

/* ---- 2 ---- */

static void spread_cells(struct tl_row *row, const struct tl_spread *spread)
{
    tl__sched_count_cell(row, spread->count);
    if (spread->count == 0) {
        for (unsigned i = 0; i < 4; i++)
            tl__sched_text_cell(row, "-");
        return;
    }
    tl__sched_us_cell(row, spread->median_ns);
    tl__sched_us_cell(row, spread->p95_ns);
    tl__sched_us_cell(row, spread->max_ns);
    tl__sched_us_cell(row, spread->total_ns);
}

static void switch_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct types *types = ctx;
    unsigned type = types->list[number % types->count];
    bool queued = number >= types->count;

    tl__sched_text_cell(row, type_names[type]);
    tl__sched_text_cell(row, queued ? "next was queued" : "all");
    spread_cells(row, queued ? &types->s->cores[type].queued : &types->s->cores[type].gaps);
}

static int put_switch(struct tl_rendering *out, const struct tl_sched *s)
{
    static const struct tl_column columns[] = {
        {"cores", false, false}, {"gaps", false, false},  {"count", true, false},   {"median us", true, false},
        {"p95 us", true, false}, {"max us", true, false}, {"total us", true, false}};
    struct types types = used_types(s);
    uint64_t overlaps = s->cores[0].overlaps + s->cores[1].overlaps;
    int r;

    if (!tl__sched_begin(out, s, TL_SCHED_SWITCH))
        return 0;
    tl__put_str(out, "from the end of a slice to the start of the next one on the same core\n");
    r = tl__table_put(out, columns, 7, (uint64_t)types.count * (s->join->lane->level >= 2 ? 2 : 1), switch_row, &types);
    if (s->join->lane->level < 2)
        tl__put_str(out, "Which were queued takes dispatch times: --enable-chip-swimlane 2 or more.\n");
    else
        tl__put_str(out,
                    "Queued: the next task was there before the slice ended, so that is what the core itself takes.\n");
    if (overlaps > 0) {
        tl__put_str(out, "note: ");
        tl__put_count(out, overlaps, "slice");
        tl__put_str(out, " begun before the one before it on its core ended: not counted\n");
    }
    return r;
}

/* ---- 3 ---- */

static void head_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct types *types = ctx;
    const struct tl_sched_cores *t = &types->s->cores[types->list[number]];

    tl__sched_text_cell(row, type_names[types->list[number]]);
    tl__sched_count_cell(row, t->used);
    if (t->first_dispatch_ns != TL_SCHED_UNKNOWN)
        tl__put_us(&row->text, t->first_dispatch_ns);
    tl__cell_end(row);
    tl__sched_us_cell(row, t->first_start_ns);
    tl__sched_us_cell(row, t->ramp_end_ns);
    tl__sched_share_cell(row, t->head_idle_ns, (uint64_t)t->used * types->s->wall_ns);
}

static int put_head(struct tl_rendering *out, const struct tl_sched *s)
{
    static const struct tl_column columns[] = {
        {"cores", false, false},         {"used", true, false},           {"first dispatch us", true, true},
        {"first start us", true, false}, {"all running us", true, false}, {"idle, of the cores' time", true, false}};
    struct types types = used_types(s);
    uint64_t first = TL_SCHED_UNKNOWN;

    if (!tl__sched_begin(out, s, TL_SCHED_HEAD))
        return 0;
    for (unsigned i = 0; i < types.count; i++)
        if (s->cores[types.list[i]].first_start_ns < first)
            first = s->cores[types.list[i]].first_start_ns;
    tl__put_us(out, first);
    tl__put_str(out, " us, ");
    tl__put_share(out, first, s->wall_ns);
    tl__put_str(out, " of the wall, until the first core starts\n");
    if (s->submit_end_ns != TL_SCHED_UNKNOWN) {
        tl__put_str(out, "The first submit lasts from ");
        tl__put_us(out, s->submit_start_ns);
        tl__put_str(out, " to ");
        tl__put_us(out, s->submit_end_ns);
        tl__put_str(out, " us.\n");
    } else if (s->join->lane->orch_is_host_clock) {
        tl__put_str(out, "The orchestrator ran on the host, before the device.\n");
    } else {
        tl__put_str(out, "When the first submit was takes --enable-chip-swimlane 4.\n");
    }
    return tl__table_put(out, columns, 6, types.count, head_row, &types);
}

/* ---- 4 ---- */

static void tail_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct types *types = ctx;
    const struct tl_sched_cores *t = &types->s->cores[types->list[number]];
    uint64_t tail = t->last_end_ns - t->first_dry_ns;

    tl__sched_text_cell(row, type_names[types->list[number]]);
    tl__sched_us_cell(row, t->first_dry_ns);
    tl__sched_us_cell(row, t->last_end_ns);
    tl__sched_us_cell(row, tail);
    tl__sched_share_cell(row, tail, types->s->wall_ns);
    tl__sched_share_cell(row, t->tail_idle_ns, tail * t->used);
}

static int put_tail(struct tl_rendering *out, const struct tl_sched *s)
{
    static const struct tl_column columns[] = {{"cores", false, false},      {"first dry us", true, false},
                                               {"last end us", true, false}, {"run dry us", true, false},
                                               {"of the wall", true, false}, {"idle in it", true, false}};
    struct types types = used_types(s);
    uint64_t last =
        s->cores[0].last_end_ns > s->cores[1].last_end_ns ? s->cores[0].last_end_ns : s->cores[1].last_end_ns;

    if (!tl__sched_begin(out, s, TL_SCHED_TAIL))
        return 0;
    tl__put_us(out, s->wall_ns - last);
    tl__put_str(out, " us, ");
    tl__put_share(out, s->wall_ns - last, s->wall_ns);
    tl__put_str(out,
                " of the wall, from the last end on a core to the last thing recorded\n"
                "Before it the cores run dry, one by one: from the first that gets no further task to the last end.\n");
    return tl__table_put(out, columns, 6, types.count, tail_row, &types);
}

int tl__sched_text(struct tl_rendering *out, const struct tl_sched *sched, const char *dir)
{
    int (*const parts[])(struct tl_rendering *, const struct tl_sched *) = {put_overhead, put_switch, put_head,
                                                                            put_tail, tl__sched_text_loops};
    int r = 0;

    tl__put_format(out, "%s: level %" PRIu32 ", wall ", dir, sched->join->lane->level);
    tl__put_us(out, sched->wall_ns);
    tl__put_str(out, " us, ");
    tl__put_count(out, sched->join->n_ran, "slice");
    tl__put_format(out, "; ran on %" PRIu32 " of %" PRIu32 " AIC and %" PRIu32 " of %" PRIu32 " AIV cores\n",
                   sched->cores[TL_AIC].used, sched->cores[TL_AIC].cores, sched->cores[TL_AIV].used,
                   sched->cores[TL_AIV].cores);
    for (size_t i = 0; i < COUNT_OF(parts) && r == 0; i++)
        r = parts[i](out, sched);
    if (r == 0)
        r = tl__sched_text_path(out, sched, dir);
    return r != 0 ? r : out->error;
}
