/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches are given to the chips in turn, or as --pin says. Each chip has up to DEPTH of them, one on the device and
 * one prepared behind it, each with host data of its own, and all chips work at once; their results are waited for and
 * printed in the order of the dispatches.
 */
#include "run/run_ranks.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/pathname.h"
#include "base/safe_text.h"
#include "cmd.h"
#include "host/rank_tree.h"
#include "host/worker_impl.h"
#include "opts.h"
#include "run/run_setup.h"
#include "run/run_signal.h"
#include "run/run_watch.h"

#define COMMAND "run"
#define DEPTH 2u
#define ALONE_NS UINT64_C(50000000) /* how long one run is waited for before the board is looked after */
#define AMONG_NS UINT64_C(1000000)  /* and before the other chips are, which may have ended theirs */

struct chip {
    struct tl_worker *worker;
    struct tl_loaded *loaded;
    uint32_t rank, dispatches; /* given to it so far */
    struct tl_rank_watch watch;
};

/* A dispatch under way. */
struct slot {
    struct chip *chip;
    struct tl_run *run; /* NULL: nothing is */
    struct tl_data *data;
    uint32_t dispatch; /* of its chip */
    bool settled, records;
    char dir[TL_PATHNAME_BYTES];
};

struct ranks {
    struct tl_run_session *s;
    const struct tl_launcher *launcher;
    uint32_t n_chips, n_ranks, n_slots;
    struct chip chips[TL_RUN_MAX_CHIPS];
    struct slot *slots;
    uint16_t *pins; /* by dispatch; NULL: in turn */
    struct tl_rank_board *board;
    struct tl_rank_clocks *clocks;
    char job[96];
    int worst;
};

void tl__ranks_prefix(const struct tl_run_session *s, const struct tl_launcher *launcher, char *prefix, size_t size)
{
    uint32_t chips = s->o.chips > 0 ? (uint32_t)s->o.chips : 1, first = launcher->rank * chips;

    if (chips == 1)
        (void)snprintf(prefix, size, "rank %" PRIu32 ": ", first);
    else
        (void)snprintf(prefix, size, "ranks %" PRIu32 "-%" PRIu32 ": ", first, first + chips - 1);
}

/* Of two exit codes the one that counts: the device's failure, a refusal, what is not whole, what differs. */
static int worse(int a, int b)
{
    static const int order[] = {
        [TL_EXIT_OK] = 0, [TL_EXIT_DIFFERS] = 1, [TL_EXIT_USAGE] = 3, [TL_EXIT_DEVICE] = 4, [TL_EXIT_INCOMPLETE] = 2};

    return order[a] >= order[b] ? a : b;
}

/* ---- setting up ---- */

/* "1": all on chip 1; "0,1,1": one a dispatch. */
static int read_pins(struct ranks *r)
{
    const char *at = r->s->o.pin;
    int64_t dispatches = r->s->o.rounds, n = 0;

    if (at == NULL)
        return 0;
    r->pins = tl__alloc((size_t)dispatches, sizeof(*r->pins));
    if (r->pins == NULL)
        return tl__cmd_fail(COMMAND, "no memory for %" PRId64 " dispatches", dispatches);
    for (;; n++) {
        char *end;
        unsigned long chip = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : ULONG_MAX;

        if (chip >= r->n_chips || (*end != ',' && *end != '\0'))
            return tl__cmd_fail(COMMAND, "--pin takes chips from 0 to %" PRIu32 ", as 0,1,1; not \"%s\"",
                                r->n_chips - 1, r->s->o.pin);
        if (n < dispatches)
            r->pins[n] = (uint16_t)chip;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    if (n == 0)
        for (n = 1; n < dispatches; n++)
            r->pins[n] = r->pins[0];
    else if (++n != dispatches)
        return tl__cmd_fail(COMMAND,
                            "--pin names the chips of %" PRId64 " dispatches, and there are %" PRId64 " (--rounds)", n,
                            dispatches);
    return 0;
}

static int open_chips(struct ranks *r)
{
    struct tl_worker_opts opts = r->s->o.worker;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->n_chips; i++) {
        struct chip *c = &r->chips[i];

        c->rank = r->launcher->rank * r->n_chips + i;
        opts.device_id = r->s->o.worker.device_id + (int)i;
        opts.depth = DEPTH;
        rc = tl__run_open(r->s, &opts, &c->worker, &c->loaded);
    }
    if (rc == 0)
        r->s->program = tl_loaded_program(r->chips[0].loaded);
    return rc;
}

