/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/json_head.h"
#include "analysis/swimlane/swim_kernels.h"
#include "analysis/swimlane/swim_summary.h"
#include "base/count_of.h"
#include "base/format.h"
#include "base/task_id.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tasklens/error.h>
#include <tasklens/kernel.h>

static const struct {
    const char *key, *backwards;
} arrows[TL_ARROW_COUNT] = {
#define TL_ARROW_TEXT(arrow, key, name, backwards) [arrow] = {key, backwards},
    TL_ARROW_LIST(TL_ARROW_TEXT)
#undef TL_ARROW_TEXT
};

/* ---- notes: one line each, the same for people and machines ---- */

struct notes {
    struct tl_rendering *out; /* or */
    struct tl_json *json;
};

static void note(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct notes *n, const char *format, ...)
{
    char text[700];
    va_list args;

    va_start(args, format);
    (void)tl__vformat(text, sizeof(text), format, args);
    va_end(args);
    if (n->json != NULL)
        tl__json_string(n->json, text);
    else
        tl__put_format(n->out, "note      %s\n", text);
}

static const char *s(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* What was not recorded, and what records it. */
static void notes_missing(struct notes *n, const struct tl_swim_summary *sum)
{
    const struct tl_swim_join *join = sum->scheds->join;
    const struct tl_swimlane *lane = join->lane;

    if (join->n_tasks == 0 && join->n_slices == 0)
        note(n, "the recording has no task");
    if (join->deps == NULL)
        note(n, "no deps.json: labels are task(r<ring>t<task>) and no arrow says what waited for what; run with "
                "--enable-dep-gen too");
    else if (sum->names_note != NULL)
        note(n, "%s", sum->names_note);
    if (lane->level < 2)
        note(n,
             "level %" PRIu32 " has no dispatch and finish times: no Scheduler View; --enable-chip-swimlane 2 shows it",
             lane->level);
    if (lane->level < 3)
        note(n, "level %" PRIu32 " has no scheduler phases: no AICPU Scheduler; --enable-chip-swimlane 3 shows it",
             lane->level);
    if (lane->level < 4)
        note(n, "level %" PRIu32 " has no submits: no Orchestrator; --enable-chip-swimlane 4 shows it", lane->level);
    if (sum->overhead && !sum->drawn->has_overhead)
        note(n,
             "no overhead counters: they take dispatch times and the graph; run with --enable-chip-swimlane 2 or more "
             "and --enable-dep-gen");
}

static void notes_clock(struct notes *n, const struct tl_swim_clock *clock)
{
    if (clock->orch == TL_SWIM_ORCH_APART)
        note(n,
             "the orchestrator ran by the host's clock and there is no clock anchor: its submits stand at the start, "
             "not at their distance to the device, and have no arrows");
    else if (clock->orch == TL_SWIM_ORCH_PLACED)
        note(n, "the orchestrator ran by the host's clock; clock anchors place it to within %" PRIu64 " ns",
             clock->uncertainty_ns);
}

static void notes_rows(struct notes *n, const struct tl_swim_join *join)
{
    const struct tl_swim_counts *c = &join->counts;
    char id[TL_TASK_BYTES];

    if (join->lane->unknown_kinds > 0)
        note(n, "%" PRIu64 " phase%s of a kind unknown here (the first: \"%s\"): drawn by %s own name",
             join->lane->unknown_kinds, s(join->lane->unknown_kinds), join->lane->unknown_kind,
             join->lane->unknown_kinds == 1 ? "its" : "their");
    if (c->core_alone > 0)
        note(n, "%" PRIu64 " core row%s without an AICPU row of the same core and register: not in the Scheduler View",
             c->core_alone, s(c->core_alone));
    if (c->aicpu_alone > 0)
        note(n,
             "%" PRIu64 " AICPU row%s without a core row: dispatched, never ended on the core; only in the Scheduler "
             "View, as \"never ended\"",
             c->aicpu_alone, s(c->aicpu_alone));
    if (c->running > 0)
        note(n, "%" PRIu64 " kernel%s still ran when the run was given up: drawn to there", c->running, s(c->running));
    if (c->unfinished > c->running)
        note(n, "%" PRIu64 " dispatch%s without a finish: drawn to the kernel's end, or to the recording's",
             c->unfinished - c->running, c->unfinished - c->running == 1 ? "" : "es");
    if (c->same_key > 0)
        note(n, "%" PRIu64 " row%s with the core and register of an earlier row: joined in the file's order",
             c->same_key, s(c->same_key));
    if (c->backward > 0)
        note(n, "%" PRIu64 " row%s before %s: drawn without length, at the start", c->backward,
             c->backward == 1 ? " ends" : "s end", c->backward == 1 ? "its start" : "their start");
    if (join->lane->falls > 0)
        note(n, "%" PRIu64 " row%s far before what came before on the core or in the loop: time is broken there",
             join->lane->falls, join->lane->falls == 1 ? " stands" : "s stand");
    if (join->lane->wrapped)
        note(n, "the device's counter has 32 bits and began again at 0 in this recording: what is behind that is drawn "
                "2^32 cycles later");
    if (c->tasks_reused > 0)
        note(n, "%" PRIu64 " task id%s used again: arrows join the earliest slices", c->tasks_reused,
             c->tasks_reused == 1 ? " was" : "s were");
    if (c->tasks_unlisted > 0)
        note(n, "%" PRIu64 " task%s not in deps.json: is it of the same run?", c->tasks_unlisted,
             c->tasks_unlisted == 1 ? " is" : "s are");
    if (c->tasks_unseen > 0) {
        (void)tl__task_text(id, join->layout, c->first_unseen);
        note(n, "%" PRIu64 " task%s of deps.json never ended, or the record was lost; the first is %s", c->tasks_unseen,
             s(c->tasks_unseen), id);
    }
}

/* What the form of September 2026 says of its own capture. */
static void notes_capture(struct notes *n, const struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;

    for (uint64_t i = 0; i < lane->n_streams; i++) {
        const struct tl_swim_stream *of = &lane->streams[i];

        if (of->dropped > 0 || of->truncated || (of->committed != 0 && of->committed != of->read))
            note(n,
                 "Sched_%" PRIu16 ": its writer committed %" PRIu64 " records and dropped %" PRIu64 "%s; %" PRIu64
                 " stand in the file",
                 of->scheduler_id, of->committed, of->dropped, of->truncated ? ", and was cut short" : "", of->read);
    }
    if (join->n_epochs > 1)
        note(n, "%" PRIu32 " executions of the graph in one file, run_epoch %" PRIu32 " to %" PRIu32, join->n_epochs,
             join->epochs[0], join->epochs[join->n_epochs - 1]);
    if (lane->host_dropped > 0 || (lane->host_status[0] != 0 && strcmp(lane->host_status, "complete") != 0))
        note(n, "the host's capture is \"%s\": %" PRIu64 " of its records were dropped", lane->host_status,
             lane->host_dropped);
    if (lane->n_lifecycles > 0)
        note(n, "%" PRIu64 " control thread%s left a lifecycle record: counted, not drawn", lane->n_lifecycles,
             s(lane->n_lifecycles));
    if (lane->unaligned[0] != 0)
        note(n, "the clocks of host and device could not be aligned: %s", lane->unaligned);
}

static void notes_arrows(struct notes *n, const struct tl_swim_summary *sum)
{
    const struct tl_swim_counts *c = &sum->scheds->join->counts;

    if (c->pairs_without > 0)
        note(n, "%" PRIu64 " dependenc%s on a task without a kernel, such as an allocation: nothing ran, no arrow",
             c->pairs_without, c->pairs_without == 1 ? "y" : "ies");
    if (c->pairs_outside > 0)
        note(n, "%" PRIu64 " dependenc%s with an end that is not in the recording: no arrow", c->pairs_outside,
             c->pairs_outside == 1 ? "y" : "ies");
    if (c->pairs_self > 0)
        note(n, "%" PRIu64 " dependenc%s of a task on itself: no arrow", c->pairs_self,
             c->pairs_self == 1 ? "y" : "ies");
    for (unsigned i = 0; i < TL_ARROW_COUNT; i++)
        if (sum->drawn->backward[i] > 0)
            note(n, "%" PRIu64 " arrow%s left out, running backwards in time: %s", sum->drawn->backward[i],
                 s(sum->drawn->backward[i]), arrows[i].backwards);
    if (sum->drawn->unplaced > 0)
        note(n, "%" PRIu64 " time%s a dispatch or finish falls into no phase of its scheduler: no arrow to it",
             sum->drawn->unplaced, s(sum->drawn->unplaced));
    if (sum->drawn->crowded > 0)
        note(n, "%" PRIu64 " slice%s drawn over another: more at once than a core or scheduler has lanes",
             sum->drawn->crowded, s(sum->drawn->crowded));
}

static void notes_scheds(struct notes *n, const struct tl_swim_scheds *scheds)
{
    for (uint32_t i = 0; i < scheds->count; i++) {
        const struct tl_swim_sched *sched = &scheds->list[i];

        if (sched->overlaps > 0)
            note(n,
                 "Sched_%" PRIu32 ": %" PRIu64 " phase%s begin before the one before has ended; busy and idle do not "
                 "add up there",
                 sched->thread, sched->overlaps, s(sched->overlaps));
        if (sched->stray > 0)
            note(n, "Sched_%" PRIu32 ": %" PRIu64 " inner phase%s in no outer one", sched->thread, sched->stray,
                 s(sched->stray));
    }
}

static void all_notes(struct notes *n, const struct tl_swim_summary *sum)
{
    if (sum->part != NULL)
        note(n, "the trace shows a part: %s", sum->part);
    notes_missing(n, sum);
    notes_clock(n, &sum->scheds->join->clock);
    notes_rows(n, sum->scheds->join);
    notes_capture(n, sum->scheds->join);
    notes_arrows(n, sum);
    notes_scheds(n, sum->scheds);
}

/* ---- numbers ---- */

static uint32_t cores_used(const struct tl_swim_join *join)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < join->n_slices; i++)
        used += i == 0 || join->slices[i].core != join->slices[i - 1].core;
    return used;
}

