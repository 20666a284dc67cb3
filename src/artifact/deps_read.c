/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of deps.json: what must be there, and what files of others leave out (docs/formats/deps.md). */
#include <string.h>

#include <tasklens/kernel.h>

#include "artifact/deps.h"
#include "artifact/deps_words.h"
#include "artifact/json_file.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "base/vec.h"

struct reader {
    TL_VEC(struct tl_deps_task) tasks;
    TL_VEC(struct tl_deps_arg) args;
    TL_VEC(struct tl_deps_tensor) tensors;
    TL_VEC(struct tl_deps_edge) edges;
    TL_VEC(struct tl_deps_edge) filtered;
    char runtime[32];
    uint32_t seen;       /* sections, by bit */
    char dtype_text[16]; /* the last dtype's name: most are alike */
    uint8_t dtype;
};

/* The names of a view's fields, in the object of an argument and in that of an edge. */
struct view_fields {
    const char *dtype, *shape, *start_offset, *strides;
};

static const char *const scopes[] = TL_DEPS_SCOPES;
static const char *const arg_types[] = TL_DEPS_ARG_TYPES;
static const char *const sources[] = TL_DEPS_SOURCES;
static const char *const overlaps[] = TL_DEPS_OVERLAPS;
static const char *const flags[] = TL_DEPS_FLAGS;

/* A word that has to be known. */
static int take_word(struct tl_tape *t, uint32_t at, const char *field, const char *const *words, size_t count,
                     unsigned *ret_index)
{
    int code = tl__tape_word(t, at, field, words, (unsigned)count, ret_index);

    if (code == TL_ENOENT)
        return tl__tape_fail(t, TL_EPARSE, field, "'%.40s' is not known", t->text + t->tokens[at].start);
    return code;
}

/* A name that has no dtype here is kept as TL_DTYPE_COUNT: the graph is good without it. */
static int take_dtype(struct reader *r, struct tl_tape *t, uint32_t at, const char *field, uint8_t *ret_dtype)
{
    const char *text = NULL;
    size_t length = 0;
    int code = tl__tape_string(t, at, field, &text, &length), dtype;

    if (code != 0)
        return code;
    if (r->dtype_text[0] == '\0' || strcmp(r->dtype_text, text) != 0) {
        dtype = tl_dtype_parse(text);
        if (length >= sizeof(r->dtype_text)) {
            *ret_dtype = dtype >= 0 ? (uint8_t)dtype : TL_DTYPE_COUNT;
            return 0;
        }
        r->dtype = dtype >= 0 ? (uint8_t)dtype : TL_DTYPE_COUNT;
        memcpy(r->dtype_text, text, length + 1);
    }
    *ret_dtype = r->dtype;
    return 0;
}

/* The dtype is the caller's. */
static int take_view(struct tl_tape *t, const struct view_fields *names, const uint32_t at[3],
                     struct tl_deps_view *view)
{
    uint32_t rank = 0, strides = 0, from = at[0] + 1, to = at[2] + 1;
    int code = tl__tape_array(t, at[0], names->shape, &rank);

    if (code == 0)
        code = tl__tape_u64(t, at[1], names->start_offset, UINT64_MAX, &view->start_offset);
    if (code == 0)
        code = tl__tape_array(t, at[2], names->strides, &strides);
    if (code != 0)
        return code;
    if (rank > TL_MAX_DIMS)
        return tl__tape_fail(t, TL_EPARSE, names->shape, "%u dims; %d is the most", rank, TL_MAX_DIMS);
    if (strides != rank)
        return tl__tape_fail(t, TL_EPARSE, names->strides, "%u entries for %u dims", strides, rank);
    view->rank = (uint8_t)rank;
    for (uint32_t d = 0; code == 0 && d < rank; d++) {
        code = tl__tape_u32(t, from, names->shape, &view->shape[d]);
        if (code == 0)
            code = tl__tape_u64(t, to, names->strides, UINT64_MAX, &view->strides[d]);
        from = t->tokens[from].next;
        to = t->tokens[to].next;
    }
    return code;
}

/* ---- tasks ---- */

