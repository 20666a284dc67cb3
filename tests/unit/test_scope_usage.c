/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks, pairs and sizes from boundaries, against figures computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/scope/scope_view.h"
#include "artifact/scope_stats.h"

static struct tl_scope_stats stats;

static int fresh(void **state)
{
    (void)state;
    stats = (struct tl_scope_stats){.n_rings = 4, .tensormap_max = 1000};
    for (unsigned i = 0; i < 4; i++) {
        stats.size[TL_RING_TASKS][i] = 1024;
        stats.size[TL_RING_HEAP][i] = 1 << 20;
        stats.size[TL_RING_DEPS][i] = 512;
    }
    return 0;
}

static int gone(void **state)
{
    (void)state;
    tl__scope_stats_fini(&stats);
    return 0;
}

/* One boundary: tasks, heap and deps as tail and head. */
static void at(const char *site, bool ends, uint32_t depth, uint32_t ring, const uint64_t *six)
{
    struct tl_boundary b = {.ends = ends, .depth = depth, .ring = ring, .tensormap = six[1]};

    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        b.span[r] = (struct tl_ring_span){six[2 * r], six[2 * r + 1]};
    assert_int_equal(tl__scope_stats_site(&stats, site, strlen(site), &b.site), 0);
    assert_int_equal(tl__scope_stats_add(&stats, &b), 0);
    stats.total = stats.boundaries.count;
}

#define BEGIN(site, depth, ring, ...) at(site, false, depth, ring, (const uint64_t[6]){__VA_ARGS__})
#define END(site, depth, ring, ...) at(site, true, depth, ring, (const uint64_t[6]){__VA_ARGS__})

static struct tl_scope_usage usage_of(void)
{
    struct tl_scope_usage u;

    assert_int_equal(tl__scope_usage(&stats, &u), 0);
    return u;
}

/* An outer scope on ring 0 and two turns of an inner one on ring 1, which goes round. */
static void nested_scopes_have_their_peaks(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    BEGIN("o:0", 0, 0, 0, 0, 0, 0, 0, 0);
    BEGIN("f:5", 1, 1, 0, 0, 0, 0, 0, 0);
    END("f:5", 1, 1, 0, 5, 0, 5000, 0, 7);
    BEGIN("f:5", 1, 1, 2, 5, 2000, 5000, 3, 7);
    END("f:5", 1, 1, 4, 11, 4000, 9000, 6, 12);
    END("o:0", 0, 0, 1, 3, 0, 1025, 0, 2);
    u = usage_of();
    assert_int_equal(u.n_scopes, 3);
    assert_int_equal(u.open + u.endings + u.backward, 0);
    assert_int_equal(u.scopes[0].begin, 0);
    assert_int_equal(u.scopes[0].last, 5);
    assert_int_equal(u.scopes[2].begin, 3);
    assert_int_equal(u.scopes[2].last, 4);
    assert_int_equal(u.scopes[2].high_water[TL_RING_TASKS], 9); /* 11 - 2 */
    assert_int_equal(u.scopes[2].occupancy[TL_RING_TASKS], 7);  /* 11 - 4 */
    assert_int_equal(u.scopes[2].alloc[TL_RING_TASKS], 6);      /* 11 - 5 */
    assert_int_equal(u.scopes[2].high_water[TL_RING_HEAP], 7000);
    assert_int_equal(u.scopes[2].occupancy[TL_RING_DEPS], 6);
    assert_int_equal(u.scopes[2].alloc[TL_RING_HEAP], 4000);
    /* Ring 0 never goes round: its heap needs what was taken, in steps of 1024. */
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].peak, 3);
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].enough, 4);
    assert_int_equal(u.rings[0].use[TL_RING_HEAP].enough, 2048);
    assert_int_equal(u.rings[0].use[TL_RING_DEPS].enough, 2);
    /* Ring 1: 9 tasks at once, 9000 bytes in all; 7000 at once and 5000 by one scope would be more than that. */
    assert_int_equal(u.rings[1].scopes, 2);
    assert_int_equal(u.rings[1].use[TL_RING_TASKS].peak, 9);
    assert_int_equal(u.rings[1].use[TL_RING_TASKS].held, 6);
    assert_int_equal(u.rings[1].use[TL_RING_TASKS].peak_scope, 2);
    assert_int_equal(u.rings[1].use[TL_RING_TASKS].enough, 16);
    assert_int_equal(u.rings[1].use[TL_RING_HEAP].peak, 7000);
    assert_int_equal(u.rings[1].use[TL_RING_HEAP].held, 5000);
    assert_int_equal(u.rings[1].use[TL_RING_HEAP].turned, 9000);
    assert_int_equal(u.rings[1].use[TL_RING_HEAP].enough, 9216);
    assert_int_equal(u.rings[1].use[TL_RING_DEPS].enough, 9);
    assert_false(u.rings[2].used);
    assert_int_equal(u.enough[TL_RING_TASKS], 16);
    assert_int_equal(u.enough[TL_RING_HEAP], 9216);
    assert_int_equal(u.enough[TL_RING_DEPS], 9);
    assert_int_equal(u.tensormap_peak, 11);
    /* By site: the inner ones are one line, and their share of a ring is the larger. */
    assert_int_equal(u.n_groups, 2);
    assert_string_equal(stats.sites[u.groups[0].site], "f:5");
    assert_int_equal(u.groups[0].scopes, 2);
    assert_int_equal(u.groups[0].peak[TL_RING_TASKS], 9);
    assert_int_equal(u.groups[0].alloc[TL_RING_HEAP], 5000);
    assert_int_equal(u.groups[0].most[TL_RING_TASKS], 2);
    assert_int_equal(u.groups[1].most[TL_RING_HEAP], 0);
    tl__scope_usage_fini(&u);
}

