/* SPDX-License-Identifier: Apache-2.0 */
/* The wait for a launched run, with its watchdogs; then the end of its recording, and its outputs. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "host/worker_impl.h"
#include "wire/lane.h"

/* The time that an orchestration may take after its run has failed: its submits are refused, and it should return. */
#define REFUSED_NS UINT64_C(2000000000)
#define LOOKS 8u                        /* number of looks at a run's progress in one budget */
#define LOOK_NS_MAX UINT64_C(500000000) /* the longest time between two looks */

void tl__run_progress(struct tl_run *run, uint64_t *ret_retired, uint64_t *ret_submitted)
{
    struct tl_chip *chip = run->worker->chip;

    *ret_retired = tl__chip_peek(chip, run->status + offsetof(struct tl_run_status, retired));
    *ret_submitted = tl__chip_peek(chip, run->status + offsetof(struct tl_run_status, submitted));
}

static uint64_t allocations_of(struct tl_run *run)
{
    return tl__chip_peek(run->worker->chip, run->status + offsetof(struct tl_run_status, allocations));
}

uint64_t tl__run_last_task(struct tl_run *run)
{
    return tl__chip_peek(run->worker->chip, run->status + offsetof(struct tl_run_status, last_task));
}

bool tl__run_is_launched(struct tl_run *run)
{
    bool launched;

    tl__lock(&run->worker->lock);
    launched = run->stage == TL_RUN_LAUNCHED;
    tl__unlock(&run->worker->lock);
    return launched;
}

bool tl__run_recorded(struct tl_run *run, struct tl_engine_progress *ret_progress)
{
    if (run->recording)
        tl__engine_progress(run->worker->engine, run->epoch, ret_progress);
    return run->recording;
}

/*
 * Parked time as the device counts it, in a word of device memory that a kernel's stray write may hit. A parked lane
 * either gives the host work or gives up after TL_HOST_DEAD_NS. So if the host has had no work for twice that time, no
 * lane is parked, and from there on the time counts for the watchdogs. Time in which the host itself stood still does
 * not count.
 */
static uint64_t believed_parked_ns(struct tl_run *run, uint64_t now)
{
    struct tl_engine *e = run->worker->engine;
    const uint64_t passed = run->looked_ns != 0 ? now - run->looked_ns : 0;

    if (!run->recording)
        return 0;
    run->looked_ns = now;
    if (tl__engine_works(e, &run->seen_jobs))
        run->no_work_ns = 0;
    else
        run->no_work_ns += passed < 2 * LOOK_NS_MAX ? passed : 2 * LOOK_NS_MAX;
    if (run->no_work_ns < 2 * TL_HOST_DEAD_NS)
        run->parked_ns = tl__engine_parked_ns(e, run->epoch);
    return run->parked_ns;
}

/* Time without progress in which no lane was parked. */
static uint64_t idle_ns(struct tl_run *run)
{
    uint64_t now = tl__now_ns(), retired, submitted, moved, parked, idle;

    tl__run_progress(run, &retired, &submitted);
    parked = believed_parked_ns(run, now);
    moved = retired + submitted + allocations_of(run);
    if (moved != run->seen_progress) {
        run->seen_progress = moved;
        run->idle_from_ns = now;
        run->no_work_ns = 0;
        run->idle_parked_ns = parked;
    }
    idle = now - run->idle_from_ns;
    parked -= run->idle_parked_ns < parked ? run->idle_parked_ns : parked;
    return idle > parked ? idle - parked : 0;
}

static uint64_t refused_submits(struct tl_run *run)
{
    const uint64_t n = tl__chip_peek(run->worker->chip, run->status + offsetof(struct tl_run_status, refused_submits));

    tl_fence_acq(); /* F4: the failed run's message; pairs with F3 */
    return n;
}

