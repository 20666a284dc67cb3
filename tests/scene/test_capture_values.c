/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dump says of an argument is true: scalars of every type, views of every dtype and shape against a gather of
 * the test's own, and both stages with the values of that moment. Every platform, transport and runtime.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/error.h>

#include "support/capture.h"

enum { FUNC_LOOK, FUNC_SCALARS, FUNC_STAGES };

/* --- scalars ------------------------------------------------------------------------------------------------- */

/* Hands out what it was given. */
static void copy_scalars(const struct tl_kernel_args *k)
{
    memcpy(TL_DATA(k, 0, uint64_t), k->scalars, k->n_scalars * sizeof(uint64_t));
}

static const struct tl_kernel scalar_kernels[] = {
    TL_KERNEL(FUNC_SCALARS, "scalars", TL_AIV, copy_scalars, TL_OUT),
};

#define SCALARS 32u

static const struct scalar {
    enum tl_dtype dtype;
    uint64_t bits;
    const char *text; /* as the manifest writes it */
} scalars[SCALARS] = {
    {TL_FLOAT32, 0x3f800000, "1.0"},
    {TL_FLOAT32, 0x7fc00000, "\"NaN\""},
    {TL_FLOAT32, 0x7f800000, "\"Infinity\""},
    {TL_FLOAT32, 0xff800000, "\"-Infinity\""},
    {TL_FLOAT32, 0x80000000, "-0.0"},
    {TL_FLOAT32, 0x00000001, NULL}, /* the smallest */
    {TL_FLOAT32, 0x3dcccccd, NULL}, /* 0.1f */
    {TL_BOOL, 1, "true"},
    {TL_BOOL, 0, "false"},
    {TL_INT8, 0x80, "-128"},
    {TL_INT8, 0x7f, "127"},
    {TL_INT16, 0x8000, "-32768"},
    {TL_INT16, 0x1234, "4660"},
    {TL_INT32, 0x80000000, "-2147483648"},
    {TL_INT32, 0x7fffffff, "2147483647"},
    {TL_INT64, UINT64_C(0x8000000000000000), "-9223372036854775808"},
    {TL_INT64, UINT64_C(9007199254740993), "9007199254740993"}, /* 2^53 + 1 */
    {TL_INT64, UINT64_C(0xffffffffffffffff), "-1"},
    {TL_UINT8, 0xff, "255"},
    {TL_UINT16, 0xffff, "65535"},
    {TL_UINT32, 0xffffffff, "4294967295"},
    {TL_UINT64, UINT64_C(0xffffffffffffffff), "18446744073709551615"},
    {TL_UINT64, UINT64_C(9007199254740993), "9007199254740993"},
    {TL_INT64, UINT64_C(0xfffffffffffffffe), "-2"},
    {TL_UINT64, UINT64_C(0x8000000000000001), "9223372036854775809"},
    {TL_BFLOAT16, 0x3fc0, "1.5"},
    {TL_BFLOAT16, 0x7f80, "\"Infinity\""},
    {TL_FLOAT16, 0x3555, NULL}, /* a third */
    {TL_FP8E4M3FN, 0x7e, "448.0"},
    {TL_FP8E8M0, 0x7f, "1.0"},
    {TL_UINT8, 0, "0"},
    {TL_FLOAT32, 0x4b800001, NULL}, /* 2^24 + 2 */
};

static tl_task_id scalar_task;

