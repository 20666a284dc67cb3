/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that the disk cannot keep up with, or has no room for: the run completes, however slow the disk; it says
 * why it waits and how far it is; what will not fit is refused before the first task where it can be known, and else
 * ends the recording while it can still be read.
 */
#include "scene/cli.h"

#include <pty.h>
#include <unistd.h>

#include <tasklens/recording.h>

/* Runs COMMAND by the shell in the test's directory; exit code, `output` and `message` as tasklens() leaves them. */
static int shell(const char *command)
{
    char all[3000];
    int status;

    (void)snprintf(all, sizeof(all), "cd '%s' && { %s\n} >out 2>err", fixture_dir, command);
    status = system(all);
    assert_true(WIFEXITED(status));
    output = slurp("out");
    message = slurp("err");
    return WEXITSTATUS(status);
}

static void expect_shell(int code, const char *command)
{
    int got = shell(command);

    if (got != code)
        fail_msg("%s: exit code %d, not %d; it said: %s%s", command, got, code, output, message);
}

/* Payloads that are there, and those that the disk took no more. Each that is there is whole and holds its argument's
 * value. */
static void count_payloads(const char *dir, uint64_t *ret_kept, uint64_t *ret_lost)
{
    static const float values[4] = {2.0f, 3.0f, 0.0f, 5.0f};
    struct tl_recording *recording;
    struct tl_error err;

    *ret_kept = *ret_lost = 0;
    if (tl_recording_open(fixture_path(dir), &recording, &err) != 0)
        fail_msg("%s", err.msg);
    for (uint64_t i = 0; i < tl_recording_count(recording); i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);
        const void *data;

        if (r->kind == TL_KIND_SCALAR)
            continue;
        if ((r->flags & TL_ARG_LOST) != 0) {
            assert_int_equal(r->cause, TL_DUMP_CAUSE_DISK);
            ++*ret_lost;
            continue;
        }
        assert_int_equal(r->bin_size, (uint64_t)r->shape[0] * sizeof(float));
        assert_int_equal(tl_recording_payload(recording, i, &data, NULL), 0);
        for (uint64_t k = 0; k < r->bin_size; k += sizeof(float))
            assert_memory_equal((const char *)data + k, &values[r->arg_index], sizeof(float));
        ++*ret_kept;
    }
    tl_recording_close(recording);
}

/* --- a slow disk ----------------------------------------------------------------------------------------------- */

/* The line about back-pressure, word by word. */
static void expect_line(const char *text)
{
    const char *line = strstr(text, "tasklens run: warning: the tasks go at the speed of their recording: ");
    double waited, drained, rate, queued;
    unsigned lane;
    int end = 0;

    if (line == NULL)
        fail_msg("no line about back-pressure: %s", text);
    if (sscanf(
            line,
            "tasklens run: warning: the tasks go at the speed of their recording: args_dump lane %u has waited %lf s "
            "for the host (cause: disk; drained %lf MB at %lf MB/s, %lf MB queued). Nothing is lost, and no time "
            "budget runs meanwhile. For more speed record less with --dump-args 1, or 3, and marks, or choose a "
            "faster disk with --out%n",
            &lane, &waited, &drained, &rate, &queued, &end) != 5 ||
        end == 0 || line[end] != '\n')
        fail_msg("another line: %s", line);
    assert_true(lane < 4);
    assert_true(waited >= 1.0 && waited <= 2.5); /* within a second of the first one */
    assert_true(rate > 2.0 && rate <= 8.5);
    assert_true(queued > 1.0);
}

/*
 * 32 MB through a disk of 8 MB/s with a scheduler budget of one second: each of the two tasks waits for two seconds
 *  before it may go on. They complete, nothing is dropped, and the cause is reported.
 */
static void no_budget_runs_while_a_lane_waits(void **state)
{
    static const char *const cells[] = {"-p a2a3sim --runtime tensormap_and_ringbuffer",
                                        "-p a5sim --runtime host_build_graph --device-mode thread"};
    uint64_t kept, lost;

    (void)state;
    for (int i = 0; i < 2; i++) {
        char command[400];

        (void)snprintf(command, sizeof(command),
                       "TASKLENS_SCHEDULER_TIMEOUT_MS=1000 '%s/tasklens' run vector_add --set elements=2000000 --set "
                       "tiles=2 %s --dump-args 2 --throttle-writer 8 --dfx-set records=8,buffers=2,avg-bytes="
                       "256K --out slow%d",
                       TL_TEST_BINARY_DIR, cells[i], i);
        expect_shell(0, command);
        assert_non_null(strstr(output, "2 retired in "));
        assert_non_null(strstr(output, " waiting for the recording\n"));
        assert_non_null(strstr(output, "10 records, 32.0 MB of payload, nothing lost"));
        expect_line(message);
        count_payloads(i == 0 ? "slow0" : "slow1", &kept, &lost);
        assert_int_equal(kept, 8);
        assert_int_equal(lost, 0);
    }
}

