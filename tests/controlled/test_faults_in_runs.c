/* SPDX-License-Identifier: Apache-2.0 */
/* The controlled environment's clock, its faults, and its border with the real one. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/env_controlled.h"
#include "base/error.h"
#include "base/vec.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

static struct tl_controlled_report report;

static int run_with(const char *faults, uint64_t seed, void (*fn)(void *arg), void *arg)
{
    struct tl_controlled_opts opts = {.seed = seed, .faults = faults, .steps_max = 1000000};

    return tl__controlled_run(&opts, fn, arg, &report);
}

static void wait_thirty_seconds(void *arg)
{
    tl_au32 word = 0;
    uint64_t start = tl__now_ns();
    int rc;

    (void)arg;
    do
        rc = tl__park(&word, 0, start + 30 * S);
    while (rc == 0);
    tl__controlled_check(rc == TL_ETIMEDOUT);
    tl__controlled_check(tl__now_ns() >= start + 30 * S);
    tl__controlled_check(tl__now_ns() < start + 30 * S + MS);
    while (tl__park(&word, 0, start) == 0)
        ; /* a deadline that has passed ends at once, but for early returns */
    tl__controlled_check(tl__park(&word, 1, start) == 0);
}

static void thirty_seconds_take_no_time(void **state)
{
    uint64_t start = tl__now_ns();

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++)
        assert_int_equal(run_with(NULL, seed, wait_thirty_seconds, NULL), 0);
    assert_in_range(report.elapsed_ns, 30 * S, 31 * S);
    assert_true(tl__now_ns() - start < 30 * S);
}

struct sleeper {
    uint64_t ns;
    tl_au32 *turn;
    uint32_t place;
};

static void sleep_and_check(void *arg)
{
    struct sleeper *sleeper = arg;

    tl__controlled_sleep(sleeper->ns);
    tl__controlled_check(tl_add_acq_rel(sleeper->turn, 1) == sleeper->place);
}

static void three_sleepers(void *arg)
{
    tl_au32 turn = 0;
    struct sleeper sleepers[] = {{3 * S, &turn, 2}, {1 * S, &turn, 0}, {2 * S, &turn, 1}};
    struct tl_thread *threads[3];

    (void)arg;
    for (int i = 0; i < 3; i++)
        tl__controlled_check(tl__spawn("sleeper", sleep_and_check, &sleepers[i], &threads[i]) == 0);
    for (int i = 0; i < 3; i++)
        tl__join(threads[i]);
}

static void sleepers_wake_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++)
        assert_int_equal(run_with(NULL, seed, three_sleepers, NULL), 0);
    assert_in_range(report.elapsed_ns, 3 * S, 3 * S + MS);
}

static void poll_for_a_while(void *arg)
{
    uint64_t end = tl__now_ns() + 100 * MS;

    (void)arg;
    while (tl__now_ns() < end)
        tl__relax();
}

static void a_bounded_spin_ends(void **state)
{
    (void)state;
    assert_int_equal(run_with(NULL, 1, poll_for_a_while, NULL), 0);
}

static void park_for_ever(void *arg)
{
    tl_au32 *word = arg;

    while (tl_load_acq(word) == 7)
        (void)tl__park(word, 7, TL_FOREVER);
}

static void wait_for_the_sleeper(void *arg)
{
    struct tl_thread *thread = NULL;

    tl__controlled_check(tl__spawn("sleeper", park_for_ever, arg, &thread) == 0);
    tl__join(thread);
}

static void a_hang_names_everyone(void **state)
{
    tl_au32 word = 7;
    char parked[64];

    (void)state;
    assert_int_equal(run_with("alloc@99", 77, wait_for_the_sleeper, &word), TL_EHANG);
    assert_int_equal(report.outcome, TL_CONTROLLED_HANG);
    assert_non_null(strstr(report.text, "seed=77 faults=alloc@99: hang"));
    assert_non_null(strstr(report.text, "main#0 joins sleeper#1"));
    (void)snprintf(parked, sizeof(parked), "sleeper#1 parked on %p since step", (void *)&word);
    assert_non_null(strstr(report.text, parked));
    assert_non_null(strstr(report.text, "expects 7, is 7"));
}

