/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes. A scope's tasks are contiguous in its ring, except where an inner scope shares the ring (beyond the last
 * ring, or the outermost scope and what is outside it): then the outer one's tasks are split into segments. Ended
 * segments are on one stack, an outer scope's below its inner ones', so each scope finds its own on top when it ends.
 */
#include "graph/graph_impl.h"

#include "base/text.h"

int tl__scopes_init(struct tl_graph *g)
{
    if (tl_vec_reserve(&g->ranges, 1) < 0)
        return TL_ENOMEM;
    return tl_vec_push(&g->frames, (struct tl_frame){.info = {.kind = TL_SCOPE_AUTO}});
}

bool tl__scope_is_open(const struct tl_graph *g, const struct tl_graph_slot *slot)
{
    return slot->frame < g->frames.count && g->frames.items[slot->frame].serial == slot->frame_serial;
}

/* Ends the frame's current segment. Memory for it is reserved: see tl__graph_scope_begin. */
static void push_segment(struct tl_graph *g, struct tl_frame *f)
{
    uint32_t head = (uint32_t)g->rings[f->info.ring].task_head;

    assert(f->first <= head);                     /* GI5 */
    assert(g->ranges.count < g->ranges.capacity); /* GI5: reserved when the scope began */
    if (head == f->first)
        return;
    g->ranges.items[g->ranges.count++] = (struct tl_range){.ring = f->info.ring, .first = f->first, .end = head};
    f->n_ranges++;
    f->first = head;
}

int tl__graph_scope_begin(struct tl_graph *g, enum tl_scope_kind kind, const char *file, int line)
{
    uint32_t depth = (uint32_t)g->frames.count - 1, ring = depth < g->opts.rings ? depth : g->opts.rings - 1;
    struct tl_frame *f;

    /* For the segment that may end here, and for one more, so that ending a scope cannot fail. */
    if (tl_vec_reserve(&g->frames, g->frames.count + 1) < 0 || tl_vec_reserve(&g->ranges, g->ranges.count + 2) < 0)
        return TL_ENOMEM;
    assert(tl__frame_top(g)->info.ring <= ring); /* GI5: a deeper scope has the same ring or a later one */
    if (tl__frame_top(g)->info.ring == ring)
        push_segment(g, tl__frame_top(g));
    f = &g->frames.items[g->frames.count++];
    *f = (struct tl_frame){
        .info = {.file = tl__source_name(file), .line = line, .depth = depth, .ring = ring, .kind = kind},
        .serial = ++g->frame_serial,
        .first = (uint32_t)g->rings[ring].task_head,
    };
    assert(tl__graph_depth(g) == depth + 1);
    return (int)depth;
}

#ifndef NDEBUG
/* GI5: what a scope held are ranges of its ring, none of them empty, in order. */
static bool ranges_are_sound(const struct tl_graph *g, const struct tl_frame *f)
{
    const struct tl_range *ranges = g->ranges.items + g->ranges.count - f->n_ranges;
    uint32_t end = 0;

    for (uint32_t i = 0; i < f->n_ranges; i++) {
        if (ranges[i].ring != f->info.ring || ranges[i].first < end || ranges[i].first >= ranges[i].end)
            return false;
        end = ranges[i].end;
    }
    return end <= g->rings[f->info.ring].task_head;
}
#endif

static int take_ranges(struct tl_graph *g, struct tl_frame *f, const struct tl_range **ret_ranges)
{
    assert(f == tl__frame_top(g)); /* GI5: scopes end from the innermost outwards */
    push_segment(g, f);
    assert(f->n_ranges <= g->ranges.count); /* GI5: its segments are on top */
    assert(ranges_are_sound(g, f));
    g->ranges.count -= f->n_ranges;
    *ret_ranges = g->ranges.items + g->ranges.count;
    return (int)f->n_ranges;
}

int tl__graph_scope_end(struct tl_graph *g, const struct tl_range **ret_ranges)
{
    struct tl_frame *f = tl__frame_top(g), *outer = f - 1;
    int count;

    if (g->frames.count == 1)
        return TL_EGRAPH;
    count = take_ranges(g, f, ret_ranges);
    g->frames.count--;
    assert(outer->info.depth < f->info.depth || g->frames.count == 1); /* GI5 */
    if (outer->info.ring == f->info.ring)
        outer->first = (uint32_t)g->rings[outer->info.ring].task_head;
    return count;
}

int tl__graph_finish(struct tl_graph *g, const struct tl_range **ret_ranges, struct tl_error *reterr)
{
    struct tl_frame *f = tl__frame_top(g);

    if (g->frames.count > 1)
        return tl__fail(reterr, TL_EGRAPH,
                        "the orchestration ended inside the scope that began at %s:%d: leave TL_SCOPE by its end only",
                        f->info.file, f->info.line);
    return take_ranges(g, f, ret_ranges);
}

const struct tl_scope_info *tl__graph_scope(const struct tl_graph *g)
{
    return g->frames.count > 1 ? &tl__frame_top(g)->info : NULL;
}

uint32_t tl__graph_depth(const struct tl_graph *g)
{
    return (uint32_t)g->frames.count - 1;
}

const struct tl_scope_info *tl__graph_scope_at(const struct tl_graph *g, uint32_t depth)
{
    assert(depth + 1 < g->frames.count);                    /* GI5: frame 0 is "outside any scope" */
    assert(g->frames.items[depth + 1].info.depth == depth); /* GI5 */
    return &g->frames.items[depth + 1].info;
}

uint32_t tl__graph_scopes(const struct tl_graph *g)
{
    return g->frame_serial;
}
