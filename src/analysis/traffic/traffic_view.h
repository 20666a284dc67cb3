/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tasks read and wrote, by kernel and by buffer; how far apart in time a buffer's uses are; and what a cache would
 * have saved. No printing here.
 *
 * An access is one tensor argument of one task. It touches a slice: a view of a buffer; two views that overlap and are
 * not equal are two slices. A reuse is an access to a slice that was accessed before. Its distance in tasks is the
 * difference of the two tasks' places in the order in which tasks began; its distance in bytes is the sum of the bytes
 * of the other slices that were accessed in between, each once. A cache of N bytes holds the slices accessed last, as
 * many as fit in whole: an access finds its slice if the distance in bytes and the slice itself are at most N together.
 */
#ifndef TL_ANALYSIS_TRAFFIC_VIEW_H
#define TL_ANALYSIS_TRAFFIC_VIEW_H

#include "analysis/text/rendering.h"
#include "artifact/name_map.h"
#include "artifact/traffic.h"
#include "base/json.h"
#include "base/task_id.h"

#define TL_TRAFFIC_COLD UINT64_MAX /* the distance of a slice's first access */

struct tl_traffic_kernel {
    int32_t func_id;
    uint64_t tasks, subtasks, counted_subtasks;
    uint64_t read, written;                 /* by views and directions */
    uint64_t counted_read, counted_written; /* by the kernels */
};

struct tl_traffic_spread {
    uint64_t min, median, max; /* median: nearest rank */
};

struct tl_traffic_buffer {
    uint64_t buffer, owner;
    uint64_t accesses, slices, read, written;
    uint64_t reuses;
    struct tl_traffic_spread tasks, bytes; /* of the reuses' distances; zeros without a reuse */
};

struct tl_traffic_cache {
    uint64_t bytes;        /* its size; 0: not asked for */
    uint64_t reads, found; /* accesses that read, and those of them whose slice it holds */
    uint64_t saved;        /* bytes that those read */
};

struct tl_traffic_view {
    /* Borrowed. */
    const struct tl_traffic *traffic;
    const struct tl_name_map *names; /* of the renderings; may be empty */
    const char *dir;
    enum tl_task_layout layout;
    uint64_t buffers_shown; /* lines of the list of buffers */
    /* Made. */
    uint64_t read, written, counted_read, counted_written, subtasks, counted_subtasks;
    uint64_t accesses, invalid; /* invalid: arguments whose view was not valid; they count nowhere else */
    uint64_t n_slices;
    struct tl_traffic_kernel *kernels; /* most bytes first */
    struct tl_traffic_buffer *buffers; /* likewise */
    uint64_t n_kernels, n_buffers;
    struct tl_traffic_cache cache;
};

/* For each argument of `t`, in order: the distance of its access in bytes (ret_bytes) and in tasks (ret_tasks);
 * TL_TRAFFIC_COLD at a first access, and where the view is not valid. TL_ENOMEM. */
int tl__traffic_distances(const struct tl_traffic *t, uint64_t *ret_bytes, uint64_t *ret_tasks);
/* Whether a cache of `cache` bytes holds the slice of an access: its bytes and its distance. */
static inline bool tl__traffic_found(uint64_t bytes, uint64_t distance, uint64_t cache)
{
    return distance != TL_TRAFFIC_COLD && distance <= cache && bytes <= cache - distance;
}

/* Makes the view; traffic, names, dir, layout, buffers_shown are set. `cache_bytes` 0: none. TL_ENOMEM. End with
 * tl__traffic_view_fini, also after a failure. */
int tl__traffic_view_make(struct tl_traffic_view *view, uint64_t cache_bytes);
void tl__traffic_view_fini(struct tl_traffic_view *view);

/* For people, with what the figures mean and what they do not cover. */
int tl__traffic_text(struct tl_rendering *out, const struct tl_traffic_view *view);
/* For machines. */
void tl__traffic_json(struct tl_json *json, const struct tl_traffic_view *view);

#endif
