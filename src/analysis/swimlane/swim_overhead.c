/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/swim_overhead.h"

#include <stdlib.h>
#include <string.h>

#include <tasklens/kernel.h>

#include "base/env.h"
#include "base/error.h"

enum change { CORE_TAKEN, CORE_FREED, TASK_READY, TASK_SENT };

struct event {
    uint64_t cycles;
    uint32_t who; /* core; or bits of core types */
    uint8_t change;
};

struct sweep {
    const struct tl_swim_join *join;
    struct event *events;
    uint64_t count;
    uint32_t *depth; /* by core: what was dispatched to it and has not ended */
    struct tl_swim_state state;
    struct tl_swim_overhead sum;
    uint32_t types; /* bits of core types that the chip has */
};

static void add(struct sweep *s, uint64_t from, uint64_t to, uint32_t who, enum change begins, enum change ends)
{
    if (to <= from)
        return;
    s->events[s->count++] = (struct event){from, who, (uint8_t)begins};
    s->events[s->count++] = (struct event){to, who, (uint8_t)ends};
}

static void add_slices(struct sweep *s)
{
    const struct tl_swim_join *join = s->join;

    for (uint32_t i = 0; i < join->n_slices; i++) {
        const struct tl_swim_slice *slice = &join->slices[i];
        bool ran = (slice->flags & TL_SWIM_RAN) != 0, sent = (slice->flags & TL_SWIM_SENT) != 0;
        uint64_t from = ran && (!sent || slice->receive < slice->dispatch) ? slice->receive : slice->dispatch;
        uint64_t to = ran ? slice->end : (slice->flags & TL_SWIM_FINISHED) != 0 ? slice->finish : join->end;

        if (slice->core < join->lane->num_cores)
            add(s, from, to, slice->core, CORE_TAKEN, CORE_FREED);
    }
}

bool tl__swim_ready(const struct tl_swim_join *join, const struct tl_swim_task *task, uint64_t *ret_cycles)
{
    bool found = false;
    uint64_t latest = 0;

    for (uint32_t i = 0; i < task->edge_count; i++) {
        const struct tl_swim_edge *edge = &join->edges[task->first_edge + i];

        if (!edge->wait)
            continue;
        found = true;
        if (join->tasks[edge->pred].end > latest)
            latest = join->tasks[edge->pred].end;
    }
    if (found)
        *ret_cycles = latest;
    return found;
}

static void add_tasks(struct sweep *s)
{
    for (uint32_t i = 0; i < s->join->n_tasks; i++) {
        const struct tl_swim_task *task = &s->join->tasks[i];
        uint64_t ready;

        if ((task->flags & TL_SWIM_SENT) == 0 || !tl__swim_ready(s->join, task, &ready))
            continue;
        s->sum.late_tasks += ready < task->dispatch;
        add(s, ready, task->dispatch, task->core_types, TASK_READY, TASK_SENT);
    }
}

static int by_time(const void *left, const void *right)
{
    const struct event *l = left, *r = right;

    return l->cycles < r->cycles ? -1 : l->cycles > r->cycles;
}

static void apply(struct sweep *s, const struct event *e)
{
    struct tl_swim_state *state = &s->state;

    switch ((enum change)e->change) {
    case CORE_TAKEN:
        state->idle[s->join->lane->core_types[e->who] == TL_AIV] -= s->depth[e->who]++ == 0;
        break;
    case CORE_FREED:
        state->idle[s->join->lane->core_types[e->who] == TL_AIV] += --s->depth[e->who] == 0;
        break;
    case TASK_READY:
        for (unsigned t = 0; t < 2; t++)
            state->ready[t] += e->who >> t & 1;
        break;
    case TASK_SENT:
        for (unsigned t = 0; t < 2; t++)
            state->ready[t] -= e->who >> t & 1;
        break;
    }
}

static void judge(struct sweep *s)
{
    struct tl_swim_state *state = &s->state;

    state->has = false;
    state->all = s->types != 0;
    for (unsigned t = 0; t < 2; t++) {
        state->overhead[t] = state->idle[t] > 0 && state->ready[t] > 0;
        state->has |= state->overhead[t];
        state->all &= state->overhead[t] || (s->types >> t & 1) == 0;
    }
}

/* Before the first submit, say, there is nothing that anybody could have dispatched. */
static bool has_work(const struct sweep *s)
{
    const struct tl_swim_state *state = &s->state;

    return state->ready[0] > 0 || state->ready[1] > 0 || state->idle[0] < s->sum.cores[0] ||
           state->idle[1] < s->sum.cores[1];
}

static void pass(struct sweep *s, uint64_t cycles)
{
    for (unsigned t = 0; t < 2; t++)
        s->sum.overhead[t] += s->state.overhead[t] ? cycles : 0;
    s->sum.active += has_work(s) ? cycles : 0;
    s->sum.all += s->state.all ? cycles : 0;
    s->sum.has += s->state.has ? cycles : 0;
}

static void run(struct sweep *s, tl_swim_state_fn fn, void *ctx)
{
    uint64_t now = 0;

    for (uint64_t i = 0; i < s->count || now == 0;) {
        for (; i < s->count && s->events[i].cycles == now; i++)
            apply(s, &s->events[i]);
        judge(s);
        if (fn != NULL)
            fn(ctx, now, &s->state);
        if (i == s->count)
            break;
        pass(s, s->events[i].cycles - now);
        now = s->events[i].cycles;
    }
    if (now < s->join->end && fn != NULL)
        fn(ctx, s->join->end, &s->state);
}

/* All that the file lists, used or not: it lists what the run could have used. */
static void count_cores(struct sweep *s)
{
    const struct tl_swimlane *lane = s->join->lane;

    for (uint32_t i = 0; i < lane->num_cores; i++) {
        unsigned type = lane->core_types[i] == TL_AIV;

        s->types |= 1u << type;
        s->sum.cores[type]++;
    }
    memcpy(s->state.idle, s->sum.cores, sizeof(s->state.idle));
}

int tl__swim_overhead(const struct tl_swim_join *join, tl_swim_state_fn fn, void *ctx,
                      struct tl_swim_overhead *ret_overhead)
{
    struct sweep s = {.join = join};
    int code = TL_ENOMEM;

    if (join->deps == NULL || join->lane->level < 2)
        return TL_ENOTSUP;
    s.events = tl__alloc(2 * ((size_t)join->n_slices + join->n_tasks) + 1, sizeof(*s.events));
    s.depth = tl__alloc((size_t)join->lane->num_cores + 1, sizeof(*s.depth));
    if (s.events == NULL || s.depth == NULL)
        goto out;
    count_cores(&s);
    add_slices(&s);
    add_tasks(&s);
    qsort(s.events, s.count, sizeof(*s.events), by_time);
    run(&s, fn, ctx);
    s.sum.cycles = join->end;
    *ret_overhead = s.sum;
    code = 0;
out:
    tl__free(s.events);
    tl__free(s.depth);
    return code;
}
