/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad input, a row each: the exit code, and one line on stderr that says what is wrong. `run` never ends by a signal
 * and never says nothing.
 */
#include "scene/cli.h"

struct row {
    int code;
    const char *words;
    const char *part; /* of the line */
};

static void expect_one_line(const struct row *row)
{
    char words[400];
    const char *end;

    (void)snprintf(words, sizeof(words), "run %s", row->words);
    expect(row->code, words);
    end = strchr(message, '\n');
    if (end == NULL || end[1] != '\0')
        fail_msg("run %s: not one line: \"%s\"", row->words, message);
    if (strncmp(message, "tasklens run: ", 14) != 0 || strstr(message, row->part) == NULL)
        fail_msg("run %s: \"%s\" does not say \"%s\"", row->words, message, row->part);
}

static void expect_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        expect_one_line(&rows[i]);
}
#define ROWS(rows) expect_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void bad_options_are_refused(void **state)
{
    static const struct row rows[] = {
        {2, "", "which program"},
        {2, "vector_add more", "several programs, or a program of several files"},
        {2, "vector_add --no-such", "no option --no-such"},
        {2, "vector_add -p a9sim", "the platforms: a2a3sim, a5sim"},
        {2, "vector_add -p ''", "no platform"},
        {2, "vector_add -p a2a3", "use the simulator a2a3sim"},
        {2, "vector_add -p a5", "use the simulator a5sim"},
        {2, "vector_add --runtime other", "tensormap_and_ringbuffer, host_build_graph"},
        {2, "vector_add --case other", "its cases: default, whole, ragged"},
        {2, "vector_add --set tiles", "name=number"},
        {2, "vector_add --set tiles=x", "name=number"},
        {2, "vector_add --set tiles=0", "tiles of vector_add must be 1 to"},
        {2, "vector_add --set other=1", "it has elements, tiles"},
        {2, "vector_add --dump-args 4", "0 to 3, not 4"},
        {2, "vector_add --dump-args -1", "0 to 3, not -1"},
        {2, "vector_add --dump-args=x", "integer"},
        {2, "vector_add --rounds 0", "rounds"},
        {2, "vector_add --rounds x", "--rounds takes an integer, 1 to 1000000, not \"x\""},
        {2, "vector_add --rounds 99999999999999999999", "--rounds takes 1 to 1000000, not 99999999999999999999"},
        {2, "vector_add --dfx-set records=99999999999999999999", "takes a number from 1 to 16777216"},
        {2, "vector_add --dfx-set buffers=0", "buffers=0: takes a number from 1 to 16777216"},
        {2, "vector_add --dfx-set avg-bytes=99999999999999999999", "takes a number from 1 to 70368744177664"},
        {2, "vector_add --set tiles=99999999999999999999", "a number is -9223372036854775808 to 9223372036854775807"},
        {2, "vector_add --heap-bytes 99999999999999999999", "takes bytes from 1 to 70368744177664"},
        {2, "vector_add --throttle-writer 99999999999999999999", "takes MB a second, 1 to 70368744"},
        {2, "vector_add --chips 2 --pin 99999999999999999999", "--pin takes chips from 0 to 1"},
        {2, "vector_add --device-mode other", "process, thread"},
        {2, "vector_add --transport other", "mapped, copy"},
        {2, "vector_add --block-dim 25", "24 clusters, not 25"},
        {2, "vector_add --aicpu-threads 1", "aicpu-threads"},
        {2, "vector_add --task-window 3", "power of two"},
        {2, "vector_add --heap-bytes 1X", "takes bytes"},
        {2, "vector_add --dfx-set words=3", "the knobs: records, buffers, avg-bytes, ready, free"},
        {2, "vector_add --dfx-set records", "records="},
        {2, "vector_add --enable-chip-swimlane 5", "0 to 4, not 5"},
    };

    (void)state;
    ROWS(rows);
}

