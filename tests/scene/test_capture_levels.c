/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The levels of the dump, the marks and the tags, end to end: which records and payloads each gives, which files there
 * are, and what is an error. Every platform, transport and runtime; each payload is compared byte by byte.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/error.h>

#include "support/capture.h"

#define N 24u

enum { FUNC_ADD, FUNC_SCALE, FUNC_FIRST };

/* z = scale * (x + y); acc += n */
static void add(const struct tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float), *y = TL_DATA(k, 1, const float);
    float *z = TL_DATA(k, 2, float), *acc = TL_DATA(k, 3, float);

    for (uint32_t i = 0; i < N; i++) {
        z[i] = TL_SCALAR_OF(k, 0, float) * (x[i] + y[i]);
        acc[i] += (float)TL_SCALAR_OF(k, 1, int32_t);
    }
}

/* w = factor * z + zero */
static void scale_row(const struct tl_kernel_args *k)
{
    const float *z = TL_DATA(k, 0, const float), *zero = TL_DATA(k, 1, const float);
    float *w = TL_DATA(k, 2, float);

    for (uint32_t i = 0; i < N; i++)
        w[i] = TL_SCALAR_OF(k, 0, float) * z[i] + zero[i];
}

/* Doubles its first argument's first element, for tasks that differ in their argument lists. */
static void first(const struct tl_kernel_args *k)
{
    TL_DATA(k, k->n_tensors - 1, float)[0] = 2 * TL_DATA(k, 0, const float)[0];
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_ADD, "add", TL_AIV, add, TL_IN, TL_IN, TL_OUT, TL_INOUT),
    TL_KERNEL(FUNC_SCALE, "scale", TL_AIC, scale_row, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_FIRST, "first", TL_AIV, first, TL_IN, TL_IN, TL_OUT),
};

/* --- levels and marks ----------------------------------------------------------------------------------------------
 */

enum marks { NOTHING, ARGUMENTS, TASK, A_SCALAR, TENSOR_NOT_ADDED, SCALAR_NOT_ADDED };

static enum marks marks;
static tl_task_id task_add, task_scale;

static void mark_add(struct tl_task_args *args, struct tl_tensor *x, struct tl_tensor *z, float *scale)
{
    struct tl_tensor other = *x; /* an equal tensor, but not the variable that was added */
    float same = *scale;

    if (marks == ARGUMENTS)
        tl_dump(args, *x, *z, *scale);
    if (marks == A_SCALAR)
        tl_dump(args, *scale);
    if (marks == TENSOR_NOT_ADDED)
        tl_dump(args, other);
    if (marks == SCALAR_NOT_ADDED)
        tl_dump(args, same);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], y = in->tensors[1], z = in->tensors[2], acc = in->tensors[3];
    struct tl_tensor zero = in->tensors[4], w = tl_tensor_make(TL_FLOAT32, 1, x.shape);
    float scale = 1.0f, factor = -0.5f;
    int32_t n = 7;

    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT, after = TL_TASK_ARGS_INIT;

        tl_add_input(&args, &x);
        tl_add_input(&args, &y);
        tl_add_output(&args, &z);
        tl_add_inout(&args, &acc);
        tl_add_scalar(&args, scale);
        tl_add_scalar(&args, n);
        mark_add(&args, &x, &z, &scale);
        task_add = tl_submit_aiv(o, FUNC_ADD, &args);
        tl_add_input(&after, &z);
        tl_add_input(&after, &zero);
        tl_add_output(&after, &w);
        tl_add_scalar(&after, factor);
        if (marks == TASK)
            tl_dump(&after);
        task_scale = tl_submit_aic(o, FUNC_SCALE, &after);
    }
}

static const struct tl_program program = CAPTURE_PROGRAM("levels", kernels, orchestrate);

