/* SPDX-License-Identifier: Apache-2.0 */
/* What the i-th task of the program streams is; for the program and for its test. */
#ifndef TL_TESTS_STREAMS_H
#define TL_TESTS_STREAMS_H

#include <stdint.h>

#define STREAMS_SCOPE 64
#define STREAMS_SLICES 512u
#define STREAMS_SLICE 8u
#define STREAMS_BLOCKS 4u

enum streams_kind { STREAMS_STEP, STREAMS_CUBE, STREAMS_MIX, STREAMS_SPMD, STREAMS_ALLOC };

static inline enum streams_kind streams_kind(int64_t i)
{
    static const enum streams_kind kinds[16] = {
        STREAMS_STEP, STREAMS_CUBE, STREAMS_STEP, STREAMS_STEP, STREAMS_MIX,  STREAMS_STEP, STREAMS_CUBE, STREAMS_STEP,
        STREAMS_SPMD, STREAMS_STEP, STREAMS_STEP, STREAMS_CUBE, STREAMS_STEP, STREAMS_MIX,  STREAMS_STEP, STREAMS_CUBE};

    return i % STREAMS_SCOPE == 0 ? STREAMS_ALLOC : kinds[i % 16];
}

static inline uint32_t streams_slice(int64_t i)
{
    return (uint32_t)((uint64_t)i * 0x9E3779B1u >> 7) % STREAMS_SLICES;
}

/* Subtasks that cores run of it. */
static inline uint32_t streams_subtasks(int64_t i)
{
    static const uint32_t subtasks[] = {[STREAMS_STEP] = 1,
                                        [STREAMS_CUBE] = 1,
                                        [STREAMS_MIX] = 3,
                                        [STREAMS_SPMD] = STREAMS_BLOCKS,
                                        [STREAMS_ALLOC] = 0};

    return subtasks[streams_kind(i)];
}

#endif