static void bad_programs_are_refused(void **state)
{
    static const struct row rows[] = {
        {2, "no_such_program", "the bundled ones are "},
        {2, "./absent.so", "absent.so: No such file"},
        {2, "absent.c", "absent.c: No such file"},
        {2, "./text.so", "not a program"},
        {2, "./empty.so", "not a program"},
        {2, "kernels.cpp", "it has no TL_PROGRAM"},
        {2, "./kernels.cpp", "it has no TL_PROGRAM"},
        {2, "no_function", "kernel empty has no function"},
        {2, "duplicate_func_id", "same func_id 3"},
        {2, "scalar_before_tensor", "SCALAR before a tensor"},
    };

    (void)state;
    fixture_write_text("text.so", "no program\n");
    fixture_write_text("empty.so", "");
    fixture_write_text("kernels.cpp", "int x;\n");
    ROWS(rows);
}

/* The compiler's own lines come first. */
static void a_program_that_does_not_compile(void **state)
{
    (void)state;
    fixture_write_text("bad.c", "#include <tasklens/program.h>\nint broken = ;\n");
    expect(2, "run bad.c");
    assert_non_null(strstr(message, "bad.c:2:"));
    assert_non_null(strstr(message, "tasklens run: bad.c does not compile"));
}

/* What is compiled and is no program: the user's file is named, and what to add, not the object that is gone. */
static void a_source_that_is_no_program(void **state)
{
    static const struct row rows[] = {
        {2, "none.c", "run: none.c: not a program: it has no TL_PROGRAM; at its end belongs TL_PROGRAM("},
        {2, "half.c", "run: half.c: program half has no kernels"},
        {2, "calls.c", "run: calls.c: not a program: calls.c: undefined symbol: nowhere"},
    };

    (void)state;
    fixture_write_text("none.c", "int x;\n");
    fixture_write_text("half.c", "#include <tasklens/program.h>\n"
                                 "static void graph(struct tl_orch *o, const struct tl_program_args *in)\n"
                                 "{\n    (void)o;\n    (void)in;\n}\n"
                                 "TL_PROGRAM(.name = \"half\", .orchestrate = graph);\n");
    fixture_write_text("calls.c", "int nowhere(void);\nint x(void)\n{\n    return nowhere();\n}\n");
    ROWS(rows);
}

static void bad_graphs_are_refused(void **state)
{
    static const struct row rows[] = {
        {2, "bad_overlap", "overlaps"},
        {2, "past_buffer", "reaches past its buffer"},
        {2, "bad_args --case unknown_kernel", "task r0t1: the program has no kernel with func_id 77"},
        {2, "bad_args --case wrong_core", "task r0t1: kernel "},
        {2, "bad_args --case empty_mix", ""},
        {2, "bad_args --case many_tensors", "tensors"},
        {2, "bad_args --case many_scalars", "scalars"},
        {2, "bad_args --case mark_not_added --dump-args 1 --out m1", ""},
        {2, "bad_args --case mark_not_added --dump-args 3 --out m3", ""},
        {2, "bad_args --case not_allocated", ""},
        {2, "bad_args --case unknown_dependency", ""},
        {2, "bad_args --case open_scope", "that began at broken/bad_args.c:"},
        {2, "bad_args --case own_message", ""},
    };

    (void)state;
    ROWS(rows);
    expect(0, "run bad_args");
    expect(0, "run bad_args --case mark_not_added");
}

static void write_npy(const char *name, const char *descr, const char *order, const char *shape, size_t bytes)
{
    char header[200], file[4096];
    int n =
        snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", descr, order, shape);

    memset(file, 0, sizeof(file));
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(file + 10, ' ', 118);
    memcpy(file + 10, header, (size_t)n);
    file[127] = '\n';
    fixture_write(name, file, 128 + bytes);
}

