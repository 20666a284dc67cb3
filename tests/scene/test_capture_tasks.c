/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which arguments of a task the dump visits, and how often: mixes, prefixes of a signature and slots beyond it,
 * signatures that disagree, SPMD blocks, memory of the runtime's; graphs that fail, and runs side by side. Every
 * platform, transport and runtime.
 */
#include <sched.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/error.h>

#include "base/atomic.h"
#include "support/capture.h"

#define N 16u

enum { FUNC_CUBE = 3, FUNC_VEC = 11, FUNC_VEC2 = 12, FUNC_SPREAD = 20, FUNC_STEP = 21, FUNC_COUNTED = 22 };

static void put(const struct tl_kernel_args *k, uint32_t slot, int32_t add)
{
    const int32_t *x = TL_DATA(k, 0, const int32_t);
    int32_t *out = TL_DATA(k, slot, int32_t);

    for (uint32_t i = k->block_idx; i < N; i += k->block_num)
        out[i] = x[i] + add;
}

static void cube(const struct tl_kernel_args *k)
{
    put(k, 1, 1000);
}

static void vec(const struct tl_kernel_args *k)
{
    if (k->n_tensors > 2)
        put(k, 2, 2000);
    else
        put(k, 1, 2500);
}

static void vec2(const struct tl_kernel_args *k)
{
    put(k, k->n_tensors > 3 ? 3 : 2, 3000 + TL_SCALAR_OF(k, 0, int32_t));
}

static tl_au32 steps_run;

/* Each block its own word. */
static void spread(const struct tl_kernel_args *k)
{
    TL_DATA(k, 1, int32_t)[k->block_idx] = TL_DATA(k, 0, const int32_t)[0] + (int32_t)k->block_idx;
    (void)tl_add_acq_rel(&steps_run, 1u);
}

/* y += x, and says that it ran. */
static void step(const struct tl_kernel_args *k)
{
    int32_t *y = TL_DATA(k, 1, int32_t);

    for (uint32_t i = 0; i < N; i++)
        y[i] += TL_DATA(k, 0, const int32_t)[i];
    (void)tl_add_acq_rel(&steps_run, 1u);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_CUBE, "cube", TL_AIC, cube, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_VEC, "vec", TL_AIV, vec, TL_IN, TL_OUT, TL_OUT, TL_OUT, TL_SCALAR),
    TL_KERNEL(FUNC_VEC2, "vec2", TL_AIV, vec2, TL_IN, TL_OUT, TL_OUT),
    TL_KERNEL(FUNC_SPREAD, "spread", TL_AIV, spread, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_STEP, "step", TL_AIV, step, TL_IN, TL_INOUT),
    TL_KERNEL(FUNC_COUNTED, "counted", TL_AIV, step, TL_IN, TL_INOUT, TL_SCALAR, TL_SCALAR),
};

struct rows {
    int32_t row[6][N];
};

static unsigned fill(struct rows *d, struct tl_host_tensor *t)
{
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned at = 0; at < N; at++)
            d->row[i][at] = (int32_t)(10 * i + at);
        t[i] = capture_row("row", TL_INOUT, TL_INT32, d->row[i], N);
    }
    return 6;
}

/* Row 0 as it was, plus `add`. */
static void expect_row(const struct capture *c, const struct tl_dump_record *r, enum tl_role role, int32_t add)
{
    int32_t want[N];

    for (unsigned i = 0; i < N; i++)
        want[i] = (int32_t)i + add;
    capture_payload(c, r, role, want, sizeof(want));
}

/* --- mixes ----------------------------------------------------------------------------------------------------------
 */

static tl_task_id task[8];

/* x in, the rest out, one scalar. */
static void fill_args(struct tl_task_args *args, struct tl_tensor *t, unsigned n, const int32_t *k)
{
    tl_add_input(args, &t[0]);
    for (unsigned i = 1; i < n; i++)
        tl_add_output(args, &t[i]);
    tl_add_scalar(args, *k);
}

