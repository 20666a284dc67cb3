/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <tasklens/error.h>

#include "base/safe_text.h"
#include "base/task_id.h"

static void expect(enum tl_safe form, const char *text, const char *want)
{
    char to[400];

    assert_int_equal(tl__safe_text(to, sizeof(to), form, text, strlen(text)), strlen(want));
    assert_string_equal(to, want);
}

static void what_moves_the_cursor_is_shown_by_its_number(void **state)
{
    (void)state;
    expect(TL_SAFE_NAME, "model/layers.0/attn/q_proj:0", "model/layers.0/attn/q_proj:0");
    expect(TL_SAFE_NAME, "line\nbreak\ttab\r", "line\\nbreak\\ttab\\r");
    expect(TL_SAFE_NAME, "\x1b[31mred\x1b[0m\a", "\\x1b[31mred\\x1b[0m\\x07");
    expect(TL_SAFE_NAME, "del\x7f c1 \xc2\x9b", "del\\x7f c1 \\u009b");
    expect(TL_SAFE_NAME, "\xe2\x80\xaertl\xe2\x80\xac \xe2\x81\xa6x\xe2\x81\xa9", "\\u202ertl\\u202c \\u2066x\\u2069");
    expect(TL_SAFE_NAME, "U+2028\xe2\x80\xa8sep", "U+2028\\u2028sep");
    expect(TL_SAFE_NAME, "tag \xf3\xa0\x81\x81", "tag \\U000e0041");
    expect(TL_SAFE_NAME, "注意力 q·k ½ 😀", "注意力 q·k ½ 😀");
    expect(TL_SAFE_NAME, " ", "\\x20");
    expect(TL_SAFE_NAME, "", "");
}

static void bytes_that_are_no_utf8_are_shown_one_by_one(void **state)
{
    (void)state;
    expect(TL_SAFE_NAME, "\xff\xfe bad utf8 \xc3", "\\xff\\xfe bad utf8 \\xc3");
    expect(TL_SAFE_NAME, "over\xc0\xaf", "over\\xc0\\xaf");
    expect(TL_SAFE_NAME, "surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80");
    expect(TL_SAFE_NAME, "cut \xe6\xb3", "cut \\xe6\\xb3");
    expect(TL_SAFE_LINE, "a line \xff\n of C:\\new ", "a line \\xff\\n of C:\\new ");
}

/* All texts of up to four of these pieces: no two have the same form. */
static void two_names_stay_two_names(void **state)
{
    static const char *const pieces[] = {"",   "\\", "x",    "1",       "b", "\x1b", "\\x1b",        "n",
                                         "\n", " ",  "\xff", "\\u202e", "u", "202e", "\xe2\x80\xae", "U",
                                         "/",  "%",  "2f",   "."};
    enum { COUNT = sizeof(pieces) / sizeof(pieces[0]), MOST = COUNT * COUNT * COUNT };
    static char names[MOST][24], shown[2][MOST][100];

    (void)state;
    for (unsigned i = 0; i < MOST; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "%s%s%s", pieces[i % COUNT], pieces[i / COUNT % COUNT],
                       pieces[i / COUNT / COUNT]);
        (void)tl__safe(shown[0][i], sizeof(shown[0][i]), TL_SAFE_NAME, names[i]);
        (void)tl__safe(shown[1][i], sizeof(shown[1][i]), TL_SAFE_FILE, names[i]);
    }
    for (unsigned i = 0; i < MOST; i += 3)
        for (unsigned k = 0; k < MOST; k++)
            for (unsigned form = 0; form < 2; form++)
                if (strcmp(shown[form][i], shown[form][k]) == 0 && strcmp(names[i], names[k]) != 0)
                    fail_msg("\"%s\" and \"%s\" are both shown as %s", names[i], names[k], shown[form][i]);
}