static int take_arg(struct reader *r, struct tl_tape *t, uint32_t at)
{
    enum { IDX, TYPE, TENSOR_ID, DTYPE, SHAPE, START_OFFSET, STRIDES, COUNT };
    static const char *const names[COUNT] = {"idx", "type", "tensor_id", "dtype", "shape", "start_offset", "strides"};
    static const struct view_fields view = {"dtype", "shape", "start_offset", "strides"};
    struct tl_deps_arg arg = {.view = {.dtype = TL_DTYPE_COUNT}};
    uint32_t f[COUNT];
    unsigned type = 0;
    int code = tl__tape_fields(t, at, NULL, names, COUNT, f);

    if (code == 0)
        code = tl__tape_u32(t, f[IDX], "idx", &arg.idx);
    if (code == 0)
        code = take_word(t, f[TYPE], "type", arg_types, COUNT_OF(arg_types), &type);
    arg.type = (uint8_t)type;
    /* A runtime-allocated output has no buffer yet when it is submitted: others leave all of this out. */
    arg.has_view = (f[TENSOR_ID] | f[DTYPE] | f[SHAPE] | f[START_OFFSET] | f[STRIDES]) != TL_TAPE_ABSENT;
    if (code == 0 && arg.has_view) {
        code = tl__tape_u64(t, f[TENSOR_ID], "tensor_id", UINT64_MAX, &arg.tensor_id);
        if (code == 0)
            code = take_dtype(r, t, f[DTYPE], "dtype", &arg.view.dtype);
        if (code == 0)
            code = take_view(t, &view, &f[SHAPE], &arg.view);
    }
    return code != 0 ? code : tl_vec_push(&r->args, arg);
}

static int take_args(struct reader *r, struct tl_tape *t, uint32_t at, struct tl_deps_task *task)
{
    uint32_t item = at + 1;
    int code = tl__tape_array(t, at, "args", &task->n_args);

    task->first_arg = r->args.count;
    t->inner = "args";
    for (uint32_t i = 0; code == 0 && i < task->n_args; i++) {
        t->inner_index = i;
        code = take_arg(r, t, item);
        item = t->tokens[item].next;
    }
    if (code == 0)
        t->inner = NULL;
    return code;
}

static int take_kernel_ids(struct tl_tape *t, uint32_t at, struct tl_deps_task *task)
{
    uint32_t count = 0, item = at + 1;
    int code = tl__tape_array(t, at, "kernel_ids", &count);

    if (code == 0 && count != 3)
        return tl__tape_fail(t, TL_EPARSE, "kernel_ids", "expected 3 (AIC, AIV0, AIV1), found %u", count);
    for (unsigned i = 0; code == 0 && i < 3; i++) {
        code = tl__tape_i32(t, item, "kernel_ids", &task->kernel_ids[i]);
        item = t->tokens[item].next;
    }
    return code;
}

static int on_task(struct reader *r, struct tl_tape *t)
{
    enum { TASK_ID, SCOPE, EARLY_DISPATCH, KERNEL_IDS, BLOCK_NUM, ARGS, COUNT };
    static const char *const names[COUNT] = {"task_id", "scope", "early_dispatch", "kernel_ids", "block_num", "args"};
    struct tl_deps_task task = {0};
    uint32_t f[COUNT];
    unsigned scope = 0;
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    if (code == 0)
        code = tl__tape_u64(t, f[TASK_ID], "task_id", UINT64_MAX, &task.task_id);
    if (code == 0)
        code = take_word(t, f[SCOPE], "scope", scopes, COUNT_OF(scopes), &scope);
    task.manual = scope == 1;
    if (code == 0 && f[EARLY_DISPATCH] != TL_TAPE_ABSENT)
        code = tl__tape_bool(t, f[EARLY_DISPATCH], "early_dispatch", &task.early_dispatch);
    if (code == 0)
        code = take_kernel_ids(t, f[KERNEL_IDS], &task);
    if (code == 0)
        code = tl__tape_u32(t, f[BLOCK_NUM], "block_num", &task.block_num);
    if (code == 0)
        code = take_args(r, t, f[ARGS], &task);
    return code != 0 ? code : tl_vec_push(&r->tasks, task);
}

