/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters and data of a run: what prepare() and golden() see, and what the error says when they err. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "host/data.h"
#include "host/params.h"

static int (*prepare_step)(struct tl_data *d);
static int (*golden_step)(struct tl_data *d);

static int prepare(struct tl_data *d)
{
    return prepare_step(d);
}

static int golden(struct tl_data *d)
{
    return golden_step(d);
}

static const struct tl_param params[] = {{"n", 4, 1, 100, ""}, {"tiles", 2, 1, 9, ""}};
static const struct tl_case cases[] = {{.name = "small", .settings = {{"n", 3}}},
                                       {.name = "large", .settings = {{"n", 50}, {"tiles", 5}}}};
static const struct tl_program program = {.name = "prog",
                                          .params = params,
                                          .n_params = 2,
                                          .cases = cases,
                                          .n_cases = 2,
                                          .prepare = prepare,
                                          .golden = golden};

static int resolve(const char *case_name, const struct tl_setting *settings, uint32_t n, int64_t *values,
                   const char **name, struct tl_error *err)
{
    const struct tl_param_request request = {.case_name = case_name, .settings = settings, .n_settings = n};

    return tl__params_resolve(&program, &request, values, name, err);
}

static void parameters_come_from_default_case_and_user(void **state)
{
    const struct tl_setting one = {"tiles", 9};
    const char *name = NULL;
    int64_t v[2];

    (void)state;
    assert_int_equal(resolve(NULL, NULL, 0, v, &name, NULL), 0);
    assert_string_equal(name, "small");
    assert_int_equal(v[0], 3);
    assert_int_equal(v[1], 2);
    assert_int_equal(resolve("large", &one, 1, v, &name, NULL), 0);
    assert_string_equal(name, "large");
    assert_int_equal(v[0], 50);
    assert_int_equal(v[1], 9);
}

static void wrong_parameters_are_named(void **state)
{
    const struct tl_setting low = {"n", 0}, high = {"n", 101}, unknown = {"m", 1};
    const char *name = NULL;
    struct tl_error err;
    int64_t v[2];

    (void)state;
    assert_int_equal(resolve("medium", NULL, 0, v, &name, &err), TL_ENOENT);
    assert_string_equal(err.msg, "prog has no case \"medium\"; its cases: small, large");
    assert_int_equal(resolve(NULL, &low, 1, v, &name, &err), TL_ERANGE);
    assert_string_equal(err.msg, "n of prog must be 1 to 100, not 0");
    assert_int_equal(resolve(NULL, &high, 1, v, &name, &err), TL_ERANGE);
    assert_int_equal(resolve(NULL, &unknown, 1, v, &name, &err), TL_ENOENT);
    assert_string_equal(err.msg, "prog has no parameter \"m\"; it has n, tiles");
}

/* ---- Data ---- */

static int declare_three(struct tl_data *d)
{
    const uint32_t shape[2] = {2, 3};
    float *x = tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 2, shape);
    int32_t *a = tl_data_tensor(d, "acc", TL_INOUT, TL_INT32, 1, shape);
    const void *z = tl_data_tensor(d, "z", TL_OUT, TL_BFLOAT16, 2, shape);

    if (x == NULL || a == NULL || z == NULL)
        return TL_ENOMEM;
    x[5] = (float)tl_data_param(d, "n");
    a[0] = 7;
    a[1] = 8;
    return 0;
}

static int expect_sums(struct tl_data *d)
{
    const int32_t *a = tl_data_input(d, "acc");
    const float *x = tl_data_input(d, "x");
    int32_t *want = tl_data_expected(d, "acc");

    if (a == NULL || x == NULL || want == NULL)
        return TL_ENOENT;
    want[0] = a[0] + (int32_t)x[5];
    return 0;
}

static struct tl_data *make(void)
{
    const int64_t values[2] = {42, 1};
    struct tl_data *d = NULL;

    assert_int_equal(tl__data_create(&program, values, &d, NULL), 0);
    return d;
}

