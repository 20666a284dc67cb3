/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The args dump on the device: which arguments of a task are recorded at which stage, and how. A capture takes
 * argument by argument; if the lane is full it stops, and tl__probe_resume continues with the same argument.
 * Runs under the scheduler's lock. Rules: docs/formats/args_dump.md.
 */
#include "device/dump_probe.h"

#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "device/device_impl.h"
#include "device/probes.h"
#include "device/stall.h"
#include "tensor/gather.h"
#include "wire/dump_record.h"

static struct tl_producer *lane_of(struct tl_scheduler *s)
{
    return &s->rec.producer[TL_STREAM_DUMP];
}

int tl__probe_begin(struct tl_scheduler *s)
{
    const struct tl_launch *l = s->device->launch;

    memset(&s->probe, 0, sizeof(s->probe));
    if (!tl__probe_on(s))
        return 0;
    if (lane_of(s)->record_bytes != sizeof(struct tl_wire_dump_record))
        return TL_ECORRUPT;
    s->probe.level = (uint8_t)l->levels[TL_COLLECT_DUMP];
    s->probe.hash = l->dump_hash != 0;
    s->probe.chunk = l->dump_chunk != 0;
    return 0;
}

/* --- what is recorded ---------------------------------------------------------------------------------------- */

/* The role that a direction, as submitted, gives a tensor; a NO_DEP tensor takes its signature's. */
static uint8_t role_of(const struct tl_slot *slot, uint32_t i)
{
    uint8_t direction = slot->payload->direction[i];

    if (direction == TL_NO_DEP)
        direction = slot->widest->signature[i];
    switch (direction) {
    case TL_OUT:
    case TL_OUT_EXISTING:
        return TL_WIRE_OUTPUT;
    case TL_INOUT:
        return TL_WIRE_INOUT;
    default:
        return TL_WIRE_INPUT;
    }
}

static bool tensor_marked(const struct tl_task_payload *p, uint32_t i)
{
    return (p->flags & TL_PAYLOAD_DUMP_ALL) != 0 || (p->tensor_marked >> i & 1u) != 0;
}

static bool scalar_marked(const struct tl_task_payload *p, uint32_t i)
{
    return (p->flags & TL_PAYLOAD_DUMP_ALL) != 0 || (p->scalar_marked >> i & 1u) != 0;
}

static bool stage_has(uint8_t role, uint8_t stage)
{
    return role == TL_WIRE_INOUT || (role == TL_WIRE_INPUT) == (stage == TL_WIRE_BEFORE_DISPATCH);
}

uint64_t tl__probe_expected(const struct tl_probe *p, const struct tl_slot *slot)
{
    const struct tl_task_payload *t = slot->payload;
    uint32_t width = t->n_tensors < slot->width ? t->n_tensors : slot->width;
    bool all = p->level != 1 || (t->flags & TL_PAYLOAD_DUMP_ALL) != 0;
    uint32_t tensors = (uint32_t)((UINT64_C(1) << width) - 1), scalars = (uint32_t)((UINT64_C(1) << t->n_scalars) - 1);
    uint64_t n;

    if (!all) {
        tensors &= t->tensor_marked;
        scalars &= t->scalar_marked;
    }
    n = (uint64_t)__builtin_popcount(tensors) + (uint64_t)__builtin_popcount(scalars);
    for (uint32_t bits = tensors; bits != 0; bits &= bits - 1) /* an INOUT is recorded twice */
        n += role_of(slot, (uint32_t)__builtin_ctz(bits)) == TL_WIRE_INOUT;
    return n;
}

static bool first_time(struct tl_scheduler *s, uint32_t warning)
{
    return (tl_or_acq_rel(&s->device->warned, warning) & warning) == 0; /* W1: one thread gives each warning */
}

