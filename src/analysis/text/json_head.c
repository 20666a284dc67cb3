/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/json_head.h"

#include <stdio.h>

void tl__json_head(struct tl_json *json, const char *command, const char *view, const char *recording)
{
    char schema[60];

    (void)snprintf(schema, sizeof(schema), "tasklens.%s", command);
    tl__json_key(json, "schema");
    tl__json_string(json, schema);
    tl__json_key(json, "version");
    tl__json_u64(json, TL_JSON_VERSION);
    if (view != NULL) {
        tl__json_key(json, "view");
        tl__json_string(json, view);
    }
    tl__json_key(json, "recording");
    tl__json_string(json, recording);
}

void tl__json_task(struct tl_json *json, const char *key, enum tl_task_layout layout, uint64_t task_id)
{
    char text[TL_TASK_BYTES];

    tl__json_key(json, key);
    tl__json_string(json, tl__task_text(text, layout, task_id));
}
