/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a distributed run know of each other while it lasts: see host/rank_board_file.h. */
#ifndef TL_TOOLS_RUN_WATCH_H
#define TL_TOOLS_RUN_WATCH_H

#include "host/rank_board_file.h"
#include "host/worker_impl.h"

/* One rank of this process, on the board. */
struct tl_rank_watch {
    struct tl_rank_board *board;
    uint32_t rank;
    struct tl_rank_note note; /* as it was posted last */
    uint64_t posted_ns;       /* tl__now_ns() */
};

/* The rank's host is there. */
void tl__watch_begin(struct tl_rank_watch *w, struct tl_rank_board *board, uint32_t rank);
/* A dispatch was given to the rank's chip. */
void tl__watch_dispatch(struct tl_rank_watch *w, uint64_t dispatch);
/* How far `run` is; posts at most every few hundredths of a second, so it may be called at any rate. */
void tl__watch_run(struct tl_rank_watch *w, struct tl_run *run);
/* A run ended with `code` after `tasks`. One that made no progress is reported: once in a job, for all ranks, on
 * stderr. */
void tl__watch_ended(struct tl_rank_watch *w, uint64_t tasks, int code, const char *message);
/* The rank has nothing more to do. */
void tl__watch_end(struct tl_rank_watch *w);

#endif
