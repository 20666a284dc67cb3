/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "host/timeouts.h"

/* "NAME=value" lines stand for the environment. */
static const char *variables[8];
static char last_line[1000];
static unsigned lines;

static const char *get(void *ctx, const char *name)
{
    (void)ctx;
    for (unsigned i = 0; variables[i] != NULL; i++)
        if (strncmp(variables[i], name, strlen(name)) == 0 && variables[i][strlen(name)] == '=')
            return variables[i] + strlen(name) + 1;
    return NULL;
}

static void keep_line(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    lines++;
    (void)snprintf(last_line, sizeof(last_line), "%s", line);
}

static struct tl_timeouts read_with(bool real, const char *a, const char *b, const char *c)
{
    variables[0] = a;
    variables[1] = b;
    variables[2] = c;
    variables[3] = NULL;
    lines = 0;
    last_line[0] = '\0';
    return tl__timeouts_read(real, get, NULL);
}

static void expect(struct tl_timeouts t, uint64_t scheduler, uint64_t op, uint64_t sync)
{
    assert_int_equal(t.scheduler_ms, scheduler);
    assert_int_equal(t.op_execute_us, op);
    assert_int_equal(t.stream_sync_ms, sync);
}

static void defaults_hold_without_variables(void **state)
{
    (void)state;
    expect(read_with(false, NULL, NULL, NULL), 20000, 45000000, 50000);
    expect(read_with(true, NULL, NULL, NULL), 20000, 45000000, 50000);
    assert_int_equal(lines, 0);
}

static void both_spellings_are_read(void **state)
{
    (void)state;
    expect(read_with(false, "TASKLENS_SCHEDULER_TIMEOUT_MS=5000", "SIMPLER_OP_EXECUTE_TIMEOUT_US=7",
                     "SIMPLER_STREAM_SYNC_TIMEOUT_MS=9"),
           5000, 7, 9);
    assert_int_equal(lines, 0);
}

static void ours_wins_and_says_so(void **state)
{
    (void)state;
    expect(read_with(false, "SIMPLER_SCHEDULER_TIMEOUT_MS=1", "TASKLENS_SCHEDULER_TIMEOUT_MS=2", NULL), 2, 45000000,
           50000);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(last_line, "TASKLENS_SCHEDULER_TIMEOUT_MS counts"));
}

static void invalid_values_are_ignored_by_name(void **state)
{
    static const char *const bad[] = {"", "0", "-5", "1.5", "12x", " 3", "99999999999999999999", "4294967296"};

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char variable[80];

        (void)snprintf(variable, sizeof(variable), "TASKLENS_SCHEDULER_TIMEOUT_MS=%s", bad[i]);
        expect(read_with(false, variable, NULL, NULL), 20000, 45000000, 50000);
        assert_int_equal(lines, 1);
        assert_non_null(strstr(last_line, "TASKLENS_SCHEDULER_TIMEOUT_MS="));
        assert_non_null(strstr(last_line, "integer"));
    }
}

/* Each variable has its own limit, and falls back alone. */
static void each_variable_has_its_limits(void **state)
{
    (void)state;
    expect(read_with(false, "TASKLENS_OP_EXECUTE_TIMEOUT_US=4294967295000",
                     "TASKLENS_STREAM_SYNC_TIMEOUT_MS=4294967295", "TASKLENS_SCHEDULER_TIMEOUT_MS=4294967295"),
           4294967295, 4294967295000, 4294967295);
    assert_int_equal(lines, 0);
    expect(read_with(false, "TASKLENS_OP_EXECUTE_TIMEOUT_US=4294967295001", "TASKLENS_STREAM_SYNC_TIMEOUT_MS=9", NULL),
           20000, 45000000, 9);
    assert_int_equal(lines, 1);
    assert_string_equal(last_line, "TASKLENS_OP_EXECUTE_TIMEOUT_US=4294967295001 is ignored: it must be an integer "
                                   "from 1 to 4294967295000");
    expect(read_with(false, "SIMPLER_STREAM_SYNC_TIMEOUT_MS=0x10", "TASKLENS_OP_EXECUTE_TIMEOUT_US=1", NULL), 20000, 1,
           50000);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(last_line, "SIMPLER_STREAM_SYNC_TIMEOUT_MS=0x10 is ignored"));
    /* Ours counts even where it is no number. */
    expect(read_with(false, "TASKLENS_SCHEDULER_TIMEOUT_MS=soon", "SIMPLER_SCHEDULER_TIMEOUT_MS=5", NULL), 20000,
           45000000, 50000);
    assert_int_equal(lines, 2);
}

static void order_counts_on_a_real_chip_only(void **state)
{
    (void)state;
    /* Each rule broken alone; the simulator takes them all. */
    expect(read_with(false, "TASKLENS_SCHEDULER_TIMEOUT_MS=60000", NULL, NULL), 60000, 45000000, 50000);
    expect(read_with(true, "TASKLENS_SCHEDULER_TIMEOUT_MS=45000", NULL, NULL), 20000, 45000000, 50000);
    assert_non_null(strstr(last_line, "below the op-execute timeout"));
    expect(read_with(true, "TASKLENS_SCHEDULER_TIMEOUT_MS=44999", NULL, NULL), 44999, 45000000, 50000);
    assert_int_equal(lines, 0);
    expect(read_with(true, "TASKLENS_STREAM_SYNC_TIMEOUT_MS=45000", NULL, NULL), 20000, 45000000, 50000);
    assert_non_null(strstr(last_line, "below the stream-sync timeout"));
    expect(read_with(true, "TASKLENS_STREAM_SYNC_TIMEOUT_MS=45001", NULL, NULL), 20000, 45000000, 45001);
    assert_int_equal(lines, 0);
    expect(read_with(true, "TASKLENS_SCHEDULER_TIMEOUT_MS=2000", "TASKLENS_OP_EXECUTE_TIMEOUT_US=3000000",
                     "TASKLENS_STREAM_SYNC_TIMEOUT_MS=3400"),
           20000, 45000000, 50000);
    assert_non_null(strstr(last_line, "1500 ms of start-up"));
    expect(read_with(true, "TASKLENS_SCHEDULER_TIMEOUT_MS=2000", "TASKLENS_OP_EXECUTE_TIMEOUT_US=3000000",
                     "TASKLENS_STREAM_SYNC_TIMEOUT_MS=3500"),
           2000, 3000000, 3500);
    assert_int_equal(lines, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold_without_variables), cmocka_unit_test(both_spellings_are_read),
        cmocka_unit_test(ours_wins_and_says_so),           cmocka_unit_test(invalid_values_are_ignored_by_name),
        cmocka_unit_test(each_variable_has_its_limits),    cmocka_unit_test(order_counts_on_a_real_chip_only),
    };

    tl_log_set_sink(keep_line, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
