/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens run --sanitize`: the address sanitizer's library has to be the first that is loaded, so the command starts
 * itself again with it; the chip's process inherits that. What a sanitizer finds ends the process by SIGABRT, which is
 * reported like each other crash, with task and kernel.
 */
#ifndef TL_TOOLS_RUN_SANITIZE_H
#define TL_TOOLS_RUN_SANITIZE_H

#include "run/run_opts.h"

/* The command line as it was given, for tl__run_sanitize(): the options' parser cuts words. The caller frees it by
 * tl__free. NULL: no memory. */
char **tl__run_words(int argc, char **argv);
/* 0: go on, with the library where it is wanted; else an exit code. Called before anything is made or printed. */
int tl__run_sanitize(const struct tl_run_options *o, char **words);

#endif
