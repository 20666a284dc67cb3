/* SPDX-License-Identifier: Apache-2.0 */
#include "host/compare.h"

#include <math.h>
#include <string.h>

#include <tasklens/error.h>

#include "tensor/convert.h"

#define BLOCK 1024u

double tl__tolerance_of(unsigned dtype)
{
    switch (dtype) {
    case TL_FLOAT32:
        return 1e-4;
    case TL_FLOAT16:
    case TL_BFLOAT16:
        return 2e-2;
    case TL_FP8E4M3FN:
        return 0.125;
    default:
        return 0.0;
    }
}

/* |got - want|, with the cases that a subtraction does not tell. */
static double distance(double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0.0 : INFINITY;
    if (isinf(got) || isinf(want))
        return got == want ? 0.0 : INFINITY;
    return fabs(got - want);
}

static void look_at(struct tl_comparison *c, uint64_t i, double got, double want, bool differs)
{
    double d = differs ? distance(got, want) : 0.0;
    double allowed = c->tolerance * (1.0 + (isfinite(want) ? fabs(want) : 0.0));

    if (d > c->worst)
        c->worst = d;
    if (!differs || (c->tolerance > 0 && d <= allowed))
        return;
    if (c->bad++ == 0) {
        c->first = i;
        c->first_got = got;
        c->first_want = want;
    }
}

/* Integers beyond 2^53 have no double of their own: whether they differ is decided on the integers. */
static void look_at_integers(struct tl_comparison *c, unsigned dtype, const void *got, const void *want, uint64_t at,
                             size_t n, const double *got_values, const double *want_values)
{
    for (size_t i = 0; i < n; i++)
        look_at(c, at + i, got_values[i], want_values[i],
                tl__int_at(dtype, got, at + i) != tl__int_at(dtype, want, at + i));
}

static void unravel(struct tl_comparison *c, unsigned rank, const uint32_t *shape)
{
    uint64_t rest = c->first;

    for (unsigned d = rank; d-- > 0;) {
        c->index[d] = shape[d] ? (uint32_t)(rest % shape[d]) : 0;
        rest = shape[d] ? rest / shape[d] : 0;
    }
}

int tl__compare(unsigned dtype, unsigned rank, const uint32_t *shape, const void *got, const void *want,
                double tolerance, struct tl_comparison *ret_result)
{
    struct tl_tensor t;
    double a[BLOCK], b[BLOCK];

    if (tl_dtype_bits(dtype) == 0 || rank > TL_MAX_DIMS)
        return TL_EINVAL;
    memset(ret_result, 0, sizeof(*ret_result));
    t = tl_tensor_make((enum tl_dtype)dtype, rank, shape);
    ret_result->count = tl_tensor_numel(&t);
    ret_result->tolerance = tl__tolerance_of(dtype);
    if (tolerance > 0 && ret_result->tolerance > 0)
        ret_result->tolerance = tolerance;
    if (memcmp(got, want, tl_tensor_bytes(&t)) == 0)
        return 0;
    for (uint64_t at = 0; at < ret_result->count; at += BLOCK) {
        size_t n = ret_result->count - at < BLOCK ? (size_t)(ret_result->count - at) : BLOCK;
        int rc = tl__to_f64(dtype, got, at, n, a);

        if (rc == 0)
            rc = tl__to_f64(dtype, want, at, n, b);
        if (rc != 0)
            return rc;
        if (!tl__dtype_is_float(dtype))
            look_at_integers(ret_result, dtype, got, want, at, n, a, b);
        else
            for (size_t i = 0; i < n; i++)
                look_at(ret_result, at + i, a[i], b[i], distance(a[i], b[i]) != 0.0);
    }
    unravel(ret_result, rank, shape);
    return 0;
}
