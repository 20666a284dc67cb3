/* SPDX-License-Identifier: Apache-2.0 */
#ifdef TASKLENS_CONTROLLED
#include "base/env_controlled.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/controlled_run.h"
#include "base/error.h"

#define CALL_NS 50U    /* what a look at the clock takes on the virtual one: loops that wait for a time end */
#define RELAX_NS 1000U /* and a turn of a bounded spin */

static uint64_t controlled_now_ns(void)
{
    tl__run_account(tl__run);
    tl__run->now_ns += CALL_NS;
    return tl__run->now_ns;
}

static const struct tl__fault_entry *fault_due(const char *name)
{
    struct tl_controlled_run *run = tl__run;
    const struct tl__fault_entry *due = tl__faults_ask(&run->ret->faults, name, &run->fault_random);

    if (due != NULL)
        tl__run_trace(run, "fault %s", name);
    return due;
}

bool tl__fault(const char *name)
{
    return tl__run != NULL && fault_due(name) != NULL;
}

uint64_t tl__fault_value(const char *name, uint64_t absent)
{
    const struct tl__fault_entry *fault = tl__run != NULL ? tl__faults_find(&tl__run->ret->faults, name) : NULL;

    return fault != NULL && fault->has_value ? fault->value : absent;
}

/* The handle that tl__spawn returns is the coroutine. */
static int controlled_spawn(const char *name, void (*fn)(void *arg), void *arg, struct tl_thread **ret_thread)
{
    struct tl_co *co;

    tl__env_yield_point();
    co = fault_due("spawn") != NULL ? NULL : tl__run_add(tl__run, name, fn, arg);
    if (co == NULL)
        return TL_ENOMEM;
    tl__run_trace(tl__run, "starts %s#%u", co->name, co->id);
    *ret_thread = (struct tl_thread *)co;
    tl__env_yield_point();
    return 0;
}

static void controlled_join(struct tl_thread *thread)
{
    struct tl_co *target = (struct tl_co *)thread;

    tl__env_yield_point();
    if (target->joined)
        tl__controlled_fail("%s#%u is joined twice", target->name, target->id);
    if (target->state != TL_CO_ENDED) {
        tl__run->current->target = target;
        tl__run_sleep(tl__run, TL_CO_JOINING, TL_FOREVER);
    }
    target->joined = true;
    tl__fiber_fini(&target->fiber);
}

static uint64_t controlled_look_ns(void)
{
    return tl__fault_value("look", TL_FOREVER);
}

static int controlled_park(tl_au32 *word, uint32_t expected, uint64_t deadline_ns)
{
    struct tl_controlled_run *run = tl__run;
    struct tl_co *me = run->current;

    tl__env_yield_point();
    /* Nobody runs between this look and the sleep, as the kernel's lock has it for a futex. */
    if (atomic_load_explicit(word, memory_order_relaxed) != expected)
        return 0;
    if (run->early_returns && tl__random_next(&run->order_random) % 32 == 0) {
        tl__run_yield(run);
        return 0;
    }
    me->word = word;
    me->expected = expected;
    tl__run_sleep(run, TL_CO_PARKED, deadline_ns);
    return me->timed_out ? TL_ETIMEDOUT : 0;
}

static bool sleeps_on(const struct tl_co *co, const tl_au32 *word)
{
    return co->state == TL_CO_PARKED && co->word == word;
}

/* Wakes one of the sleepers on a word, or nobody. Which one a wake reaches is not specified, so the seed chooses. */
static bool wake_any(struct tl_controlled_run *run, const tl_au32 *word)
{
    struct tl_co *chosen = NULL;
    uint64_t sleepers = 0;

    for (uint32_t i = 0; i < run->count; i++)
        if (sleeps_on(run->all[i], word) && tl__random_next(&run->order_random) % ++sleepers == 0)
            chosen = run->all[i];
    if (chosen == NULL)
        return false;
    tl__run_trace(run, "%s#%u is woken", chosen->name, chosen->id);
    tl__run_make_ready(run, chosen);
    return true;
}

static void controlled_wake(tl_au32 *word, uint32_t n)
{
    uint32_t woken = 0;

    tl__env_yield_point();
    while (woken < n && wake_any(tl__run, word))
        woken++;
    tl__run_hash(tl__run, woken);
    tl__env_yield_point();
}

static void controlled_relax(void)
{
    tl__run->now_ns += RELAX_NS;
    tl__run_yield(tl__run);
}