/* The signature and the submitted directions should agree; each kind of disagreement is reported once a run. */
static void check_layout(struct tl_scheduler *s, const struct tl_slot *slot)
{
    static const uint8_t role_in_signature[] = {[TL_IN] = TL_WIRE_INPUT,
                                                [TL_OUT] = TL_WIRE_OUTPUT,
                                                [TL_INOUT] = TL_WIRE_INOUT,
                                                [TL_OUT_EXISTING] = TL_WIRE_OUTPUT};
    const struct tl_task_payload *p = slot->payload;

    if (p->n_tensors > slot->width && first_time(s, TL_WARNED_BEYOND))
        tl_log_warn("task r%ut%u has %u tensors, but the widest signature (kernel \"%s\") names %u; the rest is not "
                    "recorded. List every tensor in TL_KERNEL. (Reported once a run)",
                    tl__task_ring(p->id), tl__task_local(p->id), p->n_tensors, slot->widest->name, slot->width);
    for (uint32_t i = 0; i < p->n_tensors && i < slot->width; i++) {
        uint8_t direction = slot->widest->signature[i];

        if (direction == TL_NO_DEP || role_in_signature[direction] == role_of(slot, i))
            continue;
        if (first_time(s, TL_WARNED_MISMATCH))
            tl_log_warn(
                "task r%ut%u, argument %u: submitted with another direction than the signature of kernel \"%s\" "
                "says; the submitted one is recorded. Correct TL_KERNEL. (Reported once a run)",
                tl__task_ring(p->id), tl__task_local(p->id), i, slot->widest->name);
        return;
    }
}

/* --- records --------------------------------------------------------------------------------------------------- */

static void fill_task(struct tl_wire_dump_record *r, const struct tl_slot *slot, uint32_t arg, uint8_t stage)
{
    const struct tl_task_payload *p = slot->payload;
    unsigned n = 0;

    r->task_id = p->id;
    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        if (p->func[k] >= 0)
            r->func_id[n++] = p->func[k];
    r->func_count = (uint8_t)n;
    for (; n < TL_KIND_COUNT; n++)
        r->func_id[n] = -1;
    r->arg_index = (uint16_t)arg;
    r->stage = stage;
    r->piece = 0;
    r->reserved = 0;
}

static void fill_tensor(struct tl_wire_dump_record *r, const struct tl_tensor *t, uint8_t role)
{
    r->kind = TL_WIRE_TENSOR;
    r->role = role;
    r->dtype = t->dtype;
    r->rank = t->rank;
    r->start_offset = t->start_offset;
    memcpy(r->strides, t->strides, sizeof(r->strides));
    memcpy(r->shape, t->shape, sizeof(r->shape));
}

/* What is known of a tensor argument before its record is reserved. */
struct item {
    const struct tl_tensor *tensor;
    const void *buffer; /* this side's pointer to it */
    uint64_t bytes;     /* of the whole payload; 0: none is taken */
    uint16_t flags;
    uint8_t role;
};

static void look(const struct tl_scheduler *s, const struct tl_slot *slot, uint32_t i, struct item *item)
{
    const struct tl_task_payload *p = slot->payload;
    const struct tl_tensor *t = &p->tensors[i];
    bool marked = tensor_marked(p, i);

    *item = (struct item){.tensor = t, .role = role_of(slot, i)};
    if (s->probe.capture.partial)
        item->flags |= TL_DUMP_PARTIAL;
    if (marked)
        item->flags |= TL_DUMP_MARKED;
    if (p->tensor_ambiguous >> i & 1u)
        item->flags |= TL_DUMP_AMBIGUOUS;
    if (t->rank > TL_MAX_DIMS || t->dtype >= TL_DTYPE_COUNT) {
        item->flags |= TL_DUMP_UNSUPPORTED;
        return;
    }
    if (tl_tensor_is_contiguous(t))
        item->flags |= TL_DUMP_CONTIGUOUS;
    if (s->probe.level == 3 && !marked)
        return;
    item->buffer = tl__dev_ptr(&s->device->opts.memory, t->buffer, t->buffer_bytes);
    if (item->buffer == NULL || tl_tensor_check(t) < 0)
        item->flags |= TL_DUMP_BAD_VIEW;
    else
        item->bytes = tl_tensor_bytes(t);
}

/* One record with all of its payload, or as much as is kept. */
static int record_tensor(struct tl_scheduler *s, uint32_t i, struct item *item)
{
    struct tl_probe *p = &s->probe;
    struct tl_producer *lane = lane_of(s);
    struct tl_wire_dump_record *r;
    uint64_t offset, bytes = item->bytes;
    void *payload;
    int ret;

    if (bytes > lane->arena_bytes) {
        bytes = lane->arena_bytes / 2;
        item->flags |= TL_DUMP_TRUNCATED;
    }
    ret = tl__producer_reserve(lane, bytes, &payload, &offset);
    if (ret < 0)
        return ret;
    r = tl__producer_record(lane);
    fill_task(r, p->capture.slot, i, p->capture.stage);
    fill_tensor(r, item->tensor, item->role);
    r->payload = offset;
    r->payload_bytes = bytes;
    r->hash = 0;
    if (bytes != 0) {
        (void)tl__gather(item->tensor, item->buffer, payload, 0, bytes);
        if (p->hash) {
            r->hash = tl__hash64(payload, bytes);
            item->flags |= TL_DUMP_HASHED;
        }
    }
    r->flags = item->flags;
    if (item->flags & TL_DUMP_TRUNCATED)
        tl__producer_count_truncated(lane);
    tl__producer_commit(lane, bytes);
    return 0;
}

