/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hosts of one distributed run report to each other: a file that all map, with one slot for each rank. A slot
 * has one writer, its rank's host; anyone reads. It is a seqlock: the count is odd while the note is written, and a
 * reader that saw it odd, or changed, reads again. Words are copied one by one, so that a torn note costs no more than
 * a second look. A writer that died in between leaves its count odd: the reader gives up after a bounded number of
 * looks, takes the note as it is, and its caller learns that.
 *
 * N1  the note's words, before the even count that ends the write; pairs with N2
 * N2  the words after the count that was seen; pairs with N1
 */
#ifndef TL_WIRE_RANK_BOARD_H
#define TL_WIRE_RANK_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"

#define TL_BOARD_MAGIC 0x4B4E5254u /* "TRNK" */
#define TL_BOARD_VERSION 1u

enum tl_rank_state {
    TL_RANK_ABSENT, /* its host has not started */
    TL_RANK_STARTING,
    TL_RANK_RUNNING,
    TL_RANK_DONE,
    TL_RANK_FAILED,
    TL_RANK_STALLED, /* the device declared a hang, or a watchdog of the host stopped it */
};

/* Times are wall clock, in ns. */
struct tl_rank_note {
    uint64_t state;    /* enum tl_rank_state */
    uint64_t pid;      /* of its host */
    uint64_t machine;  /* hash of the machine's name: where pid means something */
    uint64_t dispatch; /* that is on the device, or was last */
    uint64_t retired, submitted;
    uint64_t last_task;  /* the last finished task's id plus 1; 0: none has finished */
    uint64_t last_ns;    /* when it was seen to have finished; 0: never */
    uint64_t still_ns;   /* since when nothing has moved */
    uint64_t updated_ns; /* when its host wrote this */
    char waits[416];     /* what it waits for, for people; "" not known */
};
#define TL_NOTE_WORDS (sizeof(struct tl_rank_note) / 8)

struct tl_rank_slot {
    tl_au64 count; /* writer: the rank's host; readers: all; N1/N2 */
    tl_au64 words[TL_NOTE_WORDS];
    uint64_t reserved;
};
_Static_assert(sizeof(struct tl_rank_slot) == 512, "read by the peer");

struct tl_rank_board_header {
    uint32_t magic, version; /* this and the next: written under the file's lock, before anyone maps the slots */
    uint32_t ranks, reserved;
    char job[96];
    tl_au32 reporter; /* 1 + the rank that reports the hang; 0: none yet. One CAS wins; N3 */
    uint32_t pad[35];
};
_Static_assert(sizeof(struct tl_rank_board_header) == 256, "read by the peer");

void tl__rank_slot_write(struct tl_rank_slot *slot, const struct tl_rank_note *note);
/* False: the note may be torn, its writer stopped in the middle of it. */
bool tl__rank_slot_read(struct tl_rank_slot *slot, struct tl_rank_note *ret_note);

#endif
