/* SPDX-License-Identifier: Apache-2.0 */
/* The real environment: clock, threads, park and wake between threads and between processes, allocation. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/error.h"

#define MS UINT64_C(1000000)
#define PINGS 100000U

static void clock_never_goes_back(void **state)
{
    uint64_t last = tl__now_ns();

    (void)state;
    assert_true(last > 0);
    for (int i = 0; i < 10000; i++) {
        uint64_t now = tl__now_ns();

        assert_true(now >= last);
        last = now;
    }
}

struct seen {
    char name[16];
    int blocks_sigint;
    int blocks_sigsegv;
    int ran;
};

static void tell(void *arg)
{
    struct seen *seen = arg;
    sigset_t set;

    (void)pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &set);
    seen->blocks_sigint = sigismember(&set, SIGINT);
    seen->blocks_sigsegv = sigismember(&set, SIGSEGV);
    seen->ran = 1;
}

static void thread_has_name_and_mask(void **state)
{
    struct seen seen = {.ran = 0};
    struct tl_thread *thread = NULL;
    sigset_t mine;

    (void)state;
    assert_int_equal(tl__spawn("a-name-longer-than-the-system-takes", tell, &seen, &thread), 0);
    tl__join(thread);
    assert_int_equal(seen.ran, 1);
    assert_string_equal(seen.name, "a-name-longer-t");
    assert_int_equal(seen.blocks_sigint, 1);
    assert_int_equal(seen.blocks_sigsegv, 0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mine);
    assert_int_equal(sigismember(&mine, SIGINT), 0);
    tl__join(NULL);
}

static void park_returns_when_the_word_differs(void **state)
{
    tl_au32 word = 7;

    (void)state;
    assert_int_equal(tl__park(&word, 8, TL_FOREVER), 0);
    assert_int_equal(tl__park(&word, 8, 0), 0);
}

static void park_ends_at_the_deadline(void **state)
{
    tl_au32 word = 7;
    uint64_t start = tl__now_ns();
    int rc;

    (void)state;
    do
        rc = tl__park(&word, 7, start + 30 * MS);
    while (rc == 0);
    assert_int_equal(rc, TL_ETIMEDOUT);
    assert_true(tl__now_ns() - start >= 30 * MS);
    assert_true(tl__now_ns() - start < 10000 * MS);
    assert_int_equal(tl__park(&word, 7, 0), TL_ETIMEDOUT);
}

/* Two words, each waited for by one side: a lost wake leaves both asleep, and the test times out. */
struct court {
    tl_au32 ping, pong;
};

static void wait_for(tl_au32 *word, uint32_t value)
{
    uint32_t now;

    while ((now = tl_load_acq(word)) != value) /* A1: sees the other side's turn; pairs with R1 */
        (void)tl__park(word, now, TL_FOREVER);
}

static void set(tl_au32 *word, uint32_t value)
{
    tl_store_rel(word, value); /* R1: ends my turn; pairs with A1 */
    tl__wake(word, 1);
}

static void answer(void *arg)
{
    struct court *court = arg;

    for (uint32_t i = 1; i <= PINGS; i++) {
        wait_for(&court->ping, i);
        set(&court->pong, i);
    }
}

static void ask(struct court *court, uint32_t times)
{
    for (uint32_t i = 1; i <= times; i++) {
        set(&court->ping, i);
        wait_for(&court->pong, i);
    }
}

static void no_wake_is_lost_between_threads(void **state)
{
    struct court court = {0};
    struct tl_thread *thread;

    (void)state;
    assert_int_equal(tl__spawn("answer", answer, &court, &thread), 0);
    ask(&court, PINGS);
    tl__join(thread);
    assert_int_equal(court.pong, PINGS);
}

/* The two mappings of one page have different addresses, as the device's and the host's do. */
static void no_wake_is_lost_between_processes(void **state)
{
    int fd = memfd_create("court", MFD_CLOEXEC);
    struct court *mine;
    int status;
    pid_t child;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(mine, MAP_FAILED);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct court *theirs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (theirs == MAP_FAILED || theirs == mine)
            _exit(1);
        answer(theirs);
        _exit(0);
    }
    ask(mine, PINGS);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)munmap(mine, 4096);
    (void)close(fd);
}

