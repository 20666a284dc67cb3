/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a manifest and getting the same records back; what the text looks like. */
#include "unit/artifact_fixture.h"

#include <math.h>

#include "artifact/args_dump.h"
#include "artifact/dump_value.h"
#include "tensor/convert.h"

static struct tl_dump_record tensor_record(uint64_t task, unsigned arg, unsigned stage, unsigned role)
{
    struct tl_dump_record r;

    tl__dump_record_init(&r);
    r.task_id = task;
    r.arg_index = arg;
    r.stage = (uint8_t)stage;
    r.role = (uint8_t)role;
    r.dtype = TL_FLOAT32;
    r.rank = 2;
    r.shape[0] = 2;
    r.shape[1] = 3;
    r.strides[0] = 3;
    r.strides[1] = 1;
    r.bin_size = 24;
    return r;
}

static struct tl_dump_record scalar_record(uint64_t task, unsigned arg, unsigned dtype, uint64_t bits)
{
    struct tl_dump_record r;

    tl__dump_record_init(&r);
    r.task_id = task;
    r.arg_index = arg;
    r.kind = TL_KIND_SCALAR;
    r.dtype = (uint8_t)dtype;
    r.value_bits = bits;
    return r;
}

static void names_and_sizes_are_those_of_the_format(void **state)
{
    struct tl_dump_record r = tensor_record(0, 0, 0, 0);

    (void)state;
    assert_string_equal(tl_stage_name(TL_STAGE_BEFORE), "before_dispatch");
    assert_string_equal(tl_stage_name(TL_STAGE_AFTER), "after_completion");
    assert_string_equal(tl_stage_name(2), "unknown");
    assert_string_equal(tl_role_name(TL_ROLE_INOUT), "inout");
    assert_string_equal(tl_role_name(3), "unknown");
    assert_string_equal(tl_kind_name(TL_KIND_SCALAR), "scalar");
    assert_string_equal(tl_kind_name(2), "unknown");
    assert_string_equal(tl_dump_cause_name(TL_DUMP_CAUSE_DISK), "disk");
    assert_string_equal(tl_dump_cause_name(TL_DUMP_CAUSE_BAD_VIEW), "bad_view");
    assert_string_equal(tl_dump_cause_name(99), "unknown");

    assert_int_equal(tl__dump_payload_bytes(&r), 24);
    r.dtype = TL_FP4E2M1;
    r.shape[1] = 1;
    r.shape[0] = 7;
    assert_int_equal(tl__dump_payload_bytes(&r), 4);
    r.shape[0] = 0;
    assert_int_equal(tl__dump_payload_bytes(&r), 0);
    r.rank = 0;
    r.dtype = TL_INT64;
    assert_int_equal(tl__dump_payload_bytes(&r), 8);
    r.rank = 6;
    assert_int_equal(tl__dump_payload_bytes(&r), 0);
    r.rank = 5;
    for (unsigned d = 0; d < 5; d++)
        r.shape[d] = UINT32_MAX;
    assert_true(tl__dump_payload_bytes(&r) == UINT64_MAX);
    r.shape[2] = 0;
    assert_int_equal(tl__dump_payload_bytes(&r), 0);
    r.dtype = TL_DTYPE_UNKNOWN;
    assert_int_equal(tl__dump_payload_bytes(&r), 0);
}

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static void sort_is_the_order_and_stable(void **state)
{
    enum { N = 5000 };
    struct tl_dump_record *r = calloc(N, sizeof(*r));
    uint64_t x = 12345;
    uint8_t *seen = calloc(N, 1);

    (void)state;
    assert_non_null(r);
    assert_non_null(seen);
    for (unsigned i = 0; i < N; i++) {
        r[i] = tensor_record(next_random(&x) % 7 << 32 | next_random(&x) % 50, (unsigned)(next_random(&x) % 4) * 300,
                             (unsigned)(next_random(&x) % 2), (unsigned)(next_random(&x) % 3));
        r[i].bin_offset = i;
    }
    r[17].task_id = UINT64_MAX;
    r[18].arg_index = UINT32_MAX;
    assert_int_equal(tl__dump_sort(r, N), 0);
    for (unsigned i = 0; i < N; i++) {
        assert_false(seen[r[i].bin_offset]);
        seen[r[i].bin_offset] = 1;
        if (i == 0)
            continue;
        int order = tl__dump_compare(&r[i - 1], &r[i]);
        assert_true(order < 0 || (order == 0 && r[i - 1].bin_offset < r[i].bin_offset));
    }
    assert_true(r[N - 1].task_id == UINT64_MAX);
    assert_int_equal(tl__dump_sort(r, 0), 0);
    assert_int_equal(tl__dump_sort(r, 1), 0);
    assert_int_equal(tl__dump_sort(r, N), 0);
    free(r);
    free(seen);
}

