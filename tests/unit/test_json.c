/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <yajl/yajl_tree.h>

#include "base/env.h"
#include "base/error.h"
#include "base/json.h"

static void assert_text(struct tl_json *json, const char *expected)
{
    size_t bytes = 0;
    const char *text = tl__json_text(json, &bytes);

    assert_non_null(text);
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(text, expected, bytes);
    assert_int_equal(tl__json_finish(json), 0);
}

static void block_at_the_top_one_line_a_record(void **state)
{
    struct tl_json json;

    (void)state;
    tl__json_init(&json, NULL, NULL);
    tl__json_object_begin(&json, TL_JSON_BLOCK);
    tl__json_key(&json, "total");
    tl__json_u64(&json, 2);
    tl__json_key(&json, "args");
    tl__json_array_begin(&json, TL_JSON_BLOCK);
    for (unsigned i = 0; i < 2; i++) {
        tl__json_object_begin(&json, TL_JSON_LINE);
        tl__json_key(&json, "task_id");
        tl__json_hex_string(&json, 0x200000a00 + i, 16);
        tl__json_key(&json, "shape");
        tl__json_array_begin(&json, TL_JSON_BLOCK); /* inside a line: a line all the same */
        tl__json_i64(&json, 16);
        tl__json_i64(&json, -1);
        tl__json_array_end(&json);
        tl__json_object_end(&json);
    }
    tl__json_array_end(&json);
    tl__json_key(&json, "none");
    tl__json_array_begin(&json, TL_JSON_BLOCK);
    tl__json_array_end(&json);
    tl__json_key(&json, "empty");
    tl__json_object_begin(&json, TL_JSON_LINE);
    tl__json_object_end(&json);
    tl__json_object_end(&json);
    tl__json_newline(&json);
    assert_text(&json, "{\n"
                       "  \"total\": 2,\n"
                       "  \"args\": [\n"
                       "    {\"task_id\": \"0x0000000200000a00\", \"shape\": [16, -1]},\n"
                       "    {\"task_id\": \"0x0000000200000a01\", \"shape\": [16, -1]}\n"
                       "  ],\n"
                       "  \"none\": [],\n"
                       "  \"empty\": {}\n"
                       "}\n");
}

static void every_kind_of_value(void **state)
{
    struct tl_json json;

    (void)state;
    tl__json_init(&json, NULL, NULL);
    tl__json_array_begin(&json, TL_JSON_LINE);
    tl__json_u64(&json, UINT64_MAX);
    tl__json_i64(&json, INT64_MIN);
    tl__json_u64_string(&json, UINT64_MAX);
    tl__json_hex_string(&json, 255, 4);
    tl__json_f32(&json, 0.1F);
    tl__json_f64(&json, 0.1);
    tl__json_f64(&json, -0.0);
    tl__json_f32(&json, NAN);
    tl__json_f64(&json, (double)INFINITY);
    tl__json_f32(&json, -INFINITY);
    tl__json_bool(&json, true);
    tl__json_bool(&json, false);
    tl__json_null(&json);
    tl__json_string(&json, NULL);
    tl__json_raw(&json, "{ }", 3);
    tl__json_array_end(&json);
    assert_text(&json, "[18446744073709551615, -9223372036854775808, \"18446744073709551615\", \"0x00ff\", 0.1, 0.1, "
                       "-0.0, \"NaN\", \"Infinity\", \"-Infinity\", true, false, null, null, { }]");
}

static void several_documents_are_written_as_lines(void **state)
{
    struct tl_json json;

    (void)state;
    tl__json_init(&json, NULL, NULL);
    for (unsigned i = 0; i < 2; i++) {
        tl__json_object_begin(&json, TL_JSON_LINE);
        tl__json_key(&json, "n");
        tl__json_u64(&json, i);
        tl__json_object_end(&json);
        tl__json_newline(&json);
    }
    assert_text(&json, "{\"n\": 0}\n{\"n\": 1}\n");
}