static void bad_npy_files_are_refused(void **state)
{
    static const struct row rows[] = {
        {2, "vector_add --set elements=8 --arg x", "name=file.npy"},
        {2, "vector_add --set elements=8 --arg x=absent.npy", "absent.npy"},
        {2, "vector_add --set elements=8 --arg other=good.npy", "no input \"other\"; it has x, y, bias"},
        {2, "vector_add --set elements=8 --arg z=good.npy", "is an output"},
        {2, "vector_add --set elements=8 --arg x=text.npy", "text.npy"},
        {2, "vector_add --set elements=8 --arg x=fifo", "fifo: not a regular file"}, /* and nobody waits for a writer */
        {2, "vector_add --set elements=8 --arg x=dtype.npy", "dtype.npy"},
        {2, "vector_add --set elements=8 --arg x=shape.npy", "shape.npy"},
        {2, "vector_add --set elements=8 --arg x=order.npy", "order.npy"},
        {2, "vector_add --set elements=8 --arg x=cut.npy", "cut.npy"},
        {2, "paged_attention --case bfloat16 --arg q=ints.npy", "or float32, to be rounded to it"},
    };

    (void)state;
    assert_int_equal(mkfifo(fixture_path("fifo"), 0600), 0);
    fixture_write_text("text.npy", "text\n");
    write_npy("good.npy", "<f4", "False", "8,", 32);
    write_npy("dtype.npy", "<i4", "False", "8,", 32);
    write_npy("shape.npy", "<f4", "False", "9,", 36);
    write_npy("order.npy", "<f4", "True", "2, 4", 32);
    write_npy("ints.npy", "<i4", "False", "2, 4, 16", 512);
    write_npy("floats.npy", "<f4", "False", "2, 4, 16", 512);
    write_npy("cut.npy", "<f4", "False", "8,", 31);
    ROWS(rows);
    expect(0, "run paged_attention --case bfloat16 --arg q=floats.npy"); /* rounded */
    expect(0, "run vector_add --set elements=8 --arg x=good.npy");       /* 0 + 3: the golden follows the file */
}

static void resources_that_do_not_fit_are_refused(void **state)
{
    static const struct row rows[] = {
        /* 4 heaps of 256 MiB do not fit into 512 MiB: the third is short by all of itself. */
        {2, "vector_add --device-memory 512M", "short by 268435456 bytes"},
        {2, "vector_add --heap-bytes 1M --device-memory 8M --set elements=4194304", "tensor x"},
        {2, "vector_add --heap-bytes 1M --device-memory 64M --dump-args 2 --out pools", "short by"},
        {2, "vector_add --dump-args 2 --out plain/x", "plain"},
        {2, "vector_add --dump-args 2 --out plain", "plain"},
        {2, "vector_add --dump-args 2 --out /proc/none", "/proc/none"},
    };

    (void)state;
    fixture_write_text("plain", "a file is in the way\n");
    ROWS(rows);
}

/* A directory that cannot be made: the system's reason, and not that of a later look at what is not there. */
static void a_directory_that_cannot_be_made_is_refused_with_the_reason(void **state)
{
    char command[1000], *code;

    (void)state;
    fixture_write_text("plain", "a file is in the way\n");
    expect_one_line(&(struct row){2, "vector_add --dump-args 2 --out plain/x", "plain/x: Not a directory"});
    /* sysfs lets nobody make a directory: EPERM, EACCES or EROFS. */
    expect(2, "run vector_add --dump-args 2 --out /sys/none");
    if (strstr(message, "cannot make the directory /sys/none: ") == NULL || strstr(message, "No such file") != NULL)
        fail_msg("it said: %s", message);
    (void)snprintf(command, sizeof(command),
                   "cd '%s' && mkdir ro && %s sh -c 'mount -t tmpfs none ro && mount -o remount,ro ro || exit "
                   "77; " TL_TEST_BINARY_DIR "/tasklens run vector_add --dump-args 2 --out ro/s >out 2>err; "
                   "echo $? >code' >/dev/null 2>&1",
                   fixture_dir, mount_namespace());
    if (system(command) != 0)
        skip(); /* no mounts for us here; the above says the same of another errno */
    message = slurp("err");
    if (strstr(message, "cannot make the directory ro/s: Read-only file system") == NULL)
        fail_msg("it said: %s", message);
    code = fixture_read("code", NULL);
    assert_string_equal(code, "2\n");
    free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(bad_programs_are_refused),
        cmocka_unit_test(a_program_that_does_not_compile),
        cmocka_unit_test(a_source_that_is_no_program),
        cmocka_unit_test(bad_graphs_are_refused),
        cmocka_unit_test(bad_npy_files_are_refused),
        cmocka_unit_test(resources_that_do_not_fit_are_refused),
        cmocka_unit_test(a_directory_that_cannot_be_made_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
