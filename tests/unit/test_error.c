/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>

#include "base/error.h"

static void every_code_has_name_and_text(void **state)
{
    (void)state;
#define CHECK(name, value, text)                                                                                       \
    assert_int_equal(name, value);                                                                                     \
    assert_string_equal(tl_errname(name), #name);                                                                      \
    assert_string_equal(tl_strerror(name), text);
    TL_ERROR_LIST(CHECK)
#undef CHECK
    assert_string_equal(tl_strerror(-999), "unknown error");
    assert_string_equal(tl_errname(1), "TL_?");
}

static void fail_fills_and_returns(void **state)
{
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__fail(&err, TL_EINVAL, "level %d", 4), TL_EINVAL);
    assert_int_equal(err.code, TL_EINVAL);
    assert_int_equal(err.offset, -1);
    assert_string_equal(err.msg, "level 4");
    assert_int_equal(tl__fail_at(&err, TL_EPARSE, 17, "bad"), TL_EPARSE);
    assert_int_equal(err.offset, 17);
    assert_int_equal(tl__fail(NULL, TL_EIO, "nobody listens"), TL_EIO);
}

static void errno_maps_to_a_code(void **state)
{
    (void)state;
    assert_int_equal(tl__code_of_errno(ENOSPC), TL_ENOSPC);
    assert_int_equal(tl__code_of_errno(ENOENT), TL_ENOENT);
    assert_int_equal(tl__code_of_errno(EACCES), TL_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_name_and_text),
        cmocka_unit_test(fail_fills_and_returns),
        cmocka_unit_test(errno_maps_to_a_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
