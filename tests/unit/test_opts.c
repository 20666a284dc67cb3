/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/opts.h"

struct today {
    uint32_t struct_size, a;
    uint64_t b;
};
struct tomorrow {
    struct today known;
    uint64_t c;
};

static int copy(struct today *to, const void *from, struct tl_error *err)
{
    memset(to, 0x5a, sizeof(*to));
    return tl__copy_opts(to, sizeof(*to), from, "today", "TODAY_INIT", err);
}

static void a_caller_of_the_same_version_is_copied(void **state)
{
    const struct today from = {.struct_size = sizeof(from), .a = 1, .b = 2};
    struct today to;

    (void)state;
    assert_int_equal(copy(&to, &from, NULL), 0);
    assert_memory_equal(&to, &from, sizeof(to));
}

static void an_older_callers_missing_fields_are_zero(void **state)
{
    const struct today from = {.struct_size = offsetof(struct today, b), .a = 1, .b = 2};
    struct today to;

    (void)state;
    assert_int_equal(copy(&to, &from, NULL), 0);
    assert_int_equal(to.a, 1);
    assert_int_equal(to.b, 0);
}

static void a_newer_callers_fields_must_be_zero(void **state)
{
    struct tomorrow from = {.known = {.struct_size = sizeof(from), .a = 1, .b = 2}};
    struct tl_error err;
    struct today to;

    (void)state;
    assert_int_equal(copy(&to, &from, &err), 0);
    assert_int_equal(to.b, 2);
    for (unsigned byte = 0; byte < sizeof(from.c); byte++) {
        from.c = UINT64_C(1) << (8 * byte);
        assert_int_equal(copy(&to, &from, &err), TL_EVERSION);
        assert_string_equal(err.msg, "struct today asks for what this version does not know");
        assert_int_equal(to.a, 0x5a5a5a5a); /* left as it was */
    }
}

static void options_without_their_size_are_refused(void **state)
{
    struct today from = {.struct_size = 0}, to;
    struct tl_error err;

    (void)state;
    for (uint32_t size = 0; size < sizeof(size); size++) {
        from.struct_size = size;
        assert_int_equal(copy(&to, &from, &err), TL_EINVAL);
        assert_string_equal(err.msg, "struct today begins with its size: TODAY_INIT");
    }
    assert_int_equal(copy(&to, NULL, &err), TL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_of_the_same_version_is_copied),
        cmocka_unit_test(an_older_callers_missing_fields_are_zero),
        cmocka_unit_test(a_newer_callers_fields_must_be_zero),
        cmocka_unit_test(options_without_their_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