static void a_runs_data_is_declared_kept_and_reset(void **state)
{
    const struct tl_host_tensor *t;
    struct tl_data *d = make();

    (void)state;
    prepare_step = declare_three;
    golden_step = expect_sums;
    assert_int_equal(tl__data_prepare(d, NULL), 0);
    assert_int_equal(tl__data_remember(d, NULL), 0);
    assert_int_equal(tl__data_count(d), 3);
    t = tl__data_tensors(d);
    assert_string_equal(t[1].name, "acc");
    assert_int_equal(tl__data_bytes(d, 0), 24);
    assert_int_equal(tl__data_bytes(d, 1), 8);
    assert_int_equal(tl__data_bytes(d, 2), 12);
    assert_true(((float *)t[0].data)[5] == 42.0f);
    assert_true(((float *)t[0].data)[0] == 0.0f);

    /* A run has written over what went in and out; golden still sees what went in. */
    ((int32_t *)t[1].data)[0] = 1000;
    memset(t[2].data, 0xff, 12);
    assert_int_equal(tl__data_golden(d, NULL), 0);
    assert_int_equal(((const int32_t *)tl__data_expected_of(d, 1))[0], 49);
    assert_null(tl__data_expected_of(d, 2));
    tl__data_reset(d);
    assert_int_equal(((int32_t *)t[1].data)[0], 7);
    assert_int_equal(((uint8_t *)t[2].data)[11], 0);
    tl__data_destroy(d);
}

static int twice(struct tl_data *d)
{
    const uint32_t n = 1;

    (void)tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n);
    return tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n) == NULL ? TL_ENOMEM : 0;
}

static int bad_role(struct tl_data *d)
{
    const uint32_t n = 1;

    (void)tl_data_tensor(d, "y", TL_NO_DEP, TL_FLOAT32, 1, &n);
    return 0; /* an error that prepare() itself overlooks */
}

static int bad_dtype(struct tl_data *d)
{
    const uint32_t n = 1;

    (void)tl_data_tensor(d, "w", TL_IN, (enum tl_dtype)99, 1, &n);
    return 0;
}

static int bad_rank(struct tl_data *d)
{
    const uint32_t shape[6] = {1, 1, 1, 1, 1, 1};

    (void)tl_data_tensor(d, "deep", TL_IN, TL_FLOAT32, 6, shape);
    return 0;
}

static int bad_param(struct tl_data *d)
{
    return tl_data_param(d, "size") == 0 ? 0 : 1;
}

static int just_fails(struct tl_data *d)
{
    (void)d;
    return TL_EIO;
}

static int returns_one(struct tl_data *d)
{
    (void)d;
    return 1;
}

static void what_prepare_does_wrong_is_named(void **state)
{
    static const struct {
        int (*step)(struct tl_data *d);
        int code;
        const char *part;
    } steps[] = {{twice, TL_EINVAL, "\"x\""},
                 {bad_role, TL_EINVAL, "TL_INOUT: \"y\""},
                 {bad_dtype, TL_EINVAL, "\"w\""},
                 {bad_rank, TL_EINVAL, "\"deep\""},
                 {bad_param, TL_ENOENT, "\"size\""},
                 {just_fails, TL_EIO, "prepare() failed"},
                 {returns_one, TL_EINVAL, "prepare() failed: it returned 1;"}};

    (void)state;
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct tl_data *d = make();
        struct tl_error err = {.msg = ""};

        prepare_step = steps[i].step;
        assert_int_equal(tl__data_prepare(d, &err), steps[i].code);
        assert_non_null(strstr(err.msg, steps[i].part));
        assert_non_null(strstr(err.msg, "prog"));
        tl__data_destroy(d);
    }
}

static int expect_of_input(struct tl_data *d)
{
    return tl_data_expected(d, "x") == NULL ? TL_ENOENT : 0;
}

static void golden_may_expect_of_outputs_only(void **state)
{
    struct tl_data *d = make();
    struct tl_error err;

    (void)state;
    prepare_step = declare_three;
    golden_step = expect_of_input;
    assert_int_equal(tl__data_prepare(d, NULL), 0);
    assert_int_equal(tl__data_golden(d, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "\"x\""));
    tl__data_destroy(d);
}

