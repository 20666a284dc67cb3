/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_build_graph keeps what an orchestration built: the same definition again does not orchestrate, any difference
 * does, and the values are right in either case.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/bare_device.h"

#define N 6u

enum { FUNC_SPREAD, FUNC_SUM, FUNC_LEFT, FUNC_RIGHT };

static unsigned orchestrated;

/* Block b: row[b] = x[b] + add */
static void spread(const struct tl_kernel_args *k)
{
    TL_DATA(k, 1, uint64_t)[k->block_idx] = TL_DATA(k, 0, const uint64_t)[k->block_idx] + TL_SCALAR_OF(k, 0, uint64_t);
}

/* acc += sum of the row */
static void sum(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < N; i++)
        TL_DATA(k, 1, uint64_t)[0] += TL_DATA(k, 0, const uint64_t)[i];
}

static void left(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[0] = 3;
}

static void right(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[1] = 4;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_SPREAD, "spread", TL_AIC, spread, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_SUM, "sum", TL_AIV, sum, TL_IN, TL_INOUT),
    TL_KERNEL(FUNC_LEFT, "left", TL_AIC, left, TL_INOUT),
    TL_KERNEL(FUNC_RIGHT, "right", TL_AIV, right, TL_INOUT),
};

/* Blocks, a mix, memory that no task writes first, and `params[0]` sums into one word, one after the other. */
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    uint32_t n = N, two = 2, none = 0;

    orchestrated++;
    TL_SCOPE (o) {
        struct tl_tensor pair = tl_tensor_make(TL_UINT64, 1, &two), *pairs[] = {&pair};
        struct tl_task_args both = TL_TASK_ARGS_INIT;

        tl_alloc_tensors(o, pairs, 1);
        tl_add_inout(&both, &pair);
        tl_submit_mix(o, (struct tl_mix){FUNC_LEFT, FUNC_RIGHT, -1}, &both);
        for (int64_t i = 0; i < in->params[0]; i++) {
            struct tl_task_args first = TL_TASK_ARGS_INIT, second = TL_TASK_ARGS_INIT;
            struct tl_tensor row = tl_tensor_make(TL_UINT64, 1, &n);
            uint64_t add = (uint64_t)i;

            tl_add_input(&first, &in->tensors[0]);
            tl_add_output(&first, &row);
            tl_add_scalar(&first, add);
            tl_set_block_num(&first, N);
            tl_submit_aic(o, FUNC_SPREAD, &first);
            tl_add_input(&second, &row);
            tl_add_inout(&second, &in->tensors[1]);
            tl_submit_aiv(o, FUNC_SUM, &second);
        }
        if (in->params[1]) { /* what is not submitted is not there the next time either */
            struct tl_task_args wrong = TL_TASK_ARGS_INIT;

            (void)tl_view(&in->tensors[0], &none, &two, &pair);
            tl_add_inout(&wrong, &pair);
            tl_submit_aic(o, FUNC_SUM, &wrong);
        }
    }
}

static const struct tl_program program = {.struct_size = sizeof(struct tl_program),
                                          .api_version = TL_PROGRAM_API,
                                          .name = "image",
                                          .kernels = kernels,
                                          .n_kernels = TL_ARRAY_COUNT(kernels),
                                          .orchestrate = orchestrate};

struct bench {
    struct bare_device b;
    struct tl_tensor t[2];
    uint64_t *x, *acc;
};

static void open_bench(struct bench *s)
{
    uint32_t n = N, one = 1;

    bare_open(&s->b, &(struct bare_opts){.runtime = TL_RUNTIME_HOST_BUILD, .clusters = 3, .schedulers = 2});
    s->t[0] = bare_tensor(&s->b, TL_UINT64, 1, &n);
    s->t[1] = bare_tensor(&s->b, TL_UINT64, 1, &one);
    s->x = bare_ptr(&s->b, s->t[0].buffer);
    s->acc = bare_ptr(&s->b, s->t[1].buffer);
    orchestrated = 0;
}

