/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_add at every level, in both device modes, over both transports, by both runtimes: exactly the files and counts
 * of the format, and every value byte for byte, read with this file's own eyes: offsets from the manifest, bytes from
 * args.bin.
 */
#include "scene/cli.h"

#include <tasklens/recording.h>

#include "artifact/dfx_meta.h"

#define TILES 4u
#define TILE 4096u

/* What is below the test's directory `name`, one path a line, sorted by the shell. */
static char *files_below(const char *name)
{
    char command[800];

    (void)snprintf(command, sizeof(command), "cd '%s/%s' && find . ! -type d | LC_ALL=C sort >'%s/files'", fixture_dir,
                   name, fixture_dir);
    assert_int_equal(system(command), 0);
    return fixture_read("files", NULL);
}

static void expect_files(const char *dir, int level, bool bin)
{
    char *files = files_below(dir);
    char expected[300];

    (void)snprintf(expected, sizeof(expected),
                   "%s./args_dump/args_dump.json\n./dfx_meta.json\n./name_map_default.json\n./program/vector_add.so\n",
                   bin ? "./args_dump/args.bin\n" : "");
    if (strcmp(files, expected) != 0)
        fail_msg("level %d left:\n%s", level, files);
    free(files);
}

/* The payload of `r`, which must be TILE times `value`. */
static void expect_payload(const uint8_t *bin, size_t bin_bytes, const struct tl_dump_record *r, float value)
{
    assert_int_equal(r->bin_size, TILE * sizeof(float));
    assert_true(r->bin_offset + r->bin_size <= bin_bytes);
    for (uint32_t i = 0; i < TILE; i++) {
        float got;

        memcpy(&got, bin + r->bin_offset + i * sizeof(float), sizeof(got));
        assert_memory_equal(&got, &value, sizeof(got));
    }
}

static void expect_tensor(const struct tl_dump_record *r, uint32_t arg, uint64_t tile, int role, int stage)
{
    assert_int_equal(r->arg_index, arg);
    assert_int_equal(r->kind, TL_KIND_TENSOR);
    assert_int_equal(r->role, role);
    assert_int_equal(r->stage, stage);
    assert_int_equal(r->dtype, TL_FLOAT32);
    assert_int_equal(r->rank, 1);
    assert_int_equal(r->shape[0], TILE);
    assert_int_equal(r->strides[0], 1);
    assert_int_equal(r->start_offset, tile * TILE);
    assert_int_equal(r->func_count, 1);
    assert_int_equal(r->func_id[0], 0);
    assert_true(r->flags & TL_ARG_CONTIGUOUS);
}

static void expect_scalar(const struct tl_dump_record *r)
{
    const float one = 1.0f;

    assert_int_equal(r->arg_index, 4);
    assert_int_equal(r->kind, TL_KIND_SCALAR);
    assert_int_equal(r->stage, TL_STAGE_BEFORE);
    assert_int_equal(r->role, TL_ROLE_INPUT);
    assert_int_equal(r->dtype, TL_FLOAT32);
    assert_int_equal(r->bin_size, 0);
    assert_memory_equal(&r->value_bits, &one, sizeof(one));
}

/* The values by argument: x, y, the all-zero bias, z. Marked are x, z and the scalar. */
static void expect_records(const char *dir, int level)
{
    static const float values[4] = {2.0f, 3.0f, 0.0f, 5.0f};
    static const bool marked[4] = {true, false, false, true};
    const struct tl_dump_record *r;
    struct tl_recording *reader;
    struct tl_error err;
    char name[96];
    size_t bin_bytes;
    uint8_t *bin;

    (void)snprintf(name, sizeof(name), "%s/args_dump", dir);
    if (tl_recording_open(fixture_path(name), &reader, &err) != 0)
        fail_msg("%s", err.msg);
    (void)snprintf(name, sizeof(name), "%s/args_dump/args.bin", dir);
    bin = (uint8_t *)fixture_read(name, &bin_bytes);
    assert_int_equal(tl_recording_count(reader), TILES * (level == 1 ? 3 : 5));
    assert_int_equal(bin_bytes, TILES * (level == 2 ? 4 : 2) * TILE * sizeof(float));
    assert_int_equal(tl_recording_summary(reader)->level, level);
    assert_int_equal(tl_recording_summary(reader)->dropped_records, 0);
    r = tl_recording_at(reader, 0);
    /* Before dispatch: x, y, bias, scale; after completion: z. Level 1 leaves y and bias out. */
    for (uint64_t tile = 0; tile < TILES; tile++) {
        for (uint32_t arg = 0; arg < 4; arg++) {
            const struct tl_dump_record *at;

            if (level == 1 && !marked[arg])
                continue;
            if (arg == 3)
                expect_scalar(r++);
            at = r++;
            assert_int_equal(at->task_id, tile);
            expect_tensor(at, arg, tile, arg == 3 ? TL_ROLE_OUTPUT : TL_ROLE_INPUT,
                          arg == 3 ? TL_STAGE_AFTER : TL_STAGE_BEFORE);
            if (level == 2 || marked[arg])
                expect_payload(bin, bin_bytes, at, values[arg]);
            else
                assert_int_equal(at->bin_size, 0);
        }
    }
    tl_recording_close(reader);
    free(bin);
}

/* The independent reader, where it is. */
static void expect_python_agrees(const char *dir, int level)
{
    const char *script = fixture_shared("tools/manifest.py");
    char command[1600];

    if (script == NULL || system("command -v python3 >/dev/null") != 0)
        return;
    (void)snprintf(command, sizeof(command), "python3 '%s' '%s/%s/args_dump' %d >'%s/py' 2>&1", script, fixture_dir,
                   dir, level, fixture_dir);
    if (system(command) != 0)
        fail_msg("manifest.py: %s", fixture_read("py", NULL));
}