static void submit_mixes(struct tl_orch *o, const struct tl_program_args *in)
{
    const struct tl_mix mixes[] = {
        {FUNC_CUBE, FUNC_VEC, FUNC_VEC2}, {FUNC_CUBE, -1, FUNC_VEC2}, {-1, FUNC_VEC, FUNC_VEC2}};
    const unsigned widths[] = {4, 3, 4};
    int32_t k = 9;

    for (unsigned i = 0; i < 4; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_tensor t[4] = {in->tensors[0], in->tensors[1], in->tensors[2],
                                 tl_tensor_make(TL_INT32, 1, in->tensors[0].shape)};

        fill_args(&args, t, i < 3 ? widths[i] : 2, &k);
        tl_set_block_num(&args, i == 2 ? 5 : 1); /* a mix of several blocks is no different */
        task[i] = i < 3 ? tl_submit_mix(o, mixes[i], &args) : tl_submit_aiv(o, FUNC_VEC, &args);
    }
}

static const struct tl_program mix_program = CAPTURE_PROGRAM("mixes", kernels, submit_mixes);

static void expect_mix(const struct capture *c, unsigned i, unsigned tensors, unsigned funcs, const int32_t *func)
{
    for (unsigned at = 0; at < c->count; at++) {
        const struct tl_dump_record *r = &c->records[at];

        if (r->task_id != task[i])
            continue;
        assert_int_equal(r->func_count, funcs);
        assert_memory_equal(r->func_id, func, funcs * sizeof(*func));
    }
    expect_row(c, capture_get(c, task[i], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, 0);
    capture_scalar(c, task[i], tensors, TL_INT32, 9);
    for (unsigned arg = 1; arg < tensors; arg++) /* once, not once a kernel: capture_get looks */
        assert_int_equal(capture_get(c, task[i], TL_STAGE_AFTER, arg)->role, TL_ROLE_OUTPUT);
}

/* Each tensor once, with all kernels, by the widest signature; a payload narrower than it brings what it has. */
static void a_mix_is_recorded_by_its_widest_signature(void **state)
{
    static const int32_t three[] = {FUNC_CUBE, FUNC_VEC, FUNC_VEC2}, outer[] = {FUNC_CUBE, FUNC_VEC2},
                         inner[] = {FUNC_VEC, FUNC_VEC2}, one[] = {FUNC_VEC};
    struct tl_host_tensor t[6];
    struct capture c;
    struct rows d;

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        unsigned n = fill(&d, t);

        capture_begin(&c, cell, 2);
        if (capture_run(&c, &mix_program, t, n) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.count, 5 + 4 + 5 + 3);
        expect_mix(&c, 0, 4, 3, three);
        expect_mix(&c, 1, 3, 2, outer);
        expect_mix(&c, 2, 4, 2, inner);
        expect_mix(&c, 3, 2, 1, one);
        expect_row(&c, capture_get(&c, task[0], TL_STAGE_AFTER, 1), TL_ROLE_OUTPUT, 1000);
        expect_row(&c, capture_get(&c, task[0], TL_STAGE_AFTER, 2), TL_ROLE_OUTPUT, 2000);
        expect_row(&c, capture_get(&c, task[0], TL_STAGE_AFTER, 3), TL_ROLE_OUTPUT, 3009);
        expect_row(&c, capture_get(&c, task[1], TL_STAGE_AFTER, 2), TL_ROLE_OUTPUT, 3009);
        expect_row(&c, capture_get(&c, task[2], TL_STAGE_AFTER, 3), TL_ROLE_OUTPUT, 3009);
        expect_row(&c, capture_get(&c, task[3], TL_STAGE_AFTER, 1), TL_ROLE_OUTPUT, 2500);
        assert_int_equal(capture_logged(""), 0);
        capture_end(&c);
    }
}

/* --- signatures that do not fit -------------------------------------------------------------------------------------
 */

/* Each of two kinds twice, in a chain. */
static void submit_misfits(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], y = in->tensors[1], z = in->tensors[2], w = in->tensors[3];
    int32_t k = 4;

    for (unsigned i = 0; i < 4; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        tl_add_input(&args, &x);
        tl_add_inout(&args, &y);
        if (i >= 2) {
            tl_add_output(&args, &z); /* beyond the signature of `step` and `counted` */
            tl_add_inout(&args, &w);
        }
        tl_add_scalar(&args, k);
        if (i < 2)
            task[i] = tl_submit_aic(o, FUNC_CUBE, &args); /* says OUT of slot 1 */
        else
            task[i] = tl_submit_aiv(o, i == 2 ? FUNC_STEP : FUNC_COUNTED, &args);
    }
}

static const struct tl_program misfit_program = CAPTURE_PROGRAM("misfits", kernels, submit_misfits);