static void compare_goes_by_each_key_in_turn(void **state)
{
    struct tl_dump_record a = tensor_record(5, 5, 0, 1), b = a;

    (void)state;
    assert_int_equal(tl__dump_compare(&a, &b), 0);
    b.role = 2;
    assert_true(tl__dump_compare(&a, &b) < 0);
    b.arg_index = 4;
    assert_true(tl__dump_compare(&a, &b) > 0);
    b.stage = 1;
    assert_true(tl__dump_compare(&a, &b) < 0);
    b.task_id = 4;
    assert_true(tl__dump_compare(&a, &b) > 0);
}

static void text_is_the_format(void **state)
{
    struct tl_dump_record r[2] = {tensor_record(0x200000a00, 0, 0, 0),
                                  scalar_record(0x200000a00, 1, TL_UINT64, UINT64_MAX)};
    struct tl_dump_summary s = {.level = 2, .bin_file = "args.bin", .dropped_records = 7};
    struct tl_error err = {0};
    char *text;

    (void)state;
    r[0].func_id[0] = 0;
    r[0].func_id[1] = 4;
    r[0].func_count = 2;
    r[0].start_offset = 9;
    r[0].hash = 0xabcdef;
    r[0].flags |= TL_ARG_HAS_HASH;
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, r, 2, &err), 0);
    text = fixture_read(TL_DUMP_MANIFEST_NAME, NULL);
    assert_string_equal(
        text, "{\n"
              "  \"run_dir\": \"args_dump\",\n"
              "  \"bin_format\": {\n"
              "    \"type\": \"logical_contiguous\",\n"
              "    \"byte_order\": \"little_endian\"\n"
              "  },\n"
              "  \"version\": 1,\n"
              "  \"dump_args_level\": 2,\n"
              "  \"total_args\": 2,\n"
              "  \"before_dispatch\": 2,\n"
              "  \"after_completion\": 0,\n"
              "  \"input_args\": 2,\n"
              "  \"output_args\": 0,\n"
              "  \"inout_args\": 0,\n"
              "  \"truncated_args\": 0,\n"
              "  \"dropped_records\": 7,\n"
              "  \"bin_file\": \"args.bin\",\n"
              "  \"args\": [\n"
              "    {\"task_id\": \"0x0000000200000a00\", \"func_id\": [0, 4], \"role\": \"input\", \"stage\": "
              "\"before_dispatch\", \"arg_index\": 0, \"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [2, 3], "
              "\"strides\": [3, 1], \"start_offset\": 9, \"is_contiguous\": true, \"truncated\": false, "
              "\"bin_offset\": 0, \"bin_size\": 24, \"hash\": \"xxh3:0000000000abcdef\"},\n"
              "    {\"task_id\": \"0x0000000200000a00\", \"func_id\": [-1], \"role\": \"input\", \"stage\": "
              "\"before_dispatch\", \"arg_index\": 1, \"kind\": \"scalar\", \"dtype\": \"uint64\", "
              "\"value\": 18446744073709551615, \"shape\": [], \"strides\": [], \"start_offset\": 0, "
              "\"is_contiguous\": true, \"truncated\": false, \"bin_offset\": 0, \"bin_size\": 0}\n"
              "  ]\n"
              "}\n");
    free(text);
    assert_false(fixture_has_temporary());
}

static void level_3_without_payload_is_null(void **state)
{
    struct tl_dump_record r = tensor_record(1, 0, 0, 0);
    struct tl_dump_summary s = {.level = 3};
    struct tl_dump_reader *reader = NULL;
    struct tl_error err = {0};
    const void *data = &r;
    char *text;

    (void)state;
    r.bin_size = 0;
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, &r, 1, &err), 0);
    text = fixture_read(TL_DUMP_MANIFEST_NAME, NULL);
    assert_non_null(strstr(text, "\"bin_file\": null,\n"));
    free(text);
    assert_int_equal(tl__dump_open(fixture_dir, &reader, &err), 0);
    assert_string_equal(tl__dump_summary(reader)->bin_file, "");
    assert_int_equal(tl__dump_summary(reader)->level, 3);
    assert_int_equal(tl__dump_payload(reader, tl__dump_records(reader), &data, &err), 0);
    assert_null(data);
    tl__dump_close(reader);
    /* No record at all is a manifest too. */
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, NULL, 0, &err), 0);
    assert_int_equal(tl__dump_open(fixture_dir, &reader, &err), 0);
    assert_int_equal(tl__dump_record_count(reader), 0);
    tl__dump_close(reader);
}

