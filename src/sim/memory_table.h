/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of what is allocated in a chip's memory. It is on the host's side, outside the memory that it describes, so
 * that nothing that a device writes can damage it.
 *
 * Threads: every function may be called from any thread; one short lock guards the table.
 */
#ifndef TL_SIM_MEMORY_TABLE_H
#define TL_SIM_MEMORY_TABLE_H

#include <stdint.h>

#include <tasklens/error.h>

#include "base/atomic.h"
#include "wire/memory.h"

/* A range of device memory, used or free; the ranges are contiguous and cover all of it. */
struct tl_memory_extent {
    uint64_t start, bytes; /* offsets, multiples of TL_DEV_ALIGN */
    struct tl_memory_extent *prev, *next;
    uint32_t used;
    uint32_t use; /* enum tl_memory_use, of a used one */
};

struct tl_sim_memory {
    uint64_t bytes;
    /* Called for the whole pages [at, at + bytes) of a kept block that was freed, with the lock held; NULL: not. */
    void (*give_back)(void *ctx, uint64_t at, uint64_t bytes);
    void *ctx;
    tl_au32 lock;                   /* 0 free, 1 held, 2 held and waited for */
    struct tl_memory_extent *first; /* guard: lock. By address; neighbours are never both free */
    uint64_t used_bytes;            /* guard: lock */
};

/* `bytes` is rounded up to whole pages. 0, TL_ERANGE, TL_ENOMEM. */
int tl__sim_memory_init(struct tl_sim_memory *m, uint64_t bytes, struct tl_error *reterr);
void tl__sim_memory_fini(struct tl_sim_memory *m);

/* First fit from the end of the memory that is for `use`, aligned to TL_DEV_ALIGN; contents undefined. `what` names the
 * block in the message. TL_ENOMEM: the message has the bytes requested, the largest free piece, and the difference. */
int tl__sim_memory_alloc(struct tl_sim_memory *m, uint64_t bytes, enum tl_memory_use use, const char *what,
                         uint64_t *ret_addr, struct tl_error *reterr);
/* `addr` comes from alloc; 0 and addresses that it did not return are ignored. The pages of a run's block stay, so that
 * the next run does not touch them for the first time. Those of a kept block, freed because its size changes, are given
 * back. */
void tl__sim_memory_free(struct tl_sim_memory *m, uint64_t addr);

#endif
