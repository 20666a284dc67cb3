/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `tasklens sched`, for its own files. */
#ifndef TL_ANALYSIS_SCHED_TEXT_H
#define TL_ANALYSIS_SCHED_TEXT_H

#include "analysis/sched/sched.h"
#include "analysis/text/table.h"

/* Each file calls those above it in this list only; sched_text.c calls both. */

/* ---- sched_cells.c ---- */

/* Cells of a row. */
void tl__sched_us_cell(struct tl_row *row, uint64_t ns);
void tl__sched_share_cell(struct tl_row *row, uint64_t part, uint64_t whole);
void tl__sched_count_cell(struct tl_row *row, uint64_t count);
void tl__sched_text_cell(struct tl_row *row, const char *text);

/* Begins a part. True: it is there, and the rest of its line follows. */
bool tl__sched_begin(struct tl_rendering *out, const struct tl_sched *s, enum tl_sched_part part);

/* ---- sched_text_loop.c ---- */

/* Parts 5 and 6. 0 or TL_ENOMEM, or the rendering's error. */
int tl__sched_text_loops(struct tl_rendering *out, const struct tl_sched *s);
int tl__sched_text_path(struct tl_rendering *out, const struct tl_sched *s, const char *dir);

#endif
