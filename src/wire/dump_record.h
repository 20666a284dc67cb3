/* SPDX-License-Identifier: Apache-2.0 */
/* The record of the args-dump stream: one argument of one task at one stage. */
#ifndef TL_WIRE_DUMP_RECORD_H
#define TL_WIRE_DUMP_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <tasklens/tensor.h>

enum tl_wire_stage { TL_WIRE_BEFORE_DISPATCH, TL_WIRE_AFTER_COMPLETION };
enum tl_wire_role { TL_WIRE_INPUT, TL_WIRE_OUTPUT, TL_WIRE_INOUT };
enum tl_wire_kind { TL_WIRE_TENSOR, TL_WIRE_SCALAR };

#define TL_DUMP_TRUNCATED 0x01u /* payload cut to half the arena */
#define TL_DUMP_AMBIGUOUS 0x02u /* the mark matched several arguments; this is the first */
#define TL_DUMP_PARTIAL 0x04u   /* output of a task that was running when a hang was declared */
#define TL_DUMP_HASHED 0x08u    /* `hash` is XXH3-64 of the payload bytes in the arena */
#define TL_DUMP_CONTIGUOUS 0x10u
#define TL_DUMP_PIECE 0x20u       /* one piece of an oversize payload (--dump-oversize chunk) */
#define TL_DUMP_LAST_PIECE 0x40u  /* hash of the whole payload in the last piece */
#define TL_DUMP_UNSUPPORTED 0x80u /* rank above 5 or unknown dtype: no payload */
#define TL_DUMP_MARKED 0x100u     /* selected by a mark */
#define TL_DUMP_BAD_VIEW 0x200u   /* the view reaches past its buffer: no payload */

struct tl_wire_dump_record {
    uint64_t task_id;
    int32_t func_id[3];     /* func_count used; -1: unknown */
    uint32_t piece;         /* number of this piece, from 0 */
    uint64_t payload;       /* tensor: arena offset, monotonic. scalar: raw value */
    uint64_t payload_bytes; /* in the arena; 0: none */
    uint64_t hash;
    uint64_t start_offset;
    uint64_t strides[TL_MAX_DIMS];
    uint32_t shape[TL_MAX_DIMS];
    uint16_t arg_index, flags;
    uint8_t func_count, stage, role, kind, dtype, rank;
    uint16_t reserved;
};
_Static_assert(sizeof(struct tl_wire_dump_record) == 128, "two cache lines");
_Static_assert(offsetof(struct tl_wire_dump_record, payload) == 24, "read by the peer");
_Static_assert(offsetof(struct tl_wire_dump_record, strides) == 56, "read by the peer");
_Static_assert(offsetof(struct tl_wire_dump_record, shape) == 96, "read by the peer");
_Static_assert(offsetof(struct tl_wire_dump_record, arg_index) == 116, "read by the peer");

#endif
