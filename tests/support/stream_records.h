/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with every stream on, and roles that push records of known values through the real producer: a row for each
 * stream. For unit tests of what the streams have in common; a new stream is one more row.
 */
#ifndef TESTS_STREAM_RECORDS_H
#define TESTS_STREAM_RECORDS_H

#include "support/fake_test.h"
#include "wire/deps_record.h"
#include "wire/pmu_record.h"
#include "wire/scope_record.h"
#include "wire/swimlane_record.h"
#include "wire/traffic_record.h"

#define STREAM_SCHEDULERS 3u
#define STREAM_CLUSTERS 6u
#ifndef STREAM_RECORDS
#define STREAM_RECORDS 50u /* of each lane; even */
#endif

/* Record i of a role. */
static inline void dump_of(void *record, uint32_t role, uint32_t i)
{
    struct tl_wire_dump_record *w = record;

    w->task_id = (uint64_t)role << 32 | i;
    w->func_id[0] = (int32_t)role;
    w->func_count = 1;
    w->flags = TL_DUMP_CONTIGUOUS;
    w->kind = TL_WIRE_SCALAR;
    w->dtype = TL_UINT64;
    w->payload = i;
}

/* Subtasks of two cores in turn, each core's from last to first: the export sorts them. */
static inline void subtask_of(void *record, uint32_t role, uint32_t i)
{
    const uint32_t n = STREAM_RECORDS / 2 - i / 2; /* the core's n-th */

    *(struct tl_wire_subtask *)record = (struct tl_wire_subtask){.task_id = 1000 * role + i,
                                                                 .start = 10000 * n + 10,
                                                                 .end = 10000 * n + 20,
                                                                 .dispatch = 10000 * n + 1,
                                                                 .finish = 10000 * n + 30,
                                                                 .core_id = role + STREAM_CLUSTERS * (i % 2),
                                                                 .reg_task_id = n};
}

/* An inner phase is noted before the outer one that holds it. */
static inline void phase_of(void *record, uint32_t role, uint32_t i)
{
    static const uint32_t kinds[] = {TL_WIRE_PHASE_RESOLVE, TL_WIRE_PHASE_COMPLETE, TL_WIRE_PHASE_DISPATCH};
    const uint64_t start = 1000 * (i / 3) + 1;

    *(struct tl_wire_phase *)record = (struct tl_wire_phase){.start = start + (i % 3 == 0   ? 5
                                                                               : i % 3 == 1 ? 0
                                                                                            : 100),
                                                             .end = start + (i % 3 == 0   ? 8
                                                                             : i % 3 == 1 ? 9
                                                                                          : 200),
                                                             .loop_iter = i / 3,
                                                             .tasks = role + 1,
                                                             .pop_hit = i % 3 == 2 ? 7 : 0,
                                                             .pop_miss = i % 3 == 2 ? 2 : 0,
                                                             .kind = kinds[i % 3]};
}

static inline void submit_of(void *record, uint32_t role, uint32_t i)
{
    (void)role;
    *(struct tl_wire_submit *)record =
        (struct tl_wire_submit){.task_id = i, .start = 100 * i + 1, .end = 100 * i + 50, .submit_idx = i};
}

static inline void deps_of(void *record, uint32_t role, uint32_t i)
{
    (void)role;
    *(struct tl_wire_deps_task *)record = (struct tl_wire_deps_task){.kind = TL_WIRE_DEPS_TASK,
                                                                     .task_id = i,
                                                                     .index = i,
                                                                     .func = {-1, (int32_t)(i % 5), -1},
                                                                     .block_num = 1 + i % 3};
}

/* One scope after the other, in a whole that begins first and ends last. */
static inline void scope_of(void *record, uint32_t role, uint32_t i)
{
    const bool whole = i == 0 || i == STREAM_RECORDS - 1;
    struct tl_wire_scope_record *w = record;

    (void)role;
    *w = (struct tl_wire_scope_record){.task_tail = i,
                                       .task_head = 2 * i,
                                       .depth = !whole,
                                       .line = i,
                                       .phase =
                                           i == 0 || (!whole && i % 2 == 1) ? TL_WIRE_SCOPE_BEGIN : TL_WIRE_SCOPE_END};
    memcpy(w->file, "a/b.c", sizeof("a/b.c"));
}

static inline void pmu_of(void *record, uint32_t role, uint32_t i)
{
    *(struct tl_wire_pmu *)record = (struct tl_wire_pmu){.task_id = i,
                                                         .total_cycles = 100 + i,
                                                         .func_id = (int32_t)(i % 5),
                                                         .core_id = STREAM_CLUSTERS + role,
                                                         .core_type = TL_AIV,
                                                         .event = 2,
                                                         .counted = 1,
                                                         .machine = TL_MACHINE_ABSENT,
                                                         .counters = {i, 2 * i}};
}