/* From the first event to the last, the orchestrator's included. */
static int64_t wall_ps(const struct tl_swim_join *join)
{
    int64_t last = tl__swim_ps(&join->clock, join->end);

    for (uint64_t i = 0; i < join->lane->n_orchs && join->lane->orch_is_host_clock; i++) {
        int64_t end = tl__swim_orch_ps(&join->clock, join->lane->orchs[i].end_cycles);

        if (end > last)
            last = end;
    }
    return last - join->clock.first_ps;
}

#define TIME_BYTES 32

/* "0.619 us", "103.450 ms", "2.500 s" */
static const char *time_text(int64_t ps, char *to)
{
    const char *unit = ps < 1000000000 ? "us" : ps < 1000000000000 ? "ms" : "s";
    double in = ps < 1000000000 ? 1e6 : ps < 1000000000000 ? 1e9 : 1e12;

    (void)tl__format(to, TIME_BYTES, "%.3f %s", (double)ps / in, unit);
    return to;
}

static const char *cycles_text(const struct tl_swim_join *join, uint64_t cycles, char *to)
{
    return time_text(tl__swim_ps(&join->clock, cycles), to);
}

static double percent(uint64_t part, uint64_t of)
{
    return of == 0 ? 0 : 100.0 * (double)part / (double)of;
}

