/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chip in its own process that faults says where before it dies. The handler writes the run's status in device
 * memory, which outlives the process, and then lets the signal end the process as it would have.
 */
#ifndef TL_SIM_CRASH_H
#define TL_SIM_CRASH_H

#include "wire/memory.h"

/* Installs the handlers and this thread's signal stack. Called once, before any launch. */
void tl__crash_install(const struct tl_devmem *memory);
/* Where the next crash is reported: address of a struct tl_run_status; 0: nowhere. */
void tl__crash_set_status(uint64_t status);
/* "SIGSEGV" and so on; "signal" for others. Static. */
const char *tl__signal_name(int signal_number);

#endif
