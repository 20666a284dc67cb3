/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel or an orchestration that dies, in each way there is: exit code 3, one block that says who did what to which
 * argument, and a recording that has the crashed task's inputs and all that finished before.
 */
#include "scene/cli.h"

static const char program[] = TL_TEST_BINARY_DIR "/tests/faults.so";

struct way {
    const char *name;
    int way;
    const char *signal, *cause; /* of the last line */
};

static const struct way ways[] = {
    {"null", 0, "SIGSEGV at address 0x0 in ", ": a write through a null pointer"},
    {"read", 1, "SIGSEGV at address 0x7000 in ", ": a read at an address without memory"},
    {"bus", 2, "SIGBUS at address 0x", ": a write "},
    {"divide", 3, "SIGFPE in ", ": an integer division by zero"},
    {"trap", 4, "SIGILL in ", ": an instruction that this processor does not have, or a trap"},
    {"abort", 5, "SIGABRT in ", ": abort() was called"},
    {"overflow", 6, "SIGSEGV at address 0x", ": the stack overflowed"},
    {"raise", 9, "SIGSEGV in ", ": the signal was sent"},
    {"jump", 10, "SIGSEGV at address 0x12345678 in ", ": a jump to an address without memory"},
    {"pointer", 11, "SIGSEGV in ", ": an access with an invalid address"},
};

static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};

static void expect_said(const char *text)
{
    if (strstr(message, text) == NULL)
        fail_msg("no \"%s\" in: %s", text, message);
}

static void expect_shown(const char *text)
{
    if (strstr(output, text) == NULL)
        fail_msg("no \"%s\" in: %s", text, output);
}

/* Finished tasks' outputs, the crashed task's inputs, and every payload as it was captured. */
static void expect_recording(const char *out)
{
    char words[200];

    (void)snprintf(words, sizeof(words), "dump --verify %s", out);
    expect(0, words);
    (void)snprintf(words, sizeof(words), "dump %s -t r0t1 -s after", out);
    expect(0, words);
    expect_shown("output");
    (void)snprintf(words, sizeof(words), "dump %s -t r0t2 -s before", out);
    expect(0, words);
    expect_shown("input");
    (void)snprintf(words, sizeof(words), "dump %s -t r0t2 -r output", out);
    expect(0, words);
    expect_shown("shown: 0 of");
}

static void a_crash_in_a_kernel_names_task_and_core(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        for (int r = 0; r < 2; r++) {
            char words[700];

            (void)snprintf(words, sizeof(words), "run %s --set way=%d --runtime %s -p %s --dump-args 2 --out k%zu-%d",
                           program, ways[i].way, runtimes[r], (i + (size_t)r) % 2 ? "a5sim" : "a2a3sim", i, r);
            expect(3, words);
            expect_said(ways[i].signal);
            expect_said("in kernel \"die\", task r0t2 on AIV core ");
            expect_said(ways[i].cause);
            expect_said("[CRASH] kernel \"die\", task r0t2 on AIV core ");
            expect_shown("  tasks      2 retired in ");
            expect_said("[CRASH] argument 1: out float32[64], buffer 0x");
            (void)snprintf(words, sizeof(words), "k%zu-%d", i, r);
            expect_recording(words);
        }
}

static void a_crash_in_the_orchestration_names_its_submits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        for (int r = 0; r < 2; r++) {
            char words[700], file[64];
            bool lost;

            (void)snprintf(words, sizeof(words),
                           "run %s --set way=%d --set where=1 --runtime %s --dump-args 2 --out o%zu-%d", program,
                           ways[i].way, runtimes[r], i, r);
            expect(3, words);
            expect_said(ways[i].signal);
            expect_said("in the orchestration, after 3 submitted tasks");
            expect_said(ways[i].cause);
            expect_said("[CRASH] the orchestration, after 3 submitted tasks");
            /* A task whose record was half written when the process ended: counted, and no payload is wrong. */
            lost = strstr(message, " records were lost (device_dead ") != NULL;
            (void)snprintf(file, sizeof(file), "o%zu-%d/dfx_meta.json", i, r);
            assert_int_equal(access(fixture_path(file), F_OK), 0);
            (void)snprintf(file, sizeof(file), "o%zu-%d/args_dump/args_dump.json", i, r);
            if (access(fixture_path(file), F_OK) != 0)
                continue; /* an image: nothing had run */
            (void)snprintf(words, sizeof(words), "dump --verify o%zu-%d", i, r);
            expect(lost ? 4 : 0, words);
            expect_shown("; 0 faults");
        }
}

static void an_exit_of_a_kernel_is_reported(void **state)
{
    char words[700];

    (void)state;
    (void)snprintf(words, sizeof(words), "run %s --set way=7 --dump-args 2 --out exit", program);
    expect(3, words);
    expect_said("kernel \"die\" called exit(5), task r0t2 on AIV core ");
    expect_recording("exit");
    (void)snprintf(words, sizeof(words), "run %s --set way=8 --dump-args 2 --out exit-now", program);
    expect(3, words);
    expect_said("kernel \"die\" called _exit(-6), task r0t2");
    expect_recording("exit-now");
    (void)snprintf(words, sizeof(words), "run %s --set way=7 --set where=1", program);
    expect(3, words);
    expect_said("the orchestration called exit(5), after 3 submitted tasks");
    (void)snprintf(words, sizeof(words), "run %s --set way=8 --set where=1", program);
    expect(3, words);
    expect_said("the orchestration called _exit(-6), after 3 submitted tasks");
}

