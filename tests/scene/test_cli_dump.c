/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens dump` as a user meets it: its text against tests/golden/dump/ (TL_UPDATE_GOLDEN=1 rewrites it), its
 * messages and exit codes. Everything runs in a directory of its own, so that paths are the same everywhere.
 */
#include "scene/cli.h"
#include "scene/golden.h"
#include "scene/recording_fixture.h"

static void file_matches_golden(const char *file, const char *name)
{
    char *text = fixture_read(file, NULL);

    golden_is(text, name);
    free(text);
}

static int setup(void **state)
{
    static struct fixture_recording f;

    if (fixture_setup(state) != 0)
        return -1;
    fixture_everything(&f);
    fixture_save(&f, "run");
    return 0;
}

static void the_list_is_golden(void **state)
{
    (void)state;
    expect(0, "dump run");
    assert_string_equal(message, "");
    golden_is(output, "dump/list.txt");
    expect(0, "dump run --no-values");
    golden_is(output, "dump/list_no_values.txt");
    expect(0, "dump run --json");
    golden_is(output, "dump/list.json");
    expect(0, "dump --json --no-values -t r1t7 -s after run");
    golden_is(output, "dump/list_no_values.json");
}

static void every_way_to_name_it(void **state)
{
    const char *words[] = {"dump run",
                           "dump run/",
                           "dump run/args_dump",
                           "dump run/args_dump/args_dump.json",
                           "dump ./run",
                           "dump --no-values run",
                           NULL};
    char *first;

    (void)state;
    expect(0, words[0]);
    first = strdup(strchr(output, '\n'));
    for (int i = 1; words[i + 1] != NULL; i++) {
        expect(0, words[i]);
        assert_string_equal(strchr(output, '\n'), first);
    }
    free(first);
}

static void filters_choose_records(void **state)
{
    (void)state;
    expect(0, "dump run -t r1t7");
    golden_is(output, "dump/filter_task.txt");
    expect(0, "dump run --task 0x100000007 --stage after --role output");
    golden_is(output, "dump/filter_all.txt");
    expect(0, "dump run -t 4294967303 -s after_completion -r OUTPUT -a 5");
    golden_is(output, "dump/filter_all.txt");
    expect(0, "dump run -t r1t7 -s before -r output"); /* both are there, and not together */
    assert_non_null(strstr(output, "shown: 0 of 19\n"));
    refuses("dump run -t 99", "no record of task r0t99; the first that has records is r");
    refuses("dump run -t r9t9 --json", "no record of task r9t9; ");
    refuses("dump run -t r9t9 --export", "no record of task r9t9; ");
    refuses("dump run -a 77", "no task has a record of argument 77; the last one is ");
    refuses("dump run -t r1t7 -a 77", "task r1t7 has no record of argument 77; its last one is ");
}

static void one_entry_is_shown_in_full(void **state)
{
    (void)state;
    for (int i = 0; i < 19; i++) {
        char words[60], name[60];

        (void)snprintf(words, sizeof(words), "dump run -i %d", i);
        expect(0, words);
        assert_string_equal(message, "");
        (void)snprintf(name, sizeof(name), "dump/entry_%02d.txt", i);
        golden_is(output, name);
    }
}

static void records_are_exported_as_text(void **state)
{
    (void)state;
    expect(0, "dump run --export");
    golden_is(output, "dump/export_txt.txt");
    file_matches_golden("run/args_dump/txt/r0t0_before_input_arg0.txt", "dump/export_2d.txt");
    file_matches_golden("run/args_dump/txt/r1t7_before_inout_arg0.txt", "dump/export_3d.txt");
    file_matches_golden("run/args_dump/txt/r0t1_before_input_arg0.txt", "dump/export_cut.txt");
    file_matches_golden("run/args_dump/txt/r0t0_before_input_arg3.txt", "dump/export_scalar.txt");
    expect(0, "dump run --export txt -i 0");
    assert_string_equal(output, "1 file written\nrun/args_dump/txt\n");
}

/* The file's data, behind its header; the header itself holds `descr` and `shape`. */
static void npy_is(const char *name, const char *descr, const char *shape, const void *data, size_t bytes)
{
    char path[200], want[200];
    size_t n;
    char *npy, *header;
    unsigned header_bytes;

    (void)snprintf(path, sizeof(path), "run/args_dump/npy/%s.npy", name);
    npy = fixture_read(path, &n);
    assert_true(n > 10);
    assert_memory_equal(npy, "\x93NUMPY\x01\x00", 8);
    header_bytes = (unsigned)(uint8_t)npy[8] | (unsigned)(uint8_t)npy[9] << 8;
    assert_int_equal((10 + header_bytes) % 64, 0);
    assert_int_equal(n, 10 + header_bytes + bytes);
    header = strndup(npy + 10, header_bytes);
    (void)snprintf(want, sizeof(want), "'descr': '%s'", descr);
    assert_non_null(strstr(header, want));
    (void)snprintf(want, sizeof(want), "'shape': %s", shape);
    assert_non_null(strstr(header, want));
    assert_memory_equal(npy + 10 + header_bytes, data, bytes);
    free(header);
    free(npy);
}

static void records_are_exported_as_npy(void **state)
{
    const uint16_t f16[] = {0x2e66, 0x7e00, 0x7c00, 0xfc00};
    const float bf16[] = {1.0f, 0x1.9ap-4f, -123.5f}, fp4[] = {1.0f, 6.0f, -1.0f}, scale[] = {1.0f, 8.0f},
                cut[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, scalar[] = {0.1f};
    const int32_t cube[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, one[] = {-7};
    const uint64_t u64[] = {UINT64_MAX, 9007199254740993u};
    const int64_t big[] = {-9007199254740993};

    (void)state;
    expect(0, "dump run --export npy");
    golden_is(output, "dump/export_npy.txt");
    npy_is("r0t0_before_input_arg1", "<f2", "(2, 2)", f16, sizeof(f16));
    npy_is("r0t0_after_output_arg2", "<f4", "(3,)", bf16, sizeof(bf16));
    npy_is("r0t0_before_input_arg3", "<f4", "()", scalar, sizeof(scalar));
    npy_is("r0t0_before_input_arg4", "<i8", "()", big, sizeof(big));
    npy_is("r0t1_before_input_arg0", "<f4", "(10,)", cut, sizeof(cut));
    npy_is("r0t1_before_input_arg1", "<i4", "()", one, sizeof(one));
    npy_is("r0t1_before_input_arg2", "|i1", "(0, 4)", "", 0);
    npy_is("r1t7_after_inout_arg0", "<i4", "(2, 2, 3)", cube, sizeof(cube));
    npy_is("r1t7_before_input_arg2", "<f4", "(3,)", fp4, sizeof(fp4));
    npy_is("r1t7_before_input_arg3", "<f4", "(2,)", scale, sizeof(scale));
    npy_is("r1t7_after_output_arg5", "<u8", "(2,)", u64, sizeof(u64));
    assert_int_equal(access(fixture_path("run/args_dump/npy/r0t1_after_output_arg4.npy"), F_OK), -1);
    assert_int_equal(access(fixture_path("run/args_dump/npy/r0t1_before_input_arg3.npy"), F_OK), -1);
    expect(0, "dump run --export npy -i 13");
    assert_non_null(strstr(output, "1 file written\n1 of them holds bfloat16, fp8 or fp4 values widened to float32"));
}

static void export_that_cannot_be_written(void **state)
{
    static struct fixture_recording f;

    (void)state;
    fixture_everything(&f);
    fixture_save(&f, "taken");
    fixture_write_text("taken/args_dump/txt", "a file where the directory should be");
    tasklens("dump taken --export");
    assert_int_equal(exit_code, 2);
    assert_non_null(strstr(message, "taken/args_dump/txt"));
    assert_int_equal(mkdir(fixture_path("taken/args_dump/npy"), 0777), 0);
    assert_int_equal(mkdir(fixture_path("taken/args_dump/npy/r0t0_before_input_arg0.npy"), 0777), 0);
    tasklens("dump taken --export npy");
    assert_int_equal(exit_code, 2);
    assert_non_null(strstr(message, "r0t0_before_input_arg0.npy"));
}

static void verify_finds_each_fault(void **state)
{
    static struct fixture_recording f;
    size_t n;
    char *bin;

    (void)state;
    expect(4, "dump --verify run"); /* it has losses, and no fault */
    golden_is(output, "dump/verify.txt");
    expect(4, "dump --verify --json run");
    golden_is(output, "dump/verify.json");
    fixture_everything(&f);
    fixture_save(&f, "told");
    fixture_write_text("told/dfx_meta.json",
                       "{\"version\": 1, \"status\": \"ok\", \"streams\": [{\"name\": \"args_dump\", "
                       "\"dropped\": {\"disk\": 1, \"host_dead\": 1}}]}");
    expect(4, "dump --verify told");
    golden_is(output, "dump/verify_told.txt");
    expect(0, "dump told");
    assert_string_equal(message, ""); /* its run ended well */
    fixture_write_text("told/dfx_meta.json", "{\"version\": 1, \"status\": \"TL_EHANG\"}");
    expect(0, "dump told");
    assert_string_equal(message, "tasklens dump: told/args_dump is of a run that failed: the device made no progress "
                                 "(TL_EHANG)\n");
    fixture_write_text("told/dfx_meta.json", "{\"version\": 1, ");
    expect(0, "dump told");
    assert_non_null(
        strstr(message, "tasklens dump: how the run ended is not known: told/args_dump/../dfx_meta.json:1: "));
    f.dropped = 0;
    fixture_save(&f, "lossy");
    expect(4, "dump --verify lossy");
    assert_null(strstr(output, " records: "));
    for (unsigned i = 0; i < 19; i++)
        f.records[i].flags &= (uint16_t)~TL_ARG_LOST;
    fixture_save(&f, "full");
    expect(0, "dump --verify full"); /* a cut payload, and one without a name for its dtype, are not lost */
    assert_non_null(strstr(output, "full/args_dump: good: 19 records"));

    bin = fixture_read("run/args_dump/args.bin", &n);
    fixture_everything(&f);
    fixture_save(&f, "flipped");
    bin[1] ^= 1;
    fixture_write("flipped/args_dump/args.bin", bin, n);
    expect(4, "dump --verify flipped");
    golden_is(output, "dump/verify_flipped.txt");
    expect(4, "dump --verify --json flipped");
    golden_is(output, "dump/verify_flipped.json");
    expect(0, "dump flipped"); /* it can be looked at */

    fixture_save(&f, "cut");
    fixture_write("cut/args_dump/args.bin", f.bin, f.bin_bytes - 1);
    expect(4, "dump --verify cut");
    assert_non_null(strstr(output, "fault: record 18 (r1t7 after_completion output arg 5): "));
    assert_non_null(strstr(output, "1 fault"));
    free(bin);
}

static void bad_usage_is_one_line(void **state)
{
    (void)state;
    refuses("", "--help");
    refuses("nothing", "no command \"nothing\"");
    refuses("--nothing", "--nothing");
    refuses("help nothing", "no command \"nothing\"");
    expect(0, "--version");
    assert_int_equal(strncmp(output, "tasklens 0.", 11), 0);
    expect(0, "--help");
    assert_non_null(strstr(output, "\n  dump "));
    expect(0, "help dump");
    golden_is(output, "dump/help.txt");
    expect(0, "dump --help");
    golden_is(output, "dump/help.txt");
    refuses("dump -x", "no option -x");
    refuses("dump --nothing=3", "no option --nothing;");
    refuses("dump --task", "--task needs a value");
    refuses("dump run -t", "--task needs a value");
    refuses("dump --json=1", "--json takes no value");
    refuses("dump -t twelve", "not \"twelve\"");
    refuses("dump -t 0x", "not \"0x\"");
    refuses("dump -t r1", "not \"r1\"");
    refuses("dump -t r1t", "not \"r1t\"");
    refuses("dump -t r1t4294967296", "not \"r1t4294967296\"");
    refuses("dump -t 18446744073709551616", "not \"18446744073709551616\"");
    refuses("dump -s middle", "before or after");
    refuses("dump -r both", "input, output or inout");
    refuses("dump -a -1", "--arg takes 0 to 4294967295, not -1");
    refuses("dump -a x", "--arg takes an integer, 0 to 4294967295, not \"x\"");
    refuses("dump -i 1x", "--index takes an integer of at least 0, not \"1x\"");
    refuses("dump --export=pdf", "--export takes one of txt, npy, not \"pdf\"");
    refuses("dump one two", "one argument too many: \"two\"");
    refuses("dump --verify -t 1", "--verify");
    refuses("dump --export --json", "--export");
}

static void a_bad_recording_is_one_line(void **state)
{
    static struct fixture_recording f;
    size_t n;
    char *manifest, *edited, *p;

    (void)state;
    refuses("dump run -i 19", "--index 19 is out of range: the recording has 19 arguments, 0 to 18");
    refuses("dump nowhere", "nowhere: no such file");
    refuses("dump out", "out is no recording");
    assert_int_equal(mkdir(fixture_path("empty"), 0777), 0);
    refuses("dump empty", "--dump-args");
    refuses("dump", "no args_dump.json in outputs/ here");
    fixture_write_text("empty/run.journal", "x");
    refuses("dump empty", "`tasklens recover empty`");

    fixture_everything(&f);
    fixture_save(&f, "bad");
    manifest = fixture_read("bad/args_dump/args_dump.json", &n);
    fixture_write("bad/args_dump/args_dump.json", manifest, n / 2);
    refuses("dump bad", "args_dump.json");
    fixture_write("bad/args_dump/args_dump.json", "", 0);
    refuses("dump bad", "args_dump.json");
    edited = strdup(manifest);
    p = strstr(edited, "\"arg_index\": 1,");
    assert_non_null(p);
    memcpy(p, "\"arg_index\": x,", 15);
    fixture_write("bad/args_dump/args_dump.json", edited, n);
    refuses("dump bad", "args_dump.json");
    free(edited);
    edited = malloc(n + 20);
    assert_non_null(edited);
    (void)snprintf(edited, n + 20, "{\n  \"version\": 99,%s", manifest + 1);
    fixture_write("bad/args_dump/args_dump.json", edited, strlen(edited));
    refuses("dump bad", "newer");
    free(edited);
    fixture_write("bad/args_dump/args_dump.json", manifest, n);
    fixture_write("bad/args_dump/args.bin", f.bin, 10);
    expect(4, "dump bad -i 18");
    assert_non_null(strstr(message, "args.bin"));
    expect(4, "dump bad");
    assert_non_null(strstr(output, "  unreadable\n"));
    assert_non_null(strstr(message, "payloads cannot be read"));
    expect(4, "dump bad --json");
    expect(0, "dump bad --no-values");
    assert_int_equal(unlink(fixture_path("bad/args_dump/args.bin")), 0);
    expect(4, "dump bad");
    assert_non_null(strstr(message, "args.bin"));
    expect(0, "dump bad --no-values");
    free(manifest);
}

/* What old files have: func_id as a number, "tensors" for "args", upper-case dtypes, payloads that were overwritten. */
static void an_old_recording_is_read(void **state)
{
    const float payload[] = {1.0f, 2.0f};

    (void)state;
    assert_int_equal(mkdir(fixture_path("old"), 0777), 0);
    fixture_write_text(
        "old/args_dump.json",
        "{\"run_dir\": \"args_dump\", \"bin_format\": {\"type\": \"logical_contiguous\", \"byte_order\": "
        "\"little_endian\"}, \"dump_args_level\": 2, \"total_args\": 1, \"before_dispatch\": 1, \"after_completion\": "
        "0, "
        "\"input_args\": 1, \"output_args\": 0, \"inout_args\": 0, \"truncated_args\": 0, \"dropped_records\": 0, "
        "\"dropped_overwrite\": 1, \"bin_file\": \"args.bin\", \"tensors\": [{\"task_id\": \"0x0000000000000003\", "
        "\"func_id\": 7, \"role\": \"input\", \"stage\": \"before_dispatch\", \"arg_index\": 0, \"kind\": \"tensor\", "
        "\"dtype\": \"FLOAT32\", \"shape\": [2], \"strides\": [1], \"start_offset\": 0, \"is_contiguous\": true, "
        "\"truncated\": false, \"overwritten\": true, \"bin_offset\": 0, \"bin_size\": 8}]}");
    fixture_write("old/args.bin", payload, sizeof(payload));
    expect(0, "dump old");
    golden_is(output, "dump/list_old.txt");
}

static void newest_of_a_tree(void **state)
{
    static struct fixture_recording f;
    const char *leaves[] = {"outputs/a_default_20261130_120000", "outputs/b_default_20261130_110000/round9",
                            "outputs/b_default_20261130_110000/round10", "outputs/b_default_20261130_110000/rank1/d0"};

    (void)state;
    fixture_everything(&f);
    for (size_t i = 0; i < 4; i++) {
        char command[600];

        fixture_save(&f, leaves[i]);
        (void)snprintf(command, sizeof(command), "touch -d '2026-01-01 00:00:0%zu' '%s/%s/args_dump/args_dump.json'",
                       i == 3 ? (size_t)0 : i, fixture_dir, leaves[i]);
        assert_int_equal(system(command), 0);
    }
    expect(0, "dump --no-values");
    assert_int_equal(strncmp(output, "outputs/b_default_20261130_110000/round10/args_dump: ", 53), 0);
    assert_string_equal(message,
                        "tasklens dump: opening the newest, outputs/b_default_20261130_110000/round10/args_dump; "
                        "also here: outputs/b_default_20261130_110000/rank1/d0/args_dump "
                        "outputs/b_default_20261130_110000/round9/args_dump\n");
    expect(0, "dump --no-values outputs/b_default_20261130_110000/rank1");
    assert_int_equal(strncmp(output, "outputs/b_default_20261130_110000/rank1/d0/args_dump: ", 54), 0);
    assert_string_equal(message, "");
}

static void output_that_cannot_be_written(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    tasklens("dump run >/dev/full 2>err; x=$?; cp err err2; exit $x #");
    assert_int_equal(exit_code, 2);
    message = slurp("err2");
    assert_non_null(strstr(message, "cannot write the output"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_golden),
        cmocka_unit_test(every_way_to_name_it),
        cmocka_unit_test(filters_choose_records),
        cmocka_unit_test(one_entry_is_shown_in_full),
        cmocka_unit_test(records_are_exported_as_text),
        cmocka_unit_test(records_are_exported_as_npy),
        cmocka_unit_test(export_that_cannot_be_written),
        cmocka_unit_test(verify_finds_each_fault),
        cmocka_unit_test(bad_usage_is_one_line),
        cmocka_unit_test(a_bad_recording_is_one_line),
        cmocka_unit_test(an_old_recording_is_read),
        cmocka_unit_test(newest_of_a_tree),
        cmocka_unit_test(output_that_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
