/* SPDX-License-Identifier: Apache-2.0 */
/* Records as files of their own: their names, and .npy. One thread; the recording is borrowed for the call. */
#ifndef TL_ANALYSIS_DUMP_EXPORT_H
#define TL_ANALYSIS_DUMP_EXPORT_H

#include <tasklens/recording.h>

#include "base/task_id.h"

/*
 * "r2t2560_before_input_arg0": the same in every run that records the argument, so that two exports can be
 * compared; where two records would share it, both have "_i<index>" more. Written to `name`, NUL-terminated.
 */
void tl__dump_file_name(const struct tl_recording *recording, uint64_t index, enum tl_task_layout layout, char *name,
                        size_t bytes);

/* What the .npy holds. */
struct tl_dump_npy {
    bool widened; /* float32, because .npy has no such dtype: bfloat16, fp8*, fp4* */
    bool flat;    /* one dimension, because the payload was cut */
};

/* Writes the payload, or the scalar, to `path`. TL_ENOENT: there is none; TL_ENOTSUP: an unknown dtype; else what could
 * not be read or written, with *reterr. */
int tl__dump_write_npy(const struct tl_recording *recording, uint64_t index, const char *path,
                       struct tl_dump_npy *ret_npy, struct tl_error *reterr);

#endif