/* ---- for people ---- */

static void put_merged(struct tl_rendering *out, const struct tl_swim_summary *sum)
{
    const struct tl_swim_join *join = sum->scheds->join;
    const struct tl_swim_drawn *d = sum->drawn;
    char wall[TIME_BYTES];

    tl__put_format(out, "recording %s: level %" PRIu32 ", %" PRIu32 " task%s on %" PRIu32 " of %" PRIu32 " cores, %s\n",
                   sum->dir, join->lane->level, join->n_tasks, s(join->n_tasks), cores_used(join),
                   join->lane->num_cores, time_text(wall_ps(join), wall));
    tl__put_format(out,
                   "merged    %" PRIu64 " slice%s in the Worker View, %" PRIu64 " in the Scheduler View, %" PRIu64
                   " scheduler phase%s, %" PRIu64 " submit%s\n",
                   d->worker_slices, s(d->worker_slices), d->sched_slices, d->phases, s(d->phases), d->submits,
                   s(d->submits));
    if (join->deps != NULL)
        tl__put_format(out,
                       "arrows    %" PRIu64 " dependenc%s: %" PRIu64 " arrow%s in the Worker View, %" PRIu64
                       " in the Scheduler View\n",
                       join->counts.pairs, join->counts.pairs == 1 ? "y" : "ies", d->arrows[TL_ARROW_WORKER],
                       s(d->arrows[TL_ARROW_WORKER]), d->arrows[TL_ARROW_SCHED]);
    if (join->lane->level >= 3)
        tl__put_format(out,
                       "arrows    %" PRIu64 " scheduler to core, %" PRIu64 " core to scheduler, %" PRIu64
                       " last producer to dispatch, %" PRIu64 " submit to dispatch\n",
                       d->arrows[TL_ARROW_DISPATCH], d->arrows[TL_ARROW_COMPLETE], d->arrows[TL_ARROW_READY],
                       d->arrows[TL_ARROW_SUBMIT]);
}

