/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/sched_loop.h"

#include <string.h>

#include <tasklens/error.h>

#include "base/env.h"

/* A phase's times; its end is never before its start. */
struct extent {
    uint64_t start_ns, end_ns;
};

static struct extent extent_of(const struct tl_swim_scheds *scheds, uint32_t phase)
{
    const struct tl_swim_phase *p = &scheds->join->lane->phases[phase];
    struct extent e = {tl__path_ns(scheds->join, tl__swim_cycles(&scheds->join->clock, p->start_cycles)),
                       tl__path_ns(scheds->join, tl__swim_cycles(&scheds->join->clock, p->end_cycles))};

    if (e.end_ns < e.start_ns)
        e.end_ns = e.start_ns;
    return e;
}

static void add_phase(struct tl_sched_loop *loop, const struct tl_swim_phase *p, const struct extent *e)
{
    loop->kind_ns[p->kind] += e->end_ns - e->start_ns;
    loop->kind_count[p->kind]++;
    if (p->loop_iter > loop->iterations)
        loop->iterations = p->loop_iter;
    if (p->kind == TL_PHASE_DISPATCH && p->tasks_processed > 0) {
        loop->dispatches++;
        loop->dispatched += p->tasks_processed;
    }
    if ((p->has & TL_SWIM_HAS_POP) != 0) {
        loop->pop_hit += p->pop_hit;
        loop->pop_miss += p->pop_miss;
    }
}

static void measure(const struct tl_swim_scheds *scheds, const struct tl_swim_sched *s, struct tl_sched_loop *loop)
{
    const struct tl_swim_phase *phases = scheds->join->lane->phases;
    uint64_t first = 0, last = 0;

    loop->thread = s->thread;
    loop->overlaps = s->overlaps;
    for (uint32_t i = 0; i < s->outer_count; i++) {
        uint32_t at = scheds->order[s->outer_first + i];
        struct extent e = extent_of(scheds, at);

        if (i == 0)
            first = last = e.start_ns;
        if (e.start_ns > last)
            loop->idle_ns += e.start_ns - last;
        if (e.end_ns > last)
            last = e.end_ns;
        loop->rendered_ns += e.end_ns - e.start_ns;
        add_phase(loop, &phases[at], &e);
    }
    loop->wall_ns = last - first;
    for (uint32_t i = 0; i < s->inner_count + s->task_count; i++) {
        uint32_t at = scheds->order[i < s->inner_count ? s->inner_first + i : s->task_first + i - s->inner_count];
        struct extent e = extent_of(scheds, at);

        add_phase(loop, &phases[at], &e);
    }
}

int tl__sched_measure_loops(const struct tl_swim_scheds *scheds, struct tl_sched_loops *ret_loops)
{
    ret_loops->count = scheds->count;
    ret_loops->list = tl__alloc((size_t)scheds->count + 1, sizeof(*ret_loops->list));
    if (ret_loops->list == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < scheds->count; i++)
        measure(scheds, &scheds->list[i], &ret_loops->list[i]);
    return 0;
}

void tl__sched_loops_fini(struct tl_sched_loops *loops)
{
    tl__free(loops->list);
    memset(loops, 0, sizeof(*loops));
}

/* ---- the path's share ---- */

static const struct tl_swim_sched *find_thread(const struct tl_swim_scheds *scheds, int32_t thread)
{
    for (uint32_t i = 0; i < scheds->count; i++)
        if (thread >= 0 && scheds->list[i].thread == (uint32_t)thread)
            return &scheds->list[i];
    return NULL;
}

/* The first outer phase of the thread that ends after `ns`, counted from outer_first. */
static uint32_t first_ending_after(const struct tl_swim_scheds *scheds, const struct tl_swim_sched *s, uint64_t ns)
{
    uint32_t low = 0, high = s->outer_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (extent_of(scheds, scheds->order[s->outer_first + middle]).end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void split(const struct tl_swim_scheds *scheds, int32_t thread, struct extent wait, uint64_t *ns)
{
    const struct tl_swim_sched *s = find_thread(scheds, thread);
    uint64_t at = wait.start_ns;

    for (uint32_t i = s != NULL ? first_ending_after(scheds, s, at) : 0; s != NULL && i < s->outer_count; i++) {
        uint32_t phase = scheds->order[s->outer_first + i];
        struct extent e = extent_of(scheds, phase);
        uint64_t end = e.end_ns < wait.end_ns ? e.end_ns : wait.end_ns;

        if (e.start_ns >= wait.end_ns)
            break;
        if (e.start_ns > at) {
            ns[TL_PHASE_IDLE] += e.start_ns - at;
            at = e.start_ns;
        }
        if (end > at) {
            ns[scheds->join->lane->phases[phase].kind] += end - at;
            at = end;
        }
    }
    ns[TL_PHASE_IDLE] += wait.end_ns - at;
}

void tl__sched_split_path(const struct tl_swim_scheds *scheds, const struct tl_path_run *run,
                          uint64_t ret_ns[TL_PHASE_COUNT])
{
    memset(ret_ns, 0, TL_PHASE_COUNT * sizeof(*ret_ns));
    for (uint32_t i = 0; i < run->observed.count; i++) {
        const struct tl_path_step *step = &run->observed.steps[i];
        struct extent wait = {step->released_ns, step->dispatched_ns};

        if (wait.end_ns > wait.start_ns)
            split(scheds, tl__path_slice(run, step->slice)->thread, wait, ret_ns);
    }
}

uint64_t tl__sched_until_noticed(const struct tl_path_run *run)
{
    uint64_t ns = 0;

    for (uint32_t i = 1; i < run->observed.count; i++) {
        const struct tl_path_step *step = &run->observed.steps[i];
        const struct tl_swim_slice *before = tl__path_slice(run, run->observed.steps[i - 1].slice);
        uint64_t noticed = tl__path_ns(run->join, before->finish);

        if ((before->flags & TL_SWIM_FINISHED) == 0 || noticed <= step->released_ns)
            continue;
        ns += (noticed < step->dispatched_ns ? noticed : step->dispatched_ns) - step->released_ns;
    }
    return ns;
}