static void every_field_comes_back(void **state)
{
    enum { N = 40 };
    static const uint16_t flags[] = {TL_ARG_TRUNCATED,   TL_ARG_AMBIGUOUS,   TL_ARG_PARTIAL,
                                     TL_ARG_LOST,        TL_ARG_UNSUPPORTED, TL_ARG_MISMATCH,
                                     TL_ARG_OVERWRITTEN, TL_ARG_MARKED,      TL_ARG_HAS_HASH};
    struct tl_dump_record r[N];
    struct tl_dump_summary s = {.level = 1, .bin_file = "args.bin", .run_dir = "a \"b\" \\ c", .dropped_overwrite = 3};
    struct tl_dump_reader *reader = NULL;
    struct tl_error err = {0};

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        r[i] = tensor_record(UINT64_MAX - 1, i, i >= 20, i % 3);
        r[i].dtype = (uint8_t)(i % TL_DTYPE_COUNT);
        r[i].rank = (uint8_t)(i % 6);
        for (unsigned d = 0; d < TL_MAX_DIMS; d++) {
            r[i].shape[d] = d < r[i].rank ? UINT32_MAX - d - i : 0;
            r[i].strides[d] = d < r[i].rank ? UINT64_MAX - d - i : 0;
        }
        r[i].start_offset = UINT64_MAX - i;
        r[i].bin_offset = UINT64_MAX - 100 - i;
        r[i].bin_size = UINT64_MAX;
        r[i].arg_index = UINT32_MAX - N + i;
        r[i].func_count = (uint8_t)(1 + i % 3);
        for (unsigned f = 0; f < r[i].func_count; f++)
            r[i].func_id[f] = f == 0 ? INT32_MAX : (int32_t)(i + f);
        r[i].flags = (uint16_t)(i % 2 ? TL_ARG_CONTIGUOUS : 0);
        if (i < 9)
            r[i].flags |= flags[i];
        r[i].hash = (r[i].flags & TL_ARG_HAS_HASH) != 0 ? UINT64_MAX - i : 0;
        r[i].cause = i == 3 ? TL_DUMP_CAUSE_HOST_DEAD : i == 10 ? TL_DUMP_CAUSE_OTHER : 0;
    }
    r[11].dtype = TL_DTYPE_UNKNOWN;
    r[12].rank = 6;
    r[12].flags |= TL_ARG_UNSUPPORTED;
    memset(r[12].shape, 0, sizeof(r[12].shape));
    memset(r[12].strides, 0, sizeof(r[12].strides));
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, r, N, &err), 0);
    assert_int_equal(tl__dump_open(fixture_dir, &reader, &err), 0);
    assert_int_equal(tl__dump_record_count(reader), N);
    for (unsigned i = 0; i < N; i++)
        assert_memory_equal(&tl__dump_records(reader)[i], &r[i], sizeof(r[i]));
    assert_string_equal(tl__dump_summary(reader)->run_dir, s.run_dir);
    assert_int_equal(tl__dump_summary(reader)->total_args, N);
    assert_int_equal(tl__dump_summary(reader)->before_dispatch, 20);
    assert_int_equal(tl__dump_summary(reader)->after_completion, 20);
    assert_int_equal(tl__dump_summary(reader)->input_args, 14);
    assert_int_equal(tl__dump_summary(reader)->output_args, 13);
    assert_int_equal(tl__dump_summary(reader)->inout_args, 13);
    assert_int_equal(tl__dump_summary(reader)->truncated_args, 1);
    assert_int_equal(tl__dump_summary(reader)->dropped_overwrite, 3);
    tl__dump_close(reader);
}

/* Bits through text and back, as the writer and the reader do it. */
static uint64_t through_text(unsigned dtype, uint64_t bits)
{
    char text[64];
    size_t n = tl__dump_value_text(text, dtype, bits);
    enum tl_value_form form = TL_VALUE_NUMBER;
    const char *body = text;
    uint64_t back = ~bits;

    text[n] = 0;
    if (text[0] == '"') {
        form = TL_VALUE_STRING;
        text[n - 1] = 0;
        body++;
    } else if (text[0] == 't' || text[0] == 'f') {
        form = text[0] == 't' ? TL_VALUE_TRUE : TL_VALUE_FALSE;
    }
    assert_int_equal(tl__dump_value_parse(dtype, form, body, &back), 0);
    return back;
}

