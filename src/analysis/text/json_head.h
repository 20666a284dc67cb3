/* SPDX-License-Identifier: Apache-2.0 */
/* How every answer in JSON begins, docs/formats/json.md. */
#ifndef TL_ANALYSIS_JSON_HEAD_H
#define TL_ANALYSIS_JSON_HEAD_H

#include "base/json.h"
#include "base/task_id.h"

#define TL_JSON_VERSION 1 /* of all answers; it grows when a member changes its meaning or goes */

/* "schema": "tasklens.<command>", "version", "view" (NULL: the command has one only), "recording": its directory. The
 * object has begun. */
void tl__json_head(struct tl_json *json, const char *command, const char *view, const char *recording);
/* "key": "r1t3". */
void tl__json_task(struct tl_json *json, const char *key, enum tl_task_layout layout, uint64_t task_id);

#endif
