/* SPDX-License-Identifier: Apache-2.0 */
/* Speed of tl__stats over a payload that is in memory: one line a dtype, GB/s of payload. One core. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tensor/stats.h"

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(void)
{
    const size_t bytes = (size_t)64 << 20;
    const int rounds = 5;
    uint8_t *data = malloc(bytes);
    uint64_t x = 1;

    if (data == NULL)
        return 2;
    for (size_t i = 0; i < bytes; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = (uint8_t)(x >> 56);
    }
    for (unsigned dtype = 0; dtype < TL_DTYPE_COUNT; dtype++) {
        double best = 1e9;

        for (int r = 0; r < rounds; r++) {
            struct tl_stats s;
            double start = seconds(), took;

            if (tl__stats_begin(&s, dtype) < 0)
                return 2;
            tl__stats_add(&s, data, bytes * 8 / tl_dtype_bits(dtype));
            tl__stats_end(&s);
            took = seconds() - start;
            best = took < best ? took : best;
        }
        printf("stats %-10s %6.2f GB/s\n", tl_dtype_name(dtype), (double)bytes / best / 1e9);
    }
    free(data);
    return 0;
}
