/* SPDX-License-Identifier: Apache-2.0 */
/* Swimlane recordings made by hand: a recording, its graph and its names, in arrays of fixed size. */
#ifndef TL_TESTS_SWIM_WORLD_H
#define TL_TESTS_SWIM_WORLD_H

#include "unit/artifact_fixture.h"

#include <tasklens/kernel.h>

#include "analysis/swimlane/swim_join.h"

#define WORLD_ROWS 512

struct swim_world {
    struct tl_swimlane lane;
    struct tl_deps deps;
    struct tl_name_map names;
    uint8_t core_types[16];
    int32_t core_to_thread[16];
    struct tl_swim_core cores[WORLD_ROWS];
    struct tl_swim_aicpu aicpus[WORLD_ROWS];
    struct tl_swim_phase phases[WORLD_ROWS];
    struct tl_swim_orch orchs[WORLD_ROWS];
    struct tl_deps_task tasks[WORLD_ROWS];
    struct tl_deps_edge edges[WORLD_ROWS];
    char *name_list[8];
};

/* `aics` AIC cores, then `aivs` AIV cores, all of scheduler 0; a clock of 1 GHz. */
static inline void world_init(struct swim_world *w, unsigned level, unsigned aics, unsigned aivs)
{
    memset(w, 0, sizeof(*w));
    assert_true(aics + aivs <= 16);
    for (unsigned i = aics; i < aics + aivs; i++)
        w->core_types[i] = TL_AIV;
    w->lane = (struct tl_swimlane){.level = level,
                                   .num_cores = aics + aivs,
                                   .clock_freq_hz = 1000000000,
                                   .core_types = w->core_types,
                                   .core_to_thread = level >= 3 ? w->core_to_thread : NULL,
                                   .cores = w->cores,
                                   .aicpus = w->aicpus,
                                   .phases = w->phases,
                                   .orchs = w->orchs};
    w->deps.tasks = w->tasks;
    w->deps.edges = w->edges;
    w->names.names = w->name_list;
}

static inline struct tl_swim_core *world_core(struct swim_world *w, uint32_t core, uint64_t task, uint32_t reg,
                                              uint64_t start, uint64_t end)
{
    struct tl_swim_core *row = &w->cores[w->lane.n_cores++];

    assert_true(w->lane.n_cores <= WORLD_ROWS);
    *row = (struct tl_swim_core){
        .task_id = task, .start_cycles = start, .end_cycles = end, .core_id = core, .reg_task_id = reg};
    return row;
}

static inline void world_aicpu(struct swim_world *w, uint32_t core, uint32_t reg, uint64_t dispatch, uint64_t finish)
{
    assert_true(w->lane.n_aicpus < WORLD_ROWS);
    w->aicpus[w->lane.n_aicpus++] = (struct tl_swim_aicpu){
        .dispatch_cycles = dispatch, .finish_cycles = finish, .core_id = core, .reg_task_id = reg};
}

/* Both rows of one slice: dispatched `pickup` before its start, seen done `notice` after its end. */
static inline void world_slice(struct swim_world *w, uint32_t core, uint64_t task, uint32_t reg, uint64_t start,
                               uint64_t end, uint64_t pickup, uint64_t notice)
{
    (void)world_core(w, core, task, reg, start, end);
    world_aicpu(w, core, reg, start - pickup, end + notice);
}

static inline struct tl_swim_phase *world_phase(struct swim_world *w, unsigned thread, unsigned kind, uint64_t start,
                                                uint64_t end, uint32_t tasks)
{
    struct tl_swim_phase *p = &w->phases[w->lane.n_phases++];

    assert_true(w->lane.n_phases <= WORLD_ROWS);
    *p = (struct tl_swim_phase){.start_cycles = start,
                                .end_cycles = end,
                                .loop_iter = (uint32_t)w->lane.n_phases,
                                .tasks_processed = tasks,
                                .thread = (uint16_t)thread,
                                .kind = (uint8_t)kind};
    return p;
}

static inline void world_submit(struct swim_world *w, uint64_t task, uint64_t start, uint64_t end)
{
    uint32_t i = (uint32_t)w->lane.n_orchs++;

    assert_true(w->lane.n_orchs <= WORLD_ROWS);
    w->orchs[i] =
        (struct tl_swim_orch){.task_id = task, .start_cycles = start, .end_cycles = end, .submit_idx = i, .thread = 0};
}

static inline struct tl_deps_task *world_task(struct swim_world *w, uint64_t task, int aic, int aiv0, int aiv1,
                                              uint32_t blocks)
{
    struct tl_deps_task *t = &w->tasks[w->deps.n_tasks++];

    assert_true(w->deps.n_tasks <= WORLD_ROWS);
    *t = (struct tl_deps_task){.task_id = task, .kernel_ids = {aic, aiv0, aiv1}, .block_num = blocks};
    return t;
}

