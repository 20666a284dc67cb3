/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope statistics end to end, in every platform, transport and runtime: each figure of nested scopes against those
 * computed by hand, positions that never wrap or go back, runs that fail.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <tasklens/error.h>

#include "artifact/scope_stats.h"
#include "support/capture.h"

enum { FUNC_TOUCH };

static _Atomic unsigned touched; /* kernels that ran */

/* Writes its last argument. */
static void touch(const struct tl_kernel_args *k)
{
    TL_DATA(k, k->n_tensors - 1, float)[0] = 1.0f;
    touched++;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_TOUCH, "touch", TL_AIV, touch, TL_IN, TL_OUT)};

static bool is_image(unsigned cell)
{
    return strcmp(capture_cells[cell].runtime, "host_build_graph") == 0;
}

/* A task that reads `from`, writes the program's `there` (either NULL: none), and allocates `floats` for *to. */
static void task_at(struct tl_orch *o, const struct tl_tensor *from, struct tl_tensor *there, uint32_t floats,
                    struct tl_tensor *to)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    *to = tl_tensor_make(TL_FLOAT32, 1, &floats);
    if (from != NULL)
        tl_add_input(&args, from);
    if (there != NULL)
        tl_add_output(&args, there);
    tl_add_output(&args, to);
    tl_submit_aiv(o, FUNC_TOUCH, &args);
}

static void task(struct tl_orch *o, const struct tl_tensor *from, uint32_t floats, struct tl_tensor *to)
{
    task_at(o, from, NULL, floats, to);
}