void tl__controlled_sleep(uint64_t ns)
{
    if (tl__run == NULL)
        return;
    tl__run_account(tl__run);
    tl__run_sleep(tl__run, TL_CO_SLEEPING, tl__run->now_ns + ns);
}

static ssize_t controlled_write_some(int fd, const void *data, size_t bytes, uint64_t offset)
{
    struct tl_controlled_run *run = tl__run;
    const struct tl__fault_entry *fault;
    ssize_t n;

    tl__env_yield_point();
    if ((fault = fault_due("slow_write")) != NULL)
        tl__controlled_sleep(bytes * (fault->has_value ? fault->value : 1));
    if (fault_due("write_eio") != NULL)
        return TL_EIO;
    if (bytes > 1 && (fault = fault_due("short_write")) != NULL) {
        size_t most = fault->has_value && fault->value > 0 ? (size_t)fault->value : bytes / 2;

        bytes = most < bytes ? most : bytes;
    }
    if ((fault = fault_due("disk_full")) != NULL) {
        uint64_t room = fault->value > run->file_bytes ? fault->value - run->file_bytes : 0;

        if (room == 0)
            return TL_ENOSPC;
        bytes = room < bytes ? (size_t)room : bytes;
    }
    n = tl__env_real.write_some(fd, data, bytes, offset);
    if (n > 0)
        run->file_bytes += (uint64_t)n;
    tl__env_yield_point();
    return n;
}

static int controlled_sync(int fd)
{
    tl__env_yield_point();
    return fault_due("sync_eio") != NULL ? TL_EIO : tl__env_real.sync(fd);
}

/* Write-back has no effect that a run could see. */
static void controlled_sync_window(int fd, uint64_t start, uint64_t bytes, uint64_t wait_start, uint64_t wait_bytes)
{
    (void)fd;
    (void)start;
    (void)bytes;
    (void)wait_start;
    (void)wait_bytes;
    tl__env_yield_point();
}

static bool controlled_may_alloc(void)
{
    return fault_due("alloc") == NULL;
}

static void controlled_count_alloc(int change)
{
    tl__run->ret->allocs_live += change;
}

static const struct tl_env_ops controlled_ops = {
    .now_ns = controlled_now_ns,
    .spawn = controlled_spawn,
    .join = controlled_join,
    .park = controlled_park,
    .look_ns = controlled_look_ns,
    .wake = controlled_wake,
    .relax = controlled_relax,
    .write_some = controlled_write_some,
    .sync = controlled_sync,
    .sync_window = controlled_sync_window,
    .may_alloc = controlled_may_alloc,
    .count_alloc = controlled_count_alloc,
};

static void say_va(struct tl_controlled_run *run, const char *format, va_list ap) __attribute__((format(printf, 2, 0)));

static void say_va(struct tl_controlled_run *run, const char *format, va_list ap)
{
    size_t used = strlen(run->ret->text);

    (void)vsnprintf(run->ret->text + used, sizeof(run->ret->text) - used, format, ap);
}

void tl__run_say(struct tl_controlled_run *run, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say_va(run, format, ap);
    va_end(ap);
}

void tl__run_trace(struct tl_controlled_run *run, const char *format, ...)
{
    char line[256];
    va_list ap;
    int at;

    if (run->opts->trace == NULL)
        return;
    at = snprintf(line, sizeof(line), "step %" PRIu64 " t %" PRIu64 " ns %s#%u: ", run->steps + run->budget - run->left,
                  run->now_ns, run->current->name, run->current->id);
    va_start(ap, format);
    (void)vsnprintf(line + at, sizeof(line) - (size_t)at, format, ap);
    va_end(ap);
    run->opts->trace(run->opts->trace_ctx, line);
}

static void describe_park(struct tl_controlled_run *run, const struct tl_co *co)
{
    uint32_t value = atomic_load_explicit(co->word, memory_order_relaxed); /* nobody else runs */

    tl__run_say(run, "parked on %p since step %" PRIu64 ", expects %" PRIu32 ", is %" PRIu32 "%s", (void *)co->word,
                co->since_step, co->expected, value, value != co->expected ? ": a wake is missing" : "");
}

void tl__run_describe(struct tl_controlled_run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const struct tl_co *co = run->all[i];

        if (co->state == TL_CO_ENDED && (co->joined || co->killed))
            continue;
        tl__run_say(run, "  %s#%u ", co->name, co->id);
        switch (co->state) {
        case TL_CO_READY:
            tl__run_say(run, co == run->current ? "runs" : "can run");
            break;
        case TL_CO_PARKED:
            describe_park(run, co);
            break;
        case TL_CO_SLEEPING:
            tl__run_say(run, "sleeps");
            break;
        case TL_CO_JOINING:
            tl__run_say(run, "joins %s#%u", co->target->name, co->target->id);
            break;
        case TL_CO_ENDED:
            tl__run_say(run, "has ended, and was never joined");
            break;
        }
        if (co->frozen_until != 0)
            tl__run_say(run, ", frozen");
        tl__run_say(run, "\n");
    }
}