static int make_slots(struct ranks *r)
{
    int64_t n = (int64_t)r->n_chips * DEPTH;
    int rc = 0;

    r->n_slots = (uint32_t)(n < r->s->o.rounds ? n : r->s->o.rounds);
    r->slots = tl__alloc(r->n_slots, sizeof(*r->slots));
    if (r->slots == NULL)
        return tl__cmd_fail(COMMAND, "no memory for %" PRIu32 " dispatches at a time", r->n_slots);
    for (uint32_t i = 0; rc == 0 && i < r->n_slots; i++) {
        rc = tl__run_data(r->s, &r->slots[i].data);
        if (rc == 0)
            rc = tl__run_golden(r->s, r->slots[i].data);
    }
    return rc;
}

/* What all processes of the job have in common; alone this process is the job. */
static void name_job(struct ranks *r)
{
    if (r->launcher->ranks > 1)
        (void)snprintf(r->job, sizeof(r->job), "%s", r->launcher->job);
    else
        (void)snprintf(r->job, sizeof(r->job), "%d.%" PRIu64, (int)getpid(), tl__unix_ns());
}

/* The root and its claim, the ranks' directories, their clocks. */
static int make_tree(struct ranks *r)
{
    struct tl_run_session *s = r->s;
    bool recording = s->o.recording;
    struct tl_error err;
    int rc = 0;

    name_job(r);
    if (recording)
        rc = tl__rank_root(s->o.out, r->launcher, s->program->name, s->case_name, s->dir, sizeof(s->dir), &err);
    if (rc == 0)
        rc = tl__board_open(recording ? s->dir : NULL, r->job, r->n_ranks, &r->board, &err);
    for (uint32_t i = 0; rc == 0 && i < r->n_chips; i++) {
        rc = tl__board_take(r->board, r->chips[i].rank, &err);
        if (rc == 0 && recording)
            rc = tl__rank_dir_make(s->dir, r->chips[i].rank, &err);
        if (rc == 0)
            tl__watch_begin(&r->chips[i].watch, r->board, r->chips[i].rank);
    }
    if (rc == 0 && recording)
        rc = tl__rank_clocks_begin(s->dir, r->chips[0].rank, r->n_chips, &r->clocks, &err);
    return rc == 0 ? 0 : tl__cmd_fail(COMMAND, "%s", err.msg);
}

static int set_up(struct ranks *r)
{
    int rc = open_chips(r);

    if (rc == 0)
        rc = read_pins(r);
    if (rc == 0)
        rc = make_slots(r);
    return rc != 0 ? rc : make_tree(r);
}

/* ---- dispatching ---- */

static bool in_window(const struct ranks *r, int64_t i)
{
    return r->s->o.recording && (!r->s->o.has_window || (i >= r->s->o.window_first && i <= r->s->o.window_last));
}

/* The leaf of a dispatch, and what it says of itself. */
static int make_leaf(struct ranks *r, struct slot *slot)
{
    const struct tl_run_session *s = r->s;
    struct tl_dispatch d = {.rank = slot->chip->rank, .ranks = r->n_ranks, .dispatch = slot->dispatch};
    struct tl_error err;

    (void)snprintf(d.program, sizeof(d.program), "%s", s->program->name);
    (void)snprintf(d.case_name, sizeof(d.case_name), "%s", s->case_name);
    (void)snprintf(d.platform, sizeof(d.platform), "%s", s->o.worker.platform);
    (void)snprintf(d.runtime, sizeof(d.runtime), "%s", s->o.config.runtime);
    (void)snprintf(d.job, sizeof(d.job), "%s", r->job);
    if (slot->chip->loaded->object.path != NULL)
        (void)snprintf(d.program_hash, sizeof(d.program_hash), "xxh3:%016" PRIx64, slot->chip->loaded->object.hash);
    if (tl__rank_leaf_make(s->dir, &d, slot->dir, sizeof(slot->dir), &err) != 0)
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    return 0;
}

