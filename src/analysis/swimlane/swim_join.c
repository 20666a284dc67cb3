/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/swim_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/kernel.h>

#include "analysis/swimlane/swim_join_internal.h"
#include "base/env.h"
#include "base/error.h"
#include "base/safe_text.h"
#include "base/task_id.h"
#include "base/text.h"

#define MAX_ROWS ((uint64_t)UINT32_MAX - 1)

/* Where a row of one table belongs. */
struct key {
    uint64_t core_and_reg;
    uint32_t run_epoch, row;
};

static int compare_keys(const struct key *l, const struct key *r)
{
    if (l->run_epoch != r->run_epoch)
        return l->run_epoch < r->run_epoch ? -1 : 1;
    return l->core_and_reg < r->core_and_reg ? -1 : l->core_and_reg > r->core_and_reg;
}

static int by_key(const void *left, const void *right)
{
    const struct key *l = left, *r = right;
    int order = compare_keys(l, r);

    if (order != 0)
        return order;
    return l->row < r->row ? -1 : l->row > r->row;
}

static uint64_t count_same(const struct key *keys, uint64_t n)
{
    uint64_t same = 0;

    for (uint64_t i = 1; i < n; i++)
        same += compare_keys(&keys[i], &keys[i - 1]) == 0;
    return same;
}

static void take_core_row(struct tl_swim_join *join, struct tl_swim_slice *s, const struct tl_swim_core *row)
{
    uint64_t start = tl__swim_cycles(&join->clock, row->start_cycles);

    s->task_id = row->task_id;
    s->core = row->core_id;
    s->run_epoch = row->run_epoch;
    s->reg_task_id = row->reg_task_id;
    s->start = start;
    s->end = tl__swim_cycles(&join->clock, row->end_cycles);
    s->receive = row->receive_cycles <= start ? start - row->receive_cycles : start;
    s->flags |= TL_SWIM_RAN;
    if (row->end_cycles == 0) {
        s->end = start; /* until the recording's end is known */
        s->flags |= TL_SWIM_RUNNING;
        join->counts.running++;
        return;
    }
    if (s->end < start) {
        s->end = start;
        s->flags |= TL_SWIM_BACKWARD;
        join->counts.backward++;
    }
}

static void take_aicpu_row(struct tl_swim_join *join, struct tl_swim_slice *s, const struct tl_swim_aicpu *row)
{
    s->core = row->core_id;
    s->run_epoch = row->run_epoch;
    s->reg_task_id = row->reg_task_id;
    s->dispatch = tl__swim_cycles(&join->clock, row->dispatch_cycles);
    s->flags |= TL_SWIM_SENT;
    if (row->finish_cycles == 0) {
        join->counts.unfinished++;
        return;
    }
    s->flags |= TL_SWIM_FINISHED;
    s->finish = tl__swim_cycles(&join->clock, row->finish_cycles);
    if (s->finish < s->dispatch) {
        s->finish = s->dispatch;
        s->flags |= TL_SWIM_BACKWARD;
        join->counts.backward++;
    }
}

static void add_slice(struct tl_swim_join *join, const struct tl_swim_core *core, const struct tl_swim_aicpu *aicpu)
{
    const struct tl_swimlane *lane = join->lane;
    struct tl_swim_slice *s = &join->slices[join->n_slices++];

    memset(s, 0, sizeof(*s));
    s->task = TL_SWIM_NONE;
    s->func_id = -1;
    if (core != NULL)
        take_core_row(join, s, core);
    if (aicpu != NULL)
        take_aicpu_row(join, s, aicpu);
    s->thread = lane->core_to_thread != NULL && s->core < lane->num_cores ? lane->core_to_thread[s->core] : -1;
    s->core_type = s->core < lane->num_cores ? lane->core_types[s->core] : (uint8_t)TL_AIC;
    s->subtask = s->core_type == TL_AIV;
    join->n_ran += core != NULL;
    join->counts.joined += core != NULL && aicpu != NULL;
    join->counts.core_alone += aicpu == NULL && lane->level >= 2;
    join->counts.aicpu_alone += core == NULL;
}

