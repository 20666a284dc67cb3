/* SPDX-License-Identifier: Apache-2.0 */
/* One line about a full ring: how full it is, what holds it, and what to set. */
#include "graph/graph_impl.h"

#include <stdio.h>

static const struct tl_resource_words {
    const char *name, *unit, *one, *flag;
} resources[] = {
    [TL_RESOURCE_WINDOW] = {"task window", "slots", "slot", "--task-window"},
    [TL_RESOURCE_HEAP] = {"heap", "bytes", "byte", "--heap-bytes"},
    [TL_RESOURCE_DEP_POOL] = {"dep pool", "entries", "entry", "--dep-pool"},
};

/* The smallest size that holds what is used and what is missing, without the tasks to come: for a window, and for a
 * heap with its gaps, a power of two. */
static uint64_t size_to_set(const struct tl_graph *g, const struct tl_lack *lack)
{
    uint64_t wanted = lack->used + lack->need, size = lack->resource == TL_RESOURCE_HEAP ? TL_GRAPH_ALIGN : 2;

    assert(lack->used <= lack->size);             /* GI1 */
    assert(lack->need > lack->size - lack->used); /* GI4: something is missing */
    if (lack->need_min > lack->size && g->opts.recycle)
        return lack->need_min; /* it waits until the ring is empty */
    if (lack->resource == TL_RESOURCE_DEP_POOL)
        return wanted;
    while (size < wanted && size < UINT64_C(1) << 63)
        size *= 2;
    return size;
}

static void explain_holder(const struct tl_graph *g, uint32_t ring, char *buf, size_t n)
{
    const struct tl_graph_ring *r = &g->rings[ring];
    const struct tl_graph_slot *slot = tl__slot(r, (uint32_t)r->task_tail);
    const struct tl_scope_info *scope;

    tl__ring_assert(r);
    if (r->task_tail == r->task_head) {
        (void)snprintf(buf, n, "it is empty");
        return;
    }
    if (!tl__scope_is_open(g, slot)) {
        (void)snprintf(buf, n, "the oldest task in it, r%ut%llu, is not complete or a task that uses its memory is not",
                       ring, (unsigned long long)r->task_tail);
        return;
    }
    scope = &g->frames.items[slot->frame].info;
    assert(scope->ring == ring); /* GI5: a scope's tasks are in its ring */
    if (slot->frame == 0)
        (void)snprintf(buf, n,
                       "the oldest task in it, r%ut%llu, is outside any scope and is held to the end of "
                       "the run",
                       ring, (unsigned long long)r->task_tail);
    else
        (void)snprintf(buf, n, "the oldest task in it, r%ut%llu, is held by the open scope of %s:%d", ring,
                       (unsigned long long)r->task_tail, scope->file, scope->line);
}

/* The ring need not be full: one task takes more than it has. */
static void explain_alone(const struct tl_graph *g, const struct tl_lack *lack, char *buf, size_t n)
{
    const struct tl_resource_words *words = &resources[lack->resource];
    const char *why = "";
    char task[40], beside[48] = "";

    if (lack->resource == TL_RESOURCE_DEP_POOL)
        why = g->opts.recycle ? ", one for each task whose memory it uses" : ", one for each task that it depends on";
    if (!g->opts.recycle && lack->used > 0)
        (void)snprintf(beside, sizeof(beside), ", beside %llu used before", (unsigned long long)lack->used);
    (void)snprintf(buf, n,
                   "%s of ring %u is too small: it has %llu %s, and %s alone takes %llu%s%s; set %s to at least %llu, "
                   "which holds this task; later ones may need more",
                   words->name, lack->ring, (unsigned long long)lack->size, lack->size == 1 ? words->one : words->unit,
                   tl__graph_task_name(g, task), (unsigned long long)lack->need_min, why, beside, words->flag,
                   (unsigned long long)size_to_set(g, lack));
}

void tl__graph_explain_full(const struct tl_graph *g, const struct tl_lack *lack, char *buf, size_t n)
{
    char holder[400];

    assert(lack->resource <= TL_RESOURCE_DEP_POOL && lack->ring < g->opts.rings);
    assert(lack->need_min <= lack->need); /* GI4 */
    if (lack->need_min > lack->size) {
        explain_alone(g, lack, buf, n);
        return;
    }
    if (!g->opts.recycle)
        (void)snprintf(holder, sizeof(holder), "nothing is given back before the run");
    else
        explain_holder(g, lack->ring, holder, sizeof(holder));
    (void)snprintf(buf, n,
                   "%s of ring %u is full: %llu of %llu %s used, %llu more needed; %s; set %s to at least %llu, "
                   "which holds this task; later ones may need more%s",
                   resources[lack->resource].name, lack->ring, (unsigned long long)lack->used,
                   (unsigned long long)lack->size, resources[lack->resource].unit, (unsigned long long)lack->need,
                   holder, resources[lack->resource].flag, (unsigned long long)size_to_set(g, lack),
                   g->opts.recycle ? "; or put the tasks into smaller scopes" : "");
}
