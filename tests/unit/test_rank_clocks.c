/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far two clocks are apart: from samples of known clocks with delays of all kinds, where the truth must be within
 * the bar; and by a socket, between two threads that read one clock.
 */
#include "unit/artifact_fixture.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/env.h"
#include "host/clock_estimate.h"
#include "host/clock_server.h"
#include "host/rank_tree.h"

#define N 64u
#define SOON_NS UINT64_C(10000000000) /* a second, and a machine that stops meanwhile */

static uint64_t seed = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

/* A pair of clocks: ours is true time; the other's is `offset` behind at time 0 and loses `ppb` of each second. */
struct world {
    int64_t offset, ppb;
    uint64_t there, back; /* at least so long is each way, at most ten times as long */
};

static int64_t truth(const struct world *w, uint64_t t)
{
    return w->offset + (int64_t)(t / 1000000) * w->ppb / 1000;
}

static void ask(const struct world *w, uint64_t from, struct tl_clock_reading *r)
{
    struct tl_clock_sample samples[N];
    uint64_t t = from;

    for (unsigned i = 0; i < N; i++) {
        samples[i].before_ns = t;
        t += w->there + random_below(w->there * 9 + 1);
        samples[i].other_ns = (uint64_t)((int64_t)t - truth(w, t));
        t += w->back + random_below(w->back * 9 + 1);
        samples[i].after_ns = t;
    }
    tl__clock_read_samples(samples, N, N, r);
}

static const struct world worlds[] = {
    {0, 0, 2000, 2000},           {11000000000, 0, 2000, 2000},    {-11000000000, 0, 2000, 2000},
    {5000, 0, 100, 90000},        {5000, 0, 90000, 100},           {1, 0, 1, 1},
    {1000000, 50000, 5000, 5000}, {1000000, -50000, 5000, 800000}, {-7000000000, 100000, 900000, 3000},
};

/* At both ends of the run, and everywhere between. */
static void the_bar_holds_the_truth(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(worlds) / sizeof(worlds[0]) * 200; i++) {
        const struct world *w = &worlds[i % (sizeof(worlds) / sizeof(worlds[0]))];
        uint64_t begin = 1000000000000u, end = begin + random_below(600) * 1000000000u;
        struct tl_rank_clock c = {.unix_error_ns = UINT64_MAX};

        ask(w, begin, &c.begin);
        assert_int_equal(c.begin.answers, N);
        if (i % 3 != 0)
            ask(w, end, &c.end);
        tl__clock_conclude(&c, NULL, begin, end);
        assert_int_equal(c.method, TL_CLOCK_PING);
        for (unsigned k = 0; k <= 10; k++) {
            int64_t off = truth(w, begin + (end - begin) / 10 * k) - c.offset_ns;

            if ((uint64_t)(off < 0 ? -off : off) > c.error_ns + 1)
                fail_msg("world %u, %u tenths: off by %lld ns, the bar says %llu", i, k, (long long)off,
                         (unsigned long long)c.error_ns);
        }
        if (i % 3 != 0 && w->ppb == 0 && c.error_ns > (w->there + w->back) * 4)
            fail_msg("world %u: a bar of %llu ns for ways of %llu", i, (unsigned long long)c.error_ns,
                     (unsigned long long)(w->there + w->back));
    }
}

static void samples_without_sense_are_left_out(void **state)
{
    const struct tl_clock_sample backward = {.before_ns = 100, .other_ns = 0, .after_ns = 99};
    struct tl_clock_reading r;

    (void)state;
    tl__clock_read_samples(&backward, 1, 64, &r);
    assert_int_equal(r.answers, 0);
    assert_int_equal(r.tries, 64);
    tl__clock_read_samples(NULL, 0, 64, &r);
    assert_int_equal(r.answers, 0);
}

/* ---- without answers ---- */

static struct tl_rank_clock host(const char *boot, const char *ns, uint64_t monotonic, uint64_t wall, uint64_t error)
{
    struct tl_rank_clock c = {.monotonic_ns = monotonic, .unix_ns = wall, .unix_error_ns = error};

    (void)snprintf(c.boot_id, sizeof(c.boot_id), "%s", boot);
    (void)snprintf(c.time_ns, sizeof(c.time_ns), "%s", ns);
    c.begin.tries = 64;
    return c;
}

