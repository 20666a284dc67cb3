/* SPDX-License-Identifier: Apache-2.0 */
#include <tasklens/kernel.h>

#include "analysis/text/json_head.h"
#include "analysis/path/path_show.h"
#include "analysis/sched/sched.h"

/* null where it is not known. */
static void put_time(struct tl_json *json, const char *key, uint64_t ns)
{
    tl__json_key(json, key);
    if (ns == TL_SCHED_UNKNOWN)
        tl__json_null(json);
    else
        tl__json_u64(json, ns);
}

/* Opens a part. True: it is there; false: it says what it lacks, and is closed again. */
static bool begin(struct tl_json *json, const struct tl_sched *s, enum tl_sched_part part)
{
    static const char *const keys[TL_SCHED_PARTS] = {"overhead", "core_switch", "head",
                                                     "tail",     "loop_budget", "critical_path"};
    const char *missing = s->missing[part];

    tl__json_member_object(json, keys[part], missing != NULL ? TL_JSON_LINE : TL_JSON_BLOCK);
    if (missing == NULL)
        return true;
    tl__json_member_string(json, "missing", missing);
    tl__json_object_end(json);
    return false;
}

static void put_overhead(struct tl_json *json, const struct tl_sched *s)
{
    const struct tl_swim_overhead *o = &s->overhead;

    if (!begin(json, s, TL_SCHED_OVERHEAD))
        return;
    tl__json_member_string(json, "verdict", tl__sched_verdict(s));
    tl__json_member_u64(json, "good_below_percent", TL_SCHED_GOOD_BELOW);
    tl__json_member_u64(json, "bad_from_percent", TL_SCHED_BAD_FROM);
    tl__json_member_u64(json, "wall_ns", tl__path_ns(s->join, o->cycles));
    tl__json_member_u64(json, "active_ns", tl__path_ns(s->join, o->active));
    tl__json_member_u64(json, "aic_ns", tl__path_ns(s->join, o->overhead[TL_AIC]));
    tl__json_member_u64(json, "aiv_ns", tl__path_ns(s->join, o->overhead[TL_AIV]));
    tl__json_member_u64(json, "all_ns", tl__path_ns(s->join, o->all));
    tl__json_member_u64(json, "either_ns", tl__path_ns(s->join, o->has));
    tl__json_member_u64(json, "tasks_dispatched_late", o->late_tasks);
    tl__json_object_end(json);
}

static void put_spread(struct tl_json *json, const char *key, const struct tl_spread *spread)
{
    tl__json_member_object(json, key, TL_JSON_LINE);
    tl__json_member_u64(json, "count", spread->count);
    tl__json_member_u64(json, "median_ns", spread->median_ns);
    tl__json_member_u64(json, "p95_ns", spread->p95_ns);
    tl__json_member_u64(json, "max_ns", spread->max_ns);
    tl__json_member_u64(json, "total_ns", spread->total_ns);
    tl__json_object_end(json);
}

static void switch_of(struct tl_json *json, const struct tl_sched_cores *t)
{
    put_spread(json, "gaps", &t->gaps);
    put_spread(json, "next_was_queued", &t->queued);
    tl__json_member_u64(json, "overlaps", t->overlaps);
}

static void head_of(struct tl_json *json, const struct tl_sched_cores *t)
{
    put_time(json, "first_dispatch_ns", t->first_dispatch_ns);
    tl__json_member_u64(json, "first_start_ns", t->first_start_ns);
    tl__json_member_u64(json, "all_running_ns", t->ramp_end_ns);
    tl__json_member_u64(json, "idle_ns", t->head_idle_ns);
}

static void tail_of(struct tl_json *json, const struct tl_sched_cores *t)
{
    tl__json_member_u64(json, "first_dry_ns", t->first_dry_ns);
    tl__json_member_u64(json, "last_end_ns", t->last_end_ns);
    tl__json_member_u64(json, "idle_ns", t->tail_idle_ns);
}

/* The members of a part for each core type that ran something. */
static void by_type(struct tl_json *json, const struct tl_sched *s,
                    void (*members)(struct tl_json *json, const struct tl_sched_cores *t))
{
    static const char *const keys[2] = {[TL_AIC] = "aic", [TL_AIV] = "aiv"};

    for (unsigned type = 0; type < 2; type++) {
        if (s->cores[type].used == 0)
            continue;
        tl__json_member_object(json, keys[type], TL_JSON_LINE);
        tl__json_member_u64(json, "cores", s->cores[type].cores);
        tl__json_member_u64(json, "cores_used", s->cores[type].used);
        members(json, &s->cores[type]);
        tl__json_object_end(json);
    }
    tl__json_object_end(json);
}

