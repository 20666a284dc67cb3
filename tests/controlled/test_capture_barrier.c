/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The barrier before FIN: with a core's stores withheld until it, an after-completion payload is still what the kernel
 * wrote. Host, collectors and chip run as one program in orders that a seed chooses. Without the barrier the stores
 * arrive after FIN, as they may on a chip, and this test fails (tests/mutants/barrier_before_fin.mutant).
 * Usage: test [FIRST_SEED [SEEDS]]; a seed that fails is printed.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "base/env_controlled.h"
#include "support/capture.h"
#include "support/seeds.h"
#include "support/submit_opts.h"

#define N 8u
#define CHAINS 3u
#define LENGTH 4u
#define DEFAULT_SEEDS 200u

enum { FUNC_FRESH, FUNC_GROW };

/* Stores with others in between, so that FIN and the copy can come anywhere. */
static void store(uint32_t *to, uint32_t value)
{
    TL__POINT();
    *to = value;
}

/* A fresh row from the first one. */
static void fresh(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < N; i++)
        store(&TL_DATA(k, 1, uint32_t)[i], TL_DATA(k, 0, const uint32_t)[i] + 1000);
}

/* out = in + acc; acc = 2 acc */
static void grow(const struct tl_kernel_args *k)
{
    uint32_t *acc = TL_DATA(k, 1, uint32_t), *out = TL_DATA(k, 2, uint32_t);

    for (uint32_t i = 0; i < N; i++) {
        store(&out[i], TL_DATA(k, 0, const uint32_t)[i] + acc[i]);
        store(&acc[i], 2 * acc[i]);
    }
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_FRESH, "fresh", TL_AIC, fresh, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_GROW, "grow", TL_AIV, grow, TL_IN, TL_INOUT, TL_OUT),
};

static tl_task_id task[CHAINS][LENGTH];

/* Each chain has a row of its own to grow: first a fresh row of the runtime's, then from one to the next. */
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    TL_SCOPE (o) {
        for (unsigned chain = 0; chain < CHAINS; chain++) {
            struct tl_tensor row = tl_tensor_make(TL_UINT32, 1, in->tensors[0].shape), acc = in->tensors[1 + chain];
            struct tl_task_args args = TL_TASK_ARGS_INIT;

            tl_add_input(&args, &in->tensors[0]);
            tl_add_output(&args, &row);
            task[chain][0] = tl_submit_aic(o, FUNC_FRESH, &args);
            for (unsigned i = 1; i < LENGTH; i++) {
                struct tl_tensor next = tl_tensor_make(TL_UINT32, 1, row.shape);
                struct tl_task_args more = TL_TASK_ARGS_INIT;

                tl_add_input(&more, &row);
                tl_add_inout(&more, &acc);
                tl_add_output(&more, &next);
                task[chain][i] = tl_submit_aiv(o, FUNC_GROW, &more);
                row = next;
            }
        }
    }
}

static const struct tl_program program = CAPTURE_PROGRAM("barrier", kernels, orchestrate);

static struct {
    uint32_t x[N], acc[CHAINS][N];
    struct tl_host_tensor tensors[1 + CHAINS];
} data;

static void fill(void)
{
    for (uint32_t i = 0; i < N; i++)
        data.x[i] = 100 + i;
    data.tensors[0] = capture_row("x", TL_IN, TL_UINT32, data.x, N);
    for (uint32_t chain = 0; chain < CHAINS; chain++) {
        for (uint32_t i = 0; i < N; i++)
            data.acc[chain][i] = 1 + chain + i;
        data.tensors[1 + chain] = capture_row("acc", TL_INOUT, TL_UINT32, data.acc[chain], N);
    }
}

/* What task i of a chain leaves in its output (and, from the second on, in the row that grows). */
static void want_of(unsigned chain, unsigned i, uint32_t *out, uint32_t *acc)
{
    for (uint32_t at = 0; at < N; at++) {
        out[at] = 1100 + at;
        acc[at] = 1 + chain + at;
        for (unsigned step = 0; step < i; step++) {
            out[at] += acc[at];
            acc[at] *= 2;
        }
    }
}

static void expect_all(const struct capture *c)
{
    uint32_t out[N], acc[N], acc_before[N];

    assert_int_equal(c->count, CHAINS * (2 + (LENGTH - 1) * 4));
    for (unsigned chain = 0; chain < CHAINS; chain++)
        for (unsigned i = 0; i < LENGTH; i++) {
            if (i > 0) {
                capture_payload(c, capture_get(c, task[chain][i], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, out, sizeof(out));
                want_of(chain, i - 1, out, acc_before);
                capture_payload(c, capture_get(c, task[chain][i], TL_STAGE_BEFORE, 1), TL_ROLE_INOUT, acc_before,
                                sizeof(acc_before));
            }
            want_of(chain, i, out, acc);
            if (i > 0)
                capture_payload(c, capture_get(c, task[chain][i], TL_STAGE_AFTER, 1), TL_ROLE_INOUT, acc, sizeof(acc));
            capture_payload(c, capture_get(c, task[chain][i], TL_STAGE_AFTER, i > 0 ? 2 : 1), TL_ROLE_OUTPUT, out,
                            sizeof(out));
        }
}

/* --- one seed ------------------------------------------------------------------------------------------------ */

static struct capture c;

static void body(void *arg)
{
    struct tl_worker *worker;
    struct tl_loaded *loaded;

    (void)arg;
    tl__controlled_check(capture_worker(&c, 2, 1, &program, &worker, &loaded) == 0);
    c.code =
        tl_worker_run(worker, loaded, SUBMIT_OPTS(data.tensors, 1 + CHAINS, NULL, 0, &c.config), &c.result, &c.error);
    tl_worker_close(worker);
}

static void one_seed(unsigned cell, uint64_t seed)
{
    struct tl_controlled_opts opts = {.seed = seed, .faults = "withhold_stores", .stack_bytes = 1 << 20};
    static struct tl_controlled_report report;

    fill();
    capture_begin(&c, cell, 2);
    c.config.block_dim = 2;
    c.config.aicpu_threads = 3;
    c.config.task_window = 64;
    c.config.dep_pool = 256;
    c.config.heap_bytes = 1 << 20;
    c.config.dfx_avg_bytes = 256;
    c.config.dfx_records = 8;
    if (tl__controlled_run(&opts, body, NULL, &report) != 0)
        fail_msg("%s", report.text);
    if (c.code != 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed, c.error.msg);
    assert_int_equal(report.allocs_live, 0);
    assert_true(report.faults.entries[0].fired >= CHAINS * LENGTH); /* else nothing was withheld */
    capture_open(&c);
    capture_sound(&c);
    expect_all(&c);
    capture_end(&c);
}

static void after_completion_is_what_the_kernel_wrote(void **state)
{
    (void)state;
    for (seed_now = first_seed; seed_now < first_seed + seeds; seed_now++)
        one_seed((unsigned)(seed_now % CAPTURE_CELLS), seed_now);
    seed_now = 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(after_completion_is_what_the_kernel_wrote, say_seed)};

    seeds_from(argc, argv, DEFAULT_SEEDS, true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
