/* SPDX-License-Identifier: Apache-2.0 */
/* Building arguments, and every line that refuses them. */
#include "test_graph_util.h"

#include "graph/task_args.h"

static void adding_copies_and_keeps_order(void **state)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor x = tensor_at(0x1000, 16), y = tensor_at(0x2000, 16), z = fresh(8);
    float scale = 1.5f;
    int8_t small = -2;
    bool flag = true;
    uint16_t half = 0x3f80;

    (void)state;
    y.version = 4;
    y.tag = 9;
    tl_add_input(&args, &x);
    tl_add_output(&args, &y);
    tl_add_output(&args, &z);
    tl_add_inout(&args, &x);
    tl_add_no_dep(&args, &x);
    x.shape[0] = 1;
    tl_add_scalar(&args, scale);
    tl_add_scalar(&args, small);
    tl_add_scalar(&args, flag);
    tl_add_scalar_as(&args, half, TL_BFLOAT16);
    assert_int_equal(args.error, 0);
    assert_int_equal(args.n_tensors, 5);
    assert_int_equal(args.tensors[0].tensor.shape[0], 16);
    assert_int_equal(args.tensors[0].direction, TL_IN);
    assert_int_equal(args.tensors[1].direction, TL_OUT_EXISTING);
    assert_null(args.tensors[1].out);
    assert_int_equal(args.tensors[2].direction, TL_OUT);
    assert_ptr_equal(args.tensors[2].out, &z);
    assert_int_equal(args.tensors[3].direction, TL_INOUT);
    assert_int_equal(args.tensors[4].direction, TL_NO_DEP);
    /* Written without being read: a new value, here and in the task. */
    assert_int_equal(y.version, 5);
    assert_int_equal(y.tag, 0);
    assert_int_equal(args.tensors[1].tensor.version, 5);
    assert_int_equal(args.n_scalars, 4);
    assert_int_equal(args.scalars[0].bits, 0x3fc00000);
    assert_int_equal(args.scalars[0].dtype, TL_FLOAT32);
    assert_int_equal(args.scalars[1].bits, 0xfe);
    assert_int_equal(args.scalars[2].bits, 1);
    assert_int_equal(args.scalars[2].dtype, TL_BOOL);
    assert_int_equal(args.scalars[3].dtype, TL_BFLOAT16);
}

static void marks_match_by_variable(void **state)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor x = tensor_at(0x1000, 16), same_value = x;
    float a = 1.0f, b = 1.0f;

    (void)state;
    tl_add_input(&args, &same_value);
    tl_add_input(&args, &x);
    tl_add_scalar(&args, b);
    tl_add_scalar(&args, a);
    tl_add_scalar(&args, a);
    tl_dump(&args, x, a);
    assert_int_equal(args.tensors[0].flags, 0);
    assert_int_equal(args.tensors[1].flags, TL_TASK_ARG_MARKED);
    assert_int_equal(args.scalars[0].flags, 0);
    assert_int_equal(args.scalars[1].flags, TL_TASK_ARG_MARKED | TL_TASK_ARG_AMBIGUOUS);
    assert_int_equal(args.scalars[2].flags, 0);
    assert_false(args.dump_all);
    tl_add_input(&args, &x);
    tl_dump(&args, x);
    assert_int_equal(args.tensors[1].flags, TL_TASK_ARG_MARKED | TL_TASK_ARG_AMBIGUOUS);
    tl_dump(&args);
    assert_true(args.dump_all);
    assert_int_equal(args.error, 0);
}

static void the_first_fault_is_kept(void **state)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor x = tensor_at(0x1000, 16);
    float a = 1.0f;

    (void)state;
    tl_dump(&args, a);
    assert_int_equal(args.error, TL_ENOENT);
    assert_int_equal(args.error_index, TL_MARKED_SCALAR);
    tl_dump(&args, x);
    assert_int_equal(args.error_index, TL_MARKED_SCALAR);
    /* What could not be added outranks a mark. */
    tl_add_input(&args, NULL);
    assert_int_equal(args.error, TL_EINVAL);
    for (int i = 0; i < TL_MAX_TENSORS + 1; i++)
        tl_add_input(&args, &x);
    assert_int_equal(args.n_tensors, TL_MAX_TENSORS);
    assert_int_equal(args.error, TL_EINVAL);
    assert_int_equal(args.error_index, 0);
    tl_set_dependencies(&args, NULL, 5);
    assert_int_equal(args.n_deps, 0);
}

