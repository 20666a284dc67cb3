/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_export.h"

#include <inttypes.h>
#include <stdio.h>

#include "artifact/args_dump.h"

static bool same_place(const struct tl_dump_record *a, const struct tl_dump_record *b)
{
    return a != NULL && b != NULL && tl__dump_compare(a, b) == 0;
}

void tl__dump_file_name(const struct tl_recording *recording, uint64_t index, enum tl_task_layout layout, char *name,
                        size_t bytes)
{
    const struct tl_dump_record *r = tl_recording_at(recording, index);
    char task[TL_TASK_BYTES];
    int n = snprintf(name, bytes, "%s_%s_%s_arg%" PRIu32, tl__task_text(task, layout, r->task_id),
                     r->stage == TL_STAGE_BEFORE ? "before" : "after", tl_role_name(r->role), r->arg_index);

    if (n > 0 && (size_t)n < bytes &&
        (same_place(index > 0 ? tl_recording_at(recording, index - 1) : NULL, r) ||
         same_place(r, tl_recording_at(recording, index + 1))))
        (void)snprintf(name + n, bytes - (size_t)n, "_i%" PRIu64, index);
}
