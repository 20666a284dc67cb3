/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_edges.h"
#include "analysis/deps/deps_path.h"
#include "analysis/deps/deps_show.h"
#include "analysis/text/phrases.h"
#include "analysis/text/table.h"
#include "base/count_of.h"
#include "base/env.h"

int tl__deps_find_path(const struct tl_deps_graph *graph, uint32_t from, uint32_t to, struct tl_deps_path *ret_path)
{
    struct tl_deps_reach reach;
    int code = tl__deps_walk(graph, from, false, UINT32_MAX, &reach);
    uint32_t entry;

    *ret_path = (struct tl_deps_path){0};
    if (code < 0)
        return code;
    entry = tl__deps_reach_find(&reach, to);
    if (entry != TL_DEPS_NONE) {
        ret_path->found = true;
        ret_path->count = reach.distance[entry];
        ret_path->edges = tl__alloc((size_t)ret_path->count + 1, sizeof(*ret_path->edges));
        if (ret_path->edges == NULL)
            code = TL_ENOMEM;
        for (uint32_t i = ret_path->count; code == 0 && i > 0; i--, entry = reach.from[entry])
            ret_path->edges[i - 1] = reach.edge[entry];
    }
    tl__deps_reach_fini(&reach);
    return code;
}

void tl__deps_path_fini(struct tl_deps_path *path)
{
    tl__free(path->edges);
    *path = (struct tl_deps_path){0};
}

struct path_rows {
    const struct tl_deps_subject *s;
    const struct tl_deps_path *path;
    uint32_t from;
};

static void path_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct path_rows *rows = ctx;
    const struct tl_deps *d = rows->s->deps;
    uint32_t edge = number > 0 ? rows->path->edges[number - 1] : 0;
    uint32_t task = number > 0 ? d->edge_succ[edge] : rows->from;

    tl__put_u64(&row->text, number);
    tl__cell_end(row);
    tl__put_task(&row->text, tl__task_layout_of(rows->s->deps->runtime), d->tasks[task].task_id);
    tl__cell_end(row);
    tl__put_kernels(&row->text, rows->s->names, d->tasks[task].kernel_ids);
    tl__cell_end(row);
    if (number > 0) {
        tl__deps_edge_cells(rows->s, &d->edges[edge], row);
        return;
    }
    for (unsigned i = 0; i < TL_DEPS_EDGE_CELLS; i++)
        tl__cell_end(row);
}

static void put_both(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t from, uint32_t to)
{
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[from].task_id);
    tl__put_str(out, " to ");
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[to].task_id);
}

/* No way there: perhaps it was asked the wrong way round. */
static int put_none(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t from, uint32_t to)
{
    struct tl_deps_path back;
    int code = tl__deps_find_path(s->graph, to, from, &back);

    if (code < 0)
        return code;
    tl__put_str(out, "no way from ");
    put_both(out, s, from, to);
    tl__put_str(out, ": the first feeds nothing that the second depends on");
    if (back.found) {
        tl__put_str(out, "; from ");
        put_both(out, s, to, from);
        tl__put_str(out, " there is one of ");
        tl__put_count(out, back.count, "edge");
    }
    tl__put_str(out, "\n");
    tl__deps_path_fini(&back);
    return 0;
}

int tl__deps_path_text(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t from, uint32_t to)
{
    static const struct tl_column columns[] = {
        {"step", true, false}, {"task", false, false}, {"kernels", false, false}, TL_DEPS_EDGE_COLUMNS};
    struct tl_deps_path path;
    int code = tl__deps_find_path(s->graph, from, to, &path);
    uint64_t rows;

    if (code < 0)
        return code;
    if (path.found) {
        put_both(out, s, from, to);
        tl__put_str(out, ": ");
        tl__put_count(out, path.count, "edge");
        tl__put_str(out, ", no way is shorter; each line has the edge that leads to its task\n");
        rows = (uint64_t)path.count + 1;
        code = tl__table_put(out, columns, COUNT_OF(columns), rows < s->limit ? rows : s->limit, path_row,
                             &(struct path_rows){s, &path, from});
        if (rows > s->limit)
            tl__put_format(out, "... %" PRIu64 " more steps; --limit 0 shows all\n", rows - s->limit);
    } else {
        code = put_none(out, s, from, to);
    }
    tl__deps_path_fini(&path);
    return code != 0 ? code : out->error;
}
