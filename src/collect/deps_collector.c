/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dep_gen as a collector: what its records may hold, and how they become deps.json. The graph is made by replay and
 * checked against what the runtime decided (deps_replay.h). A recording with losses is good up to the first of them:
 * without the tasks that are missing it is not known what later ones wait for.
 */
#include "collect/collector.h"

#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/deps_build.h"

/* --- inspection --------------------------------------------------------------------------------------------------- */

#define TASK struct tl_wire_deps_task
static const struct tl_record_field task_fields[] = {
    TL_FIELD_BITS(TASK, flags, TL_WIRE_DEPS_MANUAL | TL_WIRE_DEPS_ALLOC),
    TL_FIELD_OF_KIND(TASK, task_id, TL_FIELD_TASK),
    TL_FIELD(TASK, depth, 0, TL_DEPS_MAX_DEPTH),
    TL_FIELD_SIGNED(TASK, func, 3, -1, INT32_MAX),
    TL_FIELD(TASK, block_num, 1, UINT32_MAX),
};
static const struct tl_record_field arg_fields[] = {
    TL_FIELD(struct tl_wire_deps_arg, direction, 0, TL_OUT_EXISTING),
    TL_FIELD_OF_KIND(struct tl_wire_deps_arg, task_id, TL_FIELD_TASK),
};
static const struct tl_record_field ids_fields[] = {
    TL_FIELD(struct tl_wire_deps_ids, count, 1, TL_WIRE_DEPS_IDS_MAX),
};
static const struct tl_record_field edges_fields[] = {
    TL_FIELD(struct tl_wire_deps_edges, count, 1, TL_WIRE_DEPS_EDGES_MAX),
    TL_FIELD_OF_KIND(struct tl_wire_deps_edges, task_id, TL_FIELD_TASK),
};
static const struct tl_record_table deps_tables[] = {
    [TL_WIRE_DEPS_TASK] = TL_RECORD_TABLE(task_fields),
    [TL_WIRE_DEPS_ARG] = TL_RECORD_TABLE(arg_fields),
    [TL_WIRE_DEPS_IDS] = TL_RECORD_TABLE(ids_fields),
    [TL_WIRE_DEPS_EDGES] = TL_RECORD_TABLE(edges_fields),
};

static bool tasks_are_possible(const uint64_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] >> 32 >= TL_DEPS_RINGS && ids[i] != TL_NO_TASK) /* which an explicit dependency may be */
            return false;
    return true;
}

static bool edges_are_possible(const struct tl_wire_deps_edge *edges, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (edges[i].pred >> 32 >= TL_DEPS_RINGS || edges[i].source > TL_EDGE_TENSORMAP ||
            edges[i].flags > (TL_EDGE_WAIT | TL_EDGE_RETAIN | TL_EDGE_COVERED | TL_EDGE_GONE) || edges[i].arg < -1 ||
            edges[i].arg >= TL_MAX_TENSORS || (edges[i].arg < 0) != (edges[i].source == TL_EDGE_EXPLICIT))
            return false;
    return true;
}

static const char *inspect_task(const struct tl_wire_deps_task *t)
{
    bool alloc = (t->flags & TL_WIRE_DEPS_ALLOC) != 0;

    if (!alloc && t->n_args > TL_MAX_TENSORS)
        return "record.n_args";
    if (alloc && t->n_deps != 0)
        return "record.n_deps";
    if (alloc && t->n_edges != 0)
        return "record.n_edges";
    if (!tasks_are_possible(t->deps, t->n_deps < TL_WIRE_DEPS_TASK_IDS ? t->n_deps : TL_WIRE_DEPS_TASK_IDS))
        return "record.deps";
    return edges_are_possible(t->edges, t->n_edges < TL_WIRE_DEPS_TASK_EDGES ? t->n_edges : TL_WIRE_DEPS_TASK_EDGES)
               ? NULL
               : "record.edges";
}

static const char *deps_inspect(const void *record, struct tl_payload *ret_payload)
{
    const union tl_wire_deps_record *w = record;

    memset(ret_payload, 0, sizeof(*ret_payload));
    ret_payload->whole = true;
    switch (w->kind) {
    case TL_WIRE_DEPS_TASK:
        return inspect_task(&w->task);
    case TL_WIRE_DEPS_IDS:
        return tasks_are_possible(w->ids.ids, w->ids.count) ? NULL : "record.ids";
    case TL_WIRE_DEPS_EDGES:
        return edges_are_possible(w->edges.edges, w->edges.count) ? NULL : "record.edges";
    default:
        return NULL;
    }
}

/* --- export ------------------------------------------------------------------------------------------------------- */

/* How many tasks of each ring there are before the first gap. */
static int count_tasks(const struct tl_batch *first, uint64_t *tasks, struct tl_deps_reader *r)
{
    struct tl_deps_submit s;
    int code;

    tl__deps_reader_init(r, first);
    while ((code = tl__deps_next(r, &s)) > 0)
        tasks[s.task->task_id >> 32]++;
    tl__deps_reader_fini(r);
    return code;
}

/* Which rings the runtime has. */
static uint32_t rings_of(const struct tl_run_facts *facts)
{
    uint32_t rings = 0;

    while (rings < TL_DEPS_RINGS && facts->heap_bytes[rings] != 0)
        rings++;
    return rings != 0 ? rings : 1;
}

