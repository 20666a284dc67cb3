/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters by the command line: the values of a bundled program, and what is left of them after a crash, a hang, and a
 * chip or a host that is killed.
 */
#include "scene/cli.h"
#include "scene/slow_run.h"
#include "scene/process.h"

#include <fcntl.h>
#include <signal.h>

#include "artifact/pmu.h"

static struct tl_pmu pmu;
static struct tl_pmu_meta meta;

static void read_both(const char *dir)
{
    struct tl_error err = {0};
    char name[200];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, TL_PMU_NAME);
    if (tl__pmu_read(fixture_path(name), &pmu, &err) != 0 || tl__pmu_meta_read(fixture_path(dir), &meta, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(meta.records, pmu.n_rows);
}

static void done(void)
{
    tl__pmu_fini(&pmu);
    tl__pmu_meta_fini(&meta);
}

/* Every row is a tile of 16,384 elements: 3 loads, 3 operations and a store of float32 each, on a2a3. */
static void rows_are_tiles(void)
{
    static const uint64_t want[6] = {(3 * 16384 * 2 + 4799) / 4800, 0, 0, 0, (3 * 65536 + 1299) / 1300,
                                     (65536 + 1299) / 1300};

    assert_int_equal(pmu.n_counters, 8);
    for (uint64_t i = 0; i < pmu.n_rows; i++) {
        assert_int_equal(pmu.rows[i].func_id, 0);
        assert_int_equal(pmu.rows[i].core_type, 1);
        assert_true(i == 0 || pmu.rows[i].task_id > pmu.rows[i - 1].task_id);
        assert_memory_equal(pmu.counters + i * 8, want, sizeof(want));
    }
    assert_int_equal(meta.n_silent, 0);
}

static void a_bundled_program_has_its_counts(void **state)
{
    (void)state;
    expect(0, "run vector_add --set elements=131072 --set tiles=8 --enable-pmu --out tiles");
    assert_non_null(strstr(output, "tasklens pmu tiles\n"));
    read_both("tiles");
    assert_int_equal(pmu.n_rows, 8);
    rows_are_tiles();
    done();
    expect(0, "pmu tiles");
    assert_non_null(strstr(output, "add (0)")); /* its name is there by itself */
    assert_non_null(strstr(output, "next             tasklens pmu tiles --column mte2_busy_cycles\n"));
    expect(0, "run vector_add --enable-pmu 6 --out conflicts"); /* where nothing counts conflicts, a way on */
    expect(0, "pmu conflicts");
    read_both("conflicts");
    if (strcmp(meta.mode, "modelled") == 0)
        assert_non_null(strstr(output, "next             tasklens run PROGRAM --enable-pmu 2 "));
    done();
    expect(0, "run scopes --enable-pmu --out silent"); /* its kernels report nothing */
    expect(0, "pmu silent");
    read_both("silent");
    if (strcmp(meta.mode, "modelled") == 0)
        assert_non_null(strstr(output, "next             say with tl_count() what the kernels do, and run again\n"));
    done();
    expect(0, "run vector_add --enable-pmu 9 --out tiles"); /* no such type: the default, and a word */
    assert_non_null(strstr(message, "--enable-pmu 9 is no event type of a2a3: 2 (PIPE_UTILIZATION) is counted"));
    read_both("tiles");
    assert_int_equal(pmu.event_type, 2);
    done();
    expect(0, "run vector_add --enable-pmu 0 --out off");
    assert_int_equal(access(fixture_path("off"), F_OK), -1);
}

static void what_a_crash_leaves(void **state)
{
    (void)state;
    expect(3, "run crash --enable-pmu --out crashed");
    read_both("crashed");
    assert_int_equal(meta.event_type, 2);
    done();
    expect(0, "pmu crashed");
}

static void what_a_hang_leaves(void **state)
{
    char words[400];

    (void)state;
    assert_int_equal(setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "700", 1), 0);
    (void)snprintf(words, sizeof(words), "run '%s/tests/hangs.so' --enable-pmu --out hung", TL_TEST_BINARY_DIR);
    expect(3, words);
    assert_int_equal(unsetenv("TASKLENS_SCHEDULER_TIMEOUT_MS"), 0);
    read_both("hung");
    done();
    expect(0, "pmu hung");
}

static void what_a_killed_chip_leaves(void **state)
{
    pid_t pid = slow_run_start("--enable-pmu", "chip");
    int status;

    (void)state;
    slow_run_await("chip", 20000);
    assert_int_equal(kill(child_of(pid), SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    read_both("chip");
    assert_in_range(pmu.n_rows, 1, 255);
    rows_are_tiles();
    done();
}

static void what_a_killed_host_leaves(void **state)
{
    pid_t pid = slow_run_start("--enable-pmu", "host");
    int status;

    (void)state;
    slow_run_await("host", 20000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(access(fixture_path("host/pmu.csv"), F_OK), -1);
    tasklens("recover host"); /* 4: payloads that were under way */
    assert_true(exit_code == 0 || exit_code == 4);
    read_both("host");
    assert_in_range(pmu.n_rows, 1, 255);
    rows_are_tiles();
    assert_string_equal(meta.arch, "a2a3");
    done();
    expect(0, "pmu host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundled_program_has_its_counts),
        cmocka_unit_test(what_a_crash_leaves),
        cmocka_unit_test(what_a_hang_leaves),
        cmocka_unit_test(what_a_killed_chip_leaves),
        cmocka_unit_test(what_a_killed_host_leaves),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