/* Every argument that there is; marks are masks over this table. */
static const struct argument {
    bool second; /* task */
    uint8_t stage, role, arg;
    bool scalar;
} arguments[] = {
    {false, TL_STAGE_BEFORE, TL_ROLE_INPUT, 0, false}, {false, TL_STAGE_BEFORE, TL_ROLE_INPUT, 1, false},
    {false, TL_STAGE_BEFORE, TL_ROLE_INOUT, 3, false}, {false, TL_STAGE_BEFORE, TL_ROLE_INPUT, 4, true},
    {false, TL_STAGE_BEFORE, TL_ROLE_INPUT, 5, true},  {false, TL_STAGE_AFTER, TL_ROLE_OUTPUT, 2, false},
    {false, TL_STAGE_AFTER, TL_ROLE_INOUT, 3, false},  {true, TL_STAGE_BEFORE, TL_ROLE_INPUT, 0, false},
    {true, TL_STAGE_BEFORE, TL_ROLE_INPUT, 1, false},  {true, TL_STAGE_BEFORE, TL_ROLE_INPUT, 3, true},
    {true, TL_STAGE_AFTER, TL_ROLE_OUTPUT, 2, false},
};
#define ALL 0x7FFu
#define TENSORS 0x5E7u
#define MARKED_ARGUMENTS (1u << 0 | 1u << 3 | 1u << 5)
#define MARKED_TASK (1u << 7 | 1u << 8 | 1u << 9 | 1u << 10)

struct data {
    float x[N], y[N], z[N], acc[N], zero[N];
    float acc_before[N], z_after[N], acc_after[N], w[N]; /* as they should be */
};

static unsigned fill(struct data *d, struct tl_host_tensor *t)
{
    memset(d, 0, sizeof(*d));
    for (uint32_t i = 0; i < N; i++) {
        d->x[i] = 2.0f + (float)(i / 8); /* 2.0 and 3.0 at first */
        d->y[i] = 3.0f;
        d->z[i] = -99.0f;
        d->acc[i] = d->acc_before[i] = (float)i;
        d->z_after[i] = 5.0f + (float)(i / 8);
        d->acc_after[i] = (float)(i + 7);
        d->w[i] = -2.5f - 0.5f * (float)(i / 8);
    }
    t[0] = capture_row("x", TL_IN, TL_FLOAT32, d->x, N);
    t[1] = capture_row("y", TL_IN, TL_FLOAT32, d->y, N);
    t[2] = capture_row("z", TL_OUT, TL_FLOAT32, d->z, N);
    t[3] = capture_row("acc", TL_INOUT, TL_FLOAT32, d->acc, N);
    t[4] = capture_row("zero", TL_IN, TL_FLOAT32, d->zero, N);
    return 5;
}

static const float *bytes_of(const struct data *d, unsigned i)
{
    const float *const bytes[] = {d->x,         d->y,       d->acc_before, NULL, NULL, d->z_after,
                                  d->acc_after, d->z_after, d->zero,       NULL, d->w};

    return bytes[i];
}

/* The records of `present`, with a payload where `payload` has them, and no others. */
static void expect_records(const struct capture *c, const struct data *d, unsigned present, unsigned payload,
                           unsigned marked)
{
    assert_int_equal(c->count, (unsigned)__builtin_popcount(present));
    for (unsigned i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        const struct argument *a = &arguments[i];
        tl_task_id task = a->second ? task_scale : task_add;
        const struct tl_dump_record *r = capture_find(c, task, (enum tl_stage)a->stage, a->arg);

        if ((present >> i & 1u) == 0) {
            assert_null(r);
            continue;
        }
        assert_non_null(r);
        assert_int_equal(r->func_count, 1);
        assert_int_equal(r->func_id[0], a->second ? FUNC_SCALE : FUNC_ADD);
        assert_int_equal((r->flags & TL_ARG_MARKED) != 0, marked >> i & 1u);
        assert_false(r->flags & (TL_ARG_AMBIGUOUS | TL_ARG_TRUNCATED | TL_ARG_MISMATCH));
        if (a->scalar) {
            const float values[] = {1.0f, 0, -0.5f};
            uint32_t bits = 7;

            if (i != 4)
                memcpy(&bits, &values[i == 3 ? 0 : 2], sizeof(bits));
            capture_scalar(c, task, a->arg, i == 4 ? TL_INT32 : TL_FLOAT32, bits);
            continue;
        }
        assert_int_equal(r->dtype, TL_FLOAT32);
        assert_int_equal(r->rank, 1);
        assert_int_equal(r->shape[0], N);
        assert_int_equal(r->strides[0], 1);
        assert_int_equal(r->start_offset, 0);
        assert_true(r->flags & TL_ARG_CONTIGUOUS);
        capture_payload(c, r, (enum tl_role)a->role, bytes_of(d, i), payload >> i & 1u ? N * sizeof(float) : 0);
    }
}

