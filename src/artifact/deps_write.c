/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of deps.json: a task, a tensor and an edge a line; 64-bit values as strings. */
#include <assert.h>

#include <tasklens/kernel.h>

#include "artifact/deps.h"
#include "artifact/deps_words.h"
#include "artifact/file_out.h"
#include "base/count_of.h"

static const char *const scopes[] = TL_DEPS_SCOPES;
static const char *const arg_types[] = TL_DEPS_ARG_TYPES;
static const char *const sources[] = TL_DEPS_SOURCES;
static const char *const overlaps[] = TL_DEPS_OVERLAPS;
static const char *const flags[] = TL_DEPS_FLAGS;

static const char *const view_keys[3] = {"shape", "start_offset", "strides"};
static const char *const consumer_keys[3] = {"consumer_shape", "consumer_start_offset", "consumer_strides"};
static const char *const producer_keys[3] = {"producer_shape", "producer_start_offset", "producer_strides"};

/* Upper case here, where the dump's manifest has lower. */
static void put_dtype(struct tl_json *j, const char *key, unsigned dtype)
{
    const char *name = tl_dtype_name(dtype);
    char upper[16];
    size_t n = 0;

    for (; name[n] != '\0' && n + 1 < sizeof(upper); n++)
        upper[n] = (char)(name[n] >= 'a' && name[n] <= 'z' ? name[n] - 'a' + 'A' : name[n]);
    tl__json_key(j, key);
    tl__json_string_bytes(j, upper, n);
}

static void put_u64(struct tl_json *j, const char *key, uint64_t value)
{
    tl__json_key(j, key);
    tl__json_u64_string(j, value);
}

static void put_view(struct tl_json *j, const char *const keys[3], const struct tl_deps_view *view)
{
    tl__json_member_array(j, keys[0], TL_JSON_LINE);
    for (unsigned d = 0; d < view->rank; d++)
        tl__json_u64(j, view->shape[d]);
    tl__json_array_end(j);
    put_u64(j, keys[1], view->start_offset);
    tl__json_member_array(j, keys[2], TL_JSON_LINE);
    for (unsigned d = 0; d < view->rank; d++)
        tl__json_u64(j, view->strides[d]);
    tl__json_array_end(j);
}

static void put_arg(struct tl_json *j, const struct tl_deps_arg *arg)
{
    assert(arg->type < COUNT_OF(arg_types)); /* scalars are no part of the graph */
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "idx", arg->idx);
    tl__json_member_string(j, "type", arg_types[arg->type]);
    if (arg->has_view) {
        put_u64(j, "tensor_id", arg->tensor_id);
        put_dtype(j, "dtype", arg->view.dtype);
        put_view(j, view_keys, &arg->view);
    }
    tl__json_object_end(j);
}

static void put_task(struct tl_json *j, const struct tl_deps *d, const struct tl_deps_task *task)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    put_u64(j, "task_id", task->task_id);
    tl__json_member_string(j, "scope", scopes[task->manual]);
    tl__json_member_bool(j, "early_dispatch", task->early_dispatch);
    tl__json_member_array(j, "kernel_ids", TL_JSON_LINE);
    for (unsigned i = 0; i < 3; i++)
        tl__json_i64(j, task->kernel_ids[i]);
    tl__json_array_end(j);
    tl__json_member_u64(j, "block_num", task->block_num);
    tl__json_member_array(j, "args", TL_JSON_LINE);
    for (uint64_t i = 0; i < task->n_args; i++)
        put_arg(j, &d->args[task->first_arg + i]);
    tl__json_array_end(j);
    tl__json_object_end(j);
}

static void put_tensor(struct tl_json *j, const struct tl_deps_tensor *tensor)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    put_u64(j, "tensor_id", tensor->tensor_id);
    put_u64(j, "buffer_addr", tensor->buffer_addr);
    tl__json_member_u64(j, "version", tensor->version);
    put_dtype(j, "dtype", tensor->dtype);
    put_u64(j, "buffer_numel", tensor->buffer_numel);
    tl__json_object_end(j);
}

static void put_edge(struct tl_json *j, const struct tl_deps_edge *e)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    put_u64(j, "pred", e->pred);
    put_u64(j, "succ", e->succ);
    tl__json_member_i64(j, "arg", e->arg);
    tl__json_member_string(j, "source", sources[e->source]);
    if ((e->flags & TL_DEPS_HAS_FLAGS) != 0) {
        tl__json_member_array(j, "flags", TL_JSON_LINE);
        for (unsigned i = 0; i < COUNT_OF(flags); i++)
            if ((e->flags & 1u << i) != 0)
                tl__json_string(j, flags[i]);
        tl__json_array_end(j);
    }
    if (e->source == TL_DEPS_TENSORMAP) {
        tl__json_member_string(j, "overlap", overlaps[e->overlap == TL_DEPS_OTHER]);
    }
    if (e->source != TL_DEPS_EXPLICIT) {
        put_u64(j, "tensor_id", e->tensor_id);
        put_dtype(j, "consumer_dtype", e->consumer.dtype);
        put_view(j, consumer_keys, &e->consumer);
    }
    if (e->source == TL_DEPS_TENSORMAP)
        put_view(j, producer_keys, &e->producer);
    tl__json_object_end(j);
}

static void put_edges(struct tl_json *j, const char *key, const struct tl_deps_edge *edges, uint64_t count)
{
    tl__json_member_array(j, key, TL_JSON_BLOCK);
    for (uint64_t i = 0; i < count; i++)
        put_edge(j, &edges[i]);
    tl__json_array_end(j);
}

static void put_all(struct tl_json *j, const struct tl_deps *d)
{
    tl__json_object_begin(j, TL_JSON_BLOCK);
    if (d->runtime[0] != '\0') {
        tl__json_member_string(j, "runtime", d->runtime);
    }
    tl__json_member_array(j, "tasks", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < d->n_tasks; i++)
        put_task(j, d, &d->tasks[i]);
    tl__json_array_end(j);
    tl__json_member_array(j, "tensors", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < d->n_tensors; i++)
        put_tensor(j, &d->tensors[i]);
    tl__json_array_end(j);
    put_edges(j, "edges", d->edges, d->n_edges);
    if (d->has_filtered)
        put_edges(j, "filtered_edges", d->filtered, d->n_filtered);
    tl__json_object_end(j);
    tl__json_newline(j);
}

int tl__deps_write(const char *dir, const struct tl_deps *d, struct tl_error *reterr)
{
    struct tl_out out;
    int code = tl__out_open_in(&out, dir, TL_DEPS_NAME, reterr);

    if (code != 0)
        return code;
    put_all(&out.json, d);
    return tl__out_commit(&out, reterr);
}