/* Three sleepers on two words; one wake of one sleeper. Counts who comes back from one park. */
struct beds {
    tl_au32 words[2];
    uint32_t back[3];
};

struct bed {
    struct beds *beds;
    uint32_t place;
};

static void sleep_once(void *arg)
{
    struct bed *bed = arg;

    (void)tl__park(&bed->beds->words[bed->place / 2], 0, TL_FOREVER);
    bed->beds->back[bed->place]++;
}

static void wake_one_of_three(void *arg)
{
    struct beds *beds = arg;
    struct bed each[3] = {{beds, 0}, {beds, 1}, {beds, 2}};
    struct tl_thread *threads[3];

    for (int i = 0; i < 3; i++)
        tl__controlled_check(tl__spawn("bed", sleep_once, &each[i], &threads[i]) == 0);
    tl__controlled_sleep(S); /* all sleep now */
    tl__wake(&beds->words[0], 1);
    for (int i = 0; i < 3; i++)
        tl__join(threads[i]);
}

static void a_wake_reaches_its_word_and_no_more_than_asked(void **state)
{
    int exact = 0, first = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct beds beds = {0};

        (void)run_with(NULL, seed, wake_one_of_three, &beds); /* hangs, of course: nobody wakes the other two */
        exact += beds.back[0] + beds.back[1] == 1 && beds.back[2] == 0;
        first += beds.back[0] == 1;
    }
    assert_in_range(exact, 150, 200); /* the others had a park that returned early, as it may */
    assert_in_range(first, 50, 150);  /* and which of two is woken is left to the seed */
}

/* A heartbeat, and one who declares it dead when it has not moved for 30 s. */
struct heart {
    tl_au32 beat, stop;
    tl_au32 declared;
};

static void beat(void *arg)
{
    struct heart *heart = arg;

    while (tl_load_acq(&heart->stop) == 0) {
        (void)tl_add_acq_rel(&heart->beat, 1);
        tl__controlled_sleep(1 * S);
    }
}

static void watch(void *arg)
{
    struct heart *heart = arg;
    struct tl_thread *thread = NULL;
    uint32_t last = 0;

    tl__controlled_check(tl__spawn("host-beat", beat, heart, &thread) == 0);
    for (int i = 0; i < 4; i++) {
        tl__controlled_sleep(30 * S);
        if (tl_load_acq(&heart->beat) == last)
            (void)tl_add_acq_rel(&heart->declared, 1);
        last = tl_load_acq(&heart->beat);
    }
    tl_store_rel(&heart->stop, 1);
    tl__join(thread);
}

static void threads_are_killed_and_frozen_by_name(void **state)
{
    struct heart heart = {0};

    (void)state;
    assert_int_equal(run_with("kill.other@20,freeze.dev@30", 3, watch, &heart), 0);
    assert_int_equal(heart.declared, 0);
    assert_true(heart.beat >= 120);

    heart = (struct heart){0};
    assert_int_equal(run_with("kill.host@40", 3, watch, &heart), 0);
    assert_in_range(heart.declared, 3, 4);
    assert_true(heart.beat < 40);

    heart = (struct heart){0};
    assert_int_equal(run_with("freeze.host@40=45000000000", 3, watch, &heart), 0);
    assert_int_equal(heart.declared, 1);
    assert_in_range(heart.beat, 70, 80);

    heart = (struct heart){0};
    assert_int_equal(run_with("freeze.host@40", 3, watch, &heart), TL_EHANG);
    assert_non_null(strstr(report.text, "host-beat#1 can run, frozen"));
}

static void kill_self(void *arg)
{
    tl_au32 *word = arg;

    (void)tl_add_rlx(word, 1);
    tl__controlled_kill("dev");
    (void)tl_add_rlx(word, 100);
}

static void freeze_self(void *arg)
{
    tl_au32 *word = arg;
    uint64_t start = tl__now_ns();

    tl__controlled_freeze("host", 5 * S);
    tl__controlled_check(tl__now_ns() >= start + 5 * S);
    (void)tl_add_rlx(word, 1);
}