/* What a run left; *c is over. */
static struct tl_scope_stats stats_of(const struct capture *c)
{
    struct tl_scope_stats s;
    struct tl_error err = {0};
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/%s/%s", c->dir, TL_SCOPE_DIR_NAME, TL_SCOPE_NAME);
    if (tl__scope_stats_read(path, &s, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(s.total, s.boundaries.count);
    return s;
}

static void begin(struct capture *c, unsigned cell)
{
    capture_begin(c, cell, 0);
    c->config.levels[TL_COLLECT_SCOPE] = true;
    c->config.task_window = 64;
    c->config.dep_pool = 128;
    c->config.heap_bytes = 1 << 20;
}

/* --- figures by hand ------------------------------------------------------------------------------------------ */

static int line_outer, line_inner, line_third, line_fourth, line_fifth;

/* Tasks by scope: 1 outside, 2 in the outer, 1 in the inner, 2 in the third, 1 in the fourth, 1 in the fifth. */
static void orchestrate_nested(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor at_y = in->tensors[0], at_z = in->tensors[1], a, b, c, d, e, f;

    task(o, NULL, 256, &a); /* 1,024 bytes, no dependency */
    line_outer = __LINE__ + 1;
    TL_SCOPE (o) {
        task(o, &a, 257, &b);         /* 2,048 bytes; waits for one task */
        task_at(o, &b, &at_y, 1, &c); /* 1,024; one. A write that later tasks may have to wait for */
        line_inner = __LINE__ + 1;
        TL_SCOPE (o) {
            task(o, &c, 768, &d); /* 3,072; one */
            line_third = __LINE__ + 1;
            TL_SCOPE (o) {
                task_at(o, NULL, &at_z, 1, &e); /* 1,024; none. Another write */
                task(o, &d, 1, &f);             /* 1,024; one */
                line_fourth = __LINE__ + 1;
                TL_SCOPE (o) {
                    task(o, &f, 1, &a); /* 1,024; one */
                    line_fifth = __LINE__ + 1;
                    TL_SCOPE (o) {              /* shares the last ring */
                        task(o, NULL, 512, &b); /* 2,048; none */
                    }
                }
            }
        }
    }
}

struct figure {
    const int *line; /* NULL: the whole */
    bool ends;
    uint32_t depth, ring;
    uint64_t tasks, heap, deps, writers; /* heads, of the ring; tails are 0 while all its scopes are open */
};

static float y[4], z[4];

#define ANY UINT64_MAX /* depends on what has retired */

/* Four rings: each has its own. */
static const struct figure of_rings[] = {
    {NULL, false, 0, 0, 0, 0, 0, 0},
    {&line_outer, false, 1, 0, 1, 1024, 0, 0},
    {&line_inner, false, 2, 1, 0, 0, 0, 1},
    {&line_third, false, 3, 2, 0, 0, 0, 1},
    {&line_fourth, false, 4, 3, 0, 0, 0, 2},
    {&line_fifth, false, 5, 3, 1, 1024, 1, 2},
    {&line_fifth, true, 5, 3, 2, 3072, 1, 2},
    {&line_fourth, true, 4, 3, 2, 3072, 1, 2},
    {&line_third, true, 3, 2, 2, 2048, 1, 2},
    {&line_inner, true, 2, 1, 1, 3072, 1, ANY},
    {&line_outer, true, 1, 0, 3, 4096, 2, ANY},
    {NULL, true, 0, 0, 3, 4096, 2, ANY},
};

/* One image has it all. */
static const struct figure of_image[] = {
    {NULL, false, 0, 0, 0, 0, 0, 0},
    {&line_outer, false, 1, 0, 1, 1024, 0, 0},
    {&line_inner, false, 2, 0, 3, 4096, 2, 1},
    {&line_third, false, 3, 0, 4, 7168, 3, 1},
    {&line_fourth, false, 4, 0, 6, 9216, 4, 2},
    {&line_fifth, false, 5, 0, 7, 10240, 5, 2},
    {&line_fifth, true, 5, 0, 8, 12288, 5, 2},
    {&line_fourth, true, 4, 0, 8, 12288, 5, 2},
    {&line_third, true, 3, 0, 8, 12288, 5, 2},
    {&line_inner, true, 2, 0, 8, 12288, 5, 2},
    {&line_outer, true, 1, 0, 8, 12288, 5, 2},
    {NULL, true, 0, 0, 8, 12288, 5, 2},
};

static void figure_is(const struct tl_scope_stats *s, uint64_t i, const struct figure *want)
{
    const struct tl_boundary *b = &s->boundaries.items[i];
    char site[80] = "(orchestration):0";

    if (want->line != NULL)
        (void)snprintf(site, sizeof(site), "scene/test_capture_scopes.c:%d", *want->line);
    assert_string_equal(s->sites[b->site], site);
    assert_int_equal(b->ends, want->ends);
    assert_int_equal(b->depth, want->depth);
    assert_int_equal(b->ring, want->ring);
    assert_int_equal(b->span[TL_RING_TASKS].head, want->tasks);
    assert_int_equal(b->span[TL_RING_HEAP].head, want->heap);
    assert_int_equal(b->span[TL_RING_DEPS].head, want->deps);
    /* What a ring has first is held by the first scope on it, or by the whole. */
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        assert_int_equal(b->span[r].tail, 0);
    if (want->writers != ANY)
        assert_int_equal(b->tensormap, want->writers);
}

static void nested_scopes_by_hand(void **state)
{
    static const struct tl_program program = CAPTURE_PROGRAM("nested", kernels, orchestrate_nested);

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        bool image = is_image(cell);
        struct tl_host_tensor rows[2] = {capture_row("y", TL_OUT, TL_FLOAT32, y, 4),
                                         capture_row("z", TL_OUT, TL_FLOAT32, z, 4)};
        struct capture c;
        struct tl_scope_stats s;
        char files[400];

        begin(&c, cell);
        assert_int_equal(capture_run(&c, &program, rows, 2), 0);
        assert_int_equal(c.result.records_collected, 12);
        assert_int_equal(c.result.records_attempted, 12);
        s = stats_of(&c);
        assert_false(s.fatal);
        assert_int_equal(s.dropped, 0);
        assert_int_equal(s.boundaries.count, 12);
        assert_int_equal(s.n_rings, 4);
        for (unsigned ring = 0; ring < 4; ring++) {
            bool used = !image || ring == 0;

            assert_int_equal(s.size[TL_RING_TASKS][ring], used ? 64 : 0);
            assert_int_equal(s.size[TL_RING_HEAP][ring], used ? 1 << 20 : 0);
            assert_int_equal(s.size[TL_RING_DEPS][ring], used ? 128 : 0);
        }
        assert_int_equal(s.tensormap_max, (image ? 1 : 4) * 64 * TL_MAX_TENSORS);
        for (uint64_t i = 0; i < s.boundaries.count; i++)
            figure_is(&s, i, image ? &of_image[i] : &of_rings[i]);
        assert_string_equal(capture_files(&c, files, sizeof(files)), "dfx_meta.json scope_stats/scope_stats.jsonl");
        tl__scope_stats_fini(&s);
        capture_end(&c);
    }
}

/* --- many ------------------------------------------------------------------------------------------------------ */

#define TURNS 300u

static void orchestrate_turns(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor a, b;

    (void)in;
    TL_SCOPE (o) {
        for (unsigned i = 0; i < TURNS; i++)
            TL_SCOPE (o) {
                task(o, NULL, 1, &a);
                task(o, &a, 1, &b);
            }
    }
}

/* Each turn's task is over, as a rule, before the next is submitted: then the heap is empty, and starts again. */
static void orchestrate_slowly(struct tl_orch *o, const struct tl_program_args *in)
{
    const struct timespec moment = {.tv_nsec = 100000};
    struct tl_tensor a;

    (void)in;
    for (unsigned i = 0; i < 50; i++) {
        TL_SCOPE (o) {
            task(o, NULL, 1, &a);
        }
        for (unsigned k = 0; k < 100 && touched <= i; k++)
            nanosleep(&moment, NULL);
    }
}

static void an_empty_heap_takes_nothing(void **state)
{
    static const struct tl_program program = CAPTURE_PROGRAM("slowly", kernels, orchestrate_slowly);

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell += 2) {
        struct capture c;
        struct tl_scope_stats s;

        begin(&c, cell);
        touched = 0;
        assert_int_equal(capture_run(&c, &program, NULL, 0), 0);
        s = stats_of(&c);
        assert_int_equal(s.boundaries.count, 102);
        assert_int_equal(s.boundaries.items[101].span[TL_RING_HEAP].head, 50 * 1024);
        tl__scope_stats_fini(&s);
        capture_end(&c);
    }
}