/* The line that refuses a task without kernel. */
static void a_task_without_kernel_is_refused(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const struct tl_subtasks none = {.func = {-1, -1, -1}};
    struct tl_plan plan;
    struct tl_error err;

    (void)state;
    assert_int_equal(tl__graph_plan(g, &args, &none, &plan, &err), TL_EGRAPH);
    assert_string_equal(err.msg, "task r0t0: no kernel: give at least one func_id that is not -1");
    for (unsigned k = 0; k < 3; k++) {
        struct tl_subtasks odd = {{1, 1, 1}};

        odd.func[k] = k == 1 ? INT32_MIN : -2;
        assert_int_equal(tl__graph_plan(g, &args, &odd, &plan, &err), TL_EGRAPH);
        assert_string_equal(err.msg, k == 1 ? "task r0t0: func_id -2147483648 cannot be a kernel's: give one of the "
                                              "program's table, or -1 to leave a core out"
                                            : "task r0t0: func_id -2 cannot be a kernel's: give one of the program's "
                                              "table, or -1 to leave a core out");
    }
    tl__graph_destroy(g);
}

static void bad_argument_lists_are_refused(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 16);
    struct tl_task_args args;
    struct tl_error err;
    double wrong = 1.0;
    float a = 1.0f;

    (void)state;
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    for (int i = 0; i < TL_MAX_TENSORS + 1; i++)
        tl_add_input(&args, &x);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: more than 16 tensors; put some into one buffer and pass one tensor");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    for (int i = 0; i < TL_MAX_SCALARS + 1; i++)
        tl_add_scalar(&args, a);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: more than 32 scalars; pass the rest in a tensor");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_scalar(&args, a);
    tl__add_scalar(&args, &wrong, sizeof(wrong), TL_FLOAT32);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: scalar 1: its dtype does not have the size of its C type");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_input(&args, &x);
    tl_add_input(&args, NULL);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err), "task r0t0: tensor 1 is NULL");
    args.error = 0;
    args.n_scalars = 33;
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: 1 tensors and 33 scalars: begin an argument list with TL_TASK_ARGS_INIT");
    assert_int_equal(tl__graph_usage(g, 0).task_head, 0);
    tl__graph_destroy(g);
}

/* Marks of what was not added count at levels 1 and 3 only. */
static void marks_count_by_level(void **state)
{
    (void)state;
    for (uint8_t level = 0; level <= 3; level++) {
        struct tl_graph_opts o = small_opts();
        struct tl_tensor x = tensor_at(0x1000, 16);
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_graph *g;
        struct tl_error err;
        float a = 1.0f;

        o.dump_level = level;
        g = make_graph(&o);
        tl_dump(&args, x);
        if (level == 1 || level == 3) {
            assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                                "task r0t0: tl_dump names a tensor that was not added to this task's arguments; add it "
                                "before the mark, by the same variable");
            args = (struct tl_task_args)TL_TASK_ARGS_INIT;
            tl_dump(&args, a);
            assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                                "task r0t0: tl_dump names a scalar that was not added to this task's arguments; add it "
                                "before the mark, by the same variable");
        } else {
            must_plan(g, &args);
        }
        tl__graph_destroy(g);
    }
}

static void refuse_one(struct tl_graph *g, char how, struct tl_tensor *t, const char *line)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_error err;

    if (how == 'i')
        tl_add_input(&args, t);
    else if (how == 'x')
        tl_add_inout(&args, t);
    else if (how == 'n')
        tl_add_no_dep(&args, t);
    else
        tl_add_output(&args, t);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err), line);
}

static void bad_views_are_refused(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 16), t = part_of(&x, 1, 16);

    (void)state;
    refuse_one(g, 'i', &t, "task r0t0: input 0 reaches past its buffer: it ends at byte 68 of 64");
    refuse_one(g, 'x', &t, "task r0t0: inout 0 reaches past its buffer: it ends at byte 68 of 64");
    refuse_one(g, 'o', &t, "task r0t0: output 0 reaches past its buffer: it ends at byte 68 of 64");
    refuse_one(g, 'n', &t, "task r0t0: no_dep 0 reaches past its buffer: it ends at byte 68 of 64");
    t = x;
    t.strides[0] = UINT64_MAX / 4;
    refuse_one(g, 'i', &t, "task r0t0: input 0 reaches past its buffer of 64 bytes");
    t = x;
    t.start_offset = UINT64_MAX;
    refuse_one(g, 'i', &t, "task r0t0: input 0 reaches past its buffer of 64 bytes");
    t = fresh(16);
    refuse_one(g, 'i', &t, "task r0t0: input 0 has no memory: no task has allocated it");
    t.rank = 6;
    refuse_one(g, 'o', &t, "task r0t0: output 0 has rank 6; at most 5 can be allocated");
    t = fresh(16);
    t.dtype = 99;
    refuse_one(g, 'o', &t, "task r0t0: output 0 has the unknown dtype 99");
    t = fresh(16);
    t.strides[0] = 2;
    refuse_one(g, 'o', &t, "task r0t0: output 0 has no memory yet and is not contiguous; make it with tl_tensor_make");
    t = fresh(16);
    t.start_offset = 1;
    refuse_one(g, 'o', &t, "task r0t0: output 0 has no memory yet and is not contiguous; make it with tl_tensor_make");
    t = fresh(2);
    t.rank = 2;
    t.strides[0] = UINT64_MAX / 8;
    t.shape[1] = 1;
    refuse_one(g, 'o', &t, "task r0t0: output 0 is larger than any memory");
    assert_int_equal(tl__graph_usage(g, 0).task_head, 0);
    tl__graph_destroy(g);
}

