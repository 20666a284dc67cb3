/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's own counters by way of the system: the same group code with events that every system has, page faults
 * and time, so that it is tested where there is no hardware to count. Skipped where counting is forbidden.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <pthread.h>
#include <cmocka.h>

#include "sim/counter_page.h"
#include "sim/counters.h"
#include "wire/pmu_record.h"

#define PAGES 64u
/* What may be counted for so many pages: a sanitizer has pages of its own for each. */
#define AT_MOST(pages) (5 * (pages) + 48)

static struct tl_counters *counters;
static const struct tl_counter_ops *ops;

static const char *const names[] = {"PERF_COUNT_SW_TASK_CLOCK", "PERF_COUNT_SW_PAGE_FAULTS"};

static void touch(unsigned pages)
{
    volatile char *p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    (void)madvise((void *)(uintptr_t)p, pages * 4096, MADV_NOHUGEPAGE);
    for (unsigned i = 0; i < pages; i++)
        p[i * 4096] = 1;
    assert_int_equal(munmap((void *)(uintptr_t)p, pages * 4096), 0);
}

/* What the calling thread counts while it touches so many pages. */
static uint64_t faults(unsigned pages)
{
    uint64_t before[2] = {0}, after[2] = {0};

    assert_true(ops->read(ops->ctx, before));
    touch(pages);
    assert_true(ops->read(ops->ctx, after));
    assert_true(after[0] > before[0]); /* time passed */
    return after[1] - before[1];
}

static void a_group_of_the_thread(void **state)
{
    uint8_t why = TL_MACHINE_COUNT;

    (void)state;
    assert_int_equal(ops->begin(ops->ctx, names, 2, &why), 2);
    assert_in_range(faults(PAGES), PAGES, AT_MOST(PAGES));
    assert_in_range(faults(2 * PAGES), 2 * PAGES, AT_MOST(2 * PAGES));
    assert_in_range(faults(1), 1, AT_MOST(1));
}

static void *on_a_thread(void *arg)
{
    *(uint64_t *)arg = faults(3 * PAGES);
    return NULL;
}

/* Each thread has its own group; another's faults are not in it. */
static void threads_count_apart(void **state)
{
    uint8_t why;
    uint64_t before[2], after[2], theirs = 0;
    pthread_t thread;

    (void)state;
    assert_int_equal(ops->begin(ops->ctx, names, 2, &why), 2);
    assert_true(ops->read(ops->ctx, before));
    assert_int_equal(pthread_create(&thread, NULL, on_a_thread, &theirs), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(ops->read(ops->ctx, after));
    assert_in_range(theirs, 3 * PAGES, AT_MOST(3 * PAGES));
    assert_true(after[1] - before[1] < theirs);
}

/* Another run, other events: what was open is closed, and an unknown name is left out. */
static void from_run_to_run(void **state)
{
    const char *const mixed[] = {"PERF_COUNT_SW_TASK_CLOCK", "NO-SUCH-EVENT", "PERF_COUNT_SW_PAGE_FAULTS"};
    uint64_t values[3] = {0, 77, 0};
    uint8_t why = TL_MACHINE_COUNT;

    (void)state;
    for (int i = 0; i < 3000; i++) /* more than a process may have open at once */
        assert_int_equal(ops->begin(ops->ctx, names, 2, &why), 2);
    assert_int_equal(ops->begin(ops->ctx, mixed, 3, &why), 4);
    assert_true(ops->read(ops->ctx, values));
    assert_int_equal(values[1], 77);
    assert_int_equal(ops->begin(ops->ctx, mixed, 2, &why), 0); /* nothing beside the leader */
    assert_int_equal(why, TL_MACHINE_ABSENT);
    assert_false(ops->read(ops->ctx, values));
    assert_int_equal(ops->begin(ops->ctx, &mixed[1], 2, &why), 0); /* no leader */
    assert_int_equal(why, TL_MACHINE_ABSENT);
    assert_false(ops->read(ops->ctx, values));
}

/* ---- a counter's page, made up ---- */

static struct perf_event_mmap_page page;
static uint64_t pmc_value;
static unsigned pmc_reads, moves; /* moves: how often the page still changes under the reader */

static uint64_t fake_pmc(uint32_t number)
{
    pmc_reads++;
    assert_int_equal(number, page.index - 1);
    if (moves > 0) { /* another register, another offset: what was read counts for nothing */
        uint64_t before = pmc_value;

        moves--;
        page.lock++;
        page.index++;
        page.offset += 1000;
        return before;
    }
    return pmc_value;
}

static void make_page(uint16_t width, uint32_t index, int64_t offset, uint64_t value)
{
    memset(&page, 0, sizeof(page));
    page.capabilities = TL_COUNTER_PAGE_REGISTERS;
    page.pmc_width = width;
    page.index = index;
    page.offset = offset;
    page.lock = 7;
    pmc_value = value;
    pmc_reads = moves = 0;
}

static void registers_are_read_whole(void **state)
{
    uint64_t value = 0;

    (void)state;
    make_page(48, 3, 5000, 123);
    assert_true(tl__counter_page_read(&page, fake_pmc, &value));
    assert_int_equal(value, 5123);
    make_page(48, 3, 5000, 0xffff00000000fff0 | UINT64_C(0x0000ffffffff0000)); /* 48 bits of -16 */
    assert_true(tl__counter_page_read(&page, fake_pmc, &value));
    assert_int_equal(value, 4984);
    make_page(64, 1, -5, 7);
    assert_true(tl__counter_page_read(&page, fake_pmc, &value));
    assert_int_equal(value, 2);
    make_page(40, 2, 10, 1);
    moves = 3;
    assert_true(tl__counter_page_read(&page, fake_pmc, &value));
    assert_int_equal(value, 3011);
    assert_int_equal(pmc_reads, 4);
}

static void registers_that_cannot_be_read(void **state)
{
    uint64_t value = 77;

    (void)state;
    make_page(48, 0, 5000, 123); /* in no register now */
    assert_false(tl__counter_page_read(&page, fake_pmc, &value));
    make_page(48, 3, 5000, 123);
    page.capabilities = 0;
    assert_false(tl__counter_page_read(&page, fake_pmc, &value));
    make_page(0, 3, 5000, 123);
    assert_false(tl__counter_page_read(&page, fake_pmc, &value));
    make_page(65, 3, 5000, 123);
    assert_false(tl__counter_page_read(&page, fake_pmc, &value));
    assert_int_equal(pmc_reads, 0);
    make_page(48, 3, 5000, 123); /* changes for ever */
    moves = UINT32_MAX;
    assert_false(tl__counter_page_read(&page, fake_pmc, &value));
    assert_int_equal(value, 77);
}

int main(void)
{
    const struct CMUnitTest pages[] = {
        cmocka_unit_test(registers_are_read_whole),
        cmocka_unit_test(registers_that_cannot_be_read),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_of_the_thread),
        cmocka_unit_test(threads_count_apart),
        cmocka_unit_test(from_run_to_run),
    };
    uint8_t why;
    int code = cmocka_run_group_tests(pages, NULL, NULL);

    if (code != 0)
        return code;
    counters = tl__counters_create();
    ops = tl__counters_ops(counters);
    code = 77; /* the rest needs a system that lets a program count */
    if (ops != NULL && ops->begin(ops->ctx, names, 2, &why) == 2)
        code = cmocka_run_group_tests(tests, NULL, NULL);
    tl__counters_destroy(counters);
    return code;
}
