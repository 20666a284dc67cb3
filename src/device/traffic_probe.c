/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic on the device: a record for each subtask that a scheduler takes back from its core, with what its kernel
 * counted (tl_count) and, by views and directions, what its task's arguments are. Runs under the scheduler's lock.
 */

#include <string.h>

#include "device/probes.h"
#include "device/scheduler.h"
#include "wire/traffic_record.h"

_Static_assert(TL_WIRE_TRAFFIC_ARGS >= TL_MAX_TENSORS, "all tensors of a task fit");

/* The direction as submitted; for a NO_DEP tensor its kernel's; without one, read. */
static uint8_t access_of(const struct tl_slot *slot, uint32_t i)
{
    uint8_t direction = slot->payload->direction[i];

    if (direction == TL_NO_DEP && i < slot->width)
        direction = slot->widest->signature[i];
    switch (direction) {
    case TL_OUT:
    case TL_OUT_EXISTING:
        return TL_WIRE_WRITE;
    case TL_INOUT:
        return TL_WIRE_BOTH;
    default:
        return TL_WIRE_READ;
    }
}

/* Two views of one buffer have the same hash if they have the same elements in the same order. */
static uint64_t view_of(const struct tl_tensor *t)
{
    uint64_t what[2 + 2 * TL_MAX_DIMS] = {t->start_offset, (uint64_t)t->dtype << 8 | t->rank};

    for (uint32_t i = 0; i < t->rank; i++) {
        what[2 + 2 * i] = t->shape[i];
        what[3 + 2 * i] = t->strides[i];
    }
    return tl__hash64(what, sizeof(what));
}

static struct tl_wire_traffic_arg arg_of(const struct tl_slot *slot, uint32_t i)
{
    const struct tl_tensor *t = &slot->payload->tensors[i];
    const bool valid = t->rank <= TL_MAX_DIMS && t->dtype < TL_DTYPE_COUNT && tl_tensor_check(t) >= 0;

    return (struct tl_wire_traffic_arg){.buffer = t->buffer,
                                        .owner = t->owner,
                                        .view = valid ? view_of(t) : 0,
                                        .bytes = valid ? tl_tensor_bytes(t) : 0,
                                        .access = access_of(slot, i)};
}

static void fill(struct tl_wire_traffic *r, const struct tl_core_role *core, const struct tl_token *token)
{
    const struct tl_slot *slot = token->slot;
    uint64_t any = 0;

    for (unsigned i = 0; i < TL_COUNT_CLASSES; i++)
        any |= token->counts[i];
    memset(r, 0, sizeof(*r));
    r->task_id = slot->payload->id;
    r->start = token->start;
    r->counted_read = token->counts[TL_COUNT_MTE2_BYTES];
    r->counted_written = token->counts[TL_COUNT_MTE3_BYTES] + token->counts[TL_COUNT_FIX_BYTES];
    r->func_id = tl__kernel_of(core, slot)->func_id;
    r->block = token->block;
    r->core_id = core->id;
    r->counted = any != 0;
    r->n_args = slot->payload->n_tensors;
    for (uint32_t i = 0; i < r->n_args; i++)
        r->args[i] = arg_of(slot, i);
}

static int traffic_subtask(struct tl_scheduler *s, const struct tl_core_role *core, struct tl_token *token)
{
    struct tl_producer *lane = &s->rec.producer[TL_STREAM_TRAFFIC];
    uint64_t offset;
    void *payload;
    int r = tl__producer_reserve(lane, 0, &payload, &offset);

    if (r < 0)
        return r;
    fill(tl__producer_record(lane), core, token);
    tl__producer_commit(lane, 0);
    return 0;
}

static uint64_t traffic_expected(const struct tl_scheduler *s, const struct tl_slot *slot)
{
    (void)s;
    return tl__subtasks_of(slot);
}

const struct tl_probe_ops tl__traffic_probe = {
    .timed = true, .counted = true, .subtask = traffic_subtask, .expected = traffic_expected};