static void signatures_that_do_not_fit(void **state)
{
    struct tl_host_tensor t[6];
    struct capture c;
    struct rows d;
    char first[128];

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        unsigned n = fill(&d, t);

        capture_begin(&c, cell, 2);
        if (capture_run(&c, &misfit_program, t, n) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.count, 4 * 4); /* of each: x, y twice, the scalar */
        for (unsigned i = 0; i < 4; i++) {
            int32_t y[N];

            expect_row(&c, capture_get(&c, task[i], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, 0);
            for (unsigned at = 0; at < N; at++) /* 10 + at, x + 1000 twice, then x more, twice */
                y[at] = i == 0 ? 10 + (int32_t)at : 1000 + (int32_t)at * (i == 3 ? 2 : 1);
            capture_payload(&c, capture_get(&c, task[i], TL_STAGE_BEFORE, 1), TL_ROLE_INOUT, y, sizeof(y));
            for (unsigned at = 0; at < N; at++)
                y[at] = 1000 + (int32_t)at * (int32_t)(i < 2 ? 1 : i);
            capture_payload(&c, capture_get(&c, task[i], TL_STAGE_AFTER, 1), TL_ROLE_INOUT, y, sizeof(y));
            capture_scalar(&c, task[i], i < 2 ? 2 : 4, TL_INT32, 4); /* after all tensors, recorded or not */
        }
        (void)snprintf(first, sizeof(first), "task r%ut%u, argument 1: submitted with another direction",
                       (unsigned)(task[0] >> 32), (unsigned)task[0]);
        assert_int_equal(capture_logged(first), 1);
        (void)snprintf(first, sizeof(first), "task r%ut%u has 4 tensors", (unsigned)(task[2] >> 32), (unsigned)task[2]);
        assert_int_equal(capture_logged(first), 1);
        assert_int_equal(capture_logged(""), 2); /* each once a run */
        capture_end(&c);
    }
}

/* Scalars in a signature are not visited as tensors, and take no tensor's place. */
static void submit_counted(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], y = in->tensors[1];
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    int32_t a = 6, b = 7;

    tl_add_input(&args, &x);
    tl_add_inout(&args, &y);
    tl_add_scalar(&args, a);
    tl_add_scalar(&args, b);
    task[0] = tl_submit_aiv(o, FUNC_COUNTED, &args);
}

static const struct tl_program counted_program = CAPTURE_PROGRAM("counted", kernels, submit_counted);

static void scalars_in_a_signature(void **state)
{
    struct tl_host_tensor t[6];
    struct capture c;
    struct rows d;

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        unsigned n = fill(&d, t);

        capture_begin(&c, cell, 2);
        assert_int_equal(capture_run(&c, &counted_program, t, n), 0);
        capture_sound(&c);
        assert_int_equal(c.count, 5);
        expect_row(&c, capture_get(&c, task[0], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, 0);
        expect_row(&c, capture_get(&c, task[0], TL_STAGE_BEFORE, 1), TL_ROLE_INOUT, 10);
        capture_payload(&c, capture_get(&c, task[0], TL_STAGE_AFTER, 1), TL_ROLE_INOUT, d.row[1], sizeof(d.row[1]));
        capture_scalar(&c, task[0], 2, TL_INT32, 6);
        capture_scalar(&c, task[0], 3, TL_INT32, 7);
        assert_int_equal(capture_logged(""), 0);
        capture_end(&c);
    }
}

/* --- SPMD, and memory of the runtime's ------------------------------------------------------------------------------
 */

#define WIDE 300u /* more blocks than any chip here has cores */

static const uint32_t few = 5, wide = WIDE;

static void submit_blocks(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], small = tl_tensor_make(TL_INT32, 1, &few);
    struct tl_tensor a = tl_tensor_make(TL_INT32, 1, &wide), b = tl_tensor_make(TL_INT32, 1, &wide), *both[] = {&a, &b};
    struct tl_task_args args[3] = {TL_TASK_ARGS_INIT, TL_TASK_ARGS_INIT, TL_TASK_ARGS_INIT};

    TL_SCOPE (o) {
        tl_add_input(&args[0], &x);
        tl_add_output(&args[0], &small);
        tl_set_block_num(&args[0], few);
        task[0] = tl_submit_aiv(o, FUNC_SPREAD, &args[0]);
        task[1] = tl_alloc_tensors(o, both, 2);
        tl_add_input(&args[1], &small);
        tl_add_output(&args[1], &a);
        tl_set_block_num(&args[1], wide);
        tl_dump(&args[1]);
        task[2] = tl_submit_aiv(o, FUNC_SPREAD, &args[1]);
        tl_add_input(&args[2], &a);
        tl_add_output(&args[2], &b);
        tl_set_block_num(&args[2], wide);
        task[3] = tl_submit_aiv(o, FUNC_SPREAD, &args[2]);
    }
}