/* Views that are odd but right: nothing to touch, one element, elements that share memory, a shape beyond our words. */
static void odd_views_that_are_right_are_accepted(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 16), t = part_of(&x, 400, 0), zero = fresh(0);
    struct tl_plan p;

    (void)state;
    must_use(g, 'x', &x);
    p = must_use(g, 'i', &t);
    assert_int_equal(p.n_edges, 0);
    t = x;
    t.strides[0] = 0;
    t.shape[0] = 1000;
    p = must_use(g, 'i', &t);
    assert_int_equal(p.n_edges, 1);
    t = x;
    t.rank = 0;
    p = must_use(g, 'i', &t);
    assert_int_equal(p.n_edges, 1);
    must_use(g, 'o', &zero);
    assert_int_not_equal(zero.buffer, 0);
    assert_int_equal(zero.buffer_bytes, 0);
    /* What we cannot read counts as the whole buffer. */
    t.rank = 6;
    p = must_use(g, 'i', &t);
    assert_int_equal(p.n_edges, 1);
    assert_int_equal(p.edges[0].flags, TL_EDGE_WAIT | TL_EDGE_COVERED);
    tl__graph_destroy(g);
}

static void outputs_and_inputs_of_one_task(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 16), low = part_of(&x, 0, 9), high = part_of(&x, 8, 8), even = x, odd = x;
    struct tl_tensor new_one = fresh(4);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_error err;

    (void)state;
    tl_add_input(&args, &low);
    tl_add_output(&args, &high);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: output 1 overlaps input 0 in the same buffer; add it once, as inout");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_output(&args, &high);
    tl_add_inout(&args, &low);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: output 0 overlaps inout 1 in the same buffer; add it once, as inout");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_output(&args, &new_one);
    tl_add_output(&args, &new_one);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: output 1 and output 0 are the same unallocated tensor");
    /* The same for two that are written, whatever the order, to the element. */
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_input(&args, &low);
    tl_add_inout(&args, &high);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: inout 1 overlaps input 0 in the same buffer; add it once, as inout");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_inout(&args, &high);
    tl_add_input(&args, &low);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: inout 0 overlaps input 1 in the same buffer; add it once, as inout");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_inout(&args, &low);
    tl_add_inout(&args, &high);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: inout 0 overlaps inout 1 in the same buffer; add it once, as inout");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_output(&args, &low);
    tl_add_output(&args, &high);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: output 0 overlaps output 1 in the same buffer; add it once, as inout");
    /* Slices that do not touch are fine, and so is one that says nothing of its access. */
    low = part_of(&x, 0, 8);
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_inout(&args, &low);
    tl_add_inout(&args, &high);
    must_plan(g, &args);
    even.shape[0] = odd.shape[0] = 8;
    even.strides[0] = odd.strides[0] = 2;
    odd.start_offset = 1;
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_input(&args, &even);
    tl_add_output(&args, &odd);
    must_plan(g, &args);
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_no_dep(&args, &low);
    tl_add_inout(&args, &x);
    must_plan(g, &args);
    tl__graph_destroy(g);
}

static void dependencies_and_owners_must_exist(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor y = fresh(16), lost = tensor_at(0x1000, 16);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    tl_task_id ids[2] = {TL_NO_TASK, (UINT64_C(3) << 32) + 2};
    const struct tl_range *ranges;
    struct tl_error err;

    (void)state;
    tl_set_dependencies(&args, ids, 2);
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: dependency 1 names task r3t2, which has not been submitted");
    ids[1] = 0; /* itself */
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: dependency 1 names task r0t0, which has not been submitted");
    ids[1] = UINT64_C(9) << 32;
    assert_string_equal(refusal(g, &args, TL_EGRAPH, &err),
                        "task r0t0: dependency 1 names task r9t0, which has not been submitted");
    lost.owner = 0;
    refuse_one(
        g, 'i', &lost,
        "task r0t0: input 0 names task r0t0 as the owner of its memory, which does not exist; a tensor filled by "
        "hand has owner TL_NO_TASK");
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 1);
    must_use(g, 'o', &y);
    must_use(g, 'i', &y);
    tl__graph_scope_end(g, &ranges);
    refuse_one(g, 'i', &y,
               "task r0t2: input 0 is in memory that task r0t0 allocated in a scope that has ended; allocate it "
               "outside of that scope (tl_alloc_tensors)");
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "t.c", 2); /* another scope at the same depth changes nothing */
    refuse_one(g, 'x', &y,
               "task r0t2: inout 0 is in memory that task r0t0 allocated in a scope that has ended; allocate it "
               "outside of that scope (tl_alloc_tensors)");
    tl__graph_retired(g, 0, 2);
    refuse_one(g, 'x', &y,
               "task r0t2: inout 0 is in memory that task r0t0 allocated in a scope that has ended; allocate it "
               "outside of that scope (tl_alloc_tensors)");
    must_use(g, 'n', &y); /* takes no part */
    tl__graph_destroy(g);
}

