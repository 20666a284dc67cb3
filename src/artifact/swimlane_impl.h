/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the swimlane's reader share. Errors are noted in the tape. */
#ifndef TL_ARTIFACT_SWIMLANE_IMPL_H
#define TL_ARTIFACT_SWIMLANE_IMPL_H

#include "artifact/swimlane.h"
#include "base/json_tape.h"

#define TL_SWIM_THREAD_MAX UINT16_MAX

/* The part is metadata: what it says goes into `s`, which owns the lists. */
int tl__swimlane_take_metadata(struct tl_tape *t, struct tl_swimlane *s);
/* Sets s->duplicates. 0 or TL_ENOMEM. */
int tl__swimlane_count_duplicates(struct tl_swimlane *s);

#endif