/* The watchdog that is due after `idle`, or NULL; *ret_left_ns: until the next is. */
static const char *due_watchdog(struct tl_run *run, uint64_t idle, uint64_t *ret_left_ns)
{
    const struct tl_timeouts *t = &run->worker->timeouts;
    const uint64_t op = t->op_execute_us * 1000, sync = t->stream_sync_ms * 1000000, least = op < sync ? op : sync;

    if (idle >= REFUSED_NS && refused_submits(run) != 0)
        return "limit of 2 s for an orchestration whose run has failed";
    if (idle >= op)
        return "op-execute timeout (TASKLENS_OP_EXECUTE_TIMEOUT_US)";
    if (idle >= sync)
        return "stream-sync timeout (TASKLENS_STREAM_SYNC_TIMEOUT_MS)";
    /* Progress is dated by the look that saw it, so a budget may end late by one look: an eighth of it, or half a
     * second. */
    *ret_left_ns = least / LOOKS < LOOK_NS_MAX ? least / LOOKS : LOOK_NS_MAX;
    if (least - idle < *ret_left_ns)
        *ret_left_ns = least - idle;
    return NULL;
}

/* ---- The end of a run ---- */

static bool is_fault(int signal_number)
{
    return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGFPE || signal_number == SIGILL ||
           signal_number == SIGABRT;
}

/* The chip has died. Its status, if it wrote one, is more precise than the way its process ended. */
static void settle_dead(struct tl_run *run)
{
    int signal_number;
    const char *death = tl__chip_death(run->worker->chip, &signal_number);

    run->dead = true;
    if (run->end.code != 0) {
        run->code = -(int)run->end.code;
        (void)tl__fail(&run->error, run->code, "%s: %s", tl_strerror(run->code), run->end.message);
    } else if (is_fault(signal_number)) {
        run->code = tl__fail(&run->error, TL_ECRASH, "%s: the chip %s", tl_strerror(TL_ECRASH), death);
    } else {
        run->code = tl__fail(&run->error, TL_EDEVICE, "%s: it %s", tl_strerror(TL_EDEVICE), death);
    }
}

static void settle_done(struct tl_run *run, int code)
{
    run->code = run->end.code != 0 ? -(int)run->end.code : code;
    if (run->code != 0)
        (void)tl__fail(&run->error, run->code, "%s", run->end.message[0] ? run->end.message : tl_strerror(run->code));
}

/* The run has failed, and its orchestration still submits, or does not return for another reason. */
static void tell_failed(struct tl_run *run, const char *watchdog, double run_s, uint64_t refused)
{
    const char *why = tl_strerror(-(int)run->end.code);
    char message[sizeof(run->end.message)], goes_on[80] = "";

    /* F4: the thread that refused a submit wrote the message before; pairs with F3. The rest of the status may
     * change. */
    if (refused != 0 &&
        tl__chip_copy_out(run->worker->chip, message, run->status + offsetof(struct tl_run_status, message),
                          sizeof(message)) == 0) {
        message[sizeof(message) - 1] = '\0';
        why = message;
    }
    if (refused != 0)
        (void)snprintf(goes_on, sizeof(goes_on), ": submits still go on, %" PRIu64 " of them refused so far", refused);
    run->code = tl__fail(&run->error, TL_ETIMEDOUT,
                         "%.600s; the orchestration did not return after that%s; the %s ended the run %.1f s after its "
                         "launch",
                         why, goes_on, watchdog, run_s);
}

/* All submitted tasks are done, and the orchestration has not returned. */
static void tell_orchestration(struct tl_run *run, const char *watchdog, double idle_s, double run_s)
{
    const uint64_t submitted = run->end.submitted;
    const bool built_first = run->args.runtime == TL_RUNTIME_HOST_BUILD;

    run->code = tl__fail(&run->error, TL_ETIMEDOUT,
                         "the orchestration did not return: it submitted %" PRIu64 " task%s%s, and then nothing for "
                         "%.1f s; the %s ended the run %.1f s after its launch",
                         submitted, submitted == 1 ? "" : "s",
                         submitted == 0 ? ""
                         : built_first  ? ", none of which runs before it returns"
                                        : ", all of which are done",
                         idle_s, watchdog, run_s);
}

