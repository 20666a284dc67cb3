/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/sched_cores.h"

#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>
#include <tasklens/kernel.h>

#include "analysis/path/path_run.h"
#include "base/env.h"

struct core {
    uint64_t first_start_ns, last_end_ns;
    uint8_t type;
};

struct measure {
    const struct tl_swim_join *join;
    struct tl_sched_cores *types;
    struct core *cores; /* that ran something */
    uint32_t n_cores;
    uint64_t *gaps[2], *queued[2]; /* by core type */
    uint64_t n_gaps[2], n_queued[2];
};

static void add_gap(struct measure *m, const struct core *core, const struct tl_swim_slice *s)
{
    uint64_t start = tl__path_ns(m->join, s->start), end = core->last_end_ns;

    if (start < end) {
        m->types[core->type].overlaps++;
        return;
    }
    m->gaps[core->type][m->n_gaps[core->type]++] = start - end;
    if ((s->flags & TL_SWIM_SENT) != 0 && tl__path_ns(m->join, s->dispatch) < end)
        m->queued[core->type][m->n_queued[core->type]++] = start - end;
}

/* The slices are by core, then by start. */
static void walk(struct measure *m)
{
    const struct tl_swim_slice *before = NULL;

    for (uint32_t i = 0; i < m->join->n_slices; i++) {
        const struct tl_swim_slice *s = &m->join->slices[i];
        uint64_t start = tl__path_ns(m->join, s->start), end = tl__path_ns(m->join, s->end);
        uint64_t dispatch = (s->flags & TL_SWIM_SENT) != 0 ? tl__path_ns(m->join, s->dispatch) : TL_SCHED_UNKNOWN;
        uint8_t type = s->core_type == TL_AIV;
        struct core *core;

        if (dispatch < m->types[type].first_dispatch_ns)
            m->types[type].first_dispatch_ns = dispatch;
        if ((s->flags & TL_SWIM_RAN) == 0)
            continue;
        if (before == NULL || before->core != s->core)
            m->cores[m->n_cores++] = (struct core){start, end, type};
        else
            add_gap(m, &m->cores[m->n_cores - 1], s);
        core = &m->cores[m->n_cores - 1];
        if (end > core->last_end_ns)
            core->last_end_ns = end;
        m->types[type].slices++;
        m->types[type].busy_ns += end - start;
        before = s;
    }
}

static void add_ends(struct measure *m)
{
    for (uint32_t i = 0; i < m->n_cores; i++) {
        const struct core *core = &m->cores[i];
        struct tl_sched_cores *t = &m->types[core->type];

        if (t->used == 0 || core->first_start_ns < t->first_start_ns)
            t->first_start_ns = core->first_start_ns;
        if (t->used == 0 || core->last_end_ns < t->first_dry_ns)
            t->first_dry_ns = core->last_end_ns;
        if (core->first_start_ns > t->ramp_end_ns)
            t->ramp_end_ns = core->first_start_ns;
        if (core->last_end_ns > t->last_end_ns)
            t->last_end_ns = core->last_end_ns;
        t->head_idle_ns += core->first_start_ns;
        t->used++;
    }
    for (uint32_t i = 0; i < m->n_cores; i++) {
        struct tl_sched_cores *t = &m->types[m->cores[i].type];

        t->tail_idle_ns += t->last_end_ns - m->cores[i].last_end_ns;
    }
}

int tl__sched_measure_cores(const struct tl_swim_join *join, struct tl_sched_cores ret_types[2])
{
    struct measure m = {.join = join, .types = ret_types};
    size_t room = (size_t)join->n_ran + 1;
    int r = TL_ENOMEM;

    memset(ret_types, 0, 2 * sizeof(*ret_types));
    ret_types[0].first_dispatch_ns = ret_types[1].first_dispatch_ns = TL_SCHED_UNKNOWN;
    for (uint32_t i = 0; i < join->lane->num_cores; i++)
        ret_types[join->lane->core_types[i] == TL_AIV].cores++;
    m.cores = tl__alloc(room, sizeof(*m.cores));
    for (unsigned type = 0; type < 2; type++) {
        m.gaps[type] = tl__alloc(room, sizeof(uint64_t));
        m.queued[type] = tl__alloc(room, sizeof(uint64_t));
    }
    if (m.cores == NULL || m.gaps[0] == NULL || m.gaps[1] == NULL || m.queued[0] == NULL || m.queued[1] == NULL)
        goto out;
    walk(&m);
    add_ends(&m);
    for (unsigned type = 0; type < 2; type++) {
        ret_types[type].gaps = tl__spread(m.gaps[type], m.n_gaps[type]);
        ret_types[type].queued = tl__spread(m.queued[type], m.n_queued[type]);
    }
    r = 0;
out:
    tl__free(m.cores);
    for (unsigned type = 0; type < 2; type++) {
        tl__free(m.gaps[type]);
        tl__free(m.queued[type]);
    }
    return r;
}