static void one_kernel_is_one_clock(void **state)
{
    struct tl_rank_clock a = host("k", "t", 100, 1000, UINT64_MAX), b = host("k", "t", 500, 9999, UINT64_MAX);

    (void)state;
    tl__clock_conclude(&a, &b, 0, 1000);
    assert_int_equal(a.method, TL_CLOCK_SAME);
    assert_int_equal(a.offset_ns, 0);
    assert_int_equal(a.error_ns, 0);
    assert_non_null(strstr(a.reason, "did not answer"));
    /* In another time namespace it is another clock. */
    b = host("k", "other", 500, 9999, UINT64_MAX);
    tl__clock_conclude(&a, &b, 0, 1000);
    assert_int_equal(a.method, TL_CLOCK_UNKNOWN);
    /* Nothing known of either kernel is no sameness. */
    a = host("", "", 1, 1, UINT64_MAX);
    b = host("", "", 1, 1, UINT64_MAX);
    tl__clock_conclude(&a, &b, 0, 1000);
    assert_int_equal(a.method, TL_CLOCK_UNKNOWN);
}

static void synchronised_wall_clocks_give_an_offset(void **state)
{
    struct tl_rank_clock a = host("k", "t", 11000000100, 1000, 7000), b = host("l", "t", 50, 950, 3000);

    (void)state;
    tl__clock_conclude(&a, &b, 11000000100, 11000000100);
    assert_int_equal(a.method, TL_CLOCK_WALL);
    assert_int_equal(a.offset_ns, 11000000000);
    assert_in_range(a.error_ns, 10000, 10000 + TL_CLOCK_DRIFT_PPM);
    b.unix_error_ns = UINT64_MAX;
    tl__clock_conclude(&a, &b, 0, 1000);
    assert_int_equal(a.method, TL_CLOCK_UNKNOWN);
    assert_non_null(strstr(a.reason, "not both synchronised"));
    tl__clock_conclude(&a, NULL, 0, 1000);
    assert_int_equal(a.method, TL_CLOCK_UNKNOWN);
    assert_non_null(strstr(a.reason, "clock.json"));
}

/* ---- by a socket ---- */

static void expect_answers(const char *root)
{
    struct tl_clock_server *server;
    struct tl_clock_reading r;
    uint64_t begin;

    assert_int_equal(tl__clock_server_start(root, &server, NULL), 0);
    tl__clock_ask(root, 20000000000, &r);
    assert_int_equal(r.answers, 64);
    assert_in_range((uint64_t)(r.offset_ns < 0 ? -r.offset_ns : r.offset_ns), 0, r.error_ns);
    begin = tl__now_ns();
    tl__clock_server_stop(server);
    assert_in_range(tl__now_ns() - begin, 0, SOON_NS);
    /* Nobody is there any more. */
    begin = tl__now_ns();
    tl__clock_ask(root, 50000000, &r);
    assert_int_equal(r.answers, 0);
    assert_in_range(tl__now_ns() - begin, 0, SOON_NS);
}

static void the_clock_is_asked_for(void **state)
{
    char deep[400];

    (void)state;
    expect_answers(fixture_dir);
    assert_int_equal(access(fixture_path(".clock"), F_OK), -1);
    /* A root whose path is too long for a socket's name. */
    (void)snprintf(deep, sizeof(deep), "%s/%0120d", fixture_dir, 1);
    assert_int_equal(mkdir(deep, 0700), 0);
    expect_answers(deep);
}

/* A directory that others may enter is not this job's: nothing is bound in it, and nobody in it is asked. */
static void a_directory_of_others_is_not_used(void **state)
{
    struct tl_clock_server *server;
    struct tl_clock_reading r;
    struct tl_error err;

    (void)state;
    assert_int_equal(mkdir(fixture_path("shared"), 0777), 0);
    assert_int_equal(mkdir(fixture_path("shared/.clock"), 0777), 0);
    assert_int_equal(chmod(fixture_path("shared/.clock"), 0755), 0);
    assert_int_equal(tl__clock_server_start(fixture_path("shared"), &server, &err), TL_EIO);
    assert_non_null(strstr(err.msg, "not this user's alone (mode 0700)"));
    assert_int_equal(access(fixture_path("shared/.clock"), F_OK), 0); /* it is left as it was */
    tl__clock_ask(fixture_path("shared"), 1, &r);
    assert_int_equal(r.answers, 0);
    assert_int_equal(rmdir(fixture_path("shared/.clock")), 0);
    assert_int_equal(symlink(fixture_dir, fixture_path("shared/.clock")), 0);
    assert_int_equal(tl__clock_server_start(fixture_path("shared"), &server, &err), TL_EIO);
}

