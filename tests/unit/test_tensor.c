/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/error.h>
#include <tasklens/tensor.h>

static const uint32_t shape234[] = {2, 3, 4};

static void dtypes_have_width_and_name(void **state)
{
    (void)state;
#define CHECK(name, value, text, bits)                                                                                 \
    assert_int_equal(name, value);                                                                                     \
    assert_int_equal(tl_dtype_bits(name), bits);                                                                       \
    assert_string_equal(tl_dtype_name(name), text);                                                                    \
    assert_int_equal(tl_dtype_parse(text), value);                                                                     \
    assert_int_equal(tl_dtype_parse(&#name[3]), value);
    TL_DTYPE_LIST(CHECK)
#undef CHECK
    assert_int_equal(tl_dtype_bits(TL_DTYPE_COUNT), 0);
    assert_int_equal(tl_dtype_bits(UINT32_MAX), 0);
    assert_string_equal(tl_dtype_name(99), "unknown");
    assert_int_equal(tl_dtype_parse("float64"), TL_ENOENT);
    assert_int_equal(tl_dtype_parse(""), TL_ENOENT);
    assert_int_equal(tl_dtype_parse(NULL), TL_ENOENT);
}

static void make_is_dense_and_unallocated(void **state)
{
    struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 3, shape234);

    (void)state;
    assert_int_equal(t.buffer, 0);
    assert_int_equal(t.owner, TL_NO_TASK);
    assert_int_equal(t.rank, 3);
    assert_int_equal(t.strides[0], 12);
    assert_int_equal(t.strides[1], 4);
    assert_int_equal(t.strides[2], 1);
    assert_int_equal(t.strides[3], 0);
    assert_int_equal(t.shape[3], 0);
    assert_true(tl_tensor_is_contiguous(&t));
    assert_int_equal(tl_tensor_numel(&t), 24);
    assert_int_equal(tl_tensor_bytes(&t), 96);
    assert_int_equal(tl_tensor_check(&t), 0);
}

static void odd_ranks_and_sizes(void **state)
{
    const uint32_t six[] = {1, 1, 1, 1, 1, 1}, huge[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, empty[] = {3, 0, 5},
                   three[] = {3};
    struct tl_tensor t = tl_tensor_make(TL_INT8, 0, NULL);

    (void)state;
    assert_int_equal(tl_tensor_numel(&t), 1);
    assert_int_equal(tl_tensor_bytes(&t), 1);
    assert_true(tl_tensor_is_contiguous(&t));
    assert_int_equal(tl_tensor_check(&t), 0);

    t = tl_tensor_make(TL_INT8, 6, six);
    assert_int_equal(t.rank, 6);
    assert_int_equal(tl_tensor_check(&t), TL_EINVAL);
    assert_false(tl_tensor_is_contiguous(&t));
    t = tl_tensor_make(TL_INT8, 1000, six);
    assert_int_equal(tl_tensor_check(&t), TL_EINVAL);

    t = tl_tensor_make(TL_INT64, 3, huge);
    assert_true(tl_tensor_numel(&t) == UINT64_MAX);
    assert_true(tl_tensor_bytes(&t) == UINT64_MAX);
    assert_int_equal(tl_tensor_check(&t), TL_ERANGE);

    t = tl_tensor_make(TL_FLOAT32, 3, empty);
    assert_int_equal(tl_tensor_numel(&t), 0);
    assert_int_equal(tl_tensor_bytes(&t), 0);
    assert_true(tl_tensor_is_contiguous(&t));
    assert_int_equal(tl_tensor_check(&t), 0);

    t = tl_tensor_make(TL_FP4E2M1, 1, three);
    assert_int_equal(tl_tensor_bytes(&t), 2);

    t = tl_tensor_make((enum tl_dtype)15, 1, three);
    assert_int_equal(tl_tensor_bytes(&t), 0);
    assert_int_equal(tl_tensor_check(&t), TL_EINVAL);
}

static void check_sees_the_last_element(void **state)
{
    struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 3, shape234);

    (void)state;
    t.buffer = 4096;
    t.buffer_bytes = 96;
    assert_int_equal(tl_tensor_check(&t), 0);
    t.start_offset = 1;
    assert_int_equal(tl_tensor_check(&t), TL_ERANGE);
    t.buffer_bytes = 100;
    assert_int_equal(tl_tensor_check(&t), 0);
    t.buffer_bytes = 99;
    assert_int_equal(tl_tensor_check(&t), TL_ERANGE);
    t.start_offset = UINT64_MAX;
    assert_int_equal(tl_tensor_check(&t), TL_ERANGE);
    t.start_offset = 0;
    t.strides[1] = UINT64_MAX / 2;
    assert_int_equal(tl_tensor_check(&t), TL_ERANGE);
    t.strides[1] = UINT64_MAX;
    assert_int_equal(tl_tensor_check(&t), TL_ERANGE);
    t.shape[2] = 0; /* touches nothing */
    assert_int_equal(tl_tensor_check(&t), 0);
}

static void check_counts_nibbles(void **state)
{
    const uint32_t five[] = {5};
    struct tl_tensor t = tl_tensor_make(TL_FP4E2M1, 1, five);

    (void)state;
    t.buffer = 4096;
    t.buffer_bytes = 3;
    assert_int_equal(tl_tensor_check(&t), 0);
    t.start_offset = 1;
    assert_int_equal(tl_tensor_check(&t), 0);
    t.start_offset = 2;
    assert_int_equal(tl_tensor_check(&t), TL_ERANGE);
}

static void contiguity_ignores_extent_one(void **state)
{
    const uint32_t shape[] = {1, 3, 1, 4};
    struct tl_tensor t = tl_tensor_make(TL_INT16, 4, shape);

    (void)state;
    t.strides[0] = 7;
    t.strides[2] = 99;
    assert_true(tl_tensor_is_contiguous(&t));
    t.strides[3] = 2;
    assert_false(tl_tensor_is_contiguous(&t));
    t.strides[3] = 1;
    t.strides[1] = 0;
    assert_false(tl_tensor_is_contiguous(&t));
}

static void view_moves_the_start(void **state)
{
    const uint32_t offset[] = {1, 0, 2}, shape[] = {1, 3, 2}, beyond[] = {1, 4, 2}, far[] = {3, 0, 0},
                   none[] = {0, 0, 0}, end[] = {2, 3, 4};
    struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 3, shape234), v, keep;

    (void)state;
    t.tag = 5;
    t.version = 3;
    assert_int_equal(tl_view(&t, offset, shape, &v), 0);
    assert_int_equal(v.start_offset, 14);
    assert_int_equal(v.shape[0], 1);
    assert_int_equal(v.shape[1], 3);
    assert_int_equal(v.shape[2], 2);
    assert_memory_equal(v.strides, t.strides, sizeof(v.strides));
    assert_int_equal(v.version, 3);
    assert_int_equal(v.tag, 0);
    assert_false(tl_tensor_is_contiguous(&v));

    keep = v;
    assert_int_equal(tl_view(&t, offset, beyond, &v), TL_ERANGE);
    assert_int_equal(tl_view(&t, far, none, &v), TL_ERANGE);
    assert_int_equal(tl_view(&t, NULL, shape, &v), TL_EINVAL);
    assert_memory_equal(&v, &keep, sizeof(v));
    assert_int_equal(tl_view(&t, end, none, &v), 0);
    assert_int_equal(tl_tensor_numel(&v), 0);

    t.start_offset = UINT64_MAX - 1;
    assert_int_equal(tl_view(&t, offset, shape, &v), TL_ERANGE);
    t.start_offset = 0;
    assert_int_equal(tl_view(&t, offset, shape, &t), 0); /* in place */
    assert_int_equal(t.start_offset, 14);
    t.rank = 6;
    assert_int_equal(tl_view(&t, offset, shape, &v), TL_EINVAL);
}