/* A scope around others on its ring has never had at once what it had in all. */
static void scopes_that_share_a_ring(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    BEGIN("o:0", 0, 0, 0, 0, 0, 0, 0, 0);
    for (uint64_t i = 0; i < 10; i++) {
        BEGIN("f:5", 1, 0, 3 * i, 3 * i, 0, 0, 0, 0);
        END("f:5", 1, 0, 3 * i, 3 * i + 3, 0, 0, 0, 0);
    }
    BEGIN("g:6", 1, 0, 29, 30, 0, 0, 0, 0);
    END("g:6", 1, 0, 29, 31, 0, 0, 0, 0);
    END("o:0", 0, 0, 31, 35, 0, 0, 0, 0);
    u = usage_of();
    assert_int_equal(u.scopes[0].high_water[TL_RING_TASKS], 35);
    assert_int_equal(u.scopes[0].peak[TL_RING_TASKS], 6); /* 35 - 29 */
    assert_int_equal(u.scopes[1].peak[TL_RING_TASKS], 3);
    assert_int_equal(u.scopes[11].peak[TL_RING_TASKS], 2);
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].peak, 6);
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].step, 4);
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].held, 35);
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].peak_scope, 0);
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].enough, 8);
    assert_string_equal(stats.sites[u.groups[0].site], "o:0");
    assert_int_equal(u.groups[1].peak[TL_RING_TASKS], 3);
    tl__scope_usage_fini(&u);
}

/* A heap that goes round leaves gaps at its end: peak and largest scope together. */
static void a_heap_that_goes_round(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        BEGIN("f:5", 1, 0, i, i, i * 3072, i * 3072, i, i);
        END("f:5", 1, 0, i, i + 1, i * 3072, i * 3072 + 3072, i, i + 1);
    }
    u = usage_of();
    assert_int_equal(u.rings[0].use[TL_RING_HEAP].turned, 307200);
    assert_int_equal(u.rings[0].use[TL_RING_HEAP].enough, 6144);
    assert_string_equal(tl__scope_why(TL_RING_HEAP, &u.rings[0].use[TL_RING_HEAP], TL_SCOPE_WHOLE),
                        "peak + a gap: no buffer crosses the heap's end");
    tl__scope_usage_fini(&u);
    stats.size[TL_RING_HEAP][0] = 4096; /* it did with that */
    u = usage_of();
    assert_int_equal(u.rings[0].use[TL_RING_HEAP].enough, 4096);
    tl__scope_usage_fini(&u);
}