/* A process of another user, let in by a directory whose mode changed afterwards: it asks, and is not answered. */
static void an_unknown_sender_is_not_answered(void **state)
{
    struct tl_clock_server *server;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int status = 0;
    pid_t child;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can become another user */
    assert_int_equal(tl__clock_server_start(fixture_dir, &server, NULL), 0);
    assert_int_equal(chmod(fixture_path(".clock"), 0777), 0);
    assert_int_equal(chmod(fixture_path(".clock/socket"), 0777), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "socket"); /* seen from within, whatever is above */
    child = fork();
    if (child == 0) {
        uint64_t word = 1;
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        if (chdir(fixture_path(".clock")) != 0 || setuid(65534) != 0 ||
            connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
            _exit(2);
        (void)send(fd, &word, sizeof(word), MSG_NOSIGNAL);
        _exit(recv(fd, &word, sizeof(word), MSG_WAITALL) == sizeof(word) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    tl__clock_server_stop(server);
}

/* One that asks without an end is cut off, so that others have their turn. */
static void nobody_asks_without_an_end(void **state)
{
    struct tl_clock_server *server;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint64_t word = 1, answers = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(tl__clock_server_start(fixture_dir, &server, NULL), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", fixture_path(".clock/socket"));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    while (answers < 1000 && send(fd, &word, sizeof(word), MSG_NOSIGNAL) == sizeof(word) &&
           recv(fd, &word, sizeof(word), MSG_WAITALL) == sizeof(word))
        answers++;
    assert_in_range(answers, 0, 64);
    (void)close(fd);
    tl__clock_server_stop(server);
}

static void both_ends_of_a_tree(void **state)
{
    struct tl_rank_clocks *first, *second;
    struct tl_rank_clock c;

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(tl__rank_dir_make(fixture_dir, i, NULL), 0);
    assert_int_equal(tl__rank_dir_make(fixture_dir, 1, NULL), TL_EEXIST);
    assert_int_equal(tl__rank_clocks_begin(fixture_dir, 0, 1, &first, NULL), 0);
    assert_int_equal(tl__rank_clocks_begin(fixture_dir, 1, 2, &second, NULL), 0);
    assert_int_equal(tl__rank_clock_read(fixture_path("rank2"), &c, NULL), 0); /* there from the beginning */
    assert_int_equal(c.method, TL_CLOCK_PING);
    assert_int_equal(tl__rank_clocks_end(second, NULL), 0);
    assert_int_equal(tl__rank_clocks_end(first, NULL), 0);
    assert_int_equal(tl__rank_clock_read(fixture_path("rank0"), &c, NULL), 0);
    assert_int_equal(c.method, TL_CLOCK_SAME);
    assert_int_equal(tl__rank_clock_read(fixture_path("rank2"), &c, NULL), 0);
    assert_int_equal(c.rank, 2);
    assert_in_range(c.end.answers, 1, 64); /* all, unless the machine stopped */
    assert_in_range((uint64_t)(c.offset_ns < 0 ? -c.offset_ns : c.offset_ns), 0, c.error_ns);
}

/* Without rank 0 nobody waits for more than a second, and one kernel is still one clock if rank 0 had come. */
static void a_tree_without_its_first_rank(void **state)
{
    struct tl_rank_clocks *second;
    struct tl_rank_clock c;
    uint64_t begin = tl__now_ns();

    (void)state;
    assert_int_equal(tl__rank_dir_make(fixture_dir, 5, NULL), 0);
    assert_int_equal(unlink(fixture_path("rank0/clock.json")), 0);
    assert_int_equal(tl__rank_clocks_begin(fixture_dir, 5, 1, &second, NULL), 0);
    assert_int_equal(tl__rank_clocks_end(second, NULL), 0);
    assert_in_range(tl__now_ns() - begin, 0, SOON_NS);
    assert_int_equal(tl__rank_clock_read(fixture_path("rank5"), &c, NULL), 0);
    assert_int_equal(c.method, TL_CLOCK_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bar_holds_the_truth),
        cmocka_unit_test(samples_without_sense_are_left_out),
        cmocka_unit_test(one_kernel_is_one_clock),
        cmocka_unit_test(synchronised_wall_clocks_give_an_offset),
        cmocka_unit_test(the_clock_is_asked_for),
        cmocka_unit_test(a_directory_of_others_is_not_used),
        cmocka_unit_test(an_unknown_sender_is_not_answered),
        cmocka_unit_test(nobody_asks_without_an_end),
        cmocka_unit_test(both_ends_of_a_tree),
        cmocka_unit_test(a_tree_without_its_first_rank),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
