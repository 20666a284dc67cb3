/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of a run against the program's golden: printed, and kept in the recording. */
#ifndef TL_TOOLS_RUN_VERDICT_H
#define TL_TOOLS_RUN_VERDICT_H

#include "run/run_report.h"

/*
 * Prints a line for each output, after `label`, and notes in *s whether one differs. `dir` is the recording of this
 * run, whose dfx_meta.json gets the verdicts and, if one differs, the status "differs"; NULL: it has none. What cannot
 * be written there is said on stderr, and makes the recording incomplete.
 */
void tl__verdicts(struct tl_run_session *s, const char *dir,
                  void (*label)(const struct tl_run_session *s, const char *name));

#endif
