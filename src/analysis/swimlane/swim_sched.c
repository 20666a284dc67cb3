/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/swim_sched.h"

#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

static uint64_t start_of(const struct tl_swim_join *join, uint32_t phase)
{
    return tl__swim_cycles(&join->clock, join->lane->phases[phase].start_cycles);
}

/* Never before its start. */
static uint64_t end_of(const struct tl_swim_join *join, uint32_t phase)
{
    uint64_t start = start_of(join, phase), end = tl__swim_cycles(&join->clock, join->lane->phases[phase].end_cycles);

    return end < start ? start : end;
}

static int in_order(const void *left, const void *right, void *phases)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct tl_swim_phase *l = (const struct tl_swim_phase *)phases + a;
    const struct tl_swim_phase *r = (const struct tl_swim_phase *)phases + b;
    unsigned lg = tl__phase_group(l->kind), rg = tl__phase_group(r->kind);

    if (l->thread != r->thread)
        return l->thread < r->thread ? -1 : 1;
    if (lg != rg)
        return lg < rg ? -1 : 1;
    if (l->start_cycles != r->start_cycles)
        return l->start_cycles < r->start_cycles ? -1 : 1;
    if (l->end_cycles != r->end_cycles)
        return l->end_cycles < r->end_cycles ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void measure(const struct tl_swim_join *join, const uint32_t *order, struct tl_swim_sched *s)
{
    for (uint32_t i = 0; i < s->outer_count; i++) {
        uint64_t start = start_of(join, order[s->outer_first + i]), end = end_of(join, order[s->outer_first + i]);

        if (i == 0)
            s->start = s->end = start;
        if (start < s->end)
            s->overlaps++;
        else
            s->idle += start - s->end;
        s->busy += end - start;
        if (end > s->end)
            s->end = end;
    }
}

/* Both lists are by start; an outer phase that has ended before an inner one begins holds no later one either. */
static void find_strays(const struct tl_swim_join *join, const uint32_t *order, struct tl_swim_sched *s)
{
    uint32_t o = 0;

    for (uint32_t i = 0; i < s->inner_count; i++) {
        uint64_t start = start_of(join, order[s->inner_first + i]), end = end_of(join, order[s->inner_first + i]);

        while (o < s->outer_count && end_of(join, order[s->outer_first + o]) < end)
            o++;
        s->stray += o == s->outer_count || start_of(join, order[s->outer_first + o]) > start;
    }
}

/* Cuts the sorted order into threads, and these into groups. */
static void cut(const struct tl_swim_join *join, const uint32_t *order, uint32_t n, struct tl_swim_scheds *scheds)
{
    const struct tl_swim_phase *phases = join->lane->phases;
    struct tl_swim_sched *s = NULL;

    for (uint32_t i = 0; i < n; i++) {
        const struct tl_swim_phase *p = &phases[order[i]];

        if (s == NULL || s->thread != p->thread) {
            s = &scheds->list[scheds->count++];
            *s = (struct tl_swim_sched){.thread = p->thread, .outer_first = i, .inner_first = i, .task_first = i};
        }
        switch (tl__phase_group(p->kind)) {
        case TL_PHASE_OUTER:
            s->outer_count++;
            s->inner_first = s->task_first = i + 1;
            break;
        case TL_PHASE_INNER:
            s->inner_count++;
            s->task_first = i + 1;
            break;
        case TL_PHASE_LANE:
            s->task_count++;
            break;
        default: /* a gap, which is what no phase says */
            break;
        }
    }
}

int tl__swim_scheds(const struct tl_swim_join *join, struct tl_swim_scheds *ret_scheds)
{
    const struct tl_swimlane *lane = join->lane;
    struct tl_swim_scheds scheds = {.join = join};
    uint32_t n = (uint32_t)lane->n_phases, threads = 0;

    scheds.order = tl__alloc((size_t)n + 1, sizeof(*scheds.order));
    if (scheds.order == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        scheds.order[i] = i;
    qsort_r(scheds.order, n, sizeof(*scheds.order), in_order, lane->phases);
    for (uint32_t i = 0; i < n; i++)
        threads += i == 0 || lane->phases[scheds.order[i]].thread != lane->phases[scheds.order[i - 1]].thread;
    scheds.list = tl__alloc((size_t)threads + 1, sizeof(*scheds.list));
    if (scheds.list == NULL) {
        tl__free(scheds.order);
        return TL_ENOMEM;
    }
    cut(join, scheds.order, n, &scheds);
    for (uint32_t i = 0; i < scheds.count; i++) {
        measure(join, scheds.order, &scheds.list[i]);
        find_strays(join, scheds.order, &scheds.list[i]);
    }
    *ret_scheds = scheds;
    return 0;
}

void tl__swim_scheds_fini(struct tl_swim_scheds *scheds)
{
    tl__free(scheds->list);
    tl__free(scheds->order);
    memset(scheds, 0, sizeof(*scheds));
}

static const struct tl_swim_sched *find_thread(const struct tl_swim_scheds *scheds, int32_t thread)
{
    uint32_t low = 0, high = scheds->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (scheds->list[middle].thread < (uint32_t)thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scheds->count && scheds->list[low].thread == (uint32_t)thread ? &scheds->list[low] : NULL;
}

static bool does(unsigned kind, enum tl_swim_act act)
{
    bool ends = kind == TL_PHASE_COMPLETE || kind == TL_PHASE_ASYNC_POLL || kind == TL_PHASE_POLL;

    return act == TL_SWIM_ENDS ? ends : !ends && kind != TL_PHASE_RELEASE && kind != TL_PHASE_DUMMY;
}

uint32_t tl__swim_phase_at(const struct tl_swim_scheds *scheds, int32_t thread, uint64_t cycles, enum tl_swim_act act)
{
    const struct tl_swim_sched *s = thread < 0 ? NULL : find_thread(scheds, thread);
    uint32_t low, high, found = TL_SWIM_NONE;

    if (s == NULL)
        return TL_SWIM_NONE;
    low = s->outer_first, high = s->outer_first + s->outer_count;
    while (low < high) { /* the first that begins after it */
        uint32_t middle = low + (high - low) / 2;

        if (start_of(scheds->join, scheds->order[middle]) <= cycles)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > s->outer_first && end_of(scheds->join, scheds->order[low - 1]) >= cycles) {
        uint32_t phase = scheds->order[--low];

        if (does(scheds->join->lane->phases[phase].kind, act))
            return phase;
        if (found == TL_SWIM_NONE)
            found = phase;
    }
    return found;
}
