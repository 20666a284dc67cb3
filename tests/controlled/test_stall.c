/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that makes no progress says why: a core that does not acknowledge what it was given, and tasks that all wait,
 * each on both archs and runtimes. (A kernel that does not return: unit/test_device, scene/test_hang; a full ring: the
 * same.) Each seed is an order of its own. Usage: test [FIRST_SEED [SEEDS]], or $TASKLENS_SEEDS.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/env_controlled.h"
#include "base/log.h"
#include "support/bare_device.h"
#include "support/seeds.h"

#define DEFAULT_SEEDS 100u

enum { FUNC_ADD };
enum { CHAIN = 4 };

static void add(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[0] += TL_SCALAR_OF(k, 0, uint64_t);
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_ADD, "add", TL_AIV, add, TL_INOUT)};

/* A chain over one word. */
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    for (int i = 0; i < CHAIN; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        uint64_t one = 1;

        tl_add_inout(&args, &in->tensors[0]);
        tl_add_scalar(&args, one);
        tl_submit_aiv(o, FUNC_ADD, &args);
    }
}

static char lines[4096];

static void keep_line(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    if (level == TL_LOG_ERROR)
        (void)snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s\n", line);
}

struct scene {
    struct bare_opts opts;
    int code;
    uint64_t value;
    char message[960];
};

static void body(void *arg)
{
    struct scene *s = arg;
    struct tl_program program = {.struct_size = sizeof(program),
                                 .api_version = TL_PROGRAM_API,
                                 .name = "chain",
                                 .kernels = kernels,
                                 .n_kernels = TL_ARRAY_COUNT(kernels),
                                 .orchestrate = orchestrate};
    struct bare_device b;
    struct tl_tensor word;
    uint32_t one = 1;

    bare_open(&b, &s->opts);
    word = bare_tensor(&b, TL_UINT64, 1, &one);
    s->code = bare_run(&b, &program, &word, 1, NULL, 0);
    s->value = *(uint64_t *)bare_ptr(&b, word.buffer);
    memcpy(s->message, b.status->message, sizeof(s->message));
    bare_close(&b);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* A sweep whose seeds repeat each other shows nothing: nine tenths of them are orders that no other has. */
static void expect_many_orders(uint64_t *orders, uint64_t n)
{
    uint64_t distinct = n != 0;

    qsort(orders, n, sizeof(*orders), compare);
    for (uint64_t i = 1; i < n; i++)
        distinct += orders[i] != orders[i - 1];
    print_message("%llu orders under %llu seeds\n", (unsigned long long)distinct, (unsigned long long)n);
    assert_true(distinct * 10 >= n * 9);
}

/* In many orders; the budget is 20 s of virtual time. `rings`: with the other runtime too. */
static void expect(const char *faults, bool rings, uint64_t value, const char *const *says)
{
    static const char *const archs[] = {"a2a3", "a5"};

    uint64_t *orders = calloc(seeds, sizeof(*orders)), n_orders = 0;

    assert_non_null(orders);
    tl_log_set_sink(keep_line, NULL);
    for (seed_now = first_seed; seed_now < first_seed + seeds; seed_now++) {
        const uint64_t seed = seed_now;
        struct scene s = {.opts = {.threads = 1 + (unsigned)(seed % 3),
                                   .clusters = 2,
                                   .schedulers = 2,
                                   .arch = archs[seed % 2],
                                   .runtime = !rings || seed / 2 % 2 ? TL_RUNTIME_HOST_BUILD : TL_RUNTIME_RING,
                                   .scheduler_timeout_ms = 20000}};
        struct tl_controlled_opts opts = {.seed = seed, .faults = faults};
        struct tl_controlled_report report;

        lines[0] = '\0';
        if (tl__controlled_run(&opts, body, &s, &report) != 0)
            fail_msg("%s", report.text);
        orders[n_orders++] = report.trace_hash;
        assert_int_equal(report.allocs_live, 0);
        assert_true(report.faults.entries[0].fired >= 1);
        assert_int_equal(s.code, TL_EHANG);
        assert_int_equal(s.value, value);
        assert_non_null(strstr(s.message, "no progress for 2")); /* 20 s, or up to 22.5 */
        for (const char *const *at = says; *at != NULL; at++)
            if (strstr(lines, *at) == NULL && strstr(s.message, *at) == NULL)
                fail_msg("\"%s\" is not in:\n%s\n%s", *at, lines, s.message);
    }
    seed_now = 0;
    tl_log_set_sink(NULL, NULL);
    expect_many_orders(orders, n_orders);
    free(orders);
}

static void a_core_that_does_not_acknowledge(void **state)
{
    static const char *const says[] = {"with 2 of 4 tasks unfinished: task r0t2",
                                       "[STALL] task r0t2 \"add\" DISPATCHED to AIV core ",
                                       ", which does not acknowledge it; args: 0 inout uint64[1], 1 uint64 0x1",
                                       "[STALL] task r0t3 \"add\" WAITING for r0t2", NULL};

    (void)state;
    expect("core_no_fin@3+", true, 2, says);
    assert_null(strstr(lines, "deadlocked"));
    assert_null(strstr(lines, "RUNNING"));
}

static void tasks_that_all_wait(void **state)
{
    static const char *const says[] = {
        "with 2 of 4 tasks unfinished, all of which wait for others (deadlocked dependencies): task r0t2",
        "[STALL] task r0t2 \"add\" WAITING, although all before it is complete",
        "[STALL] task r0t3 \"add\" WAITING for r0t2", NULL};

    (void)state;
    /* With rings a task may be submitted after what it waits for is complete: then nobody can forget it. */
    expect("lost_successor@2", false, 2, says);
    assert_null(strstr(lines, "DISPATCHED"));
    assert_null(strstr(lines, "RUNNING"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_core_that_does_not_acknowledge, say_seed),
        cmocka_unit_test_teardown(tasks_that_all_wait, say_seed),
    };

    seeds_from(argc, argv, DEFAULT_SEEDS, true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