/* ---- tensors ---- */

static int on_tensor(struct reader *r, struct tl_tape *t)
{
    enum { TENSOR_ID, BUFFER_ADDR, VERSION, DTYPE, BUFFER_NUMEL, COUNT };
    static const char *const names[COUNT] = {"tensor_id", "buffer_addr", "version", "dtype", "buffer_numel"};
    struct tl_deps_tensor tensor = {0};
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    if (code == 0)
        code = tl__tape_u64(t, f[TENSOR_ID], "tensor_id", UINT64_MAX, &tensor.tensor_id);
    if (code == 0)
        code = tl__tape_u64(t, f[BUFFER_ADDR], "buffer_addr", UINT64_MAX, &tensor.buffer_addr);
    if (code == 0)
        code = tl__tape_u32(t, f[VERSION], "version", &tensor.version);
    if (code == 0)
        code = take_dtype(r, t, f[DTYPE], "dtype", &tensor.dtype);
    if (code == 0)
        code = tl__tape_u64(t, f[BUFFER_NUMEL], "buffer_numel", UINT64_MAX, &tensor.buffer_numel);
    return code != 0 ? code : tl_vec_push(&r->tensors, tensor);
}

/* ---- edges ---- */

enum {
    E_PRED,
    E_SUCC,
    E_ARG,
    E_SOURCE,
    E_FLAGS,
    E_OVERLAP,
    E_TENSOR_ID,
    E_CONSUMER_DTYPE,
    E_CONSUMER, /* shape, start_offset, strides */
    E_PRODUCER = E_CONSUMER + 3,
    E_COUNT = E_PRODUCER + 3
};

static const char *const edge_names[E_COUNT] = {
    "pred",
    "succ",
    "arg",
    "source",
    "flags",
    "overlap",
    "tensor_id",
    "consumer_dtype",
    "consumer_shape",
    "consumer_start_offset",
    "consumer_strides",
    "producer_shape",
    "producer_start_offset",
    "producer_strides",
};

static int take_flags(struct tl_tape *t, uint32_t at, struct tl_deps_edge *e)
{
    uint32_t count = 0, item = at + 1;
    unsigned flag = 0;
    int code = tl__tape_array(t, at, "flags", &count);

    e->flags = TL_DEPS_HAS_FLAGS;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        code = take_word(t, item, "flags", flags, COUNT_OF(flags), &flag);
        e->flags |= (uint8_t)(1u << flag);
        item = t->tokens[item].next;
    }
    return code;
}

/* What an edge by data carries beside its ends. */
static int take_slices(struct reader *r, struct tl_tape *t, const uint32_t f[E_COUNT], struct tl_deps_edge *e)
{
    static const struct view_fields consumer = {"consumer_dtype", "consumer_shape", "consumer_start_offset",
                                                "consumer_strides"};
    static const struct view_fields producer = {"", "producer_shape", "producer_start_offset", "producer_strides"};
    unsigned overlap = 0;
    int code = tl__tape_u64(t, f[E_TENSOR_ID], "tensor_id", UINT64_MAX, &e->tensor_id);

    if (code == 0)
        code = take_dtype(r, t, f[E_CONSUMER_DTYPE], consumer.dtype, &e->consumer.dtype);
    if (code == 0)
        code = take_view(t, &consumer, &f[E_CONSUMER], &e->consumer);
    if (code != 0 || e->source != TL_DEPS_TENSORMAP)
        return code;
    code = take_word(t, f[E_OVERLAP], "overlap", overlaps, COUNT_OF(overlaps), &overlap);
    e->overlap = (uint8_t)(TL_DEPS_COVERED + overlap);
    e->producer.dtype = e->consumer.dtype;
    return code != 0 ? code : take_view(t, &producer, &f[E_PRODUCER], &e->producer);
}

