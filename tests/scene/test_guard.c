/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --guard: an access past a buffer's end faults and is reported with the argument; what alignment leaves beside a
 * buffer is looked at when its task is finished, and for all buffers at the end; programs without a fault run as
 * without it.
 */
#include "scene/cli.h"

static void expect_said(const char *text)
{
    if (strstr(message, text) == NULL)
        fail_msg("no \"%s\" in: %s", text, message);
}

static void expect_run(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void expect_run(int code, const char *format, ...)
{
    char words[900];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(words, sizeof(words), format, ap);
    va_end(ap);
    expect(code, words);
}

static const char *const setups[] = {
    "-p a2a3sim",
    "-p a5sim",
    "-p a2a3sim --runtime host_build_graph",
    "-p a5sim --runtime host_build_graph",
    "-p a2a3sim --transport copy",
    "-p a5sim --transport mapped",
};

/* 64 bytes past an output of the graph: without it nothing is seen, with it all is reported. */
static void an_access_past_an_output_is_reported(void **state)
{
    (void)state;
    expect_run(0, "run past_end");
    for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
        expect_run(3, "run past_end --guard %s --dump-args 2 --out past%zu", setups[i], i);
        expect_said("in kernel \"past\", task r0t1 on AIV core ");
        expect_said(": a write 64 bytes past the end of argument 1 (out float32[64])");
        expect_said("  <- 64 bytes past the end of it");
        expect_run(0, "dump --verify past%zu", i);
        expect_run(0, "dump past%zu -t r0t0 -s after", i);
        assert_non_null(strstr(output, "shown: 1 of"));
    }
    expect_run(3, "run past_end --guard --set at=0");
    expect_said(": a write 0 bytes past the end of argument 1 (out float32[64])");
    expect_run(3, "run past_end --guard --set at=1023"); /* the last element of the guard page */
    expect_said(": a write 4092 bytes past the end of argument 1 (out float32[64])");
}

/* The program's own tensors, which the host places: the last task of way 12 has one as its output. */
static void past_a_tensor_of_the_program(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
        expect_run(3, "run %s/tests/faults.so --guard %s --set way=12 --set bad=4 --set far=64", TL_TEST_BINARY_DIR,
                   setups[i]);
        expect_said("task r0t4");
        expect_said(": a write 64 bytes past the end of argument 1 (out float32[64])");
        expect_run(3, "run %s/tests/faults.so --guard %s --set way=12 --set bad=4 --set far=-4097", TL_TEST_BINARY_DIR,
                   setups[i]); /* the page in front */
        expect_said("SIGSEGV at address 0x");
        expect_said(": a write 3841 bytes before the start of argument 1 (out float32[64])");
    }
}

/* What cannot fault is found by the canary: in front of a buffer, and behind one that is aligned to more. */
static void an_access_beside_a_buffer_is_found_by_the_canary(void **state)
{
    static const char *const modes[] = {"process", "thread"};

    (void)state;
    for (int m = 0; m < 2; m++) {
        expect_run(3, "run past_end --guard --set at=-1 --device-mode %s --dump-args 2 --out beside%d", modes[m], m);
        expect_said("kernel \"past\", task r0t1, wrote 4 bytes before the start of argument 1 (out "
                    "float32[64]): found by --guard when the task was finished");
        expect_said("[CRASH] argument 1: out float32[64], buffer 0x");
        expect_run(0, "dump --verify beside%d", m);
        expect_run(0, "dump beside%d -t r0t1 -s after", m);
        assert_non_null(strstr(output, "shown: 1 of"));
        expect_run(3, "run past_end --guard 512 --set at=0 --device-mode %s", modes[m]);
        expect_said(", wrote 0 bytes past the end of argument 1 (out float32[64])");
        expect_run(3, "run past_end --guard 512 --set at=63 --device-mode %s", modes[m]);
        expect_said(", wrote 252 bytes past the end of argument 1 (out float32[64])");
    }
    expect_run(3, "run past_end --guard 512 --set at=64"); /* and there its guard page begins */
    expect_said(": a write 256 bytes past the end of argument 1 (out float32[64])");
    expect_run(3, "run %s/tests/faults.so --guard --set way=12 --set bad=4 --set far=-257", TL_TEST_BINARY_DIR);
    expect_said("kernel \"die\", task r0t4, wrote 1 byte before the start of argument 1");
    expect_run(3, "run %s/tests/faults.so --guard --set way=13", TL_TEST_BINARY_DIR); /* its input's front */
    expect_said(", or a task that ran beside it, wrote 4 bytes before the start of argument 0 (in float32[64])");
    expect_run(3, "run %s/tests/faults.so --guard --set way=14", TL_TEST_BINARY_DIR); /* a buffer of an earlier task */
    expect_said("some task wrote 4 bytes before the start of the buffer that task r0t0 allocated "
                "as its tensor 1");
}

/* Beyond so many live buffers the guard page is a canary, and the chip still has mappings for itself. */
static void more_buffers_than_guard_pages(void **state)
{
    (void)state;
    expect_run(3,
               "run %s/tests/faults.so --guard --runtime host_build_graph --set extra=26000 --set way=12 --set far=60",
               TL_TEST_BINARY_DIR);
    expect_said("--guard: no guard page is left for a buffer (at most 24576 are used)");
    expect_said("kernel \"die\", task r0t26002, wrote 60 bytes past the end of argument 1 (out");
    /* Rings use pages again and again. */
    expect_run(0, "run bgemm --guard --heap-bytes 256K --set tile=4 --set m=128 --set n=128 --set k=128");
    assert_null(strstr(message, "guard"));
}

/* Inside one buffer nothing is guarded: the last task's row too many is the tensor's spare one. */
static void an_access_inside_a_buffer_is_not_seen(void **state)
{
    (void)state;
    expect_run(1, "run off_by_one");
    expect_run(1, "run off_by_one --guard");
}

/* The same results and recordings as without; small heaps are used again and again; rounds share one chip. */
static void a_sound_program_runs_as_without_guard(void **state)
{
    static const char *const programs[] = {"vector_add", "bgemm", "layer", "dtypes", "edge_views", "scopes", "spmd"};

    (void)state;
    for (size_t p = 0; p < sizeof(programs) / sizeof(programs[0]); p++)
        for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
            expect_run(0, "run %s --guard %s --rounds 2 --dump-args 2 --out good-%zu-%zu", programs[p], setups[i], p,
                       i);
            expect_run(0, "dump --verify good-%zu-%zu/round1", p, i);
        }
    expect_run(0, "run vector_add --guard 4096 --device-mode thread --rounds 2 --dump-args 2 --out aligned");
    expect_run(0, "dump --verify aligned/round1");
    expect_run(0, "run bgemm --guard --heap-bytes 64K");
    expect_run(2, "run vector_add --guard 3");
    expect_said("--guard takes a power of two of at most 4096 bytes, not 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_access_past_an_output_is_reported),
        cmocka_unit_test(past_a_tensor_of_the_program),
        cmocka_unit_test(an_access_beside_a_buffer_is_found_by_the_canary),
        cmocka_unit_test(more_buffers_than_guard_pages),
        cmocka_unit_test(an_access_inside_a_buffer_is_not_seen),
        cmocka_unit_test(a_sound_program_runs_as_without_guard),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
