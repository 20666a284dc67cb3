/* SPDX-License-Identifier: Apache-2.0 */
/* A small graph and short ways to give it tasks, for the tests of src/graph. */
#ifndef TEST_GRAPH_UTIL_H
#define TEST_GRAPH_UTIL_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "graph/graph.h"

#define HEAP_BASE UINT64_C(0xD000000000100000)
#define HEAP_STEP UINT64_C(0x10000000)

static inline struct tl_graph_opts small_opts(void)
{
    struct tl_graph_opts o = {.rings = TL_GRAPH_RINGS, .recycle = true, .dump_level = 1};

    for (uint32_t r = 0; r < TL_GRAPH_RINGS; r++) {
        o.task_window[r] = 8;
        o.dep_pool[r] = 16;
        o.heap[r] = HEAP_BASE + r * HEAP_STEP;
        o.heap_bytes[r] = 8 * 1024;
    }
    return o;
}

static inline struct tl_graph *make_graph(const struct tl_graph_opts *opts)
{
    struct tl_graph_opts o = opts != NULL ? *opts : small_opts();
    struct tl_graph *g = NULL;
    struct tl_error err = {0};

    assert_int_equal(tl__graph_create(&o, &g, &err), 0);
    assert_non_null(g);
    return g;
}

/* A contiguous float32 tensor of one dim in the caller's own memory. */
static inline struct tl_tensor tensor_at(uint64_t buffer, uint32_t n)
{
    struct tl_tensor t = {
        .buffer = buffer, .buffer_bytes = n * 4ull, .owner = TL_NO_TASK, .dtype = TL_FLOAT32, .rank = 1};

    t.shape[0] = n;
    t.strides[0] = 1;
    return t;
}

/* Its elements [first, first + n). */
static inline struct tl_tensor part_of(const struct tl_tensor *t, uint32_t first, uint32_t n)
{
    struct tl_tensor v = *t;

    v.start_offset += first;
    v.shape[0] = n;
    v.tag = 0;
    return v;
}

static inline struct tl_tensor fresh(uint32_t n)
{
    struct tl_tensor t = tensor_at(0, n);

    t.buffer_bytes = 0;
    return t;
}

static const struct tl_subtasks on_aiv = {.func = {-1, 7, -1}};

static inline int plan_args(struct tl_graph *g, const struct tl_task_args *args, struct tl_plan *plan)
{
    struct tl_error err = {0};
    int code = tl__graph_plan(g, args, &on_aiv, plan, &err);

    if (code < 0 && code != TL_EAGAIN)
        print_message("plan: %s\n", err.msg);
    return code;
}

static inline struct tl_plan must_plan(struct tl_graph *g, const struct tl_task_args *args)
{
    struct tl_plan plan = {0};

    assert_int_equal(plan_args(g, args, &plan), 0);
    return plan;
}

/* A task with one tensor; 'i' input, 'x' inout, 'o' output, 'n' no_dep. */
static inline struct tl_plan must_use(struct tl_graph *g, char how, struct tl_tensor *t)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    if (how == 'i')
        tl_add_input(&args, t);
    else if (how == 'x')
        tl_add_inout(&args, t);
    else if (how == 'o')
        tl_add_output(&args, t);
    else
        tl_add_no_dep(&args, t);
    return must_plan(g, &args);
}

/* The line that refuses `args`; the caller's buffer. */
static inline const char *refusal(struct tl_graph *g, const struct tl_task_args *args, int code, struct tl_error *err)
{
    struct tl_plan plan = {0};

    memset(err, 0, sizeof(*err));
    assert_int_equal(tl__graph_plan(g, args, &on_aiv, &plan, err), code);
    assert_int_equal(err->code, code);
    return err->msg;
}

#endif
