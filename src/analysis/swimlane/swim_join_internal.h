/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of tl__swim_join, for its own files. */
#ifndef TL_ANALYSIS_SWIM_JOIN_INTERNAL_H
#define TL_ANALYSIS_SWIM_JOIN_INTERNAL_H

#include "analysis/swimlane/swim_join.h"

/* Makes tasks, by_task and task_of_deps of the slices, and gives these their kernels. 0 or TL_ENOMEM; what was made
 * is freed by tl__swim_join_fini either way. */
int tl__swim_join_tasks(struct tl_swim_join *join);
/* Makes edges of deps->edges, after the tasks. 0 or TL_ENOMEM, as above. */
int tl__swim_join_edges(struct tl_swim_join *join);

#endif
