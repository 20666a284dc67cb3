/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/traffic/traffic_view.h"

#include <stdlib.h>

#include "base/env.h"
#include "base/error.h"

/* An access as it is grouped by buffer. */
struct use {
    uint64_t buffer, owner, view;
    uint64_t read, written;
    uint64_t tasks, bytes; /* distances */
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* ---- by kernel ---- */

static int by_function(const void *a, const void *b)
{
    const struct tl_traffic_kernel *x = a, *y = b;

    return (x->func_id > y->func_id) - (x->func_id < y->func_id);
}

static int kernels_by_bytes(const void *a, const void *b)
{
    const struct tl_traffic_kernel *x = a, *y = b;
    int order = compare(y->read + y->written, x->read + x->written);

    return order != 0 ? order : by_function(a, b);
}

static struct tl_traffic_kernel kernel_of_task(const struct tl_traffic *t, const struct tl_traffic_task *task)
{
    struct tl_traffic_kernel k = {.func_id = task->func_id,
                                  .tasks = 1,
                                  .subtasks = task->subtasks,
                                  .counted_subtasks = task->counted,
                                  .counted_read = task->counted_read,
                                  .counted_written = task->counted_written};

    for (uint64_t i = task->first_arg; i < task->first_arg + task->n_args; i++) {
        k.read += tl__traffic_read_bytes(&t->args.items[i]);
        k.written += tl__traffic_written_bytes(&t->args.items[i]);
    }
    return k;
}

static void add_kernel(struct tl_traffic_kernel *to, const struct tl_traffic_kernel *k)
{
    to->tasks += k->tasks;
    to->subtasks += k->subtasks;
    to->counted_subtasks += k->counted_subtasks;
    to->read += k->read;
    to->written += k->written;
    to->counted_read += k->counted_read;
    to->counted_written += k->counted_written;
}

static int make_kernels(struct tl_traffic_view *v)
{
    const struct tl_traffic *t = v->traffic;
    struct tl_traffic_kernel all = {0};
    uint64_t n = 0;

    v->kernels = tl__alloc(t->tasks.count + 1, sizeof(*v->kernels));
    if (v->kernels == NULL)
        return TL_ENOMEM;
    for (size_t i = 0; i < t->tasks.count; i++)
        v->kernels[i] = kernel_of_task(t, &t->tasks.items[i]);
    qsort(v->kernels, t->tasks.count, sizeof(*v->kernels), by_function);
    for (size_t i = 0; i < t->tasks.count; i++) {
        add_kernel(&all, &v->kernels[i]);
        if (n > 0 && v->kernels[n - 1].func_id == v->kernels[i].func_id)
            add_kernel(&v->kernels[n - 1], &v->kernels[i]);
        else
            v->kernels[n++] = v->kernels[i];
    }
    qsort(v->kernels, n, sizeof(*v->kernels), kernels_by_bytes);
    v->n_kernels = n;
    v->read = all.read;
    v->written = all.written;
    v->counted_read = all.counted_read;
    v->counted_written = all.counted_written;
    v->subtasks = all.subtasks;
    v->counted_subtasks = all.counted_subtasks;
    return 0;
}

/* ---- by buffer ---- */

static int same_buffer(const struct use *x, const struct use *y)
{
    int order = compare(x->buffer, y->buffer);

    return order != 0 ? order : compare(x->owner, y->owner);
}

static int by_view(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    int order = same_buffer(x, y);

    return order != 0 ? order : compare(x->view, y->view);
}

static int by_tasks(const void *a, const void *b)
{
    return compare(((const struct use *)a)->tasks, ((const struct use *)b)->tasks);
}

static int by_distance(const void *a, const void *b)
{
    return compare(((const struct use *)a)->bytes, ((const struct use *)b)->bytes);
}

static int buffers_by_bytes(const void *a, const void *b)
{
    const struct tl_traffic_buffer *x = a, *y = b;
    int order = compare(y->read + y->written, x->read + x->written);

    if (order != 0)
        return order;
    order = compare(x->buffer, y->buffer);
    return order != 0 ? order : compare(x->owner, y->owner);
}

/* The uses[0..n) of one buffer, by view. First accesses are the largest distances, so that the others come first. */
static struct tl_traffic_buffer buffer_of_uses(struct use *uses, uint64_t n)
{
    struct tl_traffic_buffer b = {.buffer = uses[0].buffer, .owner = uses[0].owner, .accesses = n};

