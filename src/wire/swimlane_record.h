/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the chip swimlane's three streams. Times are device cycles. */
#ifndef TL_WIRE_SWIMLANE_RECORD_H
#define TL_WIRE_SWIMLANE_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* One subtask of one task on one core; level 1 and up. Committed by the core's scheduler when it takes the subtask
 * back. */
struct tl_wire_subtask {
    uint64_t task_id;
    uint64_t start, end;       /* by the core; end 0: it was still running when a hang was declared */
    uint64_t dispatch, finish; /* by the scheduler; level 2 and up, else 0 */
    uint32_t core_id;
    uint32_t reg_task_id; /* number of the subtask on its core, from 1 */
    uint32_t receive; /* cycles from taking the token to the start, at most UINT32_MAX; level 2 and up, else 0 */
    uint32_t reserved;
};
_Static_assert(sizeof(struct tl_wire_subtask) == 56, "fixed layout");
_Static_assert(offsetof(struct tl_wire_subtask, core_id) == 40, "read by the peer");

enum tl_wire_phase_kind {
    TL_WIRE_PHASE_COMPLETE, /* taking finished subtasks back; tasks: subtasks */
    TL_WIRE_PHASE_DISPATCH, /* sending ready tasks to cores; tasks: subtasks */
    TL_WIRE_PHASE_RESOLVE,  /* within complete: one task's successors counted down; tasks: those made ready */
    TL_WIRE_PHASE_COUNT
};

/* One stretch of a scheduler's step that moved something; level 3 and up. */
struct tl_wire_phase {
    uint64_t start, end;
    uint32_t loop_iter; /* steps of this scheduler so far */
    uint32_t tasks;
    uint32_t pop_hit, pop_miss; /* dispatch: looks into the ready queues that found something, and that did not */
    uint32_t kind;              /* enum tl_wire_phase_kind */
    uint32_t reserved;
};
_Static_assert(sizeof(struct tl_wire_phase) == 40, "fixed layout");
_Static_assert(offsetof(struct tl_wire_phase, kind) == 32, "read by the peer");

/* One submission; level 4. */
struct tl_wire_submit {
    uint64_t task_id;
    uint64_t start, end;
    uint32_t submit_idx; /* from 0 */
    uint32_t reserved;
};
_Static_assert(sizeof(struct tl_wire_submit) == 32, "fixed layout");

#endif
