/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When code of the program's author ends the command, by exit(), exec or a signal, the command says whose code it was
 * and how, and ends with an exit code that is a failure: 2 for prepare() and golden(), 3 for a kernel or an
 * orchestration of a chip in a thread.
 */
#ifndef TL_TOOLS_RUN_WAY_OUT_H
#define TL_TOOLS_RUN_WAY_OUT_H

#include <tasklens/program.h>

/* From here on. Once. */
void tl__way_out_install(void);
/* The program whose code runs: its source line is named too. It stays loaded. */
void tl__way_out_program(const struct tl_program *program);
/* Faults of kernels too: the chip is in a thread. Handlers that somebody has (a sanitizer, a debugger) stay. */
void tl__way_out_catch_faults(void);

/* tl__way_out_signal() of ../way_out.h ends the command in the same way; handlers call it first. */

#endif
