/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controlled environment (preset `controlled`): runs a program of many threads as one, in an order that a seed
 * chooses, on a virtual clock, with faults. docs/environment.md shows how to write a test with it.
 *
 * Inside tl__controlled_run the whole of base/env.h belongs to the run, for the calling thread: tl__spawn makes
 * coroutines of it. Other threads, and the time outside a run, keep the real environment. Runs may be side by side
 * on several threads. The order depends on the seed, the faults and the code alone: not on time, addresses or machine.
 */
#ifndef TL_BASE_ENV_CONTROLLED_H
#define TL_BASE_ENV_CONTROLLED_H

#ifdef TASKLENS_CONTROLLED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/faults.h"

#define TL_CONTROLLED_TEXT_BYTES 8192

struct tl_controlled_opts {
    uint64_t seed;
    const char *faults; /* a list as docs/environment.md has it; NULL or "": none */
    uint64_t steps_max; /* yield points in all, beyond which the run counts as endless; 0: 10,000,000 */
    size_t stack_bytes; /* of each coroutine; 0: 256 KiB */
    /* Called for each switch, wake, jump of the clock and fault, one line without newline each. NULL: nobody. */
    void (*trace)(void *ctx, const char *line);
    void *trace_ctx;
};

enum tl_controlled_outcome {
    TL_CONTROLLED_DONE,    /* main returned, and all it started was joined */
    TL_CONTROLLED_HANG,    /* all sleep, and nobody has a deadline */
    TL_CONTROLLED_ENDLESS, /* steps_max */
    TL_CONTROLLED_FAILED,  /* tl__controlled_fail */
    TL_CONTROLLED_ORPHANS, /* main returned, threads were left */
};

struct tl_controlled_report {
    enum tl_controlled_outcome outcome;
    uint64_t seed;
    uint64_t steps;                      /* yield points passed */
    uint64_t switches;                   /* from one coroutine to another */
    uint64_t elapsed_ns;                 /* virtual */
    uint64_t trace_hash;                 /* of the whole order; equal for equal runs */
    int64_t allocs_live;                 /* tl__alloc and tl__reserve minus tl__free and tl__release, since the start */
    struct tl__faults faults;            /* with how often each was asked for, and fired */
    char text[TL_CONTROLLED_TEXT_BYTES]; /* the seed and the outcome; unless DONE, each thread and what it waits for */
};

/*
 * Runs main(arg) and what it spawns to the end. 0 when DONE, else TL_EHANG, TL_ETIMEDOUT (ENDLESS), TL_ECORRUPT
 * (FAILED), TL_EBUSY (ORPHANS), each with *ret filled; TL_EINVAL for a fault list that cannot be read (`text` says
 * where) or a run inside a run, TL_ENOMEM. A run that does not end well is abandoned where it is: what it had
 * allocated is lost.
 */
int tl__controlled_run(const struct tl_controlled_opts *opts, void (*main)(void *arg), void *arg,
                       struct tl_controlled_report *ret);

/* Inside a run (elsewhere: no effect unless said). */
bool tl__controlled_active(void);
/* Ends the run as FAILED with this text. In a coroutine use this, not a test library's assert. Outside: aborts. */
_Noreturn void tl__controlled_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define tl__controlled_check(condition)                                                                                \
    ((condition) ? (void)0 : tl__controlled_fail("%s:%d: %s", __FILE__, __LINE__, #condition))
/* A number below n (> 0) from the seed, apart from the order's own numbers. 0 outside. */
uint64_t tl__controlled_choose(uint64_t n);
/* Sleeps in virtual time. */
void tl__controlled_sleep(uint64_t ns);
/*
 * All threads whose name begins with `prefix`, main excepted: end at once where they are, as in a killed process (a
 * join returns); or stop for `ns` of virtual time (TL_FOREVER), as in a stopped one. The caller may be one.
 */
void tl__controlled_kill(const char *prefix);
void tl__controlled_freeze(const char *prefix, uint64_t ns);

/* Unmaps the stacks that the calling thread keeps for later runs. Only outside a run. */
void tl__controlled_trim(void);

#endif
#endif
