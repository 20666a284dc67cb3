/* SPDX-License-Identifier: Apache-2.0 */
#ifdef TASKLENS_CONTROLLED
#include "base/controlled_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define START_NS UINT64_C(1000000000) /* not 0, so that 0 is never a time that has been */
#define STEP_NS 20U                   /* what a yield point takes on the virtual clock */
#define STEPS_DEFAULT UINT64_C(10000000)

_Thread_local struct tl_controlled_run *tl__run;

static uint64_t below(uint64_t *random, uint64_t n)
{
    return tl__random_next(random) % n;
}

void tl__run_hash(struct tl_controlled_run *run, uint64_t value)
{
    uint64_t h = (run->ret->trace_hash ^ value) * UINT64_C(0x9FB21C651E98DF25);

    run->ret->trace_hash = h ^ h >> 29;
}

/* How long the current one may go on. It never reaches past an event or the end. */
static void draw_budget(struct tl_controlled_run *run)
{
    uint32_t shift = run->mean_shift;
    uint64_t budget;

    if (run->by_priority)
        shift += 2;
    else if (below(&run->order_random, 4) == 0)
        shift = (uint32_t)below(&run->order_random, 10);
    budget = 1 + below(&run->order_random, (uint64_t)2 << shift);
    if (budget > run->steps_max - run->steps)
        budget = run->steps_max - run->steps;
    for (uint32_t i = 0; i < run->event_count; i++)
        if (run->events[i].step - run->steps < budget)
            budget = run->events[i].step - run->steps;
    run->budget = run->left = budget > 0 ? budget : 1;
}

static void init_events(struct tl_controlled_run *run)
{
    const struct tl__faults *faults = &run->ret->faults;

    for (uint32_t i = 0; i < faults->count; i++) {
        const struct tl__fault_entry *fault = &faults->entries[i];
        bool is_kill = strncmp(fault->name, "kill.", 5) == 0;

        if (!is_kill && strncmp(fault->name, "freeze.", 7) != 0)
            continue;
        run->events[run->event_count++] = (struct tl_run_event){
            .step = fault->first,
            .is_kill = is_kill,
            .freeze_ns = fault->has_value ? fault->value : TL_FOREVER,
            .prefix = fault->name + (is_kill ? 5 : 7),
        };
    }
}

void tl__run_init(struct tl_controlled_run *run, const struct tl_controlled_opts *opts,
                  struct tl_controlled_report *ret)
{
    uint64_t random = opts->seed;

    *run = (struct tl_controlled_run){
        .steps_max = opts->steps_max != 0 ? opts->steps_max : STEPS_DEFAULT,
        .stack_bytes = opts->stack_bytes != 0 ? opts->stack_bytes : (size_t)256 << 10,
        .now_ns = START_NS,
        .next_deadline = TL_FOREVER,
        .lowest = UINT64_MAX / 2,
        .opts = opts,
        .ret = ret,
    };
    run->order_random = tl__random_next(&random);
    run->fault_random = tl__random_next(&random);
    run->choose_random = tl__random_next(&random);
    run->by_priority = below(&run->order_random, 4) == 0;
    run->early_returns = below(&run->order_random, 2) == 0;
    run->mean_shift = (uint32_t)below(&run->order_random, 1 + below(&run->order_random, 8));
    init_events(run);
    tl__fiber_init_host(&run->host);
}

void tl__run_begin(struct tl_controlled_run *run)
{
    draw_budget(run);
}

static int make_room(struct tl_controlled_run *run)
{
    uint32_t capacity = run->capacity != 0 ? run->capacity * 2 : 32;
    struct tl_co **all, **ready;

    if (run->count < run->capacity)
        return 0;
    all = realloc(run->all, capacity * sizeof(struct tl_co *));
    if (all != NULL)
        run->all = all;
    ready = realloc(run->ready, capacity * sizeof(struct tl_co *));
    if (ready != NULL)
        run->ready = ready;
    if (all == NULL || ready == NULL)
        return TL_ENOMEM;
    run->capacity = capacity;
    return 0;
}

static bool can_run(const struct tl_co *co)
{
    return co->state == TL_CO_READY && co->frozen_until == 0;
}