static void put_loop(struct tl_json *json, const struct tl_sched_loop *l)
{
    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_member_u64(json, "thread", l->thread);
    tl__json_member_u64(json, "wall_ns", l->wall_ns);
    tl__json_member_u64(json, "rendered_ns", l->rendered_ns);
    tl__json_member_u64(json, "idle_ns", l->idle_ns);
    tl__json_member_bool(json, "sums_to_the_wall", l->rendered_ns + l->idle_ns == l->wall_ns);
    tl__json_member_u64(json, "overlaps", l->overlaps);
    tl__json_member_u64(json, "iterations", l->iterations);
    tl__json_member_u64(json, "dispatches", l->dispatches);
    tl__json_member_u64(json, "tasks_dispatched", l->dispatched);
    tl__json_member_u64(json, "pop_hit", l->pop_hit);
    tl__json_member_u64(json, "pop_miss", l->pop_miss);
    tl__json_member_object(json, "phases", TL_JSON_LINE);
    for (unsigned kind = 0; kind < TL_PHASE_COUNT; kind++) {
        if (l->kind_count[kind] == 0)
            continue;
        tl__json_member_object(json, tl__phase_name(kind), TL_JSON_LINE);
        tl__json_member_u64(json, "count", l->kind_count[kind]);
        tl__json_member_u64(json, "total_ns", l->kind_ns[kind]);
        tl__json_object_end(json);
    }
    tl__json_object_end(json);
    tl__json_object_end(json);
}

static void put_loops(struct tl_json *json, const struct tl_sched *s)
{
    if (!begin(json, s, TL_SCHED_LOOP))
        return;
    tl__json_member_u64(json, "unknown_phases", s->join->lane->unknown_kinds);
    tl__json_member_array(json, "threads", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < s->loops.count; i++)
        put_loop(json, &s->loops.list[i]);
    tl__json_array_end(json);
    tl__json_object_end(json);
}

static void put_path(struct tl_json *json, const struct tl_sched *s)
{
    if (!begin(json, s, TL_SCHED_PATH))
        return;
    tl__json_member_u64(json, "steps", s->path.observed.count);
    tl__json_member_u64(json, "static_ns", s->path.chain.length_ns);
    tl__json_member_object(json, "spent_ns", TL_JSON_LINE);
    tl__path_kinds_json(json, &s->path);
    tl__json_object_end(json);
    tl__json_member_u64(json, "until_noticed_ns", tl__sched_until_noticed(&s->path));
    tl__json_member_object(json, "scheduler_meanwhile_ns", TL_JSON_LINE);
    for (unsigned kind = 0; kind < TL_PHASE_COUNT; kind++)
        if (s->path_phase_ns[kind] > 0)
            tl__json_member_u64(json, kind == TL_PHASE_IDLE ? "no_phase" : tl__phase_name(kind),
                                s->path_phase_ns[kind]);
    tl__json_object_end(json);
    tl__json_key(json, "warnings");
    tl__path_notes_json(json, &s->path);
    tl__json_object_end(json);
}

void tl__sched_json(struct tl_json *json, const struct tl_sched *sched, const char *dir)
{
    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "sched", NULL, dir);
    tl__json_member_u64(json, "level", sched->join->lane->level);
    tl__json_member_u64(json, "wall_ns", sched->wall_ns);
    tl__json_member_u64(json, "slices", sched->join->n_ran);
    put_overhead(json, sched);
    if (begin(json, sched, TL_SCHED_SWITCH))
        by_type(json, sched, switch_of);
    if (begin(json, sched, TL_SCHED_HEAD)) {
        put_time(json, "first_submit_start_ns", sched->submit_start_ns);
        put_time(json, "first_submit_end_ns", sched->submit_end_ns);
        by_type(json, sched, head_of);
    }
    if (begin(json, sched, TL_SCHED_TAIL))
        by_type(json, sched, tail_of);
    put_loops(json, sched);
    put_path(json, sched);
    tl__json_object_end(json);
    tl__json_newline(json);
}