/* The case of an issue that made an existing runtime lose its device, made smaller in each direction: default budgets,
 * the disk far slower than the device, the caches larger than the arena. */
static void a_small_drain_rate_case(void **state)
{
    (void)state;
    expect(0, "run paged_attention --case spmd_64bat_8192ctx --set batch=4 --set heads=8 --set kv_heads=2 --set "
              "max_context=512 --block-dim 24 --dump-args 2 --throttle-writer 16 --dfx-set records=64,avg-bytes=2K "
              "--out scaled");
    assert_non_null(strstr(output, "34 retired in ")); /* init, 8 x (qk, softmax, pv, update), finish */
    assert_non_null(strstr(output, "8192 bfloat16 agree with the golden"));
    assert_non_null(strstr(output, "16 payloads larger than the arena"));
    assert_non_null(strstr(output, "for the recording"));
    assert_null(strstr(output, "lost  "));
    expect(0, "dump --verify scaled");
}

/* --- a terminal ------------------------------------------------------------------------------------------------ */

/* Runs the command with a terminal as its stderr; what it wrote there. */
static const char *on_a_terminal(const char *words, int *ret_code)
{
    static char text[1 << 16];
    char command[1000];
    size_t n = 0;
    int master, slave, status;
    pid_t pid;

    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    (void)snprintf(command, sizeof(command), "cd '%s' && exec '%s/tasklens' %s >out", fixture_dir, TL_TEST_BINARY_DIR,
                   words);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(slave, STDERR_FILENO);
        (void)close(master);
        (void)close(slave);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    (void)close(slave);
    for (;;) { /* until the last holder of the terminal's other side is gone */
        ssize_t got = read(master, text + n, sizeof(text) - 1 - n);

        if (got <= 0 || (n += (size_t)got) == sizeof(text) - 1)
            break;
    }
    text[n] = '\0';
    (void)close(master);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    *ret_code = WEXITSTATUS(status);
    return text;
}

/* Tasks, captured, drained, rate, queued: figures that fit together and grow. The warning has its own line. */
static void a_line_that_shows_how_far_it_is(void **state)
{
    double drained_before = 0;
    unsigned lines = 0, with_rate = 0, apart = 0;
    const char *text, *at;
    int code;

    (void)state;
    text = on_a_terminal("run vector_add --set elements=2000000 --set tiles=16 --dump-args 2 --throttle-writer 8 "
                         "--dfx-set records=8,buffers=2,avg-bytes=64K --out shown",
                         &code);
    assert_int_equal(code, 0);
    for (at = strchr(text, '\r'); at != NULL; at = strchr(at + 1, '\r')) {
        unsigned long long retired, submitted;
        double captured, drained, rate, queued;

        if (sscanf(at, "\r\033[K%llu of %llu tasks, captured %lf MB, drained %lf MB at %lf MB/s, %lf MB queued",
                   &retired, &submitted, &captured, &drained, &rate, &queued) != 6)
            continue;
        lines++;
        assert_true(retired <= submitted && submitted <= 16);
        assert_true(drained >= drained_before && captured <= 32.1);
        drained_before = drained;
        with_rate += rate > 4.0;
        /* A figure and the clock, or two figures, are read one after the other: on a busy machine there may be time
         * between them, in a line here and there. */
        apart += rate > 9.5 || captured - drained - queued > 0.2 || captured - drained - queued < -0.2;
    }
    assert_in_range(lines, 8, 60); /* five a second, for four seconds */
    assert_true(with_rate > 4);
    assert_true(apart <= lines / 4);
    assert_true(drained_before > 24.0);
    at = strstr(text, "tasklens run: warning: ");
    assert_non_null(at);
    assert_memory_equal(at - 4, "\r\033[K", 4);
    assert_null(strstr(strrchr(text, '\r'), "tasks")); /* the last one is wiped away */
}

