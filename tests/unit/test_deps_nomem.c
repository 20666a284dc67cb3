/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of dep_gen's export fails once: it says so and writes nothing; with memory the same records are
 * written. */
#include "unit/artifact_fixture.h"

#include "support/deps_tape.h"

#include "test_graph_util.h"

#ifdef TASKLENS_CONTROLLED
#include "base/env_ops.h"

static uint64_t allowed; /* allocations before one fails; UINT64_MAX: all succeed */

static bool may_alloc(void)
{
    if (allowed == UINT64_MAX || allowed-- > 0)
        return true;
    allowed = UINT64_MAX;
    return false;
}

/* Enough of everything that each array grows at least once. */
static void record(struct deps_tape *tape)
{
    static const uint32_t tails[TL_DEPS_RINGS];
    struct tl_graph_opts opts = small_opts();
    struct tl_graph *g;
    struct tl_plan plan;
    struct tl_tensor owned[20], *at[20];
    tl_task_id ids[100];

    opts.task_window[0] = 256;
    opts.dep_pool[0] = 65536;
    opts.heap_bytes[0] = 64 * 1024;
    g = make_graph(&opts);
    assert_true(tl__graph_scope_begin(g, TL_SCOPE_AUTO, "n.c", 1) >= 0);
    for (uint32_t i = 0; i < 20; i++) {
        owned[i] = fresh(16);
        at[i] = &owned[i];
    }
    assert_int_equal(tl__graph_plan_alloc(g, at, 20, &plan, NULL), 0);
    tape_alloc(tape, &plan, at, 20, tails);
    for (uint32_t i = 0; i < 100; i++) {
        struct tl_tensor x = tensor_at(0x10000 + 0x100 * i, 16), all = tensor_at(0x1000, 512), part;
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        part = part_of(&all, i, 16);
        tl_add_input(&args, &x);
        tl_add_input(&args, &part);
        tl_add_inout(&args, &owned[i % 20]);
        tl_set_dependencies(&args, ids, i);
        ids[i] = i;
        plan = must_plan(g, &args);
        tape_task(tape, &plan, tails);
    }
    tl__graph_destroy(g);
}

static void each_allocation_may_fail(void **state)
{
    struct tape_run run = {.dir = fixture_dir, .per_batch = 50};
    struct tl_env_ops ops = tl__env_real;
    struct deps_tape tape = {0};
    struct tl_error err;
    uint64_t n = 0;

    (void)state;
    record(&tape);
    ops.may_alloc = may_alloc;
    tl__env_set_ops(&ops);
    for (;; n++) {
        int code;

        allowed = n;
        code = tape_export(&tape, &run, &err);
        if (code == 0)
            break;
        assert_int_equal(code, TL_ENOMEM);
        assert_int_equal(err.code, TL_ENOMEM);
        assert_int_not_equal(err.msg[0], 0);
        assert_int_equal(access(fixture_path("deps.json"), F_OK), -1);
    }
    tl__env_set_ops(NULL);
    assert_true(n > 40);
    assert_int_equal(access(fixture_path("deps.json"), F_OK), 0);
    tape_free(&tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_allocation_may_fail, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* Only the controlled environment can refuse memory. */
int main(void)
{
    return 77;
}

#endif
