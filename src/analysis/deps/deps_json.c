/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_edges.h"
#include "analysis/deps/deps_list.h"
#include "analysis/deps/deps_path.h"
#include "analysis/deps/deps_show.h"
#include "analysis/deps/deps_totals.h"
#include "analysis/text/json_head.h"
#include "base/number.h"

void tl__deps_json_kernels(struct tl_json *json, const struct tl_deps_subject *s, const int32_t kernel_ids[3])
{
    tl__json_member_array(json, "kernel_ids", TL_JSON_LINE);
    for (unsigned i = 0; i < 3; i++)
        tl__json_i64(json, kernel_ids[i]);
    tl__json_array_end(json);
    tl__json_member_array(json, "kernels", TL_JSON_LINE);
    for (unsigned i = 0; i < 3; i++)
        tl__json_string(json, kernel_ids[i] >= 0 ? tl__name_of(s->names, kernel_ids[i]) : NULL);
    tl__json_array_end(json);
}

void tl__deps_json_task(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task)
{
    tl__json_task(json, "task", tl__task_layout_of(s->deps->runtime), s->deps->tasks[task].task_id);
    tl__deps_json_kernels(json, s, s->deps->tasks[task].kernel_ids);
}

static void json_u64s(struct tl_json *json, const char *key, const uint64_t *values, unsigned count)
{
    tl__json_member_array(json, key, TL_JSON_LINE);
    for (unsigned i = 0; i < count; i++)
        tl__json_u64(json, values[i]);
    tl__json_array_end(json);
}

static void json_view(struct tl_json *json, const char *side, const struct tl_deps_view *view)
{
    uint64_t shape[TL_MAX_DIMS];
    char key[40];

    for (unsigned i = 0; i < view->rank; i++)
        shape[i] = view->shape[i];
    (void)snprintf(key, sizeof(key), "%sshape", side);
    json_u64s(json, key, shape, view->rank);
    (void)snprintf(key, sizeof(key), "%sstart_offset", side);
    tl__json_member_u64(json, key, view->start_offset);
    (void)snprintf(key, sizeof(key), "%sstrides", side);
    json_u64s(json, key, view->strides, view->rank);
}

static void json_tensor(struct tl_json *json, const struct tl_deps_subject *s, uint64_t tensor_id)
{
    const struct tl_deps_tensor *tensor = tl__deps_tensor(s->graph, tensor_id);

    tl__json_key(json, "tensor_id");
    tl__json_u64_string(json, tensor_id);
    tl__json_key(json, "buffer_addr");
    if (tensor == NULL) {
        tl__json_null(json);
        return;
    }
    tl__json_hex_string(json, tensor->buffer_addr, 16);
    tl__json_member_u64(json, "version", tensor->version);
}

static void json_flags(struct tl_json *json, uint8_t flags)
{
    tl__json_key(json, "flags");
    if ((flags & TL_DEPS_HAS_FLAGS) == 0) {
        tl__json_null(json);
        return;
    }
    tl__json_array_begin(json, TL_JSON_LINE);
    if ((flags & TL_DEPS_WAIT) != 0)
        tl__json_string(json, "wait");
    if ((flags & TL_DEPS_RETAIN) != 0)
        tl__json_string(json, "retain");
    tl__json_array_end(json);
}

static void json_edge_members(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_edge *edge)
{
    tl__json_task(json, "pred", tl__task_layout_of(s->deps->runtime), edge->pred);
    tl__json_task(json, "succ", tl__task_layout_of(s->deps->runtime), edge->succ);
    tl__json_member_i64(json, "arg", edge->arg);
    tl__json_member_string(json, "source", tl__deps_source_name(edge->source));
    json_flags(json, edge->flags);
    if (edge->source == TL_DEPS_EXPLICIT)
        return;
    json_tensor(json, s, edge->tensor_id);
    tl__json_member_string(json, "dtype", tl_dtype_name(edge->consumer.dtype));
    json_view(json, "consumer_", &edge->consumer);
    if (edge->source != TL_DEPS_TENSORMAP)
        return;
    tl__json_member_string(json, "overlap",
                           edge->overlap == TL_DEPS_OVERLAP_NONE ? NULL : tl__deps_overlap_name(edge->overlap));
    json_view(json, "producer_", &edge->producer);
}

