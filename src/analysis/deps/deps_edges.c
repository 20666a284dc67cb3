/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/deps/deps_edges.h"

#include <string.h>

#include <tasklens/error.h>

#include "base/env.h"

static bool same_slice(const struct tl_deps_view *a, const struct tl_deps_view *b)
{
    if (a->rank != b->rank || a->start_offset != b->start_offset)
        return false;
    return memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0])) == 0 &&
           memcmp(a->strides, b->strides, a->rank * sizeof(a->strides[0])) == 0;
}

void tl__deps_edge_cells(const struct tl_deps_subject *s, const struct tl_deps_edge *edge, struct tl_row *row)
{
    bool of_tensor = edge->source != TL_DEPS_EXPLICIT;

    tl__put_str(&row->text, tl__deps_source_name(edge->source));
    tl__cell_end(row);
    tl__put_deps_flags(&row->text, edge->flags);
    tl__cell_end(row);
    if (edge->arg >= 0)
        tl__put_u64(&row->text, (uint64_t)edge->arg);
    else
        tl__put_str(&row->text, "-");
    tl__cell_end(row);
    if (of_tensor)
        tl__put_deps_tensor(&row->text, s->graph, edge->tensor_id);
    tl__cell_end(row);
    if (of_tensor)
        tl__put_str(&row->text, tl_dtype_name(edge->consumer.dtype));
    tl__cell_end(row);
    if (of_tensor)
        tl__put_deps_view(&row->text, &edge->consumer);
    tl__cell_end(row);
    if (edge->source == TL_DEPS_TENSORMAP && same_slice(&edge->consumer, &edge->producer))
        tl__put_str(&row->text, "the same");
    else if (edge->source == TL_DEPS_TENSORMAP)
        tl__put_deps_view(&row->text, &edge->producer);
    tl__cell_end(row);
    tl__put_str(&row->text, tl__deps_overlap_name(edge->overlap));
    tl__cell_end(row);
}

static int list_init(struct tl_deps_edge_list *list, uint64_t room)
{
    *list = (struct tl_deps_edge_list){.edges = tl__alloc(room + 1, sizeof(const struct tl_deps_edge *)),
                                       .other = tl__alloc(room + 1, sizeof(uint32_t))};
    if (list->edges != NULL && list->other != NULL)
        return 0;
    tl__deps_edge_list_fini(list);
    return TL_ENOMEM;
}

static void add(const struct tl_deps_subject *s, const struct tl_deps_filter *filter, const struct tl_deps_edge *edge,
                uint32_t other, struct tl_deps_edge_list *list)
{
    if (!tl__deps_edge_passes(s, filter, edge, other)) {
        list->hidden++;
        return;
    }
    list->edges[list->count] = edge;
    list->other[list->count++] = other;
}

/* `met`: scratch of zeros, one a task. */
static void count_tasks(struct tl_deps_edge_list *list, bool *met)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->other[i] == TL_DEPS_NONE || met[list->other[i]])
            continue;
        met[list->other[i]] = true;
        list->tasks++;
    }
}

int tl__deps_edges_of(const struct tl_deps_subject *s, uint32_t task, bool in, const struct tl_deps_filter *filter,
                      struct tl_deps_edge_list *ret_list)
{
    const struct tl_deps_graph *g = s->graph;
    const uint32_t *at = in ? g->in_at : g->out_at, *list = in ? g->in : g->out;
    const uint32_t *other = in ? s->deps->edge_pred : s->deps->edge_succ;
    bool *met = tl__alloc((size_t)g->tasks + 1, sizeof(*met));
    int code = met == NULL ? TL_ENOMEM : list_init(ret_list, at[task + 1] - at[task]);

    if (code == 0) {
        for (uint32_t i = at[task]; i < at[task + 1]; i++)
            add(s, filter, &s->deps->edges[list[i]], other[list[i]], ret_list);
        count_tasks(ret_list, met);
    }
    tl__free(met);
    return code;
}

int tl__deps_skipped_of(const struct tl_deps_subject *s, uint32_t task, const struct tl_deps_filter *filter,
                        struct tl_deps_edge_list *ret_list)
{
    uint64_t id = s->deps->tasks[task].task_id;
    int code = list_init(ret_list, s->deps->n_filtered);

    for (uint64_t i = 0; code == 0 && i < s->deps->n_filtered; i++) {
        const struct tl_deps_edge *edge = &s->deps->filtered[i];

        if (edge->succ == id)
            add(s, filter, edge, tl__deps_find(s->deps, edge->pred), ret_list);
    }
    return code;
}

void tl__deps_edge_list_fini(struct tl_deps_edge_list *list)
{
    tl__free(list->edges);
    tl__free(list->other);
    *list = (struct tl_deps_edge_list){0};
}
