/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the boundaries of a run say about its rings: each scope's begin and end together, the peaks, and sizes that are
 * enough for it.
 *
 *     high water   end.head - begin.tail   taken at most at any moment of the scope
 *     occupancy    end.head - end.tail     still taken when it ends
 *     alloc        end.head - begin.head   taken by the scope itself, which it holds until it ends
 *
 * A scope that lasts while others come and go on its ring has a high water that was never taken at once. So a peak is
 * the largest `next.head - this.tail` of two boundaries of a ring that follow each other, and not more than the ring
 * has: nothing between them can be more, and it is exact where a boundary saw as much taken (`seen`), else a bound. A
 * scope that never ended is measured up to the last boundary of its ring. One thread per object.
 */
#ifndef TL_ANALYSIS_SCOPE_USAGE_H
#define TL_ANALYSIS_SCOPE_USAGE_H

#include "artifact/scope_stats.h"

#define TL_NO_SCOPE UINT64_MAX

/* A scope: one begin, and its end. */
struct tl_scope {
    uint64_t begin, last; /* boundaries; last: its end, or the last of its ring while it was open */
    uint64_t high_water[TL_RING_RESOURCES], occupancy[TL_RING_RESOURCES], alloc[TL_RING_RESOURCES];
    uint64_t peak[TL_RING_RESOURCES]; /* taken at most at any moment */
    uint64_t around;                  /* 1 + the open scope around it on its ring, 0: none; while it is open */
    uint64_t tensormap;               /* entries when it ends */
    uint32_t site, depth, ring;
    bool open; /* it never ended */
};

/* All scopes of one site, depth and ring. */
struct tl_scope_group {
    uint32_t site, depth, ring;
    uint64_t scopes, open;
    uint64_t peak[TL_RING_RESOURCES], alloc[TL_RING_RESOURCES]; /* the largest of any */
    uint64_t most[TL_RING_RESOURCES];                           /* the first scope with that peak */
    uint64_t tensormap;
};

/* One resource of one ring. */
struct tl_resource_use {
    uint64_t size;       /* configured; 0: not known */
    uint64_t peak;       /* taken at most at any moment; never above size */
    uint64_t seen;       /* taken at most at a boundary: peak is exact if it is the same, else an upper bound */
    uint64_t step;       /* taken at most between two boundaries that follow each other */
    uint64_t held;       /* the largest alloc of one scope */
    uint64_t kept;       /* the most that one scope can have kept from being used again */
    uint64_t turned;     /* taken in the whole run; above size: places were used again */
    uint64_t enough;     /* a size that is enough for a run like this one, in the flag's units; of a run that ended
                          * abnormally a lower bound, above `size` if that was full */
    uint64_t peak_scope; /* which scope; TL_NO_SCOPE: none */
};

struct tl_ring_use {
    struct tl_resource_use use[TL_RING_RESOURCES];
    uint64_t scopes, open;
    bool used; /* some boundary is on it */
};

struct tl_scope_usage {
    const struct tl_scope_stats *stats; /* borrowed */
    struct tl_scope *scopes;            /* by their begin */
    struct tl_scope_group *groups;      /* the largest share of a ring first */
    struct tl_ring_use rings[TL_SCOPE_MAX_RINGS];
    uint64_t n_scopes, n_groups;
    uint64_t enough[TL_RING_RESOURCES]; /* the largest of any ring: the flags set all rings alike */
    uint64_t tensormap_peak;
    /* What does not fit together. */
    uint64_t open;     /* scopes without an end */
    uint64_t endings;  /* ends without a scope: left out */
    uint64_t backward; /* boundaries whose head is before their tail, or before what the ring had: counted as 0 */
};

/* Of stats that stay as they are. 0 or TL_ENOMEM. End with tl__scope_usage_fini. */
int tl__scope_usage(const struct tl_scope_stats *stats, struct tl_scope_usage *ret_usage);
void tl__scope_usage_fini(struct tl_scope_usage *u);

/* "task window", "heap", "dep pool". */
const char *tl__ring_resource_name(unsigned resource);
/* In a run that ended abnormally: it may have stopped because there was no more of this. */
bool tl__scope_was_full(const struct tl_resource_use *use);
/* The flag of `tasklens run` that sets it: "--task-window". */
const char *tl__ring_resource_flag(unsigned resource);

#endif
