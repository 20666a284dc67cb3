/* SPDX-License-Identifier: Apache-2.0 */
/* A run's output against its golden. Pure; any thread. */
#ifndef TL_HOST_COMPARE_H
#define TL_HOST_COMPARE_H

#include <tasklens/tensor.h>

struct tl_comparison {
    uint64_t count;               /* elements */
    uint64_t bad;                 /* beyond the tolerance */
    uint64_t first;               /* row-major index of the first bad one */
    uint32_t index[TL_MAX_DIMS];  /* the same by dim */
    double first_got, first_want; /* its values */
    double worst;                 /* largest |got - want| of all; NaN against a number is infinite */
    double tolerance;             /* relative and absolute: |got - want| <= tolerance * (1 + |want|); 0: exact */
};

/* Default of a dtype: 1e-4 float32, 2e-2 float16 and bfloat16, 0.125 fp8e4m3fn, exact else. */
double tl__tolerance_of(unsigned dtype);
/*
 * Dense arrays of `rank` dims. `tolerance` <= 0 takes the dtype's default; integers, fp8e8m0 and fp4 are always
 * compared exactly. NaN equals NaN, Inf equals Inf of its sign. 0, or TL_EINVAL for an unknown dtype.
 */
int tl__compare(unsigned dtype, unsigned rank, const uint32_t *shape, const void *got, const void *want,
                double tolerance, struct tl_comparison *ret_result);

#endif