static const struct tl_program block_program = CAPTURE_PROGRAM("blocks", kernels, submit_blocks);

/* A task of many blocks is one task: its inputs once before the first block, its outputs once after the last. */
static void blocks_and_allocated_memory(void **state)
{
    int32_t want[WIDE];
    struct tl_host_tensor t[6];
    struct capture c;
    struct rows d;

    (void)state;
    for (unsigned i = 0; i < WIDE; i++)
        want[i] = 40 + (int32_t)i;
    for (unsigned i = 0; i < CAPTURE_CELLS * 2; i++) {
        bool marked = i % 2;
        unsigned n = fill(&d, t);

        d.row[0][0] = 40;
        capture_begin(&c, i / 2, marked ? 1 : 2);
        if (capture_run(&c, &block_program, t, n) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.result.tasks, 3);
        assert_int_equal(c.result.allocations, 1);
        assert_int_equal(c.count, marked ? 2 : 6);
        assert_null(capture_find(&c, task[1], TL_STAGE_AFTER, 0)); /* runs nothing: has no arguments */
        capture_payload(&c, capture_get(&c, task[2], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, want, few * sizeof(*want));
        capture_payload(&c, capture_get(&c, task[2], TL_STAGE_AFTER, 1), TL_ROLE_OUTPUT, want, sizeof(want));
        if (!marked) {
            capture_payload(&c, capture_get(&c, task[0], TL_STAGE_AFTER, 1), TL_ROLE_OUTPUT, want, few * sizeof(*want));
            capture_payload(&c, capture_get(&c, task[3], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, want, sizeof(want));
            capture_payload(&c, capture_get(&c, task[3], TL_STAGE_AFTER, 1), TL_ROLE_OUTPUT, want, sizeof(want));
        }
        capture_end(&c);
    }
}

/* --- a graph that fails -------------------------------------------------------------------------------------- */

#define CHAIN 3u

static bool wait_for_steps;
static unsigned fault;
static tl_task_id after_failure;

static void submit_step(struct tl_orch *o, const struct tl_program_args *in, unsigned i)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, &in->tensors[0]);
    tl_add_inout(&args, &in->tensors[1]);
    task[i] = tl_submit_aiv(o, FUNC_STEP, &args);
}

static void submit_and_fail(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    for (unsigned i = 0; i < CHAIN; i++)
        submit_step(o, in, i);
    while (wait_for_steps && tl_load_acq(&steps_run) < CHAIN)
        sched_yield();
    if (fault == 0)
        tl_orch_fail(o, "this shape is not supported");
    else
        (void)tl_submit_aiv(o, 999, &args);
    after_failure = tl_submit_aiv(o, FUNC_STEP, &args);
}

static const struct tl_program fail_program = CAPTURE_PROGRAM("fails", kernels, submit_and_fail);

/* What ran before the error is recorded as in a good run; a graph that is built first has run nothing. */
static void a_graph_that_fails(void **state)
{
    static const char *const messages[] = {"this shape is not supported", "no kernel with func_id 999"};
    struct tl_host_tensor t[6];
    struct capture c;
    struct rows d;

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * 2; i++) {
        bool ring = strcmp(capture_cells[i / 2].runtime, "host_build_graph") != 0;
        unsigned n = fill(&d, t);

        fault = i % 2;
        wait_for_steps = ring;
        tl_store_rel(&steps_run, 0u);
        capture_begin(&c, i / 2, 2);
        assert_int_equal(capture_run(&c, &fail_program, t, n), TL_EGRAPH);
        assert_int_equal(c.result.run_code, TL_EGRAPH);
        assert_true(after_failure == TL_NO_TASK);
        assert_non_null(strstr(c.error.msg, messages[fault]));
        capture_sound(&c);
        assert_int_equal(c.count, ring ? CHAIN * 3 : 0);
        for (unsigned k = 0; k < CHAIN && ring; k++) {
            int32_t y[2][N];

            for (unsigned at = 0; at < N; at++) {
                y[0][at] = (int32_t)(10 + at + k * at);
                y[1][at] = (int32_t)(10 + at + (k + 1) * at);
            }
            expect_row(&c, capture_get(&c, task[k], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, 0);
            capture_payload(&c, capture_get(&c, task[k], TL_STAGE_BEFORE, 1), TL_ROLE_INOUT, y[0], sizeof(y[0]));
            capture_payload(&c, capture_get(&c, task[k], TL_STAGE_AFTER, 1), TL_ROLE_INOUT, y[1], sizeof(y[1]));
        }
        capture_end(&c);
    }
}

