/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of dep_gen without a device: what a graph planned becomes records as the device makes them
 * (wire/deps_record.h), and those are exported as a run's are. One file includes it.
 */
#ifndef TL_TESTS_DEPS_TAPE_H
#define TL_TESTS_DEPS_TAPE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/deps.h"
#include "collect/collector.h"
#include "graph/region.h"
#include "wire/deps_record.h"

struct deps_tape {
    union tl_wire_deps_record *records;
    uint32_t count, room, index;
};

static inline union tl_wire_deps_record *tape_next(struct deps_tape *tape)
{
    if (tape->count == tape->room) {
        tape->room = tape->room == 0 ? 64 : tape->room * 2;
        tape->records = realloc(tape->records, tape->room * sizeof(*tape->records));
        if (tape->records == NULL)
            abort();
    }
    memset(&tape->records[tape->count], 0, sizeof(*tape->records));
    return &tape->records[tape->count++];
}

static inline void tape_free(struct deps_tape *tape)
{
    free(tape->records);
    *tape = (struct deps_tape){0};
}

static inline struct tl_wire_deps_edge tape_edge(const struct tl_edge *e)
{
    return (struct tl_wire_deps_edge){.pred = e->pred,
                                      .view = e->producer != NULL ? tl__region_hash(e->producer) : 0,
                                      .arg = (int8_t)e->arg,
                                      .source = e->source,
                                      .flags = e->flags};
}

static inline void tape_head(struct deps_tape *tape, const struct tl_plan *plan, const uint32_t *tails, uint32_t n_args)
{
    struct tl_wire_deps_task *r = &tape_next(tape)->task;

    *r = (struct tl_wire_deps_task){.kind = TL_WIRE_DEPS_TASK,
                                    .flags = plan->manual ? TL_WIRE_DEPS_MANUAL : 0,
                                    .n_args = n_args,
                                    .task_id = plan->id,
                                    .index = tape->index++,
                                    .depth = plan->scope_depth,
                                    .block_num = 1,
                                    .n_edges = plan->n_edges};
    memcpy(r->func, plan->subtasks.func, sizeof(r->func));
    memcpy(r->tail, tails, sizeof(r->tail));
    for (uint32_t i = 0; i < TL_WIRE_DEPS_TASK_EDGES && i < plan->n_edges; i++)
        r->edges[i] = tape_edge(&plan->edges[i]);
}

static inline void tape_arg(struct deps_tape *tape, const struct tl_plan *plan, uint32_t arg, unsigned direction,
                            const struct tl_tensor *t)
{
    struct tl_wire_deps_arg *r = &tape_next(tape)->arg;

    r->kind = TL_WIRE_DEPS_ARG;
    r->direction = (uint8_t)direction;
    r->arg = arg;
    r->task_id = plan->id;
    r->tensor = *t;
    if (direction != TL_OUT || plan->args == NULL)
        return;
    r->tensor.buffer = plan->out_buffer[arg];
    r->tensor.buffer_bytes = plan->out_bytes[arg];
    r->tensor.owner = plan->id;
    r->tensor.version = 0;
}

/* A task that was planned just now; `tails` as they were then. */
static inline void tape_task(struct deps_tape *tape, const struct tl_plan *plan, const uint32_t *tails)
{
    const struct tl_task_args *args = plan->args;
    struct tl_wire_deps_task *head;

    tape_head(tape, plan, tails, args->n_tensors);
    head = &tape->records[tape->count - 1].task;
    head->n_deps = args->n_deps;
    head->block_num = args->block_num > 1 ? args->block_num : 1;
    for (uint32_t i = 0; i < TL_WIRE_DEPS_TASK_IDS && i < args->n_deps; i++)
        head->deps[i] = args->deps[i];
    for (uint32_t i = 0; i < args->n_tensors; i++)
        tape_arg(tape, plan, i, args->tensors[i].direction, &args->tensors[i].tensor);
    for (uint32_t at = TL_WIRE_DEPS_TASK_IDS; at < args->n_deps; at += TL_WIRE_DEPS_IDS_MAX) {
        struct tl_wire_deps_ids *r = &tape_next(tape)->ids;

        r->kind = TL_WIRE_DEPS_IDS;
        r->first = at;
        for (uint32_t i = at; i < args->n_deps && r->count < TL_WIRE_DEPS_IDS_MAX; i++)
            r->ids[r->count++] = args->deps[i];
    }
    for (uint32_t at = TL_WIRE_DEPS_TASK_EDGES; at < plan->n_edges; at += TL_WIRE_DEPS_EDGES_MAX) {
        struct tl_wire_deps_edges *r = &tape_next(tape)->edges;

        r->kind = TL_WIRE_DEPS_EDGES;
        r->first = at;
        r->task_id = plan->id;
        for (uint32_t i = at; i < plan->n_edges && r->count < TL_WIRE_DEPS_EDGES_MAX; i++)
            r->edges[r->count++] = tape_edge(&plan->edges[i]);
    }
}

static inline void tape_alloc(struct deps_tape *tape, const struct tl_plan *plan, struct tl_tensor *const *tensors,
                              uint32_t count, const uint32_t *tails)
{
    tape_head(tape, plan, tails, count);
    tape->records[tape->count - 1].task.flags |= TL_WIRE_DEPS_ALLOC;
    for (uint32_t i = 0; i < count; i++)
        tape_arg(tape, plan, i, TL_OUT, tensors[i]);
}

/* What the collector's inspection objects to first, or NULL. */
static inline const char *tape_inspect(const struct deps_tape *tape)
{
    struct tl_payload payload;
    const char *field = NULL;

    for (uint32_t i = 0; i < tape->count && field == NULL; i++)
        field = tl__record_check(&tl__deps_collector, &(struct tl_record_limits){0}, &tape->records[i], &payload);
    return field;
}

struct tape_run {
    const char *dir;
    uint32_t rings; /* 0: 4 */
    bool failed;
    uint64_t dropped;
    uint32_t per_batch; /* records; 0: all in one */
};

/* Exports to DIR/deps.json, in batches. The export's code. */
static inline int tape_export(const struct deps_tape *tape, const struct tape_run *run, struct tl_error *err)
{
    uint32_t per = run->per_batch == 0 ? tape->count + 1 : run->per_batch, n = tape->count / per + 1;
    struct tl_batch *batches = calloc(n, sizeof(*batches));
    struct tl_run_facts facts = {0};
    struct tl_export_stream stream = {.level = 1, .n_lanes = 1, .lanes = {batches}, .dropped = run->dropped};
    struct tl_export x = {.dir = run->dir, .own = &stream, .facts = &facts, .run_failed = run->failed};
    struct tl_export_figures figures = {0};
    int code;

    if (batches == NULL)
        abort();
    for (uint32_t i = 0; i < (run->rings != 0 ? run->rings : TL_DEPS_RINGS); i++)
        facts.heap_bytes[i] = 1024;
    for (uint32_t i = 0; i < n; i++) {
        batches[i].next = i + 1 < n ? &batches[i + 1] : NULL;
        batches[i].records = (const uint8_t *)(tape->records + (size_t)i * per);
        batches[i].count = tape->count - i * per < per ? tape->count - i * per : per;
    }
    memset(err, 0, sizeof(*err));
    code = tl__deps_collector.export(&x, &figures, err);
    free(batches);
    return code;
}

#endif
