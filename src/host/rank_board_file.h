/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board of a distributed run: ROOT/.ranks, mapped by every rank's host (wire/rank_board.h). It is also how a root
 * is claimed: it holds the job's name, and a second job, or a second process of one rank, is refused. The file stays
 * after the run, as the claim and as the record of how each rank ended. Without a root the board is private to this
 * process and its ranks.
 */
#ifndef TL_HOST_RANK_BOARD_FILE_H
#define TL_HOST_RANK_BOARD_FILE_H

#include <tasklens/error.h>

#include "wire/rank_board.h"

#define TL_BOARD_NAME ".ranks"

struct tl_rank_board;

/* Creates the board or joins it. `root` exists, or is NULL. `job` may be "". TL_EEXIST: the root belongs to another job
 * or to another number of ranks; TL_EIO; TL_ENOMEM; TL_ETIMEDOUT: another process held the file's lock for more than a
 * second. */
int tl__board_open(const char *root, const char *job, uint32_t ranks, struct tl_rank_board **ret_board,
                   struct tl_error *reterr);
/* Unmaps the board; the file stays. NULL: does nothing. */
void tl__board_close(struct tl_rank_board *board);
/* Takes the slot of a rank for this process, once. TL_EEXIST: it was taken before. */
int tl__board_take(struct tl_rank_board *board, uint32_t rank, struct tl_error *reterr);
/* Writes the rank's note; pid, machine and updated_ns are filled in. One thread at a time for one rank. */
void tl__board_post(struct tl_rank_board *board, uint32_t rank, const struct tl_rank_note *note);
void tl__board_read(struct tl_rank_board *board, uint32_t rank, struct tl_rank_note *ret_note);
uint32_t tl__board_ranks(const struct tl_rank_board *board);
/* Whether this rank is the first to report a hang; true once in a job. */
bool tl__board_tells(struct tl_rank_board *board, uint32_t rank);
/* False if the note is of this machine, its rank has not ended, and the rank's host process does not exist any more. */
bool tl__board_lives(const struct tl_rank_note *note);
/* Wall clock. */
uint64_t tl__unix_ns(void);

#endif
