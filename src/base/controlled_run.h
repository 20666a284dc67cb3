/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a controlled run: its coroutines, its clock, and who goes on next. Seen by controlled_run.c (the order)
 * and env_controlled.c (the environment on top). All of it belongs to the thread that called tl__controlled_run.
 *
 * How the order is chosen. A coroutine gets a budget of yield points; when it is used up, or the coroutine sleeps, the
 * next one is picked. Seeds differ in kind: with three in four, budgets have a mean from 1 to 128 that the seed
 * chooses, small ones more often (and one budget in four any mean from 1 to 512), and the next one is any that can run.
 * With the others each coroutine has a priority; the highest runs, until it sleeps or one of a few random points makes
 * it the lowest. The first kind finds races of many short steps, the second finds what needs one thread to stop for
 * long.
 */
#ifndef TL_BASE_CONTROLLED_RUN_H
#define TL_BASE_CONTROLLED_RUN_H

#ifdef TASKLENS_CONTROLLED

#include "base/env_controlled.h"
#include "base/env_ops.h"
#include "base/fiber.h"

#define TL_CO_NONE UINT32_MAX

enum tl_co_state { TL_CO_READY, TL_CO_PARKED, TL_CO_SLEEPING, TL_CO_JOINING, TL_CO_ENDED };

struct tl_co {
    struct tl_fiber fiber;
    char name[TL_ENV_NAME_BYTES];
    uint32_t id;
    uint32_t ready_idx; /* in run->ready; TL_CO_NONE when it cannot run */
    enum tl_co_state state;
    bool killed, joined, timed_out;
    uint64_t frozen_until; /* 0: not frozen */
    uint64_t deadline;     /* PARKED, SLEEPING */
    tl_au32 *word;         /* PARKED */
    uint32_t expected;
    uint64_t since_step;  /* when it went to sleep */
    struct tl_co *target; /* JOINING */
    uint64_t priority;
    void (*fn)(void *arg);
    void *arg;
};

/* A kill or freeze of the fault list, due at a step. */
struct tl_run_event {
    uint64_t step;
    bool is_kill;
    uint64_t freeze_ns;
    const char *prefix;
};

struct tl_controlled_run {
    struct tl_fiber host;
    struct tl_co *current;
    struct tl_co **all; /* by id */
    uint32_t count, capacity;
    struct tl_co **ready; /* those that can run, in no order; room for `capacity` */
    uint32_t ready_count;

    uint64_t left, budget; /* yield points until the next decision, and how many that was at first */
    uint64_t steps, steps_max;
    uint64_t now_ns;
    uint64_t next_deadline; /* no sleeper or frozen one is due before this */

    bool by_priority, early_returns;
    uint32_t mean_shift;
    uint64_t lowest; /* priority of the coroutine that was put last */
    uint64_t order_random, fault_random, choose_random;

    struct tl_run_event events[TL_FAULTS_MAX];
    uint32_t event_count;

    uint64_t file_bytes; /* written in all, for the fault disk_full */
    size_t stack_bytes;
    const struct tl_controlled_opts *opts;
    struct tl_controlled_report *ret;
};

/* The calling thread's run; NULL outside. */
extern _Thread_local struct tl_controlled_run *tl__run;

/* Sets up generators, clock, first budget and events from opts. The fault list is parsed into run->ret already. */
void tl__run_init(struct tl_controlled_run *run, const struct tl_controlled_opts *opts,
                  struct tl_controlled_report *ret);
/* A new coroutine, ready, or NULL without memory. The run owns it to its end. */
struct tl_co *tl__run_add(struct tl_controlled_run *run, const char *name, void (*fn)(void *arg), void *arg);
/* Draws the first budget. */
void tl__run_begin(struct tl_controlled_run *run);
/* Frees all coroutines. On the host's stack. */
void tl__run_fini(struct tl_controlled_run *run);

/* Counts the yield points used so far into steps and clock. Before anything reads them. */
void tl__run_account(struct tl_controlled_run *run);
/* Lets another go on; the current one goes on when it is picked again. Its state says whether it can be. */
void tl__run_switch(struct tl_controlled_run *run);
/* Like a used-up budget: for relax. */
void tl__run_yield(struct tl_controlled_run *run);
/* Puts the current one to sleep until it is woken or the deadline (TL_FOREVER: none) has come. */
void tl__run_sleep(struct tl_controlled_run *run, enum tl_co_state state, uint64_t deadline);
void tl__run_make_ready(struct tl_controlled_run *run, struct tl_co *co);
/* Ends one coroutine, and readies those that join it. When it is the current one, the caller must switch. */
void tl__run_end_co(struct tl_controlled_run *run, struct tl_co *co);
void tl__run_kill(struct tl_controlled_run *run, const char *prefix);
void tl__run_freeze(struct tl_controlled_run *run, const char *prefix, uint64_t ns);
/* Leaves the run for good, with an outcome; goes on in tl__controlled_run. */
_Noreturn void tl__run_leave(struct tl_controlled_run *run, enum tl_controlled_outcome outcome);

/* Adds to the trace's hash. Only values that are the same in each equal run: no addresses. */
void tl__run_hash(struct tl_controlled_run *run, uint64_t value);
void tl__run_trace(struct tl_controlled_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends to ret->text. */
void tl__run_say(struct tl_controlled_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line for each coroutine: name, state, what it waits for. */
void tl__run_describe(struct tl_controlled_run *run);

#endif
#endif