/* A heap in which a scope found no gap, by luck. */
static void a_heap_that_was_lucky(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    BEGIN("f:5", 1, 0, 0, 0, 0, 0, 0, 0);
    BEGIN("g:6", 2, 1, 0, 0, 0, 0, 0, 0);
    END("g:6", 2, 1, 0, 1, 0, 1024, 0, 0);
    END("f:5", 1, 0, 0, 4, 0, 6144, 0, 0);
    BEGIN("f:5", 1, 0, 0, 4, 0, 6144, 0, 0);
    END("f:5", 1, 0, 4, 8, 6144, 12288, 0, 0);
    stats.size[TL_RING_HEAP][0] = 8192;
    u = usage_of();
    assert_int_equal(u.rings[0].use[TL_RING_HEAP].enough, 6144 + 4096); /* up to 5,120 in one, at any place */
    assert_string_equal(tl__scope_why(TL_RING_HEAP, &u.rings[0].use[TL_RING_HEAP], TL_SCOPE_WHOLE),
                        "more than it had: in another order a gap lies elsewhere");
    tl__scope_usage_fini(&u);
}

/* Another runtime's pool begins at 1: that entry is needed too. */
static void a_pool_that_keeps_an_entry(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    BEGIN("f:5", 0, 0, 0, 0, 0, 0, 1, 1);
    END("f:5", 0, 0, 0, 1, 0, 0, 1, 7);
    u = usage_of();
    assert_int_equal(u.rings[0].use[TL_RING_DEPS].peak, 6);
    assert_int_equal(u.rings[0].use[TL_RING_DEPS].enough, 7);
    assert_int_equal(u.rings[0].use[TL_RING_HEAP].enough, 1024); /* the least that can be set */
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].enough, 2);
    tl__scope_usage_fini(&u);
}

/* Where a run stops, what is open counts up to the last that is known of its ring. */
static void scopes_that_never_ended(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    stats.fatal = true;
    BEGIN("o:0", 0, 0, 0, 0, 0, 0, 0, 0);
    BEGIN("f:5", 1, 0, 0, 900, 0, 0, 0, 0);
    BEGIN("g:6", 2, 1, 0, 0, 0, 0, 0, 0);
    END("g:6", 2, 1, 0, 3, 0, 0, 0, 0);
    BEGIN("g:6", 2, 1, 3, 3, 0, 0, 0, 0);
    BEGIN("h:7", 3, 0, 0, 1000, 0, 0, 0, 0);
    u = usage_of();
    assert_int_equal(u.n_scopes, 5);
    assert_int_equal(u.open, 4);
    assert_true(u.scopes[0].open);
    assert_int_equal(u.scopes[0].last, 5);
    assert_int_equal(u.scopes[0].high_water[TL_RING_TASKS], 1000);
    assert_int_equal(u.scopes[3].last, 4);
    assert_false(u.scopes[2].open);
    assert_int_equal(u.rings[0].open, 3);
    assert_true(tl__scope_was_full(&u.rings[0].use[TL_RING_TASKS]));
    assert_string_equal(tl__scope_why(TL_RING_TASKS, &u.rings[0].use[TL_RING_TASKS], TL_SCOPE_STOPPED),
                        "full where the run stopped: the next size up, which later tasks may exceed");
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].enough, 2048); /* 1,024 was not enough */
    assert_int_equal(u.rings[1].use[TL_RING_TASKS].enough, 4);
    assert_string_equal(tl__scope_why(TL_RING_TASKS, &u.rings[1].use[TL_RING_TASKS], TL_SCOPE_STOPPED),
                        "taken when the run stopped");
    tl__scope_usage_fini(&u);
}