/* On a matrix core, where the code is, and on each thread of the chip: all have a stack for the handler. */
static void which_core_and_thread(void **state)
{
    char words[700];

    (void)state;
    (void)snprintf(words, sizeof(words), "run %s --set aic=1", program);
    expect(3, words);
    expect_said("in kernel \"die_aic\", task r0t2 on AIC core ");
    expect_said("[CRASH] the code: ");
    expect_said("faults.so+0x");
    /* The chip's first thread is in the orchestration: another one dies. */
    (void)snprintf(words, sizeof(words), "run %s --set way=6 --set linger=10 --sim-threads 2", program);
    expect(3, words);
    expect_said(": the stack overflowed");
    for (int threads = 1; threads <= 4; threads++)
        for (int i = 0; i < 4; i++) {
            (void)snprintf(words, sizeof(words), "run %s --set way=6 --sim-threads %d", program, threads);
            expect(3, words);
            expect_said(": the stack overflowed");
        }
}

/* ---- the source line ---- */

#define SOURCE TL_TEST_SOURCE_DIR "/tests/scene/faults.c"

/* Of the first line of faults.c that has `text`. */
static int line_of(const char *text)
{
    FILE *f = fopen(SOURCE, "re");
    char line[300];
    int number = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        number++;
        if (strstr(line, text) == NULL)
            continue;
        assert_int_equal(fclose(f), 0);
        return number;
    }
    fail_msg("no %s in " SOURCE, text);
    return 0;
}

/* faults.c as an object of its own in the scratch directory. */
static void compile(const char *name, const char *flags)
{
    char command[1200];

    (void)snprintf(command, sizeof(command),
                   "cc -std=gnu17 %s -fPIC -shared -I" TL_TEST_SOURCE_DIR "/include " SOURCE " -o '%s/%s'", flags,
                   fixture_dir, name);
    assert_int_equal(system(command), 0);
}

static const struct {
    int way;
    const char *said, *text; /* of the line in the source */
} lines[] = {
    {0, "the code: die(), ", "*p = 1;"},
    {5, "called from: die(), ", "abort();"},
    {6, "the code: overflow(), ", "overflow(int64_t n)"},
    {7, "called from: die(), ", "exit(5);"},
    {8, "called from: die(), ", "_exit(-6);"},
    {9, "called from: die(), ", "raise(SIGSEGV);"},
    {10, "called from: die(), ", "nowhere();"},
};

/* What died in a library was called from the program, and that line is the program's. */
static void the_source_line_is_named(void **state)
{
    (void)state;
    compile("lines.so", "-O0 -g");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        for (int where = 0; where < 2; where++)
            for (int mode = 0; mode < (SANITIZED || lines[i].way == 6 ? 1 : 2); mode++) {
                char words[300], line[600];
                int number = line_of(lines[i].text);

                (void)snprintf(words, sizeof(words), "run ./lines.so --set way=%d --set where=%d --device-mode %s",
                               lines[i].way, where, mode == 0 ? "process" : "thread");
                expect(3, words);
                (void)snprintf(line, sizeof(line), "%s" SOURCE ":%d; lines.so+0x", lines[i].said, number);
                if (lines[i].way == 6) /* any line of the function */
                    *(strstr(line, SOURCE) + strlen(SOURCE)) = '\0';
                expect_said(line);
            }
}

/* The copy in the recording is named, which remains when the object has been compiled again. */
static void the_recordings_copy_is_named(void **state)
{
    char line[600];

    (void)state;
    expect(3, "run " SOURCE " --debug --dump-args 2 --out copied");
    (void)snprintf(line, sizeof(line), "the code: die(), " SOURCE ":%d; copied/program/faults.so+0x",
                   line_of("*p = 1;"));
    expect_said(line);
    assert_int_equal(access(fixture_path("copied/program/faults.so"), R_OK), 0);
}

static void without_debug_information_the_function_is_named(void **state)
{
    (void)state;
    compile("bare.so", "-O0 -g0");
    expect(3, "run ./bare.so");
    expect_said("[CRASH] the code: die()+0x");
    expect_said("; bare.so+0x");
    expect_said("compiled with -g");
    compile("stripped.so", "-O0 -g0 -s");
    expect(3, "run ./stripped.so");
    expect_said("[CRASH] the code: stripped.so+0x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_in_a_kernel_names_task_and_core),
        cmocka_unit_test(a_crash_in_the_orchestration_names_its_submits),
        cmocka_unit_test(an_exit_of_a_kernel_is_reported),
        cmocka_unit_test(which_core_and_thread),
        cmocka_unit_test(the_source_line_is_named),
        cmocka_unit_test(the_recordings_copy_is_named),
        cmocka_unit_test(without_debug_information_the_function_is_named),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
