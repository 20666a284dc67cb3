/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic as a collector: what a record may hold, and how the records of a task's subtasks become its line of
 * traffic.jsonl. */
#include <stdlib.h>
#include <string.h>

#include "artifact/traffic.h"
#include "base/env.h"
#include "base/error.h"
#include "collect/collector.h"
#include "wire/traffic_record.h"

_Static_assert(TL_WIRE_TRAFFIC_ARGS == TL_TRAFFIC_MAX_ARGS, "all arguments of a record fit the artifact");
_Static_assert((int)TL_WIRE_READ == (int)TL_TRAFFIC_READ && (int)TL_WIRE_WRITE == (int)TL_TRAFFIC_WRITE &&
                   (int)TL_WIRE_BOTH == (int)TL_TRAFFIC_BOTH,
               "the artifact's numbers are the record's");

#define BYTES_MAX (UINT64_C(1) << 48) /* no view and no kernel has more */

static const struct tl_record_field traffic_fields[] = {
    TL_FIELD_OF_KIND(struct tl_wire_traffic, task_id, TL_FIELD_TASK),
    TL_FIELD(struct tl_wire_traffic, counted_read, 0, BYTES_MAX),
    TL_FIELD(struct tl_wire_traffic, counted_written, 0, BYTES_MAX),
    TL_FIELD_SIGNED(struct tl_wire_traffic, func_id, 1, -1, INT32_MAX),
    TL_FIELD_OF_KIND(struct tl_wire_traffic, core_id, TL_FIELD_CORE),
    TL_FIELD(struct tl_wire_traffic, counted, 0, 1),
    TL_FIELD(struct tl_wire_traffic, n_args, 0, TL_WIRE_TRAFFIC_ARGS),
};
static const struct tl_record_table traffic_tables[] = {TL_RECORD_TABLE(traffic_fields)};

static const char *traffic_inspect(const void *record, struct tl_payload *ret_payload)
{
    const struct tl_wire_traffic *w = record;

    *ret_payload = (struct tl_payload){.whole = true};
    for (uint32_t i = 0; i < w->n_args; i++) {
        if (w->args[i].access >= TL_WIRE_ACCESSES)
            return "record.args.access";
        if (w->args[i].bytes > BYTES_MAX)
            return "record.args.bytes";
    }
    return NULL;
}

static int by_task_and_core(const void *a, const void *b)
{
    const struct tl_wire_traffic *x = *(const struct tl_wire_traffic *const *)a,
                                 *y = *(const struct tl_wire_traffic *const *)b;

    if (x->task_id != y->task_id)
        return x->task_id < y->task_id ? -1 : 1;
    if (x->core_id != y->core_id)
        return x->core_id < y->core_id ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

static int by_start(const void *a, const void *b)
{
    const struct tl_traffic_task *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->task_id > y->task_id) - (x->task_id < y->task_id);
}

/* The subtasks[0..n) of one task. */
static int add_task(struct tl_traffic *t, const struct tl_wire_traffic *const *subtasks, uint64_t n)
{
    struct tl_traffic_task task = {.task_id = subtasks[0]->task_id,
                                   .start = subtasks[0]->start,
                                   .func_id = subtasks[0]->func_id,
                                   .subtasks = (uint32_t)n,
                                   .n_args = subtasks[0]->n_args};
    struct tl_traffic_arg args[TL_TRAFFIC_MAX_ARGS];

    for (uint64_t i = 0; i < n; i++) {
        task.start = subtasks[i]->start < task.start ? subtasks[i]->start : task.start;
        task.counted_read += subtasks[i]->counted_read;
        task.counted_written += subtasks[i]->counted_written;
        task.counted += subtasks[i]->counted;
    }
    for (uint32_t i = 0; i < task.n_args; i++) {
        const struct tl_wire_traffic_arg *w = &subtasks[0]->args[i];

        args[i] = (struct tl_traffic_arg){
            .buffer = w->buffer, .owner = w->owner, .view = w->view, .bytes = w->bytes, .access = w->access};
    }
    return tl__traffic_add(t, &task, args);
}

static int convert(const struct tl_export_stream *own, const struct tl_wire_traffic **entries, struct tl_traffic *t)
{
    struct tl_record_walk walk = tl__record_walk(own, sizeof(struct tl_wire_traffic));
    const struct tl_wire_traffic *w;
    uint64_t n = 0, first = 0;
    int r = 0;

    while ((w = tl__record_next(&walk)) != NULL)
        entries[n++] = w;
    qsort(entries, n, sizeof(const struct tl_wire_traffic *), by_task_and_core);
    for (uint64_t i = 1; i <= n && r == 0; i++)
        if (i == n || entries[i]->task_id != entries[first]->task_id) {
            r = add_task(t, entries + first, i - first);
            first = i;
        }
    if (t->tasks.count > 1) /* of none there is no array */
        qsort(t->tasks.items, t->tasks.count, sizeof(t->tasks.items[0]), by_start);
    return r;
}

static int traffic_export(const struct tl_export *x, struct tl_export_figures *figures, struct tl_error *reterr)
{
    struct tl_traffic traffic = {.fatal = x->run_failed, .dropped = x->own->dropped};
    const uint64_t n = tl__records_in(x->own);
    const struct tl_wire_traffic **entries = tl__alloc(n + 1, sizeof(struct tl_wire_traffic *));
    int r = entries != NULL ? convert(x->own, entries, &traffic) : TL_ENOMEM;

    figures->records = n;
    r = r < 0 ? tl__fail(reterr, r, "%s: no memory for the traffic of its tasks", x->dir)
              : tl__traffic_write(x->dir, &traffic, reterr);
    tl__free(entries);
    tl__traffic_fini(&traffic);
    return r;
}

static int traffic_reread(const char *path, uint64_t *ret_records, struct tl_error *reterr)
{
    struct tl_traffic traffic = {.fatal = false};
    int r = tl__traffic_file_read(path, &traffic, reterr);

    *ret_records = 0;
    for (size_t i = 0; i < traffic.tasks.count; i++)
        *ret_records += traffic.tasks.items[i].subtasks;
    tl__traffic_fini(&traffic);
    return r;
}

static const char *const traffic_files[] = {TL_TRAFFIC_NAME, NULL};

const struct tl_collector_spec tl__traffic_collector = {
    .name = "traffic",
    .stream = TL_STREAM_TRAFFIC,
    .record_bytes = sizeof(struct tl_wire_traffic),
    .version = 1,
    .files = traffic_files,
    .tables = traffic_tables,
    .n_tables = 1,
    .inspect = traffic_inspect,
    .export = traffic_export,
    .reread = traffic_reread,
};
