/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which records are shown: that of submission, which is not the manifest's. Task ids grow within a ring,
 * and a program has a ring for each depth of its scopes, so the manifest is sorted ring by ring.
 */
#ifndef TL_ANALYSIS_DUMP_ORDER_H
#define TL_ANALYSIS_DUMP_ORDER_H

#include "analysis/dump/dump_pick.h"

enum tl_dump_order_from {
    TL_DUMP_ORDER_ONE_RING, /* all picked tasks are of one ring: its order is that of submission */
    TL_DUMP_ORDER_DEPS,     /* deps.json has all tasks in order of submission */
    TL_DUMP_ORDER_SUBMITS,  /* chip_swimlane_records.json has the time of each submit */
    TL_DUMP_ORDER_RING,     /* nothing says the order: ring by ring */
};

struct tl_dump_order {
    enum tl_dump_order_from from;
    uint64_t unknown; /* records of tasks that it does not name: they come last */
};

/* Orders the pick by submission; what belongs to one task stays by stage, argument and role. `dir` holds the manifest;
 * the files that say it are there or one directory up. What cannot be read is as if it were not there. 0 or
 * TL_ENOMEM. */
/* The layout of the tasks' names of the recording in `dir`: ours say their form in dfx_meta.json, others name their
 * runtime in deps.json or chip_swimlane_records.json, or do not. */
enum tl_task_layout tl__dump_layout(const char *dir);
int tl__dump_order(const struct tl_recording *recording, const char *dir, struct tl_dump_pick *pick,
                   struct tl_dump_order *ret_order);
/* "submission" or "ring". */
const char *tl__dump_order_word(const struct tl_dump_order *order);

#endif
