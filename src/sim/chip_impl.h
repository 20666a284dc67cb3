/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a chip, for chip.c, its memory (chip_memory.c) and the two ways to run one (process.c, thread.c). */
#ifndef TL_SIM_CHIP_IMPL_H
#define TL_SIM_CHIP_IMPL_H

#include "sim/chip.h"
#include "sim/mail.h"
#include "sim/memory_table.h"

/* The operations of a chip: one table for each kind. Only chip.c calls these. */
struct tl_chip_ops {
    /* Makes device memory of c->memory.bytes, all zero, and sets c->mapping if this process reaches it by pointers. 0,
     * or a code with a line, and nothing is left. */
    int (*memory_make)(struct tl_chip *c, struct tl_error *reterr);
    /* `abandon`: a thread of the chip may still use the mapping, which then stays. Called too if memory_make failed. */
    void (*memory_end)(struct tl_chip *c, bool abandon);
    /* No block uses [at, at + bytes), whole pages, any more: returns them to the system. Any thread. */
    void (*memory_give_back)(struct tl_chip *c, uint64_t at, uint64_t bytes);
    /* Copies at an offset, which the caller has checked. 0 or TL_EIO. Any thread. */
    int (*copy_in)(struct tl_chip *c, uint64_t at, const void *data, uint64_t bytes);
    int (*copy_out)(struct tl_chip *c, void *data, uint64_t at, uint64_t bytes);
    /* One aligned word, as one access: after what was copied in before it, before what is copied out after it. */
    int (*store)(struct tl_chip *c, uint64_t at, uint64_t word);
    int (*load)(struct tl_chip *c, uint64_t at, uint64_t *ret_word);
    /* Starts a chip over c->memory and c->bells; its READY comes by tl__chip_deliver. */
    int (*start)(struct tl_chip *c, struct tl_error *reterr);
    /* Sends a message. 0 or TL_EDEVICE. */
    int (*send)(struct tl_chip *c, const struct tl_mail *mail);
    /* Ends the chip at once, and waits for its end. TL_ENOTSUP where that cannot be done. */
    int (*kill)(struct tl_chip *c);
    /* After CLOSE was sent or the chip died: waits for its end, frees c->runner. */
    void (*stop)(struct tl_chip *c);
};
extern const struct tl_chip_ops tl__chip_process;
extern const struct tl_chip_ops tl__chip_thread;

/* Memory in a memfd, for the two tables: by pointers where this process maps it, else by pread and pwrite. */
int tl__chip_file_make(struct tl_chip *c, struct tl_error *reterr);
void tl__chip_file_end(struct tl_chip *c, bool abandon);
void tl__chip_file_give_back(struct tl_chip *c, uint64_t at, uint64_t bytes);
int tl__chip_file_copy_in(struct tl_chip *c, uint64_t at, const void *data, uint64_t bytes);
int tl__chip_file_copy_out(struct tl_chip *c, void *data, uint64_t at, uint64_t bytes);
int tl__chip_file_store(struct tl_chip *c, uint64_t at, uint64_t word);
int tl__chip_file_load(struct tl_chip *c, uint64_t at, uint64_t *ret_word);
/* Fixes the size of a memfd, for all who have a descriptor: an access past the end of a file that was cut raises
 * SIGBUS. 0, or -1 and errno. */
int tl__sim_seal(int fd);

struct tl_chip {
    struct tl_chip_opts opts;
    const struct tl_chip_ops *ops;
    struct tl_sim_memory memory;
    int memory_fd;    /* of memory in a memfd; else -1 */
    uint8_t *mapping; /* of device memory; NULL: this process does not reach it by pointers */
    int bells_fd;
    struct tl_bell_page *bells;
    void *runner;             /* of the ops */
    struct tl_mail *outgoing; /* scratch of load and launch */
    uint32_t programs;        /* handles given out */

    /* writer: the deliverer (monitor or chip thread); readers: after the counter that follows. */
    int32_t ready_code, loaded_code, done_code;
    char text[1024]; /* of READY or LOADED */
    char death[160];
    int death_signal;
    tl_au32 ready, loaded, done; /* C1: messages received; publishes the fields above; pairs with C2 in await */
    tl_au32 dead;                /* C1: 1: the chip is gone; publishes death; pairs with C2 */
    tl_au32 killable; /* CK1: 1: c->runner is a started chip. writer: the caller of open, restart and close */
    tl_au32 killers;  /* CK2: threads in tl__chip_kill */
    /* writer: the caller of load and launch. */
    uint32_t loads_asked;
    uint64_t status;   /* address of the last launch's struct tl_run_status */
    uint64_t grace_ns; /* until when a launch that has failed may take to answer, over all waits for it; TL_FOREVER:
                             * it has not failed. writers: the caller of launch, then the one who waits */
    tl_au32 launches_asked; /* relaxed: the launcher's own order to a waiter comes from the API's caller */
};

/* What a runner calls when a message or the end has come. One thread at a time. */
void tl__chip_deliver(struct tl_chip *c, const struct tl_mail *mail);
void tl__chip_died(struct tl_chip *c, int signal_number, const char *death);

#endif
