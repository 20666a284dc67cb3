/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_order.h"

#include <stdio.h>
#include <stdlib.h>

#include <tasklens/error.h>

#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "artifact/swimlane.h"
#include "base/env.h"
#include "base/pathname.h"

/* A task and its place in the order. */
struct place {
    uint64_t task_id, rank;
};

struct places {
    struct place *list; /* by task_id */
    uint64_t count;
};

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_rank(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->rank != y->rank ? by_number(x->rank, y->rank) : by_number(x->task_id, y->task_id);
}

static int by_task(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->task_id != y->task_id ? by_number(x->task_id, y->task_id) : by_number(x->rank, y->rank);
}

static int allocate(struct places *p, uint64_t count)
{
    p->list = tl__alloc(count > 0 ? count : 1, sizeof(*p->list));
    p->count = count;
    return p->list != NULL ? 0 : TL_ENOMEM;
}

static int from_deps(const char *path, struct places *ret)
{
    struct tl_deps deps;
    struct tl_error error;
    int code = tl__deps_read(path, &deps, &error);

    if (code != 0)
        return code;
    code = deps.n_tasks > 0 ? allocate(ret, deps.n_tasks) : TL_ENOENT;
    for (uint32_t i = 0; code == 0 && i < deps.n_tasks; i++)
        ret->list[i] = (struct place){deps.tasks[i].task_id, i};
    tl__deps_fini(&deps);
    return code;
}

static int from_submits(const char *path, struct places *ret)
{
    struct tl_swimlane lane;
    struct tl_error error;
    int code = tl__swimlane_read(path, &lane, &error);

    if (code != 0)
        return code;
    code = lane.n_orchs > 0 ? allocate(ret, lane.n_orchs) : TL_ENOENT;
    for (uint64_t i = 0; code == 0 && i < lane.n_orchs; i++)
        ret->list[i] = (struct place){lane.orchs[i].task_id, lane.orchs[i].start_cycles};
    tl__swimlane_fini(&lane);
    return code;
}

/* Whether a file in `dir` says the order. */
static bool layout_in(const char *dir, enum tl_task_layout *ret_layout)
{
    struct tl_meta *meta = tl__alloc(1, sizeof(*meta));
    struct tl_swimlane lane = {0};
    struct tl_deps deps = {0};
    char path[TL_PATHNAME_BYTES];
    bool told = meta != NULL && tl__meta_read(dir, meta, NULL) == 0;

    if (told) {
        *ret_layout = tl__meta_layout(meta);
    } else if (tl__pathname(path, "%s/" TL_DEPS_NAME, dir) && tl__deps_read(path, &deps, NULL) == 0) {
        *ret_layout = tl__task_layout_of(deps.runtime);
        tl__deps_fini(&deps);
        told = true;
    } else if (tl__pathname(path, "%s/" TL_SWIMLANE_NAME, dir) && tl__swimlane_read(path, &lane, NULL) == 0) {
        *ret_layout = tl__task_layout_of(lane.runtime);
        tl__swimlane_fini(&lane);
        told = true;
    }
    tl__free(meta);
    return told;
}

enum tl_task_layout tl__dump_layout(const char *dir)
{
    enum tl_task_layout layout = TL_TASK_RINGS;
    char above[4400];

    if (!layout_in(dir, &layout) && (size_t)snprintf(above, sizeof(above), "%s/..", dir) < sizeof(above))
        (void)layout_in(above, &layout);
    return layout;
}

/* Beside the manifest, or in the run's directory above. */
static int read_places(const char *dir, struct places *ret, enum tl_dump_order_from *ret_from)
{
    static const char *const above[] = {"", "/.."};
    char path[TL_PATHNAME_BYTES];
    int code = TL_ENOENT;

    *ret_from = TL_DUMP_ORDER_DEPS;
    for (unsigned i = 0; i < 2 && code != 0 && code != TL_ENOMEM; i++)
        if (tl__pathname(path, "%s%s/" TL_DEPS_NAME, dir, above[i]))
            code = from_deps(path, ret);
    if (code == 0 || code == TL_ENOMEM)
        return code;
    *ret_from = TL_DUMP_ORDER_SUBMITS;
    for (unsigned i = 0; i < 2 && code != 0 && code != TL_ENOMEM; i++)
        if (tl__pathname(path, "%s%s/" TL_SWIMLANE_NAME, dir, above[i]))
            code = from_submits(path, ret);
    return code;
}

/* Whether all that is picked is of one ring. */
static bool one_ring(const struct tl_recording *recording, const struct tl_dump_pick *pick)
{
    for (uint64_t i = 1; i < pick->count; i++)
        if (tl_recording_at(recording, tl__dump_pick_at(pick, i))->task_id >> 32 !=
            tl_recording_at(recording, tl__dump_pick_at(pick, 0))->task_id >> 32)
            return false;
    return true;
}

/* Places count from 0, and the first of a task that has several holds. */
static void number_places(struct places *p)
{
    qsort(p->list, p->count, sizeof(*p->list), by_rank);
    for (uint64_t i = 0; i < p->count; i++)
        p->list[i].rank = i;
    qsort(p->list, p->count, sizeof(*p->list), by_task);
}

static uint64_t rank_of(const struct places *p, uint64_t task_id)
{
    uint64_t low = 0, high = p->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (p->list[middle].task_id < task_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->count && p->list[low].task_id == task_id ? p->list[low].rank : UINT64_MAX;
}

/* As places: the index in the manifest stands for the task, so that what belongs to one task keeps its order. */
static int reorder(const struct tl_recording *recording, const struct places *p, struct tl_dump_pick *pick,
                   uint64_t *ret_unknown)
{
    struct places rows;
    uint64_t *index = tl__alloc(pick->count, sizeof(*index));

    if (index == NULL || allocate(&rows, pick->count) != 0) {
        tl__free(index);
        return TL_ENOMEM;
    }
    for (uint64_t i = 0; i < pick->count; i++) {
        uint64_t at = tl__dump_pick_at(pick, i);

        rows.list[i] = (struct place){at, rank_of(p, tl_recording_at(recording, at)->task_id)};
        *ret_unknown += rows.list[i].rank == UINT64_MAX;
    }
    qsort(rows.list, rows.count, sizeof(*rows.list), by_rank);
    for (uint64_t i = 0; i < pick->count; i++)
        index[i] = rows.list[i].task_id;
    tl__free(rows.list);
    tl__free(pick->index);
    pick->index = index;
    return 0;
}

int tl__dump_order(const struct tl_recording *recording, const char *dir, struct tl_dump_pick *pick,
                   struct tl_dump_order *ret_order)
{
    struct tl_dump_order order = {TL_DUMP_ORDER_ONE_RING, 0};
    struct places places = {0};
    int code = 0;

    if (!one_ring(recording, pick)) {
        code = read_places(dir, &places, &order.from);
        if (code == 0) {
            number_places(&places);
            code = reorder(recording, &places, pick, &order.unknown);
        } else if (code != TL_ENOMEM) {
            order.from = TL_DUMP_ORDER_RING;
            code = 0;
        }
    }
    tl__free(places.list);
    *ret_order = order;
    return code;
}

const char *tl__dump_order_word(const struct tl_dump_order *order)
{
    return order->from == TL_DUMP_ORDER_RING ? "ring" : "submission";
}
