/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and directories that must go when a signal ends the process: temporary files that are not renamed yet, the
 * directory of a program that is being compiled. Whoever makes one adds it and removes it from the list when it is
 * gone or has become something else. Whoever handles a signal discards what is listed. Any thread.
 */
#ifndef TL_BASE_LEFTOVERS_H
#define TL_BASE_LEFTOVERS_H

/* Lists `path`, a copy of it. A number for tl__leftover_remove, or -1: the list is full or the path too long, and the
 * file stays if a signal comes. */
int tl__leftover_add(const char *path);
/* -1 is fine. */
void tl__leftover_remove(int number);
/* Removes all that is listed, what was added last first. Safe in a signal handler. */
void tl__leftovers_discard(void);

#endif