static inline struct tl_deps_edge *world_edge(struct swim_world *w, uint64_t pred, uint64_t succ)
{
    struct tl_deps_edge *e = &w->edges[w->deps.n_edges++];

    assert_true(w->deps.n_edges <= WORLD_ROWS);
    *e = (struct tl_deps_edge){.pred = pred, .succ = succ, .arg = -1, .source = TL_DEPS_EXPLICIT};
    return e;
}

static inline void world_name(struct swim_world *w, unsigned func_id, const char *name)
{
    static char names[8][300];

    assert_true(func_id < 8);
    (void)snprintf(names[func_id], sizeof(names[0]), "%s", name);
    w->name_list[func_id] = names[func_id];
    if (w->names.count <= func_id)
        w->names.count = func_id + 1;
}

/* What the trace can show, on a chip of 1 AIC and 2 AIV: a plain task, a mix that it feeds, an SPMD task of four blocks
 * that the mix feeds, a task that no core runs behind it; a scheduler with an inner phase, an orchestrator. */
static inline void world_everything(struct swim_world *w)
{
    const uint64_t plain = 0, mix = 1, spmd = (uint64_t)1 << 32, dummy = ((uint64_t)1 << 32) + 1;
    struct tl_swim_phase *p;

    world_init(w, 4, 1, 2);
    world_name(w, 0, "load");
    world_name(w, 1, "matmul");
    (void)world_task(w, plain, -1, 0, -1, 1);
    (void)world_task(w, mix, 1, 2, 3, 1);
    (void)world_task(w, spmd, -1, 0, -1, 4);
    (void)world_task(w, dummy, -1, -1, -1, 1);
    (void)world_edge(w, plain, mix);
    (void)world_edge(w, plain, mix); /* by another argument */
    (void)world_edge(w, mix, spmd);
    (void)world_edge(w, spmd, dummy);
    world_submit(w, plain, 1000, 1040);
    world_submit(w, mix, 1050, 1080);
    world_submit(w, spmd, 1090, 1130);
    world_submit(w, dummy, 1130, 1150);
    world_slice(w, 1, plain, 1, 1200, 1300, 20, 30);
    w->cores[0].receive_cycles = 5;
    world_slice(w, 0, mix, 1, 1500, 1900, 50, 10);
    world_slice(w, 1, mix, 2, 1510, 1600, 60, 20);
    world_slice(w, 2, mix, 1, 1520, 1700, 70, 20);
    world_slice(w, 1, spmd, 3, 2100, 2200, 40, 10);
    world_slice(w, 2, spmd, 2, 2110, 2190, 40, 30);
    world_slice(w, 1, spmd, 4, 2200, 2300, 50, 10); /* pending on its core while block 0 runs */
    world_slice(w, 2, spmd, 3, 2250, 2330, 20, 10);
    p = world_phase(w, 0, TL_PHASE_DISPATCH, 1160, 1190, 1);
    p->has = TL_SWIM_HAS_POP | TL_SWIM_HAS_SHARED;
    p->pop_hit = 1;
    p->pop_miss = 3;
    p->shared_at_start[1] = 1;
    (void)world_phase(w, 0, TL_PHASE_RESOLVE, 1340, 1360, 1);
    (void)world_phase(w, 0, TL_PHASE_COMPLETE, 1320, 1400, 1);
    (void)world_phase(w, 0, TL_PHASE_DISPATCH, 1400, 1460, 3);
    (void)world_phase(w, 0, TL_PHASE_COMPLETE, 1610, 1750, 2);
    (void)world_phase(w, 0, TL_PHASE_COMPLETE, 1900, 1990, 1);
    (void)world_phase(w, 0, TL_PHASE_DISPATCH, 2050, 2160, 3);
    (void)world_phase(w, 0, TL_PHASE_COMPLETE, 2200, 2225, 2);
    (void)world_phase(w, 0, TL_PHASE_DISPATCH, 2226, 2235, 1);
    (void)world_phase(w, 0, TL_PHASE_COMPLETE, 2300, 2345, 2);
    (void)world_phase(w, 0, TL_PHASE_DUMMY, 2350, 2380, 1);
    p = world_phase(w, 0, TL_PHASE_DUMMY_TASK, 2355, 2375, 1);
    p->has = TL_SWIM_HAS_TASK_ID;
    p->task_id = dummy;
}

static inline void world_save(const struct swim_world *w, const char *dir)
{
    struct tl_error error = {0};
    const char *path = fixture_path(dir);

    assert_int_equal(mkdir(path, 0777), 0);
    if (tl__swimlane_write(path, &w->lane, &error) != 0 ||
        (w->deps.n_tasks > 0 && tl__deps_write(path, &w->deps, &error) != 0) ||
        tl__name_map_write(path, "default", &w->names, &error) != 0)
        fail_msg("%s", error.msg);
}

#endif
