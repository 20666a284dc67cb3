/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several runs of one worker in orders that a seed chooses: each is prepared behind the one on the device and exported
 * beside the next, with other streams, other sizes and other schedulers than its neighbour, on hosts that are slow or
 * stop, and each records exactly what its tasks call for. And with the nth allocation failing, for every n: the
 * error is a clean one, nothing leaks, and the next run works. Usage: test [FIRST_SEED [SEEDS]].
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "base/atomic.h"
#include "base/collectors.h"
#include "base/env_controlled.h"
#include "support/capture.h"
#include "support/seeds.h"
#include "support/scratch.h"
#include "support/submit_opts.h"

#define TASKS 5u
#define RUNS 4u
#define DEFAULT_SEEDS 150u

static void add(const struct tl_kernel_args *k)
{
    TL__POINT(); /* others may run meanwhile */
    *TL_DATA(k, 1, uint64_t) = *TL_DATA(k, 0, const uint64_t) + 1;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(0, "add", TL_AIV, add, TL_IN, TL_OUT)};

/* A chain: element i of the row is what the run was given, and i more. */
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor from = in->tensors[0];

    TL_SCOPE (o) {
        for (uint32_t i = 0, one = 1; i < TASKS; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor to;

            tl__controlled_check(tl_view(&in->tensors[1], &i, &one, &to) == 0);
            tl_add_input(&args, &from);
            tl_add_output(&args, &to);
            tl_submit_aiv(o, 0, &args);
            from = to;
        }
    }
}

static const struct tl_program program = CAPTURE_PROGRAM("series", kernels, orchestrate);

static struct one {
    struct capture c;
    uint64_t given, row[TASKS];
    struct tl_host_tensor tensors[2];
    int code;
} runs[RUNS];
static uint64_t allowed; /* bit -code: an error that a run may end with */

/* ---- One worker's life ---- */

static void submit(struct tl_worker *w, struct tl_loaded *l, struct one *r)
{
    r->c.run = NULL;
    r->code = tl_worker_submit(w, l, SUBMIT_OPTS(r->tensors, 2, NULL, 0, &r->c.config), &r->c.run, &r->c.error);
}

static void await(struct tl_worker *w, struct one *r)
{
    if (r->c.run != NULL)
        r->code = tl_worker_wait(w, r->c.run, &r->c.result, &r->c.error);
    r->c.run = NULL;
    if (r->code != 0 && (r->code < -63 || (allowed >> -r->code & 1u) == 0))
        tl__controlled_fail("a run ends with %s: %s", tl_errname(r->code), r->c.error.msg);
    for (uint64_t i = 0; r->code == 0 && i < TASKS; i++)
        tl__controlled_check(r->row[i] == r->given + 1 + i);
}

static void life(void *arg)
{
    const uint64_t *order = arg; /* bit i: run i is waited for before the next is submitted */
    struct tl_worker *w = NULL;
    struct tl_loaded *l = NULL;
    unsigned waited = 0;
    int rc = capture_worker(&runs[0].c, 2, 1, &program, &w, &l);

    if (rc != 0) {
        tl__controlled_check(rc == TL_ENOMEM && allowed != 0);
        tl_worker_close(w);
        return;
    }
    for (unsigned i = 0; i < RUNS; i++) {
        submit(w, l, &runs[i]);
        while (waited <= i && (*order >> i & 1u) != 0)
            await(w, &runs[waited++]);
    }
    while (waited < RUNS)
        await(w, &runs[waited++]);
    tl_worker_close(w);
}

static void set_up(unsigned i, unsigned cell, int level)
{
    struct one *r = &runs[i];

    capture_begin(&r->c, cell, level);
    /* Thousands of small files, each of which is synced: in memory. */
    (void)snprintf(r->c.dir, sizeof(r->c.dir), "%s/%u", scratch(true), i);
    r->c.config.block_dim = 2;
    r->c.config.aicpu_threads = 3;
    r->c.config.task_window = 64;
    r->c.config.dep_pool = 256;
    r->c.config.heap_bytes = 1 << 20;
    r->c.config.dfx_avg_bytes = 256;
    r->c.config.dfx_records = 8;
    r->given = 1000 * (i + 1);
    r->code = 0;
    memset(r->row, 0, sizeof(r->row));
    r->tensors[0] = capture_row("given", TL_IN, TL_UINT64, &r->given, 1);
    r->tensors[1] = capture_row("row", TL_OUT, TL_UINT64, r->row, TASKS);
}

/* ---- What was recorded ---- */

