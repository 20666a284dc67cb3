/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/faults.h"

/* The asks 1..8 at which `name` is due, as a string of 0 and 1. */
static const char *due(const char *list, const char *name)
{
    static char text[9];
    struct tl__faults faults;
    uint64_t random = 1;
    size_t at;

    assert_int_equal(tl__faults_parse(list, &faults, &at), 0);
    for (int i = 0; i < 8; i++)
        text[i] = tl__faults_ask(&faults, name, &random) != NULL ? '1' : '0';
    return text;
}

static void faults_are_due_at_their_steps(void **state)
{
    (void)state;
    assert_string_equal(due(NULL, "a"), "00000000");
    assert_string_equal(due("", "a"), "00000000");
    assert_string_equal(due("a", "a"), "11111111");
    assert_string_equal(due("a", "b"), "00000000");
    assert_string_equal(due("a@3", "a"), "00100000");
    assert_string_equal(due("a@3+2", "a"), "00110000");
    assert_string_equal(due("a@3+", "a"), "00111111");
    assert_string_equal(due("a@3+0", "a"), "00000000");
    assert_string_equal(due("b@1,a@2,a@4+2", "a"), "01011000");
    assert_string_equal(due("a%100", "a"), "11111111");
    assert_string_equal(due("a%0", "a"), "00000000");
    assert_string_equal(due("a@7%100=3", "a"), "00000011");
}

static void values_and_counts_are_kept(void **state)
{
    const struct tl__fault_entry *fault;
    struct tl__faults faults;
    uint64_t random = 1;
    size_t at;

    (void)state;
    assert_int_equal(tl__faults_parse("disk_full@2=4096,x", &faults, &at), 0);
    assert_null(tl__faults_ask(&faults, "disk_full", &random));
    fault = tl__faults_ask(&faults, "disk_full", &random);
    assert_non_null(fault);
    assert_true(fault->has_value);
    assert_int_equal(fault->value, 4096);
    assert_int_equal(fault->asked, 2);
    assert_int_equal(fault->fired, 1);
    assert_false(tl__faults_find(&faults, "x")->has_value);
    assert_int_equal(tl__faults_find(&faults, "x")->asked, 0);
    assert_null(tl__faults_find(&faults, "y"));
}

static void chances_are_about_right(void **state)
{
    struct tl__faults faults;
    uint64_t random = 42;
    int fired = 0;
    size_t at;

    (void)state;
    assert_int_equal(tl__faults_parse("a%2.5", &faults, &at), 0);
    assert_int_equal(faults.entries[0].chance_ppm, 25000);
    for (int i = 0; i < 100000; i++)
        fired += tl__faults_ask(&faults, "a", &random) != NULL;
    assert_in_range(fired, 2200, 2800);
}

static void check_bad(const char *list, size_t expected_at)
{
    struct tl__faults faults;
    size_t at = 999;

    assert_int_equal(tl__faults_parse(list, &faults, &at), TL_EINVAL);
    assert_int_equal(at, expected_at);
}

static void bad_lists_are_refused(void **state)
{
    char many[64] = "";

    (void)state;
    check_bad("@3", 0);
    check_bad("a@", 2);
    check_bad("a@0", 3);
    check_bad("a@x", 2);
    check_bad("a@3-", 3);
    check_bad("a%101", 5);
    check_bad("a%100.1", 7);
    check_bad("a%5.", 4);
    check_bad("a=", 2);
    check_bad("a=99999999999999999999", 21);
    check_bad("a,", 1);
    check_bad("a,,b", 2);
    check_bad("a b", 1);
    check_bad("a-name-that-is-longer-than-any-that-is-asked-for", 0);
    for (int i = 0; i < 17; i++)
        strcat(many, i == 0 ? "a" : ",a");
    check_bad(many, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_due_at_their_steps),
        cmocka_unit_test(values_and_counts_are_kept),
        cmocka_unit_test(chances_are_about_right),
        cmocka_unit_test(bad_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
