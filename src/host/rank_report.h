/* SPDX-License-Identifier: Apache-2.0 */
/* The report on all ranks when one of them makes no progress. Pure: a board's notes in, lines out. */
#ifndef TL_HOST_RANK_REPORT_H
#define TL_HOST_RANK_REPORT_H

#include "wire/rank_board.h"

struct tl_rank_view {
    struct tl_rank_note note;
    bool gone; /* its host process has ended */
};

#define TL_RANK_NONE UINT32_MAX

/* The rank that most likely caused the stop, and why (static text, for the end of "rank 2: ..."). TL_RANK_NONE: none is
 * clear; *ret_why says so. In this order: the only one whose host has ended; the only one without progress while others
 * progress or are done; the only one that is behind all others. */
uint32_t tl__rank_odd_one(const struct tl_rank_view *ranks, uint32_t n, uint64_t now_unix_ns, const char **ret_why);
/* One line for each rank, then one for the likely cause. `line` gets each without a newline. */
void tl__rank_report(const struct tl_rank_view *ranks, uint32_t n, uint64_t now_unix_ns,
                     void (*line)(void *ctx, const char *text), void *ctx);

#endif
