/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warnings and notes that belong to no call's result: a lane that waits for the disk, a report of a stall, an option
 * that is ignored. The library prints nothing: it passes each line to a sink that the program sets. There is none by
 * default. A chip in a process of its own (TL_DEVICE_PROCESS) cannot call the sink: it writes its warnings and errors
 * to the standard error that it has from its parent, each line with "tasklens-chip: " before it.
 */
#ifndef TASKLENS_LOG_H
#define TASKLENS_LOG_H

#include <tasklens/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tl_log_level { TL_LOG_DEBUG = 0, TL_LOG_INFO = 1, TL_LOG_WARN = 2, TL_LOG_ERROR = 3 };

/*
 * `text`: one line without a newline, at most 1,000 bytes, cut with "..." beyond, without control characters; the
 * library's, until the sink returns. Called on any thread, also the library's own, by several at once, and with locks
 * held: it may not call this library, and while it waits the run may wait too.
 */
typedef void (*tl_log_sink)(void *user, enum tl_log_level level, const char *text);

/*
 * Sets the sink of this process; NULL: none. `user` is passed to each call and is the caller's: it must live until
 * another sink is set. Call it while no worker is open and no other thread is in a call of this library, best before
 * anything else: the sink is read without a lock.
 */
void tl_log_set_sink(tl_log_sink sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
