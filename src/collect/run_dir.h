/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a run, before the run writes into it. */
#ifndef TL_COLLECT_RUN_DIR_H
#define TL_COLLECT_RUN_DIR_H

#include <stdbool.h>

#include <tasklens/error.h>

/*
 * Whether a run may record into DIR, which exists. TL_EINVAL: a directory in it that artifacts go to is a link, and may
 * lead elsewhere; or it holds files with the names of artifacts and no dfx_meta.json, so that no run of ours made them
 * and they are not replaced. *ret_used: it holds an older recording; tl__run_dir_clear() removes that.
 */
int tl__run_dir_check(const char *dir, bool *ret_used, struct tl_error *reterr);
/* Removes what an older recording left in DIR, so that it is not taken for the next run's: its artifacts, what viewers
 * made of them, the names of its kernels and its program. Other files stay. */
void tl__run_dir_clear(const char *dir);
/* Removes the temporary files that a killed run or recovery left in DIR. The caller holds the lock of DIR's journal. */
void tl__run_dir_clear_temps(const char *dir);
/* Whether a run's artifact of any kind is there; payloads alone are none. */
bool tl__run_dir_has_artifact(const char *dir);

#endif
