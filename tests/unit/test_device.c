/* SPDX-License-Identifier: Apache-2.0 */
/* The device room without a host: values under any number of threads, both runtimes, tight rings; and its messages. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/log.h"
#include "support/bare_device.h"

enum { FUNC_MIX_IN, FUNC_STEP, FUNC_BLOCKS, FUNC_CUBE, FUNC_HALF, FUNC_COUNT };

/* y = 3 y + x: order matters, so a missing dependency shows. */
static void mix_in(const struct tl_kernel_args *k)
{
    const uint64_t *x = TL_DATA(k, 0, const uint64_t);
    uint64_t *y = TL_DATA(k, 1, uint64_t);

    y[0] = 3 * y[0] + x[0] + TL_SCALAR_OF(k, 0, uint64_t);
}

static void step(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[0]++;
}

static void blocks(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[k->block_idx] += 1 + k->block_num;
}

/* The three subtasks of a mix write their own element. */
static void cube(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[3 * k->block_idx] = 100;
}

static void half(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[3 * k->block_idx + 1 + k->lane] = 200 + k->lane;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_MIX_IN, "mix_in", TL_AIV, mix_in, TL_IN, TL_INOUT),
    TL_KERNEL(FUNC_STEP, "step", TL_AIV, step, TL_INOUT),
    TL_KERNEL(FUNC_BLOCKS, "blocks", TL_AIV, blocks, TL_INOUT),
    TL_KERNEL(FUNC_CUBE, "cube", TL_AIC, cube, TL_INOUT),
    TL_KERNEL(FUNC_HALF, "half", TL_AIV, half, TL_INOUT),
};

static struct tl_program program_of(void (*orchestrate)(struct tl_orch *, const struct tl_program_args *))
{
    struct tl_program p = {.struct_size = sizeof(p),
                           .api_version = TL_PROGRAM_API,
                           .name = "test",
                           .kernels = kernels,
                           .n_kernels = TL_ARRAY_COUNT(kernels),
                           .orchestrate = orchestrate};
    return p;
}

static struct tl_tensor words(struct bare_device *b, uint32_t n)
{
    return bare_tensor(b, TL_UINT64, 1, &n);
}

/* --- random graphs -------------------------------------------------------------------------------------------- */

#define CELLS 12u

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* params: seed, tasks. The same walk as expect_random. */
static void orchestrate_random(struct tl_orch *o, const struct tl_program_args *in)
{
    uint64_t state = (uint64_t)in->params[0];

    for (int64_t i = 0; i < in->params[1]; i++) {
        uint64_t r = next_random(&state), add = r >> 40;
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_tensor x = in->tensors[0], y = in->tensors[0];
        uint32_t from = (uint32_t)(r % CELLS), to = (uint32_t)(r / CELLS % CELLS), one = 1;

        if (from == to)
            to = (to + 1) % CELLS;
        assert_int_equal(tl_view(&in->tensors[0], &from, &one, &x), 0);
        assert_int_equal(tl_view(&in->tensors[0], &to, &one, &y), 0);
        TL_SCOPE (o) {
            tl_add_input(&args, &x);
            tl_add_inout(&args, &y);
            tl_add_scalar(&args, add);
            tl_submit_aiv(o, FUNC_MIX_IN, &args);
        }
    }
}

static void expect_random(uint64_t *cells, uint64_t seed, int64_t tasks)
{
    uint64_t state = seed;

    for (int64_t i = 0; i < tasks; i++) {
        uint64_t r = next_random(&state), from = r % CELLS, to = r / CELLS % CELLS;

        if (from == to)
            to = (to + 1) % CELLS;
        cells[to] = 3 * cells[to] + cells[from] + (r >> 40);
    }
}

