/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

#include <tasklens/error.h>

#include "analysis/dump/dump_pick.h"
#include "analysis/dump/overview.h"
#include "analysis/text/rendering.h"
#include "analysis/text/table.h"
#include "analysis/text/value.h"
#include "base/number.h"
#include "tensor/convert.h"

static const char *value(unsigned dtype, uint64_t bits)
{
    static char text[TL_VALUE_BYTES + 1];
    size_t n = tl__value_text(text, dtype, &bits, 0);

    assert_true(n <= TL_VALUE_BYTES);
    text[n] = 0;
    return text;
}

static void values_are_written_as_text(void **state)
{
    (void)state;
    assert_string_equal(value(TL_FLOAT32, 0x3dcccccd), "0.1");
    assert_string_equal(value(TL_FLOAT32, 0x80000000), "-0.0");
    assert_string_equal(value(TL_FLOAT32, 0xff800000), "-inf");
    assert_string_equal(value(TL_FLOAT32, 0xffc00000), "nan");
    assert_string_equal(value(TL_FLOAT16, 0x2e66), "0.1");
    assert_string_equal(value(TL_FLOAT16, 0x0001), "6e-08");
    assert_string_equal(value(TL_FLOAT16, 0x8001), "-6e-08");
    assert_string_equal(value(TL_FLOAT16, 0x7bff), "65504.0");
    assert_string_equal(value(TL_BFLOAT16, 0x4481), "1032.0"); /* not the shorter 1030.0 */
    assert_string_equal(value(TL_BFLOAT16, 0x7f7f), "3.39e+38");
    assert_string_equal(value(TL_FP8E4M3FN, 0x7e), "448.0");
    assert_string_equal(value(TL_FP8E8M0, 76), "4.440892e-16");
    assert_string_equal(value(TL_FP8E4M3FN, 0x9d), "-0.1");
    assert_string_equal(value(TL_FP4E2M1, 0xf), "-6.0");
    assert_string_equal(value(TL_INT8, 0x80), "-128");
    assert_string_equal(value(TL_UINT8, 0x80), "128");
    assert_string_equal(value(TL_INT64, (uint64_t)INT64_MIN), "-9223372036854775808");
    assert_string_equal(value(TL_UINT64, UINT64_MAX), "18446744073709551615");
    assert_string_equal(value(TL_BOOL, 0), "false");
    assert_string_equal(value(TL_BOOL, 1), "true");
    assert_string_equal(value(TL_BOOL, 2), "2");
}

static void text_of_small_floats_reads_back(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 65536; c++) {
        float f16 = tl__f32_of_f16((uint16_t)c), bf16 = tl__f32_of_bf16((uint16_t)c);

        if (isfinite(f16))
            assert_int_equal(tl__f16_of_f32(strtof(value(TL_FLOAT16, c), NULL)), c);
        if (isfinite(bf16))
            assert_int_equal(tl__bf16_of_f32(strtof(value(TL_BFLOAT16, c), NULL)), c);
    }
    for (unsigned c = 0; c < 256; c++) {
        if (isfinite(tl__f32_of_fp8e4m3fn((uint8_t)c)))
            assert_int_equal(tl__fp8e4m3fn_of_f32(strtof(value(TL_FP8E4M3FN, c), NULL)), c);
        if (c != 255)
            assert_int_equal(tl__fp8e8m0_of_f32(strtof(value(TL_FP8E8M0, c), NULL)), c);
    }
}

/* List, JSON and manifest have one way to print. */
static void text_of_float32_is_that_of_the_json(void **state)
{
    uint64_t x = 1;

    (void)state;
    for (unsigned i = 0; i < 400000; i++) {
        uint32_t bits;
        float f;
        char want[TL_NUMBER_BYTES + 1];

        x = x * 6364136223846793005u + 1442695040888963407u;
        bits = (uint32_t)(x >> 32);
        if (i % 3 == 1)
            bits = tl__bits_of_f32((float)(int32_t)(bits % 2000001 - 1000000) / 1000.0f);
        else if (i % 3 == 2)
            bits = tl__bits_of_f32(ldexpf((float)(bits % 1024), (int)(bits >> 20 & 63) - 32));
        f = tl__f32_of_bits(bits);
        if (!isfinite(f))
            continue;
        want[tl__print_f32(want, f)] = 0;
        assert_string_equal(value(TL_FLOAT32, bits), want);
    }
}

static void names_of_tasks_are_parsed(void **state)
{
    const struct {
        const char *text;
        uint64_t id;
    } good[] = {{"0x0000000200000a00", 0x200000a00},
                {"0X200000A00", 0x200000a00},
                {"8589937152", 0x200000a00},
                {"r2t2560", 0x200000a00},
                {"R0T0", 0},
                {"0", 0},
                {"18446744073709551615", UINT64_MAX},
                {"r4294967295t4294967295", UINT64_MAX}};
    const char *bad[] = {"",
                         "x",
                         "0x",
                         "12a",
                         "r1",
                         "r1t",
                         "rt1",
                         "r1t2x",
                         "-1",
                         " 1",
                         "r-1t2",
                         "0x10000000000000000",
                         "18446744073709551616",
                         "r4294967296t0"};
    uint64_t id = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(tl__task_parse(good[i].text, &id), 0);
        assert_true(id == good[i].id);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (tl__task_parse(bad[i], &id) != TL_EPARSE)
            fail_msg("\"%s\" is taken for a task", bad[i]);
}

