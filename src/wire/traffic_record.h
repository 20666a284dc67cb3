/* SPDX-License-Identifier: Apache-2.0 */
/* The record of the traffic stream: what one subtask of a task read and wrote. */
#ifndef TL_WIRE_TRAFFIC_RECORD_H
#define TL_WIRE_TRAFFIC_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define TL_WIRE_TRAFFIC_ARGS 16u

/* How a task touches an argument. */
enum tl_wire_access { TL_WIRE_READ, TL_WIRE_WRITE, TL_WIRE_BOTH, TL_WIRE_ACCESSES };

/* A tensor argument of the task, by its view and direction. The same in each of its subtasks. */
struct tl_wire_traffic_arg {
    uint64_t buffer; /* device address of its first byte */
    uint64_t owner;  /* the task that allocated it; TL_NO_TASK: the program's */
    uint64_t view;   /* hash of what the view is: equal for equal views of a buffer */
    uint64_t bytes;  /* of the view's elements; 0: the view is not valid */
    uint8_t access;  /* enum tl_wire_access */
    uint8_t reserved[7];
};

struct tl_wire_traffic {
    uint64_t task_id;
    uint64_t start;           /* of the subtask, device cycles */
    uint64_t counted_read;    /* bytes that the kernel counted from global memory: MTE2 */
    uint64_t counted_written; /* bytes that it counted to global memory: MTE3, FIXPIPE */
    int32_t func_id;
    uint32_t block;
    uint32_t core_id;
    uint8_t counted; /* 1: the kernel counted something of any class */
    uint8_t n_args;
    uint8_t reserved[2];
    struct tl_wire_traffic_arg args[TL_WIRE_TRAFFIC_ARGS]; /* n_args of them; the others are zeros */
};
_Static_assert(sizeof(struct tl_wire_traffic_arg) == 40, "fixed layout");
_Static_assert(sizeof(struct tl_wire_traffic) == 48 + 16 * 40, "fixed layout");
_Static_assert(offsetof(struct tl_wire_traffic, func_id) == 32, "read by the peer");
_Static_assert(offsetof(struct tl_wire_traffic, args) == 48, "read by the peer");

#endif
