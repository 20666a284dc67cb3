/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/env.h"
#include "sim/memory_table.h"
#include "wire/memory.h"

#define KIB UINT64_C(1024)

static struct tl_sim_memory memory;

static int set_up(void **state)
{
    (void)state;
    return tl__sim_memory_init(&memory, 64 * KIB, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    tl__sim_memory_fini(&memory);
    return 0;
}

static uint64_t take(uint64_t bytes)
{
    uint64_t addr = 0;

    assert_int_equal(tl__sim_memory_alloc(&memory, bytes, TL_MEMORY_RUN, "test", &addr, NULL), 0);
    assert_int_equal(addr % TL_DEV_ALIGN, 0);
    return addr;
}

static void first_fit_is_aligned_and_reuses_the_lowest_hole(void **state)
{
    uint64_t a = take(1), b = take(1025), c = take(3 * KIB);

    (void)state;
    assert_int_equal(a, TL_DEV_BASE);
    assert_int_equal(b, a + KIB);
    assert_int_equal(c, b + 2 * KIB);
    tl__sim_memory_free(&memory, b);
    assert_int_equal(take(3 * KIB), c + 3 * KIB); /* does not fit into the hole of two */
    assert_int_equal(take(KIB), b);
    assert_int_equal(take(KIB), b + KIB);
}

static void neighbours_are_joined_in_any_order_of_freeing(void **state)
{
    static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    (void)state;
    for (unsigned o = 0; o < 6; o++) {
        uint64_t at[3];

        for (unsigned i = 0; i < 3; i++)
            at[i] = take(16 * KIB);
        for (unsigned i = 0; i < 3; i++)
            tl__sim_memory_free(&memory, at[orders[o][i]]);
        assert_int_equal(memory.used_bytes, 0);
        tl__sim_memory_free(&memory, take(64 * KIB)); /* one free piece again */
    }
}

static uint64_t take_kept(uint64_t bytes)
{
    uint64_t addr = 0;

    assert_int_equal(tl__sim_memory_alloc(&memory, bytes, TL_MEMORY_KEPT, "test", &addr, NULL), 0);
    return addr;
}

/* Whatever size the kept have and had, runs find the same addresses. */
static void what_is_kept_lies_at_the_other_end(void **state)
{
    const uint64_t end = TL_DEV_BASE + 64 * KIB;
    uint64_t a = take_kept(8 * KIB), b = take_kept(4 * KIB);

    (void)state;
    assert_int_equal(a, end - 8 * KIB);
    assert_int_equal(b, a - 4 * KIB);
    tl__sim_memory_free(&memory, a);
    assert_int_equal(take(8 * KIB), TL_DEV_BASE);
    assert_int_equal(take_kept(6 * KIB), end - 6 * KIB); /* the hole nearest to its end */
    assert_int_equal(take_kept(6 * KIB), b - 6 * KIB);
    assert_int_equal(take(KIB), TL_DEV_BASE + 8 * KIB);
    assert_int_equal(take_kept(2 * KIB), a); /* a whole hole */
}

static uint64_t given_back_at, given_back;

static void note_given_back(void *ctx, uint64_t at, uint64_t bytes)
{
    assert_ptr_equal(ctx, &memory);
    given_back_at = at;
    given_back += bytes;
}

static void pages_of_the_kept_go_back(void **state)
{
    uint64_t run = take(8 * KIB), kept = take_kept(16 * KIB), beside = take_kept(2 * KIB), odd;

    (void)state;
    memory.give_back = note_given_back;
    memory.ctx = &memory;
    given_back = 0;
    tl__sim_memory_free(&memory, run);
    assert_int_equal(given_back, 0);
    tl__sim_memory_free(&memory, kept);
    assert_true(given_back == 16 * KIB && given_back_at == kept - TL_DEV_BASE);
    tl__sim_memory_free(&memory, beside); /* half a page: what is beside it is another's */
    assert_int_equal(given_back, 16 * KIB);
    odd = take_kept(3 * KIB);
    odd = take_kept(10 * KIB); /* [51 KiB, 61 KiB): the pages [52 KiB, 60 KiB) are its own */
    tl__sim_memory_free(&memory, odd);
    assert_true(given_back == 24 * KIB && given_back_at == 52 * KIB);
}

static void shortfall_is_exact(void **state)
{
    struct tl_error err;
    uint64_t addr = 7, a = take(10 * KIB);

    (void)state;
    assert_int_equal(tl__sim_memory_alloc(&memory, 60 * KIB + 1, TL_MEMORY_RUN, "heap of ring 2", &addr, &err),
                     TL_ENOMEM);
    assert_int_equal(addr, 7);
    /* 61 KiB asked after rounding, 54 KiB free in one piece: 7 KiB short. */
    assert_non_null(strstr(err.msg, "heap of ring 2: 62464 bytes"));
    assert_non_null(strstr(err.msg, "short by 7168 bytes"));
    assert_non_null(strstr(err.msg, "of 65536, 10240 are in use and the largest free piece has 55296"));
    assert_int_equal(tl__sim_memory_alloc(&memory, UINT64_MAX, TL_MEMORY_RUN, "too much", &addr, &err), TL_ENOMEM);
    tl__sim_memory_free(&memory, a);
    assert_int_equal(take(64 * KIB), TL_DEV_BASE);
}

static void unknown_addresses_are_not_freed(void **state)
{
    uint64_t a = take(4 * KIB);

    (void)state;
    tl__sim_memory_free(&memory, 0);
    tl__sim_memory_free(&memory, a + KIB);
    tl__sim_memory_free(&memory, UINT64_MAX);
    assert_int_equal(memory.used_bytes, 4 * KIB);
    tl__sim_memory_free(&memory, a);
    tl__sim_memory_free(&memory, a);
    assert_int_equal(memory.used_bytes, 0);
}

static void impossible_sizes_are_refused(void **state)
{
    struct tl_sim_memory other;
    struct tl_error err;

    (void)state;
    assert_int_equal(tl__sim_memory_init(&other, 0, &err), TL_ERANGE);
    assert_int_equal(tl__sim_memory_init(&other, UINT64_MAX, &err), TL_ERANGE);
    assert_string_equal(
        err.msg, "device memory of 18446744073709551615 bytes is not possible: it has 1 to 70368744177664 bytes");
}

static void churn(void *arg)
{
    uint64_t *failures = arg;

    for (unsigned i = 0; i < 2000; i++) {
        uint64_t addr;

        if (tl__sim_memory_alloc(&memory, (i % 7 + 1) * KIB, TL_MEMORY_RUN, "churn", &addr, NULL) != 0)
            ++*failures;
        else
            tl__sim_memory_free(&memory, addr);
    }
}

static void threads_share_the_table(void **state)
{
    struct tl_thread *threads[3];
    uint64_t failures[3] = {0};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(tl__spawn("churn", churn, &failures[i], &threads[i]), 0);
    for (unsigned i = 0; i < 3; i++) {
        tl__join(threads[i]);
        assert_int_equal(failures[i], 0);
    }
    tl__sim_memory_free(&memory, take(64 * KIB)); /* one free piece again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(first_fit_is_aligned_and_reuses_the_lowest_hole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(neighbours_are_joined_in_any_order_of_freeing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_kept_lies_at_the_other_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_of_the_kept_go_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shortfall_is_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_addresses_are_not_freed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_share_the_table, set_up, tear_down),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
