/* SPDX-License-Identifier: Apache-2.0 */
#include <tasklens/error.h>
#include <tasklens/tensor.h>

#include "tensor/geometry.h"

TL_API int tl_view(const struct tl_tensor *t, const uint32_t *offset, const uint32_t *shape, struct tl_tensor *ret_view)
{
    struct tl_tensor v = *t;
    uint64_t step;

    if (t->buffer == TL_NOT_GIVEN) { /* so that the submit which takes it says so */
        *ret_view = *t;
        return 0;
    }
    if (t->rank > TL_MAX_DIMS || (t->rank > 0 && (offset == NULL || shape == NULL)))
        return TL_EINVAL;
    for (unsigned i = 0; i < t->rank; i++) {
        if (offset[i] > t->shape[i] || shape[i] > t->shape[i] - offset[i])
            return TL_ERANGE;
        if (__builtin_mul_overflow((uint64_t)offset[i], t->strides[i], &step) ||
            __builtin_add_overflow(v.start_offset, step, &v.start_offset))
            return TL_ERANGE;
        v.shape[i] = shape[i];
    }
    v.tag = 0; /* a view is a new value: a mark on the whole does not select it */
    *ret_view = v;
    return 0;
}

TL_API int tl_transpose(const struct tl_tensor *t, unsigned a, unsigned b, struct tl_tensor *ret_view)
{
    struct tl_tensor v = *t;

    if (t->buffer == TL_NOT_GIVEN) { /* so that the submit which takes it says so */
        *ret_view = *t;
        return 0;
    }
    if (t->rank > TL_MAX_DIMS)
        return TL_EINVAL;
    if (a >= t->rank || b >= t->rank)
        return TL_ERANGE;
    v.shape[a] = t->shape[b];
    v.shape[b] = t->shape[a];
    v.strides[a] = t->strides[b];
    v.strides[b] = t->strides[a];
    v.tag = 0;
    *ret_view = v;
    return 0;
}

TL_API int tl_reshape(const struct tl_tensor *t, unsigned rank, const uint32_t *shape, struct tl_tensor *ret_view)
{
    struct tl_tensor v = *t;

    if (t->buffer == TL_NOT_GIVEN) { /* so that the submit which takes it says so */
        *ret_view = *t;
        return 0;
    }
    if (rank > TL_MAX_DIMS || (rank > 0 && shape == NULL) || !tl_tensor_is_contiguous(t))
        return TL_EINVAL;
    v.rank = (uint8_t)rank;
    for (unsigned i = 0; i < TL_MAX_DIMS; i++)
        v.shape[i] = i < rank ? shape[i] : 0;
    if (tl_tensor_numel(&v) != tl_tensor_numel(t) || tl_tensor_numel(t) == UINT64_MAX)
        return TL_EINVAL;
    tl__dense_strides(&v);
    v.tag = 0;
    *ret_view = v;
    return 0;
}