/* Tasks that can all run at once, and some of which have not when the graph fails. */
static void submit_abreast_and_fail(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor out[40];

    for (unsigned i = 0; i < 40; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        out[i] = tl_tensor_make(TL_INT32, 1, in->tensors[0].shape);
        tl_add_input(&args, &in->tensors[0]);
        tl_add_output(&args, &out[i]);
        task[i % 8] = tl_submit_aiv(o, FUNC_SPREAD, &args);
    }
    tl_orch_fail(o, "forty are enough");
}

static const struct tl_program abreast_program = CAPTURE_PROGRAM("abreast", kernels, submit_abreast_and_fail);

/* What a failed graph left undone stays undone: none of its tasks runs in the chip's next run. */
static void nothing_of_it_runs_later(void **state)
{
    struct tl_host_tensor t[6];
    struct capture c;
    struct rows d;

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * 4; i++) {
        unsigned n = fill(&d, t);

        capture_begin(&c, i / 4, i % 4 < 2 ? 0 : 2);
        assert_int_equal(capture_run(&c, &abreast_program, t, n), TL_EGRAPH);
        capture_sound(&c);
        capture_end(&c);
        tl_store_rel(&steps_run, 0u);
        n = fill(&d, t);
        capture_begin(&c, i / 4, 2);
        assert_int_equal(capture_run(&c, &counted_program, t, n), 0);
        assert_int_equal(tl_load_acq(&steps_run), 1);
        assert_int_equal(c.result.tasks, 1);
        capture_sound(&c);
        assert_int_equal(c.count, 5);
        capture_payload(&c, capture_get(&c, task[0], TL_STAGE_AFTER, 1), TL_ROLE_INOUT, d.row[1], sizeof(d.row[1]));
        capture_end(&c);
    }
}

/* --- runs side by side ----------------------------------------------------------------------------------------------
 */

#define RUNS 5u /* four of them recorded: as many as may be open at once */

/* Several runs are under way at once, each with its level and its values; they are waited for in either order. */
static void runs_side_by_side(void **state)
{
    static const int levels[RUNS] = {2, 0, 3, 1, 2};
    static struct rows d[RUNS];
    struct tl_host_tensor t[RUNS][6];
    struct capture c[RUNS];
    const tl_task_id only = 0; /* each run's one task; `task` is the next run's to write meanwhile */

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * 2; i++) {
        for (unsigned run = 0; run < RUNS; run++) {
            unsigned n = fill(&d[run], t[run]);

            d[run].row[0][3] = (int32_t)(7000 + run);
            capture_begin(&c[run], i / 2, levels[run]);
            capture_submit(&c[run], &counted_program, t[run], n);
        }
        for (unsigned k = 0; k < RUNS; k++) {
            unsigned run = i % 2 ? RUNS - 1 - k : k;
            const struct capture *at = &c[run];

            assert_int_equal(capture_wait(&c[run]), 0);
            assert_int_equal(d[run].row[1][3], 7013 + run);
            capture_sound(at);
            assert_int_equal(at->count, levels[run] >= 2 ? 5 : 0);
            if (levels[run] < 2)
                continue;
            capture_payload(at, capture_get(at, only, TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, d[run].row[0],
                            levels[run] == 2 ? sizeof(d[run].row[0]) : 0);
            capture_payload(at, capture_get(at, only, TL_STAGE_AFTER, 1), TL_ROLE_INOUT, d[run].row[1],
                            levels[run] == 2 ? sizeof(d[run].row[1]) : 0);
        }
        for (unsigned run = 0; run < RUNS; run++)
            capture_end(&c[run]);
    }
}

static int close_chips(void **state)
{
    (void)state;
    capture_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mix_is_recorded_by_its_widest_signature),
        cmocka_unit_test(signatures_that_do_not_fit),
        cmocka_unit_test(scalars_in_a_signature),
        cmocka_unit_test(blocks_and_allocated_memory),
        cmocka_unit_test(a_graph_that_fails),
        cmocka_unit_test(nothing_of_it_runs_later),
        cmocka_unit_test(runs_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, close_chips);
}
