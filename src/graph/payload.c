/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <assert.h>
#include <string.h>

static void write_tensors(const struct tl_plan *plan, struct tl_task_payload *dest)
{
    const struct tl_task_args *args = plan->args;

    for (uint32_t i = 0; i < args->n_tensors; i++) {
        const struct tl_tensor_arg *arg = &args->tensors[i];
        struct tl_tensor *t = &dest->tensors[i];

        *t = arg->tensor;
        dest->direction[i] = arg->direction;
        if (arg->flags & TL_TASK_ARG_MARKED)
            dest->tensor_marked |= 1u << i;
        if (arg->flags & TL_TASK_ARG_AMBIGUOUS)
            dest->tensor_ambiguous |= 1u << i;
        if (arg->direction != TL_OUT)
            continue;
        assert(plan->out_buffer[i] != 0);                     /* GI7 */
        assert(plan->out_bytes[i] == arg->out->buffer_bytes); /* GI7: the caller's tensor has the same memory */
        t->buffer = plan->out_buffer[i];
        t->buffer_bytes = plan->out_bytes[i];
        t->owner = plan->id;
        t->version = 0;
        t->tag = 0;
    }
}

static void write_scalars(const struct tl_task_args *args, struct tl_task_payload *dest)
{
    uint64_t *bits = (uint64_t *)(void *)(dest->tensors + args->n_tensors);

    for (uint32_t i = 0; i < args->n_scalars; i++) {
        const struct tl_scalar_arg *arg = &args->scalars[i];

        bits[i] = arg->bits;
        dest->scalar_dtype[i] = arg->dtype;
        if (arg->flags & TL_TASK_ARG_MARKED)
            dest->scalar_marked |= 1u << i;
        if (arg->flags & TL_TASK_ARG_AMBIGUOUS)
            dest->scalar_ambiguous |= 1u << i;
    }
}

void tl__plan_write_payload(const struct tl_plan *plan, struct tl_task_payload *dest)
{
    const struct tl_task_args *args = plan->args;

    assert((uintptr_t)dest % _Alignof(struct tl_task_payload) == 0);
    assert(plan->payload_bytes <= TL_PAYLOAD_MAX && plan->payload_bytes % 8 == 0);
    assert(plan->payload_bytes == tl__payload_bytes(args ? args->n_tensors : 0, args ? args->n_scalars : 0));
    memset(dest, 0, sizeof(*dest));
    dest->id = plan->id;
    memcpy(dest->func, plan->subtasks.func, sizeof(dest->func));
    dest->block_num = 1;
    dest->flags = plan->manual ? TL_PAYLOAD_MANUAL : 0;
    if (args == NULL) {
        dest->flags |= TL_PAYLOAD_ALLOC;
        return;
    }
    if (args->block_num > 1)
        dest->block_num = args->block_num;
    if (args->dump_all)
        dest->flags |= TL_PAYLOAD_DUMP_ALL;
    dest->n_tensors = (uint8_t)args->n_tensors;
    dest->n_scalars = (uint8_t)args->n_scalars;
    dest->tensor_marked = plan->tagged_mask;
    write_tensors(plan, dest);
    write_scalars(args, dest);
}