static int build(const struct tl_export *x, const uint64_t *tasks, struct tl_deps_builder *b, struct tl_error *reterr)
{
    struct tl_deps_replay *replay = NULL;
    const struct tl_deps_found *found;
    struct tl_deps_reader r;
    struct tl_deps_submit s;
    size_t n;
    int code = tl__deps_replay_create(rings_of(x->facts), tasks, tl__deps_build_lookup, b, &replay, reterr);

    if (code < 0)
        return code;
    tl__deps_reader_init(&r, x->own->lanes[0]);
    while ((code = tl__deps_next(&r, &s)) > 0) {
        code = tl__deps_replay(replay, &s, &found, &n, reterr);
        if (code == 0) {
            code = tl__deps_build_add(b, &s, found, n);
            if (code == TL_ERANGE)
                (void)tl__fail(reterr, code, "the complete graph has more than %llu edges at task r%ut%u",
                               (unsigned long long)TL_DEPS_MAX_EDGES, (unsigned)(s.task->task_id >> 32),
                               (unsigned)s.task->task_id);
            else if (code < 0)
                (void)tl__fail(reterr, code, "no memory for a graph of %zu tasks and %zu edges", b->tasks.count,
                               b->edges.count);
        }
        if (code < 0)
            break;
    }
    tl__deps_reader_fini(&r);
    tl__deps_replay_destroy(replay);
    return code == TL_ELOST ? 0 : code;
}

/* Records are missing: by a loss, which the run's result reports, or because the run ended in the middle of a task. */
static int judge_gap(const struct tl_export *x, const struct tl_deps_reader *r, uint64_t listed,
                     struct tl_error *reterr)
{
    if (x->own->dropped == 0 && !x->run_failed)
        return tl__fail(reterr, TL_ECORRUPT, "%s/" TL_DEPS_NAME " is not written: %s, and nothing was lost", x->dir,
                        r->why);
    tl_log_warn("%s/" TL_DEPS_NAME ": %s; it lists the %llu tasks before, %llu are left out", x->dir, r->why,
                (unsigned long long)listed, (unsigned long long)r->left);
    return 0;
}

/* Drops the edges that only retain, and the others' flags. */
static uint64_t waits_alone(struct tl_deps_edge *edges, uint64_t count)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < count; i++) {
        if ((edges[i].flags & TL_DEPS_WAIT) == 0)
            continue;
        edges[kept] = edges[i];
        edges[kept++].flags = 0;
    }
    return kept;
}

/* The form of September 2026. Its host_build_graph has no flags: each edge waits, and as nothing is recycled, to retain
 * is to do nothing. */
static void in_2026_09(const struct tl_export *x, struct tl_deps *deps)
{
    (void)snprintf(deps->runtime, sizeof(deps->runtime), "%.31s", x->runtime);
    if (x->facts->host_build == 0)
        return;
    deps->n_edges = waits_alone(deps->edges, deps->n_edges);
    deps->n_filtered = waits_alone(deps->filtered, deps->n_filtered);
}

static int deps_export(const struct tl_export *x, struct tl_export_figures *figures, struct tl_error *reterr)
{
    uint64_t tasks[TL_DEPS_RINGS] = {0}, listed = 0;
    struct tl_deps_builder b = {0};
    struct tl_deps_reader r;
    struct tl_error err = {0};
    struct tl_deps deps;
    int code;

    if (x->own->n_lanes == 0)
        return 0;
    code = count_tasks(x->own->lanes[0], tasks, &r);
    for (unsigned i = 0; i < TL_DEPS_RINGS; i++)
        listed += tasks[i];
    if (code == TL_ELOST)
        code = judge_gap(x, &r, listed, reterr);
    if (code == TL_ENOMEM)
        return tl__fail(reterr, code, "%s/" TL_DEPS_NAME ": no memory to read its records", x->dir);
    if (code < 0 || (listed == 0 && x->run_failed))
        return code;
    code = build(x, tasks, &b, &err);
    if (code == 0) {
        deps = tl__deps_build_view(&b);
        if (x->format == TL_FORMAT_2026_09)
            in_2026_09(x, &deps);
        figures->records = deps.n_tasks;
        code = tl__deps_write(x->dir, &deps, reterr);
    } else {
        code = tl__fail(reterr, code, "%s/" TL_DEPS_NAME " is not written: %s", x->dir, err.msg);
    }
    tl__deps_build_fini(&b);
    return code;
}

static const char *const deps_files[] = {TL_DEPS_NAME, TL_DEPS_PAGE_NAME, NULL};
static const char *const deps_derived[] = {"deps_*.html", NULL}; /* pages of a part of the graph */

const struct tl_collector_spec tl__deps_collector = {
    .name = "dep_gen",
    .stream = TL_STREAM_DEPS,
    .record_bytes = sizeof(union tl_wire_deps_record),
    .version = 1,
    .files = deps_files,
    .derived = deps_derived,
    .tables = deps_tables,
    .n_tables = COUNT_OF(deps_tables),
    .inspect = deps_inspect,
    .export = deps_export,
};