static int take_edge(struct reader *r, struct tl_tape *t, struct tl_deps_edge *e)
{
    uint32_t f[E_COUNT];
    unsigned source = 0;
    int code = tl__tape_fields(t, 0, NULL, edge_names, E_COUNT, f);

    if (code == 0)
        code = tl__tape_u64(t, f[E_PRED], "pred", UINT64_MAX, &e->pred);
    if (code == 0)
        code = tl__tape_u64(t, f[E_SUCC], "succ", UINT64_MAX, &e->succ);
    if (code == 0)
        code = tl__tape_i32(t, f[E_ARG], "arg", &e->arg);
    if (code == 0)
        code = take_word(t, f[E_SOURCE], "source", sources, COUNT_OF(sources), &source);
    e->source = (uint8_t)source;
    if (code == 0 && f[E_FLAGS] != TL_TAPE_ABSENT)
        code = take_flags(t, f[E_FLAGS], e);
    if (code != 0 || e->source == TL_DEPS_EXPLICIT)
        return code;
    return take_slices(r, t, f, e);
}

/* ---- the file ---- */

enum { S_TASKS, S_TENSORS, S_EDGES, S_FILTERED, S_RUNTIME, S_COUNT };

static const struct tl_tape_section sections[S_COUNT] = {
    {"tasks", true, true},           {"tensors", true, true},   {"edges", true, true},
    {"filtered_edges", true, false}, {"runtime", false, false},
};

static int on_value(void *ctx, struct tl_tape *t)
{
    struct reader *r = ctx;
    struct tl_deps_edge edge = {.consumer.dtype = TL_DTYPE_COUNT, .producer.dtype = TL_DTYPE_COUNT};
    int code;

    if (t->section == S_TASKS)
        return on_task(r, t);
    if (t->section == S_TENSORS)
        return on_tensor(r, t);
    if (t->section == S_RUNTIME)
        return tl__tape_text(t, 0, NULL, r->runtime, sizeof(r->runtime));
    code = take_edge(r, t, &edge);
    if (code != 0)
        return code;
    return t->section == S_EDGES ? tl_vec_push(&r->edges, edge) : tl_vec_push(&r->filtered, edge);
}

static void drop(struct reader *r)
{
    tl_vec_fini(&r->tasks);
    tl_vec_fini(&r->args);
    tl_vec_fini(&r->tensors);
    tl_vec_fini(&r->edges);
    tl_vec_fini(&r->filtered);
}

/* Moves what was read out, and indexes it. */
static int hand_out(struct reader *r, const char *name, struct tl_deps *ret_deps, struct tl_error *reterr)
{
    struct tl_error error;
    struct tl_deps d = {
        .tasks = r->tasks.items,
        .args = r->args.items,
        .tensors = r->tensors.items,
        .edges = r->edges.items,
        .filtered = r->filtered.items,
        .n_tasks = r->tasks.count,
        .n_args = r->args.count,
        .n_tensors = r->tensors.count,
        .n_edges = r->edges.count,
        .n_filtered = r->filtered.count,
        .has_filtered = (r->seen & 1u << S_FILTERED) != 0,
    };
    int code;

    memcpy(d.runtime, r->runtime, sizeof(d.runtime));
    code = tl__deps_index(&d, &error);

    if (code != 0) {
        tl__deps_fini(&d);
        return tl__fail_at(reterr, code, error.offset, "%s: %.900s", name, error.msg);
    }
    *ret_deps = d;
    return 0;
}

static int read_deps(const char *path, const void *text, size_t bytes, struct tl_deps *ret_deps,
                     struct tl_error *reterr)
{
    struct reader r = {0};
    struct tl_tape_spec spec = {
        .sections = sections, .count = S_COUNT, .on_value = on_value, .ctx = &r, .ret_seen = &r.seen};
    int code =
        text != NULL ? tl__tape_parse(text, bytes, path, &spec, reterr) : tl__json_file_read(path, &spec, reterr);

    if (code != 0) {
        drop(&r);
        return code;
    }
    return hand_out(&r, path, ret_deps, reterr);
}

int tl__deps_parse(const void *text, size_t bytes, const char *name, struct tl_deps *ret_deps, struct tl_error *reterr)
{
    return read_deps(name, text != NULL ? text : "", bytes, ret_deps, reterr);
}

int tl__deps_read(const char *path, struct tl_deps *ret_deps, struct tl_error *reterr)
{
    return read_deps(path, NULL, 0, ret_deps, reterr);
}
