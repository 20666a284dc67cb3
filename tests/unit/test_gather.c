/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/error.h>

#include "tensor/gather.h"

static struct tl_tensor over(void *buffer, size_t bytes, enum tl_dtype dtype, unsigned rank, const uint32_t *shape)
{
    struct tl_tensor t = tl_tensor_make(dtype, rank, shape);

    t.buffer = (uint64_t)(uintptr_t)buffer;
    t.buffer_bytes = bytes;
    return t;
}

static void contiguous_is_the_buffer(void **state)
{
    const uint32_t shape[] = {2, 3};
    uint32_t buffer[8], out[6];
    struct tl_tensor t = over(buffer, sizeof(buffer), TL_INT32, 2, shape);

    (void)state;
    for (uint32_t i = 0; i < 8; i++)
        buffer[i] = 100 + i;
    t.start_offset = 2;
    assert_int_equal(tl__gather(&t, buffer, out, 0, sizeof(out)), sizeof(out));
    assert_memory_equal(out, buffer + 2, sizeof(out));
}

static void transposed_and_strided_views_are_gathered(void **state)
{
    const uint32_t shape[] = {2, 3}, offset[] = {0, 1}, box[] = {2, 2};
    uint16_t buffer[] = {0, 1, 2, 10, 11, 12}, out[6];
    const uint16_t across[] = {0, 10, 1, 11, 2, 12}, right[] = {1, 2, 11, 12};
    struct tl_tensor t = over(buffer, sizeof(buffer), TL_UINT16, 2, shape), v;

    (void)state;
    assert_int_equal(tl_transpose(&t, 0, 1, &v), 0);
    assert_int_equal(tl__gather(&v, buffer, out, 0, sizeof(out)), sizeof(out));
    assert_memory_equal(out, across, sizeof(across));
    assert_int_equal(tl_view(&t, offset, box, &v), 0);
    assert_int_equal(tl__gather(&v, buffer, out, 0, sizeof(out)), sizeof(right));
    assert_memory_equal(out, right, sizeof(right));
}

static void stride_zero_repeats(void **state)
{
    const uint32_t shape[] = {2, 3};
    float buffer[] = {7.0f, 8.0f, 9.0f}, out[6];
    const float rows[] = {7, 8, 9, 7, 8, 9}, same[] = {8, 8, 8, 8, 8, 8};
    struct tl_tensor t = over(buffer, sizeof(buffer), TL_FLOAT32, 2, shape);

    (void)state;
    t.strides[0] = 0;
    assert_int_equal(tl__gather(&t, buffer, out, 0, sizeof(out)), sizeof(out));
    assert_memory_equal(out, rows, sizeof(rows));
    t.strides[1] = 0;
    t.start_offset = 1;
    assert_int_equal(tl__gather(&t, buffer, out, 0, sizeof(out)), sizeof(out));
    assert_memory_equal(out, same, sizeof(same));
}

static void rank_zero_and_empty(void **state)
{
    const uint32_t empty[] = {0, 4};
    uint64_t buffer[] = {1, 2, 3}, out = 0;
    struct tl_tensor t = over(buffer, sizeof(buffer), TL_UINT64, 0, NULL);

    (void)state;
    t.start_offset = 2;
    assert_int_equal(tl__gather(&t, buffer, &out, 0, 100), 8);
    assert_int_equal(out, 3);
    t = over(buffer, sizeof(buffer), TL_UINT64, 2, empty);
    assert_int_equal(tl__gather(&t, buffer, &out, 0, 100), 0);
    assert_int_equal(tl__gather(&t, NULL, &out, 0, 100), 0);
}

static void refuses_what_it_could_not_read(void **state)
{
    const uint32_t shape[] = {4};
    uint8_t buffer[4] = {0}, out[4];
    struct tl_tensor t = over(buffer, 3, TL_UINT8, 1, shape);

    (void)state;
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), TL_ERANGE);
    t.buffer_bytes = 4;
    assert_int_equal(tl__gather(&t, NULL, out, 0, 4), TL_EINVAL);
    t.buffer = 0;
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), TL_EINVAL);
    t.rank = 6;
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), TL_EINVAL);
}

static void a_range_is_gathered_in_pieces(void **state)
{
    const uint32_t shape[] = {3, 2};
    uint32_t buffer[6] = {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514};
    uint8_t whole[24], piece[24];
    struct tl_tensor t = over(buffer, sizeof(buffer), TL_UINT32, 2, shape);
    struct tl_gather g;

    (void)state;
    assert_int_equal(tl_transpose(&t, 0, 1, &t), 0);
    assert_int_equal(tl__gather(&t, buffer, whole, 0, 24), 24);
    assert_int_equal(whole[4], 0x08);
    for (size_t first = 0; first <= 24; first++)
        for (size_t n = 0; n <= 24; n++) {
            size_t expected = n < 24 - first ? n : 24 - first;

            assert_int_equal(tl__gather(&t, buffer, piece, first, n), expected);
            assert_memory_equal(piece, whole + first, expected);
        }
    assert_int_equal(tl__gather(&t, buffer, piece, UINT64_MAX, 5), 0);
    for (size_t step = 1; step <= 24; step++) {
        size_t at = 0, got;

        assert_int_equal(tl__gather_begin(&g, &t, buffer), 0);
        assert_int_equal(g.bytes, 24);
        memset(piece, 0xee, sizeof(piece));
        while ((got = tl__gather_next(&g, piece + at, step < 24 - at ? step : 24 - at)) > 0)
            at += got;
        assert_int_equal(at, 24);
        assert_memory_equal(piece, whole, 24);
    }
}

static void fp4_elements_are_gathered_by_nibble(void **state)
{
    const uint32_t five[] = {5}, two_three[] = {2, 3};
    uint8_t buffer[] = {0x10, 0x32, 0x54, 0x76}, out[4];
    const uint8_t even[] = {0x32, 0x54, 0x06}, odd[] = {0x21, 0x43, 0x05}, across[] = {0x30, 0x41, 0x52};
    struct tl_tensor t = over(buffer, sizeof(buffer), TL_FP4E2M1, 1, five);

    (void)state;
    t.start_offset = 2;
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), 3);
    assert_memory_equal(out, even, 3);
    t.start_offset = 1;
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), 3);
    assert_memory_equal(out, odd, 3);
    assert_int_equal(tl__gather(&t, buffer, out, 1, 1), 1);
    assert_int_equal(out[0], 0x43);
    t.start_offset = 4;
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), TL_ERANGE);
    t = over(buffer, sizeof(buffer), TL_FP4E2M1, 2, two_three);
    assert_int_equal(tl_transpose(&t, 0, 1, &t), 0);
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), 3);
    assert_memory_equal(out, across, 3);
    t = over(buffer, sizeof(buffer), TL_FP4E2M1, 0, NULL);
    t.start_offset = 7;
    assert_int_equal(tl__gather(&t, buffer, out, 0, 4), 1);
    assert_int_equal(out[0], 0x07);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_is_the_buffer),
        cmocka_unit_test(transposed_and_strided_views_are_gathered),
        cmocka_unit_test(stride_zero_repeats),
        cmocka_unit_test(rank_zero_and_empty),
        cmocka_unit_test(refuses_what_it_could_not_read),
        cmocka_unit_test(a_range_is_gathered_in_pieces),
        cmocka_unit_test(fp4_elements_are_gathered_by_nibble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