struct gate {
    tl_au32 word, inside, out;
};

static void pass_gate(void *arg)
{
    struct gate *gate = arg;

    (void)tl_add_acq_rel(&gate->inside, 1);
    while (tl_load_acq(&gate->word) == 0) /* A2: pairs with R2 */
        (void)tl__park(&gate->word, 0, TL_FOREVER);
    (void)tl_add_acq_rel(&gate->out, 1);
}

static void one_wake_wakes_all(void **state)
{
    struct gate gate = {0};
    struct tl_thread *threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(tl__spawn("gate", pass_gate, &gate, &threads[i]), 0);
    while (tl_load_acq(&gate.inside) != 4)
        tl__relax();
    (void)usleep(20000); /* all four asleep, most likely; the test holds either way */
    assert_int_equal(tl_load_acq(&gate.out), 0);
    tl_store_rel(&gate.word, 1); /* R2: opens; pairs with A2 */
    tl__wake(&gate.word, UINT32_MAX);
    for (int i = 0; i < 4; i++)
        tl__join(threads[i]);
    assert_int_equal(gate.out, 4);
}

static void wake_of_none_wakes_nobody(void **state)
{
    struct gate gate = {0};
    struct tl_thread *thread;

    (void)state;
    assert_int_equal(tl__spawn("gate", pass_gate, &gate, &thread), 0);
    tl__wake(&gate.word, 0);
    tl__wake(&gate.word, 1);     /* nothing changed: the sleeper looks, and sleeps again */
    tl_store_rel(&gate.word, 1); /* R2 */
    tl__wake(&gate.word, 1);
    tl__join(thread);
}

static void reserve_gives_zeroed_aligned_pages(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, 4097, ((size_t)2 << 20) - 1, (size_t)2 << 20, ((size_t)5 << 20) + 1};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *memory = tl__reserve(sizes[i]);

        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % (sizes[i] >= (size_t)2 << 20 ? (size_t)2 << 20 : 4096), 0);
        for (size_t at = 0; at < sizes[i]; at += 4096)
            assert_int_equal(memory[at], 0);
        if (sizes[i] != 0)
            memory[sizes[i] - 1] = 1;
        tl__release(memory, sizes[i]);
    }
    tl__release(NULL, 4096);
}

static void reserve_is_lazy_and_bounded(void **state)
{
    size_t huge = (size_t)1 << 38; /* more than this machine has: address space only */
    char *memory = tl__reserve(huge);

    (void)state;
    if (memory != NULL) { /* a sanitizer or a limit may refuse */
        memory[huge - 1] = 1;
        tl__release(memory, huge);
    }
    assert_null(tl__reserve(SIZE_MAX));
    assert_null(tl__reserve(SIZE_MAX - 4096));
    assert_null(tl__reserve(SIZE_MAX / 2));
}

static void alloc_is_zeroed_and_never_null_for_nothing(void **state)
{
    uint32_t *numbers = tl__alloc(100, sizeof(*numbers));
    void *nothing = tl__alloc(0, 8);
    char *grown;

    (void)state;
    assert_non_null(numbers);
    for (int i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
    tl__free(numbers);
    assert_non_null(nothing);
    grown = tl__realloc(nothing, 0);
    assert_non_null(grown);
    grown = tl__realloc(grown, 3);
    assert_non_null(grown);
    memcpy(grown, "ab", 3);
    grown = tl__realloc(grown, 3000);
    assert_string_equal(grown, "ab");
    tl__free(grown);
    tl__free(NULL);
    assert_false(tl__fault("alloc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_never_goes_back),
        cmocka_unit_test(thread_has_name_and_mask),
        cmocka_unit_test(park_returns_when_the_word_differs),
        cmocka_unit_test(park_ends_at_the_deadline),
        cmocka_unit_test(no_wake_is_lost_between_threads),
        cmocka_unit_test(no_wake_is_lost_between_processes),
        cmocka_unit_test(one_wake_wakes_all),
        cmocka_unit_test(wake_of_none_wakes_nobody),
        cmocka_unit_test(reserve_gives_zeroed_aligned_pages),
        cmocka_unit_test(reserve_is_lazy_and_bounded),
        cmocka_unit_test(alloc_is_zeroed_and_never_null_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
