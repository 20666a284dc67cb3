/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a recording is whole, with every record at fault by its name. One thread; the recording is borrowed. */
#ifndef TL_ANALYSIS_DUMP_VERIFY_H
#define TL_ANALYSIS_DUMP_VERIFY_H

#include <tasklens/recording.h>

#include "analysis/dump/dump_payload.h"
#include "artifact/dfx_meta.h"
#include "base/json.h"

struct tl_dump_verify {
    const struct tl_recording *recording;
    const struct tl_dump_pick *pick; /* all records, in the order in which faults are reported; NULL: the manifest's */
    const char *dir;
    enum tl_task_layout layout; /* of the tasks' names */
    const struct tl_meta *meta; /* of the run, which says why records are missing; NULL: not known */
    tl_dump_progress progress;  /* NULL: none */
    void *progress_ctx;
};

/* Reads every payload and writes a line a fault, a line a cause of loss and a last line with the counts. 0: whole.
 * TL_ECORRUPT: at fault. TL_ELOST: what is there is right, and some of what was due is not there. Else what could not
 * be written. */
int tl__dump_verify_text(struct tl_rendering *out, const struct tl_dump_verify *verify);
/* {"dir", "good", counts, "faults": [{"index", "task", "stage", "role", "arg_index", "fault"}],
 *  "lost": [{"what": "payloads" or "records", "cause", "count"}]} */
int tl__dump_verify_json(struct tl_json *json, const struct tl_dump_verify *verify);

#endif
