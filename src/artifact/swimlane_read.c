/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of chip_swimlane_records.json, and what it lets pass (docs/formats/chip_swimlane_records.md). */
#include <string.h>

#include "artifact/json_file.h"
#include "artifact/swimlane_impl.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"

/* ---- rows of numbers ---- */

int tl__swimlane_take_row(struct tl_tape *t, uint32_t at, const struct tl_swim_column *columns, unsigned least,
                          unsigned count, uint64_t *ret_values)
{
    uint32_t there = 0, item = at + 1;
    int code = tl__tape_array(t, at, NULL, &there);

    if (code == 0 && there < least)
        return tl__tape_fail(t, TL_EPARSE, columns[there].name, "missing: the row has %u columns", there);
    if (code == 0 && there > count)
        return tl__tape_fail(t, TL_EPARSE, NULL, "the row has %u columns; %u is the most", there, count);
    for (unsigned i = 0; code == 0 && i < count; i++) {
        ret_values[i] = 0;
        if (i >= there)
            continue;
        if (!columns[i].optional || !tl__tape_is_null(t, item))
            code = tl__tape_u64(t, item, columns[i].name, columns[i].max, &ret_values[i]);
        item = t->tokens[item].next;
    }
    return code;
}

static void count_backward(struct tl_swim_reader *r, uint64_t start, uint64_t end)
{
    r->s.backward += end != 0 && end < start;
}

static int on_core(struct tl_swim_reader *r, struct tl_tape *t)
{
    static const struct tl_swim_column columns[] = {
        {"core_id", UINT32_MAX, false},     {"task_token_raw", UINT64_MAX, false},
        {"reg_task_id", UINT32_MAX, false}, {"start_cycles", UINT64_MAX, false},
        {"end_cycles", UINT64_MAX, true},   {"receive_cycles", UINT64_MAX, true},
        {"run_epoch", UINT32_MAX, false},
    };
    uint64_t v[7] = {0};
    int code = tl__swimlane_take_row(t, 0, columns, 5, 7, v);

    if (code != 0)
        return code;
    if (r->core_width == 0)
        r->core_width = t->tokens[0].length;
    if ((r->core_width == 7) != (t->tokens[0].length == 7))
        return tl__tape_fail(t, TL_EPARSE, NULL, "the row has %u columns, and the first row has %u",
                             t->tokens[0].length, r->core_width);
    if (r->core_width == 7)
        r->s.form = TL_SWIM_2026_09;
    count_backward(r, v[3], v[4]);
    return tl_vec_push(&r->cores, ((struct tl_swim_core){.core_id = (uint32_t)v[0],
                                                         .task_id = v[1],
                                                         .reg_task_id = (uint32_t)v[2],
                                                         .start_cycles = v[3],
                                                         .end_cycles = v[4],
                                                         .receive_cycles = v[5],
                                                         .run_epoch = (uint32_t)v[6]}));
}

static int on_aicpu(struct tl_swim_reader *r, struct tl_tape *t)
{
    static const struct tl_swim_column columns[] = {{"core_id", UINT32_MAX, false},
                                                    {"reg_task_id", UINT32_MAX, false},
                                                    {"dispatch_cycles", UINT64_MAX, false},
                                                    {"finish_cycles", UINT64_MAX, true}};
    uint64_t v[4] = {0};
    int code = tl__swimlane_take_row(t, 0, columns, 3, 4, v);

    if (code != 0)
        return code;
    count_backward(r, v[2], v[3]);
    return tl_vec_push(
        &r->aicpus,
        ((struct tl_swim_aicpu){
            .core_id = (uint32_t)v[0], .reg_task_id = (uint32_t)v[1], .dispatch_cycles = v[2], .finish_cycles = v[3]}));
}

/* ---- lists by thread ---- */

/* A record's own thread, where it carries one; else that of its list. */
static int take_thread(struct tl_tape *t, const uint32_t at[2], uint64_t *ret_thread)
{
    static const char *const names[] = {"thread_id", "thread"};

    *ret_thread = t->index;
    for (unsigned i = 0; i < 2; i++)
        if (!tl__tape_is_null(t, at[i]))
            return tl__tape_u64(t, at[i], names[i], TL_SWIM_THREAD_MAX, ret_thread);
    return 0;
}

