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
        unsigned stream;
        const char *cause, *want, *more;
    } rows[] = {
        {TL_STREAM_DUMP, "arena", "record less with --dump-args 1, or 3, and marks", "--dfx-set avg-bytes="},
        {TL_STREAM_DUMP, "disk", "--dump-oversize truncate", "--out"},
        {TL_STREAM_SUBTASKS, "collector", "a lower level of --enable-chip-swimlane", "--dfx-set buffers="},
        {TL_STREAM_SUBMITS, "disk", "a lower level of --enable-chip-swimlane", "--out"},
        {TL_STREAM_PMU, "collector", "leave out --enable-pmu", "--dfx-threads"},
        {TL_STREAM_DEPS, "collector", "leave out --enable-dep-gen", "--dfx-set buffers="},
        {TL_STREAM_SCOPE, "disk", "leave out --enable-scope-stats", "--out"},
    };
    struct tl_run_config config = {.levels = {[TL_COLLECT_DUMP] = 2, [TL_COLLECT_SWIMLANE] = 4},
                                   .dump_oversize_chunk = true};
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tl__watch_advice(rows[i].stream, &config, rows[i].cause, text, sizeof(text));
        assert_non_null(strstr(text, rows[i].want));
        assert_non_null(strstr(text, rows[i].more));
        if (rows[i].stream != TL_STREAM_DUMP) {
            assert_null(strstr(text, "mark"));
            assert_null(strstr(text, "dump"));
            assert_null(strstr(text, "avg-bytes"));
        }
    }
    config.levels[TL_COLLECT_SWIMLANE] = 1;
    tl__watch_advice(TL_STREAM_SUBTASKS, &config, "collector", text, sizeof(text));
    assert_non_null(strstr(text, "leave out --enable-chip-swimlane"));
    config.levels[TL_COLLECT_DUMP] = 1;
    tl__watch_advice(TL_STREAM_DUMP, &config, "arena", text, sizeof(text));
    assert_non_null(strstr(text, "mark less"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advice_fits_the_lane)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
