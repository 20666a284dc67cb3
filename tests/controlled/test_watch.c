/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run whose kernels take as long as the watch sleeps, so that it steps the schedulers whenever one ends, before or
 * after or while the other threads look and go to sleep, and now and then stops in the middle of a step, as on a
 * machine with more to do: nothing that it found is left lying. And an orchestration that computes for long: what was
 * submitted is done meanwhile. Usage: test [FIRST_SEED [SEEDS]].
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/env_controlled.h"
#include "support/bare_device.h"
#include "support/seeds.h"

#define MS UINT64_C(1000000)
#define LOOK_NS (100 * MS) /* between two looks of the watch, src/device/hang_watch.c */
#define FROZEN_NS (10 * MS)
#define COMPUTES_NS (5000 * MS) /* the orchestration, after its last submit */

enum { CHAIN = 20 };

static struct scene {
    struct bare_opts opts;
    uint64_t kernel_ns, computes_ns;
    uint64_t done_ns, took_ns; /* from the beginning: the last task, the run */
    uint64_t began_ns, value;
    int code;
} scene;

static void add(const struct tl_kernel_args *k)
{
    tl__controlled_sleep(scene.kernel_ns);
    if (scene.kernel_ns >= LOOK_NS && tl__controlled_choose(2) == 0)
        tl__controlled_freeze("tl-watch", FROZEN_NS);
    TL_DATA(k, 0, uint64_t)[0]++;
    scene.done_ns = tl__now_ns() - scene.began_ns;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(0, "add", TL_AIV, add, TL_INOUT)};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t one = 1;
    struct tl_tensor memory = tl_tensor_make(TL_UINT64, 1, &one), *const memories[] = {&memory};

    for (int i = 0; i < CHAIN; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        TL_SCOPE (o) {
            tl_add_inout(&args, &in->tensors[0]);
            tl_submit_aiv(o, 0, &args);
        }
    }
    if (scene.opts.task_window != 0) /* waits for room, running kernels meanwhile, and submits nothing after it */
        (void)tl_alloc_tensors(o, memories, 1);
    if (scene.computes_ns != 0)
        tl__controlled_sleep(scene.computes_ns);
}

static void body(void *arg)
{
    struct tl_program program = {.struct_size = sizeof(program),
                                 .api_version = TL_PROGRAM_API,
                                 .name = "chain",
                                 .kernels = kernels,
                                 .n_kernels = TL_ARRAY_COUNT(kernels),
                                 .orchestrate = orchestrate};
    struct bare_device b;
    struct tl_tensor word;
    uint32_t one = 1;

    (void)arg;
    bare_open(&b, &scene.opts);
    word = bare_tensor(&b, TL_UINT64, 1, &one);
    scene.began_ns = tl__now_ns();
    scene.code = bare_run(&b, &program, &word, 1, NULL, 0);
    scene.took_ns = tl__now_ns() - scene.began_ns;
    scene.value = *(uint64_t *)bare_ptr(&b, word.buffer);
    bare_close(&b);
}

/* All seeds, on one to three threads. `window`: of tasks, 0: large. `done_ns`: when the last task must be done. */
static void sweep(uint64_t kernel_ns, uint64_t computes_ns, unsigned least_threads, uint32_t window, uint64_t done_ns)
{
    for (seed_now = first_seed; seed_now < first_seed + seeds; seed_now++) {
        struct tl_controlled_opts opts = {.seed = seed_now};
        struct tl_controlled_report report;

        scene = (struct scene){.opts = {.threads = least_threads + (unsigned)(seed_now % 3),
                                        .clusters = 2,
                                        .schedulers = 1 + (unsigned)(seed_now / 3 % 2),
                                        .task_window = window,
                                        .dep_pool = 64,
                                        .scheduler_timeout_ms = 20000},
                               .kernel_ns = kernel_ns,
                               .computes_ns = computes_ns};
        if (tl__controlled_run(&opts, body, NULL, &report) != 0)
            fail_msg("%s", report.text);
        assert_int_equal(report.allocs_live, 0);
        assert_int_equal(scene.code, 0);
        assert_int_equal(scene.value, CHAIN);
        assert_in_range(scene.done_ns, 0, done_ns);
        assert_in_range(scene.took_ns, scene.done_ns, (computes_ns > done_ns ? computes_ns : done_ns) + LOOK_NS);
    }
    seed_now = 0;
}

static void kernels_that_end_as_the_watch_looks(void **state)
{
    (void)state;
    sweep(LOOK_NS, 0, 1, 0, CHAIN * (LOOK_NS + FROZEN_NS) + LOOK_NS);
    sweep(2 * LOOK_NS, 0, 1, 0, CHAIN * (2 * LOOK_NS + FROZEN_NS) + LOOK_NS);
}

static void an_orchestration_that_computes(void **state)
{
    (void)state;
    sweep(LOOK_NS, COMPUTES_NS, 2, 0, CHAIN * (LOOK_NS + FROZEN_NS) + LOOK_NS);
    /* Too short for the watch: the threads alone see to it. */
    sweep(MS, COMPUTES_NS, 2, 0, CHAIN * MS + 10 * MS);
    sweep(MS, COMPUTES_NS, 2, 4, CHAIN * MS + 10 * MS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(kernels_that_end_as_the_watch_looks, say_seed),
        cmocka_unit_test_teardown(an_orchestration_that_computes, say_seed),
    };

    seeds_from(argc, argv, 300, true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
