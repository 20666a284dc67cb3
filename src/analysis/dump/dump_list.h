/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a dump: a line a record, aligned, or JSON. One thread; the recording and the pick are borrowed for the
 * call.
 */
#ifndef TL_ANALYSIS_DUMP_LIST_H
#define TL_ANALYSIS_DUMP_LIST_H

#include <tasklens/recording.h>

#include "analysis/dump/dump_order.h"
#include "analysis/dump/dump_payload.h"
#include "analysis/text/rendering.h"
#include "artifact/name_map.h"
#include "base/json.h"

struct tl_dump_list {
    struct tl_dump_scan scan;          /* what, and whether with values: first ones, extremes, NaN and Inf */
    const char *dir;                   /* of the recording, for the first line */
    const struct tl_name_map *names;   /* of the kernels; NULL: none */
    const struct tl_dump_order *order; /* how the pick is ordered; NULL: ring by ring, as asked for */
    const char *sorted_by;             /* "max": by this statistic; NULL: not */
    enum tl_task_layout layout;        /* of the tasks' names */
};

/* Two heading lines (level, counts, payload file; losses), then the table. 0, or the code of what could not be read
 * (*reterr) or written (the rendering's error). */
int tl__dump_list_text(struct tl_rendering *out, const struct tl_dump_list *list, struct tl_error *reterr);
/* One object with the entries under "args", an entry a line, docs/formats/json.md; or the entries alone, as JSON lines.
 */
int tl__dump_list_json(struct tl_json *json, const struct tl_dump_list *list, struct tl_error *reterr);
int tl__dump_list_jsonl(struct tl_json *json, const struct tl_dump_list *list, struct tl_error *reterr);

/* The first line of every answer: level, counts, payload file. */
void tl__put_dump_summary(struct tl_rendering *out, const struct tl_recording *recording, const char *dir);

#endif