static const struct level_case {
    int level;
    enum marks marks;
    unsigned present, payload, marked;
    const char *files;
} level_cases[] = {
    {0, NOTHING, 0, 0, 0, ""},
    {0, ARGUMENTS, 0, 0, 0, ""},
    {0, TASK, 0, 0, 0, ""},
    {1, NOTHING, 0, 0, 0, "dfx_meta.json name_map_default.json"},
    {1, ARGUMENTS, MARKED_ARGUMENTS, MARKED_ARGUMENTS, MARKED_ARGUMENTS,
     "args_dump/args.bin args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {1, TASK, MARKED_TASK, MARKED_TASK, MARKED_TASK,
     "args_dump/args.bin args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {1, A_SCALAR, 1u << 3, 0, 1u << 3,
     "args_dump/args.bin args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {2, NOTHING, ALL, ALL, 0, "args_dump/args.bin args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {2, ARGUMENTS, ALL, ALL, MARKED_ARGUMENTS,
     "args_dump/args.bin args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {3, NOTHING, ALL, 0, 0, "args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {3, A_SCALAR, ALL, 0, 1u << 3, "args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {3, ARGUMENTS, ALL, MARKED_ARGUMENTS, MARKED_ARGUMENTS,
     "args_dump/args.bin args_dump/args_dump.json dfx_meta.json name_map_default.json"},
    {3, TASK, ALL, MARKED_TASK, MARKED_TASK,
     "args_dump/args.bin args_dump/args_dump.json dfx_meta.json name_map_default.json"},
};

/* All cases one after the other on one chip: nothing of a run is left in the next. */
static void each_level_records_what_its_marks_call_for(void **state)
{
    struct tl_host_tensor tensors[5];
    struct capture c;
    struct data d;
    char files[300];

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * TL_ARRAY_COUNT(level_cases); i++) {
        const struct level_case *at = &level_cases[i % TL_ARRAY_COUNT(level_cases)];
        unsigned n = fill(&d, tensors);

        marks = at->marks;
        capture_begin(&c, i / TL_ARRAY_COUNT(level_cases), at->level);
        if (capture_run(&c, &program, tensors, n) != 0)
            fail_msg("%s", c.error.msg);
        assert_string_equal(capture_files(&c, files, sizeof(files)), at->files);
        assert_int_equal(c.result.tasks, 2);
        assert_true(c.result.wall_ns > 0);
        assert_string_equal(c.result.artifacts, at->level == 0 ? "" : c.dir);
        assert_memory_equal(d.z, d.z_after, sizeof(d.z));
        assert_memory_equal(d.acc, d.acc_after, sizeof(d.acc));
        capture_sound(&c);
        assert_int_equal(c.dump != NULL, at->present != 0);
        assert_int_equal(capture_logged("nothing was marked"), at->level == 1 && at->present == 0);
        assert_int_equal(capture_logged(""), at->level == 1 && at->present == 0);
        if (c.dump != NULL) {
            expect_records(&c, &d, at->present, at->payload & TENSORS, at->marked);
            assert_string_equal(tl__dump_summary(c.dump)->bin_file, strstr(at->files, "bin") ? "args.bin" : "");
        }
        capture_end(&c);
    }
}

/* A mark on what was not added is an error where marks count, and nothing elsewhere. */
static void a_mark_on_what_was_not_added_is_an_error_where_marks_count(void **state)
{
    struct tl_host_tensor tensors[5];
    struct capture c;
    struct data d;

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * 8; i++) {
        unsigned n = fill(&d, tensors);
        int level = (int)(i % 4);

        marks = i % 8 < 4 ? TENSOR_NOT_ADDED : SCALAR_NOT_ADDED;
        capture_begin(&c, i / 8, level);
        if (level == 1 || level == 3) {
            assert_int_equal(capture_run(&c, &program, tensors, n), TL_EGRAPH);
            assert_non_null(strstr(c.error.msg, marks == TENSOR_NOT_ADDED
                                                    ? "tl_dump names a tensor that was not added"
                                                    : "tl_dump names a scalar that was not added"));
            assert_null(c.dump); /* it was the first task: nothing ran */
        } else {
            assert_int_equal(capture_run(&c, &program, tensors, n), 0);
            assert_memory_equal(d.z, d.z_after, sizeof(d.z));
            if (level == 2)
                expect_records(&c, &d, ALL, TENSORS, 0);
        }
        capture_sound(&c);
        capture_end(&c);
    }
}