/* Fewer or more entries than there are shapes here: what is known is taken. */
static int take_shared(struct tl_tape *t, uint32_t at, const char *field, uint32_t shared[3])
{
    uint32_t count = 0, item = at + 1;
    int code = tl__tape_array(t, at, field, &count);

    for (uint32_t i = 0; code == 0 && i < count && i < 3; i++) {
        code = tl__tape_u32(t, item, field, &shared[i]);
        item = t->tokens[item].next;
    }
    return code;
}

enum {
    P_KIND,
    P_START,
    P_END,
    P_LOOP_ITER,
    P_TASKS,
    P_POP_HIT,
    P_POP_MISS,
    P_SHARED_START,
    P_SHARED_END,
    P_TASK_ID,
    P_RUN_EPOCH,
    P_THREAD,
    P_COUNT = P_THREAD + 2
};

static const char *const phase_names[P_COUNT] = {
    "kind",      "start_cycles", "end_cycles",      "loop_iter",     "tasks_processed",
    "pop_hit",   "pop_miss",     "shared_at_start", "shared_at_end", "task_id",
    "run_epoch", "thread_id",    "thread",
};

static int phase_u32(struct tl_tape *t, const uint32_t f[P_COUNT], unsigned field, bool required, uint32_t *ret_value)
{
    if (!required && f[field] == TL_TAPE_ABSENT)
        return 0;
    return tl__tape_u32(t, f[field], phase_names[field], ret_value);
}

static int take_phase_extras(struct tl_tape *t, const uint32_t f[P_COUNT], struct tl_swim_phase *p)
{
    int code = 0;

    if (f[P_POP_HIT] != TL_TAPE_ABSENT || f[P_POP_MISS] != TL_TAPE_ABSENT) {
        p->has |= TL_SWIM_HAS_POP;
        code = phase_u32(t, f, P_POP_HIT, true, &p->pop_hit);
        if (code == 0)
            code = phase_u32(t, f, P_POP_MISS, true, &p->pop_miss);
    }
    if (code == 0 && (f[P_SHARED_START] != TL_TAPE_ABSENT || f[P_SHARED_END] != TL_TAPE_ABSENT)) {
        p->has |= TL_SWIM_HAS_SHARED;
        code = take_shared(t, f[P_SHARED_START], phase_names[P_SHARED_START], p->shared_at_start);
        if (code == 0)
            code = take_shared(t, f[P_SHARED_END], phase_names[P_SHARED_END], p->shared_at_end);
    }
    return code;
}

int tl__swimlane_take_metrics(struct tl_tape *t, uint32_t at, struct tl_swim_phase *phase)
{
    uint32_t f[P_COUNT];
    int code = tl__tape_fields(t, at, NULL, phase_names, P_COUNT, f);

    return code != 0 ? code : take_phase_extras(t, f, phase);
}

/* A kind without a name here is kept by the file's own name, and counted. */
static int take_kind(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at, const struct tl_swim_stream *stream,
                     struct tl_swim_phase *p)
{
    const char *text = NULL;
    size_t length = 0;
    int code = tl__tape_string(t, at, "kind", &text, &length), kind;

    if (code != 0)
        return code;
    kind = tl__phase_parse(text, length);
    if (kind >= 0) {
        /* A core that schedules has one flat lane: what it resolves is within nothing. */
        bool flat = stream != NULL && stream->aicore && kind == TL_PHASE_RESOLVE;

        p->kind = flat ? (uint8_t)TL_PHASE_RESOLVE_STANDALONE : (uint8_t)kind;
        return 0;
    }
    p->kind = TL_PHASE_OTHER;
    if (r->s.unknown_kinds++ == 0)
        memcpy(r->s.unknown_kind, text, length < sizeof(r->s.unknown_kind) ? length : sizeof(r->s.unknown_kind) - 1);
    return tl__swimlane_keep_kind(r, text, length, &p->other);
}

static int take_phase_times(struct tl_swim_reader *r, struct tl_tape *t, const uint32_t f[P_COUNT],
                            struct tl_swim_phase *p)
{
    /* A task that no core runs is of no loop; of a kind that is not known here only its time is asked for. */
    bool required = tl__phase_group(p->kind) != TL_PHASE_LANE && p->kind != TL_PHASE_OTHER;
    int code = tl__tape_u64(t, f[P_START], "start_cycles", UINT64_MAX, &p->start_cycles);