/* The size that failed is not given as advice, of no resource. */
static void a_full_ring_needs_the_next_size(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    stats.fatal = true;
    BEGIN("o:0", 0, 0, 0, 0, 0, 0, 1, 1);
    BEGIN("f:5", 1, 0, 0, 1024, 0, 1 << 20, 1, 513);
    u = usage_of();
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].enough, 2048);
    assert_int_equal(u.rings[0].use[TL_RING_HEAP].enough, (1 << 20) + 1024);
    assert_int_equal(u.rings[0].use[TL_RING_DEPS].enough, 513);
    tl__scope_usage_fini(&u);
}

/* Between two boundaries places are taken, given back and taken again: that is no more than the ring has at once. */
static void nothing_exceeds_the_ring(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        stats.size[TL_RING_HEAP][i] = 9 << 10;
    BEGIN("o:0", 0, 1, 0, 0, 0, 0, 0, 0);
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t head = i * 7168, tail = head > 512 ? head - 512 : 0;

        BEGIN("f:5", 1, 1, 0, 3 * i, tail, head, 0, 0);
        END("f:5", 1, 1, 0, 3 * i + 3, head - head % 512, head + 7168, 0, 0);
    }
    END("o:0", 0, 1, 0, 120, 40 * 7168 - 512, 40 * 7168 + 2048, 0, 0);
    u = usage_of();
    assert_int_equal(u.rings[1].use[TL_RING_HEAP].peak, 9 << 10); /* 7,168 + 2,048 from a tail that had not moved */
    assert_int_equal(u.rings[1].use[TL_RING_HEAP].seen, 7168);
    assert_int_equal(u.backward, 0);
    for (uint64_t i = 0; i < u.n_scopes; i++) {
        assert_true(u.scopes[i].peak[TL_RING_HEAP] <= 9 << 10);
        assert_true(u.scopes[i].high_water[TL_RING_HEAP] <= 9 << 10);
        assert_true(u.scopes[i].alloc[TL_RING_HEAP] <= 9 << 10);
    }
    assert_true(u.groups[0].peak[TL_RING_HEAP] <= 9 << 10);
    tl__scope_usage_fini(&u);
}

/* Boundaries that were lost leave scopes without an end and ends without a scope. */
static void lost_boundaries_leave_scopes_open(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    BEGIN("o:0", 0, 0, 0, 0, 0, 0, 0, 0);
    END("f:5", 1, 1, 0, 5, 0, 0, 0, 0); /* its begin is lost; what it says of its ring still counts */
    BEGIN("f:5", 1, 1, 0, 5, 0, 0, 0, 0);
    BEGIN("f:5", 1, 1, 5, 9, 0, 0, 0, 0); /* the end between is lost */
    BEGIN("g:6", 2, 2, 0, 0, 0, 0, 0, 0);
    END("f:5", 1, 1, 5, 9, 0, 0, 0, 0); /* as is the end of g:6 */
    END("f:5", 1, 2, 5, 9, 0, 0, 0, 0);
    END("o:0", 0, 0, 0, 2, 0, 0, 0, 0);
    u = usage_of();
    assert_int_equal(u.n_scopes, 4);
    assert_int_equal(u.open, 2);
    assert_int_equal(u.endings, 2);
    assert_true(u.scopes[1].open);
    assert_false(u.scopes[2].open);
    assert_true(u.scopes[3].open);
    assert_int_equal(u.rings[1].use[TL_RING_TASKS].peak, 9); /* 9 - 0: what was released in between is not known */
    assert_false(u.scopes[0].open);
    tl__scope_usage_fini(&u);
}