static int conclude(struct tl_controlled_run *run)
{
    static const struct {
        const char *text;
        int code;
    } outcomes[] = {
        [TL_CONTROLLED_DONE] = {"done", 0},
        [TL_CONTROLLED_HANG] = {"hang: all sleep, and nobody has a deadline", TL_EHANG},
        [TL_CONTROLLED_ENDLESS] = {"endless: the limit on steps is reached", TL_ETIMEDOUT},
        [TL_CONTROLLED_FAILED] = {"failed", TL_ECORRUPT},
        [TL_CONTROLLED_ORPHANS] = {"main returned, and left threads behind", TL_EBUSY},
    };
    struct tl_controlled_report *ret = run->ret;
    char details[TL_CONTROLLED_TEXT_BYTES];

    ret->steps = run->steps;
    ret->elapsed_ns = run->now_ns - UINT64_C(1000000000);
    tl__run_hash(run, run->steps);
    tl__run_hash(run, run->now_ns);
    memcpy(details, ret->text, sizeof(details));
    ret->text[0] = '\0';
    tl__run_say(run, "seed=%" PRIu64 "%s%s: %s at step %" PRIu64 ", %" PRIu64 " us\n", ret->seed,
                run->opts->faults != NULL ? " faults=" : "", run->opts->faults != NULL ? run->opts->faults : "",
                outcomes[ret->outcome].text, run->steps, ret->elapsed_ns / 1000);
    tl__run_say(run, "%s", details);
    return outcomes[ret->outcome].code;
}

int tl__controlled_run(const struct tl_controlled_opts *opts, void (*main)(void *arg), void *arg,
                       struct tl_controlled_report *ret)
{
    struct tl_controlled_run run;
    size_t at = 0;
    int rc;

    *ret = (struct tl_controlled_report){.seed = opts->seed};
    if (tl__run != NULL) {
        (void)snprintf(ret->text, sizeof(ret->text), "%s",
                       "a run is open on this thread; did an assert of the test library leave it?");
        return TL_EINVAL;
    }
    if (tl__faults_parse(opts->faults, &ret->faults, &at) < 0) {
        (void)snprintf(ret->text, sizeof(ret->text), "fault list: cannot read \"%s\"", opts->faults + at);
        return TL_EINVAL;
    }
    tl__run_init(&run, opts, ret);
    run.current = tl__run_add(&run, "main", main, arg);
    if (run.current == NULL) {
        tl__run_fini(&run);
        return TL_ENOMEM;
    }
    tl__run_begin(&run);
    tl__run = &run;
    tl__env_set_ops(&controlled_ops);
    tl__fiber_switch(&run.host, &run.current->fiber, false);
    tl__env_set_ops(NULL);
    tl__run = NULL;
    rc = conclude(&run);
    tl__run_fini(&run);
    return rc;
}

bool tl__controlled_active(void)
{
    return tl__run != NULL;
}

void tl__controlled_fail(const char *format, ...)
{
    va_list ap;

    if (tl__run == NULL)
        abort(); /* a test's own mistake; there is no run to end */
    va_start(ap, format);
    say_va(tl__run, format, ap);
    va_end(ap);
    tl__run_say(tl__run, "\n");
    tl__run_leave(tl__run, TL_CONTROLLED_FAILED);
}

uint64_t tl__controlled_choose(uint64_t n)
{
    return tl__run != NULL ? tl__random_next(&tl__run->choose_random) % n : 0;
}

void tl__controlled_kill(const char *prefix)
{
    if (tl__run == NULL)
        return;
    tl__run_account(tl__run);
    tl__run_kill(tl__run, prefix);
    if (tl__run->current->state == TL_CO_ENDED)
        tl__run_switch(tl__run);
}

void tl__controlled_freeze(const char *prefix, uint64_t ns)
{
    if (tl__run == NULL)
        return;
    tl__run_account(tl__run);
    tl__run_freeze(tl__run, prefix, ns);
    if (tl__run->current->frozen_until != 0)
        tl__run_switch(tl__run);
}

void tl__controlled_trim(void)
{
    if (tl__run == NULL)
        tl__fiber_trim();
}
#endif