static void scalars_are_exact(void **state)
{
    static const unsigned small[] = {TL_FLOAT16, TL_BFLOAT16, TL_FP8E4M3FN, TL_FP8E8M0, TL_FP4E2M1,
                                     TL_INT8,    TL_UINT8,    TL_INT16,     TL_UINT16,  TL_BOOL};
    uint64_t x = 99;

    (void)state;
    for (unsigned k = 0; k < sizeof(small) / sizeof(small[0]); k++) {
        unsigned dtype = small[k], codes = 1u << tl_dtype_bits(dtype);

        for (unsigned code = 0; code < codes; code++) {
            float before = 0, after = 0;
            uint64_t bits = code, back = through_text(dtype, code);

            if (bits == back)
                continue;
            /* Only a NaN may change its code, and stays one. */
            assert_int_equal(tl__to_f32(dtype, &bits, 0, 1, &before), 0);
            assert_int_equal(tl__to_f32(dtype, &back, 0, 1, &after), 0);
            assert_true(isnan(before) && isnan(after));
        }
    }
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t bits = next_random(&x), word = bits & 0xffffffff;

        if (!isnan(tl__f32_of_bits((uint32_t)word)))
            assert_true(through_text(TL_FLOAT32, word) == word);
        if (i % 16 != 0)
            continue;
        assert_true(through_text(TL_INT32, word) == word);
        assert_true(through_text(TL_UINT32, word) == word);
        assert_true(through_text(TL_INT64, bits) == bits);
        assert_true(through_text(TL_UINT64, bits) == bits);
        assert_true(through_text(TL_DTYPE_UNKNOWN, bits) == bits);
    }
    assert_true(isnan(tl__f32_of_bits((uint32_t)through_text(TL_FLOAT32, 0x7fc00001))));
    assert_true(through_text(TL_FLOAT32, 0x80000000) == 0x80000000);
    assert_true(through_text(TL_FLOAT32, 1) == 1);
    assert_true(through_text(TL_FLOAT32, 0xff800000) == 0xff800000);
    assert_true(through_text(TL_INT64, 1ull << 63) == 1ull << 63);
    assert_true(through_text(TL_INT64, (1ull << 53) + 1) == (1ull << 53) + 1);
}

static void values_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        unsigned dtype;
        enum tl_value_form form;
        const char *text;
    } bad[] = {
        {TL_INT8, TL_VALUE_NUMBER, "128"},
        {TL_INT8, TL_VALUE_NUMBER, "-129"},
        {TL_UINT8, TL_VALUE_NUMBER, "-1"},
        {TL_UINT8, TL_VALUE_NUMBER, "256"},
        {TL_INT32, TL_VALUE_NUMBER, "1.5"},
        {TL_INT32, TL_VALUE_NUMBER, ""},
        {TL_INT32, TL_VALUE_NUMBER, "-"},
        {TL_INT64, TL_VALUE_NUMBER, "9223372036854775808"},
        {TL_UINT64, TL_VALUE_NUMBER, "18446744073709551616"},
        {TL_INT32, TL_VALUE_TRUE, ""},
        {TL_FLOAT32, TL_VALUE_TRUE, ""},
        {TL_FLOAT32, TL_VALUE_STRING, "one"},
        {TL_FLOAT32, TL_VALUE_STRING, ""},
        {TL_FLOAT32, TL_VALUE_NUMBER, ""},
        {TL_FLOAT32, TL_VALUE_NUMBER, "."},
        {TL_FLOAT32, TL_VALUE_NUMBER, "1e"},
        {TL_FLOAT32, TL_VALUE_NUMBER, "1x"},
        {TL_BOOL, TL_VALUE_STRING, "true"},
    };
    uint64_t bits = 42;

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(tl__dump_value_parse(bad[i].dtype, bad[i].form, bad[i].text, &bits), TL_EPARSE);
    assert_int_equal(bits, 42);
    assert_int_equal(tl__dump_value_parse(TL_FLOAT32, TL_VALUE_STRING, "-infinity", &bits), 0);
    assert_int_equal(bits, 0xff800000);
    assert_int_equal(tl__dump_value_parse(TL_FLOAT32, TL_VALUE_NUMBER, "1e999", &bits), 0);
    assert_int_equal(bits, 0x7f800000);
    assert_int_equal(tl__dump_value_parse(TL_FLOAT32, TL_VALUE_NUMBER, "1e-99999999999999999999", &bits), 0);
    assert_int_equal(bits, 0);
    assert_int_equal(tl__dump_value_parse(TL_BOOL, TL_VALUE_NUMBER, "3", &bits), 0);
    assert_int_equal(bits, 3);
    assert_int_equal(tl__dump_value_parse(TL_UINT64, TL_VALUE_STRING, "18446744073709551615", &bits), 0);
    assert_true(bits == UINT64_MAX);
    assert_int_equal(tl__dump_value_parse(TL_DTYPE_UNKNOWN, TL_VALUE_NUMBER, "1.5", &bits), 0);
}