static void check_random(const struct bare_opts *opts, int64_t tasks)
{
    struct tl_program program = program_of(orchestrate_random);
    struct bare_device b;
    struct tl_tensor t;
    uint64_t want[CELLS];

    bare_open(&b, opts);
    t = words(&b, CELLS);
    for (int64_t seed = 1; seed <= 20; seed++) {
        int64_t params[] = {seed, tasks};
        uint64_t *have = bare_ptr(&b, t.buffer);

        for (unsigned i = 0; i < CELLS; i++)
            want[i] = have[i] = i;
        expect_random(want, (uint64_t)seed, tasks);
        assert_int_equal(bare_run(&b, &program, &t, 1, params, 2), 0);
        assert_memory_equal(have, want, sizeof(want));
        assert_int_equal(b.status->submitted, tasks);
        assert_int_equal(b.status->retired, tasks);
        assert_int_equal(b.status->state, TL_RUN_DONE);
    }
    bare_close(&b);
}

static void random_graphs_give_serial_values(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++)
        check_random(&(struct bare_opts){.threads = threads}, 500);
    check_random(&(struct bare_opts){.threads = 2, .arch = "a5"}, 500);
}

static void tight_rings_give_serial_values(void **state)
{
    (void)state;
    check_random(&(struct bare_opts){.threads = 2, .task_window = 4, .dep_pool = 64}, 500);
    check_random(&(struct bare_opts){.threads = 1, .task_window = 2, .dep_pool = 64}, 200);
    check_random(&(struct bare_opts){.threads = 2, .dep_pool = 1}, 500);
    check_random(&(struct bare_opts){.threads = 1, .task_window = 64, .dep_pool = 3}, 200);
    check_random(&(struct bare_opts){.threads = 2, .clusters = 1, .schedulers = 1}, 500);
}

static void an_image_gives_serial_values(void **state)
{
    (void)state;
    check_random(&(struct bare_opts){.threads = 2, .runtime = TL_RUNTIME_HOST_BUILD}, 500);
}

/* --- shapes ---------------------------------------------------------------------------------------------------- */

static void orchestrate_blocks(struct tl_orch *o, const struct tl_program_args *in)
{
    for (int i = 0; i < 2; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        tl_add_inout(&args, &in->tensors[0]);
        tl_set_block_num(&args, (uint32_t)in->params[0]);
        tl_submit_aiv(o, FUNC_BLOCKS, &args);
    }
}

static void each_block_runs_once(void **state)
{
    static const int64_t counts[] = {1, 5, 48, 49, 300};
    struct tl_program program = program_of(orchestrate_blocks);
    struct bare_device b;
    struct tl_tensor t;

    (void)state;
    bare_open(&b, &(struct bare_opts){.threads = 2});
    t = words(&b, 300);
    for (unsigned i = 0; i < TL_ARRAY_COUNT(counts); i++) {
        uint64_t *have = bare_ptr(&b, t.buffer);

        memset(have, 0, 300 * sizeof(*have));
        assert_int_equal(bare_run(&b, &program, &t, 1, &counts[i], 1), 0);
        for (int64_t k = 0; k < 300; k++)
            assert_int_equal(have[k], k < counts[i] ? 2 * (1 + counts[i]) : 0);
    }
    bare_close(&b);
}

static void orchestrate_mix(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_inout(&args, &in->tensors[0]);
    tl_set_block_num(&args, 40);
    tl_submit_mix(o, (struct tl_mix){FUNC_CUBE, FUNC_HALF, FUNC_HALF}, &args);
}

static void a_mix_runs_each_subtask_on_its_core(void **state)
{
    struct tl_program program = program_of(orchestrate_mix);
    struct bare_device b;
    struct tl_tensor t;

    (void)state;
    bare_open(&b, &(struct bare_opts){.threads = 2});
    t = words(&b, 120);
    assert_int_equal(bare_run(&b, &program, &t, 1, NULL, 0), 0);
    for (unsigned i = 0; i < 120; i++) {
        static const uint64_t want[] = {100, 200, 201};

        assert_int_equal(((uint64_t *)bare_ptr(&b, t.buffer))[i], want[i % 3]);
    }
    bare_close(&b);
}

