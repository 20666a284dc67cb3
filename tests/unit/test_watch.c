/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collect/engine_impl.h"

/* Each stream has its own flags; only the arguments have payloads, marks and an arena. */
static void advice_fits_the_lane(void **state)
{
    static const struct {
        const char *stream, *cause, *want, *more;
    } rows[] = {
        {"args_dump", "arena", "record less with --dump-args 1, or 3, and marks", "--dfx-set avg-bytes="},
        {"args_dump", "disk", "--dump-oversize truncate", "--out"},
        {"swim_parts", "collector", "a lower level of --enable-chip-swimlane", "--dfx-set buffers="},
        {"swim_submits", "disk", "a lower level of --enable-chip-swimlane", "--out"},
        {"pmu", "collector", "leave out --enable-pmu", "--dfx-threads"},
        {"dep_gen", "collector", "leave out --enable-dep-gen", "--dfx-set buffers="},
        {"scope_stats", "disk", "leave out --enable-scope-stats", "--out"},
    };
    struct tl_run_config config = {.dump_args = 2, .chip_swimlane = 4, .dump_oversize_chunk = true};
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tl__watch_advice(rows[i].stream, &config, rows[i].cause, text, sizeof(text));
        assert_non_null(strstr(text, rows[i].want));
        assert_non_null(strstr(text, rows[i].more));
        if (strcmp(rows[i].stream, "args_dump") != 0) {
            assert_null(strstr(text, "mark"));
            assert_null(strstr(text, "dump"));
            assert_null(strstr(text, "avg-bytes"));
        }
    }
    config.chip_swimlane = 1;
    tl__watch_advice("swim_parts", &config, "collector", text, sizeof(text));
    assert_non_null(strstr(text, "leave out --enable-chip-swimlane"));
    config.dump_args = 1;
    tl__watch_advice("args_dump", &config, "arena", text, sizeof(text));
    assert_non_null(strstr(text, "mark less"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advice_fits_the_lane)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
