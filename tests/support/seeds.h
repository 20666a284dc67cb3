/* SPDX-License-Identifier: Apache-2.0 */
/* What sweeps over seeds share: which ones, and which one failed. For one file's main. */
#ifndef TL_TESTS_SEEDS_H
#define TL_TESTS_SEEDS_H

#include <stdint.h>
#include <stdlib.h>

static uint64_t first_seed = 1, seeds, seed_now; /* seed_now: 0 outside a sweep */

/* By the words `FIRST [COUNT]`, else $TASKLENS_SEEDS where `by_environment`, else so many. */
static void seeds_from(int argc, char **argv, uint64_t otherwise, bool by_environment)
{
    const char *many = by_environment ? getenv("TASKLENS_SEEDS") : NULL;

    seeds = many != NULL ? strtoull(many, NULL, 0) : otherwise;
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        seeds = strtoull(argv[2], NULL, 0);
}

/* A teardown. */
static int say_seed(void **state)
{
    (void)state;
    if (seed_now != 0)
        print_error("seed %llu\n", (unsigned long long)seed_now);
    seed_now = 0;
    return 0;
}

#endif
