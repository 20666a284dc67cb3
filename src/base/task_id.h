/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a task is named, in every text, JSON and file name: "r1t3" is number 3 of ring 1. Pure; any thread.
 */
#ifndef TL_BASE_TASK_ID_H
#define TL_BASE_TASK_ID_H

#include <stddef.h>
#include <stdint.h>

#define TL_TASK_BYTES 24 /* with its NUL */

/* Writes the name to `to`, of TL_TASK_BYTES, and returns `to`. */
const char *tl__task_text(char *to, uint64_t task_id);
/* The inverse, and the id as a number, decimal or 0x: "r2t2560", "8589937152", "0x200000a00". 0 or TL_EPARSE. */
int tl__task_parse(const char *text, uint64_t *ret_task_id);

#endif
