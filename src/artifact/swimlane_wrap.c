/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the times of a recording can be. A device whose counter has 32 bits begins again at 0 once in 43 s at 100
 * MHz: rows then end before they start, and what comes later on a core or in a scheduler's loop has earlier times.
 * Where one new beginning explains all such contradictions, the stamps behind it are put behind the others. What is
 * left is counted: such a recording's times mean nothing.
 *
 * The stamps before and behind the new beginning are apart by what the run left unused of the 32 bits: so it is in
 * one of the largest gaps between all stamps, and a gap is the right one if no contradiction is left with it.
 */
#include <stdlib.h>

#include "artifact/swimlane_impl.h"
#include "base/env.h"

#define TURN ((uint64_t)1 << 32)
#define FAR ((uint64_t)1 << 30) /* cycles by which order must be broken: no skew between two stamps is that large */
#define TRIALS 16u              /* gaps that are tried */

/* What contradicts itself, with stamps below `cut` a turn later. */
struct look {
    const struct tl_swimlane *s;
    uint64_t cut;
    uint64_t backward, falls;
    bool other; /* one of them is no turn: the way forward, on 32 bits, is longer than the way back */
};

static uint64_t turned(uint64_t stamp, uint64_t cut)
{
    return stamp < cut ? stamp + TURN : stamp;
}

/* Whether `later` is before `first` by more than `slack`. */
static bool contradicts(struct look *l, uint64_t first, uint64_t later, uint64_t slack)
{
    first = turned(first, l->cut);
    later = turned(later, l->cut);
    if (later >= first || first - later <= slack)
        return false;
    l->other = l->other || (uint32_t)(later - first) > INT32_MAX;
    return true;
}

static void look_at_cores(struct look *l)
{
    const struct tl_swimlane *s = l->s;

    for (uint64_t i = 0; i < s->n_cores; i++) {
        const struct tl_swim_core *c = &s->cores[i], *before = i > 0 ? c - 1 : c;

        l->backward += c->end_cycles != 0 && contradicts(l, c->start_cycles, c->end_cycles, 0);
        if (before->core_id == c->core_id && before->run_epoch == c->run_epoch && before->reg_task_id < c->reg_task_id)
            l->falls += contradicts(l, before->start_cycles, c->start_cycles, FAR);
    }
}

static void look_at_aicpus(struct look *l)
{
    const struct tl_swimlane *s = l->s;

    for (uint64_t i = 0; i < s->n_aicpus; i++) {
        const struct tl_swim_aicpu *a = &s->aicpus[i];
        const struct tl_swim_core *c = &s->cores[i];

        l->backward += a->finish_cycles != 0 && contradicts(l, a->dispatch_cycles, a->finish_cycles, 0);
        if (i >= s->n_cores || c->core_id != a->core_id || c->reg_task_id != a->reg_task_id ||
            c->run_epoch != a->run_epoch)
            continue;
        l->falls += contradicts(l, a->dispatch_cycles, c->start_cycles, FAR);
        if (a->finish_cycles != 0 && c->end_cycles != 0)
            l->falls += contradicts(l, c->end_cycles, a->finish_cycles, FAR);
    }
}

static void look_at_phases(struct look *l)
{
    const struct tl_swimlane *s = l->s;

    for (uint64_t i = 0; i < s->n_phases; i++) {
        const struct tl_swim_phase *p = &s->phases[i], *before = i > 0 ? p - 1 : p;

        l->backward += p->end_cycles != 0 && contradicts(l, p->start_cycles, p->end_cycles, 0);
        if (before->thread == p->thread && before->run_epoch == p->run_epoch && before->loop_iter < p->loop_iter)
            l->falls += contradicts(l, before->start_cycles, p->start_cycles, FAR);
    }
}

/* Also by the host's clock, which has 64 bits: there nothing turns. */
static void look_at_orchs(struct look *l)
{
    const struct tl_swimlane *s = l->s;
    const uint64_t cut = l->cut;

    if (s->orch_is_host_clock)
        l->cut = 0;
    for (uint64_t i = 0; i < s->n_orchs; i++) {
        const struct tl_swim_orch *o = &s->orchs[i], *before = i > 0 ? o - 1 : o;

        l->backward += o->end_cycles != 0 && contradicts(l, o->start_cycles, o->end_cycles, 0);
        if (!s->orch_is_host_clock && before->thread == o->thread && before->run_epoch == o->run_epoch &&
            before->submit_idx < o->submit_idx)
            l->falls += contradicts(l, before->start_cycles, o->start_cycles, FAR);
    }
    l->cut = cut;
}