/* Runs with fresh data; `times`: orchestrations so far, this run included. */
static void expect_run(struct bench *s, const struct tl_program *p, int64_t sums, unsigned times)
{
    static uint64_t seed = 1;
    int64_t params[2] = {sums, 0};
    uint64_t want = 17;

    for (uint32_t i = 0; i < N; i++)
        s->x[i] = seed++;
    s->acc[0] = 17;
    for (int64_t i = 0; i < sums; i++)
        for (uint32_t k = 0; k < N; k++)
            want += s->x[k] + (uint64_t)i;
    assert_int_equal(bare_run(&s->b, p, s->t, 2, params, 2), 0);
    assert_true(s->acc[0] == want);
    assert_int_equal(tl_load_rlx(&s->b.status->submitted), 1 + 2 * (uint64_t)sums);
    assert_int_equal(tl_load_rlx(&s->b.status->retired), 1 + 2 * (uint64_t)sums);
    assert_int_equal(tl_load_rlx(&s->b.status->allocations), 1);
    assert_int_equal(orchestrated, times);
}

static void the_same_again_is_not_orchestrated(void **state)
{
    struct bench s;

    (void)state;
    open_bench(&s);
    for (int i = 0; i < 50; i++)
        expect_run(&s, &program, 40, 1);
    tl__device_forget(s.b.device);
    expect_run(&s, &program, 40, 2);
    bare_close(&s.b);
}

static void any_difference_makes_a_new_image(void **state)
{
    struct tl_program other = program;
    struct bench s;
    uint32_t one = 1;

    (void)state;
    open_bench(&s);
    expect_run(&s, &program, 4, 1);
    expect_run(&s, &program, 5, 2); /* a parameter */
    expect_run(&s, &program, 5, 2);
    s.t[1] = bare_tensor(&s.b, TL_UINT64, 1, &one); /* an address */
    s.acc = bare_ptr(&s.b, s.t[1].buffer);
    expect_run(&s, &program, 5, 3);
    s.b.launch->levels[TL_COLLECT_DUMP] = 3; /* marks are of the level */
    expect_run(&s, &program, 5, 4);
    s.b.launch->task_window[0] *= 2;
    expect_run(&s, &program, 5, 5);
    s.b.launch->dep_pool[0] *= 2;
    expect_run(&s, &program, 5, 6);
    s.b.launch->heap_bytes[0] /= 2;
    expect_run(&s, &program, 5, 7);
    expect_run(&s, &other, 5, 8);
    expect_run(&s, &other, 5, 8);
    s.b.launch->clusters = 1; /* who runs it is no part of what it is */
    s.b.launch->schedulers = 1;
    expect_run(&s, &other, 5, 8);
    s.b.launch->runtime = TL_RUNTIME_RING; /* the slots become others */
    expect_run(&s, &other, 5, 9);
    expect_run(&s, &other, 5, 10);
    s.b.launch->runtime = TL_RUNTIME_HOST_BUILD;
    expect_run(&s, &other, 5, 11);
    expect_run(&s, &other, 5, 11);
    bare_close(&s.b);
}

static void a_failed_build_is_not_kept(void **state)
{
    int64_t wrong[2] = {2, 1};
    struct bench s;

    (void)state;
    open_bench(&s);
    for (unsigned i = 1; i <= 2; i++) {
        assert_int_equal(bare_run(&s.b, &program, s.t, 2, wrong, 2), TL_EGRAPH);
        assert_int_equal(orchestrated, i);
    }
    expect_run(&s, &program, 2, 3);
    expect_run(&s, &program, 2, 3);
    bare_close(&s.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_again_is_not_orchestrated),
        cmocka_unit_test(any_difference_makes_a_new_image),
        cmocka_unit_test(a_failed_build_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
