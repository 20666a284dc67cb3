/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test program's own, under a random name; removed when the process exits. */
#ifndef TL_TESTS_SCRATCH_H
#define TL_TESTS_SCRATCH_H

#include <stdbool.h>

/*
 * The folder, made by the first call: in memory if that is wanted and there is such a place ($TASKLENS_TEST_MEMORY, or
 * /dev/shm), else in $TMPDIR, or /tmp. There is one of each kind in a process. Ends the test if it cannot be made.
 */
const char *scratch(bool in_memory);

#endif