static struct look look_with(const struct tl_swimlane *s, uint64_t cut)
{
    struct look l = {.s = s, .cut = cut};

    look_at_cores(&l);
    look_at_aicpus(&l);
    look_at_phases(&l);
    look_at_orchs(&l);
    return l;
}

/* ---- all stamps of the device ---- */

/* Calls with each that is one: an end of 0 is none. */
static void each_stamp(struct tl_swimlane *s, void (*call)(void *ctx, uint64_t *stamp), void *ctx)
{
    for (uint64_t i = 0; i < s->n_cores; i++) {
        call(ctx, &s->cores[i].start_cycles);
        if (s->cores[i].end_cycles != 0)
            call(ctx, &s->cores[i].end_cycles);
    }
    for (uint64_t i = 0; i < s->n_aicpus; i++) {
        call(ctx, &s->aicpus[i].dispatch_cycles);
        if (s->aicpus[i].finish_cycles != 0)
            call(ctx, &s->aicpus[i].finish_cycles);
    }
    for (uint64_t i = 0; i < s->n_phases; i++) {
        call(ctx, &s->phases[i].start_cycles);
        if (s->phases[i].end_cycles != 0)
            call(ctx, &s->phases[i].end_cycles);
    }
    for (uint64_t i = 0; i < s->n_orchs && !s->orch_is_host_clock; i++) {
        call(ctx, &s->orchs[i].start_cycles);
        if (s->orchs[i].end_cycles != 0)
            call(ctx, &s->orchs[i].end_cycles);
    }
    for (uint32_t i = 0; i < s->n_anchors; i++)
        call(ctx, &s->anchors[i].device_cycles);
}

struct stamps {
    uint64_t *list, count, most;
};

static void count_one(void *ctx, uint64_t *stamp)
{
    struct stamps *all = ctx;

    all->count++;
    if (*stamp > all->most)
        all->most = *stamp;
}

static void keep_one(void *ctx, uint64_t *stamp)
{
    struct stamps *all = ctx;

    all->list[all->count++] = *stamp;
}

static void turn_one(void *ctx, uint64_t *stamp)
{
    *stamp = turned(*stamp, *(const uint64_t *)ctx);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The middle of the largest gap that is smaller than `below`; 0: there is none. Gaps of one size are tried once. An
 * anchor may be in the gap, near one of its ends. */
static uint64_t behind_gap(const struct stamps *all, uint64_t below, uint64_t *ret_gap)
{
    uint64_t at = 0;

    *ret_gap = 0;
    for (uint64_t i = 1; i < all->count; i++) {
        uint64_t gap = all->list[i] - all->list[i - 1];

        if (gap > *ret_gap && gap < below) {
            *ret_gap = gap;
            at = all->list[i - 1] + gap / 2 + 1;
        }
    }
    return at;
}

/* The cut with which nothing contradicts itself, or 0. */
static uint64_t find_cut(const struct tl_swimlane *s, const struct stamps *all)
{
    uint64_t gap = UINT64_MAX;

    for (unsigned i = 0; i < TRIALS; i++) {
        uint64_t cut = behind_gap(all, gap, &gap);
        struct look l;

        if (cut == 0)
            return 0;
        if (all->list[1] >= cut || all->list[all->count - 2] < cut)
            continue; /* one stamp alone on a side of the gap is rather a wrong stamp than the whole side */
        l = look_with(s, cut);
        if (l.backward == 0 && l.falls == 0)
            return cut;
    }
    return 0;
}

int tl__swimlane_unwrap(struct tl_swimlane *s)
{
    struct look l = look_with(s, 0);
    const uint32_t n_anchors = s->n_anchors;
    struct stamps all = {0};
    uint64_t cut;

    s->falls = l.falls;
    if ((l.backward == 0 && l.falls == 0) || l.other)
        return 0;
    each_stamp(s, count_one, &all);
    if (all.most >= TURN)
        return 0;
    all.list = tl__alloc(all.count + 1, sizeof(*all.list));
    if (all.list == NULL)
        return TL_ENOMEM;
    all.count = 0;
    s->n_anchors = 0; /* nothing contradicts an anchor, so that it says nothing of where the turn is */
    each_stamp(s, keep_one, &all);
    s->n_anchors = n_anchors;
    qsort(all.list, all.count, sizeof(*all.list), by_value);
    cut = find_cut(s, &all);
    tl__free(all.list);
    if (cut == 0)
        return 0;
    each_stamp(s, turn_one, &cut);
    s->backward = s->falls = 0;
    s->wrapped = true;
    return 0;
}