static void add_scalars(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor out = in->tensors[0];
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    float f[] = {1.0f, NAN, INFINITY, -INFINITY, -0.0f, 1e-45f, 0.1f, 16777218.0f};
    bool yes = true, no = false;
    int8_t i8[] = {INT8_MIN, INT8_MAX};
    int16_t i16[] = {INT16_MIN, 0x1234};
    int32_t i32[] = {INT32_MIN, INT32_MAX};
    int64_t i64[] = {INT64_MIN, INT64_C(9007199254740993), -1};
    uint8_t u8 = 255, none = 0;
    uint16_t u16 = 65535, bf16[] = {0x3fc0, 0x7f80}, f16 = 0x3555;
    const uint32_t u32 = UINT32_MAX;
    uint64_t u64[] = {UINT64_MAX, UINT64_C(9007199254740993)};
    long long ll = -2;
    unsigned long long ull = 0x8000000000000001u;
    uint8_t fp8 = 0x7e, e8m0 = 0x7f;

    tl_add_output(&args, &out);
    for (int i = 0; i < 7; i++)
        tl_add_scalar(&args, f[i]);
    tl_add_scalar(&args, yes);
    tl_add_scalar(&args, no);
    tl_add_scalar(&args, i8[0]);
    tl_add_scalar(&args, i8[1]);
    tl_add_scalar(&args, i16[0]);
    tl_add_scalar(&args, i16[1]);
    tl_add_scalar(&args, i32[0]);
    tl_add_scalar(&args, i32[1]);
    for (int i = 0; i < 3; i++)
        tl_add_scalar(&args, i64[i]);
    tl_add_scalar(&args, u8);
    tl_add_scalar(&args, u16);
    tl_add_scalar(&args, u32);
    tl_add_scalar(&args, u64[0]);
    tl_add_scalar(&args, u64[1]);
    tl_add_scalar(&args, ll);
    tl_add_scalar(&args, ull);
    tl_add_scalar_as(&args, bf16[0], TL_BFLOAT16);
    tl_add_scalar_as(&args, bf16[1], TL_BFLOAT16);
    tl_add_scalar_as(&args, f16, TL_FLOAT16);
    tl_add_scalar_as(&args, fp8, TL_FP8E4M3FN);
    tl_add_scalar_as(&args, e8m0, TL_FP8E8M0);
    tl_add_scalar(&args, none);
    tl_add_scalar(&args, f[7]);
    scalar_task = tl_submit_aiv(o, FUNC_SCALARS, &args);
}

static const struct tl_program scalar_program = CAPTURE_PROGRAM("scalars", scalar_kernels, add_scalars);

/* The manifest's own text: what other readers see. */
static void expect_texts(const struct capture *c)
{
    static char text[1 << 16];
    char path[200], want[160];
    const char *line;
    size_t n;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/args_dump/args_dump.json", c->dir);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    for (unsigned i = 0; i < SCALARS; i++) {
        (void)snprintf(want, sizeof(want),
                       "\"arg_index\": %u, \"kind\": \"scalar\", \"dtype\": \"%s\", \"value\": ", i + 1,
                       tl_dtype_name(scalars[i].dtype));
        line = strstr(text, want);
        if (line == NULL)
            fail_msg("not in the manifest: %s", want);
        if (scalars[i].text == NULL)
            continue;
        (void)snprintf(want, sizeof(want), "%s, \"shape\": []", scalars[i].text);
        line = strstr(line, "\"value\": ") + strlen("\"value\": ");
        if (strncmp(line, want, strlen(want)) != 0)
            fail_msg("scalar %u: %.60s, not %s", i, line, want);
    }
}

static void scalars_of_every_type(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        uint64_t got[SCALARS] = {0}, want[SCALARS];
        struct tl_host_tensor tensors[] = {capture_row("out", TL_OUT, TL_UINT64, got, SCALARS)};
        struct capture c;

        capture_begin(&c, cell, 2);
        if (capture_run(&c, &scalar_program, tensors, 1) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.count, SCALARS + 1);
        for (unsigned i = 0; i < SCALARS; i++) {
            want[i] = scalars[i].bits;
            capture_scalar(&c, scalar_task, i + 1, scalars[i].dtype, scalars[i].bits);
        }
        assert_memory_equal(got, want, sizeof(got));
        capture_payload(&c, capture_get(&c, scalar_task, TL_STAGE_AFTER, 0), TL_ROLE_OUTPUT, want, sizeof(want));
        expect_texts(&c);
        capture_end(&c);
    }
}

/* --- views --------------------------------------------------------------------------------------------------- */

#define POOL 4096u

