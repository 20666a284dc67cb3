/* SPDX-License-Identifier: Apache-2.0 */
/* The graph in memory: where a task is, by its id. The reader is deps_read.c, the writer deps_write.c. */
#include "artifact/deps.h"

#include <stdbool.h>

#include "base/env.h"
#include "base/error.h"

uint64_t tl__deps_tensor_id(uint64_t buffer_addr, uint32_t version)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (unsigned i = 0; i < 12; i++) {
        uint64_t byte = i < 8 ? buffer_addr >> 8 * i & 0xff : (uint64_t)version >> 8 * (i - 8) & 0xff;

        hash = (hash ^ byte) * 0x100000001b3u;
    }
    return hash;
}

/* Ids are ring << 32 | local: the multiplication brings both into the low bits. */
static uint64_t slot_of(uint64_t task_id)
{
    uint64_t z = task_id * 0x9e3779b97f4a7c15u;

    return z ^ z >> 32;
}

uint32_t tl__deps_find(const struct tl_deps *d, uint64_t task_id)
{
    if (d->by_id == NULL)
        return UINT32_MAX;
    for (uint64_t at = slot_of(task_id) & d->by_id_mask; d->by_id[at] != 0; at = (at + 1) & d->by_id_mask)
        if (d->tasks[d->by_id[at] - 1].task_id == task_id)
            return (uint32_t)(d->by_id[at] - 1);
    return UINT32_MAX;
}

static int index_tasks(struct tl_deps *d, struct tl_error *reterr)
{
    for (uint64_t i = 0; i < d->n_tasks; i++) {
        uint64_t task_id = d->tasks[i].task_id, at = slot_of(task_id) & d->by_id_mask;

        for (; d->by_id[at] != 0; at = (at + 1) & d->by_id_mask)
            if (d->tasks[d->by_id[at] - 1].task_id == task_id)
                return tl__fail_at(
                    reterr, TL_EPARSE, (long)i, "tasks[%llu]: field 'task_id': %llu is the id of tasks[%llu] already",
                    (unsigned long long)i, (unsigned long long)task_id, (unsigned long long)(d->by_id[at] - 1));
        d->by_id[at] = i + 1;
    }
    return 0;
}

static void drop_index(struct tl_deps *d)
{
    tl__free(d->edge_pred);
    tl__free(d->edge_succ);
    tl__free(d->by_id);
    d->edge_pred = d->edge_succ = NULL;
    d->by_id = NULL;
    d->by_id_mask = 0;
}

static bool alloc_index(struct tl_deps *d)
{
    uint64_t slots = 16;

    while (slots < d->n_tasks * 2)
        slots *= 2;
    d->by_id_mask = slots - 1;
    d->by_id = tl__alloc(slots, sizeof(*d->by_id));
    d->edge_pred = tl__alloc(d->n_edges + 1, sizeof(*d->edge_pred)); /* never of 0 bytes */
    d->edge_succ = tl__alloc(d->n_edges + 1, sizeof(*d->edge_succ));
    return d->by_id != NULL && d->edge_pred != NULL && d->edge_succ != NULL;
}

int tl__deps_index(struct tl_deps *d, struct tl_error *reterr)
{
    int code;

    drop_index(d);
    if (d->n_tasks >= UINT32_MAX)
        return tl__fail(reterr, TL_EPARSE, "%llu tasks: more than there are numbers for",
                        (unsigned long long)d->n_tasks);
    if (!alloc_index(d)) {
        drop_index(d);
        return tl__fail(reterr, TL_ENOMEM, "out of memory");
    }
    code = index_tasks(d, reterr);
    if (code != 0) {
        drop_index(d);
        return code;
    }
    for (uint64_t i = 0; i < d->n_edges; i++) {
        d->edge_pred[i] = tl__deps_find(d, d->edges[i].pred);
        d->edge_succ[i] = tl__deps_find(d, d->edges[i].succ);
    }
    return 0;
}

void tl__deps_fini(struct tl_deps *d)
{
    drop_index(d);
    tl__free(d->tasks);
    tl__free(d->args);
    tl__free(d->tensors);
    tl__free(d->edges);
    tl__free(d->filtered);
    *d = (struct tl_deps){0};
}
