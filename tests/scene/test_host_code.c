/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's own host code, prepare() and golden(), that crashes or fails: exit code 2 and one line that says which
 * and what to do, on one chip and on several, with the chip in its own process and in this one.
 */
#include "scene/cli.h"

static const char source[] =
    "#include <stdlib.h>\n"
    "#include <tasklens/program.h>\n"
    "static const struct tl_param params[] = {{\"way\", 0, 0, 100, \"\"}, {\"where\", 1, 0, 1, \"\"}};\n"
    "static void fill(const struct tl_kernel_args *k)\n"
    "{\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        TL_DATA(k, 0, float)[i] = 1;\n"
    "}\n"
    "static const struct tl_kernel kernels[] = {TL_KERNEL(0, \"fill\", TL_AIV, fill, TL_OUT)};\n"
    "static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)\n"
    "{\n"
    "    struct tl_tensor z = in->tensors[1];\n"
    "    struct tl_task_args args = TL_TASK_ARGS_INIT;\n"
    "    tl_add_output(&args, &z);\n"
    "    tl_submit_aiv(o, 0, &args);\n"
    "}\n"
    "static volatile int depth;\n"
    "static int deeper(int n)\n"
    "{\n"
    "    volatile char frame[1000];\n"
    "    frame[0] = (char)(depth = n);\n"
    "    return depth < 0 ? 0 : deeper(n + 1) + frame[0];\n"
    "}\n"
    "static int act(struct tl_data *d, int golden)\n"
    "{\n"
    "    long long way = tl_data_param(d, \"way\");\n"
    "    if (golden != tl_data_param(d, \"where\"))\n"
    "        return 0;\n"
    "    if (way == 1)\n"
    "        *(volatile float *)tl_data_expected(d, \"zz\") = 1;\n"
    "    if (way == 2)\n"
    "        *(volatile int *)16 = 1;\n"
    "    if (way == 3)\n"
    "        abort();\n"
    "    if (way == 4)\n"
    "        return deeper(1);\n"
    "    if (way == 5)\n"
    "        return *(const volatile int *)tl_data_input(d, \"q\");\n"
    "    if (way == 6)\n"
    "        return 10 / (int)tl_data_param(d, \"size\");\n"
    "    if (way == 7)\n"
    "        return *(volatile int *)tl_data_expected(d, \"x\");\n"
    "    return way >= 50 ? (int)(way - 80) : 0;\n"
    "}\n"
    "static int prepare(struct tl_data *d)\n"
    "{\n"
    "    const uint32_t shape[1] = {8};\n"
    "    (void)tl_data_tensor(d, \"x\", TL_IN, TL_FLOAT32, 1, shape);\n"
    "    (void)tl_data_tensor(d, \"z\", TL_OUT, TL_FLOAT32, 1, shape);\n"
    "    return act(d, 0);\n"
    "}\n"
    "static int golden(struct tl_data *d)\n"
    "{\n"
    "    float *z = tl_data_expected(d, \"z\");\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        z[i] = 1;\n"
    "    return act(d, 1);\n"
    "}\n"
    "TL_PROGRAM(.name = \"host\", .kernels = kernels, .n_kernels = 1, .params = params, .n_params = 2,\n"
    "           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);\n";

static int set_up(void **state)
{
    int rc = fixture_setup(state);

    if (rc == 0) {
        fixture_write_text("host.c", source);
        assert_int_equal(setenv("TMPDIR", fixture_dir, 1), 0); /* where programs are compiled */
        /* Keep one compiled: all but one of the runs take it. */
        expect(0, "run host.c --dump-args 2 --out kept");
        assert_non_null(strstr(output, "8 float32 agree with the golden"));
    }
    return rc;
}

static void fails_with(const char *words, const char *part)
{
    char command[300];

    (void)snprintf(command, sizeof(command), "run kept/program/host.so %s", words);
    refuses(command, part);
}

static void a_crash_is_reported_with_what_led_to_it(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* the report is theirs */
    fails_with("--set way=1", "host: golden() asked for output \"zz\"; it has z; it was given NULL");
    assert_non_null(strstr(message, "crashed (SIGSEGV at address 0x0, a null pointer, the code: act"));
    fails_with("--set way=1 --device-mode thread", "host: golden() asked for output \"zz\"; it has z;");
    fails_with("--set way=5", "host: golden() asked for tensor \"q\"; it has x, z;");
    fails_with("--set way=6", "host: golden() asked for parameter \"size\"; it has way, where;");
    assert_non_null(strstr(message, "crashed (SIGFPE; the code: act"));
    fails_with("--set way=7", "host: golden() asked for output \"x\"; it has z;");
    fails_with("--set way=1 --set where=0", "tl_data_expected() outside of golden(), for \"zz\"");
}

static void a_crash_without_a_cause_names_the_debugger(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    fails_with("--set way=2", "golden() of host crashed (SIGSEGV at address 0x10, a null pointer, the code: act");
    assert_non_null(strstr(message, "gdb -ex run --args"));
    fails_with("--set way=2 --set where=0", "prepare() of host crashed (SIGSEGV at address 0x10");
    fails_with("--set way=3", "golden() of host crashed (SIGABRT: abort()");
    assert_non_null(strstr(message, "; called from: act"));
    fails_with("--set way=4", "past the end of the stack");
    fails_with("--set way=2 --device-mode thread", "golden() of host crashed (SIGSEGV at address 0x10");
    fails_with("--set way=2 --chips 2 --rounds 4", "golden() of host crashed (SIGSEGV at address 0x10");
}

/* No directory for a run that did not begin, no compiled program that nobody removes. */
static void a_crash_leaves_nothing(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    refuses("run host.c --set way=2 --dump-args 2", "golden() of host crashed");
    assert_int_equal(access(fixture_path("outputs"), F_OK), 0);
    assert_int_equal(rmdir(fixture_path("outputs")), 0); /* it is empty */
    assert_int_not_equal(system("ls -d \"$TMPDIR\"/tasklens-compile-* >/dev/null 2>&1"), 0);
    expect(0, "dump kept --verify");
}

static void anything_but_0_is_a_failure(void **state)
{
    (void)state;
    fails_with("--set way=81", "host: golden() failed: it returned 1;");
    fails_with("--set way=79", "host: golden() failed: invalid argument");
    fails_with("--set way=81 --set where=0", "host: prepare() failed: it returned 1;");
    fails_with("--set way=81 --chips 2", "host: golden() failed: it returned 1;");
    fails_with("--set way=81 --dump-args 2 --out failed", "golden() failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_reported_with_what_led_to_it),
        cmocka_unit_test(a_crash_without_a_cause_names_the_debugger),
        cmocka_unit_test(a_crash_leaves_nothing),
        cmocka_unit_test(anything_but_0_is_a_failure),
    };
    return cmocka_run_group_tests(tests, set_up, fixture_teardown);
}
