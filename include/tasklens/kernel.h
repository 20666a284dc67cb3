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
    TL_NO_DEP = 0, /* the tensor makes no dependency */
    TL_IN = 1,
    TL_OUT = 2, /* allocated by the runtime at submit */
    TL_INOUT = 3,
    TL_OUT_EXISTING = 4, /* written without being read, in a buffer that exists */
    TL_SCALAR = 5,
};

struct tl_program;

struct tl_kernel_args {
    const struct tl_tensor *tensors; /* n_tensors views, as submitted */
    void *const *data;       /* data[i]: first element of tensors[i] (start_offset applied); valid during the call */
    const uint64_t *scalars; /* n_scalars raw values, low bytes first */
    uint32_t n_tensors, n_scalars;
    uint32_t block_idx, block_num; /* SPMD: 0 <= block_idx < block_num; 0 and 1 otherwise */
    uint32_t lane;                 /* AIV of its cluster: 0 or 1; 0 on an AIC */
    uint32_t core;                 /* core id on the chip */
    uint32_t n_counts;             /* for tl_count, as the next */
    uint64_t *counts;
    const struct tl_program *program; /* that the kernel is from: for tl_kernel_param */
    const int64_t *params;            /* of this run, in the order of the program's table; n_params of them */
    uint32_t n_params;
};

typedef void (*tl_kernel_fn)(const struct tl_kernel_args *args);

struct tl_kernel {
    int32_t func_id;  /* >= 0, unique in the program */
    const char *name; /* static */
    enum tl_core core;
    tl_kernel_fn fn;
    uint8_t signature_count;                            /* entries used */
    uint8_t signature[TL_MAX_TENSORS + TL_MAX_SCALARS]; /* enum tl_direction by payload slot */
};

/* TL_KERNEL(FUNC_ADD, "add", TL_AIV, add, TL_IN, TL_IN, TL_OUT) */
/* clang-format off */
#ifdef __cplusplus
extern "C++" {
template <typename... T> constexpr uint8_t tl__count_of(T...) { return static_cast<uint8_t>(sizeof...(T)); }
}
#define TL__SIGNATURE_COUNT(...) tl__count_of(__VA_ARGS__)
#else
#define TL__SIGNATURE_COUNT(...) (uint8_t)(sizeof((const uint8_t[]){__VA_ARGS__}))
#endif
#define TL_KERNEL(id, name_, core_, fn_, ...)                                                                          \
    { (id), (name_), (core_), (fn_), TL__SIGNATURE_COUNT(__VA_ARGS__), { __VA_ARGS__ } }
/* clang-format on */

/*
 * What a kernel reports of its own work, for --enable-pmu: the counters that no machine measures are computed from it.
 * X(constant, its name in pmu_meta.json, what is counted)
 */
#define TL_COUNT_LIST(X)                                                                                               \
    X(TL_COUNT_SCALAR_OPS, "scalar_ops", "instructions of the scalar unit")                                            \
    X(TL_COUNT_VEC_FP32_OPS, "vec_fp32_ops", "vector unit: float32 element operations; one add of 64 floats is 64")    \
    X(TL_COUNT_VEC_FP16_OPS, "vec_fp16_ops", "vector unit: float16 and bfloat16 element operations")                   \
    X(TL_COUNT_VEC_INT32_OPS, "vec_int32_ops", "vector unit: int32 element operations")                                \
    X(TL_COUNT_VEC_MISC_OPS, "vec_misc_ops", "vector unit: conversions, comparisons, copies, by element")              \
    X(TL_COUNT_CUBE_FP16_OPS, "cube_fp16_ops", "cube unit: float16 and bfloat16 multiply-adds")                        \
    X(TL_COUNT_CUBE_FP32_OPS, "cube_fp32_ops", "cube unit: float32 multiply-adds")                                     \
    X(TL_COUNT_CUBE_INT8_OPS, "cube_int8_ops", "cube unit: int8 multiply-adds")                                        \
    X(TL_COUNT_MTE1_L0A_BYTES, "mte1_l0a_bytes", "MTE1: bytes from L1 to L0A")                                         \
    X(TL_COUNT_MTE1_L0B_BYTES, "mte1_l0b_bytes", "MTE1: bytes from L1 to L0B")                                         \
    X(TL_COUNT_MTE2_BYTES, "mte2_bytes", "MTE2: bytes from global memory to L1 (AIC) or UB (AIV)")                     \
    X(TL_COUNT_MTE3_BYTES, "mte3_bytes", "MTE3: bytes from UB to global memory")                                       \
    X(TL_COUNT_FIX_BYTES, "fix_bytes", "FIXPIPE: bytes from L0C to global memory")

enum tl_count_class {
#define TL_COUNT_ENUM(constant, name, what) constant,
    TL_COUNT_LIST(TL_COUNT_ENUM)
#undef TL_COUNT_ENUM
        TL_COUNT_CLASSES
};

/*
 * Adds `n` to the count of a class in this call of the kernel; only on the thread of the call, any number of times.
 * Costs an addition if the run counts (--enable-pmu), else one comparison.
 */
static inline void tl_count(const struct tl_kernel_args *k, enum tl_count_class what, uint64_t n)
{
    const uint32_t i = TL__CAST(uint32_t, what);

    if (i < k->n_counts)
        k->counts[i] += n;
}

/* Typed access: const float *x = TL_DATA(k, 0, const float);  float scale = TL_SCALAR_OF(k, 0, float); */
#define TL_DATA(k, i, type) TL__CAST(type *, (k)->data[i])
#define TL_SCALAR_OF(k, i, type) (*TL__CAST(const type *, TL__CAST(const void *, &(k)->scalars[i])))

#ifdef __cplusplus
}
#endif
#endif