/* Not a terminal: no line. */
static void no_line_in_a_file(void **state)
{
    (void)state;
    expect(0, "run vector_add --set elements=400000 --dump-args 2 --throttle-writer 8 --out quiet");
    assert_string_equal(message, "");
}

/* --- a full disk ----------------------------------------------------------------------------------------------- */

/* Runs the command in a file system of `size`, if this user may mount one; else skips. What is left of it goes to
 * `kept` in the test's directory. */
static int in_a_small_disk(const char *size, const char *words)
{
    char command[2000];

    (void)snprintf(command, sizeof(command),
                   "rm -rf kept disk && mkdir -p disk kept && %s sh -c \"mount -t tmpfs -o size=%s none disk && "
                   "cd disk && '%s/tasklens' %s; code=\\$?; cp -r . ../kept; exit \\$code\"",
                   mount_namespace(), size, TL_TEST_BINARY_DIR, words);
    return shell(command);
}

static void expect_nothing_kept(void)
{
    assert_int_equal(shell("find kept -type f"), 0);
    assert_string_equal(output, "");
}

/* A graph that is known before it runs: one line with the figures, nothing run, nothing left. */
static void refused_before_the_run(void **state)
{
    double needed, payload, room;
    unsigned long long records;
    int end = 0;

    (void)state;
    assert_int_equal(in_a_small_disk("6m", "run vector_add --runtime host_build_graph --set elements=1048576 --set "
                                           "tiles=64 --dump-args 2"),
                     2);
    assert_int_equal(sscanf(message,
                            "tasklens run: nothing was run: its recording needs %lf MB (%llu records with %lf MB of "
                            "payload) and the disk has space for %lf MB; free some, choose another directory with "
                            "--out, or record less (level 1, or 3 with marks)\n%n",
                            &needed, &records, &payload, &room, &end),
                     4);
    if (end == 0 || message[end] != '\0')
        fail_msg("not one line: %s", message);
    assert_int_equal(records, 320);
    assert_true(payload > 16.7 && payload < 16.9);
    assert_true(needed > payload && needed < payload + 0.4);
    assert_true(room > 5.0 && room < 6.3);
    expect_nothing_kept();
    /* What fits is run: level 1 marks half of it, a quarter of the elements. */
    assert_int_equal(in_a_small_disk("6m", "run vector_add --runtime host_build_graph --set elements=262144 --set "
                                           "tiles=64 --dump-args 1 --out rec"),
                     0);
    expect(0, "dump --verify kept/rec");
}

/* One that is built while it runs: its recording ends while it can still be read, and the run goes on to its end. */
static void ended_before_the_disk_is_full(void **state)
{
    static const char *const transports[] = {"mapped", "copy"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t kept, lost;
        char words[200];

        (void)snprintf(words, sizeof(words),
                       "run vector_add --set elements=1048576 --set tiles=64 --dump-args 2 --transport %s --out rec",
                       transports[i]);
        assert_int_equal(in_a_small_disk("6m", words), 4);
        assert_non_null(strstr(output, "1048576 float32 agree with the golden"));
        assert_non_null(strstr(message, "rec/args_dump/args.bin: the disk is nearly full: "));
        assert_non_null(strstr(message, "; the run goes on, payloads from here on are lost\n"));
        assert_null(strstr(message, "no space left"));
        count_payloads("kept/rec", &kept, &lost);
        assert_int_equal(kept + lost, 256);
        assert_in_range(kept, 60, 90); /* of 64 KiB, in 6 MiB */
        assert_int_equal(access(fixture_path("kept/rec/run.journal"), F_OK), -1);
    }
}