static void check_string(const char *text, size_t bytes, const char *expected)
{
    struct tl_json json;

    tl__json_init(&json, NULL, NULL);
    tl__json_string_bytes(&json, text, bytes);
    assert_text(&json, expected);
}

static void strings_are_escaped(void **state)
{
    static const char all[] = "a\"b\\c/\b\f\n\r\t\x01\x1f\x7f";
    struct tl_json json;

    (void)state;
    check_string("", 0, "\"\"");
    check_string(all, sizeof(all) - 1, "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"");
    check_string("a\0b", 3, "\"a\\u0000b\"");
    tl__json_init(&json, NULL, NULL);
    tl__json_object_begin(&json, TL_JSON_LINE);
    tl__json_key_string(&json, "a\"\n");
    tl__json_string(&json, "x\n");
    tl__json_key_string(&json, "b");
    tl__json_null(&json);
    tl__json_object_end(&json);
    assert_text(&json, "{\"a\\\"\\n\": \"x\\n\", \"b\": null}");
}

#define BAD "\xEF\xBF\xBD"

static void a_byte_that_is_no_utf8_is_replaced_and_keeps_its_number(void **state)
{
    static const char good[] = "\xC2\xA2\xE2\x82\xAC\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x8D\x88\xF4\x8F\xBF\xBF";
    char quoted[64];

    (void)state;
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", good);
    check_string(good, sizeof(good) - 1, quoted);
    check_string("a\x80z", 3, "\"a" BAD "80z\"");
    check_string("\xFF\xFE", 2, "\"" BAD "ff" BAD "fe\"");
    check_string("\xC0\x80", 2, "\"" BAD "c0" BAD "80\"");                           /* overlong */
    check_string("\xE0\x9F\xBF", 3, "\"" BAD "e0" BAD "9f" BAD "bf\"");              /* overlong */
    check_string("\xED\xA0\x80", 3, "\"" BAD "ed" BAD "a0" BAD "80\"");              /* surrogate */
    check_string("\xF4\x90\x80\x80", 4, "\"" BAD "f4" BAD "90" BAD "80" BAD "80\""); /* beyond U+10FFFF */
    check_string("\xE2\x82", 2, "\"" BAD "e2" BAD "82\"");                           /* cut */
    check_string("\x7F\xC2\x9B\xE2\x80\xAE\xF3\xA0\x81\x81", 10, "\"\\u007f\\u009b\\u202e\\udb40\\udc41\"");
    check_string("\xE2\x82z", 3, "\"" BAD "e2" BAD "82z\"");
}

struct file {
    char *text;
    size_t used, size, calls;
    int fail_at; /* the call that fails; 0: none */
};

static int keep(void *ctx, const void *data, size_t bytes)
{
    struct file *file = ctx;

    file->calls++;
    if (file->fail_at != 0 && file->calls == (size_t)file->fail_at)
        return TL_ENOSPC;
    if (file->text != NULL) {
        assert_true(file->used + bytes < file->size);
        memcpy(file->text + file->used, data, bytes);
    }
    file->used += bytes;
    return 0;
}

static void manifest_record(struct tl_json *json, uint64_t i)
{
    static const char *const keys[] = {"arg_index", "func_id", "bin_offset", "bin_size", "hash", "numel", "slot"};

    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_key(json, "task_id");
    tl__json_hex_string(json, i, 16);
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        tl__json_key(json, keys[k]);
        tl__json_u64(json, i * 1000003 >> k);
    }
    tl__json_key(json, "stage");
    tl__json_string(json, "before_dispatch");
    tl__json_key(json, "dtype");
    tl__json_string(json, "float32");
    tl__json_key(json, "value");
    tl__json_f32(json, (float)i * 0.37F);
    tl__json_key(json, "shape");
    tl__json_array_begin(json, TL_JSON_LINE);
    tl__json_u64(json, 16);
    tl__json_u64(json, 128);
    tl__json_array_end(json);
    tl__json_object_end(json);
}

