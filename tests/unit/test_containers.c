/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/vec.h"

struct pair {
    int a, b;
};

static void vec_grows_and_keeps(void **state)
{
    TL_VEC(struct pair) v = {0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(tl_vec_push(&v, ((struct pair){i, -i})), 0);
    assert_int_equal(v.count, 1000);
    assert_true(v.capacity >= 1000 && v.capacity < 2048);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(v.items[i].a, i);
        assert_int_equal(v.items[i].b, -i);
    }
    tl_vec_fini(&v);
    assert_null(v.items);
    assert_int_equal(tl_vec_push(&v, ((struct pair){7, 8})), 0);
    assert_int_equal(v.items[0].a, 7);
    tl_vec_fini(&v);
}

static void vec_that_cannot_grow_is_unchanged(void **state)
{
    TL_VEC(uint64_t) v = {0};

    (void)state;
    assert_int_equal(tl_vec_push(&v, 5), 0);
    assert_int_equal(tl_vec_reserve(&v, SIZE_MAX / 16), TL_ENOMEM);
    assert_int_equal(tl_vec_reserve(&v, SIZE_MAX), TL_ENOMEM);
    assert_int_equal(v.count, 1);
    assert_int_equal(v.items[0], 5);
    assert_int_equal(tl_vec_reserve(&v, 100), 0);
    assert_true(v.capacity >= 100);
    assert_int_equal(v.items[0], 5);
    tl_vec_fini(&v);
}

static void hash_is_xxh3_and_streams(void **state)
{
    struct tl_hash hash;
    char data[5000];

    (void)state;
    assert_true(tl__hash64("", 0) == UINT64_C(0x2D06800538D394C2)); /* published value of XXH3-64 for no bytes */
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 % 253);
    tl__hash_init(&hash);
    assert_true(tl__hash_value(&hash) == tl__hash64("", 0));
    for (size_t at = 0, step = 0; at < sizeof(data); at += step, step = (step * 3 + 1) % 700) {
        if (step > sizeof(data) - at)
            step = sizeof(data) - at;
        tl__hash_update(&hash, data + at, step);
        assert_true(tl__hash_value(&hash) == tl__hash64(data, at + step));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vec_grows_and_keeps),
        cmocka_unit_test(vec_that_cannot_grow_is_unchanged),
        cmocka_unit_test(hash_is_xxh3_and_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
