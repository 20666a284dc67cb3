/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

static void numbers_are_appended(void **state)
{
    char memory[200];
    struct tl_text t = tl__text(memory, sizeof(memory));

    (void)state;
    assert_string_equal(memory, "");
    tl__text_dec(&t, 0);
    tl__text_put(&t, " ");
    tl__text_dec(&t, UINT64_MAX);
    tl__text_put(&t, " ");
    tl__text_hex(&t, 0, 1);
    tl__text_put(&t, " ");
    tl__text_hex(&t, 0x100000002, 16);
    tl__text_put(&t, " ");
    tl__text_hex(&t, UINT64_MAX, 1);
    assert_string_equal(memory, "0 18446744073709551615 0x0 0x0000000100000002 0xffffffffffffffff");
}

static void a_cut_text_ends_with_a_whole_character(void **state)
{
    char memory[8];

    (void)state;
    for (size_t size = 1; size <= sizeof(memory); size++) {
        struct tl_text t = tl__text(memory, size);

        tl__text_put(&t, "a\xe6\xb3\xa8\xc3\xa9!b");
        assert_string_equal(memory, size >= 8   ? "a\xe6\xb3\xa8\xc3\xa9!"
                                    : size >= 7 ? "a\xe6\xb3\xa8\xc3\xa9"
                                    : size >= 5 ? "a\xe6\xb3\xa8"
                                    : size >= 2 ? "a"
                                                : "");
    }
}

static void what_does_not_fit_is_cut(void **state)
{
    char memory[8] = "xxxxxxx";
    struct tl_text t = tl__text(memory, 5);

    (void)state;
    tl__text_put(&t, "abc");
    tl__text_put(&t, "def");
    tl__text_dec(&t, 7);
    assert_string_equal(memory, "abcd");
    assert_memory_equal(memory + 5, "xx", 2);
    t = tl__text(memory, 1);
    tl__text_put(&t, "a");
    assert_string_equal(memory, "");
}

static void a_source_has_its_folder(void **state)
{
    (void)state;
    assert_string_equal(tl__source_name("../../examples/broken/bad_args.c"), "broken/bad_args.c");
    assert_string_equal(tl__source_name("/a/b.c"), "a/b.c");
    assert_string_equal(tl__source_name("/b.c"), "/b.c");
    assert_string_equal(tl__source_name("b.c"), "b.c");
    assert_string_equal(tl__source_name(""), "");
    assert_string_equal(tl__source_name(NULL), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_appended),
        cmocka_unit_test(what_does_not_fit_is_cut),
        cmocka_unit_test(a_cut_text_ends_with_a_whole_character),
        cmocka_unit_test(a_source_has_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
