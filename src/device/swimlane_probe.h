/* SPDX-License-Identifier: Apache-2.0 */
/* The chip swimlane on the device: clocks and phases. */
#ifndef TL_DEVICE_SWIMLANE_PROBE_H
#define TL_DEVICE_SWIMLANE_PROBE_H

#include "device/scheduler.h"

/* Both clocks, in a run that is timed, at its beginning and end. */
void tl__timing_begin(struct tl_device *d);
void tl__timing_end(struct tl_device *d);
/* Does a step; with phases on it is one, if it moved anything. `follows`: the scheduler's last stamp was taken just
 * now, at the end of the phase before it. */
bool tl__phase_step(struct tl_scheduler *s, enum tl_wire_phase_kind kind, bool follows,
                    bool (*step)(struct tl_scheduler *s));
/* Notes a phase from `start` until now. After tl__phases_fit, TL_PHASES_SPARE of them fit. */
void tl__phase_note(struct tl_scheduler *s, enum tl_wire_phase_kind kind, uint64_t start, uint32_t tasks);
/* Hands the noted phases to their lane. False: it is parked, and the scheduler must not continue. */
bool tl__phases_flush(struct tl_scheduler *s);

#endif