static void boundaries_that_go_backward_are_counted(void **state)
{
    struct tl_scope_usage u;

    (void)state;
    BEGIN("o:0", 0, 0, 5, 3, 0, 0, 0, 0); /* the head before the tail */
    END("o:0", 0, 0, 5, 9, 0, 0, 0, 0);
    BEGIN("o:0", 0, 0, 5, 8, 0, 0, 0, 0); /* a head that went back */
    BEGIN("p:0", 1, 1, 0, 0, 0, 0, 0, 0); /* another ring is elsewhere */
    u = usage_of();
    assert_int_equal(u.backward, 2);
    assert_int_equal(u.rings[0].use[TL_RING_TASKS].peak, 4);
    tl__scope_usage_fini(&u);
}

static void the_largest_numbers_do_not_overflow(void **state)
{
    const uint64_t most = UINT64_MAX;
    struct tl_scope_usage u;

    (void)state;
    BEGIN("o:0", TL_SCOPE_MAX_DEPTH, 3, 0, 0, 0, 0, 0, 0);
    END("o:0", TL_SCOPE_MAX_DEPTH, 3, 0, most, 0, most, 0, most);
    stats.size[TL_RING_TASKS][3] = stats.size[TL_RING_HEAP][3] = stats.size[TL_RING_DEPS][3] = 0;
    u = usage_of();
    assert_true(u.rings[3].use[TL_RING_TASKS].enough == UINT64_C(1) << 63);
    assert_true(u.rings[3].use[TL_RING_HEAP].enough == most / 1024 * 1024);
    assert_true(u.rings[3].use[TL_RING_DEPS].enough == most);
    tl__scope_usage_fini(&u);
}

static void a_run_without_scopes_is_rendered(void **state)
{
    struct tl_scope_usage u = usage_of();

    (void)state;
    assert_int_equal(u.n_scopes + u.n_groups + tl__scope_rings_used(&u), 0);
    tl__scope_usage_fini(&u);
}

static void words_are(void (*put)(struct tl_rendering *, unsigned, uint64_t), unsigned resource, uint64_t n,
                      const char *want)
{
    struct tl_rendering out;

    tl__rendering_init(&out, NULL, NULL);
    put(&out, resource, n);
    tl__put(&out, "", 1);
    assert_string_equal(out.data, want);
    tl__rendering_fini(&out);
}

/* Sizes are exact; amounts are for reading. */
static void sizes_are_exact_and_amounts_are_for_reading(void **state)
{
    (void)state;
    words_are(tl__put_ring_setting, TL_RING_HEAP, 196608, "192K");
    words_are(tl__put_ring_setting, TL_RING_HEAP, UINT64_C(3) << 30, "3G");
    words_are(tl__put_ring_setting, TL_RING_HEAP, 9 * 1048576 + 1024, "9217K");
    words_are(tl__put_ring_setting, TL_RING_HEAP, 1000, "1000");
    words_are(tl__put_ring_setting, TL_RING_TASKS, 1048576, "1048576");
    words_are(tl__put_ring_amount, TL_RING_HEAP, 0, "0");
    words_are(tl__put_ring_amount, TL_RING_HEAP, 1048576 + 512, "1.0M");
    words_are(tl__put_ring_amount, TL_RING_HEAP, 123456, "120.6K");
    words_are(tl__put_ring_amount, TL_RING_HEAP, UINT64_C(10) << 30, "10G");
    words_are(tl__put_ring_amount, TL_RING_HEAP, (UINT64_C(10) << 30) + (UINT64_C(512) << 20), "10.5G");
    words_are(tl__put_ring_amount, TL_RING_DEPS, 1024, "1024");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nested_scopes_have_their_peaks),
        TEST(scopes_that_share_a_ring),
        TEST(a_heap_that_goes_round),
        TEST(a_heap_that_was_lucky),
        TEST(a_pool_that_keeps_an_entry),
        TEST(scopes_that_never_ended),
        TEST(lost_boundaries_leave_scopes_open),
        TEST(boundaries_that_go_backward_are_counted),
        TEST(the_largest_numbers_do_not_overflow),
        TEST(a_run_without_scopes_is_rendered),
        TEST(nothing_exceeds_the_ring),
        TEST(a_full_ring_needs_the_next_size),
        cmocka_unit_test(sizes_are_exact_and_amounts_are_for_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
