/* SPDX-License-Identifier: Apache-2.0 */
/* The record of the scope stream: a scope begins or ends, and how full its ring is then. They are
 * on the orchestrator's lane in order of time. */
#ifndef TL_WIRE_SCOPE_RECORD_H
#define TL_WIRE_SCOPE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define TL_WIRE_SITE_BYTES 64u /* the end of a path, and a zero byte */

enum tl_wire_boundary { TL_WIRE_SCOPE_BEGIN, TL_WIRE_SCOPE_END };

struct tl_wire_scope_record {
    /* Monotonic: head - tail is taken. Slots, bytes, entries. */
    uint64_t task_tail, task_head;
    uint64_t heap_tail, heap_head;
    uint64_t dep_tail, dep_head;
    uint32_t tensormap; /* writers that later tasks may depend on */
    uint32_t depth;     /* open scopes around it; 0: the orchestration as a whole */
    uint32_t line;
    uint8_t phase, ring; /* enum tl_wire_boundary */
    uint16_t reserved;
    char file[TL_WIRE_SITE_BYTES]; /* with its folder; the rest is 0 */
};
_Static_assert(sizeof(struct tl_wire_scope_record) == 128, "two cache lines");
_Static_assert(offsetof(struct tl_wire_scope_record, tensormap) == 48, "read by the peer");
_Static_assert(offsetof(struct tl_wire_scope_record, phase) == 60, "read by the peer");
_Static_assert(offsetof(struct tl_wire_scope_record, file) == 64, "read by the peer");

#endif
