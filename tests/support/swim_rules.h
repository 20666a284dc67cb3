/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every chip swimlane that lost nothing, whoever ran what: one record a subtask, one AICPU record for each,
 * times in their order, phases that exclude each other, submits one after the other.
 */
#ifndef TL_TESTS_SWIM_RULES_H
#define TL_TESTS_SWIM_RULES_H

#include "artifact/swimlane.h"

/* "", or the first rule that does not hold, with the row, in static memory. `in_flight`: subtasks that a core may have. */
const char *swim_rules(const struct tl_swimlane *s, unsigned in_flight);
/* Rows of this kind, and what they have processed. */
uint64_t swim_phase_sum(const struct tl_swimlane *s, unsigned kind, uint64_t *ret_rows);

#endif