static void look(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel look_kernels[] = {TL_KERNEL(FUNC_LOOK, "look", TL_AIV, look, TL_IN)};

static const struct view {
    const char *what;
    uint8_t rank;
    bool contiguous;
    uint32_t shape[TL_MAX_DIMS];
    uint64_t strides[TL_MAX_DIMS];
    uint64_t start;
} views[] = {
    {"one element", 0, true, {0}, {0}, 0},
    {"one element further in", 0, true, {0}, {0}, 77},
    {"dense", 1, true, {33}, {1}, 0},
    {"dense from an odd place", 1, true, {32}, {1}, 13},
    {"dense in two dims", 2, true, {5, 7}, {7, 1}, 3},
    {"transposed", 2, false, {7, 5}, {1, 7}, 3},
    {"columns of a matrix", 2, false, {4, 3}, {16, 1}, 21},
    {"every third", 1, false, {17}, {3}, 5},
    {"every other of every other", 2, false, {3, 4}, {20, 2}, 1},
    {"a row broadcast", 2, false, {6, 9}, {0, 1}, 11},
    {"a column broadcast", 2, false, {6, 9}, {1, 0}, 11},
    {"one element broadcast", 3, false, {2, 3, 4}, {0, 0, 0}, 9},
    {"overlapping windows", 2, false, {5, 4}, {2, 1}, 0},
    {"no element", 3, true, {2, 0, 3}, {3, 3, 1}, 0},
    {"dims of one, odd strides", 4, true, {1, 6, 1, 2}, {999, 2, 555, 1}, 4},
    {"three dims turned round", 3, false, {3, 4, 5}, {1, 3, 12}, 7},
    {"four dims, two swapped", 4, false, {2, 3, 4, 5}, {60, 5, 15, 1}, 1},
    {"five dims, dense", 5, true, {2, 1, 3, 2, 3}, {18, 18, 6, 3, 1}, 30},
    {"five dims, strided", 5, false, {2, 2, 3, 2, 2}, {100, 43, 11, 5, 2}, 6},
};
#define VIEWS ((unsigned)(sizeof(views) / sizeof(views[0])))

static tl_task_id view_task[TL_DTYPE_COUNT][VIEWS], odd_task[2];

static void look_at_views(struct tl_orch *o, const struct tl_program_args *in)
{
    for (unsigned dtype = 0; dtype < TL_DTYPE_COUNT; dtype++)
        for (unsigned i = 0; i < VIEWS; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor t = in->tensors[0];

            t.dtype = (uint8_t)dtype;
            t.rank = views[i].rank;
            t.start_offset = views[i].start;
            memcpy(t.shape, views[i].shape, sizeof(t.shape));
            memcpy(t.strides, views[i].strides, sizeof(t.strides));
            tl_add_input(&args, &t);
            view_task[dtype][i] = tl_submit_aiv(o, FUNC_LOOK, &args);
        }
    for (unsigned i = 0; i < 2; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_tensor t = in->tensors[0];

        if (i == 0)
            t.rank = TL_MAX_DIMS + 1;
        else
            t.dtype = 77;
        tl_add_input(&args, &t);
        odd_task[i] = tl_submit_aiv(o, FUNC_LOOK, &args);
    }
}

static const struct tl_program view_program = CAPTURE_PROGRAM("views", look_kernels, look_at_views);

/* Element by element, by its indices; nothing merged, nothing assumed. Returns the bytes. */
static size_t gather_slowly(const struct view *v, unsigned bits, const uint8_t *pool, uint8_t *out)
{
    uint64_t index[TL_MAX_DIMS] = {0}, n = 1;

    for (unsigned d = 0; d < v->rank; d++)
        n *= v->shape[d];
    memset(out, 0, (size_t)(n * bits + 7) / 8);
    for (uint64_t at = 0; at < n; at++) {
        uint64_t element = v->start;

        for (unsigned d = 0; d < v->rank; d++)
            element += index[d] * v->strides[d];
        for (unsigned bit = 0; bit < bits; bit++) {
            uint64_t from = element * bits + bit, to = at * bits + bit;

            if (pool[from / 8] >> from % 8 & 1)
                out[to / 8] = (uint8_t)(out[to / 8] | 1u << to % 8);
        }
        for (unsigned d = v->rank; d-- > 0 && ++index[d] == v->shape[d];)
            index[d] = 0;
    }
    return (size_t)(n * bits + 7) / 8;
}

static void expect_view(const struct capture *c, unsigned dtype, unsigned i, const uint8_t *pool)
{
    const struct tl_dump_record *r = capture_get(c, view_task[dtype][i], TL_STAGE_BEFORE, 0);
    uint8_t want[2048];
    size_t size = gather_slowly(&views[i], tl_dtype_bits(dtype), pool, want);

    assert_int_equal(r->dtype, dtype);
    assert_int_equal(r->rank, views[i].rank);
    assert_int_equal(r->start_offset, views[i].start);
    assert_memory_equal(r->shape, views[i].shape, sizeof(r->shape));
    assert_memory_equal(r->strides, views[i].strides, sizeof(r->strides));
    if (((r->flags & TL_ARG_CONTIGUOUS) != 0) != views[i].contiguous)
        fail_msg("%s: is_contiguous", views[i].what);
    capture_payload(c, r, TL_ROLE_INPUT, want, size);
}

static void expect_unsupported(const struct capture *c)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct tl_dump_record *r = capture_get(c, odd_task[i], TL_STAGE_BEFORE, 0);

        assert_true(r->flags & TL_ARG_UNSUPPORTED);
        assert_int_equal(r->bin_size, 0);
        assert_int_equal(r->rank, i == 0 ? TL_MAX_DIMS + 1 : 1);
        assert_int_equal(r->dtype, i == 0 ? TL_UINT8 : TL_DTYPE_UNKNOWN);
    }
}

