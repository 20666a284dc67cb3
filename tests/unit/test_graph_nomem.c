/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of the graph fails once: the call says so, nothing has changed, and the same call then succeeds. */
#include "test_graph_util.h"

#ifdef TASKLENS_CONTROLLED
#include "base/env_ops.h"

static uint64_t allowed; /* allocations before one fails; UINT64_MAX: all succeed */
static uint64_t failures;

static bool may_alloc(void)
{
    if (allowed == UINT64_MAX)
        return true;
    if (allowed-- > 0)
        return true;
    allowed = UINT64_MAX;
    failures++;
    return false;
}

static struct tl_graph *create(void)
{
    struct tl_graph_opts o = small_opts();
    struct tl_graph *g = NULL;
    struct tl_error err = {0};
    int code;

    o.task_window[0] = 2048;
    o.dep_pool[0] = 65536;
    code = tl__graph_create(&o, &g, &err);
    if (code < 0) {
        assert_int_equal(code, TL_ENOMEM);
        assert_int_equal(err.code, TL_ENOMEM);
        assert_int_not_equal(err.msg[0], 0);
        assert_null(g);
        code = tl__graph_create(&o, &g, &err);
    }
    assert_int_equal(code, 0);
    return g;
}

static void plan_twice(struct tl_graph *g, struct tl_task_args *args)
{
    uint64_t head = tl__graph_usage(g, 0).task_head;
    uint32_t accesses = tl__graph_writers(g) + tl__graph_readers(g);
    struct tl_plan plan;
    struct tl_error err = {0};
    int code = tl__graph_plan(g, args, &on_aiv, &plan, &err);

    if (code < 0) {
        assert_int_equal(code, TL_ENOMEM);
        assert_int_not_equal(err.msg[0], 0);
        assert_int_equal(tl__graph_usage(g, 0).task_head, head);
        assert_int_equal(tl__graph_writers(g) + tl__graph_readers(g), accesses);
        code = tl__graph_plan(g, args, &on_aiv, &plan, &err);
    }
    assert_int_equal(code, 0);
    assert_int_equal(tl__graph_usage(g, 0).task_head, head + 1);
}

/* Enough of everything that each array grows at least once. */
static void small_program(void)
{
    struct tl_graph *g = create();
    const struct tl_range *ranges;
    tl_task_id ids[300];

    for (uint32_t i = 0; i < 300; i++) {
        struct tl_tensor x = tensor_at(0x10000 + 0x100 * i, 16), all = tensor_at(0x1000, 512), part;
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        part = part_of(&all, i, 16);
        tl_add_input(&args, &x);
        if (i % 100 == 99)
            tl_add_inout(&args, &all);
        else
            tl_add_input(&args, &part);
        tl_set_dependencies(&args, ids, i);
        ids[i] = i;
        plan_twice(g, &args);
        if (tl__graph_tag(g, &x, "x", "n.c", 2, NULL) < 0)
            assert_int_equal(tl__graph_tag(g, &x, "x", "n.c", 2, NULL), 0);
    }
    for (int depth = 0; depth < 40; depth++)
        if (tl__graph_scope_begin(g, TL_SCOPE_AUTO, "n.c", depth) != depth)
            assert_int_equal(tl__graph_scope_begin(g, TL_SCOPE_AUTO, "n.c", depth), depth);
    for (int depth = 0; depth < 40; depth++)
        assert_true(tl__graph_scope_end(g, &ranges) >= 0);
    tl__graph_destroy(g);
}

static void each_allocation_may_fail(void **state)
{
    struct tl_env_ops ops = tl__env_real;
    uint64_t n = 0, before;

    (void)state;
    ops.may_alloc = may_alloc;
    tl__env_set_ops(&ops);
    do {
        before = failures;
        allowed = n++;
        small_program();
    } while (failures > before);
    tl__env_set_ops(NULL);
    assert_true(failures > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
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
