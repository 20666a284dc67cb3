/* SPDX-License-Identifier: Apache-2.0 */
/* Records as files of their own. One thread; the recording is borrowed for the call. */
#ifndef TL_ANALYSIS_DUMP_EXPORT_H
#define TL_ANALYSIS_DUMP_EXPORT_H

#include <tasklens/recording.h>

/*
 * "r2t2560_before_input_arg0": the same in every run that records the argument, so that two exports can be
 * compared; where two records would share it, both have "_i<index>" more. Written to `name`, NUL-terminated.
 */
void tl__dump_file_name(const struct tl_recording *recording, uint64_t index, char *name, size_t bytes);

#endif