static void merge(struct tl_swim_join *join, const struct key *cores, const struct key *aicpus)
{
    const struct tl_swimlane *lane = join->lane;
    uint64_t c = 0, a = 0;

    while (c < lane->n_cores || a < lane->n_aicpus) {
        bool core = c < lane->n_cores, aicpu = a < lane->n_aicpus;

        if (core && aicpu) {
            int order = compare_keys(&cores[c], &aicpus[a]);

            core = order <= 0;
            aicpu = order >= 0;
        }
        add_slice(join, core ? &lane->cores[cores[c].row] : NULL, aicpu ? &lane->aicpus[aicpus[a].row] : NULL);
        c += core;
        a += aicpu;
    }
}

static int by_core(const void *left, const void *right)
{
    const struct tl_swim_slice *l = left, *r = right;
    uint64_t lt = (l->flags & TL_SWIM_RAN) != 0 ? l->start : l->dispatch;
    uint64_t rt = (r->flags & TL_SWIM_RAN) != 0 ? r->start : r->dispatch;

    if (l->core != r->core)
        return l->core < r->core ? -1 : 1;
    if (lt != rt)
        return lt < rt ? -1 : 1;
    return l->reg_task_id < r->reg_task_id ? -1 : l->reg_task_id > r->reg_task_id;
}

static int join_rows(struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;
    struct key *cores = tl__alloc(lane->n_cores + 1, sizeof(*cores));
    struct key *aicpus = tl__alloc(lane->n_aicpus + 1, sizeof(*aicpus));
    int code = TL_ENOMEM;

    join->slices = tl__alloc(lane->n_cores + lane->n_aicpus + 1, sizeof(*join->slices));
    if (cores == NULL || aicpus == NULL || join->slices == NULL)
        goto out;
    for (uint32_t i = 0; i < lane->n_cores; i++)
        cores[i] = (struct key){(uint64_t)lane->cores[i].core_id << 32 | lane->cores[i].reg_task_id,
                                lane->cores[i].run_epoch, i};
    for (uint32_t i = 0; i < lane->n_aicpus; i++)
        aicpus[i] = (struct key){(uint64_t)lane->aicpus[i].core_id << 32 | lane->aicpus[i].reg_task_id,
                                 lane->aicpus[i].run_epoch, i};
    qsort(cores, lane->n_cores, sizeof(*cores), by_key);
    qsort(aicpus, lane->n_aicpus, sizeof(*aicpus), by_key);
    join->counts.same_key = count_same(cores, lane->n_cores) + count_same(aicpus, lane->n_aicpus);
    merge(join, cores, aicpus);
    qsort(join->slices, join->n_slices, sizeof(*join->slices), by_core);
    code = 0;
out:
    tl__free(cores);
    tl__free(aicpus);
    return code;
}

static void later(uint64_t *latest, uint64_t time)
{
    if (time > *latest)
        *latest = time;
}

/* The latest time, and what runs backward of the rows that belong to no slice. */
static void find_end(struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;

    for (uint32_t i = 0; i < join->n_slices; i++) {
        later(&join->end, join->slices[i].end);
        later(&join->end, join->slices[i].dispatch);
        later(&join->end, join->slices[i].finish);
    }
    for (uint64_t i = 0; i < lane->n_phases; i++) {
        later(&join->end, tl__swim_cycles(&join->clock, lane->phases[i].end_cycles));
        join->counts.backward += lane->phases[i].end_cycles < lane->phases[i].start_cycles;
    }
    for (uint64_t i = 0; i < lane->n_orchs; i++) {
        if (!lane->orch_is_host_clock)
            later(&join->end, tl__swim_cycles(&join->clock, lane->orchs[i].end_cycles));
        join->counts.backward += lane->orchs[i].end_cycles < lane->orchs[i].start_cycles;
    }
}

/* What still ran when the recording ended ran until then: a hang was declared. The last anchor was taken after it. */
static void extend_running(struct tl_swim_join *join)
{
    const struct tl_swimlane *lane = join->lane;

    if (join->counts.running == 0)
        return;
    for (uint32_t i = 0; i < lane->n_anchors; i++)
        later(&join->end, tl__swim_cycles(&join->clock, lane->anchors[i].device_cycles));
    for (uint32_t i = 0; i < join->n_slices; i++)
        if ((join->slices[i].flags & TL_SWIM_RUNNING) != 0)
            join->slices[i].end = join->end;
}

