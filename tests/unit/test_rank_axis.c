/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of several ranks on one axis: where each is, how wide its bar is, and when order is said. */
#include "unit/swim_world.h"

#include "analysis/swimlane/rank_axis.h"

static struct swim_world w;

/* A recording whose first event is at cycle `first` of a device with 1 GHz, which at cycle 1,000,000 was at `host_ns`
 * of its host, and ran `ppm` too fast until cycle 2,000,000,000. */
static void make(uint64_t first, uint64_t host_ns, int ppm, uint64_t error_ns, unsigned anchors)
{
    uint64_t end = 2000000000u;

    world_init(&w, 1, 1, 1);
    (void)world_core(&w, 0, 0, 0, first, first + 1000);
    w.lane.n_anchors = anchors;
    w.lane.anchors[0] = (struct tl_swim_anchor){"begin", host_ns - error_ns, 1000000, host_ns + error_ns, error_ns};
    host_ns += (uint64_t)((double)(end - 1000000) / (1 + ppm * 1e-6));
    w.lane.anchors[1] = (struct tl_swim_anchor){"quiesce", host_ns - error_ns, end, host_ns + error_ns, error_ns};
}

static struct tl_rank_place placed(uint32_t rank, const struct tl_rank_clock *clock, bool alone)
{
    struct tl_rank_place p = {.rank = rank};
    struct tl_swim_clock c;

    tl__swim_clock_init(&c, &w.lane);
    tl__rank_place(&w.lane, &c, clock, NULL, alone, &p);
    return p;
}

static const struct tl_rank_clock reference = {.method = TL_CLOCK_SAME};
static const struct tl_rank_clock far = {
    .rank = 1, .method = TL_CLOCK_PING, .offset_ns = 11000000000, .error_ns = 9000};
static char text[TL_RANK_ORDER_BYTES];

static void the_skew_and_not_the_offset(void **state)
{
    struct tl_rank_place p[2];

    (void)state;
    make(3000000, 50000000000, 0, 1000, 2); /* 2 ms after its anchor */
    p[0] = placed(0, &reference, false);
    assert_true(p[0].known);
    assert_int_equal(p[0].begin_ns, 50002000000);
    assert_int_equal(p[0].error_ns, 1001);  /* and a cycle of 1 ns */
    make(4000000, 61000600000, 0, 2000, 2); /* its host's clock is 11 s ahead: 1.6 ms after the other */
    p[1] = placed(1, &far, false);
    assert_int_equal(p[1].begin_ns, 50003600000);
    assert_int_equal(p[1].error_ns, 11001);
    tl__rank_axes(p, 2);
    assert_int_equal(p[0].offset_ps, 0);
    assert_int_equal(p[1].offset_ps, 1600000000);
    tl__rank_order_text(&p[0], &p[1], text);
    assert_string_equal(text, "rank 1 began 1.600 ms after rank 0 (+-12.002 us)");
    tl__rank_order_text(&p[1], &p[0], text);
    assert_string_equal(text, "rank 0 began 1.600 ms before rank 1 (+-12.002 us)");
}

static void below_the_bar_no_order(void **state)
{
    struct tl_rank_place a = {.rank = 0, .known = true, .begin_ns = 1000, .error_ns = 5000}, b = a;

    (void)state;
    b.rank = 1;
    b.error_ns = 7000;
    b.begin_ns = 4000;
    tl__rank_order_text(&a, &b, text);
    assert_string_equal(text, "order of rank 0 and rank 1 not known: 3.000 us apart, error 12.000 us");
    b.begin_ns = 13000; /* just at the bar */
    tl__rank_order_text(&a, &b, text);
    assert_string_equal(text, "order of rank 0 and rank 1 not known: 12.000 us apart, error 12.000 us");
    b.begin_ns = 13001;
    tl__rank_order_text(&a, &b, text);
    assert_string_equal(text, "rank 1 began 12.001 us after rank 0 (+-12.000 us)");
    b.known = false;
    tl__rank_order_text(&a, &b, text);
    assert_non_null(strstr(text, "not known: their clocks are not"));
}

