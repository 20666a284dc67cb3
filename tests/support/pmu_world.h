/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph of subtasks of every shape, each of which reports counts that no other subtask reports; and the check that each
 * row of pmu.csv has the values of its own subtask. Include it behind cmocka.
 */
#ifndef TL_TESTS_PMU_WORLD_H
#define TL_TESTS_PMU_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/program.h>

#include "arch/pmu_set.h"
#include "artifact/pmu.h"
#include "support/capture.h"

enum { PMU_CUBE, PMU_VECTOR, PMU_SILENT, PMU_KERNELS };
#define PMU_MAX_TASKS 1024u

struct pmu_task {
    tl_task_id id;
    uint32_t number, blocks;
    int32_t func[3]; /* AIC, AIV0, AIV1; -1: left out */
};

static struct pmu_task pmu_tasks[PMU_MAX_TASKS];
static uint32_t pmu_n_tasks; /* set by the test, before the run */

/* What a subtask reports of a class: nobody else's value, and apart from it by more than a model divides by, so that two
 * subtasks never have one row. */
static uint64_t pmu_count(uint32_t task, uint32_t block, uint32_t lane, uint32_t what)
{
    return UINT64_C(100000000) * (what + 1) + UINT64_C(1024) * (64 * task + 4 * block + lane);
}

static void pmu_report(const struct tl_kernel_args *k)
{
    const uint32_t task = TL_SCALAR_OF(k, 0, uint32_t);

    for (uint32_t what = 0; what < TL_COUNT_CLASSES; what++) {
        tl_count(k, (enum tl_count_class)what, pmu_count(task, k->block_idx, k->lane, what) - 7);
        tl_count(k, (enum tl_count_class)what, 7);
    }
}

static void pmu_silent(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel pmu_kernels[] = {
    TL_KERNEL(PMU_CUBE, "cube", TL_AIC, pmu_report, TL_IN),
    TL_KERNEL(PMU_VECTOR, "vector", TL_AIV, pmu_report, TL_IN),
    TL_KERNEL(PMU_SILENT, "silent", TL_AIV, pmu_silent, TL_IN),
};

static tl_task_id pmu_submit(struct tl_orch *o, const struct tl_task_args *args, struct pmu_task *t, unsigned shape)
{
    t->func[0] = shape == 0 || shape == 2 ? PMU_CUBE : -1;
    t->func[1] = shape == 1 || shape == 2 ? PMU_VECTOR : shape == 3 ? PMU_SILENT : -1;
    t->func[2] = shape == 2 ? PMU_VECTOR : -1;
    if (shape == 0)
        return tl_submit_aic(o, PMU_CUBE, args);
    if (shape == 2)
        return tl_submit_mix(o, (struct tl_mix){.aic = PMU_CUBE, .aiv0 = PMU_VECTOR, .aiv1 = PMU_VECTOR}, args);
    return tl_submit_aiv(o, t->func[1], args);
}

static void pmu_orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    for (uint32_t i = 0; i < pmu_n_tasks; i++) {
        TL_SCOPE (o) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor x = in->tensors[0];
            struct pmu_task *t = &pmu_tasks[i];

            t->number = i;
            t->blocks = i % 5 == 4 ? 3 : 1;
            tl_add_input(&args, &x);
            tl_add_scalar(&args, t->number);
            tl_set_block_num(&args, t->blocks);
            t->id = pmu_submit(o, &args, t, i % 4);
        }
    }
}

static const struct tl_program pmu_program = CAPTURE_PROGRAM("pmu", pmu_kernels, pmu_orchestrate);

static uint32_t pmu_subtasks(void)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < pmu_n_tasks; i++)
        for (unsigned k = 0; k < 3; k++)
            n += pmu_tasks[i].func[k] >= 0 ? pmu_tasks[i].blocks : 0;
    return n;
}

/* The columns' values of one subtask by the model; what only a machine could count is 0 here. */
static void pmu_want(const struct tl_pmu_set *set, const struct pmu_task *t, unsigned kind, uint32_t block,
                     uint64_t *want)
{
    uint64_t counts[TL_COUNT_CLASSES];

    for (uint32_t what = 0; what < TL_COUNT_CLASSES; what++)
        counts[what] = t->func[kind] == PMU_SILENT ? 0 : pmu_count(t->number, block, kind == 2, what);
    for (uint32_t c = 0; c < set->n_columns; c++)
        want[c] = set->columns[c].per != 0 ? tl__pmu_model(&set->columns[c], kind == 0 ? TL_AIC : TL_AIV, counts) : 0;
}

/* Takes the row of this subtask out of those that are left: there is exactly one like it. A single AIV task may have run
 * on either vector core of a cluster, whose lane it reports. */
static void pmu_take(const struct tl_pmu *pmu, const struct tl_pmu_set *set, bool *taken, const struct pmu_task *t,
                     unsigned kind, uint32_t block)
{
    uint64_t want[2][TL_PMU_MAX_COUNTERS];
    bool alone = kind == 1 && t->func[0] < 0;

    pmu_want(set, t, kind, block, want[0]);
    pmu_want(set, t, alone ? 2 : kind, block, want[1]);
    if (alone) { /* as kind 2 it would have that kernel */
        struct pmu_task other = *t;

        other.func[2] = t->func[1];
        pmu_want(set, &other, 2, block, want[1]);
    }
    for (uint64_t i = 0; i < pmu->n_rows; i++) {
        const struct tl_pmu_row *r = &pmu->rows[i];
        const uint64_t *have = pmu->counters + i * pmu->n_counters;
        size_t bytes = set->n_columns * sizeof(*have);

        if (taken[i] || r->task_id != t->id || r->func_id != t->func[kind] || r->core_type != (kind != 0) ||
            (memcmp(have, want[0], bytes) != 0 && memcmp(have, want[1], bytes) != 0))
            continue;
        taken[i] = true;
        return;
    }
    fail_msg("task %u block %u kernel %d: no row with its values", t->number, block, t->func[kind]);
}

/* Every subtask has one row, of its own counts, and there are no others. */
static void pmu_check_rows(const struct tl_pmu *pmu, const struct tl_pmu_set *set)
{
    bool *taken = calloc(pmu->n_rows + 1, sizeof(*taken));

    assert_non_null(taken);
    assert_int_equal(pmu->n_rows, pmu_subtasks());
    assert_int_equal(pmu->n_counters, set->n_columns);
    for (uint32_t c = 0; c < set->n_columns; c++)
        assert_string_equal(pmu->names[c], set->columns[c].name);
    for (uint32_t i = 0; i < pmu_n_tasks; i++)
        for (unsigned kind = 0; kind < 3; kind++)
            for (uint32_t b = 0; pmu_tasks[i].func[kind] >= 0 && b < pmu_tasks[i].blocks; b++)
                pmu_take(pmu, set, taken, &pmu_tasks[i], kind, b);
    free(taken);
}

static void pmu_read(const struct capture *c, struct tl_pmu *pmu, struct tl_pmu_meta *meta)
{
    struct tl_error err = {0};
    char path[200];

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, TL_PMU_NAME);
    if (tl__pmu_read(path, pmu, &err) != 0 || tl__pmu_meta_read(c->dir, meta, &err) != 0)
        fail_msg("%s", err.msg);
}

#endif