static void put_scheds(struct tl_rendering *out, const struct tl_swim_scheds *scheds)
{
    for (uint32_t i = 0; i < scheds->count; i++) {
        const struct tl_swim_sched *sched = &scheds->list[i];
        char busy[TIME_BYTES], idle[TIME_BYTES], wall[TIME_BYTES];

        tl__put_format(out, "Sched_%-3" PRIu32 " %" PRIu32 " phase%s: busy %s, idle %s of %s\n", sched->thread,
                       sched->outer_count, s(sched->outer_count), cycles_text(scheds->join, sched->busy, busy),
                       cycles_text(scheds->join, sched->idle, idle),
                       cycles_text(scheds->join, sched->end - sched->start, wall));
    }
}

static void put_overhead(struct tl_rendering *out, const struct tl_swim_summary *sum)
{
    static const char *const names[] = {[TL_AIC] = "AIC", [TL_AIV] = "AIV"};
    const struct tl_swim_overhead *o = &sum->drawn->overhead;
    const struct tl_swim_join *join = sum->scheds->join;
    char text[TIME_BYTES], wall[TIME_BYTES];

    if (!sum->drawn->has_overhead)
        return;
    for (unsigned type = 0; type < 2; type++)
        if (o->cores[type] > 0)
            tl__put_format(out, "overhead  an %s core idle and a ready task not dispatched: %s of %s (%.1f %%)\n",
                           names[type], cycles_text(join, o->overhead[type], text), cycles_text(join, o->active, wall),
                           percent(o->overhead[type], o->active));
    tl__put_format(out,
                   "overhead  %" PRIu64
                   " task%s dispatched later than ready; shares are of the time in which a task was "
                   "ready or on a core\n",
                   o->late_tasks, s(o->late_tasks));
}

int tl__swim_summary_text(struct tl_rendering *out, const struct tl_swim_summary *summary)
{
    struct notes notes = {.out = out};
    int code;

    put_merged(out, summary);
    put_scheds(out, summary->scheds);
    put_overhead(out, summary);
    all_notes(&notes, summary);
    code = tl__swim_kernels_text(out, summary->scheds->join);
    if (code != 0)
        return code;
    tl__put_format(out, "open      in https://ui.perfetto.dev or chrome://tracing\n%s\n", summary->trace);
    return out->error;
}

/* ---- for machines ---- */

static void json_ns(struct tl_json *json, const char *key, int64_t ps)
{
    tl__json_member_i64(json, key, (ps + (ps < 0 ? -500 : 500)) / 1000);
}

static void json_rows(struct tl_json *json, const struct tl_swim_counts *c)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"joined", c->joined},
        {"core_without_aicpu", c->core_alone},
        {"aicpu_without_core", c->aicpu_alone},
        {"same_key", c->same_key},
        {"backward", c->backward},
        {"without_finish", c->unfinished},
        {"tasks_reused", c->tasks_reused},
        {"tasks_not_in_deps", c->tasks_unlisted},
        {"deps_tasks_without_rows", c->tasks_unseen},
        {"dependencies", c->pairs},
        {"dependencies_outside", c->pairs_outside},
        {"dependencies_without_kernel", c->pairs_without},
        {"dependencies_on_itself", c->pairs_self},
    };

    tl__json_member_object(json, "rows", TL_JSON_BLOCK);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tl__json_member_u64(json, rows[i].key, rows[i].value);
    tl__json_object_end(json);
}

