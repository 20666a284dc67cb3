/* SPDX-License-Identifier: Apache-2.0 */
/* Files of JSON lines: each line that is not blank is a document of its own, handed to the spec's on_value in order. */
#ifndef TL_ARTIFACT_JSON_LINES_H
#define TL_ARTIFACT_JSON_LINES_H

#include "base/json_tape.h"

/* 0, or the first line's error, with the line's number in the message. reterr->offset: lines read, also
 * without an error. `name` appears in
 * messages. */
int tl__json_lines_parse(const void *text, size_t bytes, const char *name, const struct tl_tape_spec *spec,
                         struct tl_error *reterr);
/* The same of the file at `path`. TL_ENOENT, TL_EIO too. */
int tl__json_lines_read(const char *path, const struct tl_tape_spec *spec, struct tl_error *reterr);

#endif
