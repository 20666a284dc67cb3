/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens run` on several chips, and as one of a launcher's processes: one rank a chip, each dispatch recorded in
 * ROOT/rank<R>/d<K>/.
 */
#ifndef TL_TOOLS_RUN_RANKS_H
#define TL_TOOLS_RUN_RANKS_H

#include "host/launcher.h"
#include "run/run_report.h"

/* "rank 2: ", or "ranks 4-5: " where this process has two. */
void tl__ranks_prefix(const struct tl_run_session *s, const struct tl_launcher *launcher, char *prefix, size_t size);
/* Runs all dispatches of this process and prints their results. The worst exit code of all; *ret_poisoned: a thread
 * of ours is in a kernel that never returns. */
int tl__run_ranks(struct tl_run_session *s, const struct tl_launcher *launcher, bool *ret_poisoned);

#endif
