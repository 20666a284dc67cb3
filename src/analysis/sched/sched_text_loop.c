/* SPDX-License-Identifier: Apache-2.0 */
/* The parts about the schedulers themselves: the budget of their loops, and the path that waited for them. */
#include <inttypes.h>

#include "analysis/text/phrases.h"
#include "analysis/path/path_show.h"
#include "analysis/sched/sched_text.h"
#include "base/count_of.h"

/* ---- 5 ---- */

static const uint8_t outer_kinds[] = {TL_PHASE_COMPLETE,
                                      TL_PHASE_ASYNC_POLL,
                                      TL_PHASE_DISPATCH,
                                      TL_PHASE_RELEASE,
                                      TL_PHASE_DUMMY,
                                      TL_PHASE_EARLY_DISPATCH,
                                      TL_PHASE_DRAIN,
                                      TL_PHASE_SCAN,
                                      TL_PHASE_POLL,
                                      TL_PHASE_GRAPH_PREPARE,
                                      TL_PHASE_RESOLVE_STANDALONE,
                                      TL_PHASE_BOOTSTRAP,
                                      TL_PHASE_STATE_PROBE,
                                      TL_PHASE_WORKSTEAL,
                                      TL_PHASE_REFILL,
                                      TL_PHASE_OTHER};
static const uint8_t inner_kinds[] = {TL_PHASE_RESOLVE, TL_PHASE_DRAIN_PREPARE, TL_PHASE_DRAIN_PUBLISH,
                                      TL_PHASE_OTHER_INNER};
#define OUTER (COUNT_OF(outer_kinds))
#define INNER (COUNT_OF(inner_kinds))

static void time_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_sched *s = ctx;
    const struct tl_sched_loop *l = &s->loops.list[number];

    tl__sched_count_cell(row, l->thread);
    tl__sched_us_cell(row, l->wall_ns);
    for (size_t k = 0; k < OUTER; k++) {
        if (l->kind_count[outer_kinds[k]] > 0)
            tl__put_us(&row->text, l->kind_ns[outer_kinds[k]]);
        tl__cell_end(row);
    }
    tl__sched_us_cell(row, l->idle_ns);
    tl__sched_share_cell(row, l->idle_ns, l->wall_ns);
    if (l->rendered_ns + l->idle_ns == l->wall_ns)
        tl__sched_text_cell(row, "yes");
    else
        tl__sched_text_cell(row, "NO");
}

static int put_times(struct tl_rendering *out, const struct tl_sched *s)
{
    struct tl_column columns[OUTER + 5] = {{"thread", true, false}, {"wall us", true, false}};

    for (size_t k = 0; k < OUTER; k++)
        columns[2 + k] = (struct tl_column){tl__phase_name(outer_kinds[k]), true, true};
    columns[OUTER + 2] = (struct tl_column){"idle", true, false};
    columns[OUTER + 3] = (struct tl_column){"idle share", true, false};
    columns[OUTER + 4] = (struct tl_column){"sums to the wall", false, false};
    return tl__table_put(out, columns, OUTER + 5, s->loops.count, time_row, (void *)(uintptr_t)s);
}

static void work_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_sched *s = ctx;
    const struct tl_sched_loop *l = &s->loops.list[number];

    tl__sched_count_cell(row, l->thread);
    tl__sched_count_cell(row, l->iterations);
    tl__sched_count_cell(row, l->dispatches);
    tl__sched_count_cell(row, l->dispatched);
    if (l->dispatches > 0)
        tl__put_format(&row->text, "%.2f", (double)l->dispatched / (double)l->dispatches);
    tl__cell_end(row);
    tl__sched_count_cell(row, l->pop_hit);
    tl__sched_count_cell(row, l->pop_miss);
    for (size_t k = 0; k < INNER; k++) {
        if (l->kind_count[inner_kinds[k]] > 0)
            tl__put_us(&row->text, l->kind_ns[inner_kinds[k]]);
        tl__cell_end(row);
    }
    for (unsigned kind = TL_PHASE_DUMMY_TASK; kind <= TL_PHASE_PREDICATED_SKIP; kind++) {
        if (l->kind_count[kind] > 0)
            tl__put_u64(&row->text, l->kind_count[kind]);
        tl__cell_end(row);
    }
}

