/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/sched.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define NEEDS_DEPS "needs deps.json: run with --enable-dep-gen too"

static int measure_overhead(struct tl_sched *s)
{
    int r;

    s->missing[TL_SCHED_OVERHEAD] = tl__swim_time_broken(s->join);
    if (s->missing[TL_SCHED_OVERHEAD] != NULL)
        return 0;
    if (s->join->lane->level < 2 && s->join->deps == NULL)
        s->missing[TL_SCHED_OVERHEAD] =
            "needs dispatch times and deps.json: run with --enable-chip-swimlane 2 or more, "
            "and --enable-dep-gen";
    else if (s->join->lane->level < 2)
        s->missing[TL_SCHED_OVERHEAD] = "needs dispatch times: run with --enable-chip-swimlane 2 or more";
    else if (s->join->deps == NULL)
        s->missing[TL_SCHED_OVERHEAD] = NEEDS_DEPS;
    if (s->missing[TL_SCHED_OVERHEAD] != NULL)
        return 0;
    r = tl__swim_overhead(s->join, NULL, NULL, &s->overhead);
    if (r == TL_ENOTSUP) {
        s->missing[TL_SCHED_OVERHEAD] = NEEDS_DEPS;
        return 0;
    }
    return r;
}

static void find_first_submit(struct tl_sched *s)
{
    const struct tl_swimlane *lane = s->join->lane;

    s->submit_start_ns = s->submit_end_ns = TL_SCHED_UNKNOWN;
    for (uint64_t i = 0; i < lane->n_orchs && !lane->orch_is_host_clock; i++) {
        uint64_t start = tl__path_ns(s->join, tl__swim_cycles(&s->join->clock, lane->orchs[i].start_cycles));

        if (start >= s->submit_start_ns)
            continue;
        s->submit_start_ns = start;
        s->submit_end_ns = tl__path_ns(s->join, tl__swim_cycles(&s->join->clock, lane->orchs[i].end_cycles));
    }
}

static int measure_loops(struct tl_sched *s)
{
    int r = tl__swim_scheds(s->join, &s->scheds);

    if (r < 0)
        return r;
    if (s->join->lane->level < 3)
        s->missing[TL_SCHED_LOOP] = "needs the phases of the schedulers: run with --enable-chip-swimlane 3 or more";
    else if (s->scheds.count == 0)
        s->missing[TL_SCHED_LOOP] = "no scheduler recorded a phase";
    return tl__sched_measure_loops(&s->scheds, &s->loops);
}

static int find_path(struct tl_sched *s, struct tl_error *reterr)
{
    struct tl_error error = {0};
    int r;

    if (s->join->deps == NULL) {
        s->missing[TL_SCHED_PATH] = NEEDS_DEPS;
        return 0;
    }
    r = tl__path_run_make(s->join, &s->path, &error);
    if (r == TL_EGRAPH) {
        (void)snprintf(s->why, sizeof(s->why), "needs a usable deps.json: %s", error.msg);
        s->missing[TL_SCHED_PATH] = s->why;
        return 0;
    }
    if (r < 0)
        return tl__fail(reterr, r, "%s", error.msg);
    if (s->loops.count > 0)
        tl__sched_split_path(&s->scheds, &s->path, s->path_phase_ns);
    return 0;
}

int tl__sched_make(const struct tl_swim_join *join, struct tl_sched *sched, struct tl_error *reterr)
{
    int r;

    memset(sched, 0, sizeof(*sched));
    sched->join = join;
    sched->wall_ns = tl__path_ns(join, join->end);
    if (join->n_ran == 0)
        sched->missing[TL_SCHED_SWITCH] = sched->missing[TL_SCHED_HEAD] = sched->missing[TL_SCHED_TAIL] =
            "no core ran anything";
    find_first_submit(sched);
    if (measure_overhead(sched) < 0 || tl__sched_measure_cores(join, sched->cores) < 0 || measure_loops(sched) < 0)
        r = tl__fail(reterr, TL_ENOMEM, "out of memory");
    else
        r = find_path(sched, reterr);
    if (r < 0)
        tl__sched_fini(sched);
    return r;
}

void tl__sched_fini(struct tl_sched *sched)
{
    tl__path_run_fini(&sched->path);
    tl__sched_loops_fini(&sched->loops);
    tl__swim_scheds_fini(&sched->scheds);
    memset(sched, 0, sizeof(*sched));
}

const char *tl__sched_verdict(const struct tl_sched *sched)
{
    double percent =
        sched->overhead.active > 0 ? 100.0 * (double)sched->overhead.has / (double)sched->overhead.active : 0;

    return percent < TL_SCHED_GOOD_BELOW ? "good" : percent < TL_SCHED_BAD_FROM ? "acceptable" : "bad";
}
