/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/spread.h"

#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    const uint64_t *l = left, *r = right;

    return *l < *r ? -1 : *l > *r;
}

/* The smallest value that at least `percent` of all do not exceed. */
static uint64_t rank(const uint64_t *sorted, uint64_t count, uint64_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

struct tl_spread tl__spread(uint64_t *values, uint64_t count)
{
    struct tl_spread spread = {.count = count};

    if (count == 0)
        return spread;
    qsort(values, count, sizeof(*values), by_value);
    for (uint64_t i = 0; i < count; i++)
        spread.total_ns += values[i];
    spread.median_ns = rank(values, count, 50);
    spread.p95_ns = rank(values, count, 95);
    spread.max_ns = values[count - 1];
    return spread;
}
