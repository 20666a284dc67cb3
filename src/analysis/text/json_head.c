/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/json_head.h"

#include <stdio.h>

void tl__json_head(struct tl_json *json, const char *command, const char *view, const char *recording)
{
    char schema[60];

    (void)snprintf(schema, sizeof(schema), "tasklens.%s", command);
    tl__json_member_string(json, "schema", schema);
    tl__json_member_u64(json, "version", TL_JSON_VERSION);
    if (view != NULL) {
        tl__json_member_string(json, "view", view);
    }
    tl__json_member_string(json, "recording", recording);
}

void tl__json_task(struct tl_json *json, const char *key, enum tl_task_layout layout, uint64_t task_id)
{
    char text[TL_TASK_BYTES];

    tl__json_member_string(json, key, tl__task_text(text, layout, task_id));
}
