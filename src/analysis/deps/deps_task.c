/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_edges.h"
#include "analysis/deps/deps_show.h"
#include "analysis/text/phrases.h"
#include "analysis/text/table.h"
#include "base/count_of.h"

struct arg_rows {
    const struct tl_deps_subject *s;
    const struct tl_deps_arg *args;
};

static void arg_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct arg_rows *rows = ctx;
    const struct tl_deps_arg *arg = &rows->args[number];

    tl__put_u64(&row->text, arg->idx);
    tl__cell_end(row);
    tl__put_str(&row->text, tl__deps_type_name(arg->type));
    tl__cell_end(row);
    if (arg->has_view)
        tl__put_deps_tensor(&row->text, rows->s->graph, arg->tensor_id);
    else
        tl__put_str(&row->text, "allocated at submit");
    tl__cell_end(row);
    if (arg->has_view)
        tl__put_str(&row->text, tl_dtype_name(arg->view.dtype));
    tl__cell_end(row);
    if (arg->has_view)
        tl__put_deps_view(&row->text, &arg->view);
    tl__cell_end(row);
}

static void put_head(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task)
{
    const struct tl_deps_task *t = &s->deps->tasks[task];

    tl__put_task(out, tl__task_layout_of(s->deps->runtime), t->task_id);
    tl__put_str(out, ": ");
    tl__put_kernels(out, s->names, t->kernel_ids);
    if (s->graph->level[task] != TL_DEPS_NONE)
        tl__put_format(out, ", level %" PRIu32 " of 0 to %" PRIu32, s->graph->level[task], s->graph->levels - 1);
    else
        tl__put_str(out, ", on a cycle or behind one");
    tl__put_format(out, ", %s scope, ", t->manual ? "manual" : "auto");
    tl__put_count(out, t->block_num, "block");
    tl__put_str(out, t->early_dispatch ? ", dispatched early\n" : "\n");
}

static int put_args(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task)
{
    static const struct tl_column columns[] = {
        {"arg", true, false},   {"type", false, false}, {"buffer", false, false},
        {"dtype", false, true}, {"slice", false, true},
    };
    const struct tl_deps_task *t = &s->deps->tasks[task];

    if (t->n_args == 0) {
        tl__put_str(out, "no tensor arguments\n");
        return 0;
    }
    return tl__table_put(out, columns, 5, t->n_args, arg_row, &(struct arg_rows){s, &s->deps->args[t->first_arg]});
}

struct edge_rows {
    const struct tl_deps_subject *s;
    const struct tl_deps_edge_list *list;
    bool in;
};

static void edge_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct edge_rows *rows = ctx;
    const struct tl_deps_edge *edge = rows->list->edges[number];
    uint32_t other = rows->list->other[number];

    tl__put_task(&row->text, tl__task_layout_of(rows->s->deps->runtime), rows->in ? edge->pred : edge->succ);
    tl__cell_end(row);
    if (other != TL_DEPS_NONE)
        tl__put_kernels(&row->text, rows->s->names, rows->s->deps->tasks[other].kernel_ids);
    else
        tl__put_str(&row->text, "(not listed)");
    tl__cell_end(row);
    tl__deps_edge_cells(rows->s, edge, row);
}

static int put_edges(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_edge_list *list,
                     bool in)
{
    const struct tl_column columns[] = {
        {in ? "producer" : "consumer", false, false}, {"kernels", false, false}, TL_DEPS_EDGE_COLUMNS};
    uint64_t shown = list->count < s->limit ? list->count : s->limit;
    int code;

    if (list->count == 0)
        return 0;
    code = tl__table_put(out, columns, COUNT_OF(columns), shown, edge_row, &(struct edge_rows){s, list, in});
    if (list->count > shown) {
        tl__put_str(out, "... ");
        tl__put_count(out, list->count - shown, "more edge");
        tl__put_str(out, "; --limit 0 shows all\n");
    }
    return code;
}

/* "fed by 2 tasks, by 3 edges", with what a filter hides. */
static void put_title(struct tl_rendering *out, const char *verb, const struct tl_deps_edge_list *list)
{
    tl__put_format(out, "\n%s ", verb);
    if (list->count == 0)
        tl__put_str(out, list->hidden > 0 ? "no such task" : "no task");
    else
        tl__put_count(out, list->tasks, "task");
    if (list->count > 0) {
        tl__put_str(out, ", by ");
        tl__put_count(out, list->count, "edge");
    }
    if (list->hidden > 0) {
        tl__put_str(out, " (");
        tl__put_count(out, list->hidden, "other edge");
        tl__put_str(out, " filtered out)");
    }
    tl__put_str(out, "\n");
}

static int put_side(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task, bool in,
                    const struct tl_deps_filter *filter)
{
    struct tl_deps_edge_list list;
    int code = tl__deps_edges_of(s, task, in, filter, &list);

    if (code < 0)
        return code;
    put_title(out, in ? "fed by" : "feeds", &list);
    code = put_edges(out, s, &list, in);
    tl__deps_edge_list_fini(&list);
    return code;
}

static int put_skipped(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task,
                       const struct tl_deps_filter *filter)
{
    struct tl_deps_edge_list list;
    int code = tl__deps_skipped_of(s, task, filter, &list);

    if (code < 0)
        return code;
    if (list.count > 0) {
        tl__put_str(out, "\nskipped at submit: ");
        tl__put_count(out, list.count, "edge");
        tl__put_str(out, ", whose producers had retired\n");
        code = put_edges(out, s, &list, true);
    }
    tl__deps_edge_list_fini(&list);
    return code;
}

int tl__deps_task_text(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task,
                       const struct tl_deps_filter *filter)
{
    int code;

    put_head(out, s, task);
    code = put_args(out, s, task);
    if (code == 0)
        code = put_side(out, s, task, true, filter);
    if (code == 0)
        code = put_skipped(out, s, task, filter);
    if (code == 0)
        code = put_side(out, s, task, false, filter);
    tl__put_format(out, "\nnext  tasklens deps %s -t ", s->dir);
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[task].task_id);
    tl__put_str(out, " --up 3 --down 3   what feeds it and what it feeds, over three edges\n");
    return code != 0 ? code : out->error;
}