/* --- the cores of a cluster ------------------------------------------------------------------------------------------ */

#define ONE_AIV_CLUSTERS 3u

/* No chip that exists: its clusters have one AIV. */
static const struct tl_arch one_aiv = {.name = "one_aiv",
                                       .clusters = ONE_AIV_CLUSTERS,
                                       .cluster_aics = 1,
                                       .cluster_aivs = 1,
                                       .aicpu_threads = 3,
                                       .clock_hz = 50000000};

/* Which core ran each block. */
static void core_id(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[k->block_idx] = k->core;
}

static const struct tl_kernel id_kernels[] = {
    TL_KERNEL(FUNC_CUBE, "aic_id", TL_AIC, core_id, TL_INOUT),
    TL_KERNEL(FUNC_HALF, "aiv_id", TL_AIV, core_id, TL_INOUT),
};

/* params: the mix's three kernels, -1 for none. */
static void orchestrate_mix_of(struct tl_orch *o, const struct tl_program_args *in)
{
    const struct tl_mix mix = {(int32_t)in->params[0], (int32_t)in->params[1], (int32_t)in->params[2]};
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_inout(&args, &in->tensors[0]);
    tl_set_block_num(&args, 40);
    tl_submit_mix(o, mix, &args);
}

static void cores_are_those_of_the_chips_clusters(void **state)
{
    static const int64_t aic[] = {FUNC_CUBE, -1, -1}, aiv1_alone[] = {-1, -1, FUNC_HALF};
    static const int64_t fits[] = {FUNC_CUBE, FUNC_HALF, -1}, too_wide[] = {FUNC_CUBE, -1, FUNC_HALF};
    const struct bare_opts opts = {.threads = 2, .chip = &one_aiv};
    struct tl_program program = program_of(orchestrate_mix_of);
    struct bare_device b;
    struct tl_tensor t;
    uint64_t *have;

    (void)state;
    check_random(&opts, 200);
    bare_open(&b, &opts);
    t = words(&b, 120);
    have = bare_ptr(&b, t.buffer);
    assert_int_equal(bare_run(&b, &program, &t, 1, fits, 3), 0);
    for (unsigned i = 0; i < 120; i++) {
        static const uint64_t want[] = {100, 200, 0};

        assert_int_equal(have[i], want[i % 3]);
    }
    assert_int_equal(bare_run(&b, &program, &t, 1, too_wide, 3), TL_EGRAPH);
    assert_non_null(strstr(b.status->message,
                           "kernel \"half\" was submitted to AIV1; a cluster of one_aiv has 1 AIC and "
                           "1 AIV"));
    program.kernels = id_kernels;
    program.n_kernels = TL_ARRAY_COUNT(id_kernels);
    assert_int_equal(bare_run(&b, &program, &t, 1, aic, 3), 0);
    for (unsigned i = 0; i < 40; i++)
        assert_true(have[i] < ONE_AIV_CLUSTERS);
    assert_int_equal(bare_run(&b, &program, &t, 1, aiv1_alone, 3), 0);
    for (unsigned i = 0; i < 40; i++)
        assert_in_range(have[i], ONE_AIV_CLUSTERS, 2 * ONE_AIV_CLUSTERS - 1);
    bare_close(&b);
}

/* Runtime-allocated tensors, reused through a small heap, in nested scopes. */
static void orchestrate_heap(struct tl_orch *o, const struct tl_program_args *in)
{
    for (int i = 0; i < 200; i++) {
        TL_SCOPE (o) {
            uint32_t n = 512;
            struct tl_tensor scratch = tl_tensor_make(TL_UINT64, 1, &n), *list[] = {&scratch};
            struct tl_task_args first = TL_TASK_ARGS_INIT, second = TL_TASK_ARGS_INIT;
            uint64_t add = 1;

            tl_alloc_tensors(o, list, 1);
            tl_add_inout(&first, &scratch);
            tl_submit_aiv(o, FUNC_STEP, &first);
            tl_add_input(&second, &scratch);
            tl_add_inout(&second, &in->tensors[0]);
            tl_add_scalar(&second, add);
            tl_submit_aiv(o, FUNC_MIX_IN, &second);
        }
    }
}

