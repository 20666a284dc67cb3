/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TL_TESTS_FUZZ_H
#define TL_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* libFuzzer's entry: 0, always; a finding is a crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

#endif
