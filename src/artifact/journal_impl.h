/* SPDX-License-Identifier: Apache-2.0 */
/* The journal reader's inside: journal_read.c hands blocks out, journal_resync.c finds the next one behind damage. */
#ifndef TL_ARTIFACT_JOURNAL_IMPL_H
#define TL_ARTIFACT_JOURNAL_IMPL_H

#include "artifact/journal_format.h"
#include "base/vec.h"

/* What makes two blocks the same buffer. */
struct tl_journal_key {
    uint64_t where; /* kind, stream, lane, epoch; 0 marks a free slot, which no kind makes */
    uint32_t seq;
    uint32_t count; /* of a block whose records are damaged: how many */
};

/* The bytes of a block that was not aligned in the image follow, aligned. */
struct tl_journal_copy {
    struct tl_journal_copy *next;
    uint64_t unused; /* keeps what follows at a multiple of 16 */
};

struct tl_journal_reader {
    struct tl_journal_run run;
    struct tl_journal_report report;
    const uint8_t *image;
    uint64_t size, at;
    bool mapped, ended;
    struct tl_journal_key *keys; /* open addressing, at most half full */
    uint64_t key_count, key_capacity;
    TL_VEC(struct tl_journal_key) lost; /* blocks whose header is intact and whose body is not */
    uint64_t searched;                  /* bytes that were hashed for nothing */
    struct tl_journal_copy *copies;
};

enum tl_journal_sight {
    TL_JOURNAL_INTACT,
    TL_JOURNAL_BAD,      /* no block starts there, or its header is damaged */
    TL_JOURNAL_BAD_BODY, /* its header is intact; its body is not */
    TL_JOURNAL_CUT,      /* what is there is the beginning of a block, and the file ends */
};

static inline struct tl_journal_key tl__journal_key(const struct tl_journal_block_header *h)
{
    return (struct tl_journal_key){
        (uint64_t)h->kind << 56 | (uint64_t)h->stream << 48 | (uint64_t)h->lane << 32 | h->epoch, h->seq, h->count};
}

/* ---- journal_read.c ---- */

/* Whether a block of this key has been handed out. */
bool tl__journal_seen(const struct tl_journal_reader *r, struct tl_journal_key key);

/* ---- journal_resync.c ---- */

/* What is at `at`. *ret_header is set unless it is TL_JOURNAL_BAD, and complete unless it is TL_JOURNAL_CUT. */
enum tl_journal_sight tl__journal_look(struct tl_journal_reader *r, uint64_t at,
                                       struct tl_journal_block_header *ret_header);
/* Moves from damage at r->at to the next intact block, or to the end, and counts what is between. 2, or TL_ENOMEM. */
int tl__journal_resync(struct tl_journal_reader *r);
/* At the end: how many blocks and records the damage took, as far as that is known. 0 or TL_ENOMEM. */
int tl__journal_count_missing(struct tl_journal_reader *r);
/* The copy of the header in the first block, wherever that is. */
bool tl__journal_find_begun(struct tl_journal_reader *r, struct tl_journal_run *ret_run);

#endif
