/* SPDX-License-Identifier: Apache-2.0 */
/* What the orchestrator records. */
#ifndef TL_DEVICE_ORCH_RECORD_H
#define TL_DEVICE_ORCH_RECORD_H

#include "device/recorder.h"

struct tl_device;
struct tl_orch;

#define TL_ORCH_RECORD_BYTES 512u /* the largest record of a stream of the orchestrator's */

/* The orchestrator's lanes. */
struct tl_orch_record {
    tl_au32 lock;           /* 1: a thread uses `rec`; O1 */
    tl_au32 ended;          /* its lanes have their end marks, or never will; D9 */
    tl_au64 deadline_ns;    /* when a parked lane must look again; TL_FOREVER: none is parked */
    struct tl_recorder rec; /* guard: lock */
    uint32_t waits;         /* 1 + the stream that `waiting` is for; 0: none. guard: lock */
    _Alignas(8) uint8_t waiting[TL_ORCH_RECORD_BYTES]; /* guard: lock */
};

int tl__orch_record_begin(struct tl_device *d);
/* The next record of the orchestrator's stream, which must be on, to be filled and committed before any other call for
 * the lanes; NULL: it is lost, and counted. Orchestrator's thread. */
void *tl__orch_reserve(struct tl_orch *o, unsigned stream);
/* If the lane is full: waits for the host as long as it lives, stepping the other roles. */
void tl__orch_commit(struct tl_orch *o, unsigned stream);
/* Hands over the record that waits; ends the lanes when nothing more will come. True if anything moved. Any thread of
 * the run. */
bool tl__orch_step(struct tl_device *d);

#endif
