/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a task's arguments. Nothing is validated against the device here: an orchestration is straight-line code, so
 * the first fault is kept in the list and reported when the task is submitted.
 *
 * error_index is the payload slot of the wrong argument (tensors count from 0, scalars from 0). For a mark without
 * argument (TL_ENOENT), it says whether a tensor or a scalar was named. TL_EPOISONED: a program tensor that the run did
 * not get.
 */
#include <assert.h>
#include <string.h>

#include <tasklens/error.h>

#include "graph/task_args.h"

/* An argument that could not be added is more important than a mark without argument: the mark may name that very
 * argument, and marks do not count at every dump level. */
static void keep_error(struct tl_task_args *args, int code, int32_t index)
{
    assert(code < 0);
    if (args->error == 0 || (args->error == TL_ENOENT && code != TL_ENOENT)) {
        args->error = code;
        args->error_index = index;
    }
}

static void add_tensor(struct tl_task_args *args, const struct tl_tensor *t, enum tl_direction direction,
                       struct tl_tensor *out)
{
    struct tl_tensor_arg *arg;

    if (t == NULL) {
        keep_error(args, TL_EINVAL, (int32_t)args->n_tensors);
        return;
    }
    if (t->buffer == TL_NOT_GIVEN) {
        keep_error(args, TL_EPOISONED, (int32_t)args->n_tensors);
        return;
    }
    if (args->n_tensors >= TL_MAX_TENSORS) {
        keep_error(args, TL_ENOSPC, TL_MAX_TENSORS);
        return;
    }
    arg = &args->tensors[args->n_tensors++];
    arg->tensor = *t;
    arg->out = out;
    arg->key = t;
    arg->direction = (uint8_t)direction;
    arg->flags = 0;
}

TL_API void tl_add_input(struct tl_task_args *args, const struct tl_tensor *t)
{
    add_tensor(args, t, TL_IN, NULL);
}

TL_API void tl_add_inout(struct tl_task_args *args, const struct tl_tensor *t)
{
    add_tensor(args, t, TL_INOUT, NULL);
}

/* What is written without being read is a new value of the same buffer: the caller's tensor, and what is derived from
 * it later, carries the next version and no tag. */
TL_API void tl_add_output(struct tl_task_args *args, struct tl_tensor *t)
{
    if (t == NULL || t->buffer == 0) {
        add_tensor(args, t, TL_OUT, t);
        return;
    }
    t->version++;
    t->tag = 0;
    add_tensor(args, t, TL_OUT_EXISTING, NULL);
}

TL_API void tl_add_no_dep(struct tl_task_args *args, const struct tl_tensor *t)
{
    add_tensor(args, t, TL_NO_DEP, NULL);
}

TL_API void tl_set_dependencies(struct tl_task_args *args, const tl_task_id *ids, uint32_t count)
{
    args->deps = ids;
    args->n_deps = ids == NULL ? 0 : count;
}

TL_API void tl_set_block_num(struct tl_task_args *args, uint32_t block_num)
{
    args->block_num = block_num;
}

TL_API void tl__add_scalar(struct tl_task_args *args, const void *lvalue, size_t size, enum tl_dtype dtype)
{
    struct tl_scalar_arg *arg;

    if (args->n_scalars >= TL_MAX_SCALARS) {
        keep_error(args, TL_ERANGE, TL_MAX_SCALARS);
        return;
    }
    if (lvalue == NULL || tl_dtype_bits(dtype) == 0 || size != (tl_dtype_bits(dtype) + 7) / 8) {
        keep_error(args, TL_ENOTSUP, (int32_t)args->n_scalars);
        return;
    }
    arg = &args->scalars[args->n_scalars++];
    arg->bits = 0;
    memcpy(&arg->bits, lvalue, size);
    arg->key = lvalue;
    arg->dtype = (uint8_t)dtype;
    arg->flags = 0;
}

TL_API void tl__dump_tensor(struct tl_task_args *args, const struct tl_tensor *t)
{
    struct tl_tensor_arg *first = NULL;

    if (!TASKLENS_DFX)
        return;
    for (uint32_t i = 0; i < args->n_tensors; i++) {
        if (args->tensors[i].key != t)
            continue;
        if (first != NULL) {
            first->flags |= TL_TASK_ARG_AMBIGUOUS;
            return;
        }
        first = &args->tensors[i];
        first->flags |= TL_TASK_ARG_MARKED;
    }
    if (first == NULL)
        keep_error(args, TL_ENOENT, TL_MARKED_TENSOR);
}

TL_API void tl__dump_scalar(struct tl_task_args *args, const void *lvalue)
{
    struct tl_scalar_arg *first = NULL;

    if (!TASKLENS_DFX)
        return;
    for (uint32_t i = 0; i < args->n_scalars; i++) {
        if (args->scalars[i].key != lvalue)
            continue;
        if (first != NULL) {
            first->flags |= TL_TASK_ARG_AMBIGUOUS;
            return;
        }
        first = &args->scalars[i];
        first->flags |= TL_TASK_ARG_MARKED;
    }
    if (first == NULL)
        keep_error(args, TL_ENOENT, TL_MARKED_SCALAR);
}

TL_API void tl__dump_task(struct tl_task_args *args)
{
    args->dump_all = TASKLENS_DFX; /* without the probes, marks are callable and do nothing */
}