    if (code == 0)
        code = tl__tape_u64(t, f[P_END], "end_cycles", UINT64_MAX, &p->end_cycles);
    if (code == 0)
        code = phase_u32(t, f, P_LOOP_ITER, required, &p->loop_iter);
    if (code == 0)
        code = phase_u32(t, f, P_TASKS, required, &p->tasks_processed);
    if (code == 0)
        count_backward(r, p->start_cycles, p->end_cycles);
    return code;
}

int tl__swimlane_take_phase(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at,
                            const struct tl_swim_stream *stream)
{
    struct tl_swim_phase p = {0};
    uint32_t f[P_COUNT];
    uint64_t thread = 0;
    int code = tl__tape_fields(t, at, NULL, phase_names, P_COUNT, f);

    if (code == 0)
        code = take_kind(r, t, f[P_KIND], stream, &p);
    if (code != 0 || (p.kind == TL_PHASE_OTHER && (f[P_START] == TL_TAPE_ABSENT || f[P_END] == TL_TAPE_ABSENT)))
        return code;
    code = take_phase_times(r, t, f, &p);
    if (code == 0)
        code = take_phase_extras(t, f, &p);
    if (code == 0 && f[P_TASK_ID] != TL_TAPE_ABSENT && (stream == NULL || !tl__tape_is_null(t, f[P_TASK_ID]))) {
        p.has |= TL_SWIM_HAS_TASK_ID;
        code = tl__tape_u64(t, f[P_TASK_ID], phase_names[P_TASK_ID], UINT64_MAX, &p.task_id);
    }
    if (code == 0 && (stream != NULL || f[P_RUN_EPOCH] != TL_TAPE_ABSENT))
        code = tl__tape_u32(t, f[P_RUN_EPOCH], phase_names[P_RUN_EPOCH], &p.run_epoch);
    if (code == 0 && stream == NULL)
        code = take_thread(t, &f[P_THREAD], &thread);
    if (code != 0)
        return code;
    p.thread = stream != NULL ? stream->scheduler_id : (uint16_t)thread;
    return tl_vec_push(&r->phases, p);
}

static int take_orch(struct tl_swim_reader *r, struct tl_tape *t, uint32_t at, bool host_clock)
{
    enum { SUBMIT_IDX, TASK_ID, START, END, RUN_EPOCH, THREAD, COUNT = THREAD + 2 };
    static const char *const names[2][COUNT] = {
        {"submit_idx", "task_id", "start_cycles", "end_cycles", "run_epoch", "thread_id", "thread"},
        {"submit_idx", "task_id", "start_host_ns", "end_host_ns", "run_epoch", "thread_id", "thread"},
    };
    const char *const *name = names[host_clock];
    struct tl_swim_orch o = {0};
    uint64_t thread = 0;
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, at, NULL, name, COUNT, f);

    if (code == 0)
        code = tl__tape_u32(t, f[SUBMIT_IDX], name[SUBMIT_IDX], &o.submit_idx);
    if (code == 0)
        code = tl__tape_u64(t, f[TASK_ID], name[TASK_ID], UINT64_MAX, &o.task_id);
    if (code == 0)
        code = tl__tape_u64(t, f[START], name[START], UINT64_MAX, &o.start_cycles);
    if (code == 0)
        code = tl__tape_u64(t, f[END], name[END], UINT64_MAX, &o.end_cycles);
    if (code == 0 && f[RUN_EPOCH] != TL_TAPE_ABSENT)
        code = tl__tape_u32(t, f[RUN_EPOCH], name[RUN_EPOCH], &o.run_epoch);
    if (code == 0)
        code = take_thread(t, &f[THREAD], &thread);
    if (code != 0)
        return code;
    o.thread = (uint32_t)thread;
    count_backward(r, o.start_cycles, o.end_cycles);
    return tl_vec_push(&r->orchs, o);
}

enum {
    S_LEVEL,
    S_METADATA,
    S_CORES,
    S_AICPUS,
    S_PHASES,
    S_ORCHS,
    S_HOST_ORCHS,
    S_SCHED_TASKS,
    S_SCHED_RECORDS,
    S_LIFECYCLES,
    S_UPLOADS,
    S_COUNT
};