/* One piece of a payload larger than the arena. */
static int record_piece(struct tl_scheduler *s, uint32_t i, const struct item *item)
{
    struct tl_probe *p = &s->probe;
    struct tl_producer *lane = lane_of(s);
    struct tl_capture *c = &p->capture;
    uint64_t offset, left = item->bytes - c->piece_done, bytes = lane->arena_bytes / 4;
    struct tl_wire_dump_record *r;
    void *payload;
    int ret;

    if (bytes > left)
        bytes = left;
    if (c->piece == 0)
        ret = tl__producer_reserve(lane, bytes, &payload, &offset);
    else
        ret = tl__producer_reserve_more(lane, bytes, &payload, &offset);
    if (ret < 0)
        return ret;
    if (c->piece == 0)
        tl__hash_init(&c->hash);
    r = tl__producer_record(lane);
    fill_task(r, c->slot, i, c->stage);
    fill_tensor(r, item->tensor, item->role);
    (void)tl__gather(item->tensor, item->buffer, payload, c->piece_done, bytes);
    r->payload = offset;
    r->payload_bytes = bytes;
    r->hash = 0;
    r->piece = c->piece;
    r->flags = item->flags | TL_DUMP_PIECE;
    if (p->hash) {
        tl__hash_update(&c->hash, payload, bytes);
        r->hash = tl__hash_value(&c->hash);
        r->flags |= TL_DUMP_HASHED;
    }
    if (bytes == left)
        r->flags |= TL_DUMP_LAST_PIECE;
    if (c->piece == 0)
        tl__producer_commit(lane, bytes);
    else
        tl__producer_commit_more(lane, bytes);
    c->piece++;
    c->piece_done += bytes;
    return 0;
}

static int record_pieces(struct tl_scheduler *s, uint32_t i, const struct item *item)
{
    struct tl_capture *c = &s->probe.capture;
    int ret = 0;

    while (c->piece_done < item->bytes && (ret = record_piece(s, i, item)) == 0)
        ;
    if (ret == TL_EAGAIN)
        return ret;
    c->piece = 0;
    c->piece_done = 0;
    return ret;
}

static int capture_tensor(struct tl_scheduler *s, uint32_t i)
{
    const struct tl_slot *slot = s->probe.capture.slot;
    struct item item;

    if (i >= slot->width || (s->probe.level == 1 && !tensor_marked(slot->payload, i)) ||
        !stage_has(role_of(slot, i), s->probe.capture.stage))
        return 0;
    look(s, slot, i, &item);
    if (s->probe.chunk && item.bytes > lane_of(s)->arena_bytes)
        return record_pieces(s, i, &item);
    return record_tensor(s, i, &item);
}

static int capture_scalar(struct tl_scheduler *s, uint32_t i)
{
    struct tl_probe *p = &s->probe;
    struct tl_producer *lane = lane_of(s);
    const struct tl_task_payload *t = p->capture.slot->payload;
    struct tl_wire_dump_record *r;
    uint64_t offset;
    void *payload;
    int ret;

    if (p->level == 1 && !scalar_marked(t, i))
        return 0;
    ret = tl__producer_reserve(lane, 0, &payload, &offset);
    if (ret < 0)
        return ret;
    r = tl__producer_record(lane);
    memset(r, 0, sizeof(*r));
    fill_task(r, p->capture.slot, t->n_tensors + i, p->capture.stage);
    r->kind = TL_WIRE_SCALAR;
    r->role = TL_WIRE_INPUT;
    r->dtype = t->scalar_dtype[i];
    r->payload = tl__payload_scalars(t)[i];
    r->flags = TL_DUMP_CONTIGUOUS;
    if (scalar_marked(t, i))
        r->flags |= TL_DUMP_MARKED;
    if (t->scalar_ambiguous >> i & 1u)
        r->flags |= TL_DUMP_AMBIGUOUS;
    tl__producer_commit(lane, 0);
    return 0;
}