/* Brings the list of those that can run up to date with one coroutine. */
static void list(struct tl_controlled_run *run, struct tl_co *co)
{
    bool listed = co->ready_idx != TL_CO_NONE;

    if (can_run(co) == listed)
        return;
    if (!listed) {
        co->ready_idx = run->ready_count;
        run->ready[run->ready_count++] = co;
        return;
    }
    run->ready[co->ready_idx] = run->ready[--run->ready_count];
    run->ready[co->ready_idx]->ready_idx = co->ready_idx;
    co->ready_idx = TL_CO_NONE;
}

static void co_main(void)
{
    struct tl_controlled_run *run = tl__run;
    struct tl_co *co = run->current;

    co->fn(co->arg);
    if (co->id == 0) {
        bool clean = true;

        for (uint32_t i = 1; i < run->count; i++)
            clean = clean && (run->all[i]->joined || run->all[i]->killed);
        tl__run_leave(run, clean ? TL_CONTROLLED_DONE : TL_CONTROLLED_ORPHANS);
    }
    tl__run_account(run);
    tl__run_end_co(run, co);
    tl__run_switch(run);
}

struct tl_co *tl__run_add(struct tl_controlled_run *run, const char *name, void (*fn)(void *arg), void *arg)
{
    struct tl_co *co;

    if (make_room(run) < 0)
        return NULL;
    co = calloc(1, sizeof(*co));
    if (co == NULL)
        return NULL;
    if (tl__fiber_init(&co->fiber, run->stack_bytes, co_main) < 0) {
        free(co);
        return NULL;
    }
    (void)strncpy(co->name, name, sizeof(co->name) - 1);
    co->fn = fn;
    co->arg = arg;
    co->id = run->count;
    co->ready_idx = TL_CO_NONE;
    co->priority = UINT64_MAX / 2 + 1 + below(&run->order_random, UINT64_MAX / 2);
    run->all[run->count++] = co;
    list(run, co);
    return co;
}

void tl__run_fini(struct tl_controlled_run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        tl__fiber_fini(&run->all[i]->fiber);
        free(run->all[i]);
    }
    free(run->all);
    free(run->ready);
}

void tl__run_account(struct tl_controlled_run *run)
{
    uint64_t used = run->budget - run->left;

    run->budget = run->left;
    run->steps += used;
    run->now_ns += used * STEP_NS;
}

void tl__run_make_ready(struct tl_controlled_run *run, struct tl_co *co)
{
    co->state = TL_CO_READY;
    list(run, co);
}

/* Wakes and thaws all whose time has come, and finds out when the next one is. */
static void expire(struct tl_controlled_run *run)
{
    uint64_t next = TL_FOREVER;

    for (uint32_t i = 0; i < run->count; i++) {
        struct tl_co *co = run->all[i];

        if (co->state == TL_CO_ENDED)
            continue;
        if (co->frozen_until != 0 && co->frozen_until <= run->now_ns) {
            co->frozen_until = 0;
            list(run, co);
        }
        if ((co->state == TL_CO_PARKED || co->state == TL_CO_SLEEPING) && co->deadline <= run->now_ns) {
            co->timed_out = true;
            tl__run_make_ready(run, co);
        } else if ((co->state == TL_CO_PARKED || co->state == TL_CO_SLEEPING) && co->deadline < next) {
            next = co->deadline;
        }
        if (co->frozen_until != 0 && co->frozen_until < next)
            next = co->frozen_until;
    }
    run->next_deadline = next;
}

static struct tl_co *pick(struct tl_controlled_run *run)
{
    struct tl_co *best = run->ready[0];

    if (!run->by_priority)
        return run->ready[below(&run->order_random, run->ready_count)];
    for (uint32_t i = 1; i < run->ready_count; i++)
        if (run->ready[i]->priority > best->priority)
            best = run->ready[i];
    return best;
}

static struct tl_co *next_to_run(struct tl_controlled_run *run)
{
    if (run->next_deadline <= run->now_ns)
        expire(run);
    while (run->ready_count == 0) {
        if (run->next_deadline == TL_FOREVER)
            tl__run_leave(run, TL_CONTROLLED_HANG);
        run->now_ns = run->next_deadline;
        tl__run_trace(run, "clock jumps");
        expire(run);
    }
    return pick(run);
}