static const struct tl_tape_section sections[S_COUNT] = {
    {"chip_swimlane_level", false, true},
    {"metadata", false, true},
    {"aicore_tasks", true, true},
    {"aicpu_tasks", true, false},
    {"aicpu_scheduler_phases", true, false},
    {"aicpu_orchestrator_phases", true, false},
    {"host_orchestrator_phases", true, false},
    {"scheduler_tasks", false, false},
    {"scheduler_records", false, false},
    {"aicpu_lifecycle_records", true, false},
    {"host_device_uploads", true, false},
};

static int on_thread(struct tl_swim_reader *r, struct tl_tape *t)
{
    uint32_t count = 0, item = 1;
    int code = tl__tape_array(t, 0, NULL, &count);

    if (code == 0 && t->index > TL_SWIM_THREAD_MAX)
        return tl__tape_fail(t, TL_EPARSE, NULL, "thread %llu: %u is the most", (unsigned long long)t->index,
                             TL_SWIM_THREAD_MAX);
    t->inner = "";
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        t->inner_index = i;
        code = t->section == S_PHASES ? tl__swimlane_take_phase(r, t, item, NULL)
                                      : take_orch(r, t, item, t->section == S_HOST_ORCHS);
        item = t->tokens[item].next;
    }
    return code;
}

/* ---- the file ---- */

static int on_value(void *ctx, struct tl_tape *t)
{
    struct tl_swim_reader *r = ctx;
    uint64_t level = 0;
    int code;

    switch (t->section) {
    case S_LEVEL:
        code = tl__tape_u64(t, 0, NULL, 4, &level);
        r->s.level = (uint32_t)level;
        return code == 0 && level == 0 ? tl__tape_fail(t, TL_EPARSE, NULL, "0: nothing was recorded") : code;
    case S_METADATA:
        return tl__swimlane_take_metadata(t, &r->s);
    case S_CORES:
        return on_core(r, t);
    case S_AICPUS:
        return on_aicpu(r, t);
    case S_SCHED_TASKS:
        return tl__swimlane_take_scheduler_tasks(r, t);
    case S_SCHED_RECORDS:
        return tl__swimlane_take_scheduler_records(r, t);
    case S_UPLOADS:
        return tl__swimlane_take_upload(r, t);
    case S_LIFECYCLES:
        r->s.n_lifecycles++;
        return 0;
    default:
        return on_thread(r, t);
    }
}

static int check_core_id(const struct tl_swim_reader *r, const char *name, const char *table, uint64_t row,
                         uint32_t core_id, struct tl_error *reterr)
{
    if (core_id < r->s.num_cores)
        return 0;
    return tl__fail_at(reterr, TL_EPARSE, (long)row, "%s: %s[%llu]: field 'core_id': %u, but there are %u cores", name,
                       table, (unsigned long long)row, core_id, r->s.num_cores);
}

static int missing(const char *name, const char *field, unsigned level, struct tl_error *reterr)
{
    return tl__fail_at(reterr, TL_EPARSE, -1, "%s: field '%s': missing, and the level is %u", name, field, level);
}

static int twice(const char *name, unsigned one, unsigned other, const char *why, struct tl_error *reterr)
{
    return tl__fail_at(reterr, TL_EPARSE, -1, "%s: field '%s': appears beside '%s': %s", name, sections[one].name,
                       sections[other].name, why);
}

/* Which parts the level calls for, in either form, and which exclude each other. */
static int check_sections(struct tl_swim_reader *r, const char *name, struct tl_error *reterr)
{
    static const struct {
        unsigned level, older, newer;
        const char *why;
    } parts[] = {
        {2, S_AICPUS, S_SCHED_TASKS, "two forms of one part"},
        {3, S_PHASES, S_SCHED_RECORDS, "two forms of one part"},
        {4, S_ORCHS, S_HOST_ORCHS, "two clocks"},
    };

    for (unsigned i = 0; i < COUNT_OF(parts); i++) {
        uint32_t both = 1u << parts[i].older | 1u << parts[i].newer, have = r->seen & both;

        if (have == both)
            return twice(name, parts[i].newer, parts[i].older, parts[i].why, reterr);
        if (r->s.level >= parts[i].level && have == 0)
            return missing(name, sections[parts[i].older].name, r->s.level, reterr);
    }
    if (r->core_width < 7 && r->core_width > 0 && (r->seen & 1u << S_SCHED_TASKS) != 0)
        return tl__fail_at(reterr, TL_EPARSE, 0, "%s: aicore_tasks[0]: the row has %u columns; beside '%s' it has 7",
                           name, r->core_width, sections[S_SCHED_TASKS].name);
    if (r->core_width == 7 && (r->seen & 1u << S_AICPUS) != 0)
        return tl__fail_at(reterr, TL_EPARSE, 0,
                           "%s: aicore_tasks[0]: the row has 7 columns; beside '%s' it has 5 or 6", name,
                           sections[S_AICPUS].name);
    return 0;
}