static int write_manifest(struct file *file, uint64_t records)
{
    struct tl_json json;

    tl__json_init(&json, keep, file);
    tl__json_array_begin(&json, TL_JSON_BLOCK);
    for (uint64_t i = 0; i < records; i++)
        manifest_record(&json, i);
    tl__json_array_end(&json);
    return tl__json_finish(&json);
}

static void flushed_text_is_whole_and_parses(void **state)
{
    struct file file = {.size = (size_t)4 << 20};
    yajl_val root, last;
    char message[200];

    (void)state;
    file.text = tl__alloc(1, file.size);
    assert_non_null(file.text);
    assert_int_equal(write_manifest(&file, 5000), 0);
    assert_true(file.calls > 3);
    root = yajl_tree_parse(file.text, message, sizeof(message));
    assert_non_null(root);
    assert_int_equal(YAJL_GET_ARRAY(root)->len, 5000);
    last = YAJL_GET_ARRAY(root)->values[4999];
    assert_string_equal(YAJL_GET_STRING(yajl_tree_get(last, (const char *[]){"task_id", NULL}, yajl_t_string)),
                        "0x0000000000001387");
    assert_int_equal(YAJL_GET_INTEGER(yajl_tree_get(last, (const char *[]){"arg_index", NULL}, yajl_t_number)),
                     4999 * 1000003LL);
    yajl_tree_free(root);
    tl__free(file.text);
}

static void a_text_larger_than_the_buffer(void **state)
{
    size_t bytes = 1000000;
    char *text = tl__alloc(1, bytes + 1);
    struct file file = {.size = 2 * bytes};
    struct tl_json json;

    (void)state;
    file.text = tl__alloc(1, file.size);
    assert_true(text != NULL && file.text != NULL);
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)('a' + i % 26);
    tl__json_init(&json, keep, &file);
    tl__json_string(&json, text);
    assert_int_equal(tl__json_finish(&json), 0);
    assert_int_equal(file.used, bytes + 2);
    assert_int_equal(file.text[0], '"');
    assert_memory_equal(file.text + 1, text, bytes);
    assert_int_equal(file.text[bytes + 1], '"');
    tl__json_init(&json, NULL, NULL); /* the same, growing */
    tl__json_string(&json, text);
    file.text[bytes + 2] = '\0';
    assert_text(&json, file.text);
    tl__free(text);
    tl__free(file.text);
}

static void the_first_failure_sticks(void **state)
{
    struct file file = {.fail_at = 2};
    struct tl_json json;
    size_t bytes;

    (void)state;
    assert_int_equal(write_manifest(&file, 10000), TL_ENOSPC);
    assert_int_equal(file.calls, 2);
    tl__json_init(&json, NULL, NULL);
    json.error = TL_ENOMEM;
    tl__json_u64(&json, 1);
    assert_null(tl__json_text(&json, &bytes));
    assert_int_equal(tl__json_finish(&json), TL_ENOMEM);
}

static void a_million_records_are_quick(void **state)
{
    struct file file = {0};
    uint64_t start = tl__now_ns(), took;

    (void)state;
    assert_int_equal(write_manifest(&file, 1000000), 0);
    took = tl__now_ns() - start;
    print_message("1,000,000 records, %zu bytes: %.0f ms\n", file.used, (double)took / 1e6);
    assert_true(took < UINT64_C(30000000000)); /* sanitizers on a busy machine; the figure itself is for bench/ */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_at_the_top_one_line_a_record),
        cmocka_unit_test(every_kind_of_value),
        cmocka_unit_test(several_documents_are_written_as_lines),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(a_byte_that_is_no_utf8_is_replaced_and_keeps_its_number),
        cmocka_unit_test(flushed_text_is_whole_and_parses),
        cmocka_unit_test(a_text_larger_than_the_buffer),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(a_million_records_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
