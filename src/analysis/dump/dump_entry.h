/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record in full: for the screen, where a large tensor is shown by its edges, and for a text file, with every
 * element, once row by row and once with its indices. One thread; the recording is borrowed for the call.
 */
#ifndef TL_ANALYSIS_DUMP_ENTRY_H
#define TL_ANALYSIS_DUMP_ENTRY_H

#include <tasklens/recording.h>

#include "analysis/text/rendering.h"
#include "base/task_id.h"

/* What is on the screen in full; beyond it, edges. */
#define TL_DUMP_WHOLE_ELEMENTS 1000u

/* 0, or the code of what could not be read (*reterr, which must not be NULL; what is known without it has been written)
 * or written (the rendering's error). */
int tl__dump_entry_text(struct tl_rendering *out, const struct tl_recording *recording, uint64_t index,
                        enum tl_task_layout layout, struct tl_error *reterr);
/* The same with all elements, and with the listing by indices. Lines of the head begin with "# ". */
int tl__dump_entry_file(struct tl_rendering *out, const struct tl_recording *recording, uint64_t index,
                        enum tl_task_layout layout, struct tl_error *reterr);

#endif
