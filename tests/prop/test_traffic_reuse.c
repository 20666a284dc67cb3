/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reuse distances, their spread by buffer and the cache of `tasklens traffic`, against a naive reference: a list of all
 * slices, the last accessed first, that is searched from its front at each access. Random tasks over a few buffers and
 * views, some of which are not valid.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/traffic/traffic_view.h"

#define SEEDS 200u
#define MAX_TASKS 120u
#define MAX_ARGS (MAX_TASKS * 6u)

static uint64_t state;

static uint32_t pick(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % n;
}

/* ---- a random run ---- */

static struct tl_traffic traffic;

static void make(void)
{
    const uint32_t buffers = 1 + pick(5), views = 1 + pick(6), n_tasks = pick(MAX_TASKS);

    for (uint32_t i = 0; i < n_tasks; i++) {
        struct tl_traffic_arg args[6];
        struct tl_traffic_task task = {
            .task_id = i, .start = i, .func_id = (int32_t)pick(3), .subtasks = 1, .n_args = pick(7)};

        for (uint32_t k = 0; k < task.n_args; k++) {
            const uint32_t buffer = pick(buffers), view = pick(views);

            args[k] = (struct tl_traffic_arg){.buffer = buffer / 2, /* an address, and whose: two of one address */
                                              .owner = buffer % 2 != 0 ? 7 : TL_TRAFFIC_NO_OWNER,
                                              .view = view,
                                              .bytes = (uint64_t)(view * 37 + buffer * 11) % 90,
                                              .access = (uint8_t)pick(TL_TRAFFIC_ACCESSES)};
        }
        assert_int_equal(tl__traffic_add(&traffic, &task, args), 0);
    }
}

/* ---- the reference ---- */

static struct {
    struct tl_traffic_arg slice;
    uint64_t task;
} list[MAX_ARGS]; /* the last accessed first */
static uint32_t listed;
static uint64_t want_bytes[MAX_ARGS], want_tasks[MAX_ARGS];

static bool same(const struct tl_traffic_arg *a, const struct tl_traffic_arg *b)
{
    return a->buffer == b->buffer && a->owner == b->owner && a->view == b->view;
}

static void refer_to(uint64_t at, const struct tl_traffic_arg *a, uint64_t task)
{
    uint64_t before = 0;
    uint32_t i = 0;

    want_bytes[at] = want_tasks[at] = TL_TRAFFIC_COLD;
    if (a->bytes == 0)
        return;
    while (i < listed && !same(&list[i].slice, a))
        before += list[i++].slice.bytes;
    if (i < listed) {
        want_bytes[at] = before;
        want_tasks[at] = task - list[i].task;
    } else {
        listed++;
    }
    memmove(&list[1], &list[0], i * sizeof(list[0]));
    list[0].slice = *a;
    list[0].task = task;
}

static void refer(void)
{
    uint64_t at = 0;

    listed = 0;
    for (uint64_t task = 0; task < traffic.tasks.count; task++)
        for (uint32_t k = 0; k < traffic.tasks.items[task].n_args; k++, at++)
            refer_to(at, &traffic.args.items[at], task);
}

/* ---- comparing ---- */

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void same_spread(const struct tl_traffic_buffer *b, const struct tl_traffic_spread *spread, const uint64_t *want)
{
    static uint64_t values[MAX_ARGS];
    uint64_t n = 0;

    for (uint64_t i = 0; i < traffic.args.count; i++)
        if (traffic.args.items[i].buffer == b->buffer && traffic.args.items[i].owner == b->owner &&
            want[i] != TL_TRAFFIC_COLD)
            values[n++] = want[i];
    assert_int_equal(b->reuses, n);
    if (n == 0)
        return;
    qsort(values, n, sizeof(values[0]), ascending);
    assert_int_equal(spread->min, values[0]);
    assert_int_equal(spread->median, values[(n - 1) / 2]);
    assert_int_equal(spread->max, values[n - 1]);
}

static void same_buffers(const struct tl_traffic_view *v)
{
    uint64_t accesses = 0;

    for (uint64_t i = 0; i < v->n_buffers; i++) {
        same_spread(&v->buffers[i], &v->buffers[i].tasks, want_tasks);
        same_spread(&v->buffers[i], &v->buffers[i].bytes, want_bytes);
        accesses += v->buffers[i].accesses;
    }
    assert_int_equal(accesses, v->accesses);
    assert_int_equal(v->n_slices, listed);
}

static void same_cache(const struct tl_traffic_view *v)
{
    uint64_t reads = 0, found = 0, saved = 0;

    for (uint64_t i = 0; i < traffic.args.count; i++) {
        const struct tl_traffic_arg *a = &traffic.args.items[i];

        if (a->bytes == 0 || a->access == TL_TRAFFIC_WRITE)
            continue;
        reads++;
        if (want_bytes[i] != TL_TRAFFIC_COLD && want_bytes[i] + a->bytes <= v->cache.bytes) {
            found++;
            saved += a->bytes;
        }
    }
    assert_int_equal(v->cache.reads, reads);
    assert_int_equal(v->cache.found, found);
    assert_int_equal(v->cache.saved, saved);
}

static void equal_to_the_reference(void **unused)
{
    static uint64_t bytes[MAX_ARGS], tasks[MAX_ARGS];

    (void)unused;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct tl_traffic_view view = {.traffic = &traffic};

        state = seed;
        make();
        refer();
        assert_int_equal(tl__traffic_distances(&traffic, bytes, tasks), 0);
        for (uint64_t i = 0; i < traffic.args.count; i++)
            if (bytes[i] != want_bytes[i] || tasks[i] != want_tasks[i])
                fail_msg("seed %u, access %llu", seed, (unsigned long long)i);
        assert_int_equal(tl__traffic_view_make(&view, 1 + pick(600)), 0);
        same_buffers(&view);
        same_cache(&view);
        tl__traffic_view_fini(&view);
        tl__traffic_fini(&traffic);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_to_the_reference)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