int tl__swim_join(const struct tl_swimlane *lane, const struct tl_deps *deps, const struct tl_name_map *names,
                  struct tl_swim_join *ret_join, struct tl_error *reterr)
{
    struct tl_swim_join join = {.lane = lane, .deps = deps, .names = names};
    int code;

    if (lane->n_cores + lane->n_aicpus + lane->n_phases > MAX_ROWS || lane->n_orchs > MAX_ROWS ||
        (deps != NULL && deps->n_edges > MAX_ROWS))
        return tl__fail(reterr, TL_ERANGE, "more than 4 billion rows in one recording");
    join.layout = tl__task_layout_of(deps != NULL && deps->runtime[0] != '\0' ? deps->runtime : lane->runtime);
    tl__swim_clock_init(&join.clock, lane);
    code = join_rows(&join);
    if (code == 0) {
        find_end(&join);
        extend_running(&join);
        code = tl__swim_join_tasks(&join);
    }
    if (code == 0 && deps != NULL)
        code = tl__swim_join_edges(&join);
    if (code != 0) {
        tl__swim_join_fini(&join);
        return tl__fail(reterr, code, "out of memory for %llu rows",
                        (unsigned long long)(lane->n_cores + lane->n_aicpus));
    }
    *ret_join = join;
    return 0;
}

const char *tl__swim_time_broken(const struct tl_swim_join *join)
{
    if (join->lane->falls > 0)
        return "time is broken: rows stand far before what came before them on their core or in their loop, as where a "
               "counter began again at 0";
    return join->counts.backward > 0 ? "time is broken: rows end before they start" : NULL;
}

void tl__swim_join_fini(struct tl_swim_join *join)
{
    tl__free(join->slices);
    tl__free(join->by_task);
    tl__free(join->tasks);
    tl__free(join->epochs);
    tl__free(join->edges);
    tl__free(join->task_of_deps);
    memset(join, 0, sizeof(*join));
}

uint32_t tl__swim_find_in(const struct tl_swim_join *join, uint32_t run_epoch, uint64_t task_id)
{
    uint32_t low = 0, high = join->n_tasks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct tl_swim_task *t = &join->tasks[middle];

        if (t->run_epoch < run_epoch || (t->run_epoch == run_epoch && t->task_id < task_id))
            low = middle + 1;
        else
            high = middle;
    }
    return low < join->n_tasks && join->tasks[low].run_epoch == run_epoch && join->tasks[low].task_id == task_id
               ? low
               : TL_SWIM_NONE;
}

uint32_t tl__swim_find(const struct tl_swim_join *join, uint64_t task_id)
{
    uint32_t found = TL_SWIM_NONE;

    for (uint32_t i = 0; i < join->n_epochs && found == TL_SWIM_NONE; i++)
        found = tl__swim_find_in(join, join->epochs[i], task_id);
    return found;
}

void tl__swim_label(const struct tl_swim_join *join, const struct tl_swim_slice *slice, char *to)
{
    struct tl_text text = tl__text(to, TL_SWIM_LABEL_BYTES - TL_TASK_BYTES - 8); /* room for the task */
    char task[TL_TASK_BYTES];

    if ((slice->flags & TL_SWIM_RAN) == 0) {
        tl__text_put(&text, "never ended(reg ");
        tl__text_dec(&text, slice->reg_task_id);
        tl__text_put(&text, ")");
        return;
    }
    if (slice->name != NULL) {
        text.used = tl__name_cut(to, text.size, slice->name);
    } else if (slice->func_id >= 0) {
        tl__text_put(&text, "func_");
        tl__text_dec(&text, (uint64_t)slice->func_id);
    } else {
        tl__text_put(&text, "task");
    }
    text.size = TL_SWIM_LABEL_BYTES;
    tl__text_put(&text, join->tasks[slice->task].block_num > 1 ? "_spmd(" : "(");
    tl__text_put(&text, tl__task_text(task, join->layout, slice->task_id));
    tl__text_put(&text, ")");
}
