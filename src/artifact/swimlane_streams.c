/* SPDX-License-Identifier: Apache-2.0 */
/* What the form of September 2026 has in place of lists by thread: scheduler_tasks, scheduler_records, uploads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/swimlane_impl.h"
#include "base/env.h"

/* ---- scheduler_tasks ---- */

static int take_producer(struct tl_tape *t, uint32_t at, bool *ret_aicore)
{
    static const char *const producers[] = {"aicpu", "aicore"};
    unsigned producer = 0;
    int code = tl__tape_word(t, at, "producer", producers, 2, &producer);

    if (code == TL_ENOENT)
        return tl__tape_fail(t, TL_EPARSE, "producer", "'%.40s' is neither aicpu nor aicore",
                             t->text + t->tokens[at].start);
    *ret_aicore = producer == 1;
    return code;
}

static int take_task(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at)
{
    static const struct tl_swim_column columns[] = {{"core_id", UINT32_MAX, false},
                                                    {"reg_task_id", UINT32_MAX, false},
                                                    {"dispatch_cycles", UINT64_MAX, false},
                                                    {"finish_cycles", UINT64_MAX, true},
                                                    {"run_epoch", UINT32_MAX, false}};
    uint64_t v[5] = {0};
    int code = tl__swimlane_take_row(t, at, columns, 5, 5, v);

    if (code != 0)
        return code;
    r->s.backward += v[3] != 0 && v[3] < v[2];
    return tl_vec_push(&r->aicpus, ((struct tl_swim_aicpu){.core_id = (uint32_t)v[0],
                                                           .reg_task_id = (uint32_t)v[1],
                                                           .dispatch_cycles = v[2],
                                                           .finish_cycles = v[3],
                                                           .run_epoch = (uint32_t)v[4]}));
}

int tl__swimlane_take_scheduler_tasks(struct tl_swim_reader *r, struct tl_tape *t)
{
    enum { PRODUCER, RECORDS, COUNT };
    static const char *const names[COUNT] = {"producer", "records"};
    uint32_t f[COUNT], count = 0, item;
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    if (code == 0)
        code = take_producer(t, f[PRODUCER], &r->s.cores_schedule);
    if (code == 0)
        code = tl__tape_array(t, f[RECORDS], names[RECORDS], &count);
    item = f[RECORDS] + 1;
    t->inner = "records";
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        t->inner_index = i;
        code = take_task(r, t, item);
        item = t->tokens[item].next;
    }
    return code;
}

/* ---- scheduler_records ---- */

static int take_capture(struct tl_tape *t, uint32_t at, struct tl_swim_stream *stream)
{
    enum { COMMITTED, DROPPED, TRUNCATED, COUNT };
    static const char *const names[COUNT] = {"committed", "dropped", "truncated"};
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, at, "capture", names, COUNT, f);

    if (code == 0)
        code = tl__tape_u64(t, f[COMMITTED], names[COMMITTED], UINT64_MAX, &stream->committed);
    if (code == 0)
        code = tl__tape_u64(t, f[DROPPED], names[DROPPED], UINT64_MAX, &stream->dropped);
    return code != 0 ? code : tl__tape_bool(t, f[TRUNCATED], names[TRUNCATED], &stream->truncated);
}

/* What was noted beside a record, by its position in the stream. */
static int take_metrics(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at, const struct tl_swim_stream *stream,
                        const uint64_t *position)
{
    static const char *const index_name[] = {"record_index"};
    uint32_t count = 0, item = at + 1, f;
    uint64_t index = 0;
    int code = tl__tape_array(t, at, "metrics", &count);

    for (uint32_t i = 0; code == 0 && i < count; i++) {
        t->inner_index = i;
        code = tl__tape_fields(t, item, NULL, index_name, 1, &f);
        if (code == 0)
            code = tl__tape_u64(t, f, "record_index", UINT64_MAX, &index);
        if (code == 0 && index >= stream->read)
            return tl__tape_fail(t, TL_EPARSE, "record_index", "%llu, and the stream has %llu records",
                                 (unsigned long long)index, (unsigned long long)stream->read);
        if (code == 0 && position[index] != UINT64_MAX)
            code = tl__swimlane_take_metrics(t, item, &r->phases.items[position[index]]);
        item = t->tokens[item].next;
    }
    return code;
}

static int take_records(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at, struct tl_swim_stream *stream,
                        uint64_t *position)
{
    uint32_t item = at + 1;
    int code = 0;

    for (uint64_t i = 0; code == 0 && i < stream->read; i++) {
        uint64_t before = r->phases.count;

        t->inner_index = i;
        code = tl__swimlane_take_phase(r, t, item, stream);
        position[i] = r->phases.count > before ? before : UINT64_MAX;
        item = t->tokens[item].next;
    }
    return code;
}

static void inside(struct tl_swim_reader *r, struct tl_tape *t, uint32_t index, const char *list)
{
    (void)snprintf(r->where, sizeof(r->where), "streams[%u].%s", index, list);
    t->inner = r->where;
}

static int take_lists(struct tl_swim_reader *r, struct tl_tape *t, const uint32_t at[2], uint32_t index,
                      struct tl_swim_stream *stream)
{
    uint32_t count = 0;
    uint64_t *position;
    int code = tl__tape_array(t, at[0], "records", &count);

    if (code != 0)
        return code;
    stream->read = count;
    position = tl__alloc((size_t)count + 1, sizeof(*position));
    if (position == NULL)
        return TL_ENOMEM;
    inside(r, t, index, "records");
    code = take_records(r, t, at[0], stream, position);
    if (code == 0 && !tl__tape_is_null(t, at[1])) {
        inside(r, t, index, "metrics");
        code = take_metrics(r, t, at[1], stream, position);
    }
    tl__free(position);
    return code;
}

