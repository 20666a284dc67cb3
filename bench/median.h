/* SPDX-License-Identifier: Apache-2.0 */
/* What every bench reports: the median of its rounds. */
#ifndef TL_BENCH_MEDIAN_H
#define TL_BENCH_MEDIAN_H

#include <stdlib.h>

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts `values`; n >= 1. */
static inline double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), bench_compare);
    return values[n / 2];
}

#endif