static inline void traffic_of(void *record, uint32_t role, uint32_t i)
{
    *(struct tl_wire_traffic *)record = (struct tl_wire_traffic){
        .task_id = i,
        .start = 100 * i + 10,
        .counted_read = i,
        .func_id = (int32_t)(i % 5),
        .core_id = STREAM_CLUSTERS + role,
        .counted = 1,
        .n_args = 2,
        .args = {{.buffer = 4096, .owner = TL_NO_TASK, .view = i % 7, .bytes = 8 + i % 7, .access = TL_WIRE_READ},
                 {.buffer = 8192 * (i + 1), .owner = i, .view = 1, .bytes = 32, .access = TL_WIRE_WRITE}}};
}

static const struct stream_row {
    unsigned stream;
    const char *name; /* of its losses */
    bool by_orchestrator;
    void (*fill)(void *record, uint32_t role, uint32_t i);
} stream_rows[] = {
    {TL_STREAM_DUMP, "args_dump", false, dump_of},
    {TL_STREAM_SUBTASKS, "swim_parts", false, subtask_of},
    {TL_STREAM_PHASES, "swim_phases", false, phase_of},
    {TL_STREAM_SUBMITS, "swim_submits", true, submit_of},
    {TL_STREAM_DEPS, "dep_gen", true, deps_of},
    {TL_STREAM_SCOPE, "scope_stats", true, scope_of},
    {TL_STREAM_PMU, "pmu", false, pmu_of},
    {TL_STREAM_TRAFFIC, "traffic", false, traffic_of},
};
#define STREAM_ROWS (sizeof(stream_rows) / sizeof(stream_rows[0]))

/* All of them, in buffers of four records. */
static inline struct tl_run_config stream_config(const char *dir)
{
    struct tl_run_config c = small_config(dir, 2);

    c.levels[TL_COLLECT_SWIMLANE] = 4;
    c.levels[TL_COLLECT_DEPS] = c.levels[TL_COLLECT_SCOPE] = true;
    c.levels[TL_COLLECT_PMU] = 2;
    c.levels[TL_COLLECT_TRAFFIC] = 1;
    c.dfx_records = 4;
    return c;
}

static inline struct tl_engine_run stream_run(const struct tl_run_config *config)
{
    return (struct tl_engine_run){.epoch = 1,
                                  .config = config,
                                  .lanes = STREAM_SCHEDULERS,
                                  .program = "streams",
                                  .case_name = "case",
                                  .platform = "fakesim",
                                  .facts = {.clock_freq_hz = 50000000,
                                            .arch = "a2a3",
                                            .clusters = STREAM_CLUSTERS,
                                            .schedulers = STREAM_SCHEDULERS,
                                            .task_window = {64, 64, 64, 64},
                                            .heap_bytes = {4096, 4096, 4096, 4096},
                                            .dep_pool = {64, 64, 64, 64}}};
}

static inline uint64_t stream_begin(struct fake_world *w, const struct tl_run_config *config)
{
    const struct tl_engine_run run = stream_run(config);
    struct tl_error err = {0};
    uint64_t dfx = 0;

    if (tl__engine_begin(w->engine, &run, &dfx, &err) != 0)
        fail_msg("%s", err.msg);
    return dfx;
}

static inline void stream_wait(struct fake_world *w, const struct tl_producer *p)
{
    const uint32_t ticket = tl__bell_arm(&w->chip.bells->device);

    (void)tl__bell_sleep(&w->chip.bells->device, ticket, tl__now_ns() + 2000000);
    tl__bell_disarm(&w->chip.bells->device);
    (void)p;
}

/* One lane from its beginning to its end mark (`ends`; else it stays open). `spoil`: what is done to record 0. */
static inline void stream_push(struct fake_world *w, uint64_t dfx, const struct stream_row *row, uint32_t role,
                               void (*spoil)(void *record), bool ends)
{
    const int lane = tl__lane_find(&w->chip.mem, dfx, row->stream, role);
    struct tl_producer p = {0};

    assert_true(lane >= 0);
    assert_int_equal(tl__producer_attach(&p, &w->chip.mem, dfx, (uint32_t)lane, w->chip.bells), 0);
    tl__producer_begin(&p, 1);
    for (uint32_t i = 0; i < STREAM_RECORDS; i++) {
        uint64_t offset;
        void *payload;

        while (tl__producer_reserve(&p, 0, &payload, &offset) == TL_EAGAIN)
            stream_wait(w, &p);
        memset(tl__producer_record(&p), 0, p.record_bytes);
        row->fill(tl__producer_record(&p), role, i);
        if (spoil != NULL && i == 0)
            spoil(tl__producer_record(&p));
        tl__producer_commit(&p, 0);
    }
    while (ends && tl__producer_end(&p) == TL_EAGAIN)
        stream_wait(w, &p);
}

static inline uint32_t stream_roles(const struct stream_row *row)
{
    return row->by_orchestrator ? 1 : STREAM_SCHEDULERS;
}

static inline void stream_push_all(struct fake_world *w, uint64_t dfx, bool ends)
{
    for (size_t i = 0; i < STREAM_ROWS; i++)
        for (uint32_t role = 0; role < stream_roles(&stream_rows[i]); role++)
            stream_push(w, dfx, &stream_rows[i], role, NULL, ends);
}

#endif