static void expect_meta(const char *dir, int level)
{
    static struct tl_meta meta;

    assert_int_equal(tl__meta_read(fixture_path(dir), &meta, NULL), 0);
    assert_string_equal(meta.program, "vector_add");
    assert_string_equal(meta.case_name, "default");
    assert_string_equal(meta.status, "ok");
    assert_memory_equal(meta.program_hash, "xxh3:", 5);
    assert_int_equal(meta.level, level);
    assert_int_equal(meta.tasks, TILES);
    assert_int_equal(meta.stream_count, 1);
    assert_int_equal(meta.streams[0].attempted, TILES * (level == 1 ? 3 : 5));
    assert_int_equal(meta.streams[0].collected, meta.streams[0].attempted);
}

static void run_level(const char *mode, const char *transport, const char *runtime, int level)
{
    char words[400], dir[64], last[80];

    (void)snprintf(dir, sizeof(dir), "%c-%c-%c-%d", mode[0], transport[0], runtime[0], level);
    (void)snprintf(words, sizeof(words),
                   "run vector_add --device-mode %s --transport %s --runtime %s --dump-args %d --out %s", mode,
                   transport, runtime, level, dir);
    expect(0, words);
    assert_string_equal(message, "");
    assert_non_null(strstr(output, "16384 float32 agree with the golden"));
    if (level == 0) {
        assert_int_equal(access(fixture_path(dir), F_OK), -1);
        return;
    }
    (void)snprintf(last, sizeof(last), "\n%s\n", dir);
    assert_string_equal(output + strlen(output) - strlen(last), last);
    expect_files(dir, level, true);
    expect_records(dir, level);
    expect_python_agrees(dir, level);
    expect_meta(dir, level);
    (void)snprintf(words, sizeof(words), "dump --verify %s", dir);
    expect(0, words);
}

static void run_levels(const char *mode, const char *transport)
{
    for (int level = 0; level <= 3; level++) {
        run_level(mode, transport, "tensormap_and_ringbuffer", level);
        run_level(mode, transport, "host_build_graph", level);
    }
}

static void each_level_records_its_share_process_mapped(void **state)
{
    (void)state;
    run_levels("process", "mapped");
}

static void each_level_records_its_share_process_copy(void **state)
{
    (void)state;
    run_levels("process", "copy");
}

static void each_level_records_its_share_thread_mapped(void **state)
{
    (void)state;
    run_levels("thread", "mapped");
}

static void each_level_records_its_share_thread_copy(void **state)
{
    (void)state;
    run_levels("thread", "copy");
}

/* Level 1 with nothing marked: no manifest, and a line that says why. Level 3: a manifest without payload file. */
static void nothing_marked_leaves_no_manifest(void **state)
{
    char *files;

    (void)state;
    expect(0, "run chain --dump-args --out unmarked");
    files = files_below("unmarked");
    assert_null(strstr(files, "args_dump"));
    assert_null(strstr(files, "run.journal"));
    free(files);
    expect(0, "run chain --dump-args 3 --out plain");
    files = files_below("plain");
    assert_non_null(strstr(files, "args_dump/args_dump.json"));
    assert_null(strstr(files, "args.bin"));
    free(files);
    expect_python_agrees("plain", 3);
}

static void rounds_have_a_directory_each(void **state)
{
    (void)state;
    expect(0, "run vector_add --rounds 3 --dump-args 2 --out many");
    assert_string_equal(message, "");
    for (int i = 0; i < 3; i++) {
        char dir[32];

        (void)snprintf(dir, sizeof(dir), "many/round%d", i);
        expect_files(dir, 2, true);
        expect_records(dir, 2);
    }
}

/* The last line of what was printed, without its end; free it. */
static char *last_line(void)
{
    char *text = strdup(output), *line;

    assert_non_null(text);
    text[strlen(text) - 1] = '\0';
    line = strdup(strrchr(text, '\n') + 1);
    free(text);
    return line;
}

/* The default directory's name, and that two runs of one second do not share it. */
static void a_run_names_its_own_directory(void **state)
{
    char *first, *second;

    (void)state;
    expect(0, "run vector_add --case whole --dump-args 2");
    first = last_line();
    assert_memory_equal(first, "outputs/vector_add_whole_20", 27);
    expect(0, "run vector_add --case whole --dump-args 2");
    second = last_line();
    assert_string_not_equal(first, second);
    assert_int_equal(access(fixture_path(first), F_OK), 0);
    assert_int_equal(access(fixture_path(second), F_OK), 0);
    free(first);
    free(second);
}

/* What is named to be typed next can be typed, whatever the directory is called. */
static void a_directory_of_several_words(void **state)
{
    (void)state;
    expect(0, "run vector_add --dump-args 2 --out \"two words/it's\"");
    assert_non_null(strstr(output, "  next       tasklens dump 'two words/it'\\''s'\n"));
    assert_non_null(strstr(output, "\ntwo words/it's\n"));
    expect(0, "dump 'two words/it'\\''s'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_of_several_words),
        cmocka_unit_test(each_level_records_its_share_process_mapped),
        cmocka_unit_test(each_level_records_its_share_process_copy),
        cmocka_unit_test(each_level_records_its_share_thread_mapped),
        cmocka_unit_test(each_level_records_its_share_thread_copy),
        cmocka_unit_test(nothing_marked_leaves_no_manifest),
        cmocka_unit_test(rounds_have_a_directory_each),
        cmocka_unit_test(a_run_names_its_own_directory),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