static int put_work(struct tl_rendering *out, const struct tl_sched *s)
{
    static const struct tl_column columns[] = {
        {"thread", true, false},          {"iterations", true, false},        {"dispatches", true, false},
        {"tasks", true, false},           {"tasks each", true, false},        {"pop hits", true, false},
        {"pop misses", true, false},      {"within: resolve us", true, true}, {"drain_prepare us", true, true},
        {"drain_publish us", true, true}, {"dummy tasks", true, true},        {"skipped tasks", true, true}};

    return tl__table_put(out, columns, 12, s->loops.count, work_row, (void *)(uintptr_t)s);
}

int tl__sched_text_loops(struct tl_rendering *out, const struct tl_sched *s)
{
    uint64_t overlapping = 0;
    int r;

    if (!tl__sched_begin(out, s, TL_SCHED_LOOP))
        return 0;
    for (uint32_t i = 0; i < s->loops.count; i++)
        overlapping += s->loops.list[i].rendered_ns + s->loops.list[i].idle_ns != s->loops.list[i].wall_ns;
    tl__put_str(
        out,
        "per scheduler thread, in us, from its first phase to the end of its last; idle is what no phase covers\n");
    r = put_times(out, s);
    if (r == 0)
        r = put_work(out, s);
    if (overlapping > 0)
        tl__put_format(
            out, "note: on %" PRIu64 " of %" PRIu32 " threads phases overlap: their times do not add up to the wall\n",
            overlapping, s->loops.count);
    if (s->join->lane->unknown_kinds > 0)
        tl__put_format(out, "note: %" PRIu64 " phases of a kind unknown here, such as \"%s\", count as \"other\"\n",
                       s->join->lane->unknown_kinds, s->join->lane->unknown_kind);
    return r;
}

/* ---- 6 ---- */

static void put_scheduler_split(struct tl_rendering *out, const struct tl_sched *s)
{
    uint64_t whole = s->path.observed.spent_ns[TL_PATH_SCHEDULER];
    const char *lead = "Meanwhile, the scheduler of the waiting core: ";

    if (whole == 0)
        return;
    if (s->join->lane->level >= 2) {
        tl__put_str(out, "Of the scheduler's time, ");
        tl__put_share(out, tl__sched_until_noticed(&s->path), whole);
        tl__put_str(out, " passed until it noticed the end that the next step waited for.\n");
    }
    if (s->loops.count == 0)
        return;
    for (unsigned kind = 0; kind < TL_PHASE_COUNT; kind++) {
        if (s->path_phase_ns[kind] == 0)
            continue;
        tl__put_format(out, "%s%s ", lead, kind == TL_PHASE_IDLE ? "in no phase" : tl__phase_name(kind));
        tl__put_share(out, s->path_phase_ns[kind], whole);
        lead = ", ";
    }
    tl__put_str(out, "\n");
}

int tl__sched_text_path(struct tl_rendering *out, const struct tl_sched *s, const char *dir)
{
    int r;

    if (!tl__sched_begin(out, s, TL_SCHED_PATH))
        return 0;
    tl__put_str(out, "the wall along the observed path, ");
    tl__put_count(out, s->path.observed.count, "step");
    tl__put_format(out, " (`tasklens critical-path %s` lists them)\n", dir);
    r = tl__put_path_kinds(out, &s->path);
    put_scheduler_split(out, s);
    tl__put_str(out, "The static path takes ");
    tl__put_us(out, s->path.chain.length_ns);
    tl__put_str(out, " us, ");
    tl__put_path_static(out, &s->path);
    tl__put_str(out, ".\n");
    tl__put_path_notes(out, &s->path, "note: ");
    return r;
}
