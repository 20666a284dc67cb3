/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reuse distances in one pass: each slice's bytes are kept at the place of its last access in a Fenwick tree, so that
 * the sum between two places is the bytes of the slices accessed last in between.
 */
#include "analysis/traffic/traffic_view.h"

#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"

struct slice {
    uint64_t key[3]; /* buffer, owner, view */
    uint64_t last;   /* place of its last access, from 1; 0: none is there */
    uint64_t bytes;  /* of that access */
    uint64_t task;   /* likewise */
};

struct reuse {
    const struct tl_traffic *traffic;
    struct slice *slices; /* open addressing */
    uint64_t mask;
    uint64_t *tree; /* [1..args] */
};

static void tree_add(const struct reuse *r, uint64_t at, uint64_t bytes) /* `bytes` may be negative, modulo 2^64 */
{
    for (; at <= r->traffic->args.count; at += at & -at)
        r->tree[at] += bytes;
}

/* Of places 1 to `at`. */
static uint64_t tree_sum(const struct reuse *r, uint64_t at)
{
    uint64_t sum = 0;

    for (; at > 0; at &= at - 1)
        sum += r->tree[at];
    return sum;
}

static struct slice *slice_of(const struct reuse *r, const struct tl_traffic_arg *a)
{
    const uint64_t key[3] = {a->buffer, a->owner, a->view};
    uint64_t at = tl__hash64(key, sizeof(key)) & r->mask;

    while (r->slices[at].last != 0 && memcmp(r->slices[at].key, key, sizeof(key)) != 0)
        at = (at + 1) & r->mask;
    memcpy(r->slices[at].key, key, sizeof(key));
    return &r->slices[at];
}

/* The access at `place`, by the task at place `task`. */
static void access_slice(const struct reuse *r, const struct tl_traffic_arg *a, uint64_t place, uint64_t task,
                         uint64_t *ret_bytes, uint64_t *ret_tasks)
{
    struct slice *s;

    *ret_bytes = *ret_tasks = TL_TRAFFIC_COLD;
    if (a->bytes == 0)
        return;
    s = slice_of(r, a);
    if (s->last != 0) {
        *ret_bytes = tree_sum(r, place - 1) - tree_sum(r, s->last);
        *ret_tasks = task - s->task;
        tree_add(r, s->last, -s->bytes);
    }
    tree_add(r, place, a->bytes);
    s->last = place;
    s->bytes = a->bytes;
    s->task = task;
}

int tl__traffic_distances(const struct tl_traffic *t, uint64_t *ret_bytes, uint64_t *ret_tasks)
{
    struct reuse r = {.traffic = t, .mask = 15};
    uint64_t place = 0;
    int rc = TL_ENOMEM;

    while (r.mask < 2 * t->args.count)
        r.mask = 2 * r.mask + 1;
    r.slices = tl__alloc(r.mask + 1, sizeof(*r.slices));
    r.tree = tl__alloc(t->args.count + 1, sizeof(*r.tree));
    if (r.slices != NULL && r.tree != NULL) {
        rc = 0;
        for (uint64_t task = 0; task < t->tasks.count; task++) {
            const struct tl_traffic_task *k = &t->tasks.items[task];

            for (uint64_t i = k->first_arg; i < k->first_arg + k->n_args; i++)
                access_slice(&r, &t->args.items[i], ++place, task, &ret_bytes[i], &ret_tasks[i]);
        }
    }
    tl__free(r.slices);
    tl__free(r.tree);
    return rc;
}
