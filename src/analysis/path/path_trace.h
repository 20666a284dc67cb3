/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of `tasklens swimlane` with the critical paths in it: a process "Critical Path" above the others, whose
 * lane "observed" covers the wall without gap, each stretch by what it was spent on, and whose lane "static" has the
 * tasks of the longest chain. The slices of the observed path are marked in the Worker View. One thread; all is
 * borrowed.
 */
#ifndef TL_ANALYSIS_PATH_TRACE_H
#define TL_ANALYSIS_PATH_TRACE_H

#include "analysis/path/path_run.h"
#include "analysis/swimlane/swim_trace.h"

/* 0 or TL_ENOMEM; what goes wrong with the output sticks to `json`. */
int tl__path_trace_write(struct tl_json *json, const struct tl_path_run *run, struct tl_swim_drawn *ret_drawn);

#endif