static void kill_and_freeze(void *arg)
{
    struct tl_thread *threads[3];
    tl_au32 *word = arg;

    tl__controlled_check(tl__spawn("dev0", park_for_ever, word + 1, &threads[0]) == 0);
    tl__controlled_check(tl__spawn("dev1", kill_self, word, &threads[1]) == 0);
    tl__controlled_check(tl__spawn("host", freeze_self, word, &threads[2]) == 0);
    for (int i = 0; i < 3; i++)
        tl__join(threads[i]);
}

static void one_may_kill_and_freeze_oneself(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        tl_au32 words[2] = {0, 7};

        assert_int_equal(run_with(NULL, seed, kill_and_freeze, words), 0);
        assert_int_equal(words[0], 2);
    }
}

static void leave_the_killed(void *arg)
{
    struct tl_thread *thread = NULL;

    tl__controlled_check(tl__spawn("dev0", park_for_ever, arg, &thread) == 0);
    tl__controlled_kill("dev");
}

static void the_killed_need_no_join(void **state)
{
    tl_au32 word = 7;

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        assert_int_equal(run_with(NULL, seed, leave_the_killed, &word), 0);
}

/* Takes one allocation of each kind, and gives all back whatever fails. */
static void allocate(void *arg)
{
    TL_VEC(int) v = {0};
    struct tl_thread *thread = NULL;
    tl_au32 word = 0;
    void *pages = NULL;
    char *block;
    int *failed = arg;

    block = tl__alloc(3, 5);
    *failed += block == NULL;
    pages = tl__reserve((size_t)3 << 20);
    *failed += pages == NULL;
    *failed += tl_vec_push(&v, 1) != 0;
    if (v.capacity != 0)
        *failed += tl_vec_reserve(&v, v.capacity + 1) != 0;
    if (tl__spawn("t", kill_self, &word, &thread) == 0)
        tl__join(thread);
    tl_vec_fini(&v);
    tl__release(pages, (size_t)3 << 20);
    tl__free(block);
}

static void the_nth_allocation_fails(void **state)
{
    char faults[32];

    (void)state;
    for (int n = 1; n <= 5; n++) {
        int failed = 0;

        (void)snprintf(faults, sizeof(faults), "alloc@%d", n);
        assert_int_equal(run_with(faults, 1, allocate, &failed), 0);
        assert_int_equal(failed, n <= 4 ? 1 : 0);
        assert_int_equal(report.faults.entries[0].fired, n <= 4 ? 1 : 0);
        assert_int_equal(report.allocs_live, 0);
    }
}

static void refuse_a_thread(void *arg)
{
    struct tl_thread *thread = NULL;

    (void)arg;
    tl__controlled_check(tl__spawn("t", park_for_ever, NULL, &thread) == TL_ENOMEM);
    tl__controlled_check(thread == NULL);
}

static void a_thread_may_be_refused(void **state)
{
    (void)state;
    assert_int_equal(run_with("spawn@1", 1, refuse_a_thread, NULL), 0);
}

struct file {
    int fd;
    int rc;
    size_t written;
    uint64_t took_ns;
};

static void write_file(void *arg)
{
    struct file *file = arg;
    char data[1000];
    uint64_t start = tl__now_ns();

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i % 100);
    file->rc = tl__write(file->fd, data, sizeof(data), 0, &file->written);
    if (file->rc == 0)
        file->rc = tl__sync(file->fd);
    file->took_ns = tl__now_ns() - start;
}

static struct file write_with(const char *faults, uint64_t seed)
{
    char path[] = "/tmp/tasklens-controlled-XXXXXX";
    struct file file = {.fd = mkstemp(path)};
    unsigned char back[1000];
    ssize_t n;