static void languages_around_a_name_have_their_own_escapes(void **state)
{
    (void)state;
    expect(TL_SAFE_HTML, "</title><script>alert(1)</script>", "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(TL_SAFE_HTML, "a\"b'c&d\x1b", "a&quot;b&#39;c&amp;d\\x1b");
    expect(TL_SAFE_MARKDOWN, "a|b <i> `c` *d* [e](f) &amp; q_proj _x_ \\x1b",
           "a\\|b &lt;i&gt; \\`c\\` \\*d\\* \\[e\\](f) &amp;amp; q_proj \\_x\\_ \\\\x1b");
    expect(TL_SAFE_DOT, "label=\"x\"];evil[shape=box \\n &lt;", "label=\\\"x\\\"];evil[shape=box \\\\n &amp;lt;");
    expect(TL_SAFE_FILE, "../../esc", "%2e.%2f..%2fesc");
    expect(TL_SAFE_FILE, "sp ace\n$(id)", "sp%20ace%0a%24%28id%29");
    expect(TL_SAFE_FILE, "é_v1.2-x", "é_v1.2-x");
}

/* 40 characters of three bytes, and room for fewer. */
static void a_long_name_is_cut_between_characters_and_stays_distinct(void **state)
{
    char name[2][140] = {"", ""}, to[2][64], raw[2][64];

    (void)state;
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 2; k++)
            strcat(name[k], "注");
    strcat(name[1], "x");
    for (int k = 0; k < 2; k++) {
        size_t n = tl__safe_text(to[k], sizeof(to[k]), TL_SAFE_NAME, name[k], strlen(name[k]));

        assert_true(n < sizeof(to[k]) && n > sizeof(to[k]) - 6);
        assert_int_equal(tl__name_cut(raw[k], sizeof(raw[k]), name[k]), 63);
        assert_int_equal(strlen(raw[k]), 63);
        for (size_t at = 0, step; at < n; at += step)
            assert_int_not_equal(step = tl__utf8_bytes(to[k] + at, n - at), 0);
        for (size_t at = 0, step; raw[k][at] != '\0'; at += step)
            assert_int_not_equal(step = tl__utf8_bytes(raw[k] + at, strlen(raw[k]) - at), 0);
        assert_non_null(strstr(to[k], "注...~"));
        assert_non_null(strstr(raw[k], "注...~"));
    }
    assert_string_not_equal(to[0], to[1]);
    assert_string_not_equal(raw[0], raw[1]);
    assert_string_equal(tl__safe(to[0], sizeof(to[0]), TL_SAFE_NAME, NULL), "?");
    assert_int_equal(tl__name_cut(raw[0], sizeof(raw[0]), "add"), 3);
}

/* Every byte pair in every form: within the promised growth, and nothing but what may be written. */
static void no_form_writes_what_it_should_not(void **state)
{
    (void)state;
    for (unsigned form = TL_SAFE_NAME; form <= TL_SAFE_FILE; form++)
        for (unsigned pair = 0; pair < 65536; pair++) {
            char text[2] = {(char)(pair >> 8), (char)pair}, to[64];
            size_t n = tl__safe_text(to, sizeof(to), form, text, 2);

            assert_true(n <= 2 * TL_SAFE_GROWTH);
            for (size_t at = 0, step; at < n; at += step)
                assert_int_not_equal(step = tl__printable_bytes(to + at, n - at), 0);
        }
}

static void a_task_has_one_name(void **state)
{
    char text[TL_TASK_BYTES];
    uint64_t id = 0;

    (void)state;
    assert_string_equal(tl__task_text(text, TL_TASK_RINGS, 0), "r0t0");
    assert_string_equal(tl__task_text(text, TL_TASK_RINGS, 0x100000003), "r1t3");
    assert_string_equal(tl__task_text(text, TL_TASK_RINGS, UINT64_MAX), "r4294967295t4294967295");
    assert_int_equal(tl__task_parse(text, &id), 0);
    assert_true(id == UINT64_MAX);
    assert_int_equal(tl__task_parse("r1t", &id), TL_EPARSE);
    assert_int_equal(tl__task_parse("r1t4294967296", &id), TL_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_moves_the_cursor_is_shown_by_its_number),
        cmocka_unit_test(bytes_that_are_no_utf8_are_shown_one_by_one),
        cmocka_unit_test(two_names_stay_two_names),
        cmocka_unit_test(languages_around_a_name_have_their_own_escapes),
        cmocka_unit_test(a_long_name_is_cut_between_characters_and_stays_distinct),
        cmocka_unit_test(no_form_writes_what_it_should_not),
        cmocka_unit_test(a_task_has_one_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