/* A device that runs fast by more than its anchors may be off is taken at the rate that they say. */
static void the_rate_of_the_device(void **state)
{
    struct tl_swim_clock c;
    struct tl_rank_place p;

    (void)state;
    make(1000001000, 50000000000, 100, 1000, 2);
    tl__swim_clock_init(&c, &w.lane);
    tl__rank_place(&w.lane, &c, &reference, NULL, false, &p);
    assert_in_range(c.freq_hz, 1000099990, 1000100010);
    assert_in_range(p.begin_ns, 50000000000 + 998901109 - 2000, 50000000000 + 998901109 + 2000);
    make(1000001000, 50000000000, 100, 300000, 2); /* within what they may be off */
    tl__swim_clock_init(&c, &w.lane);
    tl__rank_place(&w.lane, &c, &reference, NULL, false, &p);
    assert_int_equal(c.freq_hz, 1000000000);
}

static void fewer_anchors_widen_the_error_bar(void **state)
{
    struct tl_rank_place p;

    (void)state;
    make(1001000000, 50000000000, 0, 1000, 1); /* one second after the only anchor */
    p = placed(0, &reference, false);
    assert_true(p.known);
    assert_int_equal(p.error_ns, 1001 + 200000);
    make(3000000, 50000000000, 0, 1000, 0);
    p = placed(0, &reference, false);
    assert_false(p.anchored);
    assert_false(p.known);
    assert_string_equal(p.why, "its recording has no clock anchor");
}

static void what_is_not_known_has_its_own_axis(void **state)
{
    const struct tl_rank_clock unknown = {.rank = 1, .method = TL_CLOCK_UNKNOWN, .reason = "nobody answered"};
    struct tl_rank_place p[4];

    (void)state;
    make(3000000, 50000000000, 0, 1000, 2);
    p[0] = placed(0, &reference, false);
    p[1] = placed(1, &unknown, false);
    make(5000000, 50000000000, 0, 1000, 2);
    p[2] = placed(1, &unknown, false); /* the same rank, 2 ms later by its own clock */
    p[3] = placed(2, NULL, false);
    assert_string_equal(p[1].why, "nobody answered");
    assert_string_equal(p[3].why, "it has no clock.json");
    tl__rank_axes(p, 4);
    assert_int_equal(p[0].offset_ps, 0);
    assert_int_equal(p[1].offset_ps, 0);
    assert_int_equal(p[2].offset_ps, 2000000000);
    assert_int_equal(p[3].offset_ps, 0);
    /* One rank alone needs no other's clock. */
    assert_true(placed(1, NULL, true).known);
}

static struct tl_rank_clock measured(int64_t at_begin, int64_t at_end, uint64_t between_ns)
{
    struct tl_rank_clock c = far;

    c.begin = (struct tl_clock_reading){1000, at_begin, 4000, 64, 64};
    c.end = (struct tl_clock_reading){1000 + between_ns, at_end, 4000, 64, 64};
    c.unix_error_ns = UINT64_MAX;
    return c;
}

static void doubts(const struct tl_rank_clock *clock, const struct tl_rank_clock *other, const char *part)
{
    char why[200] = "";

    assert_true(tl__rank_clock_doubt(clock, other, why, sizeof(why)));
    if (strstr(why, part) == NULL)
        fail_msg("no \"%s\" in: %s", part, why);
}

static void believes(const struct tl_rank_clock *clock, const struct tl_rank_clock *other)
{
    char why[200] = "";

    if (tl__rank_clock_doubt(clock, other, why, sizeof(why)))
        fail_msg("%s", why);
}