static void never_back(const struct tl_boundary *b, const struct tl_boundary *before)
{
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        assert_true(b->span[r].tail <= b->span[r].head);
        assert_true(before == NULL || b->span[r].tail >= before->span[r].tail);
        assert_true(before == NULL || b->span[r].head >= before->span[r].head);
    }
}

/* Small buffers, small rings: positions count up past every size, and each boundary is there, in its order. */
static void positions_never_wrap(void **state)
{
    static const struct tl_program program = CAPTURE_PROGRAM("turns", kernels, orchestrate_turns);

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        const struct tl_boundary *before[4] = {NULL}, *last;
        struct capture c;
        struct tl_scope_stats s;
        uint32_t depth = 0;

        begin(&c, cell);
        c.config.dfx_records = 4;
        c.config.dfx_buffers = 2;
        c.config.task_window = is_image(cell) ? 1024 : 8;
        c.config.dep_pool = is_image(cell) ? 1024 : 5;
        c.config.heap_bytes = is_image(cell) ? 1 << 20 : 8 << 10;
        assert_int_equal(capture_run(&c, &program, NULL, 0), 0);
        s = stats_of(&c);
        assert_int_equal(s.boundaries.count, 2 * (TURNS + 2));
        for (uint64_t i = 0; i < s.boundaries.count; i++) {
            const struct tl_boundary *b = &s.boundaries.items[i];

            depth -= b->ends;
            assert_int_equal(b->depth, depth);
            depth += !b->ends;
            never_back(b, before[b->ring]);
            before[b->ring] = b;
            assert_true(b->span[TL_RING_TASKS].head - b->span[TL_RING_TASKS].tail <= s.size[TL_RING_TASKS][b->ring]);
            assert_true(b->span[TL_RING_HEAP].head - b->span[TL_RING_HEAP].tail <= s.size[TL_RING_HEAP][b->ring]);
        }
        last = before[is_image(cell) ? 0 : 1];
        assert_int_equal(last->span[TL_RING_TASKS].head, 2 * TURNS);
        assert_int_equal(last->span[TL_RING_DEPS].head, TURNS);
        assert_true(last->span[TL_RING_HEAP].head >= 2 * TURNS * 1024);
        tl__scope_stats_fini(&s);
        capture_end(&c);
    }
}

