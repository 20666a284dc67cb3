/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_list.h"
#include "analysis/deps/deps_show.h"
#include "analysis/deps/deps_totals.h"
#include "analysis/text/phrases.h"
#include "analysis/text/table.h"
#include "base/count_of.h"
#include "base/env.h"

static bool is_about(const struct tl_deps_subject *s, const struct tl_deps_arg *arg, uint64_t buffer_addr)
{
    const struct tl_deps_tensor *tensor = arg->has_view ? tl__deps_tensor(s->graph, arg->tensor_id) : NULL;

    return tensor != NULL && tensor->buffer_addr == buffer_addr;
}

/* Calls `keep` for each row: with a buffer each of its uses, else each task once, without an argument. */
static void each(const struct tl_deps_subject *s, const struct tl_deps_filter *filter,
                 void (*keep)(struct tl_deps_list *list, uint32_t task, const struct tl_deps_arg *arg),
                 struct tl_deps_list *list)
{
    for (uint32_t t = 0; t < s->graph->tasks; t++) {
        const struct tl_deps_task *task = &s->deps->tasks[t];

        if (!tl__deps_task_passes(s, filter, t))
            continue;
        list->tasks++;
        if (!filter->by_tensor)
            keep(list, t, NULL);
        for (uint32_t i = 0; filter->by_tensor && i < task->n_args; i++)
            if (is_about(s, &s->deps->args[task->first_arg + i], filter->buffer_addr))
                keep(list, t, &s->deps->args[task->first_arg + i]);
    }
}

static void count_row(struct tl_deps_list *list, uint32_t task, const struct tl_deps_arg *arg)
{
    (void)task;
    (void)arg;
    list->room++;
}

static void keep_row(struct tl_deps_list *list, uint32_t task, const struct tl_deps_arg *arg)
{
    list->rows[list->count++] = (struct tl_deps_list_row){task, arg};
}

int tl__deps_list(const struct tl_deps_subject *s, const struct tl_deps_filter *filter, struct tl_deps_list *ret_list)
{
    *ret_list = (struct tl_deps_list){0};
    each(s, filter, count_row, ret_list);
    ret_list->rows = tl__alloc(ret_list->room + 1, sizeof(*ret_list->rows));
    if (ret_list->rows == NULL)
        return TL_ENOMEM;
    ret_list->tasks = 0;
    each(s, filter, keep_row, ret_list);
    return 0;
}

void tl__deps_list_fini(struct tl_deps_list *list)
{
    tl__free(list->rows);
    *list = (struct tl_deps_list){0};
}

struct list_rows {
    const struct tl_deps_subject *s;
    const struct tl_deps_list *list;
};

static void list_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct list_rows *rows = ctx;
    const struct tl_deps_graph *g = rows->s->graph;
    const struct tl_deps_list_row *r = &rows->list->rows[number];
    const struct tl_deps_task *task = &rows->s->deps->tasks[r->task];

    tl__put_task(&row->text, tl__task_layout_of(rows->s->deps->runtime), task->task_id);
    tl__cell_end(row);
    tl__put_kernels(&row->text, rows->s->names, task->kernel_ids);
    tl__cell_end(row);
    if (g->level[r->task] != TL_DEPS_NONE)
        tl__put_u64(&row->text, g->level[r->task]);
    else
        tl__put_str(&row->text, "-");
    tl__cell_end(row);
    tl__put_u64(&row->text, g->producers[r->task]);
    tl__cell_end(row);
    tl__put_u64(&row->text, g->consumers[r->task]);
    tl__cell_end(row);
    if (r->arg != NULL)
        tl__put_u64(&row->text, r->arg->idx);
    tl__cell_end(row);
    if (r->arg != NULL)
        tl__put_str(&row->text, tl__deps_type_name(r->arg->type));
    tl__cell_end(row);
    if (r->arg != NULL)
        tl__put_str(&row->text, tl_dtype_name(r->arg->view.dtype));
    tl__cell_end(row);
    if (r->arg != NULL)
        tl__put_deps_view(&row->text, &r->arg->view);
    tl__cell_end(row);
}

static void put_title(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_filter *filter,
                      uint32_t tasks)
{
    const uint32_t allocations = tl__deps_allocations(s->deps);

    tl__put_format(out, "%" PRIu32 " of %s", tasks, allocations > 0 && !filter->by_kernel ? "the " : "");
    /* No allocation runs a kernel. */
    tl__put_task_total(out, s->graph->tasks - (filter->by_kernel ? allocations : 0),
                       filter->by_kernel ? 0 : allocations);
    if (filter->by_kernel) {
        tl__put_str(out, tasks == 1 ? " runs " : " run ");
        tl__put_kernel(out, s->names, (int32_t)filter->kernel);
    }
    tl__put_str(out, filter->by_kernel && filter->by_tensor ? " and" : "");
    if (filter->by_tensor)
        tl__put_format(out, " use%s the buffer at 0x%" PRIx64, tasks == 1 ? "s" : "", filter->buffer_addr);
    tl__put_str(out, ", in order of submission\n");
}

int tl__deps_list_text(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_filter *filter)
{
    static const struct tl_column columns[] = {
        {"task", false, false},     {"kernels", false, false},  {"level", true, false},
        {"producers", true, false}, {"consumers", true, false}, {"arg", true, true},
        {"type", false, true},      {"dtype", false, true},     {"slice", false, true},
    };
    struct tl_deps_list list;
    int code = tl__deps_list(s, filter, &list);

    if (code < 0)
        return code;
    put_title(out, s, filter, list.tasks);
    if (list.count > 0)
        code = tl__table_put(out, columns, COUNT_OF(columns), list.count < s->limit ? list.count : s->limit, list_row,
                             &(struct list_rows){s, &list});
    if (list.count > s->limit)
        tl__put_format(out, "... %" PRIu64 " more lines; --limit 0 shows all\n", list.count - s->limit);
    tl__deps_list_fini(&list);
    return code != 0 ? code : out->error;
}