static int take_stream(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at, uint32_t index)
{
    enum { PRODUCER, SCHEDULER, WORKER, CAPTURE, RECORDS, METRICS, PLATFORM, COUNT };
    static const char *const names[COUNT] = {"producer", "scheduler_id", "worker_id", "capture",
                                             "records",  "metrics",      "platform"};
    struct tl_swim_stream stream = {0};
    uint64_t id = 0;
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, at, NULL, names, COUNT, f);

    if (code == 0)
        code = take_producer(t, f[PRODUCER], &stream.aicore);
    if (code == 0)
        code = tl__tape_u64(t, f[SCHEDULER], names[SCHEDULER], TL_SWIM_THREAD_MAX, &id);
    stream.scheduler_id = (uint16_t)id;
    stream.worker_id = (uint32_t)id;
    if (code == 0 && !tl__tape_is_null(t, f[WORKER]))
        code = tl__tape_u32(t, f[WORKER], names[WORKER], &stream.worker_id);
    if (code == 0 && !tl__tape_is_null(t, f[CAPTURE]))
        code = take_capture(t, f[CAPTURE], &stream);
    if (code == 0 && !tl__tape_is_null(t, f[PLATFORM]))
        code = tl__tape_text(t, f[PLATFORM], names[PLATFORM], r->s.platform, sizeof(r->s.platform));
    if (code == 0)
        code = take_lists(r, t, &f[RECORDS], index, &stream);
    return code != 0 ? code : tl_vec_push(&r->streams, stream);
}

int tl__swimlane_take_scheduler_records(struct tl_swim_reader *r, struct tl_tape *t)
{
    static const char *const names[] = {"streams"};
    uint32_t at, count = 0, item;
    int code = tl__tape_fields(t, 0, NULL, names, 1, &at);

    if (code == 0)
        code = tl__tape_array(t, at, "streams", &count);
    item = at + 1;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        t->inner = "streams";
        t->inner_index = i;
        code = take_stream(r, t, item, i);
        item = t->tokens[item].next;
    }
    return code;
}

/* ---- uploads ---- */

int tl__swimlane_take_upload(struct tl_swim_reader *r, struct tl_tape *t)
{
    enum { PHASE, START, END, DETAIL, RUN_EPOCH, COUNT };
    static const char *const names[COUNT] = {"phase", "start_host_ns", "end_host_ns", "detail", "run_epoch"};
    struct tl_swim_upload upload = {0};
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    if (code == 0)
        code = tl__tape_text(t, f[PHASE], names[PHASE], upload.phase, sizeof(upload.phase));
    if (code == 0)
        code = tl__tape_u64(t, f[START], names[START], UINT64_MAX, &upload.start_ns);
    if (code == 0)
        code = tl__tape_u64(t, f[END], names[END], UINT64_MAX, &upload.end_ns);
    if (code == 0 && !tl__tape_is_null(t, f[DETAIL]))
        code = tl__tape_u64(t, f[DETAIL], names[DETAIL], UINT64_MAX, &upload.detail);
    if (code == 0 && !tl__tape_is_null(t, f[RUN_EPOCH]))
        code = tl__tape_u32(t, f[RUN_EPOCH], names[RUN_EPOCH], &upload.run_epoch);
    return code != 0 ? code : tl_vec_push(&r->uploads, upload);
}

/* ---- kinds without a name here ---- */

int tl__swimlane_keep_kind(struct tl_swim_reader *r, const char *text, size_t length, uint16_t *ret_index)
{
    struct tl_swim_kind_name name = {{0}};

    memcpy(name.text, text, length < sizeof(name.text) ? length : sizeof(name.text) - 1);
    for (size_t i = 0; i < r->kinds.count; i++) {
        *ret_index = (uint16_t)i;
        if (strcmp(r->kinds.items[i].text, name.text) == 0)
            return 0;
    }
    if (r->kinds.count == TL_SWIM_KINDS_MAX)
        return 0;
    *ret_index = (uint16_t)r->kinds.count;
    return tl_vec_push(&r->kinds, name);
}

static int by_thread_and_start(const void *left, const void *right, void *phases)
{
    const struct tl_swim_phase *l = (const struct tl_swim_phase *)phases + *(const uint64_t *)left;
    const struct tl_swim_phase *r = (const struct tl_swim_phase *)phases + *(const uint64_t *)right;

    if (l->thread != r->thread)
        return l->thread < r->thread ? -1 : 1;
    if (l->start_cycles != r->start_cycles)
        return l->start_cycles < r->start_cycles ? -1 : 1;
    if (l->end_cycles != r->end_cycles)
        return l->end_cycles > r->end_cycles ? -1 : 1;
    return (l->kind == TL_PHASE_OTHER) - (r->kind == TL_PHASE_OTHER);
}

int tl__swimlane_place_others(struct tl_swim_phase *phases, uint64_t count)
{
    uint64_t *order = tl__alloc(count + 1, sizeof(*order)), end = 0;

    if (order == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), by_thread_and_start, phases);
    for (uint64_t i = 0; i < count; i++) {
        struct tl_swim_phase *p = &phases[order[i]];

        if (i == 0 || p->thread != phases[order[i - 1]].thread)
            end = 0;
        if (tl__phase_group(p->kind) != TL_PHASE_OUTER)
            continue;
        if (p->kind == TL_PHASE_OTHER && p->start_cycles < end)
            p->kind = TL_PHASE_OTHER_INNER;
        else if (p->end_cycles > end)
            end = p->end_cycles;
    }
    tl__free(order);
    return 0;
}
