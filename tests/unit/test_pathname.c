/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/pathname.h"

static void the_longest_name_fits_and_one_byte_more_names_no_file(void **state)
{
    char dir[TL_PATHNAME_BYTES], to[TL_PATHNAME_BYTES] = "before";

    (void)state;
    memset(dir, 'd', sizeof(dir));
    dir[TL_PATHNAME_BYTES - 1 - 2] = '\0'; /* "/f" and the end follow */
    assert_true(tl__pathname(to, "%s/%s", dir, "f"));
    assert_int_equal(strlen(to), TL_PATHNAME_BYTES - 1);
    assert_string_equal(to + TL_PATHNAME_BYTES - 4, "d/f");
    assert_false(tl__pathname(to, "%s/%s", dir, "ff"));
    assert_string_equal(to, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_longest_name_fits_and_one_byte_more_names_no_file)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
