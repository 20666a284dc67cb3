/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor is a logical view: dtype, shape, strides and a start offset (all in elements) over a buffer in device
 * memory. It is a plain value: copy it freely, nothing is owned. All functions here are pure and safe from any thread.
 */
#ifndef TASKLENS_TENSOR_H
#define TASKLENS_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_MAX_DIMS 5

/* A cast in the headers' own code and macros: without a warning in both languages. */
#ifdef __cplusplus
#define TL__CAST(type, value) static_cast<type>(value)
#else
#define TL__CAST(type, value) ((type)(value))
#endif
/* After a field that an initializer may leave out: it is zero then, and g++ does not warn of it. */
#if defined(__cplusplus) && __cplusplus >= 201402L
#define TL__ZERO = {}
#else
#define TL__ZERO
#endif

/* X(enumerator, value, lower-case name, bits per element). The values are the format's (docs/formats/args_dump.md). */
#define TL_DTYPE_LIST(X)                                                                                               \
    X(TL_FLOAT32, 0, "float32", 32)                                                                                    \
    X(TL_FLOAT16, 1, "float16", 16)                                                                                    \
    X(TL_INT32, 2, "int32", 32)                                                                                        \
    X(TL_INT16, 3, "int16", 16)                                                                                        \
    X(TL_INT8, 4, "int8", 8)                                                                                           \
    X(TL_UINT8, 5, "uint8", 8)                                                                                         \
    X(TL_BFLOAT16, 6, "bfloat16", 16)                                                                                  \
    X(TL_INT64, 7, "int64", 64)                                                                                        \
    X(TL_UINT64, 8, "uint64", 64)                                                                                      \
    X(TL_UINT16, 9, "uint16", 16)                                                                                      \
    X(TL_UINT32, 10, "uint32", 32)                                                                                     \
    X(TL_BOOL, 11, "bool", 8)                                                                                          \
    X(TL_FP8E4M3FN, 12, "fp8e4m3fn", 8)                                                                                \
    X(TL_FP8E8M0, 13, "fp8e8m0", 8)                                                                                    \
    X(TL_FP4E2M1, 14, "fp4e2m1", 4)

enum tl_dtype {
#define TL_DTYPE_ENUM(name, value, text, bits) name = (value),
    TL_DTYPE_LIST(TL_DTYPE_ENUM)
#undef TL_DTYPE_ENUM
        TL_DTYPE_COUNT = 15
};

#define TL_NO_TASK UINT64_MAX
/* `buffer` of a program tensor that the run was not given: no task takes it. */
#define TL_NOT_GIVEN UINT64_MAX

struct tl_tensor {
    uint64_t buffer;               /* device address of the buffer's first byte; 0: not allocated yet */
    uint64_t buffer_bytes;         /* size of the buffer; 0 while not allocated */
    uint64_t start_offset;         /* elements from the buffer's start to element [0, 0, ...] */
    uint64_t strides[TL_MAX_DIMS]; /* elements; strides[i] for i >= rank is 0 */
    uint64_t owner;                /* id of the task that allocated the buffer, TL_NO_TASK for the caller's own */
    uint32_t shape[TL_MAX_DIMS];   /* elements; shape[i] for i >= rank is 0 */
    uint32_t version;              /* of the buffer: counts writers that the runtime has seen */
    uint32_t tag;                  /* tl_dump_tag's number of this value, 0 if none */
    uint8_t dtype;                 /* enum tl_dtype */
    uint8_t rank;                  /* 0..TL_MAX_DIMS */
    uint8_t reserved[6];
};

/* Number of bits of one element (4 for FP4E2M1); 0 for an unknown dtype. */
unsigned tl_dtype_bits(unsigned dtype);
/* "float32", ...; "unknown" for an unknown dtype. Never NULL. */
const char *tl_dtype_name(unsigned dtype);
/* Accepts lower and upper case. Returns the dtype, or TL_ENOENT. */
int tl_dtype_parse(const char *name);

/* A contiguous, unallocated tensor of `rank` dims. Give it to tl_add_output() to have the runtime allocate it. */
struct tl_tensor tl_tensor_make(enum tl_dtype dtype, unsigned rank, const uint32_t *shape);

/* Elements in the view (1 for rank 0, 0 if any extent is 0). Saturates at UINT64_MAX. */
uint64_t tl_tensor_numel(const struct tl_tensor *t);
/* Bytes of the view packed densely; FP4 rounds up to a whole byte. Saturates at UINT64_MAX. */
uint64_t tl_tensor_bytes(const struct tl_tensor *t);
/* True if elements in row-major order are consecutive (extent-1 dims do not matter; empty views are contiguous). */
bool tl_tensor_is_contiguous(const struct tl_tensor *t);
/* 0, or TL_EINVAL (rank, dtype), TL_ERANGE (the view reaches past its buffer). Unallocated tensors check geometry
 * alone. */
int tl_tensor_check(const struct tl_tensor *t);

/*
 * Views. Each returns 0 and sets *ret_view, or TL_EINVAL / TL_ERANGE and leaves it alone. `ret_view` may be `t`. Of
 * a tensor that was not given (TL_NOT_GIVEN) each view is that tensor.
 *   tl_view       the box starting at `offset` (elements per dim) of extent `shape`, same rank and strides
 *   tl_transpose  dims `a` and `b` swapped
 *   tl_reshape    same elements, other shape; only of a contiguous view
 */
int tl_view(const struct tl_tensor *t, const uint32_t *offset, const uint32_t *shape, struct tl_tensor *ret_view);
int tl_transpose(const struct tl_tensor *t, unsigned a, unsigned b, struct tl_tensor *ret_view);
int tl_reshape(const struct tl_tensor *t, unsigned rank, const uint32_t *shape, struct tl_tensor *ret_view);

#ifdef __cplusplus
}
#endif
#endif