/* Gives dispatch `i` to its chip. 0, or an exit code. */
static int submit(struct ranks *r, int64_t i)
{
    struct tl_run_session *s = r->s;
    struct slot *slot = &r->slots[i % r->n_slots];
    struct tl_submit_opts given = TL_SUBMIT_OPTS_INIT;
    struct tl_run_config config = s->o.config;
    struct tl_error err;
    int rc = 0;

    slot->chip = &r->chips[r->pins != NULL ? r->pins[i] : (uint32_t)(i % r->n_chips)];
    slot->dispatch = slot->chip->dispatches;
    slot->settled = false;
    slot->records = in_window(r, i);
    slot->dir[0] = '\0';
    if (slot->records)
        rc = make_leaf(r, slot);
    if (rc != 0)
        return rc;
    if (!slot->records)
        memset(config.levels, 0, sizeof(config.levels));
    config.output_prefix = slot->records ? slot->dir : NULL;
    config.case_name = s->case_name;
    if (i >= r->n_slots)
        tl__data_reset(slot->data);
    given.tensors = tl__data_tensors(slot->data);
    given.n_tensors = tl__data_count(slot->data);
    given.params = s->params;
    given.n_params = s->program->n_params;
    given.config = &config;
    rc = tl_worker_submit(slot->chip->worker, slot->chip->loaded, &given, &slot->run, &err);
    if (rc != 0) {
        slot->run = NULL;
        (void)tl__cmd_fail(COMMAND, "rank %" PRIu32 ", dispatch %" PRIu32 ": %s", slot->chip->rank, slot->dispatch,
                           err.msg);
        return tl__run_refused(rc, s->o.recording && i > 0);
    }
    tl__watch_dispatch(&slot->chip->watch, slot->dispatch);
    slot->chip->dispatches++;
    return 0;
}

/* ---- waiting ---- */

/* The oldest dispatch of a chip that its device is not done with, or NULL. */
static struct slot *active_of(struct ranks *r, const struct chip *chip)
{
    struct slot *oldest = NULL;

    for (uint32_t i = 0; i < r->n_slots; i++) {
        struct slot *slot = &r->slots[i];

        if (slot->run != NULL && !slot->settled && slot->chip == chip &&
            (oldest == NULL || slot->dispatch < oldest->dispatch))
            oldest = slot;
    }
    return oldest;
}

/* Looks after the other chips, so that each launches its next run when one ends; and the board. True: some are at it.
 */
static bool serve_others(struct ranks *r, const struct chip *but)
{
    bool any = false;

    for (uint32_t i = 0; i < r->n_chips; i++) {
        struct slot *slot = &r->chips[i] == but ? NULL : active_of(r, &r->chips[i]);

        if (slot == NULL)
            continue;
        tl__watch_run(&slot->chip->watch, slot->run);
        slot->settled = tl__run_settle(slot->run, tl__now_ns()) == 0;
        any = true;
    }
    return any;
}

static void settle(struct ranks *r, struct slot *slot)
{
    while (!slot->settled) {
        bool others = serve_others(r, slot->chip);
        struct slot *first = active_of(r, slot->chip); /* it may wait behind another of its chip */

        first->settled = tl__run_settle(first->run, tl__now_ns() + (others ? AMONG_NS : ALONE_NS)) == 0;
        tl__watch_run(&slot->chip->watch, first->run);
    }
}

/* The next dispatch of the chip is on the device now. */
static void go_on(struct ranks *r, struct chip *chip)
{
    const struct slot *next = active_of(r, chip);

    if (next == NULL || chip->watch.note.state > TL_RANK_RUNNING)
        return;
    chip->watch.note.state = TL_RANK_STARTING;
    tl__watch_dispatch(&chip->watch, next->dispatch);
}

/* Waits for dispatch `i` and prints its result. Its exit code. */
static int finish(struct ranks *r, int64_t i)
{
    struct tl_run_session *s = r->s;
    struct slot *slot = &r->slots[i % r->n_slots];
    struct tl_run_result result;
    struct tl_error err = {0};
    int rc;

    settle(r, slot);
    tl__watch_run(&slot->chip->watch, slot->run);
    rc = tl_worker_wait(slot->chip->worker, slot->run, &result, &err);
    slot->run = NULL;
    s->data = slot->data;
    (void)snprintf(s->heading, sizeof(s->heading), "rank %" PRIu32 ", dispatch %" PRIu32, slot->chip->rank,
                   slot->dispatch);
    s->differs = false;
    tl__report_round(s, i, slot->dir, &result);
    if (fflush(stdout) != 0)
        return tl__cmd_finish(COMMAND);
    if (rc != 0)
        (void)tl__cmd_fail(COMMAND, "rank %" PRIu32 ", dispatch %" PRIu32 ": %s", slot->chip->rank, slot->dispatch,
                           err.msg);
    tl__watch_ended(&slot->chip->watch, result.tasks, result.run_code, err.msg);
    go_on(r, slot->chip);
    if (result.run_code != 0)
        return tl__run_exit(result.run_code);
    return result.record_code != 0 ? TL_EXIT_INCOMPLETE : s->differs ? TL_EXIT_DIFFERS : TL_EXIT_OK;
}