/* A limit on the size of a file is a full disk too. The device's memory is a file as well, so it must fit. */
static void ended_before_the_file_is_too_long(void **state)
{
    struct tl_recording *recording;
    struct tl_error err;
    uint64_t bytes = 0, lost = 0;
    char command[600];

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "ulimit -f %u && '%s/tasklens' run paged_attention --case spmd_64bat_8192ctx --set batch=4 --set "
                   "heads=8 --set kv_heads=2 --set max_context=512 --heap-bytes 1M --device-memory 24M --dump-args 2 "
                   "--dfx-set records=64,avg-bytes=8K --out long",
                   24u << 20 >> 9, TL_TEST_BINARY_DIR);
    expect_shell(4, command);
    assert_non_null(strstr(output, "8192 bfloat16 agree with the golden"));
    assert_non_null(strstr(message, "args.bin: a file may have 25.2 MB here (ulimit -f), and "));
    expect(4, "dump --verify long");
    assert_non_null(strstr(output, "payloads: the disk was full, or failed\n"));
    assert_non_null(strstr(output, "; 0 faults"));
    if (tl_recording_open(fixture_path("long"), &recording, &err) != 0)
        fail_msg("%s", err.msg);
    for (uint64_t i = 0; i < tl_recording_count(recording); i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);

        assert_true((r->flags & TL_ARG_LOST) == 0 || r->cause == TL_DUMP_CAUSE_DISK);
        lost += (r->flags & TL_ARG_LOST) != 0;
        bytes += r->bin_size;
    }
    tl_recording_close(recording);
    assert_true(lost > 0);
    assert_true(bytes <= 24u << 20 && bytes > 20u << 20);
}

/* Far more records than payload: payloads end so early that the index of the whole run fits. */
static void payloads_end_while_the_index_of_the_whole_run_fits(void **state)
{
    (void)state;
    assert_int_equal(in_a_small_disk("64m", "run vector_add --set elements=1638400 --set tiles=16384 --dump-args 2 "
                                            "--out r"),
                     4);
    assert_non_null(strstr(output, "  recorded   81920 records, "));
    assert_null(strstr(output, "nothing lost"));
    assert_non_null(strstr(message, "the disk is nearly full"));
    assert_int_equal(
        shell("test ! -e kept/r/run.journal && test -z \"$(find kept -name '*.tmp' -o -name '.reserve*')\""), 0);
    expect(4, "dump --verify kept/r");
    assert_non_null(strstr(output, ": INCOMPLETE: 81920 records, "));
    assert_non_null(strstr(output, "; 0 faults"));
}

/* So many records that no index of them fits: all of them are in the journal, the words say where, and on a larger disk
 * they are readable. */
static void records_without_room_for_their_index_are_kept(void **state)
{
    (void)state;
    assert_int_equal(in_a_small_disk("16m", "run vector_add --set elements=1638400 --set tiles=16384 --dump-args 2 "
                                            "--out r"),
                     4);
    assert_non_null(strstr(output, "  recorded   81920 records, "));
    assert_null(strstr(output, "nothing lost"));
    assert_non_null(strstr(message, "records go on into run.journal"));
    assert_non_null(strstr(message,
                           "args_dump.json: cannot write: no space left; all 81920 records are in run.journal: "
                           "`tasklens recover r`, with --out DIR where there is more room, makes them "
                           "readable\n"));
    tasklens("recover kept/r");
    assert_in_range(exit_code, 0, 4);
    assert_non_null(strstr(output, "81920 records in "));
    expect(4, "dump --verify kept/r");
    assert_non_null(strstr(output, ": INCOMPLETE: 81920 records, "));
}

/* The board of a job's ranks is mapped: without blocks of its own it would be SIGBUS. */
static void a_board_without_room_is_said(void **state)
{
    char command[1200];

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "mkdir -p disk && %s sh -c \"mount -t tmpfs -o size=64k none disk && cd disk && mkdir r && "
                   "(dd if=/dev/zero of=fill bs=4k 2>/dev/null; '%s/tasklens' run vector_add --chips 2 --dump-args 2 "
                   "--out r; code=\\$?; test ! -s r/.ranks || code=99; exit \\$code)\"",
                   mount_namespace(), TL_TEST_BINARY_DIR);
    assert_int_equal(shell(command), 2);
    assert_non_null(strstr(message, "r/.ranks: cannot allocate "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_budget_runs_while_a_lane_waits),
        cmocka_unit_test(a_small_drain_rate_case),
        cmocka_unit_test(a_line_that_shows_how_far_it_is),
        cmocka_unit_test(no_line_in_a_file),
        cmocka_unit_test(refused_before_the_run),
        cmocka_unit_test(payloads_end_while_the_index_of_the_whole_run_fits),
        cmocka_unit_test(records_without_room_for_their_index_are_kept),
        cmocka_unit_test(ended_before_the_disk_is_full),
        cmocka_unit_test(a_board_without_room_is_said),
        cmocka_unit_test(ended_before_the_file_is_too_long),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