static void settle_timeout(struct tl_run *run, const char *watchdog)
{
    struct tl_worker *w = run->worker;
    const uint64_t now = tl__now_ns();
    const double idle_s = (double)(now - run->idle_from_ns) / 1e9, run_s = (double)(now - run->launched_ns) / 1e9;
    const bool runs =
        tl__chip_peek(w->chip, run->status + offsetof(struct tl_run_status, orchestration)) == TL_ORCHESTRATION_RUNS;
    const uint64_t refused = refused_submits(run);

    if (runs && run->end.code != 0)
        tell_failed(run, watchdog, run_s, refused);
    else if (runs && (run->end.retired == run->end.submitted || run->args.runtime == TL_RUNTIME_HOST_BUILD))
        tell_orchestration(run, watchdog, idle_s, run_s);
    else
        run->code = tl__fail(&run->error, TL_ETIMEDOUT,
                             "the device was stopped by the %s: nothing happened for %.1f s, %" PRIu64 " of %" PRIu64
                             " tasks retired%s; the run lasted %.1f s",
                             watchdog, idle_s, (uint64_t)run->end.retired, (uint64_t)run->end.submitted,
                             runs ? ", and the orchestration has not returned" : "", run_s);
    run->dead = tl__chip_kill(w->chip) == 0;
    if (!run->dead)
        w->poisoned_epoch = run->epoch;
}

/* Reads the run's status: as a whole once the device is done with it, word by word while it may still write. */
static void read_status(struct tl_run *run, bool at_rest)
{
    struct tl_chip *chip = run->worker->chip;
    uint64_t word, retired, submitted;

    if (at_rest && tl__chip_copy_out(chip, &run->end, run->status, sizeof(run->end)) == 0)
        return;
    memset(&run->end, 0, sizeof(run->end));
    word = tl__chip_peek(chip, run->status); /* state, then code */
    run->end.state = (uint32_t)word;
    run->end.code = (uint32_t)(word >> 32);
    tl__run_progress(run, &retired, &submitted);
    run->end.retired = retired;
    run->end.submitted = submitted;
    run->end.allocations = allocations_of(run);
}

void tl__run_note_end(struct tl_run *run, const struct tl_ending *ending)
{
    struct tl_worker *w = run->worker;
    const enum tl_chip_event event = ending->event;

    read_status(run, event != TL_CHIP_TIMEOUT);
    if (run->end.wall_ns == 0) /* the device died before it wrote it: the time that the host measured */
        run->end.wall_ns = tl__now_ns() - run->launched_ns;
    run->end.message[sizeof(run->end.message) - 1] = '\0';
    run->end.block[sizeof(run->end.block) - 1] = '\0';
    if (event == TL_CHIP_DEAD)
        settle_dead(run);
    else if (event != TL_CHIP_TIMEOUT)
        settle_done(run, ending->code);
    else
        settle_timeout(run, ending->watchdog);
    tl__crash_report(run);
    /* A kernel that hangs holds a thread of the chip: a process can be replaced, a thread cannot. */
    run->stuck = event == TL_CHIP_STUCK || run->code == TL_EHANG;
    if (run->stuck && w->opts.mode == TL_DEVICE_THREAD)
        w->poisoned_epoch = run->epoch;
    run->stage = TL_RUN_SETTLED;
}

int tl__run_await(struct tl_run *run, uint64_t deadline_ns, struct tl_ending *ret_ending)
{
    struct tl_worker *w = run->worker;

    for (;;) {
        uint64_t left = 0, now = tl__now_ns(), until;

        *ret_ending = (struct tl_ending){.watchdog = due_watchdog(run, idle_ns(run), &left)};
        until = left < TL_FOREVER - now ? now + left : TL_FOREVER;
        ret_ending->event = tl__chip_wait(w->chip,
                                          ret_ending->watchdog != NULL ? now
                                          : until < deadline_ns        ? until
                                                                       : deadline_ns,
                                          &ret_ending->code);
        if (ret_ending->event != TL_CHIP_TIMEOUT || ret_ending->watchdog != NULL)
            return 0;
        if (tl__now_ns() >= deadline_ns)
            return TL_ETIMEDOUT;
    }
}

