/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated chip as its host sees it: device memory, bells, and a mailbox. In process mode the chip is the program
 * `tasklens-chip`, spawned, never forked; in thread mode the same loop runs on a thread of the caller.
 *
 * Threads: alloc, free, copies, peek, kill and the wait may be called from any thread; load, launch, restart and close
 * from one at a time. Errors: negative codes. However a chip ends, nothing stays behind: memory and bells are memfds
 * (another kind of chip has the memory that its table of operations makes), and a chip process dies with its parent.
 */
#ifndef TL_SIM_CHIP_H
#define TL_SIM_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#include <tasklens/program.h>

#include "arch/arch.h"
#include "wire/bell.h"
#include "wire/memory.h"

enum tl_chip_mode { TL_CHIP_PROCESS, TL_CHIP_THREAD };

struct tl_chip_ops; /* sim/chip_impl.h */

struct tl_chip_opts {
    const struct tl_arch *arch;
    enum tl_chip_mode mode;
    enum tl_transport_kind transport; /* copy in process mode: no mapping of device memory in this process */
    uint64_t memory_bytes;
    unsigned threads;              /* that step roles; 0: the CPUs */
    int device_id;                 /* for messages */
    const struct tl_chip_ops *ops; /* what the chip is made of; NULL: by mode */
};

struct tl_chip; /* made by tl__chip_open, ended by tl__chip_close */

/* Starts a chip and waits until it is ready. TL_ENOMEM, TL_EIO, TL_ENOENT (no chip program), TL_EDEVICE. */
int tl__chip_open(const struct tl_chip_opts *opts, struct tl_chip **ret_chip, struct tl_error *reterr);
/* Ends the chip: sends CLOSE, and in process mode kills one that is in a run. `abandon`: a thread of the chip is stuck
 * in a kernel, so nothing is joined or freed that it may still use. NULL is fine. */
void tl__chip_close(struct tl_chip *chip, bool abandon);

/* What collect/ gets to reach device memory; the chip's until it closes. */
struct tl_chip_view {
    uint8_t *mapping; /* mapped transport: device memory in this process; else NULL, and the copies below reach it */
    uint64_t bytes;
    struct tl_bell_page *bells;
};
void tl__chip_view(const struct tl_chip *chip, struct tl_chip_view *ret_view);

/* Device memory; see sim/memory_table.h. */
int tl__chip_alloc(struct tl_chip *chip, uint64_t bytes, enum tl_memory_use use, const char *what, uint64_t *ret_addr,
                   struct tl_error *reterr);
void tl__chip_free(struct tl_chip *chip, uint64_t addr);

/* The host's copies to and from device memory: of bytes that nobody writes meanwhile, or that an index covers. 0,
 * TL_ERANGE outside of device memory, TL_EIO. */
int tl__chip_copy_in(struct tl_chip *chip, uint64_t addr, const void *data, uint64_t bytes);
int tl__chip_copy_out(struct tl_chip *chip, void *data, uint64_t addr, uint64_t bytes);
/* One aligned word that the chip may read or write meanwhile. A chip that sees a stored word sees what was copied in
 * before; after a load, what the loaded word publishes may be copied out. Codes as above. `peek`: the word, 0 on
 * failure. */
int tl__chip_store(struct tl_chip *chip, uint64_t addr, uint64_t word);
int tl__chip_word(struct tl_chip *chip, uint64_t addr, uint64_t *ret_word);
uint64_t tl__chip_peek(struct tl_chip *chip, uint64_t addr);

/* Loads `path` (absolute) or, in thread mode, `linked` (outlives the chip) and numbers it. Waits for the chip's
 * answer. TL_ELOAD with the loader's message; TL_EDEVICE. */
int tl__chip_load(struct tl_chip *chip, const char *path, const struct tl_program *linked, uint32_t *ret_handle,
                  struct tl_error *reterr);
/* Starts a launch (address of a struct tl_launch; `status`: of its struct tl_run_status); one at a time. 0 or
 * TL_EDEVICE. */
int tl__chip_launch(struct tl_chip *chip, uint64_t launch, uint64_t status, uint32_t handle);

enum tl_chip_event {
    TL_CHIP_DONE,
    TL_CHIP_STUCK, /* the run has failed, by its status, but the chip's thread does not return from it */
    TL_CHIP_DEAD,
    TL_CHIP_TIMEOUT
};
/* Waits for the end of the launch. *ret_code: of the run, for TL_CHIP_DONE. After TL_CHIP_STUCK the chip
 * cannot be used again: kill or abandon it. */
enum tl_chip_event tl__chip_wait(struct tl_chip *chip, uint64_t deadline_ns, int *ret_code);

/* Process mode: kills the chip at once and waits until it is gone. Thread mode: does nothing, returns TL_ENOTSUP. */
int tl__chip_kill(struct tl_chip *chip);
bool tl__chip_alive(const struct tl_chip *chip);
/* How a dead chip died: "killed by SIGSEGV", "ended with exit code 1". The signal, 0 if none. Valid once dead. */
const char *tl__chip_death(const struct tl_chip *chip, int *ret_signal);
/* Process mode: a new chip over the same memory after a death; loaded programs are loaded again by their caller. */
int tl__chip_restart(struct tl_chip *chip, struct tl_error *reterr);
/* Process id of the chip; 0 in thread mode. */
int tl__chip_pid(const struct tl_chip *chip);

/* The default rings of a launch. An image (host_build_graph) has one heap. */
struct tl_chip_rings {
    uint32_t heaps; /* of TL_RINGS */
    uint32_t task_window, dep_pool;
    uint64_t heap_bytes; /* each */
};
/* A runtime by name: enum tl_runtime_kind, with its defaults; or TL_ENOENT. */
int tl__chip_runtime(const char *name, struct tl_chip_rings *ret_rings);

/* The first of `candidates` (paths relative to the directory of this library, then to that of the running program; ends
 * with NULL) that exists and, unless it is NULL, `accept` takes. 0, TL_ENOENT. */
int tl__chip_find_beside(const char *const *candidates, bool (*accept)(const char *path), char *path, size_t size);

/* What `tasklens-chip` does: takes memory, bells and mailbox from the descriptors that its parent left open and serves.
 * Returns the process's exit code; `*ret_error` is static text or NULL. */
int tl__chip_main(int argc, char **argv, const char **ret_error);
/* For that program's own _exit(): the call `called` of a kernel or an orchestration is reported like a crash, and the
 * caller then ends the process. False, and nothing is done: between runs, in a child process of the program. */
bool tl__chip_exit(const char *called, int code);
/* The same for a SIGKILL that the program is about to send to that process. */
void tl__chip_kills_itself(void);
/* For chips in a thread: each of their threads calls `begin` first. Set before a chip is opened; NULL: nothing. */
void tl__chip_thread_begins(void (*begin)(void));
/* Whether the calling thread, of a chip in a thread, is in a kernel or the orchestration; `to` then says in which. Safe
 * in a signal handler. */
bool tl__chip_whose(char *to, size_t size);
/* "SIGTERM"; "a signal" for an unknown number. Static; safe in a signal handler. */
const char *tl__signal_name(int signal_number);

#endif