/* --- runs that fail -------------------------------------------------------------------------------------------- */

static bool refuse;

static void orchestrate_too_many(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor a;

    (void)in;
    TL_SCOPE (o) {
        for (unsigned i = 0; i < 5; i++)
            task(o, NULL, 1, &a);
        TL_SCOPE (o) {
            for (unsigned i = 0; i < 20; i++) {
                task(o, NULL, 1, &a);
                if (refuse && i == 2)
                    tl_orch_fail(o, "no more of this");
            }
        }
    }
    TL_SCOPE (o) { /* after the failure: is not there */
    }
}

/* Each scope that was open ends where the run stopped: with the ring full, or with what there was. */
static void a_run_that_fails(void **state)
{
    static const struct tl_program program = CAPTURE_PROGRAM("many", kernels, orchestrate_too_many);

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++)
        for (unsigned way = 0; way < 2; way++) {
            bool image = is_image(cell);
            uint64_t inner = way != 0 ? 3 : 8; /* tasks of the inner scope that found room */
            struct capture c;
            struct tl_scope_stats s;

            begin(&c, cell);
            refuse = way != 0;
            c.config.task_window = image ? 16 : 8;
            if (image && !refuse)
                inner = 11;
            assert_int_not_equal(capture_run(&c, &program, NULL, 0), 0);
            s = stats_of(&c);
            assert_true(s.fatal);
            assert_int_equal(s.dropped, 0);
            assert_int_equal(s.boundaries.count, 6);
            for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(s.boundaries.items[i].depth, i);
                assert_false(s.boundaries.items[i].ends);
                assert_int_equal(s.boundaries.items[5 - i].depth, i);
                assert_true(s.boundaries.items[5 - i].ends);
                assert_int_equal(s.boundaries.items[5 - i].site, s.boundaries.items[i].site);
            }
            assert_int_equal(s.boundaries.items[3].span[TL_RING_TASKS].head, image ? 5 + inner : inner);
            assert_int_equal(s.boundaries.items[5].span[TL_RING_TASKS].head, image ? 5 + inner : 5);
            tl__scope_stats_fini(&s);
            capture_end(&c);
        }
}

/* Beside the dump: both streams have what is theirs. */
static void scopes_are_recorded_beside_the_dump(void **state)
{
    static const struct tl_program program = CAPTURE_PROGRAM("both", kernels, orchestrate_nested);

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        struct tl_host_tensor rows[2] = {capture_row("y", TL_OUT, TL_FLOAT32, y, 4),
                                         capture_row("z", TL_OUT, TL_FLOAT32, z, 4)};
        struct capture c;
        struct tl_scope_stats s;

        begin(&c, cell);
        c.config.levels[TL_COLLECT_DUMP] = 2;
        assert_int_equal(capture_run(&c, &program, rows, 2), 0);
        s = stats_of(&c);
        assert_int_equal(s.boundaries.count, 12);
        assert_true(c.count >= 8);
        assert_int_equal(c.result.records_collected, 12 + c.count);
        tl__scope_stats_fini(&s);
        capture_end(&c);
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
        cmocka_unit_test(nested_scopes_by_hand),
        cmocka_unit_test(positions_never_wrap),
        cmocka_unit_test(an_empty_heap_takes_nothing),
        cmocka_unit_test(a_run_that_fails),
        cmocka_unit_test(scopes_are_recorded_beside_the_dump),
    };

    return cmocka_run_group_tests(tests, NULL, close_chips);
}
