/* SPDX-License-Identifier: Apache-2.0 */
#include "view/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 1000000000u
#define EVERY_NS 200000000u

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether a line is due; looks at the clock once in 64 calls. */
static bool due(struct tl_progress *p, uint64_t *ret_elapsed_ns)
{
    uint64_t now;

    if (p->calls++ % 64 != 0 && p->begin_ns != 0)
        return false;
    now = now_ns();
    if (p->begin_ns == 0) {
        p->begin_ns = now;
        p->last_ns = now + FIRST_NS - EVERY_NS;
        return false;
    }
    if (now < p->last_ns + EVERY_NS || !isatty(STDERR_FILENO))
        return false;
    p->last_ns = now;
    p->shown = true;
    *ret_elapsed_ns = now - p->begin_ns;
    return true;
}

void tl__progress_bytes(void *progress, uint64_t done, uint64_t total)
{
    struct tl_progress *p = progress;
    uint64_t elapsed = 0;

    if (due(p, &elapsed) && total > 0)
        fprintf(stderr, "\r%s %3.0f %%  %" PRIu64 " of %" PRIu64 " MB  %.0f MB/s\033[K", p->verb,
                100.0 * (double)done / (double)total, done / 1000000, total / 1000000,
                (double)done * 1000.0 / (double)elapsed);
}

void tl__progress_count(void *progress, uint64_t done, uint64_t total)
{
    struct tl_progress *p = progress;
    uint64_t elapsed = 0;

    if (due(p, &elapsed))
        fprintf(stderr, "\r%s %" PRIu64 " of %" PRIu64 "\033[K", p->verb, done, total);
}

void tl__progress_end(struct tl_progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
    p->shown = false;
}
