/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of one role, one for each stream that the launch turns on for it. Each probe defines its stream's records;
 * beginning, ending and waiting are the same for all. Used by the thread that runs the role.
 */
#ifndef TL_DEVICE_RECORDER_H
#define TL_DEVICE_RECORDER_H

#include <stdbool.h>

#include "wire/launch.h"
#include "wire/producer.h"

struct tl_recorder {
    uint32_t on;    /* bit: stream */
    uint32_t ended; /* bit: its end mark is published, or never will be */
    /* Records that the run calls for by its rules alone, counted independently of the recording code. */
    uint64_t expected[TL_STREAM_COUNT];
    struct tl_producer producer[TL_STREAM_COUNT];
};

/* Whether this role records the stream. Constant in a build without the probes (TASKLENS_DFX=OFF), so that the compiler
 * removes their calls. */
static inline bool tl__records(const struct tl_recorder *r, unsigned stream)
{
    return TASKLENS_DFX && (r->on >> stream & 1u) != 0;
}

/* Binds the lanes of `role` for each of `streams` (bits). 0, TL_ECORRUPT. */
int tl__recorder_begin(struct tl_recorder *r, const struct tl_devmem *memory, struct tl_bell_page *bells,
                       const struct tl_launch *launch, uint32_t streams, uint32_t role);
/* Publishes the end marks. 0; TL_EAGAIN: a lane is parked, call again. */
int tl__recorder_end(struct tl_recorder *r);
/* Whether a record waits for its lane: it is counted, and must be committed before the end. */
bool tl__recorder_waits(const struct tl_recorder *r);
/* When a parked lane must look again without a ring; TL_FOREVER: none is parked. A lane whose deadline has passed
 * has looked: its role may wait for another of its lanes, and threads would not sleep until that one continues. */
uint64_t tl__recorder_deadline(struct tl_recorder *r);

#endif
