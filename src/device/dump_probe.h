/* SPDX-License-Identifier: Apache-2.0 */
/* The args dump on the device: its hooks in the task state machine. */
#ifndef TL_DEVICE_DUMP_PROBE_H
#define TL_DEVICE_DUMP_PROBE_H

#include "device/device_impl.h"

/* Whether this run dumps arguments. */
static inline bool tl__probe_on(const struct tl_scheduler *s)
{
    return tl__records(&s->rec, TL_STREAM_DUMP);
}

/* Once the scheduler's recorder has begun. 0, TL_ECORRUPT. */
int tl__probe_begin(struct tl_scheduler *s);
/* Records the task's arguments of one stage. 0 done; TL_EAGAIN parked: call tl__probe_resume later, nothing else
 * before. */
int tl__probe_task(struct tl_scheduler *s, struct tl_slot *slot, uint8_t stage);
int tl__probe_resume(struct tl_scheduler *s);
/* The outputs of a task that has not finished, as they are now. As tl__probe_task. */
int tl__probe_partial(struct tl_scheduler *s, struct tl_slot *slot);
/* Records that a retired task calls for by the rules alone. */
uint64_t tl__probe_expected(const struct tl_probe *p, const struct tl_slot *slot);
/* Payload bytes that the task will record, before it runs. */
uint64_t tl__probe_payload_bytes(const struct tl_scheduler *s, const struct tl_slot *slot);
/* What a graph that is complete before its first task will record. */
struct tl_record_estimate {
    uint64_t records, payload_bytes;
};
void tl__probe_estimate(const struct tl_device *d, struct tl_record_estimate *ret_estimate);

#endif