static void expect_meta(const struct one *r)
{
    const struct tl_run_config *c = &r->c.config;
    const struct {
        const char *name;
        bool on;
        uint64_t records; /* UINT64_MAX: as many as there were turns */
    } streams[] = {
        {"args_dump", c->levels[TL_COLLECT_DUMP] == 2, 2 * TASKS},
        {"swim_parts", c->levels[TL_COLLECT_SWIMLANE] > 0, TASKS},
        {"swim_phases", c->levels[TL_COLLECT_SWIMLANE] >= 3, UINT64_MAX},
        {"swim_submits", c->levels[TL_COLLECT_SWIMLANE] == 4, TASKS},
        {"dep_gen", c->levels[TL_COLLECT_DEPS], UINT64_MAX},
        {"scope_stats", c->levels[TL_COLLECT_SCOPE], 4},
        {"pmu", c->levels[TL_COLLECT_PMU] != 0, TASKS},
        {"traffic", c->levels[TL_COLLECT_TRAFFIC], TASKS},
    };
    struct tl_error err = {.msg = ""};
    struct tl_meta m;
    unsigned found = 0;

    if (tl__meta_read(r->c.dir, &m, &err) != 0)
        fail_msg("%s", err.msg);
    for (unsigned i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
        for (unsigned k = 0; k < m.stream_count; k++)
            if (strcmp(m.streams[k].name, streams[i].name) == 0) {
                assert_true(streams[i].on);
                assert_int_equal(m.streams[k].collected, m.streams[k].attempted);
                if (streams[i].records != UINT64_MAX)
                    assert_int_equal(m.streams[k].collected, streams[i].records);
                found++;
            }
    assert_int_equal(found, m.stream_count);
}

/* Each run has its own values in its own recording. */
static void expect_recording(struct one *r)
{
    bool on = tl__levels_first(r->c.config.levels) >= 0;
    uint64_t want;

    assert_int_equal(r->code, 0);
    assert_int_equal(access(r->c.dir, F_OK), on ? 0 : -1);
    if (on)
        expect_meta(r);
    capture_open(&r->c);
    assert_int_equal(r->c.count, r->c.config.levels[TL_COLLECT_DUMP] == 2 ? 2 * TASKS : 0);
    for (uint64_t i = 0; i < r->c.count; i++) {
        const struct tl_dump_record *d = &r->c.records[i];

        want = r->given + (d->task_id & UINT32_MAX) + (d->role == TL_ROLE_OUTPUT);
        capture_payload(&r->c, d, (enum tl_role)d->role, &want, sizeof(want));
    }
}

/* ---- Orders ---- */

static void choose(unsigned i, uint64_t *state)
{
    struct tl_run_config *c = &runs[i].c.config;

    c->levels[TL_COLLECT_DUMP] = tl__random_next(state) % 3 != 0 ? 2 : 0;
    c->levels[TL_COLLECT_SWIMLANE] = (int)(tl__random_next(state) % 5);
    c->levels[TL_COLLECT_PMU] = (int)(tl__random_next(state) % 3);
    c->levels[TL_COLLECT_DEPS] = tl__random_next(state) % 2 != 0;
    c->levels[TL_COLLECT_SCOPE] = tl__random_next(state) % 2 != 0;
    c->levels[TL_COLLECT_TRAFFIC] = tl__random_next(state) % 2 != 0;
    c->aicpu_threads = tl__random_next(state) % 4 == 0 ? 2 : 3;
    c->dfx_records = tl__random_next(state) % 4 == 0 ? 4 : 8;
}

static void one_seed(uint64_t seed)
{
    static const char *const faults[] = {"", "slow_write=3000000", "freeze.host-collect@400=2000000000",
                                         "short_write%50=100"};
    struct tl_controlled_opts opts = {.seed = seed, .faults = faults[seed % 4], .stack_bytes = 1 << 20};
    static struct tl_controlled_report report;
    uint64_t state = seed, order;

    for (unsigned i = 0; i < RUNS; i++) {
        set_up(i, (unsigned)(seed % CAPTURE_CELLS), 0);
        choose(i, &state);
    }
    order = tl__random_next(&state);
    allowed = 0;
    if (tl__controlled_run(&opts, life, &order, &report) != 0)
        fail_msg("%s", report.text);
    assert_int_equal(report.allocs_live, 0);
    for (unsigned i = 0; i < RUNS; i++)
        expect_recording(&runs[i]);
    for (unsigned i = 0; i < RUNS; i++)
        capture_end(&runs[i].c);
}

static void each_records_what_is_its_own(void **state)
{
    (void)state;
    for (seed_now = first_seed; seed_now < first_seed + seeds; seed_now++)
        one_seed(seed_now);
    seed_now = 0;
}

/* ---- Without memory ---- */

/* True while the fault still comes. */
static bool without_allocation(unsigned n, unsigned cell, unsigned *refused)
{
    static struct tl_controlled_report report;
    char faults[32];
    struct tl_controlled_opts opts = {.seed = n, .faults = faults, .stack_bytes = 1 << 20};
    const uint64_t order = 2; /* two side by side, then two more */

    (void)snprintf(faults, sizeof(faults), "alloc@%u", n);
    for (unsigned i = 0; i < RUNS; i++) {
        set_up(i, cell, 2);
        runs[i].c.config.levels[TL_COLLECT_SWIMLANE] = 4;
        runs[i].c.config.levels[TL_COLLECT_PMU] = 2;
        runs[i].c.config.levels[TL_COLLECT_DEPS] = runs[i].c.config.levels[TL_COLLECT_SCOPE] = true;
        runs[i].code = TL_ENOMEM; /* unless it is run */
    }
    allowed = UINT64_C(1) << -TL_ENOMEM | UINT64_C(1) << -TL_ELOST;
    if (tl__controlled_run(&opts, life, (void *)(uintptr_t)&order, &report) != 0)
        fail_msg("%s: %s", faults, report.text);
    assert_int_equal(report.allocs_live, 0);
    for (unsigned i = 0; i < RUNS; i++) {
        *refused += runs[i].code != 0;
        if (runs[i].code == 0)
            expect_recording(&runs[i]);
    }
    if (report.faults.entries[0].fired == 0) {
        for (unsigned i = 0; i < RUNS; i++)
            assert_int_equal(runs[i].code, 0);
    }
    for (unsigned i = 0; i < RUNS; i++)
        capture_end(&runs[i].c);
    return report.faults.entries[0].fired != 0;
}

static void a_failed_allocation_costs_a_run_at_most(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell += 3) { /* both platforms, runtimes and transports */
        unsigned refused = 0, n = 1;

        while (without_allocation(n, cell, &refused))
            n++;
        assert_true(n > 20);
        assert_true(refused >= 8);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_records_what_is_its_own, say_seed),
        cmocka_unit_test(a_failed_allocation_costs_a_run_at_most),
    };

    seeds_from(argc, argv, DEFAULT_SEEDS, true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
