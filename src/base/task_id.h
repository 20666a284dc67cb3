/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a task is named, in every text, JSON and file name: "r1t3" is number 3 of ring 1. Any thread.
 *
 * Recordings that name their runtime have a second layout, that of host_build_graph: "t3" a task, "g5t3" number 3 below
 * task 5, "p2" a parameter.
 */
#ifndef TL_BASE_TASK_ID_H
#define TL_BASE_TASK_ID_H

#include <stddef.h>
#include <stdint.h>

#define TL_TASK_BYTES 24 /* with its NUL */

enum tl_task_layout { TL_TASK_RINGS, TL_TASK_SPACES };

/* The layout that a recording says by the runtime it names: any but host_build_graph has rings, and so has "", of one
 * that does not say. */
enum tl_task_layout tl__task_layout_of(const char *runtime);

/* Writes the name to `to`, of TL_TASK_BYTES, and returns `to`. */
const char *tl__task_text(char *to, enum tl_task_layout layout, uint64_t task_id);
/* The inverse, and the id as a number, decimal or 0x: "r2t2560", "t7", "g5t3", "p2", "8589937152", "0x200000a00". 0 or
 * TL_EPARSE. */
int tl__task_parse(const char *text, uint64_t *ret_task_id);

#endif
