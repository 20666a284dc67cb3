/* SPDX-License-Identifier: Apache-2.0 */
/* The host is killed in the middle of a run: what reached it is recovered, and every payload is what it was. */
#include "scene/cli.h"
#include "scene/process.h"

#include <fcntl.h>
#include <signal.h>

#include <tasklens/recording.h>

#define TILE 16384u
#define TILES 256u

static const char *said_into = "/dev/null"; /* what the next one says on stderr */

/* Starts `tasklens run` with a slow writer, recording into `out`. */
static pid_t start_with(const char *mode, const char *transport, const char *sizes, const char *out)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        const char *command = TL_TEST_BINARY_DIR "/tasklens";
        int null = open("/dev/null", O_RDWR);

        int said;

        if (null < 0 || dup2(null, 1) < 0 || chdir(fixture_dir) != 0)
            _exit(99);
        said = open(said_into, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (said < 0 || dup2(said, 2) < 0)
            _exit(99);
        (void)execl(command, "tasklens", "run", "vector_add", "--set", "elements=4194304", "--set", "tiles=256",
                    "--dump-args", "2", "--dfx-set", sizes, "--throttle-writer", "8M", "--device-mode", mode,
                    "--transport", transport, "--out", out, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static pid_t start(const char *mode, const char *transport, const char *out)
{
    return start_with(mode, transport, "records=8", out);
}

static off_t size_of(const char *dir, const char *file)
{
    struct stat st;
    char name[96];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, file);
    return stat(fixture_path(name), &st) == 0 ? st.st_size : -1;
}

/* Kills the host once its journal holds something. */
static void kill_in_the_middle(const char *mode, const char *transport, const char *out)
{
    pid_t pid = start(mode, transport, out);
    int chip, status;

    for (int i = 0; i < 2000 && size_of(out, "run.journal") < 20000; i++)
        usleep(10000);
    assert_true(size_of(out, "run.journal") >= 20000);
    chip = child_of(pid);
    assert_int_equal(chip != 0, strcmp(mode, "process") == 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* it was in the middle, not at its end */
    for (int i = 0; i < 500 && chip != 0 && runs(chip); i++)
        usleep(10000);
    assert_false(chip != 0 && runs(chip));
    assert_int_equal(size_of(out, "args_dump/args_dump.json"), -1);
}

static void expect_values(const char *out)
{
    static const float values[4] = {2.0f, 3.0f, 0.0f, 5.0f};
    struct tl_recording *recording;
    uint64_t count, payloads = 0;

    assert_int_equal(tl_recording_open(fixture_path(out), &recording, NULL), 0);
    count = tl_recording_count(recording);
    assert_true(count > 0 && count < TILES * 5);
    for (uint64_t i = 0; i < count; i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);
        const void *data;

        if (r->kind == TL_KIND_SCALAR)
            continue;
        assert_int_equal(r->bin_size, TILE * sizeof(float));
        assert_int_equal(tl_recording_payload(recording, i, &data, NULL), 0);
        for (uint32_t k = 0; k < TILE; k++)
            assert_memory_equal((const char *)data + k * sizeof(float), &values[r->arg_index], sizeof(float));
        payloads++;
    }
    assert_true(payloads > 0);
    tl_recording_close(recording);
}

/* Each answer is one line, or a report that ends with the directory. */
static void expect_line(int code, const char *words, const char *part)
{
    const char *end;

    expect(code, words);
    end = strchr(message, '\n');
    if (end == NULL || end[1] != '\0' || strstr(message, part) == NULL)
        fail_msg("tasklens %s: \"%s\" is not one line that says \"%s\"", words, message, part);
}

static void kill_and_recover(const char *mode, const char *transport)
{
    char out[40], words[200];

    (void)snprintf(out, sizeof(out), "%s-%s", mode, transport);
    kill_in_the_middle(mode, transport, out);
    (void)snprintf(words, sizeof(words), "run vector_add --dump-args 2 --out %s", out);
    expect(2, words); /* nobody runs over what is not recovered yet */
    assert_non_null(strstr(message, "holds the journal of a run that was killed"));
    (void)snprintf(words, sizeof(words), "recover %s", out);
    expect(0, words);
    assert_int_equal(size_of(out, "run.journal"), -1);
    (void)snprintf(words, sizeof(words), "dump --verify %s", out);
    expect(0, words);
    expect_line(0, words, "is of a run that was cut short");
    expect_values(out);
    if (fixture_shared("tools/manifest.py") != NULL && system("command -v python3 >/dev/null") == 0) {
        char command[1400];

        (void)snprintf(command, sizeof(command), "python3 '%s' '%s/%s/args_dump' 2 >/dev/null",
                       fixture_shared("tools/manifest.py"), fixture_dir, out);
        assert_int_equal(system(command), 0);
    }
}

static void a_killed_run_is_recovered_process_copy(void **state)
{
    (void)state;
    kill_and_recover("process", "copy");
}

static void a_killed_run_is_recovered_process_mapped(void **state)
{
    (void)state;
    kill_and_recover("process", "mapped");
}

static void a_killed_run_is_recovered_thread_mapped(void **state)
{
    (void)state;
    kill_and_recover("thread", "mapped");
}

static void without_a_journal_there_is_nothing_to_recover(void **state)
{
    (void)state;
    expect_line(2, "recover /nowhere", "no such directory");
    expect(2, "recover");
    assert_int_equal(mkdir(fixture_path("empty"), 0777), 0);
    expect_line(2, "recover empty", "no run.journal in it");
    fixture_write_text("file", "");
    expect_line(2, "recover file", "no such directory");
    assert_int_equal(mkdir(fixture_path("foreign"), 0777), 0);
    fixture_write_text("foreign/run.journal", "something else\n");
    expect_line(2, "recover foreign", "not a journal");
    assert_int_equal(size_of("foreign", "run.journal"), 15);
}

/* What is whole stays as it is, however often it is recovered. */
static void a_whole_recording_is_left_alone(void **state)
{
    struct stat before, after;

    (void)state;
    expect(0, "run vector_add --dump-args 2 --out whole");
    assert_int_equal(stat(fixture_path("whole/args_dump/args_dump.json"), &before), 0);
    for (int i = 0; i < 2; i++) {
        expect(0, "recover whole");
        assert_non_null(strstr(output, "nothing to recover"));
        assert_string_equal(message, "");
    }
    assert_int_equal(stat(fixture_path("whole/args_dump/args_dump.json"), &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

/* A run that lives is not recovered; `dump` and `recover` say what to do, on the run and on the directory above it. */
static void a_run_that_lives_is_not_recovered(void **state)
{
    pid_t pid;
    int status;

    (void)state;
    expect(0, "run vector_add --dump-args 2 --out above/old");
    pid = start("process", "mapped", "above/run");
    for (int i = 0; i < 2000 && size_of("above/run", "run.journal") < 20000; i++)
        usleep(10000);
    expect_line(2, "recover above/run", "its run is not over");
    expect_line(2, "dump above/run", "above/run: its run is still going on");
    expect(0, "dump above"); /* the older one; it says that a newer one is on its way */
    assert_non_null(strstr(message, "a newer run in above/run is still going on"));
    assert_null(strstr(message, "recover"));
    expect_line(2, "run vector_add --dump-args 2 --out above/run", "another run is still recording into above/run");
    assert_null(strstr(message, "recover"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    expect_line(2, "dump above/run", "`tasklens recover above/run`");
    expect(0, "dump above"); /* the older one; it says that there is a newer */
    assert_non_null(strstr(message, "above/run was cut short; `tasklens recover above/run`"));
    expect(0, "dump above/old");
    assert_string_equal(message, "");
    expect(0, "recover above"); /* all of them, a line each */
    assert_non_null(strstr(output, "above/old: complete\nabove/run: recovered "));
    expect(0, "dump --verify above/run");
    expect(0, "recover above/run");
    assert_non_null(strstr(output, "nothing to recover"));
}

static void in_fixture(const char *command)
{
    char words[400];

    (void)snprintf(words, sizeof(words), "cd '%s' && %s", fixture_dir, command);
    assert_int_equal(system(words), 0);
}

static void flip(const char *file, off_t at)
{
    int fd = open(fixture_path(file), O_RDWR);
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

static uint64_t number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    if (at == NULL)
        fail_msg("no \"%s\" in: %s", word, text);
    return strtoull(at + strlen(word), NULL, 10);
}

/* One changed bit costs the buffer that it is in. The journal is kept, and another recovery ends the same way. */
static void a_damaged_journal_loses_the_damaged_buffer_alone(void **state)
{
    uint64_t all;
    char *first = NULL;

    (void)state;
    kill_in_the_middle("process", "mapped", "bit");
    in_fixture("cp -r bit whole_bit");
    expect(0, "recover whole_bit");
    all = number_behind(output, "recovered  ");
    flip("bit/run.journal", 9000); /* in one of the first buffers of 8 records */
    expect(4, "recover bit --out elsewhere");
    assert_int_equal(number_behind(output, "recovered  "), all - 8);
    assert_true(size_of("bit", "run.journal") > 0); /* the source is as it was */
    assert_int_equal(size_of("bit", "args_dump/args_dump.json"), -1);
    assert_true(size_of("elsewhere", "args_dump/args_dump.json") > 0);
    expect(4, "recover bit --out elsewhere");
    expect(4, "dump --verify elsewhere"); /* it says that records are missing */
    expect_line(2, "recover bit --out bit", "the run's own directory");
    expect_line(2, "recover bit --out whole", "holds another recording");
    for (int i = 0; i < 3; i++) {
        expect(4, "recover bit");
        assert_int_equal(number_behind(output, "recovered  "), all - 8);
        assert_int_equal(number_behind(output, "lost       at least "), 1);
        assert_non_null(strstr(output, "1 buffers and 8 records"));
        assert_int_equal(size_of("bit", "run.journal"), -1);
        assert_true(size_of("bit", "run.journal.damaged") > 9000);
        if (i == 0)
            first = strdup(output);
        else
            assert_string_equal(output, first);
    }
    free(first);
    expect(4, "dump --verify bit");
    in_fixture("diff -r bit/args_dump elsewhere/args_dump");
    in_fixture("mkdir -p tree/rank0/d0 tree/rank1/d0 && cp -r whole_bit/. tree/rank0/d0 && cp -r bit/. tree/rank1/d0");
    expect(4, "recover tree"); /* the worst of them */
    assert_non_null(strstr(output, "tree/rank0/d0: recovered before\ntree/rank1/d0: recovered "));
    expect(0, "run vector_add --dump-args 2 --out bit"); /* a new recording takes its place, damaged journal included */
    assert_int_equal(size_of("bit", "run.journal.damaged"), -1);
    expect(0, "recover bit");
    assert_non_null(strstr(output, "nothing to recover"));
}

/* What a run had collected and is gone, cut or short is named. */
static void a_recording_that_is_not_whole_any_more(void **state)
{
    static const struct {
        const char *command, *says;
    } damages[] = {
        {"rm one/deps.json", "deps.json is not there"},
        {"truncate -s -30 one/deps.json", "deps.json"},
        {"rm one/pmu.csv", "pmu.csv is not there"},
        {"rm one/pmu_meta.json", "pmu_meta.json is not there"},
        {"sed -i '$d' one/pmu.csv", "pmu.csv holds "},
        {"truncate -s -3 one/scope_stats/scope_stats.jsonl", "scope_stats.jsonl"},
        {"sed -i '$d' one/scope_stats/scope_stats.jsonl", "scope_stats.jsonl"},
        {"rm one/scope_stats/scope_stats.jsonl", "scope_stats.jsonl is not there"},
        {"truncate -s -1 one/args_dump/args.bin", "args.bin"},
        {"rm one/args_dump/args.bin", "args.bin is not there"},
        {"rm -r one/args_dump", "args_dump.json is not there"},
        {"truncate -s 500 one/args_dump/args_dump.json", "args_dump.json"},
        {"truncate -s -20 one/chip_swimlane_records.json", "chip_swimlane_records.json"},
        {"rm one/chip_swimlane_records.json", "chip_swimlane_records.json is not there"},
        {"truncate -s 100 one/dfx_meta.json", "dfx_meta.json"},
    };

    (void)state;
    expect(0, "run vector_add --dump-args 2 --enable-chip-swimlane --enable-dep-gen --enable-pmu --enable-scope-stats "
              "--out good");
    expect(0, "recover good");
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        in_fixture("rm -rf one && cp -r good one");
        in_fixture(damages[i].command);
        expect(4, "recover one");
        if (strstr(output, "missing    ") == NULL || strstr(output, damages[i].says) == NULL ||
            strstr(output, "whole: nothing") != NULL)
            fail_msg("after %s: %s", damages[i].command, output);
    }
}

/* Killed while all its records were in buffers that were not full: payloads had been written, and no record names them.
 * What was removed is reported, the second time too, with the option that makes the next run lose less. */
static void a_run_in_its_first_buffers(void **state)
{
    char *first;
    pid_t pid;
    int status;

    (void)state;
    pid = start_with("process", "mapped", "records=256", "first");
    for (int i = 0; i < 2000 && size_of("first", "args_dump/args.bin") < 2000000; i++)
        usleep(10000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    expect(4, "recover first");
    assert_non_null(strstr(output, "recovered  0 records in 0 buffers"));
    first = strstr(output, "given up   ");
    assert_non_null(first);
    assert_true(strtoull(first + 11, NULL, 10) >= 2000000);
    assert_non_null(strstr(output, "`--dfx-set records=16`"));
    assert_null(strstr(output, "next"));
    assert_int_equal(size_of("first", "args_dump/args.bin"), -1);
    first = strndup(first, strcspn(first, "\n"));
    expect(4, "recover first");
    assert_null(strstr(output, "whole"));
    assert_non_null(strstr(output, first));
    free(first);
}

/* Ctrl-C and its kind say what is kept, and then end the command as they would have. */
static void a_run_that_is_ended_by_a_signal(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char out[20], words[200];
        int status;
        pid_t pid;

        (void)snprintf(out, sizeof(out), "signal%d", i);
        said_into = "said";
        pid = start("process", "mapped", out);
        said_into = "/dev/null";
        for (int k = 0; k < 2000 && size_of(out, "run.journal") < 20000; k++)
            usleep(10000);
        assert_int_equal(kill(pid, signals[i]), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        (void)snprintf(
            words, sizeof(words),
            "tasklens run: ended by a signal; what it had recorded until then is kept: `tasklens recover %s` "
            "makes it readable\n",
            out);
        message = slurp("said");
        if (strstr(message, words) == NULL)
            fail_msg("it said: %s", message);
        (void)snprintf(words, sizeof(words), "recover %s", out);
        expect(0, words);
        expect_values(out);
    }
}

/* Killed before the journal's header was whole: nothing had been recorded, and an earlier recording is not touched. */
static void a_run_that_had_not_begun(void **state)
{
    (void)state;
    assert_int_equal(mkdir(fixture_path("unborn"), 0777), 0);
    fixture_write_text("unborn/run.journal", "TLJOU");
    expect(2, "run vector_add --dump-args 2 --out unborn");
    expect(0, "recover unborn");
    assert_non_null(strstr(output, "recovered  0 records"));
    assert_non_null(strstr(output, "torn       5 bytes"));
    expect(0, "run vector_add --dump-args 2 --out unborn");
    fixture_write_text("unborn/run.journal", "");
    expect(0, "recover unborn");
    expect(0, "dump --verify unborn");
    expect(0, "run vector_add --dump-args 2 --out unborn");
}

/* The chip dies while it loads the program: that is the device's failure, not a bad argument. */
static void a_chip_that_dies_early(void **state)
{
    (void)state;
    fixture_write_text(
        "dies.c", "#include <signal.h>\n#include <stdio.h>\n#include <string.h>\n"
                  "#include <tasklens/program.h>\n"
                  "__attribute__((constructor)) static void die(void)\n"
                  "{ char name[32] = \"\"; FILE *f = fopen(\"/proc/self/comm\", \"r\");\n"
                  "  if (f == NULL) return;\n"
                  "  if (fgets(name, sizeof name, f) && strncmp(name, \"tasklens-chip\", 13) == 0) raise(SIGKILL);\n"
                  "  fclose(f); }\n"
                  "static void k(const struct tl_kernel_args *a) { (void)a; }\n"
                  "static void o(struct tl_orch *a, const struct tl_program_args *b) { (void)a; (void)b; }\n"
                  "static int p(struct tl_data *d) { (void)d; return 0; }\n"
                  "static const struct tl_kernel ks[] = {TL_KERNEL(0, \"k\", TL_AIV, k, TL_IN)};\n"
                  "TL_PROGRAM(.name = \"dies\", .kernels = ks, .n_kernels = 1, .orchestrate = o, .prepare = p);\n");
    expect_line(3, "run dies.c --dump-args 2 --out dies", "killed by SIGKILL while it loaded");
    assert_int_equal(access(fixture_path("dies"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_run_is_recovered_process_copy),
        cmocka_unit_test(a_killed_run_is_recovered_process_mapped),
        cmocka_unit_test(a_killed_run_is_recovered_thread_mapped),
        cmocka_unit_test(without_a_journal_there_is_nothing_to_recover),
        cmocka_unit_test(a_whole_recording_is_left_alone),
        cmocka_unit_test(a_run_that_lives_is_not_recovered),
        cmocka_unit_test(a_damaged_journal_loses_the_damaged_buffer_alone),
        cmocka_unit_test(a_recording_that_is_not_whole_any_more),
        cmocka_unit_test(a_run_in_its_first_buffers),
        cmocka_unit_test(a_run_that_is_ended_by_a_signal),
        cmocka_unit_test(a_run_that_had_not_begun),
        cmocka_unit_test(a_chip_that_dies_early),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
