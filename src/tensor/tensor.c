/* SPDX-License-Identifier: Apache-2.0 */
#include <tasklens/error.h>
#include <tasklens/tensor.h>

#include "tensor/geometry.h"

TL_API struct tl_tensor tl_tensor_make(enum tl_dtype dtype, unsigned rank, const uint32_t *shape)
{
    struct tl_tensor t = {.owner = TL_NO_TASK, .dtype = (uint8_t)dtype};

    /* Kept as given, up to what the field holds, so that tl_tensor_check can refuse it. */
    t.rank = rank > UINT8_MAX ? UINT8_MAX : (uint8_t)rank;
    for (unsigned i = 0; i < rank && i < TL_MAX_DIMS; i++)
        t.shape[i] = shape[i];
    tl__dense_strides(&t);
    return t;
}

void tl__dense_strides(struct tl_tensor *t)
{
    uint64_t stride = 1;

    for (unsigned i = TL_MAX_DIMS; i-- > 0;) {
        if (i >= t->rank) {
            t->strides[i] = 0;
            continue;
        }
        t->strides[i] = stride;
        /* An extent of 0 counts as 1, so that the strides of an empty tensor still show the order of its dims. */
        if (t->shape[i] > 1 && __builtin_mul_overflow(stride, (uint64_t)t->shape[i], &stride))
            stride = UINT64_MAX;
    }
}

TL_API uint64_t tl_tensor_numel(const struct tl_tensor *t)
{
    uint64_t n = 1;
    bool over = false;

    for (unsigned i = 0; i < t->rank && i < TL_MAX_DIMS; i++) {
        if (t->shape[i] == 0)
            return 0;
        over |= __builtin_mul_overflow(n, (uint64_t)t->shape[i], &n);
    }
    return over ? UINT64_MAX : n;
}

TL_API uint64_t tl_tensor_bytes(const struct tl_tensor *t)
{
    uint64_t n = tl_tensor_numel(t);
    unsigned bits = tl_dtype_bits(t->dtype);
    uint64_t bytes;

    if (bits == 4)
        return n / 2 + n % 2;
    return __builtin_mul_overflow(n, (uint64_t)(bits / 8), &bytes) ? UINT64_MAX : bytes;
}

TL_API bool tl_tensor_is_contiguous(const struct tl_tensor *t)
{
    uint64_t expected = 1;

    if (t->rank > TL_MAX_DIMS)
        return false;
    if (tl_tensor_numel(t) == 0)
        return true;
    for (unsigned i = t->rank; i-- > 0;) {
        if (t->shape[i] == 1)
            continue;
        if (t->strides[i] != expected || __builtin_mul_overflow(expected, (uint64_t)t->shape[i], &expected))
            return false;
    }
    return true;
}

/* Index one past the last element that the view touches, from the buffer's start; false if 64 bits cannot hold it. */
static bool reach(const struct tl_tensor *t, uint64_t *ret_elements)
{
    uint64_t end = 1;
    uint64_t span;

    if (__builtin_add_overflow(end, t->start_offset, &end))
        return false;
    for (unsigned i = 0; i < t->rank; i++) {
        if (__builtin_mul_overflow((uint64_t)t->shape[i] - 1, t->strides[i], &span) ||
            __builtin_add_overflow(end, span, &end))
            return false;
    }
    *ret_elements = end;
    return true;
}

TL_API int tl_tensor_check(const struct tl_tensor *t)
{
    uint64_t elements, capacity;
    unsigned bits = tl_dtype_bits(t->dtype);

    if (bits == 0 || t->rank > TL_MAX_DIMS)
        return TL_EINVAL;
    if (tl_tensor_numel(t) == 0)
        return 0; /* touches nothing, wherever it points */
    if (!reach(t, &elements) || elements > UINT64_MAX / 8 || tl_tensor_numel(t) > UINT64_MAX / 8)
        return TL_ERANGE;
    if (t->buffer == 0)
        return 0;
    capacity = bits == 4 ? (t->buffer_bytes > UINT64_MAX / 2 ? UINT64_MAX : t->buffer_bytes * 2)
                         : t->buffer_bytes / (bits / 8);
    return elements <= capacity ? 0 : TL_ERANGE;
}
