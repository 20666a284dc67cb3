/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What feeds a task, and what it feeds, as a tree: each task appears once, under the task it was first reached from,
 * the nearest first where not all fit. Its other edges into the tree are named at the end of its line.
 */
#include <inttypes.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_show.h"
#include "analysis/text/phrases.h"
#include "base/env.h"

#define MAX_INDENT 24 /* levels; the level itself comes first */
#define MAX_ALSO 4    /* further tasks named on a line */

struct tree {
    const struct tl_deps_subject *s;
    struct tl_deps_reach reach;
    bool up;
    uint32_t within; /* entries within the levels asked for, the start among them */
    uint32_t shown;  /* of these, the start among them */
    uint32_t *first; /* first entry reached from entry i; children are side by side, in the order of the parents */
    bool *in_tree;   /* by task */
};

static void tree_fini(struct tree *t)
{
    tl__deps_reach_fini(&t->reach);
    tl__free(t->first);
    tl__free(t->in_tree);
}

static int tree_init(struct tree *t, uint32_t task, uint32_t levels)
{
    uint32_t next = 1;
    int code = tl__deps_walk(t->s->graph, task, t->up, UINT32_MAX, &t->reach);

    if (code < 0)
        return code;
    t->first = tl__alloc((size_t)t->reach.count + 1, sizeof(*t->first));
    t->in_tree = tl__alloc((size_t)t->s->graph->tasks + 1, sizeof(*t->in_tree));
    if (t->first == NULL || t->in_tree == NULL) {
        tree_fini(t);
        return TL_ENOMEM;
    }
    while (t->within < t->reach.count && t->reach.distance[t->within] <= levels)
        t->within++;
    t->shown = t->within - 1 <= t->s->limit ? t->within : (uint32_t)t->s->limit + 1;
    for (uint32_t i = 0; i < t->reach.count; i++) {
        t->first[i] = next;
        while (next < t->reach.count && t->reach.from[next] == i)
            next++;
    }
    for (uint32_t i = 0; i < t->shown; i++)
        t->in_tree[t->reach.task[i]] = true;
    return 0;
}

/* The entry that is shown below entry `i` on the page, or 0 at the end. */
static uint32_t following(const struct tree *t, uint32_t i)
{
    if (t->first[i] < t->shown && t->reach.from[t->first[i]] == i)
        return t->first[i];
    while (i != 0) {
        if (i + 1 < t->shown && t->reach.from[i + 1] == t->reach.from[i])
            return i + 1;
        i = t->reach.from[i];
    }
    return 0;
}

/* The edges between an entry and the one it was reached from: the first in words, the others counted. */
static void put_edges(struct tl_rendering *out, const struct tree *t, uint32_t entry)
{
    const struct tl_deps_graph *g = t->s->graph;
    const struct tl_deps_edge *edge = &t->s->deps->edges[t->reach.edge[entry]];
    uint32_t task = t->reach.task[entry], near = t->reach.task[t->reach.from[entry]], more = 0;
    const uint32_t *at = t->up ? g->out_at : g->in_at, *list = t->up ? g->out : g->in;
    const uint32_t *other = t->up ? t->s->deps->edge_succ : t->s->deps->edge_pred;

    for (uint32_t i = at[task]; i < at[task + 1]; i++)
        more += other[list[i]] == near;
    tl__put_str(out, tl__deps_source_name(edge->source));
    if (edge->arg >= 0)
        tl__put_format(out, " arg %" PRId32, edge->arg);
    if (edge->source != TL_DEPS_EXPLICIT) {
        tl__put_str(out, " ");
        tl__put_deps_tensor(out, g, edge->tensor_id);
        tl__put_str(out, " ");
        tl__put_deps_view(out, &edge->consumer);
    }
    if (!tl__deps_waits(edge))
        tl__put_str(out, " (no wait)");
    if (more > 1)
        tl__put_format(out, " +%" PRIu32 " more", more - 1);
}

