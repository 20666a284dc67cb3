/* SPDX-License-Identifier: Apache-2.0 */
/* What comes before a run, for one chip (cmd_run.c) and for several (run_ranks.c). Messages go to stderr. */
#ifndef TL_TOOLS_RUN_SETUP_H
#define TL_TOOLS_RUN_SETUP_H

#include "run/run_report.h"

/* A chip with the program on it. 0, or an exit code; *ret_worker is then the caller's to close all the same. */
int tl__run_open(const struct tl_run_session *s, const struct tl_worker_opts *opts, struct tl_worker **ret_worker,
                 struct tl_loaded **ret_loaded);
/* The session's parameters and case, and a set of host data of that program. 0, or an exit code; *ret_data is then the
 * caller's to destroy all the same. */
int tl__run_data(struct tl_run_session *s, struct tl_data **ret_data);
/* What its outputs should be. 0, or an exit code. */
int tl__run_golden(struct tl_run_session *s, struct tl_data *data);
/* Of a run that ended with `code`: whose fault it is, the device's or the program's (bad arguments to its own graph).
 */
int tl__run_exit(int code);
/* Of a run that was not begun, for `code`. A disk that takes no more after earlier runs were recorded leaves the
 * recording of all of them incomplete; before the first it is an output directory that cannot be used. */
int tl__run_refused(int code, bool recorded);

#endif
