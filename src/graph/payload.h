/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One task as the device keeps it in its slot: fixed layout, no pointers, as long as its arguments need. The memory is
 * the device's; it is written once (tl__plan_write_payload) before the task is published and only read afterwards.
 * The tensors follow the head, then the scalars' bits, so that a kernel can use both as they are.
 */
#ifndef TL_GRAPH_PAYLOAD_H
#define TL_GRAPH_PAYLOAD_H

#include <tasklens/kernel.h>

#define TL_PAYLOAD_DUMP_ALL 1u /* tl_dump(&args): every argument is selected */
#define TL_PAYLOAD_MANUAL 2u   /* submitted in a manual scope */
#define TL_PAYLOAD_ALLOC 4u    /* no kernel: owns memory only */

struct tl_task_payload {
    uint64_t id;
    int32_t func[3];           /* AIC, AIV0, AIV1; -1: left out */
    uint32_t block_num;        /* >= 1 */
    uint32_t tensor_marked;    /* bit i: tensor i is selected, by tl_dump or tl_dump_tag */
    uint32_t tensor_ambiguous; /* bit i: the mark matched several, i is the first */
    uint32_t scalar_marked;    /* the same for scalars */
    uint32_t scalar_ambiguous;
    uint8_t n_tensors, n_scalars;
    uint8_t flags; /* TL_PAYLOAD_* */
    uint8_t reserved[5];
    uint8_t direction[TL_MAX_TENSORS];    /* enum tl_direction, as submitted */
    uint8_t scalar_dtype[TL_MAX_SCALARS]; /* enum tl_dtype */
    struct tl_tensor tensors[];           /* n_tensors, allocated ones filled in; then uint64_t[n_scalars] */
};
_Static_assert(offsetof(struct tl_task_payload, tensors) == 96, "fixed layout");
_Static_assert(offsetof(struct tl_task_payload, direction) == 48, "fixed layout");
_Static_assert(sizeof(struct tl_tensor) % 8 == 0, "scalars follow aligned");

/* Bytes of a payload with these counts; a multiple of 8. The largest is TL_PAYLOAD_MAX. */
static inline uint32_t tl__payload_bytes(uint32_t n_tensors, uint32_t n_scalars)
{
    return (uint32_t)(sizeof(struct tl_task_payload) + n_tensors * sizeof(struct tl_tensor) +
                      n_scalars * sizeof(uint64_t));
}

#define TL_PAYLOAD_MAX                                                                                                 \
    (sizeof(struct tl_task_payload) + TL_MAX_TENSORS * sizeof(struct tl_tensor) + TL_MAX_SCALARS * sizeof(uint64_t))

/* Raw scalar values, low bytes first; valid as long as the payload. */
static inline const uint64_t *tl__payload_scalars(const struct tl_task_payload *p)
{
    return (const uint64_t *)(const void *)(p->tensors + p->n_tensors);
}

#endif