/* --- what will be recorded --------------------------------------------------------------------------------------- */

uint64_t tl__probe_payload_bytes(const struct tl_scheduler *s, const struct tl_slot *slot)
{
    const struct tl_task_payload *p = slot->payload;
    uint64_t arena = s->rec.producer[TL_STREAM_DUMP].arena_bytes, sum = 0;

    for (uint32_t i = 0; i < p->n_tensors && i < slot->width; i++) {
        struct item item;

        if (s->probe.level != 2 && !tensor_marked(p, i))
            continue;
        look(s, slot, i, &item);
        if (item.bytes > arena && !s->probe.chunk)
            item.bytes = arena / 2;
        sum += item.role == TL_WIRE_INOUT ? 2 * item.bytes : item.bytes;
    }
    return sum;
}

void tl__probe_estimate(const struct tl_device *d, struct tl_record_estimate *ret_estimate)
{
    const struct tl_scheduler *s = &d->scheds[0];

    *ret_estimate = (struct tl_record_estimate){0};
    for (unsigned r = 0; r < TL_GRAPH_RINGS; r++) {
        const struct tl_ring *ring = &d->rings[r];
        uint32_t head = tl_load_rlx(&ring->head); /* relaxed: nothing runs yet */

        for (uint32_t local = tl_load_rlx(&ring->tail); local != head; local++) {
            const struct tl_slot *slot = &ring->slots[local & (ring->window - 1)];

            if (slot->widest == NULL) /* an allocation */
                continue;
            ret_estimate->records += tl__probe_expected(&s->probe, slot);
            ret_estimate->payload_bytes += tl__probe_payload_bytes(s, slot);
        }
    }
}

/* --- the capture of one stage ------------------------------------------------------------------------------------ */

int tl__probe_resume(struct tl_scheduler *s)
{
    struct tl_capture *c = &s->probe.capture;
    const struct tl_task_payload *p = c->slot->payload;
    uint32_t end = p->n_tensors + (c->stage == TL_WIRE_BEFORE_DISPATCH ? p->n_scalars : 0u);

    for (; c->next < end; c->next++) {
        int r = c->next < p->n_tensors ? capture_tensor(s, c->next) : capture_scalar(s, c->next - p->n_tensors);

        if (r == TL_EAGAIN)
            return r; /* a lost record is counted where it was lost; the others follow */
    }
    c->slot = NULL;
    return 0;
}

static int begin_capture(struct tl_scheduler *s, struct tl_slot *slot, uint8_t stage, bool partial)
{
    struct tl_capture *c = &s->probe.capture;

    c->slot = slot;
    c->stage = stage;
    c->partial = partial;
    c->next = 0;
    c->piece = 0;
    c->piece_done = 0;
    return tl__probe_resume(s);
}

int tl__probe_task(struct tl_scheduler *s, struct tl_slot *slot, uint8_t stage)
{
    if (stage == TL_WIRE_BEFORE_DISPATCH)
        check_layout(s, slot);
    if (s->probe.level == 1 && slot->payload->tensor_marked == 0 && slot->payload->scalar_marked == 0 &&
        (slot->payload->flags & TL_PAYLOAD_DUMP_ALL) == 0)
        return 0;
    return begin_capture(s, slot, stage, false);
}

int tl__probe_partial(struct tl_scheduler *s, struct tl_slot *slot)
{
    return begin_capture(s, slot, TL_WIRE_AFTER_COMPLETION, true);
}

static int dump_inputs(struct tl_scheduler *s, struct tl_slot *slot)
{
    return tl__probe_task(s, slot, TL_WIRE_BEFORE_DISPATCH);
}

static int dump_outputs(struct tl_scheduler *s, struct tl_slot *slot)
{
    return tl__probe_task(s, slot, TL_WIRE_AFTER_COMPLETION);
}

static uint64_t dump_expected(const struct tl_scheduler *s, const struct tl_slot *slot)
{
    return tl__probe_expected(&s->probe, slot);
}

const struct tl_probe_ops tl__dump_probe = {.barrier = true,
                                            .begin_role = tl__probe_begin,
                                            .inputs = dump_inputs,
                                            .outputs = dump_outputs,
                                            .expected = dump_expected,
                                            .hung = tl__stall_capture};
