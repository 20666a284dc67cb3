/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's roles under orders that a seed chooses: random graphs through tight rings give the values of a serial
 * walk, nothing hangs, nothing leaks. Usage: test [FIRST_SEED [SEEDS]]; a seed that fails is printed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/env_controlled.h"
#include "support/bare_device.h"

#define CELLS 6u
#define TASKS 40
#define DEFAULT_SEEDS 400u

enum { FUNC_MIX_IN, FUNC_SPREAD };

struct scene {
    struct bare_opts opts;
    uint64_t seed;
};

/* y = 3 y + x: order matters, so a missing dependency shows. */
static void mix_in(const struct tl_kernel_args *k)
{
    uint64_t x = TL_DATA(k, 0, const uint64_t)[0], *y = TL_DATA(k, 1, uint64_t), old = y[0];

    for (int i = 0; i < 4; i++)
        TL__POINT(); /* others may run between its load and its store */
    y[0] = 3 * old + x + TL_SCALAR_OF(k, 0, uint64_t);
}

/* Each block writes its own word of a runtime-allocated row. */
static void spread(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[k->block_idx] = TL_DATA(k, 1, const uint64_t)[0] + k->block_idx;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_MIX_IN, "mix_in", TL_AIV, mix_in, TL_IN, TL_INOUT),
    TL_KERNEL(FUNC_SPREAD, "spread", TL_AIC, spread, TL_OUT, TL_IN),
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 24;
}

static void submit_mix_in(struct tl_orch *o, const struct tl_tensor *x, const struct tl_tensor *y, uint64_t add)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, x);
    tl_add_inout(&args, y);
    tl_add_scalar(&args, add);
    tl_submit_aiv(o, FUNC_MIX_IN, &args);
}

/* cells[to] takes in cells[from], every fourth time through a row that the runtime allocates. */
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    uint64_t state = (uint64_t)in->params[0];

    for (int i = 0; i < TASKS; i++) {
        uint64_t r = next_random(&state);
        uint32_t from = (uint32_t)(r % CELLS), to = (from + 1 + (uint32_t)(r / CELLS % (CELLS - 1))) % CELLS, one = 1;
        struct tl_tensor x, y;

        (void)tl_view(&in->tensors[0], &from, &one, &x);
        (void)tl_view(&in->tensors[0], &to, &one, &y);
        TL_SCOPE (o) {
            if (r >> 8 & 3u) {
                submit_mix_in(o, &x, &y, r & 7u);
            } else {
                struct tl_task_args args = TL_TASK_ARGS_INIT;
                uint32_t n = 5, last = 4;
                struct tl_tensor row = tl_tensor_make(TL_UINT64, 1, &n), word;

                tl_add_output(&args, &row);
                tl_add_input(&args, &x);
                tl_set_block_num(&args, n);
                tl_submit_aic(o, FUNC_SPREAD, &args);
                (void)tl_view(&row, &last, &one, &word);
                submit_mix_in(o, &word, &y, r & 7u);
            }
        }
    }
}

static void expect(uint64_t *cells, uint64_t seed)
{
    uint64_t state = seed;

    for (int i = 0; i < TASKS; i++) {
        uint64_t r = next_random(&state), from = r % CELLS, to = (from + 1 + r / CELLS % (CELLS - 1)) % CELLS;
        uint64_t x = r >> 8 & 3u ? cells[from] : cells[from] + 4;

        cells[to] = 3 * cells[to] + x + (r & 7u);
    }
}

static void body(void *arg)
{
    const struct scene *scene = arg;
    struct tl_program program = {.struct_size = sizeof(program),
                                 .api_version = TL_PROGRAM_API,
                                 .name = "order",
                                 .kernels = kernels,
                                 .n_kernels = TL_ARRAY_COUNT(kernels),
                                 .orchestrate = orchestrate};
    struct bare_device b;
    uint64_t want[CELLS] = {0}, *have;
    uint32_t n = CELLS;
    struct tl_tensor cells;

    bare_open(&b, &scene->opts);
    cells = bare_tensor(&b, TL_UINT64, 1, &n);
    have = bare_ptr(&b, cells.buffer);
    for (int run = 0; run < 2; run++) {
        int64_t seed = (int64_t)(scene->seed + (uint64_t)run);

        tl__controlled_check(bare_run(&b, &program, &cells, 1, &seed, 1) == 0);
        expect(want, (uint64_t)seed);
        tl__controlled_check(memcmp(have, want, sizeof(want)) == 0);
        tl__controlled_check(tl_load_rlx(&b.status->retired) == tl_load_rlx(&b.status->submitted));
    }
    bare_close(&b);
}

static uint64_t first_seed = 1, seeds = DEFAULT_SEEDS;

static void sweep(const struct bare_opts *opts)
{
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct scene scene = {.opts = *opts, .seed = seed};
        struct tl_controlled_opts controlled = {.seed = seed};
        struct tl_controlled_report report;

        if (tl__controlled_run(&controlled, body, &scene, &report) != 0)
            fail_msg("%s", report.text);
        assert_int_equal(report.allocs_live, 0);
    }
}

static void rings_that_hold_everything_run_in_any_order(void **state)
{
    (void)state;
    sweep(&(struct bare_opts){.threads = 3, .clusters = 2, .schedulers = 2});
}

static void tight_rings_run_in_any_order(void **state)
{
    (void)state;
    sweep(&(struct bare_opts){
        .threads = 2, .clusters = 1, .schedulers = 1, .task_window = 4, .dep_pool = 16, .heap_bytes = 4096});
}

/* All must be complete before a task that asks for more than there is. */
static void a_pool_for_what_is_retained(void **state)
{
    (void)state;
    sweep(&(struct bare_opts){.threads = 3, .clusters = 2, .schedulers = 2, .task_window = 16, .dep_pool = 1});
}

static void one_thread_runs_every_role(void **state)
{
    (void)state;
    sweep(&(struct bare_opts){.threads = 1, .clusters = 3, .schedulers = 3, .task_window = 8, .dep_pool = 32});
}

static void an_image_runs_in_any_order(void **state)
{
    (void)state;
    sweep(&(struct bare_opts){.threads = 3, .clusters = 2, .schedulers = 2, .runtime = TL_RUNTIME_HOST_BUILD});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_that_hold_everything_run_in_any_order),
        cmocka_unit_test(tight_rings_run_in_any_order),
        cmocka_unit_test(a_pool_for_what_is_retained),
        cmocka_unit_test(one_thread_runs_every_role),
        cmocka_unit_test(an_image_runs_in_any_order),
    };

    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        seeds = strtoull(argv[2], NULL, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