void tl__deps_json_edge(struct tl_json *json, const struct tl_deps_subject *s, uint32_t edge)
{
    json_edge_members(json, s, &s->deps->edges[edge]);
}

static void json_level(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task)
{
    tl__json_key(json, "level");
    if (s->graph->level[task] != TL_DEPS_NONE)
        tl__json_u64(json, s->graph->level[task]);
    else
        tl__json_null(json);
}

/* ---- one task ---- */

static void json_arg(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_arg *arg)
{
    tl__json_member_u64(json, "idx", arg->idx);
    tl__json_member_string(json, "type", tl__deps_type_name(arg->type));
    if (!arg->has_view)
        return;
    json_tensor(json, s, arg->tensor_id);
    tl__json_member_string(json, "dtype", tl_dtype_name(arg->view.dtype));
    json_view(json, "", &arg->view);
}

static void json_task_members(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task)
{
    const struct tl_deps_task *t = &s->deps->tasks[task];

    tl__deps_json_task(json, s, task);
    json_level(json, s, task);
    tl__json_member_string(json, "scope", t->manual ? "manual" : "auto");
    tl__json_member_bool(json, "early_dispatch", t->early_dispatch);
    tl__json_member_u64(json, "block_num", t->block_num);
    tl__json_member_u64(json, "producers", s->graph->producers[task]);
    tl__json_member_u64(json, "consumers", s->graph->consumers[task]);
}

