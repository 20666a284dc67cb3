/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "tensor/gather.h"

/*
 * Random views of every dtype against an element-by-element reading by their indices. TL_SEED and TL_SEEDS choose the
 * seeds; a failure names its own.
 */
static uint64_t random_state;

static uint64_t next_random(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(next_random() % n);
}

static uint8_t buffer[1 << 16], got[1 << 16], expected[1 << 16];

static struct tl_tensor random_view(void)
{
    struct tl_tensor t = {.buffer = 64, .buffer_bytes = sizeof(buffer)};

    t.dtype = (uint8_t)below(TL_DTYPE_COUNT);
    t.rank = (uint8_t)below(TL_MAX_DIMS + 1);
    for (unsigned i = 0; i < t.rank; i++)
        t.shape[i] = below(10) == 0 ? 0 : 1 + below(6);
    if (below(2) == 0) { /* dense, then cut and turned */
        struct tl_tensor dense = tl_tensor_make((enum tl_dtype)t.dtype, t.rank, t.shape);

        memcpy(t.strides, dense.strides, sizeof(t.strides));
        if (t.rank > 0) {
            unsigned dim = below(t.rank);

            t.start_offset = t.shape[dim] > 1 ? t.strides[dim] : 0;
            t.shape[dim] -= t.shape[dim] > 1;
            assert_int_equal(tl_transpose(&t, below(t.rank), below(t.rank), &t), 0);
        }
    } else {
        for (unsigned i = 0; i < t.rank; i++)
            t.strides[i] = below(40);
        t.start_offset = below(50);
    }
    return t;
}

static void put(const struct tl_tensor *t, uint64_t out, uint64_t element)
{
    unsigned bits = tl_dtype_bits(t->dtype);

    if (bits == 4) {
        unsigned v = (unsigned)buffer[element / 2] >> (element % 2 ? 4 : 0) & 15u;

        expected[out / 2] = (uint8_t)(out % 2 ? (expected[out / 2] & 15u) | v << 4 : v);
    } else {
        memcpy(expected + out * (bits / 8), buffer + element * (bits / 8), bits / 8);
    }
}

static void naive(const struct tl_tensor *t, unsigned dim, uint64_t element, uint64_t *out)
{
    if (dim >= t->rank || dim >= TL_MAX_DIMS) {
        put(t, (*out)++, element);
        return;
    }
    for (uint32_t i = 0; i < t->shape[dim]; i++)
        naive(t, dim + 1, element + i * t->strides[dim], out);
}

static void one_seed(uint64_t seed)
{
    struct tl_tensor t;
    struct tl_gather g;
    uint64_t bytes, out = 0;
    size_t at;

    random_state = seed;
    t = random_view();
    bytes = tl_tensor_bytes(&t);
    assert_true(bytes <= sizeof(got));
    naive(&t, 0, t.start_offset, &out);
    assert_int_equal(out, tl_tensor_numel(&t));
    assert_int_equal(tl__gather(&t, buffer, got, 0, sizeof(got)), bytes);
    assert_memory_equal(got, expected, bytes);

    assert_int_equal(tl__gather_begin(&g, &t, buffer), 0);
    at = below((uint32_t)bytes + 1);
    tl__gather_seek(&g, at);
    memset(got, 0, bytes);
    while (at < bytes) {
        size_t n = 1 + below(20), want = n < bytes - at ? n : bytes - at;

        assert_int_equal(tl__gather_next(&g, got, n), want);
        assert_memory_equal(got, expected + at, want);
        at += want;
    }
    assert_int_equal(tl__gather_next(&g, got, 1), 0);
}

static void views_gather_as_they_index(void **state)
{
    const char *from = getenv("TL_SEED"), *count = getenv("TL_SEEDS");
    uint64_t first = from ? strtoull(from, NULL, 0) : 1, n = count ? strtoull(count, NULL, 0) : from ? 1 : 50000;

    (void)state;
    random_state = 42;
    for (size_t i = 0; i < sizeof(buffer); i++)
        buffer[i] = (uint8_t)next_random();
    for (uint64_t seed = first; seed < first + n; seed++) {
        char note[40];

        snprintf(note, sizeof(note), "%llu", (unsigned long long)seed);
        setenv("TL_SEED_NOW", note, 1); /* kept where a debugger and the message below find it */
        one_seed(seed);
    }
}

static int report_seed(void **state)
{
    (void)state;
    if (getenv("TL_SEED_NOW"))
        print_message("last seed: TL_SEED=%s\n", getenv("TL_SEED_NOW"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(views_gather_as_they_index, report_seed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
