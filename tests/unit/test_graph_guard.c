/* SPDX-License-Identifier: Apache-2.0 */
/* Where the graph puts what it allocates in a guarded run. */
#include "unit/test_graph_util.h"

#include "base/guard_layout.h"

static struct tl_graph *make_guarded(uint32_t guard, uint64_t heap_bytes)
{
    struct tl_graph_opts o = small_opts();

    o.guard = guard;
    for (uint32_t r = 0; r < o.rings; r++)
        o.heap_bytes[r] = heap_bytes;
    return make_graph(&o);
}

/* Plans a task with one output of `n` elements. */
static int plan_output(struct tl_graph *g, enum tl_dtype dtype, uint32_t n, struct tl_plan *plan)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor t = tl_tensor_make(dtype, 1, &n);

    tl_add_output(&args, &t);
    return plan_args(g, &args, plan);
}

static void a_guarded_buffer_ends_at_its_guard_page(void **state)
{
    static const struct {
        enum tl_dtype dtype;
        uint32_t elements, guard;
        uint64_t bytes, end; /* of the buffer; its distance from the guard page */
        uint64_t pages;      /* with the guard page */
    } cases[] = {
        {TL_FLOAT32, 64, 1, 256, 0, 2},      {TL_UINT8, 3, 1, 3, 0, 2},   {TL_FLOAT16, 3, 1, 6, 0, 2},
        {TL_INT64, 1, 1, 8, 0, 2},           {TL_FP4E2M1, 5, 1, 3, 0, 2}, {TL_FLOAT32, 1024, 1, 4096, 0, 2},
        {TL_FLOAT32, 1025, 1, 4100, 0, 3},   {TL_FLOAT32, 0, 1, 0, 0, 1}, {TL_FLOAT32, 3, 64, 12, 52, 2},
        {TL_UINT8, 3, 2, 3, 1, 2},           {TL_INT64, 1, 4, 8, 0, 2},   {TL_FLOAT32, 1, 4096, 4, 4092, 2},
        {TL_UINT8, 4097, 512, 4097, 511, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tl_graph *g = make_guarded(cases[i].guard, 16 * TL_GUARD_PAGE);
        struct tl_plan plan, next;
        uint64_t buffer, page;

        assert_int_equal(plan_output(g, cases[i].dtype, cases[i].elements, &plan), 0);
        assert_int_equal(plan_output(g, TL_UINT8, 4096, &next), 0);
        buffer = plan.out_buffer[0];
        page = tl__guard_page(buffer, plan.out_bytes[0]);
        assert_int_equal(plan.out_bytes[0], cases[i].bytes);
        assert_int_equal(page - buffer - plan.out_bytes[0], cases[i].end);
        assert_int_equal(buffer % cases[i].guard, 0);
        assert_int_equal(tl__guard_first(buffer), HEAP_BASE);
        assert_int_equal(page + TL_GUARD_PAGE, HEAP_BASE + cases[i].pages * TL_GUARD_PAGE);
        assert_int_equal(next.out_buffer[0], page + TL_GUARD_PAGE);
        tl__graph_destroy(g);
    }
}

/* tl_alloc_tensors places the same way, and a heap of four pages has room for two small buffers. */
static void heaps_fill_by_pages(void **state)
{
    struct tl_graph *g = make_guarded(1, 4 * TL_GUARD_PAGE);
    struct tl_tensor a = fresh(1), b = fresh(2);
    struct tl_tensor *tensors[] = {&a, &b};
    struct tl_error err = {0};
    struct tl_plan plan;

    (void)state;
    assert_int_equal(tl__graph_plan_alloc(g, tensors, 2, &plan, &err), 0);
    assert_int_equal(a.buffer, HEAP_BASE + TL_GUARD_PAGE - 4);
    assert_int_equal(b.buffer, HEAP_BASE + 3 * TL_GUARD_PAGE - 8);
    assert_int_equal(plan_output(g, TL_UINT8, 1, &plan), TL_EAGAIN);
    assert_int_equal(plan.lack.resource, TL_RESOURCE_HEAP);
    assert_int_equal(plan.lack.need, 2 * TL_GUARD_PAGE);
    assert_int_equal(plan_output(g, TL_UINT8, 4 * TL_GUARD_PAGE, &plan), TL_ENOSPC);
    tl__graph_retired(g, 0, 1);
    assert_int_equal(plan_output(g, TL_UINT8, 3 * TL_GUARD_PAGE, &plan), 0);
    assert_int_equal(plan.out_buffer[0], HEAP_BASE);
    tl__graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guarded_buffer_ends_at_its_guard_page),
        cmocka_unit_test(heaps_fill_by_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
