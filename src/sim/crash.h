/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chip in its own process that faults reports where before it dies. The handler writes the run's status in device
 * memory, which outlives the process, and then the signal ends the process as usual. A program that calls exit() ends
 * the chip too, and is reported the same way.
 */
#ifndef TL_SIM_CRASH_H
#define TL_SIM_CRASH_H

#include <stdbool.h>

#include "wire/memory.h"

/* Installs the handlers and makes this thread ready for them. Called once, before any launch. */
void tl__crash_install(const struct tl_devmem *memory);
/* Gives the calling thread a stack of its own for the handlers, so that an overflow of its stack can be reported. The
 * memory stays until the process ends. */
void tl__crash_thread(void);
/* Where the next crash is reported: address of a struct tl_run_status; 0: nowhere. */
void tl__crash_set_status(uint64_t status);
/* The object whose code runs: `address` is in it, and it is open until the next call; NULL: none. */
void tl__crash_set_object(const void *address);
/* The program called `called` ("_exit", "execve") with `code`: reported like a crash; true: the caller then ends the
 * process. False, and nothing is done: between runs, in a child process of the program, in a thread of the program that
 * ends. */
bool tl__crash_exit(const char *called, int code);
/* The program is about to send its own process SIGKILL, which no handler sees: reported like a crash. Nothing is done
 * between runs and in a child process of the program. */
void tl__crash_kill(void);

#endif
