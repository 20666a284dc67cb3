/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/deps_reader.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void tl__deps_reader_init(struct tl_deps_reader *r, const struct tl_batch *first)
{
    memset(r, 0, sizeof(*r));
    r->batch = first;
}

void tl__deps_reader_fini(struct tl_deps_reader *r)
{
    tl_vec_fini(&r->args);
    tl_vec_fini(&r->deps);
    tl_vec_fini(&r->edges);
}

/* The next record, or NULL at the end. It stays next until take(). */
static const union tl_wire_deps_record *peek(struct tl_deps_reader *r)
{
    assert(r->batch == NULL || r->at <= r->batch->count); /* CI13 */
    while (r->batch != NULL && r->at >= r->batch->count) {
        r->batch = r->batch->next;
        r->at = 0;
    }
    if (r->batch == NULL)
        return NULL;
    return (const void *)(r->batch->records + (size_t)r->at * sizeof(union tl_wire_deps_record));
}

static void take(struct tl_deps_reader *r)
{
    assert(r->batch != NULL && r->at < r->batch->count); /* CI13 */
    r->at++;
}

/* The next record if it is of this kind. */
static const union tl_wire_deps_record *next_of(struct tl_deps_reader *r, enum tl_wire_deps_kind kind)
{
    const union tl_wire_deps_record *w = peek(r);

    if (w == NULL || w->kind != kind)
        return NULL;
    take(r);
    return w;
}

/* Gives up here: counts the tasks from `first` on. */
static int missing(struct tl_deps_reader *r, uint64_t first, const char *what)
{
    const union tl_wire_deps_record *w;

    (void)snprintf(r->why, sizeof(r->why), "%s", what);
    r->left = first;
    while ((w = peek(r)) != NULL) {
        r->left += w->kind == TL_WIRE_DEPS_TASK;
        take(r);
    }
    return TL_ELOST;
}

static int task_missing(struct tl_deps_reader *r, const char *which)
{
    char text[120];

    (void)snprintf(text, sizeof(text), "the %s of task r%ut%u are not all there", which,
                   (unsigned)(r->task.task_id >> 32), (unsigned)r->task.task_id);
    return missing(r, 1, text);
}

static int read_args(struct tl_deps_reader *r)
{
    for (uint32_t i = 0; i < r->task.n_args; i++) {
        const union tl_wire_deps_record *w = next_of(r, TL_WIRE_DEPS_ARG);

        if (w == NULL || w->arg.task_id != r->task.task_id || w->arg.arg != i)
            return task_missing(r, "arguments");
        if (tl_vec_push(&r->args, w->arg) < 0)
            return TL_ENOMEM;
    }
    assert(r->args.count == r->task.n_args); /* CI13 */
    return 0;
}

static int read_deps(struct tl_deps_reader *r)
{
    for (uint32_t i = 0; i < TL_WIRE_DEPS_TASK_IDS && i < r->task.n_deps; i++)
        if (tl_vec_push(&r->deps, r->task.deps[i]) < 0)
            return TL_ENOMEM;
    while (r->deps.count < r->task.n_deps) {
        const union tl_wire_deps_record *w = next_of(r, TL_WIRE_DEPS_IDS);

        if (w == NULL || w->ids.first != r->deps.count || w->ids.count > r->task.n_deps - r->deps.count)
            return task_missing(r, "explicit dependencies");
        for (uint32_t i = 0; i < w->ids.count; i++)
            if (tl_vec_push(&r->deps, w->ids.ids[i]) < 0)
                return TL_ENOMEM;
    }
    assert(r->deps.count == r->task.n_deps); /* CI13 */
    return 0;
}

static int read_edges(struct tl_deps_reader *r)
{
    for (uint32_t i = 0; i < TL_WIRE_DEPS_TASK_EDGES && i < r->task.n_edges; i++)
        if (tl_vec_push(&r->edges, r->task.edges[i]) < 0)
            return TL_ENOMEM;
    while (r->edges.count < r->task.n_edges) {
        const union tl_wire_deps_record *w = next_of(r, TL_WIRE_DEPS_EDGES);

        if (w == NULL || w->edges.task_id != r->task.task_id || w->edges.first != r->edges.count ||
            w->edges.count > r->task.n_edges - r->edges.count)
            return task_missing(r, "edges");
        for (uint32_t i = 0; i < w->edges.count; i++)
            if (tl_vec_push(&r->edges, w->edges.edges[i]) < 0)
                return TL_ENOMEM;
    }
    assert(r->edges.count == r->task.n_edges); /* CI13 */
    return 0;
}

/* The head of the next task, which must be the one that was submitted next. */
static int read_head(struct tl_deps_reader *r)
{
    const union tl_wire_deps_record *w = next_of(r, TL_WIRE_DEPS_TASK);
    uint32_t ring, local;
    char text[120];

    if (w == NULL)
        return missing(r, 0, "the head of a task is not there");
    r->task = w->task;
    ring = (uint32_t)(r->task.task_id >> 32);
    local = (uint32_t)r->task.task_id;
    assert(ring < TL_DEPS_RINGS); /* CI13: the record was checked */
    if (r->task.index != r->index_next || local != r->local_next[ring]) {
        (void)snprintf(text, sizeof(text), "tasks before r%ut%u are not there", ring, local);
        return missing(r, 1, text);
    }
    r->index_next++;
    r->local_next[ring]++;
    return 0;
}

int tl__deps_next(struct tl_deps_reader *r, struct tl_deps_submit *ret_submit)
{
    int code;

    if (peek(r) == NULL)
        return 0;
    r->args.count = r->deps.count = r->edges.count = 0;
    code = read_head(r);
    if (code == 0)
        code = read_args(r);
    if (code == 0)
        code = read_deps(r);
    if (code == 0)
        code = read_edges(r);
    if (code < 0)
        return code;
    *ret_submit = (struct tl_deps_submit){
        .task = &r->task, .args = r->args.items, .deps = r->deps.items, .edges = r->edges.items};
    return 1;
}
