/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_show.h"
#include "analysis/deps/deps_totals.h"
#include "analysis/text/phrases.h"
#include "analysis/text/table.h"

/* ", " between what is counted and nothing for what is not there. */
static void put_some(struct tl_rendering *out, uint64_t count, const char *word, bool *any)
{
    if (count == 0)
        return;
    tl__put_str(out, *any ? ", " : "");
    tl__put_grouped(out, count);
    tl__put_format(out, " %s", word);
    *any = true;
}

static void put_edges(struct tl_rendering *out, const struct tl_deps_totals *t)
{
    bool any = false;

    tl__put_str(out, "  by source  ");
    put_some(out, t->by_source[TL_DEPS_EXPLICIT], "explicit", &any);
    put_some(out, t->by_source[TL_DEPS_CREATOR], "creator", &any);
    put_some(out, t->by_source[TL_DEPS_TENSORMAP], "tensormap", &any);
    if (t->by_source[TL_DEPS_TENSORMAP] > 0) {
        any = false;
        tl__put_str(out, " (");
        put_some(out, t->by_overlap[TL_DEPS_COVERED], "cover what is read", &any);
        put_some(out, t->by_overlap[TL_DEPS_OTHER], "overlap it otherwise", &any);
        put_some(out, t->by_overlap[TL_DEPS_OVERLAP_NONE], "without overlap", &any);
        tl__put_str(out, ")");
    }
    tl__put_str(out, "\n  by flags   ");
    any = false;
    put_some(out, t->wait_retain, "wait and retain", &any);
    put_some(out, t->wait, "only wait", &any);
    put_some(out, t->retain, "only retain", &any);
    put_some(out, t->neither, "have none", &any);
    put_some(out, t->not_said, "come without flags", &any);
    tl__put_str(out, "\n");
}

/* Of the graph's shape allocations are a part too. */
static const char *node_word(const struct tl_deps_subject *s)
{
    return tl__deps_allocations(s->deps) > 0 ? "node" : "task";
}

/* "3 tasks wait for nothing: r0t0 r0t1 r0t2". `ends`: of the roots or the leaves, the first few. */
static void put_ends(struct tl_rendering *out, const struct tl_deps_subject *s, const char *title, uint32_t count,
                     const char *what, const uint32_t *ends)
{
    tl__put_format(out, "  %s", title);
    tl__put_count(out, count, node_word(s));
    tl__put_str(out, what);
    for (uint32_t i = 0; i < count && i < TL_DEPS_TOP; i++) {
        tl__put_str(out, i == 0 ? ": " : " ");
        tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[ends[i]].task_id);
    }
    tl__put_str(out, count > TL_DEPS_TOP ? " ...\n" : "\n");
}

static void put_shape(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_totals *t)
{
    const struct tl_deps_graph *g = s->graph;

    if (g->levels > 0) {
        tl__put_str(out, "  depth      ");
        tl__put_count(out, g->levels, "level");
        tl__put_format(out, "; the widest, level %" PRIu32 ", has ", g->widest);
        tl__put_count(out, g->widest_tasks, node_word(s));
        tl__put_str(out, "\n");
    }
    if (g->unlevelled > 0) {
        tl__put_str(out, "  cycle      ");
        tl__put_deps_cycle(out, s);
        tl__put_str(out, "; ");
        tl__put_count(out, g->unlevelled, "task");
        tl__put_str(out, " on it or behind one could never start and have no level\n");
    }
    put_ends(out, s, "roots      ", g->roots, g->roots == 1 ? " waits for nothing" : " wait for nothing", t->roots);
    put_ends(out, s, "leaves     ", g->leaves, " that nothing waits for", t->leaves);
}

struct kind_rows {
    const struct tl_deps_subject *s;
    const struct tl_deps_kinds *kinds;
};

static void kind_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct kind_rows *rows = ctx;
    const struct tl_deps_kind *kind = &rows->kinds->kinds[number];

    tl__put_u64(&row->text, kind->tasks);
    tl__cell_end(row);
    for (unsigned i = 0; i < 3; i++) {
        if (kind->kernel_ids[i] >= 0) {
            tl__put_kernel(&row->text, rows->s->names, kind->kernel_ids[i]);
            if (tl__name_of(rows->s->names, kind->kernel_ids[i]) != NULL)
                tl__put_format(&row->text, " (%" PRId32 ")", kind->kernel_ids[i]);
        } else {
            tl__put_str(&row->text, "-");
        }
        tl__cell_end(row);
    }
}