    for (uint64_t i = 0; i < n; i++) {
        b.read += uses[i].read;
        b.written += uses[i].written;
        b.reuses += uses[i].tasks != TL_TRAFFIC_COLD;
        b.slices += i == 0 || uses[i].view != uses[i - 1].view;
    }
    if (b.reuses == 0)
        return b;
    qsort(uses, n, sizeof(*uses), by_tasks);
    b.tasks = (struct tl_traffic_spread){uses[0].tasks, uses[(b.reuses - 1) / 2].tasks, uses[b.reuses - 1].tasks};
    qsort(uses, n, sizeof(*uses), by_distance);
    b.bytes = (struct tl_traffic_spread){uses[0].bytes, uses[(b.reuses - 1) / 2].bytes, uses[b.reuses - 1].bytes};
    return b;
}

static int make_buffers(struct tl_traffic_view *v, struct use *uses)
{
    uint64_t first = 0;

    v->buffers = tl__alloc(v->accesses + 1, sizeof(*v->buffers));
    if (v->buffers == NULL)
        return TL_ENOMEM;
    qsort(uses, v->accesses, sizeof(*uses), by_view);
    for (uint64_t i = 1; i <= v->accesses; i++) {
        struct use next = i < v->accesses ? uses[i] : (struct use){0};

        if (i < v->accesses && same_buffer(&uses[first], &next) == 0)
            continue;
        v->buffers[v->n_buffers] = buffer_of_uses(&uses[first], i - first);
        v->n_slices += v->buffers[v->n_buffers++].slices;
        first = i;
    }
    qsort(v->buffers, v->n_buffers, sizeof(*v->buffers), buffers_by_bytes);
    return 0;
}

/* ---- the whole ---- */

static void ask_cache(struct tl_traffic_cache *c, const struct tl_traffic_arg *a, uint64_t distance)
{
    if (a->access == TL_TRAFFIC_WRITE)
        return;
    c->reads++;
    if (!tl__traffic_found(a->bytes, distance, c->bytes))
        return;
    c->found++;
    c->saved += a->bytes;
}

static void take_uses(struct tl_traffic_view *v, struct use *uses, const uint64_t *bytes, const uint64_t *tasks)
{
    for (size_t i = 0; i < v->traffic->args.count; i++) {
        const struct tl_traffic_arg *a = &v->traffic->args.items[i];

        if (a->bytes == 0) {
            v->invalid++;
            continue;
        }
        uses[v->accesses++] = (struct use){.buffer = a->buffer,
                                           .owner = a->owner,
                                           .view = a->view,
                                           .read = tl__traffic_read_bytes(a),
                                           .written = tl__traffic_written_bytes(a),
                                           .tasks = tasks[i],
                                           .bytes = bytes[i]};
        ask_cache(&v->cache, a, bytes[i]);
    }
}

int tl__traffic_view_make(struct tl_traffic_view *v, uint64_t cache_bytes)
{
    const size_t n = v->traffic->args.count;
    struct use *uses = tl__alloc(n + 1, sizeof(*uses));
    uint64_t *bytes = tl__alloc(n + 1, sizeof(*bytes)), *tasks = tl__alloc(n + 1, sizeof(*tasks));
    int rc = uses != NULL && bytes != NULL && tasks != NULL ? 0 : TL_ENOMEM;

    v->cache.bytes = cache_bytes;
    if (rc == 0)
        rc = tl__traffic_distances(v->traffic, bytes, tasks);
    if (rc == 0) {
        take_uses(v, uses, bytes, tasks);
        rc = make_kernels(v);
    }
    if (rc == 0)
        rc = make_buffers(v, uses);
    tl__free(uses);
    tl__free(bytes);
    tl__free(tasks);
    return rc;
}

void tl__traffic_view_fini(struct tl_traffic_view *v)
{
    tl__free(v->kernels);
    tl__free(v->buffers);
    v->kernels = NULL;
    v->buffers = NULL;
}
