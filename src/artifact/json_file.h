/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON file through base/json_tape.h. */
#ifndef TL_ARTIFACT_JSON_FILE_H
#define TL_ARTIFACT_JSON_FILE_H

#include "base/json_tape.h"

/* Reads the file at `path` and hands its parts over. TL_ENOENT, TL_EIO, and what tl__tape_parse returns. */
int tl__json_file_read(const char *path, const struct tl_tape_spec *spec, struct tl_error *reterr);

#endif
