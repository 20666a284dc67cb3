/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel sees, and how a program describes its kernels.
 * A kernel runs on one core, on any thread of the chip; it must not block and must not keep pointers.
 */
#ifndef TASKLENS_KERNEL_H
#define TASKLENS_KERNEL_H

#include <tasklens/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_MAX_TENSORS 16
#define TL_MAX_SCALARS 32

enum tl_core { TL_AIC = 0, TL_AIV = 1 };

/* Directions. In a kernel's signature: TL_IN, TL_OUT, TL_INOUT, TL_SCALAR (after every tensor). */
enum tl_direction {
    TL_NO_DEP = 0,     /* the task neither waits for nor announces this tensor */
    TL_IN = 1,
    TL_OUT = 2,        /* allocated by the runtime at submit */
    TL_INOUT = 3,
    TL_OUT_EXISTING = 4, /* written without being read, in a buffer that exists */
    TL_SCALAR = 5,
};

struct tl_kernel_args {
    const struct tl_tensor *tensors; /* n_tensors views, as submitted */
    void *const *data;               /* data[i]: first element of tensors[i] (start_offset applied); valid during the call */
    const uint64_t *scalars;         /* n_scalars raw values, low bytes first */
    uint32_t n_tensors, n_scalars;
    uint32_t block_idx, block_num;   /* SPMD: 0 <= block_idx < block_num; 0 and 1 otherwise */
    uint32_t lane;                   /* AIV of its cluster: 0 or 1; 0 on an AIC */
    uint32_t core;                   /* core id on the chip */
};

typedef void (*tl_kernel_fn)(const struct tl_kernel_args *args);

struct tl_kernel {
    int32_t func_id;         /* >= 0, unique in the program */
    const char *name;        /* static */
    enum tl_core core;
    tl_kernel_fn fn;
    uint8_t signature_count; /* entries used */
    uint8_t signature[TL_MAX_TENSORS + TL_MAX_SCALARS]; /* enum tl_direction by payload slot */
};

/* TL_KERNEL(FUNC_ADD, "add", TL_AIV, add, TL_IN, TL_IN, TL_OUT) */
/* clang-format off */
#define TL_KERNEL(id, name_, core_, fn_, ...)                                                                          \
    { (id), (name_), (core_), (fn_), (uint8_t)(sizeof((const uint8_t[]){__VA_ARGS__})), { __VA_ARGS__ } }
/* clang-format on */

/* Typed access: const float *x = TL_DATA(k, 0, const float);  float scale = TL_SCALAR_OF(k, 0, float); */
#define TL_DATA(k, i, type) ((type *)(k)->data[i])
#define TL_SCALAR_OF(k, i, type) (*(const type *)(const void *)&(k)->scalars[i])

#ifdef __cplusplus
}
#endif
#endif