static void an_error_bar_that_contradicts_itself_is_said(void **state)
{
    struct tl_rank_clock c = measured(11000000000, 11000000000 + 1200000 + 8000, 1000000000), other = reference;
    struct tl_rank_place a = {.rank = 0, .known = true}, b = {.rank = 1, .known = true, .begin_ns = 1000000};

    (void)state;
    believes(&c, NULL);
    c.end.offset_ns += 1201; /* beyond the fastest drift and both errors */
    doubts(&c, NULL, "differ by 1.209 ms, 1.000000 s apart");
    c.end.answers = 0; /* one measurement alone contradicts nothing */
    believes(&c, NULL);
    c.error_ns = 0;
    doubts(&c, NULL, "no message takes 0 ns");

    c = measured(11000000000, 11000000000, 1000000000);
    (void)snprintf(c.boot_id, sizeof(c.boot_id), "k");
    (void)snprintf(other.boot_id, sizeof(other.boot_id), "k");
    doubts(&c, &other, "one clock; it says they are 11.000000 s apart");
    (void)snprintf(other.time_ns, sizeof(other.time_ns), "another");
    believes(&c, &other);
    c.offset_ns = 9000;
    other.time_ns[0] = '\0';
    believes(&c, &other); /* within the bar */

    c = measured(11000000000, 11000000000, 1000000000);
    c.monotonic_ns = 12000000000;
    c.unix_ns = other.unix_ns = 1000000000000;
    other.monotonic_ns = 1000000000;
    c.unix_error_ns = other.unix_error_ns = 1000;
    (void)snprintf(other.boot_id, sizeof(other.boot_id), "l");
    believes(&c, &other);
    other.monotonic_ns -= 11001; /* the bar's 9 us and the wall clocks' 2 us */
    doubts(&c, &other, "wall clocks of both hosts contradict it by 11.001 us");

    (void)snprintf(b.doubt, sizeof(b.doubt), "because");
    tl__rank_order_text(&a, &b, text);
    assert_string_equal(text,
                        "order of rank 0 and rank 1 not known: the error bar of rank 1 is not believable: because");
}

static struct tl_rank_place in_boot(const char *boot, uint64_t host_ns, uint32_t rank,
                                    const struct tl_rank_clock *clock, bool alone)
{
    make(1000000, host_ns, 0, 1000, 2);
    (void)snprintf(w.lane.host_domain, sizeof(w.lane.host_domain), "%s", boot);
    return placed(rank, clock, alone);
}

static void times_of_two_boots_are_not_compared(void **state)
{
    struct tl_rank_clock clock = far;
    struct tl_rank_place p[3];

    (void)state;
    /* Three dispatches of one rank, whose host was started again between the second and the third. */
    p[0] = in_boot("boot-a", 50000000000, 0, NULL, true);
    p[1] = in_boot("boot-a", 50001000000, 0, NULL, true);
    p[2] = in_boot("boot-b", 10000000, 0, NULL, true);
    tl__rank_axes(p, 3);
    assert_true(p[0].known && p[1].known && !p[2].known);
    assert_int_equal(p[1].offset_ps, 1000000000);
    assert_int_equal(p[2].offset_ps, 0);
    assert_string_equal(p[2].why,
                        "its host_clock_domain_id is boot-b and the first one's is boot-a: times of two boots "
                        "are not compared");
    tl__rank_order_text(&p[0], &p[2], text);
    assert_non_null(strstr(text, "not known: their clocks are not, and are of two boots"));
    /* Two ranks without a clock.json: of one boot they share its clock, of two they do not. */
    p[0] = in_boot("boot-a", 50000000000, 0, NULL, false);
    p[1] = in_boot("boot-a", 50001000000, 1, NULL, false);
    tl__rank_axes(p, 2);
    assert_true(p[0].known && p[1].known);
    tl__rank_order_text(&p[0], &p[1], text);
    assert_string_equal(text, "rank 1 began 1.000 ms after rank 0 (+-2.002 us)");
    p[0] = in_boot("boot-a", 50000000000, 0, NULL, false);
    p[1] = in_boot("boot-b", 50001000000, 1, NULL, false);
    tl__rank_axes(p, 2);
    assert_false(p[0].known || p[1].known);
    /* A clock.json that was measured in another boot says nothing of the recording. */
    (void)snprintf(clock.boot_id, sizeof(clock.boot_id), "boot-b");
    p[0] = in_boot("boot-a", 50000000000, 1, &clock, false);
    assert_false(p[0].known);
    assert_non_null(strstr(p[0].why, "measured in the boot boot-b"));
    p[0] = in_boot("boot-b", 50000000000, 1, &clock, false);
    assert_true(p[0].known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_skew_and_not_the_offset),
        cmocka_unit_test(below_the_bar_no_order),
        cmocka_unit_test(the_rate_of_the_device),
        cmocka_unit_test(fewer_anchors_widen_the_error_bar),
        cmocka_unit_test(what_is_not_known_has_its_own_axis),
        cmocka_unit_test(times_of_two_boots_are_not_compared),
        cmocka_unit_test(an_error_bar_that_contradicts_itself_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
