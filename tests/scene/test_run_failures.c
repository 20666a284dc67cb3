/* SPDX-License-Identifier: Apache-2.0 */
/* The device fails in each way it can, and the host goes on: exit code 3, one line, and a recording that reads. */
#include "scene/cli.h"
#include "scene/process.h"

#include <fcntl.h>
#include <signal.h>

#include <tasklens/recording.h>

#include "artifact/dfx_meta.h"

static void expect_recording(const char *out, uint64_t at_least)
{
    struct tl_recording *recording;
    struct tl_meta meta;
    char words[80];

    assert_int_equal(tl__meta_read(fixture_path(out), &meta, NULL), 0);
    assert_in_range(meta.wall_ns, 1000, UINT64_C(1000000000000)); /* by the host's clock, if the device could not say */
    (void)snprintf(words, sizeof(words), "dump --verify %s", out);
    tasklens(words); /* unfinished records may be lost, and the loss is reported; the others are right */
    assert_true(exit_code == 0 || (exit_code == 4 && strstr(output, "lost: ") != NULL));
    assert_non_null(strstr(output, "; 0 faults"));
    assert_int_equal(tl_recording_open(fixture_path(out), &recording, NULL), 0);
    assert_true(tl_recording_count(recording) >= at_least);
    tl_recording_close(recording);
    (void)snprintf(words, sizeof(words), "%s/run.journal", out);
    assert_int_equal(access(fixture_path(words), F_OK), -1);
}

/* Runs with VARIABLES before the command. */
static void expect_with(const char *variables, int code, const char *words)
{
    char command[1200];
    int status;

    (void)snprintf(command, sizeof(command), "cd '%s' && env %s '%s/tasklens' %s >out 2>err", fixture_dir, variables,
                   TL_TEST_BINARY_DIR, words);
    status = system(command);
    assert_true(WIFEXITED(status));
    output = slurp("out");
    message = slurp("err");
    if (WEXITSTATUS(status) != code)
        fail_msg("%s: exit code %d, not %d; it said: %s", words, WEXITSTATUS(status), code, message);
}

static void a_kernel_that_faults(void **state)
{
    static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};
    static const char *const transports[] = {"mapped", "copy"};
    char command[1000];

    (void)state;
    for (int r = 0; r < 2; r++)
        for (int t = 0; t < 2; t++) {
            char words[200], out[32];

            (void)snprintf(out, sizeof(out), "crash-%d-%d", r, t);
            (void)snprintf(words, sizeof(words), "run crash --dump-args 2 --runtime %s --transport %s --out %s",
                           runtimes[r], transports[t], out);
            expect(3, words);
            assert_non_null(strstr(message, "SIGSEGV at address 0x0 in kernel \"crash\", task r0t2"));
            assert_null(strstr(output, "golden"));
            expect_recording(out, 5); /* the two tasks before it, and its own input */
        }
    expect(3, "run crash --set far=1"); /* an address that no pointer can have, unless a sanitizer moves the memory */
    assert_non_null(strstr(message, "SIGSEGV "));
    /* Less far: 2^34 floats in front of the output, and the input lies in front of that. Below, because above there may
     * be no more addresses. */
    (void)snprintf(command, sizeof(command),
                   "sed 's/UINT64_C(1) << 42/-(UINT64_C(1) << 34)/' '%s/examples/broken/crash.c' >'%s/far.c'",
                   TL_TEST_SOURCE_DIR, fixture_dir);
    assert_int_equal(system(command), 0);
    expect(3, "run far.c --set far=1");
    assert_non_null(strstr(message, ": a write 68719475712 bytes before the start of argument 0 (in float32[64])"));
}

/* The schedulers declare the hang: what waits for what, the partial output of what runs, and everything before. */
static void a_hang_is_declared(void **state)
{
    static const char *const modes[] = {"process", "thread"};

    (void)state;
    for (int m = 0; m < 2; m++) {
        char words[120], out[16];

        (void)snprintf(out, sizeof(out), "hang-%d", m);
        (void)snprintf(words, sizeof(words), "run spin --dump-args 2 --device-mode %s --out %s", modes[m], out);
        expect_with("TASKLENS_SCHEDULER_TIMEOUT_MS=1000", 3, words);
        assert_non_null(strstr(message, "[STALL] task r0t2"));
        assert_non_null(strstr(message, "tasklens run: no progress"));
        expect_recording(out, 6);
        (void)snprintf(words, sizeof(words), "dump %s -t r0t2 -s after", out);
        expect(0, words);
        assert_non_null(strstr(output, "partial"));
    }
}

/* The host's own watchdog, where no scheduler has said anything before. */
static void a_kernel_that_never_returns(void **state)
{
    (void)state;
    expect_with("TASKLENS_OP_EXECUTE_TIMEOUT_US=1500000", 3, "run spin --dump-args 2 --out spin-op");
    assert_non_null(strstr(message, "TASKLENS_OP_EXECUTE_TIMEOUT_US"));
    expect_recording("spin-op", 5);
    expect_with("SIMPLER_STREAM_SYNC_TIMEOUT_MS=1500", 3, "run spin");
    assert_non_null(strstr(message, "TASKLENS_STREAM_SYNC_TIMEOUT_MS"));
    expect_with("TASKLENS_OP_EXECUTE_TIMEOUT_US=1500000", 3,
                "run spin --device-mode thread --dump-args 2 --out spin-t");
    expect_recording("spin-t", 5);
}

/* Kills the chip while the writer is slow: what device memory holds is brought in, nothing that was published is lost.
 */
static void a_chip_that_is_killed(void **state)
{
    static const char *const transports[] = {"mapped", "copy"};

    (void)state;
    for (int t = 0; t < 2; t++) {
        char out[32], journal[64];
        int chip, status;
        struct stat st = {0};
        pid_t pid;

        (void)snprintf(out, sizeof(out), "killed-%s", transports[t]);
        (void)snprintf(journal, sizeof(journal), "%s/run.journal", out);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            int null = open("/dev/null", O_RDWR);

            if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || chdir(fixture_dir) != 0)
                _exit(99);
            (void)execl(TL_TEST_BINARY_DIR "/tasklens", "tasklens", "run", "vector_add", "--set", "elements=1048576",
                        "--set", "tiles=256", "--dump-args", "2", "--dfx-set", "records=8,buffers=2,avg-bytes=65536",
                        "--throttle-writer", "8M", "--transport", transports[t], "--out", out, (char *)NULL);
            _exit(99);
        }
        for (int i = 0; i < 1000 && (stat(fixture_path(journal), &st) != 0 || st.st_size < 6000); i++)
            usleep(10000);
        chip = child_of(pid);
        assert_true(chip > 0);
        assert_int_equal(kill(chip, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
        expect_recording(out, 16);
    }
}

/* Results that differ are 1; a failed device outranks them. */
static void a_failed_device_outranks_results_that_differ(void **state)
{
    (void)state;
    expect(1, "run wrong_stride");
    assert_non_null(strstr(output, "12 of 16 float32 differ from the golden, first at [1, 0]: 8 instead of 104"));
    expect(1, "run nan_softmax --dump-args --out nan");
    assert_non_null(strstr(output, "nan instead of"));
    expect(0, "dump --verify nan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_faults),
        cmocka_unit_test(a_hang_is_declared),
        cmocka_unit_test(a_kernel_that_never_returns),
        cmocka_unit_test(a_chip_that_is_killed),
        cmocka_unit_test(a_failed_device_outranks_results_that_differ),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