static void views_of_every_dtype(void **state)
{
    static uint8_t pool[POOL];

    (void)state;
    for (unsigned i = 0; i < POOL; i++)
        pool[i] = (uint8_t)(i * 167 + (i >> 8) * 59 + 13);
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        struct tl_host_tensor tensors[] = {capture_row("pool", TL_IN, TL_UINT8, pool, POOL)};
        struct capture c;

        capture_begin(&c, cell, 2);
        if (capture_run(&c, &view_program, tensors, 1) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.count, TL_DTYPE_COUNT * VIEWS + 2);
        for (unsigned dtype = 0; dtype < TL_DTYPE_COUNT; dtype++)
            for (unsigned i = 0; i < VIEWS; i++)
                expect_view(&c, dtype, i, pool);
        expect_unsupported(&c);
        assert_int_equal(capture_logged(""), 0);
        capture_end(&c);
    }
}

/* --- a view of no memory ------------------------------------------------------------------------------------- */

static void look_at_nothing(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT, more = TL_TASK_ARGS_INIT;
    struct tl_tensor t = in->tensors[0];

    tl_add_input(&more, &t);
    odd_task[1] = tl_submit_aiv(o, FUNC_LOOK, &more);
    t.buffer = UINT64_C(0x7777) << 40; /* made up: nowhere on the chip */
    tl_add_no_dep(&args, &t);
    odd_task[0] = tl_submit_aiv(o, FUNC_LOOK, &args);
}

static const struct tl_program nothing_program = CAPTURE_PROGRAM("nothing", look_kernels, look_at_nothing);

/* It is recorded with its geometry, its payload counts as lost, and the record and the run say so. */
static void a_view_of_no_memory(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        uint8_t bytes[5] = {1, 2, 3, 4, 5};
        struct tl_host_tensor tensors[] = {capture_row("bytes", TL_IN, TL_UINT8, bytes, 5)};
        const struct tl_dump_record *r;
        struct capture c;

        capture_begin(&c, cell, 2);
        assert_int_equal(capture_run(&c, &nothing_program, tensors, 1), TL_ELOST);
        assert_int_equal(c.result.run_code, 0);
        assert_int_equal(c.result.record_code, TL_ELOST);
        assert_int_equal(c.result.records_attempted, 2);
        assert_int_equal(c.result.records_collected, 2);
        assert_int_equal(c.result.payloads_lost, 1);
        r = capture_get(&c, odd_task[0], TL_STAGE_BEFORE, 0);
        assert_true(r->flags & TL_ARG_LOST);
        assert_string_equal(tl_dump_cause_name(r->cause), "bad_view");
        assert_int_equal(r->shape[0], 5);
        assert_int_equal(r->bin_size, 0);
        capture_payload(&c, capture_get(&c, odd_task[1], TL_STAGE_BEFORE, 0), TL_ROLE_INPUT, bytes, sizeof(bytes));
        capture_end(&c);
    }
}

/* --- stages -------------------------------------------------------------------------------------------------- */

#define SIDE 6u

/* Adds 100 i to argument i's elements; what is an input stays. */
static void add_hundreds(const struct tl_kernel_args *k)
{
    for (uint32_t i = 1; i < k->n_tensors; i++) {
        const struct tl_tensor *t = &k->tensors[i];
        int32_t *data = TL_DATA(k, i, int32_t);

        for (uint32_t row = 0; row < t->shape[0] && i != 3; row++)
            for (uint32_t col = 0; col < t->shape[1]; col++)
                data[row * t->strides[0] + col * t->strides[1]] += (int32_t)(100 * i);
    }
}

static const struct tl_kernel stage_kernels[] = {
    TL_KERNEL(FUNC_STAGES, "stages", TL_AIV, add_hundreds, TL_IN, TL_INOUT, TL_OUT_EXISTING, TL_IN, TL_OUT, TL_INOUT,
              TL_NO_DEP),
};

static tl_task_id stage_task[2];