    assert_true(file.fd >= 0);
    (void)unlink(path);
    assert_int_equal(run_with(faults, seed, write_file, &file), 0);
    n = pread(file.fd, back, sizeof(back), 0);
    assert_int_equal(n, file.written); /* what is said to be on the file is there, and no more */
    for (ssize_t i = 0; i < n; i++)
        assert_int_equal(back[i], i % 100);
    (void)close(file.fd);
    return file;
}

static void files_fail_as_the_list_says(void **state)
{
    struct file file;
    uint64_t fired = 0;

    (void)state;
    file = write_with(NULL, 1);
    assert_int_equal(file.rc, 0);
    assert_int_equal(file.written, 1000);
    for (uint64_t seed = 0; seed < 20; seed++) {
        file = write_with("short_write%50=100", seed);
        assert_int_equal(file.rc, 0);
        assert_int_equal(file.written, 1000);
        fired += report.faults.entries[0].fired;
    }
    assert_in_range(fired, 5, 60);
    file = write_with("short_write=7", 1);
    assert_int_equal(file.written, 1000);
    assert_int_equal(report.faults.entries[0].fired, 143);
    file = write_with("disk_full=321", 1);
    assert_int_equal(file.rc, TL_ENOSPC);
    assert_int_equal(file.written, 321);
    file = write_with("disk_full", 1);
    assert_int_equal(file.rc, TL_ENOSPC);
    assert_int_equal(file.written, 0);
    file = write_with("short_write=100,write_eio@3", 1);
    assert_int_equal(file.rc, TL_EIO);
    assert_int_equal(file.written, 200);
    file = write_with("sync_eio", 1);
    assert_int_equal(file.rc, TL_EIO);
    assert_int_equal(file.written, 1000);
    file = write_with("slow_write=50000", 1);
    assert_int_equal(file.rc, 0);
    assert_in_range(file.took_ns, 50 * MS, 51 * MS);
}

static void ask_by_own_names(void *arg)
{
    int *fired = arg;

    for (int i = 0; i < 10; i++)
        *fired += tl__fault("core_no_fin");
    tl__controlled_check(tl__fault_value("core_no_fin", 5) == 3);
    tl__controlled_check(tl__fault_value("other", 5) == 5);
    tl__controlled_check(tl__fault_value("absent", 5) == 5);
}

static void others_ask_by_their_own_names(void **state)
{
    int fired = 0;

    (void)state;
    assert_int_equal(run_with("other,core_no_fin@4+2=3", 1, ask_by_own_names, &fired), 0);
    assert_int_equal(fired, 2);
    assert_int_equal(report.faults.entries[0].asked, 0); /* so a test sees that its fault was never asked for */
    assert_int_equal(report.faults.entries[1].asked, 10);
    assert_false(tl__fault("core_no_fin"));
    assert_int_equal(tl__fault_value("core_no_fin", 9), 9);
}

static void a_bad_list_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run_with("alloc@1,short_write@", 1, poll_for_a_while, NULL), TL_EINVAL);
    assert_non_null(strstr(report.text, "fault list"));
}

/* What a run must not touch: the rest of the process. */
static void set_word(void *arg)
{
    tl_store_rel((tl_au32 *)arg, 1);
    tl__wake(arg, 1);
}

static void outside_a_run_all_is_real(void **state)
{
    struct tl_thread *thread;
    uint64_t start = tl__now_ns();
    tl_au32 word = 0;

    (void)state;
    assert_false(tl__controlled_active());
    assert_int_equal(tl__spawn("real", set_word, &word, &thread), 0);
    while (tl_load_acq(&word) == 0)
        (void)tl__park(&word, 0, TL_FOREVER);
    tl__join(thread);
    assert_int_equal(tl__park(&word, 1, tl__now_ns() + 5 * MS), TL_ETIMEDOUT);
    assert_true(tl__now_ns() - start >= 5 * MS);
    tl__controlled_sleep(S);
    tl__controlled_kill("x");
    tl__controlled_freeze("x", S);
    assert_int_equal(tl__controlled_choose(5), 0);
}

static void spoil_errno(void *arg)
{
    (void)arg;
    errno = 18;
    tl__controlled_sleep(S);
    tl__controlled_check(errno == 18);
}

