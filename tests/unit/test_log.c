/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"

struct seen {
    int lines;
    enum tl_log_level level;
    char last[2000];
};

static void sink(void *ctx, enum tl_log_level level, const char *line)
{
    struct seen *seen = ctx;

    seen->lines++;
    seen->level = level;
    assert_true(strlen(line) < sizeof(seen->last));
    strcpy(seen->last, line);
}

static void hands_on_level_and_text(void **state)
{
    struct seen seen = {0};

    (void)state;
    tl_log_set_sink(sink, &seen);
    tl_log_warn("lane %d parked for %.1f s", 3, 1.5);
    assert_int_equal(seen.lines, 1);
    assert_int_equal(seen.level, TL_LOG_WARN);
    assert_string_equal(seen.last, "lane 3 parked for 1.5 s");
    tl_log_error("x");
    assert_int_equal(seen.level, TL_LOG_ERROR);
    tl_log_info("x");
    assert_int_equal(seen.level, TL_LOG_INFO);
    tl_log_debug("x");
    assert_int_equal(seen.level, TL_LOG_DEBUG);
}

static void the_library_is_silent_without_a_sink(void **state)
{
    struct seen seen = {0};

    (void)state;
    tl_log_set_sink(sink, &seen);
    tl_log_set_sink(NULL, NULL);
    tl_log_error("nobody");
    assert_int_equal(seen.lines, 0);
}

static void a_line_is_one_line_of_at_most_1000_bytes(void **state)
{
    struct seen seen = {0};
    char text[1500];

    (void)state;
    tl_log_set_sink(sink, &seen);
    tl_log_info("a\nb\r%sc", "\x1b[31m");
    assert_string_equal(seen.last, "a\\nb\\r\\x1b[31mc");

    memset(text, 'x', sizeof(text));
    text[1000] = '\0';
    tl_log_info("%s", text);
    assert_string_equal(seen.last, text);
    text[1000] = 'x';
    text[1001] = '\0';
    tl_log_info("%s", text);
    assert_int_equal(strlen(seen.last), 1000);
    assert_string_equal(seen.last + 995, "xx...");

    memcpy(text + 995, "\xe2\x82\xac\xe2\x82\xac", 6); /* the cut would fall into the first of two euro signs */
    tl_log_info("%s", text);
    assert_string_equal(seen.last + 993, "xx...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hands_on_level_and_text),
        cmocka_unit_test(the_library_is_silent_without_a_sink),
        cmocka_unit_test(a_line_is_one_line_of_at_most_1000_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
