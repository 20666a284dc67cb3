/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chip's control processors and cores, as roles that threads step. Made once per chip; runs one launch at a time.
 * It reaches memory only by struct tl_devmem and the host only by bells.
 */
#ifndef TL_DEVICE_DEVICE_H
#define TL_DEVICE_DEVICE_H

#include <stdbool.h>

#include <tasklens/program.h>

#include "arch/arch.h"
#include "device/counter_ops.h"
#include "wire/bell.h"
#include "wire/launch.h"
#include "wire/memory.h"

struct tl_device;

struct tl_device_opts {
    const struct tl_arch *arch;
    struct tl_devmem memory;               /* the chip's; outlives the device */
    struct tl_bell_page *bells;            /* outlives the device */
    unsigned threads;                      /* that step roles, the caller of run included; >= 1 */
    const struct tl_counter_ops *counters; /* the machine's; outlives the device; NULL: none */
    void (*thread_begin)(void);            /* called first in each thread that the device makes; NULL: nothing */
};

/* Makes the device and its threads (threads - 1 of them; they sleep between runs). 0, TL_ENOMEM. */
int tl__device_create(const struct tl_device_opts *opts, struct tl_device **ret_device);
/* The next run orchestrates, whatever it is of. Between runs; by the thread that runs. */
void tl__device_forget(struct tl_device *d);
/* A thread never returned from a kernel: the memory that it uses must stay. */
bool tl__device_stuck(const struct tl_device *d);
/* Stops and joins the threads. NULL is fine. Must not be called while a run is in progress. */
void tl__device_destroy(struct tl_device *d);

enum tl_access { TL_ACCESS_UNKNOWN, TL_ACCESS_READ, TL_ACCESS_WRITE, TL_ACCESS_JUMP };

/* Why the calling thread cannot go on, as its signal says. All text is the caller's. */
struct tl_fault {
    const char *signal;       /* "SIGSEGV"; NULL: the program called `called` */
    const char *called;       /* "exit(3)" */
    const char *how;          /* "an integer division by zero"; NULL: the fields below say it */
    bool has_address, hidden; /* an access to `address`; an access whose address the processor does not report */
    bool overflow;            /* of the stack */
    uint8_t access;           /* enum tl_access */
    uint64_t address;         /* a pointer in this process */
    uint64_t code;            /* of the instruction; 0: unknown */
    bool in_program;          /* `code` is in the program's shared object */
};
/* Whose code the calling thread is in. Safe in a signal handler. */
enum tl_current_kind { TL_CURRENT_NONE, TL_CURRENT_KERNEL, TL_CURRENT_ORCHESTRATION };
enum tl_current_kind tl__device_current(void);
/* "kernel "x", task r0t2 (0x...) on AIV core 3", or "the orchestration, after 3 submitted tasks"; "" outside of the
 * program's code. Safe in a signal handler. */
void tl__device_whose(char *to, size_t size);
/* Writes to the run's status what the calling thread was running, where the address is relative to that task's
 * arguments, and how far the run was. Does not change state and code. Safe in a signal handler. */
void tl__device_describe(const struct tl_fault *fault, struct tl_run_status *status);

#endif
