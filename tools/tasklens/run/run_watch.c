/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "host/rank_report.h"

#define POST_NS UINT64_C(50000000)
#define FRESH_NS UINT64_C(150000000) /* after so long the others' notes are no older than what they say */

static void post(struct tl_rank_watch *w)
{
    tl__board_post(w->board, w->rank, &w->note);
    w->posted_ns = tl__now_ns();
}

void tl__watch_begin(struct tl_rank_watch *w, struct tl_rank_board *board, uint32_t rank)
{
    w->board = board;
    w->rank = rank;
    w->note = (struct tl_rank_note){.state = TL_RANK_STARTING, .still_ns = tl__unix_ns()};
    post(w);
}

void tl__watch_dispatch(struct tl_rank_watch *w, uint64_t dispatch)
{
    if (w->note.state == TL_RANK_RUNNING && dispatch != 0)
        return; /* it waits behind one that is on the chip */
    w->note.state = TL_RANK_RUNNING;
    w->note.dispatch = dispatch;
    w->note.retired = w->note.submitted = 0;
    w->note.still_ns = tl__unix_ns();
    post(w);
}

static void look(struct tl_rank_watch *w, struct tl_run *run)
{
    uint64_t retired, submitted, now = tl__unix_ns();

    tl__run_progress(run, &retired, &submitted);
    if (retired != w->note.retired || submitted != w->note.submitted)
        w->note.still_ns = now;
    if (retired != w->note.retired && tl__run_last_task(run) != 0) {
        w->note.last_task = tl__run_last_task(run);
        w->note.last_ns = now;
    }
    w->note.retired = retired;
    w->note.submitted = submitted;
}

void tl__watch_run(struct tl_rank_watch *w, struct tl_run *run)
{
    if (tl__now_ns() < w->posted_ns + POST_NS)
        return;
    if (tl__run_is_launched(run))
        look(w, run);
    post(w);
}

/* ---- standing still ---- */

static void tell_line(void *ctx, const char *text)
{
    (void)ctx;
    tl_log_error("[RANKS] %s", text);
}

static void tell(struct tl_rank_watch *w)
{
    uint32_t n = tl__board_ranks(w->board);
    struct tl_rank_view *ranks;
    tl_au32 never = 0;

    if (!tl__board_tells(w->board, w->rank))
        return; /* another has, or does */
    (void)tl__park(&never, 0, tl__now_ns() + FRESH_NS);
    ranks = tl__alloc(n, sizeof(*ranks));
    if (ranks == NULL)
        return;
    for (uint32_t i = 0; i < n; i++) {
        tl__board_read(w->board, i, &ranks[i].note);
        ranks[i].gone = !tl__board_lives(&ranks[i].note);
    }
    tl_log_error("[RANKS] rank %" PRIu32 " makes no progress; all %" PRIu32 " ranks:", w->rank, n);
    tl__rank_report(ranks, n, tl__unix_ns(), tell_line, NULL);
    tl__free(ranks);
}

/* Of "no progress for 2.0 s with 3 of 5 tasks unfinished: task r0t2 ...": the task. */
static const char *cause(const char *message)
{
    const char *task = strstr(message, "unfinished: task ");

    return task != NULL ? task + strlen("unfinished: ") : message;
}

void tl__watch_ended(struct tl_rank_watch *w, uint64_t tasks, int code, const char *message)
{
    bool stalled = code == TL_EHANG || code == TL_ETIMEDOUT;

    if (tasks != w->note.retired && code == 0)
        w->note.last_ns = w->note.still_ns = tl__unix_ns();
    w->note.retired = tasks;
    if (w->note.submitted < tasks)
        w->note.submitted = tasks;
    if (code != 0) {
        w->note.state = stalled ? TL_RANK_STALLED : TL_RANK_FAILED;
        (void)snprintf(w->note.waits, sizeof(w->note.waits), "%s", cause(message));
    }
    post(w);
    if (stalled)
        tell(w);
}

void tl__watch_end(struct tl_rank_watch *w)
{
    if (w->note.state <= TL_RANK_RUNNING)
        w->note.state = TL_RANK_DONE;
    post(w);
}