/* --- ambiguity ------------------------------------------------------------------------------------------------------
 */

static tl_task_id task_twice;

/* One tensor twice and one scalar twice, both marked. */
static void add_twice(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], z = in->tensors[1];
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    int32_t k = 41, alone = 5;

    tl_add_input(&args, &x);
    tl_add_input(&args, &x);
    tl_add_output(&args, &z);
    tl_add_scalar(&args, k);
    k = 42;
    tl_add_scalar(&args, alone);
    tl_add_scalar(&args, k);
    tl_dump(&args, x, k, alone);
    task_twice = tl_submit_aiv(o, FUNC_FIRST, &args);
}

static const struct tl_program twice_program = CAPTURE_PROGRAM("twice", kernels, add_twice);

static void a_mark_that_matches_twice(void **state)
{
    struct capture c;

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * 2; i++) {
        float x[2] = {1.5f, 2.5f}, z[2] = {0, 0};
        struct tl_host_tensor tensors[] = {capture_row("x", TL_IN, TL_FLOAT32, x, 2),
                                           capture_row("z", TL_OUT, TL_FLOAT32, z, 2)};
        bool level3 = i % 2;

        capture_begin(&c, i / 2, level3 ? 3 : 1);
        assert_int_equal(capture_run(&c, &twice_program, tensors, 2), 0);
        capture_sound(&c);
        assert_int_equal(c.count, level3 ? 6 : 3);
        for (uint64_t r = 0; r < c.count; r++) {
            uint32_t arg = c.records[r].arg_index;

            assert_int_equal((c.records[r].flags & TL_ARG_AMBIGUOUS) != 0, arg == 0 || arg == 3);
            assert_int_equal((c.records[r].flags & TL_ARG_MARKED) != 0, arg == 0 || arg == 3 || arg == 4);
        }
        capture_payload(&c, capture_get(&c, task_twice, TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, x, sizeof(x));
        capture_scalar(&c, task_twice, 3, TL_INT32, 41); /* the value when it was added */
        capture_scalar(&c, task_twice, 4, TL_INT32, 5);
        if (level3) {
            capture_payload(&c, capture_get(&c, task_twice, TL_STAGE_BEFORE, 1), TL_ROLE_INPUT, NULL, 0);
            capture_payload(&c, capture_get(&c, task_twice, TL_STAGE_AFTER, 2), TL_ROLE_OUTPUT, NULL, 0);
            capture_scalar(&c, task_twice, 5, TL_INT32, 42);
        }
        capture_end(&c);
    }
}

/* --- tags ---------------------------------------------------------------------------------------------------- */

static tl_task_id tag_task[8];

static tl_task_id use(struct tl_orch *o, const struct tl_tensor *in, bool inout)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor out = tl_tensor_make(TL_FLOAT32, 1, (const uint32_t[]){1});

    tl_add_input(&args, in);
    if (inout)
        args.tensors[0].direction = TL_INOUT;
    tl_add_output(&args, &out);
    return tl_submit_aiv(o, FUNC_FIRST, &args);
}