/* After a failure nothing more is given to any chip; what they have is finished. */
static void dispatch_all(struct ranks *r)
{
    int64_t submitted = 0, finished = 0, total = r->s->o.rounds;
    bool stop = false;

    while (finished < submitted || (submitted < total && !stop)) {
        while (!stop && submitted < total && submitted - finished < r->n_slots) {
            int rc = submit(r, submitted);

            r->worst = worse(r->worst, rc);
            stop = rc != 0;
            submitted += rc == 0;
        }
        if (finished < submitted) {
            int rc = finish(r, finished++);

            r->worst = worse(r->worst, rc);
            stop = stop || rc == TL_EXIT_DEVICE || rc == TL_EXIT_USAGE;
        }
    }
    if (submitted < total)
        (void)tl__cmd_fail(COMMAND, "%" PRId64 " of %" PRId64 " dispatches were not begun after that",
                           total - submitted, total);
}

/* ---- the whole ---- */

static void print_head(const struct ranks *r)
{
    const struct tl_run_session *s = r->s;
    int first = s->o.worker.device_id;

    char program[TL_SHOWN_BYTES], case_name[TL_SHOWN_BYTES];

    printf(
        "%s, case %s, %" PRId64 " dispatch%s on ", tl__safe(program, sizeof(program), TL_SAFE_NAME, s->program->name),
        tl__safe(case_name, sizeof(case_name), TL_SAFE_NAME, s->case_name), s->o.rounds, s->o.rounds == 1 ? "" : "es");
    if (r->n_chips > 1)
        printf("%" PRIu32 " chips (devices %d to %d, ranks %" PRIu32 " to %" PRIu32 " of %" PRIu32 ")", r->n_chips,
               first, first + (int)r->n_chips - 1, r->chips[0].rank, r->chips[r->n_chips - 1].rank, r->n_ranks);
    else
        printf("one chip (device %d, rank %" PRIu32 " of %" PRIu32 ")", first, r->chips[0].rank, r->n_ranks);
    printf(", %s with %s\n", s->o.worker.platform, s->o.config.runtime);
}

static void tear_down(struct ranks *r, bool *ret_poisoned)
{
    for (uint32_t i = 0; i < r->n_chips; i++) {
        struct tl_worker *w = r->chips[i].worker;

        *ret_poisoned |= w != NULL && tl__worker_poisoned(w);
        tl_worker_close(w);
    }
    tl__board_close(r->board);
    for (uint32_t i = 0; !*ret_poisoned && i < r->n_slots; i++)
        tl__data_destroy(r->slots[i].data);
    r->s->data = NULL;
    tl__free(r->slots);
    tl__free(r->pins);
}

static int run_all(struct ranks *r)
{
    struct tl_error err;

    print_head(r);
    if (r->s->o.recording) {
        char leaves[sizeof(r->s->dir) + 16];

        (void)snprintf(leaves, sizeof(leaves), "%s/rank<R>/d<K>", r->s->dir);
        tl__signal_tells(leaves);
    }
    dispatch_all(r);
    tl__signal_tells_nothing();
    for (uint32_t i = 0; i < r->n_chips; i++)
        tl__watch_end(&r->chips[i].watch);
    if (tl__rank_clocks_end(r->clocks, &err) != 0)
        r->worst = worse(r->worst, tl__cmd_fail(COMMAND, "%s", err.msg));
    r->s->data = r->slots[0].data; /* whose names make the width of the report's columns */
    if (r->launcher->rank == 0)
        tl__report_tail(r->s);
    if (fflush(stdout) != 0)
        r->worst = tl__cmd_finish(COMMAND);
    return r->worst;
}

int tl__run_ranks(struct tl_run_session *s, const struct tl_launcher *launcher, bool *ret_poisoned)
{
    static struct ranks r; /* zeroed */
    int rc;

    r.s = s;
    r.launcher = launcher;
    r.n_chips = s->o.chips > 0 ? (uint32_t)s->o.chips : 1;
    r.n_ranks = launcher->ranks * r.n_chips;
    if (r.n_ranks > TL_MAX_RANKS)
        return tl__cmd_fail(COMMAND, "%" PRIu32 " ranks are more than %u", r.n_ranks, TL_MAX_RANKS);
    rc = set_up(&r);
    if (rc == 0)
        rc = run_all(&r);
    tear_down(&r, ret_poisoned);
    return rc;
}