/* Tasks of the tree, besides the one it is shown under, that this entry feeds (up) or is fed by. */
static void put_also(struct tl_rendering *out, const struct tree *t, uint32_t entry)
{
    const struct tl_deps_graph *g = t->s->graph;
    uint32_t task = t->reach.task[entry], near = t->reach.task[t->reach.from[entry]];
    const uint32_t *at = t->up ? g->out_at : g->in_at, *list = t->up ? g->out : g->in;
    const uint32_t *other = t->up ? t->s->deps->edge_succ : t->s->deps->edge_pred;
    uint32_t named = 0, last = TL_DEPS_NONE;

    for (uint32_t i = at[task]; i < at[task + 1]; i++) {
        uint32_t far = other[list[i]];

        if (far == TL_DEPS_NONE || far == near || far == last || !t->in_tree[far])
            continue;
        last = far; /* parallel edges mostly are side by side */
        if (named++ >= MAX_ALSO)
            continue;
        tl__put_str(out, named > 1 ? " " : t->up ? "   also feeds " : "   also fed by ");
        tl__put_task(out, tl__task_layout_of(t->s->deps->runtime), t->s->deps->tasks[far].task_id);
    }
    if (named > MAX_ALSO)
        tl__put_str(out, " ...");
}

static void put_line(struct tl_rendering *out, const struct tree *t, uint32_t entry)
{
    uint32_t task = t->reach.task[entry], distance = t->reach.distance[entry];

    tl__put_format(out, "%4" PRIu32 "  ", distance);
    tl__put_fill(out, ' ', 2 * ((distance < MAX_INDENT ? distance : MAX_INDENT) - 1));
    tl__put_task(out, tl__task_layout_of(t->s->deps->runtime), t->s->deps->tasks[task].task_id);
    tl__put_str(out, "  ");
    tl__put_kernels(out, t->s->names, t->s->deps->tasks[task].kernel_ids);
    tl__put_str(out, "   ");
    put_edges(out, t, entry);
    put_also(out, t, entry);
    tl__put_str(out, "\n");
}

static void put_tree(struct tl_rendering *out, const struct tree *t, uint32_t levels)
{
    uint32_t all = t->reach.count - 1, deepest = t->reach.distance[t->reach.count - 1];

    tl__put_format(out, "\n%s ", t->up ? "fed by" : "feeds");
    if (all == 0) {
        tl__put_str(out, "no task\n");
        return;
    }
    tl__put_count(out, t->within - 1, "task");
    tl__put_str(out, " over up to ");
    tl__put_count(out, levels < deepest ? levels : deepest, "edge");
    if (t->within < t->reach.count) {
        tl__put_str(out, "; in all ");
        tl__put_count(out, all, "task");
        tl__put_str(out, " over up to ");
        tl__put_count(out, deepest, "edge");
    }
    tl__put_str(out, "\n");
    for (uint32_t i = following(t, 0); i != 0; i = following(t, i))
        put_line(out, t, i);
    if (t->shown < t->within) {
        tl__put_str(out, " ...  ");
        tl__put_count(out, t->within - t->shown, "more task");
        tl__put_str(out, " at this distance or farther; --limit 0 shows all\n");
    }
}

static int one_way(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task, bool up, uint32_t levels)
{
    struct tree t = {.s = s, .up = up};
    int code = tree_init(&t, task, levels);

    if (code < 0)
        return code;
    put_tree(out, &t, levels);
    tree_fini(&t);
    return 0;
}

int tl__deps_tree_text(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task, uint32_t up,
                       uint32_t down)
{
    int code = 0;

    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[task].task_id);
    tl__put_str(out, "  ");
    tl__put_kernels(out, s->names, s->deps->tasks[task].kernel_ids);
    tl__put_str(out, "   (number of edges away, task, kernels, the edge)\n");
    if (up > 0)
        code = one_way(out, s, task, true, up);
    if (code == 0 && down > 0)
        code = one_way(out, s, task, false, down);
    return code != 0 ? code : out->error;
}