static void nested(void *arg)
{
    struct tl_controlled_opts opts = {.seed = 1};
    struct tl_controlled_report inner;
    struct tl_thread *thread = NULL;

    tl__controlled_check(tl__controlled_active());
    tl__controlled_check(tl__controlled_run(&opts, wait_thirty_seconds, arg, &inner) == TL_EINVAL);
    tl__controlled_check(strstr(inner.text, "a run is open") != NULL);
    tl__controlled_check(tl__spawn("spoiler", spoil_errno, NULL, &thread) == 0);
    errno = 17;
    tl__controlled_sleep(S);
    tl__controlled_check(errno == 17);
    tl__join(thread);
    for (int i = 0; i < 100; i++)
        tl__controlled_check(tl__controlled_choose(3) < 3);
    errno = 0;
}

static void a_run_inside_a_run_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run_with(NULL, 1, nested, NULL), 0);
}

static void join_twice(void *arg)
{
    struct tl_thread *thread = NULL;

    tl__controlled_check(tl__spawn("t", set_word, arg, &thread) == 0);
    tl__join(thread);
    tl__join(thread);
}

static void a_second_join_is_a_failure(void **state)
{
    tl_au32 word = 0;

    (void)state;
    assert_int_equal(run_with(NULL, 1, join_twice, &word), TL_ECORRUPT);
    assert_non_null(strstr(report.text, "t#1 is joined twice"));
}

struct side {
    uint64_t hashes[50];
    tl_au32 bad;
};

/* On a thread of its own, at the same time as others. */
static void many_runs(void *arg)
{
    struct side *side = arg;

    for (uint64_t seed = 0; seed < 50; seed++) {
        struct tl_controlled_opts opts = {.seed = seed};
        struct tl_controlled_report mine;

        if (tl__controlled_run(&opts, three_sleepers, NULL, &mine) != 0)
            (void)tl_add_rlx(&side->bad, 1);
        side->hashes[seed] = mine.trace_hash;
    }
    tl__controlled_trim();
}

static void runs_on_two_threads_do_not_meet(void **state)
{
    static struct side sides[2];
    struct tl_thread *threads[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(tl__spawn("runs", many_runs, &sides[i], &threads[i]), 0);
    for (int i = 0; i < 2; i++)
        tl__join(threads[i]);
    assert_int_equal(sides[0].bad + sides[1].bad, 0);
    assert_memory_equal(sides[0].hashes, sides[1].hashes, sizeof(sides[0].hashes));
}

static void many_threads_one_after_the_other(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        struct tl_thread *thread = NULL;
        tl_au32 word = 0;

        tl__controlled_check(tl__spawn("short", set_word, &word, &thread) == 0);
        tl__join(thread);
        tl__controlled_check(word == 1);
    }
    (void)arg;
}

static void stacks_are_used_again(void **state)
{
    (void)state;
    assert_int_equal(run_with(NULL, 1, many_threads_one_after_the_other, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirty_seconds_take_no_time),
        cmocka_unit_test(sleepers_wake_in_the_order_of_their_deadlines),
        cmocka_unit_test(a_bounded_spin_ends),
        cmocka_unit_test(a_hang_names_everyone),
        cmocka_unit_test(a_wake_reaches_its_word_and_no_more_than_asked),
        cmocka_unit_test(threads_are_killed_and_frozen_by_name),
        cmocka_unit_test(one_may_kill_and_freeze_oneself),
        cmocka_unit_test(the_killed_need_no_join),
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(a_thread_may_be_refused),
        cmocka_unit_test(files_fail_as_the_list_says),
        cmocka_unit_test(others_ask_by_their_own_names),
        cmocka_unit_test(a_bad_list_is_refused),
        cmocka_unit_test(outside_a_run_all_is_real),
        cmocka_unit_test(a_run_inside_a_run_is_refused),
        cmocka_unit_test(a_second_join_is_a_failure),
        cmocka_unit_test(runs_on_two_threads_do_not_meet),
        cmocka_unit_test(stacks_are_used_again),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    tl__controlled_trim();
    return failed;
}