static void a_golden_that_returns_one_has_failed(void **state)
{
    struct tl_data *d = make();
    struct tl_error err;

    (void)state;
    prepare_step = declare_three;
    golden_step = returns_one;
    assert_int_equal(tl__data_prepare(d, NULL), 0);
    assert_int_equal(tl__data_golden(d, &err), TL_EINVAL);
    assert_string_equal(err.msg, "prog: golden() failed: it returned 1; 0 is good, a negative code says why not");
    tl__data_destroy(d);
}

static void random_numbers_are_the_same_everywhere(void **state)
{
    struct tl_data *a = make(), *b = make();
    float low = 1, high = -1;

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        float v = tl_data_random(a);

        assert_true(v >= -1.0f && v < 1.0f);
        assert_true(v == tl_data_random(b));
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    assert_true(low < -0.99f && high > 0.99f);
    tl__data_destroy(a);
    a = make();
    /* The first two of splitmix64 from this seed, computed by another implementation. */
    assert_true(tl_data_random_u64(a) == UINT64_C(0x2971e01b04e89c87));
    assert_true(tl_data_random_u64(a) == UINT64_C(0xa770a4f5d3343161));
    tl__data_destroy(a);
    tl__data_destroy(b);
}

static int asks_for_numbers_of_nothing(struct tl_data *d)
{
    (void)tl_data_random_of(d, "z");
    return 0;
}

static uint32_t one_more;

static int declare_some(struct tl_data *d)
{
    const uint32_t n = 4;

    if (one_more)
        assert_non_null(tl_data_tensor(d, "more", TL_IN, TL_FLOAT32, 1, &n));
    assert_non_null(tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n));
    assert_non_null(tl_data_tensor(d, "y", TL_IN, TL_FLOAT32, 1, &n));
    return 0;
}

/* Another tensor before it, or numbers drawn for another between, change nothing. */
static void a_tensor_has_numbers_of_its_own(void **state)
{
    float x[4], y[4];

    (void)state;
    prepare_step = declare_some;
    for (one_more = 0; one_more < 2; one_more++) {
        struct tl_data *d = make();
        struct tl_error err;

        assert_int_equal(tl__data_prepare(d, NULL), 0);
        for (unsigned i = 0; i < 4; i++) {
            float vx = tl_data_random_of(d, "x"), vy = tl_data_random(d); /* y was declared last */

            if (one_more) {
                (void)tl_data_random_u64_of(d, "more");
                assert_true(vx == x[i] && vy == y[i]);
            }
            x[i] = vx;
            y[i] = vy;
        }
        assert_true(x[0] != y[0] && x[1] != y[1]);
        prepare_step = asks_for_numbers_of_nothing;
        assert_int_equal(tl__data_prepare(d, &err), TL_ENOENT);
        assert_non_null(strstr(err.msg, "asked for numbers for tensor \"z\"; it has"));
        prepare_step = declare_some;
        tl__data_destroy(d);
    }
}

static void arguments_that_do_not_fit_are_refused(void **state)
{
    struct tl_data *d = make();
    struct tl_error err;

    (void)state;
    prepare_step = declare_three;
    assert_int_equal(tl__data_prepare(d, NULL), 0);
    assert_int_equal(tl__data_replace(d, "nope", "f.npy", &err), TL_ENOENT);
    assert_string_equal(err.msg, "prog has no input \"nope\"; it has x, acc");
    assert_int_equal(tl__data_replace(d, "z", "f.npy", &err), TL_EINVAL);
    tl__data_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_come_from_default_case_and_user),
        cmocka_unit_test(wrong_parameters_are_named),
        cmocka_unit_test(a_runs_data_is_declared_kept_and_reset),
        cmocka_unit_test(what_prepare_does_wrong_is_named),
        cmocka_unit_test(golden_may_expect_of_outputs_only),
        cmocka_unit_test(a_golden_that_returns_one_has_failed),
        cmocka_unit_test(random_numbers_are_the_same_everywhere),
        cmocka_unit_test(a_tensor_has_numbers_of_its_own),
        cmocka_unit_test(arguments_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