static void json_args(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_task *t,
                      enum tl_json_style style)
{
    tl__json_member_array(json, "args", style);
    for (uint32_t i = 0; i < t->n_args; i++) {
        tl__json_object_begin(json, TL_JSON_LINE);
        json_arg(json, s, &s->deps->args[t->first_arg + i]);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
}

/* All edges of an array of the file. */
static void json_all(struct tl_json *json, const struct tl_deps_subject *s, const char *key,
                     const struct tl_deps_edge *edges, uint64_t count)
{
    tl__json_member_array(json, key, TL_JSON_BLOCK);
    for (uint64_t i = 0; i < count; i++) {
        tl__json_object_begin(json, TL_JSON_LINE);
        json_edge_members(json, s, &edges[i]);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
}

void tl__deps_json_graph(struct tl_json *json, const struct tl_deps_subject *s)
{
    tl__json_member_array(json, "tasks", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < s->graph->tasks; i++) {
        tl__json_object_begin(json, TL_JSON_LINE);
        json_task_members(json, s, i);
        json_args(json, s, &s->deps->tasks[i], TL_JSON_LINE);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
    json_all(json, s, "edges", s->deps->edges, s->deps->n_edges);
    json_all(json, s, "skipped", s->deps->filtered, s->deps->n_filtered);
}

/* An array of the list's edges under `key`; the list ends. */
static void json_edges(struct tl_json *json, const struct tl_deps_subject *s, const char *key,
                       struct tl_deps_edge_list *list)
{
    tl__json_member_array(json, key, TL_JSON_BLOCK);
    for (uint32_t i = 0; i < list->count; i++) {
        tl__json_object_begin(json, TL_JSON_LINE);
        json_edge_members(json, s, list->edges[i]);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
    tl__deps_edge_list_fini(list);
}

int tl__deps_task_json(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task,
                       const struct tl_deps_filter *filter)
{
    const struct tl_deps_task *t = &s->deps->tasks[task];
    struct tl_deps_edge_list list;
    int code;

    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "deps", "task", s->dir);
    json_task_members(json, s, task);
    json_args(json, s, t, TL_JSON_BLOCK);
    code = tl__deps_edges_of(s, task, true, filter, &list);
    if (code == 0)
        json_edges(json, s, "fed_by", &list);
    if (code == 0)
        code = tl__deps_skipped_of(s, task, filter, &list);
    if (code == 0)
        json_edges(json, s, "skipped", &list);
    if (code == 0)
        code = tl__deps_edges_of(s, task, false, filter, &list);
    if (code == 0)
        json_edges(json, s, "feeds", &list);
    tl__json_object_end(json);
    tl__json_newline(json);
    return code;
}

/* ---- trees, ways, lists ---- */

static int json_reach(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task, bool up, uint32_t levels)
{
    struct tl_deps_reach reach;
    int code = tl__deps_walk(s->graph, task, up, levels, &reach);

    if (code < 0)
        return code;
    tl__json_member_array(json, up ? "fed_by" : "feeds", TL_JSON_BLOCK);
    for (uint32_t i = 1; i < reach.count; i++) {
        tl__json_object_begin(json, TL_JSON_LINE);
        tl__deps_json_task(json, s, reach.task[i]);
        tl__json_member_u64(json, "distance", reach.distance[i]);
        tl__json_member_object(json, "edge", TL_JSON_LINE);
        tl__deps_json_edge(json, s, reach.edge[i]);
        tl__json_object_end(json);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
    tl__deps_reach_fini(&reach);
    return 0;
}

int tl__deps_tree_json(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task, uint32_t up, uint32_t down)
{
    int code = 0;

    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "deps", "tree", s->dir);
    tl__deps_json_task(json, s, task);
    if (up > 0)
        code = json_reach(json, s, task, true, up);
    if (code == 0 && down > 0)
        code = json_reach(json, s, task, false, down);
    tl__json_object_end(json);
    tl__json_newline(json);
    return code;
}

int tl__deps_path_json(struct tl_json *json, const struct tl_deps_subject *s, uint32_t from, uint32_t to)
{
    struct tl_deps_path path;
    int code = tl__deps_find_path(s->graph, from, to, &path);

    if (code < 0)
        return code;
    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "deps", "path", s->dir);
    tl__json_task(json, "from", tl__task_layout_of(s->deps->runtime), s->deps->tasks[from].task_id);
    tl__json_task(json, "to", tl__task_layout_of(s->deps->runtime), s->deps->tasks[to].task_id);
    tl__json_member_bool(json, "found", path.found);
    tl__json_member_array(json, "edges", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < path.count; i++) {
        tl__json_object_begin(json, TL_JSON_LINE);
        tl__deps_json_edge(json, s, path.edges[i]);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
    tl__json_object_end(json);
    tl__json_newline(json);
    tl__deps_path_fini(&path);
    return 0;
}

static void json_list_row(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_list_row *row)
{
    tl__json_object_begin(json, TL_JSON_LINE);
    json_task_members(json, s, row->task);
    if (row->arg != NULL)
        json_arg(json, s, row->arg);
    tl__json_object_end(json);
}

int tl__deps_list_jsonl(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_filter *filter)
{
    struct tl_deps_list list;
    int code = tl__deps_list(s, filter, &list);

    if (code < 0)
        return code;
    for (uint64_t i = 0; i < list.count; i++) {
        json_list_row(json, s, &list.rows[i]);
        tl__json_newline(json);
    }
    tl__deps_list_fini(&list);
    return 0;
}

int tl__deps_list_json(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_filter *filter)
{
    struct tl_deps_list list;
    int code = tl__deps_list(s, filter, &list);

    if (code < 0)
        return code;
    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "deps", "list", s->dir);
    tl__json_member_u64(json, "task_count", s->graph->tasks - tl__deps_allocations(s->deps));
    tl__json_member_u64(json, "allocation_count", tl__deps_allocations(s->deps));
    tl__json_member_u64(json, "shown", list.tasks);
    tl__json_member_array(json, "tasks", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < list.count; i++)
        json_list_row(json, s, &list.rows[i]);
    tl__json_array_end(json);
    tl__json_object_end(json);
    tl__json_newline(json);
    tl__deps_list_fini(&list);
    return code;
}