static void impossible_records_are_not_written(void **state)
{
    struct tl_dump_summary s = {.level = 2, .bin_file = "args.bin"};
    struct tl_dump_record good = tensor_record(1, 0, 0, 0), r[3];
    struct tl_error err = {0};
    struct tl_dump_summary no_bin = {.level = 3};

    (void)state;
#define REFUSED(change, summary)                                                                                       \
    do {                                                                                                               \
        r[0] = r[1] = r[2] = good;                                                                                     \
        change;                                                                                                        \
        assert_int_equal(tl__dump_write_manifest(fixture_dir, summary, r, 3, &err), TL_EINVAL);                        \
        assert_int_equal(err.offset, 1);                                                                               \
        assert_int_equal(access(fixture_path(TL_DUMP_MANIFEST_NAME), F_OK), -1);                                       \
        assert_false(fixture_has_temporary());                                                                         \
    } while (0)
    REFUSED(r[1].task_id = 0, &s);
    REFUSED(r[1].func_count = 0, &s);
    REFUSED(r[1].func_count = 4, &s);
    REFUSED(r[1].stage = 2, &s);
    REFUSED(r[1].role = 3, &s);
    REFUSED(r[1].kind = 2, &s);
    REFUSED(r[1].cause = 200, &s);
    REFUSED(r[1] = scalar_record(1, 0, TL_INT8, 0); r[1].bin_size = 1, &s);
    REFUSED(r[0].bin_size = 0, &no_bin);
#undef REFUSED
    assert_int_equal(tl__dump_write_manifest("/nonexistent/dir", &s, r, 0, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/dir/args_dump.json"));
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    struct tl_dump_summary s = {.level = 2, .bin_file = "args.bin"};
    struct tl_dump_record r = tensor_record(1, 0, 0, 0);
    struct tl_error err = {0};
    char *text;

    (void)state;
    fixture_write_text(TL_DUMP_MANIFEST_NAME, "old");
    r.role = 9;
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, &r, 1, &err), TL_EINVAL);
    text = fixture_read(TL_DUMP_MANIFEST_NAME, NULL);
    assert_string_equal(text, "old");
    free(text);
}

/* A reader in another language, which shares no code with ours, finds nothing wrong. */
static void another_reader_agrees(void **state)
{
    const char *shared = fixture_shared("tools/manifest.py");
    struct tl_dump_record r[8];
    struct tl_dump_summary s = {.level = 2, .bin_file = "args.bin"};
    struct tl_error err = {0};
    static const uint8_t bin[200] = {1};
    char command[2048];

    (void)state;
    if (system("python3 -c '' >/dev/null 2>&1") != 0)
        skip();
    for (unsigned i = 0; i < 5; i++) {
        r[i] = tensor_record(i / 2, i, 0, i % 3);
        r[i].bin_offset = 24 * i;
    }
    r[4].dtype = TL_FP4E2M1;
    r[4].bin_size = 3;
    r[5] = scalar_record(2, 5, TL_FLOAT32, 0x7fc00000);
    r[6] = scalar_record(2, 6, TL_INT64, 1ull << 63);
    r[7] = tensor_record(3, 0, 1, 1);
    r[7].flags |= TL_ARG_TRUNCATED;
    r[7].bin_size = 12;
    fixture_write("args.bin", bin, sizeof(bin));
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, r, 8, &err), 0);
    (void)snprintf(command, sizeof(command), "python3 '%s/tests/fixtures/read_manifest.py' '%s' 2", TL_TEST_SOURCE_DIR,
                   fixture_dir);
    assert_int_equal(system(command), 0);
    if (shared == NULL)
        return;
    (void)snprintf(command, sizeof(command), "python3 '%s' '%s' 2 >/dev/null", shared, fixture_dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes_are_those_of_the_format),
        cmocka_unit_test(sort_is_the_order_and_stable),
        cmocka_unit_test(compare_goes_by_each_key_in_turn),
        cmocka_unit_test_setup_teardown(text_is_the_format, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(level_3_without_payload_is_null, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(every_field_comes_back, fixture_setup, fixture_teardown),
        cmocka_unit_test(scalars_are_exact),
        cmocka_unit_test(values_that_do_not_fit_are_refused),
        cmocka_unit_test_setup_teardown(impossible_records_are_not_written, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(another_reader_agrees, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