static void a_small_heap_is_recycled(void **state)
{
    struct tl_program program = program_of(orchestrate_heap);
    struct bare_device b;
    struct tl_tensor t;

    (void)state;
    bare_open(&b, &(struct bare_opts){.threads = 2, .heap_bytes = 16384});
    t = words(&b, 1);
    assert_int_equal(bare_run(&b, &program, &t, 1, NULL, 0), 0);
    assert_int_equal(b.status->submitted, 400);
    assert_int_equal(b.status->retired, 400);
    assert_int_equal(b.status->allocations, 200);
    bare_close(&b);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static void orchestrate_no_kernel(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_inout(&args, &in->tensors[0]);
    assert_int_equal(tl_submit_aiv(o, 77, &args), TL_NO_TASK);
    assert_int_equal(tl_orch_error(o), TL_EGRAPH);
}

static void orchestrate_wrong_core(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_inout(&args, &in->tensors[0]);
    tl_submit_aic(o, FUNC_STEP, &args);
}

/* One scope holds more tasks than the window has slots: nothing can ever be taken back. */
static void orchestrate_deadlock(struct tl_orch *o, const struct tl_program_args *in)
{
    TL_SCOPE (o) {
        for (int i = 0; i < 9; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;

            tl_add_inout(&args, &in->tensors[0]);
            tl_submit_aiv(o, FUNC_STEP, &args);
        }
    }
}

static void orchestrate_gives_up(struct tl_orch *o, const struct tl_program_args *in)
{
    (void)in;
    tl_orch_fail(o, "this program wants an even size");
}

static void a_wrong_graph_ends_the_run_with_a_line(void **state)
{
    static const struct {
        void (*orchestrate)(struct tl_orch *, const struct tl_program_args *);
        int code;
        const char *says[3];
    } cases[] = {
        {orchestrate_no_kernel, TL_EGRAPH, {"func_id 77", "add it to its table"}},
        {orchestrate_wrong_core, TL_EGRAPH, {"\"step\" runs on AIV", "submitted to AIC"}},
        {orchestrate_deadlock, TL_EDEADLOCK, {"--task-window", "8"}},
        {orchestrate_gives_up, TL_EGRAPH, {"this program wants an even size"}},
    };
    struct bare_device b;
    struct tl_tensor t;

    (void)state;
    bare_open(&b, &(struct bare_opts){.threads = 2, .task_window = 8});
    t = words(&b, 1);
    for (unsigned i = 0; i < TL_ARRAY_COUNT(cases); i++) {
        struct tl_program program = program_of(cases[i].orchestrate);

        assert_int_equal(bare_run(&b, &program, &t, 1, NULL, 0), cases[i].code);
        for (unsigned k = 0; k < 3 && cases[i].says[k] != NULL; k++)
            if (strstr(b.status->message, cases[i].says[k]) == NULL)
                fail_msg("\"%s\" does not say \"%s\"", b.status->message, cases[i].says[k]);
    }
    bare_close(&b);
    /* And the device is good for the next run. */
    random_graphs_give_serial_values(state);
}

/* --- hangs ---------------------------------------------------------------------------------------------------------
 */

static tl_au32 release;

/* Never returns while the test looks. */
static void spin(const struct tl_kernel_args *k)
{
    (void)k;
    while (tl_load_acq(&release) == 0) /* pairs with the test's store */
        tl__relax();
}

static const struct tl_kernel spin_kernels[] = {
    TL_KERNEL(FUNC_STEP, "step", TL_AIV, step, TL_INOUT),
    TL_KERNEL(FUNC_CUBE, "spin", TL_AIC, spin, TL_INOUT),
};

/* step, spin, step over one word: the last waits for ever. */
static void orchestrate_spin(struct tl_orch *o, const struct tl_program_args *in)
{
    static const int32_t funcs[] = {FUNC_STEP, FUNC_CUBE, FUNC_STEP};

    for (int i = 0; i < 3; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        int32_t seven = 7;

        tl_add_inout(&args, &in->tensors[0]);
        tl_add_scalar(&args, seven);
        if (funcs[i] == FUNC_CUBE)
            tl_submit_aic(o, funcs[i], &args);
        else
            tl_submit_aiv(o, funcs[i], &args);
    }
}

struct hang_run {
    struct bare_device b;
    struct tl_program program;
    struct tl_tensor t;
};

static void hang_main(void *arg)
{
    struct hang_run *h = arg;

    (void)bare_run(&h->b, &h->program, &h->t, 1, NULL, 0);
}

static char stall_log[4096];

static void keep_line(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    strncat(stall_log, line, sizeof(stall_log) - strlen(stall_log) - 1);
    strncat(stall_log, "\n", sizeof(stall_log) - strlen(stall_log) - 1);
}

/* As a host waits: on the run bell, at most 10 s. */
static void wait_for_end(struct bare_device *b)
{
    uint64_t deadline = tl__now_ns() + UINT64_C(10000000000);
    uint32_t ticket = tl__bell_arm(&b->bells->run);
    int r = 0;

    while (tl_load_acq(&b->status->state) != TL_RUN_DONE && r == 0) { /* pairs with R7 */
        r = tl__bell_sleep(&b->bells->run, ticket, deadline);
        ticket = tl_load_acq(&b->bells->run.seq);
    }
    tl__bell_disarm(&b->bells->run);
}

static void check_hang(unsigned threads)
{
    struct hang_run h = {.program = program_of(orchestrate_spin)};
    struct tl_thread *thread;

    h.program.kernels = spin_kernels;
    h.program.n_kernels = TL_ARRAY_COUNT(spin_kernels);
    stall_log[0] = '\0';
    tl_store_rel(&release, 0u);
    bare_open(&h.b, &(struct bare_opts){.threads = threads, .scheduler_timeout_ms = 1000});
    h.t = words(&h.b, 1);
    tl_log_set_sink(keep_line, NULL);
    assert_int_equal(tl__spawn("hang", hang_main, &h, &thread), 0);
    wait_for_end(&h.b);
    assert_int_equal(tl_load_acq(&h.b.status->state), TL_RUN_DONE); /* although every thread may be in the kernel */
    assert_int_equal(-(int)tl_load_rlx(&h.b.status->code), TL_EHANG);
    assert_non_null(strstr(h.b.status->message, "2 of 3 tasks unfinished: task r0t1"));
    /* Which scheduler took it, and so which core, is free. */
    if (strstr(stall_log, "\"spin\" RUNNING on AIC core ") == NULL ||
        strstr(stall_log, ": its kernel does not return; args: 0 inout uint64[1], 1 int32 0x7") == NULL ||
        strstr(stall_log, "task r0t2 \"step\" WAITING for r0t1") == NULL)
        fail_msg("the log says \"%s\"", stall_log);
    tl_store_rel(&release, 1u); /* pairs with the kernel's load */
    tl__join(thread);
    tl_log_set_sink(NULL, NULL);
    bare_close(&h.b);
}

static void a_kernel_that_spins_is_reported(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++)
        check_hang(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_give_serial_values),       cmocka_unit_test(tight_rings_give_serial_values),
        cmocka_unit_test(an_image_gives_serial_values),           cmocka_unit_test(each_block_runs_once),
        cmocka_unit_test(a_mix_runs_each_subtask_on_its_core),    cmocka_unit_test(a_small_heap_is_recycled),
        cmocka_unit_test(a_wrong_graph_ends_the_run_with_a_line), cmocka_unit_test(a_kernel_that_spins_is_reported),
        cmocka_unit_test(cores_are_those_of_the_chips_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