/* What one section says of another. */
static int check_all(struct tl_swim_reader *r, const char *name, struct tl_error *reterr)
{
    const char *table = sections[(r->seen & 1u << S_SCHED_TASKS) != 0 ? S_SCHED_TASKS : S_AICPUS].name;
    int code = check_sections(r, name, reterr);

    r->s.orch_is_host_clock = (r->seen & 1u << S_HOST_ORCHS) != 0;
    if ((r->seen & (1u << S_SCHED_TASKS | 1u << S_SCHED_RECORDS)) != 0)
        r->s.form = TL_SWIM_2026_09;
    for (uint64_t i = 0; code == 0 && i < r->cores.count; i++)
        code = check_core_id(r, name, sections[S_CORES].name, i, r->cores.items[i].core_id, reterr);
    for (uint64_t i = 0; code == 0 && i < r->aicpus.count; i++)
        code = check_core_id(r, name, table, i, r->aicpus.items[i].core_id, reterr);
    return code;
}

static void drop(struct tl_swim_reader *r)
{
    tl_vec_fini(&r->cores);
    tl_vec_fini(&r->aicpus);
    tl_vec_fini(&r->phases);
    tl_vec_fini(&r->orchs);
    tl_vec_fini(&r->streams);
    tl_vec_fini(&r->uploads);
    tl_vec_fini(&r->kinds);
    tl__swimlane_fini(&r->s);
}

static void hand_out(struct tl_swim_reader *r, struct tl_swimlane *ret_swimlane)
{
    *ret_swimlane = r->s;
    ret_swimlane->cores = r->cores.items;
    ret_swimlane->aicpus = r->aicpus.items;
    ret_swimlane->phases = r->phases.items;
    ret_swimlane->orchs = r->orchs.items;
    ret_swimlane->streams = r->streams.items;
    ret_swimlane->uploads = r->uploads.items;
    ret_swimlane->other_names = r->kinds.items;
    ret_swimlane->n_streams = r->streams.count;
    ret_swimlane->n_uploads = r->uploads.count;
    ret_swimlane->n_other_names = r->kinds.count;
    ret_swimlane->n_cores = r->cores.count;
    ret_swimlane->n_aicpus = r->aicpus.count;
    ret_swimlane->n_phases = r->phases.count;
    ret_swimlane->n_orchs = r->orchs.count;
}

static int read_swimlane(const char *name, const void *text, size_t bytes, struct tl_swimlane *ret_swimlane,
                         struct tl_error *reterr)
{
    struct tl_swim_reader r = {0};
    struct tl_tape_spec spec = {
        .sections = sections, .count = S_COUNT, .on_value = on_value, .ctx = &r, .ret_seen = &r.seen};
    struct tl_swimlane s;
    int code =
        text != NULL ? tl__tape_parse(text, bytes, name, &spec, reterr) : tl__json_file_read(name, &spec, reterr);

    if (code == 0)
        code = check_all(&r, name, reterr);
    if (code != 0) {
        drop(&r);
        return code;
    }
    hand_out(&r, &s);
    code = tl__swimlane_unwrap(&s);
    if (code == 0)
        code = tl__swimlane_count_duplicates(&s);
    if (code == 0 && s.unknown_kinds > 0)
        code = tl__swimlane_place_others(s.phases, s.n_phases);
    if (code != 0) {
        tl__swimlane_fini(&s);
        return tl__fail(reterr, code, "%s: out of memory", name);
    }
    *ret_swimlane = s;
    return 0;
}

int tl__swimlane_parse(const void *text, size_t bytes, const char *name, struct tl_swimlane *ret_swimlane,
                       struct tl_error *reterr)
{
    return read_swimlane(name, text != NULL ? text : "", bytes, ret_swimlane, reterr);
}

int tl__swimlane_read(const char *path, struct tl_swimlane *ret_swimlane, struct tl_error *reterr)
{
    return read_swimlane(path, NULL, 0, ret_swimlane, reterr);
}
