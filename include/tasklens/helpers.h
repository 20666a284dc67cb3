/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What most orchestrations need: views, new tensors, and a submit of inputs and outputs. Everything is inline and made
 * of the calls of task.h and tensor.h; no program has to use it.
 *
 * A view that is not possible ends the run with a message (tl_orch_fail): later submits do nothing, so the result need
 * not be checked.
 */
#ifndef TASKLENS_HELPERS_H
#define TASKLENS_HELPERS_H

#include <tasklens/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `count` elements of dim `dim` from `first` on; all of the other dims. */
static inline struct tl_tensor tl_slice(struct tl_orch *o, const struct tl_tensor *t, unsigned dim, uint32_t first,
                                        uint32_t count)
{
    uint32_t offset[TL_MAX_DIMS] = {0}, shape[TL_MAX_DIMS] = {0};
    struct tl_tensor view = *t;

    for (unsigned i = 0; i < t->rank && i < TL_MAX_DIMS; i++)
        shape[i] = t->shape[i];
    if (t->buffer != TL_NOT_GIVEN && dim < TL_MAX_DIMS) {
        offset[dim] = first;
        shape[dim] = count;
    }
    if ((dim >= t->rank && t->buffer != TL_NOT_GIVEN) || tl_view(t, offset, shape, &view) != 0)
        tl_orch_fail(o, "tl_slice: the slice is outside its tensor, or the tensor has no such dim");
    return view;
}

/* Contiguous tensors without memory: given to tl_add_output, the runtime allocates them. */
static inline struct tl_tensor tl_vector(enum tl_dtype dtype, uint32_t count)
{
    return tl_tensor_make(dtype, 1, &count);
}

static inline struct tl_tensor tl_matrix(enum tl_dtype dtype, uint32_t rows, uint32_t columns)
{
    uint32_t shape[2];

    shape[0] = rows;
    shape[1] = columns;
    return tl_tensor_make(dtype, 2, shape);
}

/* Of the dtype and shape of `t`. */
static inline struct tl_tensor tl_like(const struct tl_tensor *t)
{
    return tl_tensor_make(TL__CAST(enum tl_dtype, t->dtype), t->rank, t->shape);
}

/* One task that reads `inputs` and writes `outputs`; its kernel's slots are in this order. Outputs without memory are
 * allocated, and written to what the pointers point to. */
static inline tl_task_id tl_submit_io(struct tl_orch *o, enum tl_core core, int32_t func_id,
                                      const struct tl_tensor *const *inputs, uint32_t n_inputs,
                                      struct tl_tensor *const *outputs, uint32_t n_outputs)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    for (uint32_t i = 0; i < n_inputs; i++)
        tl_add_input(&args, inputs[i]);
    for (uint32_t i = 0; i < n_outputs; i++)
        tl_add_output(&args, outputs[i]);
    return core == TL_AIC ? tl_submit_aic(o, func_id, &args) : tl_submit_aiv(o, func_id, &args);
}

#ifdef __cplusplus
}
#endif
#endif