int tl__run_settle(struct tl_run *run, uint64_t deadline_ns)
{
    int rc;

    tl__lock(&run->worker->lock);
    rc = tl__queue_settle(run, deadline_ns);
    tl__unlock(&run->worker->lock);
    return rc;
}

/* ---- Wait ---- */

static int fetch_outputs(struct tl_run *run, struct tl_error *reterr)
{
    for (uint32_t i = 0; i < run->n_tensors; i++) {
        int rc = run->tensors[i].role == TL_IN ? 0
                                               : tl__chip_copy_out(run->worker->chip, run->tensors[i].data,
                                                                   run->tensor_addr[i], run->tensor_bytes[i]);
        if (rc != 0)
            return tl__fail(reterr, rc, "cannot copy output %u back from the device: %s", i, tl_strerror(rc));
    }
    return 0;
}

void tl__run_free(struct tl_run *run)
{
    struct tl_worker *w = run->worker;
    struct tl_run **at = &w->runs;

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    if (w->running == run)
        w->running = NULL;
    if (w->poisoned_epoch == 0) { /* else a stuck kernel may still write there */
        for (uint32_t i = 0; i < run->n_tensors; i++)
            tl__chip_free(w->chip, run->tensor_block[i]);
        tl__chip_free(w->chip, run->block);
    }
    tl__free(run);
}

void tl__run_finish(struct tl_run *run)
{
    struct tl_run_result *result = &run->result;

    result->tasks = run->end.retired;
    result->allocations = run->end.allocations;
    result->wall_ns = run->end.wall_ns;
    result->parked_ns = run->end.parked_ns;
    if (run->code == 0)
        run->code = fetch_outputs(run, &run->error);
    result->run_code = run->code;
    if (run->recording)
        result->record_code = tl__recording_end(run, result, &run->record_error);
    if (run->stuck) /* a kernel still holds a thread of the chip; the next launch starts a new chip */
        (void)tl__chip_kill(run->worker->chip);
    run->stage = TL_RUN_FINISHED;
}

TL_API int tl_worker_wait(struct tl_worker *w, struct tl_run *run, struct tl_run_result *result,
                          struct tl_error *reterr)
{
    int code;

    if (w == NULL || run == NULL) {
        if (result != NULL)
            *result = (struct tl_run_result){.run_code = TL_EINVAL};
        return tl__fail(reterr, TL_EINVAL, "there is nothing to wait for: %s is NULL",
                        w == NULL ? "the worker" : "the run");
    }
    tl__lock(&w->lock);
    (void)tl__queue_settle(run, TL_FOREVER);
    if (run->stage != TL_RUN_FINISHED)
        tl__run_finish(run);
    if (result != NULL)
        *result = run->result;
    code = run->code != 0 ? run->code : run->result.record_code;
    if (code != 0 && reterr != NULL)
        *reterr = run->code != 0 ? run->error : run->record_error;
    if (run->code != 0 && run->result.record_code != 0)
        tl_log_warn("the recording of the failed run is incomplete: %s", run->record_error.msg);
    tl__run_free(run);
    tl__unlock(&w->lock);
    return code;
}

TL_API int tl_worker_run(struct tl_worker *w, struct tl_loaded *program, const struct tl_submit_opts *opts,
                         struct tl_run_result *result, struct tl_error *reterr)
{
    struct tl_run *run;
    int rc;

    if (result != NULL)
        memset(result, 0, sizeof(*result));
    rc = tl_worker_submit(w, program, opts, &run, reterr);
    if (rc == 0)
        return tl_worker_wait(w, run, result, reterr);
    if (result != NULL)
        result->run_code = rc; /* refused: no task ran, and the result says so */
    return rc;
}
