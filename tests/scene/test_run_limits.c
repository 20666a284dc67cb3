/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings at the limits: payloads larger than the arena, pools of one or two buffers, slow and full disks. */
#include "scene/cli.h"

#include <tasklens/recording.h>

#define WHOLE 1048576u /* elements: 4 MiB a tensor, against arenas of 1 MiB */

static struct tl_recording *open_recording(const char *dir)
{
    struct tl_recording *recording;
    struct tl_error err;
    char words[120];

    (void)snprintf(words, sizeof(words), "dump --verify %s", dir);
    expect(0, words);
    if (tl_recording_open(fixture_path(dir), &recording, &err) != 0)
        fail_msg("%s", err.msg);
    return recording;
}

/* Each tensor of one task holds `bytes` of its value. */
static void expect_whole(const char *dir, uint64_t bytes, bool truncated)
{
    static const float values[4] = {2.0f, 3.0f, 0.0f, 5.0f};
    struct tl_recording *recording = open_recording(dir);

    assert_int_equal(tl_recording_count(recording), 5);
    for (uint64_t i = 0; i < 5; i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);
        const void *data;

        if (r->kind == TL_KIND_SCALAR)
            continue;
        assert_int_equal(r->bin_size, bytes);
        assert_int_equal((r->flags & TL_ARG_TRUNCATED) != 0, truncated);
        assert_int_equal(tl_recording_payload(recording, i, &data, NULL), 0);
        for (uint64_t k = 0; k < bytes; k += sizeof(float))
            assert_memory_equal((const char *)data + k, &values[r->arg_index], sizeof(float));
    }
    tl_recording_close(recording);
}

static void tensors_larger_than_the_arena(void **state)
{
    static const char *const transports[] = {"mapped", "copy"};

    (void)state;
    for (int t = 0; t < 2; t++) {
        char words[300];

        (void)snprintf(words, sizeof(words),
                       "run vector_add --case whole --set elements=%u --dump-args 2 --transport %s "
                       "--dfx-set records=8,buffers=2,avg-bytes=64K --out cut%d",
                       WHOLE, transports[t], t);
        expect(0, words);
        assert_non_null(strstr(output, "4 payloads larger than the arena; --dump-oversize chunk keeps them whole"));
        assert_non_null(strstr(output, "task r0t0 argument 3: "));
        expect_whole(t == 0 ? "cut0" : "cut1", 512 << 10, true);
        (void)snprintf(
            words, sizeof(words),
            "run vector_add --case whole --set elements=%u --dump-args 2 --transport %s --dump-oversize chunk "
            "--dfx-set records=8,buffers=2,avg-bytes=64K --out chunk%d",
            WHOLE, transports[t], t);
        expect(0, words);
        assert_null(strstr(output, "larger than the arena"));
        expect_whole(t == 0 ? "chunk0" : "chunk1", WHOLE * sizeof(float), false);
    }
}

/* One buffer of one record, two queues of one: every record waits for the host, none is lost. */
static void the_smallest_pools_lose_nothing(void **state)
{
    static const char *const sets[] = {"records=1,buffers=1", "records=1,buffers=2",
                                       "records=3,buffers=1,avg-bytes=16K"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct tl_recording *recording;
        char words[200], dir[16];

        (void)snprintf(dir, sizeof(dir), "small%u", i);
        (void)snprintf(words, sizeof(words), "run vector_add --set tiles=64 --dump-args 2 --dfx-set %s --out %s",
                       sets[i], dir);
        expect(0, words);
        assert_non_null(strstr(output, "320 records"));
        recording = open_recording(dir);
        assert_int_equal(tl_recording_count(recording), 320);
        tl_recording_close(recording);
    }
}