static void write_to(struct tl_orch *o, const struct tl_tensor *from, struct tl_tensor *to)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, from);
    tl_add_output(&args, to);
    tl_submit_aiv(o, FUNC_FIRST, &args);
}

static int never_line;

static void tags(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], y = in->tensors[1], copy, view, flat, never;
    const uint32_t none[2] = {0, 0}, half[2] = {1, 4}, eight = 8;

    TL_SCOPE (o) {
        tag_task[0] = use(o, &x, false); /* before the tag: not a later task */
        tl_dump_tag(o, &x);
        tl_dump_tag(o, &x); /* as a loop would: one value all the same */
        copy = in->tensors[0];
        tag_task[1] = use(o, &copy, false); /* a copy is the same value */
        (void)tl_view(&x, none, half, &view);
        tag_task[2] = use(o, &view, false); /* a view is another */
        (void)tl_reshape(&x, 1, &eight, &flat);
        tag_task[3] = use(o, &flat, false); /* so is a reshape */
        tag_task[4] = use(o, &x, true);     /* an INOUT consumes it ... */
        tag_task[5] = use(o, &x, false);    /* ... and keeps it */
        write_to(o, &y, &x);
        tag_task[6] = use(o, &x, false); /* written again: another value */
        never_line = __LINE__ + 2;
        never = view;
        tl_dump_tag(o, &never);
        tag_task[7] = use(o, &y, false);
    }
}

static const struct tl_kernel tag_kernels[] = {
    TL_KERNEL(FUNC_FIRST, "first", TL_AIV, first, TL_NO_DEP, TL_OUT),
};
static const struct tl_program tag_program = CAPTURE_PROGRAM("tags", tag_kernels, tags);

static void exactly_the_tagged_value(void **state)
{
    struct capture c;
    char line[300];

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * 4; i++) {
        float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {9};
        const uint32_t shape[2] = {2, 4};
        struct tl_host_tensor tensors[] = {capture_row("x", TL_INOUT, TL_FLOAT32, x, 0),
                                           capture_row("y", TL_IN, TL_FLOAT32, y, 8)};
        int level = (int)(i % 4);
        float before[8];

        tensors[0].rank = 2;
        memcpy(tensors[0].shape, shape, sizeof(shape));
        memcpy(before, x, sizeof(x));
        capture_begin(&c, i / 4, level);
        assert_int_equal(capture_run(&c, &tag_program, tensors, 2), 0);
        capture_sound(&c);
        (void)snprintf(line, sizeof(line), "tl_dump_tag(&never) at scene/test_capture_levels.c:%d:", never_line);
        assert_int_equal(capture_logged(line), level == 1 || level == 3);
        assert_int_equal(capture_logged("tl_dump_tag"), level == 1 || level == 3);
        for (unsigned k = 0; k < 8 && level % 2 == 1; k++) {
            bool tagged = k == 1 || k == 4 || k == 5;
            const struct tl_dump_record *r = capture_find(&c, tag_task[k], TL_STAGE_BEFORE, 0);

            assert_int_equal(r != NULL, tagged || level == 3);
            if (r != NULL)
                capture_payload(&c, r, k == 4 ? TL_ROLE_INOUT : TL_ROLE_INPUT, before, tagged ? sizeof(x) : 0);
            r = capture_find(&c, tag_task[k], TL_STAGE_AFTER, 0);
            assert_int_equal(r != NULL, k == 4);
            if (r != NULL)
                capture_payload(&c, r, TL_ROLE_INOUT, before, sizeof(x));
        }
        if (level == 1)
            assert_int_equal(c.count, 4);
        if (level == 2)
            assert_int_equal(c.count, 19); /* 9 tasks with an input and an output, one of them an INOUT */
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
        cmocka_unit_test(each_level_records_what_its_marks_call_for),
        cmocka_unit_test(a_mark_on_what_was_not_added_is_an_error_where_marks_count),
        cmocka_unit_test(a_mark_that_matches_twice),
        cmocka_unit_test(exactly_the_tagged_value),
    };

    return cmocka_run_group_tests(tests, NULL, close_chips);
}