static void payload_holds_what_was_submitted(void **state)
{
    static _Alignas(8) unsigned char memory[TL_PAYLOAD_MAX + 8];
    struct tl_task_payload *p = (void *)memory;
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor x = tensor_at(0x1000, 16), y = fresh(300), z = tensor_at(0x2000, 4);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const struct tl_subtasks mix = {.func = {3, 4, -1}};
    float scale = 2.0f;
    int64_t big = -1;
    struct tl_plan plan;
    struct tl_error err;

    (void)state;
    memset(memory, 0xa5, sizeof(memory));
    tl__graph_scope_begin(g, TL_SCOPE_MANUAL, "t.c", 1);
    tl_add_input(&args, &x);
    tl_add_output(&args, &y);
    tl_add_output(&args, &z);
    tl_add_scalar(&args, scale);
    tl_add_scalar(&args, big);
    tl_add_scalar(&args, big);
    tl_dump(&args, y, big);
    tl_set_block_num(&args, 7);
    assert_int_equal(tl__graph_plan(g, &args, &mix, &plan, &err), 0);
    assert_int_equal(plan.payload_bytes, 96 + 3 * 112 + 3 * 8);
    tl__plan_write_payload(&plan, p);
    assert_int_equal(memory[plan.payload_bytes], 0xa5);
    assert_int_equal(p->id, 0);
    assert_int_equal(p->func[0], 3);
    assert_int_equal(p->func[1], 4);
    assert_int_equal(p->func[2], -1);
    assert_int_equal(p->block_num, 7);
    assert_int_equal(p->flags, TL_PAYLOAD_MANUAL);
    assert_int_equal(p->n_tensors, 3);
    assert_int_equal(p->n_scalars, 3);
    assert_int_equal(p->tensor_marked, 2);
    assert_int_equal(p->tensor_ambiguous, 0);
    assert_int_equal(p->scalar_marked, 2);
    assert_int_equal(p->scalar_ambiguous, 2);
    assert_int_equal(p->direction[0], TL_IN);
    assert_int_equal(p->direction[1], TL_OUT);
    assert_int_equal(p->direction[2], TL_OUT_EXISTING);
    assert_memory_equal(&p->tensors[0], &x, sizeof(x));
    assert_memory_equal(&p->tensors[1], &y, sizeof(y)); /* with its memory, as the caller has it now */
    assert_int_equal(y.buffer, HEAP_BASE);
    assert_int_equal(y.buffer_bytes, 1200);
    assert_int_equal(tl__payload_scalars(p)[0], 0x40000000);
    assert_int_equal(tl__payload_scalars(p)[1], UINT64_MAX);
    assert_int_equal(p->scalar_dtype[0], TL_FLOAT32);
    assert_int_equal(p->scalar_dtype[1], TL_INT64);
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_dump(&args);
    plan = must_plan(g, &args);
    assert_int_equal(plan.payload_bytes, 96);
    tl__plan_write_payload(&plan, p);
    assert_int_equal(p->flags, TL_PAYLOAD_MANUAL | TL_PAYLOAD_DUMP_ALL);
    assert_int_equal(p->block_num, 1);
    assert_int_equal(p->id, 1);
    tl__graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_copies_and_keeps_order),
        cmocka_unit_test(marks_match_by_variable),
        cmocka_unit_test(the_first_fault_is_kept),
        cmocka_unit_test(a_task_without_kernel_is_refused),
        cmocka_unit_test(bad_argument_lists_are_refused),
        cmocka_unit_test(marks_count_by_level),
        cmocka_unit_test(bad_views_are_refused),
        cmocka_unit_test(odd_views_that_are_right_are_accepted),
        cmocka_unit_test(outputs_and_inputs_of_one_task),
        cmocka_unit_test(dependencies_and_owners_must_exist),
        cmocka_unit_test(payload_holds_what_was_submitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