static void check_limits(struct tl_controlled_run *run)
{
    if (run->steps >= run->steps_max)
        tl__run_leave(run, TL_CONTROLLED_ENDLESS);
    for (uint32_t i = 0; i < run->event_count; i++) {
        struct tl_run_event event = run->events[i];

        if (event.step > run->steps)
            continue;
        run->events[i--] = run->events[--run->event_count];
        if (event.is_kill)
            tl__run_kill(run, event.prefix);
        else
            tl__run_freeze(run, event.prefix, event.freeze_ns);
    }
}

void tl__run_switch(struct tl_controlled_run *run)
{
    struct tl_co *from = run->current, *to;

    tl__run_account(run);
    check_limits(run);
    to = next_to_run(run);
    draw_budget(run);
    tl__run_hash(run, run->steps << 16 ^ to->id);
    if (to == from)
        return;
    run->current = to;
    run->ret->switches++;
    tl__run_trace(run, "%s#%u goes on", to->name, to->id);
    tl__fiber_switch(&from->fiber, &to->fiber, from->state == TL_CO_ENDED);
}

void tl__run_yield(struct tl_controlled_run *run)
{
    if (run->by_priority)
        run->current->priority = --run->lowest;
    tl__run_switch(run);
}

void tl__env_yield_point(void)
{
    struct tl_controlled_run *run = tl__run;

    if (run != NULL && --run->left == 0)
        tl__run_yield(run);
}

void tl__run_sleep(struct tl_controlled_run *run, enum tl_co_state state, uint64_t deadline)
{
    struct tl_co *co = run->current;

    tl__run_account(run);
    co->state = state;
    co->deadline = deadline;
    co->timed_out = false;
    co->since_step = run->steps;
    list(run, co);
    if (state != TL_CO_JOINING && deadline < run->next_deadline)
        run->next_deadline = deadline;
    tl__run_switch(run);
}

void tl__run_end_co(struct tl_controlled_run *run, struct tl_co *co)
{
    co->state = TL_CO_ENDED;
    list(run, co);
    for (uint32_t i = 0; i < run->count; i++)
        if (run->all[i]->state == TL_CO_JOINING && run->all[i]->target == co)
            tl__run_make_ready(run, run->all[i]);
}

static bool is_meant(const struct tl_co *co, const char *prefix)
{
    return co->id != 0 && co->state != TL_CO_ENDED && strncmp(co->name, prefix, strlen(prefix)) == 0;
}

void tl__run_kill(struct tl_controlled_run *run, const char *prefix)
{
    tl__run_hash(run, UINT64_C(0x6B696C6C));
    for (uint32_t i = 0; i < run->count; i++)
        if (is_meant(run->all[i], prefix)) {
            tl__run_trace(run, "%s#%u is killed", run->all[i]->name, i);
            run->all[i]->killed = true;
            tl__run_end_co(run, run->all[i]);
        }
}

void tl__run_freeze(struct tl_controlled_run *run, const char *prefix, uint64_t ns)
{
    uint64_t until = ns < TL_FOREVER - run->now_ns ? run->now_ns + ns : TL_FOREVER;

    tl__run_hash(run, UINT64_C(0x66726565) ^ ns);
    for (uint32_t i = 0; i < run->count; i++)
        if (is_meant(run->all[i], prefix)) {
            tl__run_trace(run, "%s#%u is frozen", run->all[i]->name, i);
            run->all[i]->frozen_until = until;
            list(run, run->all[i]);
        }
    if (until < run->next_deadline)
        run->next_deadline = until;
}

void tl__run_leave(struct tl_controlled_run *run, enum tl_controlled_outcome outcome)
{
    tl__run_account(run);
    run->ret->outcome = outcome;
    if (outcome != TL_CONTROLLED_DONE)
        tl__run_describe(run); /* now, while the words that they are parked on still exist */
    tl__fiber_switch(&run->current->fiber, &run->host, true);
    __builtin_unreachable();
}
#endif