/* Runs with timeouts that are shorter than the disk is slow. */
static void run_slowly(const char *words)
{
    char command[1200];
    int status;

    (void)snprintf(
        command, sizeof(command),
        "cd '%s' && env TASKLENS_SCHEDULER_TIMEOUT_MS=1500 TASKLENS_OP_EXECUTE_TIMEOUT_US=1600000 "
        "TASKLENS_STREAM_SYNC_TIMEOUT_MS=1700 '%s/tasklens' run vector_add --dump-args 2 --throttle-writer 2M "
        "--dfx-set records=8,buffers=2,avg-bytes=16K %s >out 2>err",
        fixture_dir, TL_TEST_BINARY_DIR, words);
    status = system(command);
    output = slurp("out");
    message = slurp("err");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: it said: %s", words, message);
    assert_non_null(strstr(output, "waiting for the recording"));
    assert_non_null(strstr(output, "nothing lost"));
}

/* A slow disk makes the device wait, and each watchdog waits with it: with tasks that retire now and then, and with one
 * task whose arguments alone take longer than all budgets. */
static void a_slow_disk_makes_the_watchdogs_wait(void **state)
{
    struct tl_recording *recording;

    (void)state;
    run_slowly("--set elements=393216 --set tiles=64 --out slow");
    recording = open_recording("slow");
    assert_int_equal(tl_recording_count(recording), 320);
    tl_recording_close(recording);
    run_slowly("--case whole --set elements=393216 --dump-oversize chunk --out slower");
    assert_non_null(strstr(message, " s for the host (cause: disk"));
    expect_whole("slower", 393216 * sizeof(float), false);
}

/* A disk that fills up, where this user may mount one: the run goes on, its results are checked, and the exit code says
 * that the recording is incomplete. */
static void a_full_disk_makes_the_recording_incomplete(void **state)
{
    char command[2600];
    int status;

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "mkdir -p '%s/disk' && %s sh -c \"mount -t tmpfs -o size=6m none '%s/disk' && cd '%s/disk' && "
                   "'%s/tasklens' run vector_add --set elements=1048576 --set tiles=64 --dump-args 2 --out rec; "
                   "code=\\$?; '%s/tasklens' dump rec --verify >'%s/verified'; test \\$? = 4 && exit \\$code\" "
                   ">'%s/out' 2>'%s/err'",
                   fixture_dir, mount_namespace(), fixture_dir, fixture_dir, TL_TEST_BINARY_DIR, TL_TEST_BINARY_DIR,
                   fixture_dir, fixture_dir, fixture_dir);
    status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 4);
    output = slurp("out");
    message = slurp("err");
    assert_non_null(strstr(output, "1048576 float32 agree with the golden"));
    assert_non_null(strstr(output, "lost       payloads of "));
    assert_non_null(strstr(message, "args.bin: the disk is nearly full: "));
}

/* One that fills up after rounds were recorded: something recorded was lost, and that is no bad usage. */
static void a_disk_that_is_full_between_rounds(void **state)
{
    char command[2600];
    int status;

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "mkdir -p '%s/small' && %s sh -c \"mount -t tmpfs -o size=1m none '%s/small' && cd "
                   "'%s/small' && '%s/tasklens' run vector_add --dump-args 2 --rounds 100 --out rec; exit \\$?\" "
                   ">'%s/out' 2>'%s/err'",
                   fixture_dir, mount_namespace(), fixture_dir, fixture_dir, TL_TEST_BINARY_DIR, fixture_dir,
                   fixture_dir);
    status = system(command);
    assert_true(WIFEXITED(status));
    output = slurp("out");
    message = slurp("err");
    assert_int_equal(WEXITSTATUS(status), 4);
    assert_non_null(strstr(message, ": no space left\n")); /* the round that could not be begun */
    assert_null(strstr(output, "round 99\n"));
    /* The round before may have met the end of the disk with its payload, or have fitted. */
    if (strstr(message, "nearly full") != NULL) {
        assert_non_null(strstr(message, "args.bin: the disk is nearly full: the last "));
        assert_non_null(strstr(message, "; so "));
        assert_null(strstr(message, " 0.0 MB"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_larger_than_the_arena),
        cmocka_unit_test(the_smallest_pools_lose_nothing),
        cmocka_unit_test(a_slow_disk_makes_the_watchdogs_wait),
        cmocka_unit_test(a_full_disk_makes_the_recording_incomplete),
        cmocka_unit_test(a_disk_that_is_full_between_rounds),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