static void submit_stages(struct tl_orch *o, const struct tl_program_args *in)
{
    for (unsigned task = 0; task < 2; task++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_tensor t[7];

        for (unsigned i = 0; i < 7; i++)
            t[i] = in->tensors[i];
        /* The existing output is written through a transposed view of a part of it. */
        (void)tl_view(&t[2], (const uint32_t[]){1, 2}, (const uint32_t[]){4, 3}, &t[2]);
        (void)tl_transpose(&t[2], 0, 1, &t[2]);
        tl_add_input(&args, &t[0]);
        tl_add_inout(&args, &t[1]);
        tl_add_output(&args, &t[2]);
        for (unsigned i = 3; i < 7; i++)
            tl_add_no_dep(&args, &t[i]);
        if (task == 1) /* without dependencies nothing else orders what is NO_DEP */
            tl_set_dependencies(&args, &stage_task[0], 1);
        stage_task[task] = tl_submit_aiv(o, FUNC_STAGES, &args);
    }
}

static const struct tl_program stage_program = CAPTURE_PROGRAM("stages", stage_kernels, submit_stages);

/* Role of each argument, and whether there is a record before and after. */
static const struct {
    uint8_t role;
    bool before, after;
} stage_wants[7] = {
    {TL_ROLE_INPUT, true, false},
    {TL_ROLE_INOUT, true, true},
    {TL_ROLE_OUTPUT, false, true},
    {TL_ROLE_INPUT, true, false}, /* NO_DEP takes the role of the signature: in, out, inout ... */
    {TL_ROLE_OUTPUT, false, true},
    {TL_ROLE_INOUT, true, true},
    {TL_ROLE_INPUT, true, false}, /* ... and input where the signature knows no better */
};

/* Argument i as it is after `runs` runs of the kernel, as its payload has it. */
static size_t stage_bytes(unsigned i, unsigned runs, int32_t *out)
{
    int32_t add = i == 0 || i == 3 ? 0 : (int32_t)(100 * i * runs);
    size_t n = 0;

    if (i == 2) { /* [3, 4], transposed: column by column of the part */
        for (unsigned col = 2; col < 5; col++)
            for (unsigned row = 1; row < 5; row++)
                out[n++] = (int32_t)(1000 * i + row * SIDE + col) + add;
        return n * sizeof(*out);
    }
    for (unsigned at = 0; at < SIDE * SIDE; at++)
        out[n++] = (int32_t)(1000 * i + at) + add;
    return n * sizeof(*out);
}

static void expect_stages(const struct capture *c)
{
    int32_t want[SIDE * SIDE];

    for (unsigned task = 0; task < 2; task++)
        for (unsigned i = 0; i < 7; i++) {
            const struct tl_dump_record *before = capture_find(c, stage_task[task], TL_STAGE_BEFORE, i);
            const struct tl_dump_record *after = capture_find(c, stage_task[task], TL_STAGE_AFTER, i);

            assert_int_equal(before != NULL, stage_wants[i].before);
            assert_int_equal(after != NULL, stage_wants[i].after);
            if (before != NULL)
                capture_payload(c, before, (enum tl_role)stage_wants[i].role, want, stage_bytes(i, task, want));
            if (after != NULL)
                capture_payload(c, after, (enum tl_role)stage_wants[i].role, want, stage_bytes(i, task + 1, want));
        }
}

static void an_inout_is_recorded_before_and_after(void **state)
{
    static int32_t data[7][SIDE * SIDE];

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        struct tl_host_tensor tensors[7];
        struct capture c;

        for (unsigned i = 0; i < 7; i++) {
            for (unsigned at = 0; at < SIDE * SIDE; at++)
                data[i][at] = (int32_t)(1000 * i + at);
            tensors[i] = capture_row("t", i == 0 ? TL_IN : TL_INOUT, TL_INT32, data[i], SIDE);
            tensors[i].rank = 2;
            tensors[i].shape[1] = SIDE;
        }
        capture_begin(&c, cell, 2);
        if (capture_run(&c, &stage_program, tensors, 7) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.count, 2 * 9);
        expect_stages(&c);
        assert_int_equal(capture_logged(""), 0); /* the signature and the submit agree */
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
        cmocka_unit_test(scalars_of_every_type),
        cmocka_unit_test(views_of_every_dtype),
        cmocka_unit_test(a_view_of_no_memory),
        cmocka_unit_test(an_inout_is_recorded_before_and_after),
    };

    return cmocka_run_group_tests(tests, NULL, close_chips);
}