static void json_arrows(struct tl_json *json, const char *key, const uint64_t *counts)
{
    tl__json_member_object(json, key, TL_JSON_LINE);
    for (unsigned i = 0; i < TL_ARROW_COUNT; i++)
        tl__json_member_u64(json, arrows[i].key, counts[i]);
    tl__json_object_end(json);
}

static void json_scheds(struct tl_json *json, const struct tl_swim_scheds *scheds)
{
    const struct tl_swim_clock *clock = &scheds->join->clock;

    tl__json_member_array(json, "schedulers", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < scheds->count; i++) {
        const struct tl_swim_sched *sched = &scheds->list[i];

        tl__json_object_begin(json, TL_JSON_LINE);
        tl__json_member_u64(json, "thread", sched->thread);
        tl__json_member_u64(json, "phases", sched->outer_count);
        json_ns(json, "busy_ns", tl__swim_ps(clock, sched->busy));
        json_ns(json, "idle_ns", tl__swim_ps(clock, sched->idle));
        json_ns(json, "wall_ns", tl__swim_ps(clock, sched->end - sched->start));
        tl__json_member_u64(json, "overlaps", sched->overlaps);
        tl__json_member_u64(json, "inner_in_no_outer", sched->stray);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
}

static void json_overhead(struct tl_json *json, const struct tl_swim_summary *sum)
{
    const struct tl_swim_clock *clock = &sum->scheds->join->clock;
    const struct tl_swim_overhead *o = &sum->drawn->overhead;

    tl__json_key(json, "overhead");
    if (!sum->drawn->has_overhead) {
        tl__json_null(json);
        return;
    }
    tl__json_object_begin(json, TL_JSON_LINE);
    json_ns(json, "aic_ns", tl__swim_ps(clock, o->overhead[TL_AIC]));
    json_ns(json, "aiv_ns", tl__swim_ps(clock, o->overhead[TL_AIV]));
    json_ns(json, "all_ns", tl__swim_ps(clock, o->all));
    json_ns(json, "has_ns", tl__swim_ps(clock, o->has));
    json_ns(json, "of_ns", tl__swim_ps(clock, o->active));
    tl__json_member_u64(json, "late_tasks", o->late_tasks);
    tl__json_object_end(json);
}

void tl__swim_summary_json(struct tl_json *json, const struct tl_swim_summary *summary)
{
    const struct tl_swim_join *join = summary->scheds->join;
    const struct tl_swim_drawn *d = summary->drawn;
    struct notes notes = {.json = json};

    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "swimlane", "recording", summary->dir);
    tl__json_member_string(json, "trace", summary->trace);
    tl__json_member_u64(json, "level", join->lane->level);
    tl__json_member_u64(json, "clock_freq_hz", join->lane->clock_freq_hz);
    json_ns(json, "wall_ns", wall_ps(join));
    tl__json_member_u64(json, "tasks", join->n_tasks);
    tl__json_member_u64(json, "cores", join->lane->num_cores);
    tl__json_member_u64(json, "cores_used", cores_used(join));
    tl__json_member_u64(json, "worker_slices", d->worker_slices);
    tl__json_member_u64(json, "scheduler_slices", d->sched_slices);
    tl__json_member_u64(json, "phases", d->phases);
    tl__json_member_u64(json, "submits", d->submits);
    tl__json_member_u64(json, "events", d->events);
    json_rows(json, &join->counts);
    json_arrows(json, "arrows", d->arrows);
    json_arrows(json, "arrows_backward", d->backward);
    tl__json_member_u64(json, "unplaced", d->unplaced);
    tl__json_member_u64(json, "unknown_kinds", join->lane->unknown_kinds);
    json_scheds(json, summary->scheds);
    json_overhead(json, summary);
    if (tl__swim_kernels_json(json, join) != 0)
        json->error = TL_ENOMEM;
    tl__json_member_array(json, "notes", TL_JSON_BLOCK);
    all_notes(&notes, summary);
    tl__json_array_end(json);
    tl__json_object_end(json);
    tl__json_newline(json);
}