static int count_pieces(void *ctx, const void *data, size_t n)
{
    const char *bytes = data;
    size_t *sum = ctx;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(bytes[i], (char)('a' + (*sum + i) % 26));
    *sum += n;
    return *sum > 3000000 ? TL_ENOSPC : 0;
}

static void a_page_hands_on_in_order(void **state)
{
    struct tl_rendering out;
    size_t sum = 0;

    (void)state;
    tl__rendering_init(&out, count_pieces, &sum);
    for (size_t i = 0; i < 1000000; i++) {
        char c = (char)('a' + i % 26);

        tl__put(&out, &c, 1);
    }
    assert_int_equal(tl__rendering_end(&out), 0);
    assert_int_equal(sum, 1000000);
    assert_true(out.room < 1 << 20);
    while (out.error == 0) { /* the sink's error sticks */
        char c = (char)('a' + sum % 26);
        int code;

        tl__put(&out, &c, 1);
        code = tl__rendering_end(&out);
        assert_int_equal(code, out.error);
    }
    assert_int_equal(out.error, TL_ENOSPC);
    tl__put_format(&out, "%d", 5);
    assert_int_equal(out.used, 0);
    tl__rendering_fini(&out);
}

static void formats_longer_than_a_guess(void **state)
{
    struct tl_rendering out;
    char text[701];

    (void)state;
    memset(text, 'x', 700);
    text[700] = 0;
    tl__rendering_init(&out, NULL, NULL);
    tl__put_format(&out, "<%s>", text);
    tl__put_fill(&out, '-', 3);
    tl__put_u64(&out, UINT64_MAX);
    assert_int_equal(out.used, 702 + 3 + 20);
    assert_memory_equal(out.data + 1, text, 700);
    assert_memory_equal(out.data + 701, ">---18446744073709551615", 24);
    tl__rendering_fini(&out);
}

static void two_rows(void *ctx, uint64_t number, struct tl_row *row)
{
    (void)ctx;
    tl__put_str(&row->text, number == 0 ? "a" : "longer");
    tl__cell_end(row);
    tl__cell_end(row);
    tl__put_u64(&row->text, number == 0 ? 5 : 12345);
    tl__cell_end(row);
    tl__put_str(&row->text, number == 0 ? "\xc3\xa4" : "");
    tl__cell_end(row);
}

static void a_table_aligns(void **state)
{
    const struct tl_column columns[] = {
        {"left", false, false}, {"empty", false, true}, {"right", true, false}, {"note", false, true}};
    const char *want = "left    right  note\n"
                       "a           5  \xc3\xa4\n"
                       "longer  12345\n";
    struct tl_rendering out;

    (void)state;
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__table_put(&out, columns, 4, 2, two_rows, NULL), 0);
    assert_int_equal(out.used, strlen(want));
    assert_memory_equal(out.data, want, out.used);
    assert_int_equal(tl__table_put(&out, columns, TL_TABLE_MAX_COLUMNS + 1, 2, two_rows, NULL), TL_EINVAL);
    tl__rendering_fini(&out);
}

static void check_overview(const struct tl_overview *view, const char *want)
{
    struct tl_rendering out;

    tl__rendering_init(&out, NULL, NULL);
    tl__put_overview(&out, view);
    tl__put(&out, "", 1);
    assert_string_equal(out.data, want);
    tl__rendering_fini(&out);
}

static void an_overview_shows_the_edges_of_an_array(void **state)
{
    int32_t data[300];
    struct tl_overview view = {.data = data, .here = 20, .rank = 1, .shape = {20}, .dtype = TL_INT32};

    (void)state;
    for (int32_t i = 0; i < 300; i++)
        data[i] = i;
    check_overview(&view, " 0   1   2   3   4   5   6   7\n 8   9  10  11  12  13  14  15\n16  17  18  19\n");
    view.here = 0;
    check_overview(&view, "");
    view = (struct tl_overview){
        .data = data, .here = 300, .rank = 3, .shape = {1, 30, 10}, .dtype = TL_INT32, .edges_only = true};
    check_overview(&view, "[0, :, :]\n"
                          "  0    1    2  ...    7    8    9\n"
                          " 10   11   12  ...   17   18   19\n"
                          " 20   21   22  ...   27   28   29\n"
                          "...\n"
                          "270  271  272  ...  277  278  279\n"
                          "280  281  282  ...  287  288  289\n"
                          "290  291  292  ...  297  298  299\n");
    /* A cut payload: what is missing is left out. */
    view = (struct tl_overview){.data = data, .here = 7, .rank = 3, .shape = {2, 2, 3}, .dtype = TL_INT32};
    check_overview(&view, "[0, :, :]\n0  1  2\n3  4  5\n[1, :, :]\n6\n");
    view = (struct tl_overview){.data = data + 5, .here = 1, .rank = 0, .dtype = TL_INT32};
    check_overview(&view, "5\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_as_text),
        cmocka_unit_test(text_of_small_floats_reads_back),
        cmocka_unit_test(text_of_float32_is_that_of_the_json),
        cmocka_unit_test(names_of_tasks_are_parsed),
        cmocka_unit_test(a_page_hands_on_in_order),
        cmocka_unit_test(formats_longer_than_a_guess),
        cmocka_unit_test(a_table_aligns),
        cmocka_unit_test(an_overview_shows_the_edges_of_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