static int put_kinds(struct tl_rendering *out, const struct tl_deps_subject *s)
{
    static const struct tl_column columns[] = {
        {"tasks", true, false}, {"aic", false, false}, {"aiv0", false, false}, {"aiv1", false, false}};
    struct tl_deps_kinds kinds;
    int code = tl__deps_kinds(s->deps, &kinds);

    if (code < 0)
        return code;
    tl__put_str(out, "\nkernels of a task, by core\n");
    code = tl__table_put(out, columns, 4, kinds.count < s->limit ? kinds.count : s->limit, kind_row,
                         &(struct kind_rows){s, &kinds});
    if (kinds.count > s->limit)
        tl__put_format(out, "... %" PRIu64 " more; --limit 0 shows all\n", kinds.count - s->limit);
    tl__deps_kinds_fini(&kinds);
    return code;
}

struct top_rows {
    const struct tl_deps_subject *s;
    const uint32_t *tasks, *neighbours, *at;
};

static void top_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct top_rows *rows = ctx;
    uint32_t task = rows->tasks[number];

    tl__put_task(&row->text, tl__task_layout_of(rows->s->deps->runtime), rows->s->deps->tasks[task].task_id);
    tl__cell_end(row);
    tl__put_kernels(&row->text, rows->s->names, rows->s->deps->tasks[task].kernel_ids);
    tl__cell_end(row);
    if (rows->s->graph->level[task] != TL_DEPS_NONE)
        tl__put_u64(&row->text, rows->s->graph->level[task]);
    else
        tl__put_str(&row->text, "-");
    tl__cell_end(row);
    tl__put_u64(&row->text, rows->neighbours[task]);
    tl__cell_end(row);
    tl__put_u64(&row->text, rows->at[task + 1] - rows->at[task]);
    tl__cell_end(row);
}

static int put_top(struct tl_rendering *out, const char *what, struct top_rows *rows, uint32_t count)
{
    const struct tl_column columns[] = {
        {"task", false, false}, {"kernels", false, false}, {"level", true, false},
        {what, true, false},    {"edges", true, false},
    };

    if (count == 0)
        return 0;
    tl__put_format(out, "\nmost %s\n", what);
    return tl__table_put(out, columns, 5, count, top_row, rows);
}

static void put_next(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_totals *t)
{
    uint32_t task = t->n_fed > 0 ? t->most_fed[0] : 0;

    if (s->graph->tasks == 0) {
        tl__put_str(out, "\nThe recording has no tasks: the orchestration submitted none.\n");
        return;
    }
    tl__put_format(out, "\nnext  tasklens deps %s -t ", s->dir);
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[task].task_id);
    tl__put_format(out,
                   "   what feeds it, and what it feeds\n"
                   "      tasklens deps %s --format html   a page to look at\n",
                   s->dir);
}

int tl__deps_summary_text(struct tl_rendering *out, const struct tl_deps_subject *s)
{
    const struct tl_deps_graph *g = s->graph;
    struct tl_deps_totals t;
    int code;

    tl__deps_totals(g, &t);
    tl__put_format(out, "%s/%s: ", s->dir, TL_DEPS_NAME);
    tl__put_task_total(out, g->tasks, tl__deps_allocations(s->deps));
    tl__put_str(out, ", ");
    tl__put_count(out, s->deps->n_tensors, "tensor");
    tl__put_str(out, ", ");
    tl__put_count(out, g->edges, "edge");
    tl__put_str(out, " between ");
    tl__put_count(out, g->pairs, "pair");
    tl__put_str(out, " of tasks\n");
    if (g->edges > 0)
        put_edges(out, &t);
    if (s->deps->n_filtered > 0) {
        tl__put_str(out, "  skipped    ");
        tl__put_count(out, s->deps->n_filtered, "edge");
        tl__put_str(out, ": the producer had retired before its consumer was submitted\n");
    }
    if (g->loose > 0) {
        tl__put_str(out, "  loose      ");
        tl__put_count(out, g->loose, "edge");
        tl__put_format(out, " name%s a task that is not listed\n", g->loose == 1 ? "s" : "");
    }
    if (g->tasks > 0)
        put_shape(out, s, &t);
    code = g->tasks > 0 ? put_kinds(out, s) : 0;
    if (code == 0)
        code = put_top(out, "producers", &(struct top_rows){s, t.most_fed, g->producers, g->in_at}, t.n_fed);
    if (code == 0)
        code = put_top(out, "consumers", &(struct top_rows){s, t.most_feeding, g->consumers, g->out_at}, t.n_feeding);
    put_next(out, s, &t);
    return code != 0 ? code : out->error;
}