static void transpose_swaps(void **state)
{
    struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 3, shape234), v;

    (void)state;
    t.tag = 1;
    assert_int_equal(tl_transpose(&t, 0, 2, &v), 0);
    assert_int_equal(v.shape[0], 4);
    assert_int_equal(v.shape[2], 2);
    assert_int_equal(v.strides[0], 1);
    assert_int_equal(v.strides[2], 12);
    assert_int_equal(v.tag, 0);
    assert_false(tl_tensor_is_contiguous(&v));
    assert_int_equal(tl_transpose(&v, 2, 0, &v), 0);
    assert_true(tl_tensor_is_contiguous(&v));
    assert_int_equal(tl_transpose(&t, 0, 3, &v), TL_ERANGE);
    t.rank = 6;
    assert_int_equal(tl_transpose(&t, 0, 1, &v), TL_EINVAL);
}

static void reshape_keeps_the_elements(void **state)
{
    const uint32_t flat[] = {24}, wrong[] = {25}, six[] = {1, 1, 1, 1, 1, 24}, one[] = {1};
    struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 3, shape234), v;

    (void)state;
    t.start_offset = 8;
    t.tag = 1;
    assert_int_equal(tl_reshape(&t, 1, flat, &v), 0);
    assert_int_equal(v.rank, 1);
    assert_int_equal(v.shape[0], 24);
    assert_int_equal(v.shape[1], 0);
    assert_int_equal(v.strides[0], 1);
    assert_int_equal(v.strides[1], 0);
    assert_int_equal(v.start_offset, 8);
    assert_int_equal(v.tag, 0);
    assert_int_equal(tl_reshape(&t, 1, wrong, &v), TL_EINVAL);
    assert_int_equal(tl_reshape(&t, 6, six, &v), TL_EINVAL);
    assert_int_equal(tl_reshape(&t, 1, NULL, &v), TL_EINVAL);
    assert_int_equal(tl_reshape(&t, 0, NULL, &v), TL_EINVAL);
    assert_int_equal(tl_transpose(&t, 0, 1, &v), 0);
    assert_int_equal(tl_reshape(&v, 1, flat, &v), TL_EINVAL);
    t = tl_tensor_make(TL_INT8, 1, one);
    assert_int_equal(tl_reshape(&t, 0, NULL, &t), 0);
    assert_int_equal(t.rank, 0);
    assert_int_equal(tl_tensor_numel(&t), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_have_width_and_name), cmocka_unit_test(make_is_dense_and_unallocated),
        cmocka_unit_test(odd_ranks_and_sizes),        cmocka_unit_test(check_sees_the_last_element),
        cmocka_unit_test(check_counts_nibbles),       cmocka_unit_test(contiguity_ignores_extent_one),
        cmocka_unit_test(view_moves_the_start),       cmocka_unit_test(transpose_swaps),
        cmocka_unit_test(reshape_keeps_the_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
