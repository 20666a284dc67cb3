/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says of its outputs against the golden, and that its recording says the same. */
#include "cli.h"

#include "artifact/dfx_meta.h"

#define PROGRAM "'" TL_TEST_BINARY_DIR "/tests/verdicts.so' "

static struct tl_meta meta;

static void says(const char *part)
{
    if (strstr(output, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, output);
}

static void recorded(const char *dir, const char *status)
{
    struct tl_error err;

    if (tl__meta_read(fixture_path(dir), &meta, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(meta.status, status);
}

/* For each dtype: the right result agrees; zeros, a constant and shifted columns differ, for people and in the file. */
static void wrong_results_differ_in_every_dtype(void **state)
{
    (void)state;
    for (int out = 0; out < 4; out++)
        for (int mode = 0; mode < 4; mode++) {
            char words[300], dir[16];

            (void)snprintf(words, sizeof(words),
                           "run " PROGRAM "--set out=%d --set mode=%d --enable-dep-gen --out o%dm%d", out, mode, out,
                           mode);
            expect(mode == 0 ? 0 : 1, words);
            says(mode == 0 ? "256 " : "differ from the golden, first at [");
            says("(allowed: ");
            (void)snprintf(dir, sizeof(dir), "o%dm%d", out, mode);
            recorded(dir, mode == 0 ? "ok" : "differs");
            assert_int_equal(meta.verdict_count, 3);
            assert_string_equal(meta.verdicts[0].output, "probs");
            assert_int_equal(meta.verdicts[0].elements, 256);
            assert_int_equal(meta.verdicts[0].verdict, mode == 0 ? TL_VERDICT_AGREES : TL_VERDICT_DIFFERS);
            assert_int_equal(meta.verdicts[0].differing != 0, mode != 0);
            assert_int_equal(meta.verdicts[0].first_count != 0, mode != 0);
            assert_true(mode == 0 || meta.verdicts[0].worst_allowed > 0);
            assert_true(mode != 1 || meta.verdicts[0].worst_got == 0.0);
            assert_true(strstr(meta.verdicts[0].rule, " ULP + ") != NULL);
            assert_int_equal(meta.verdicts[2].verdict, TL_VERDICT_NOT_CHECKED);
        }
}

static void an_output_has_a_rule_of_its_own(void **state)
{
    (void)state;
    expect(0, "run " PROGRAM "--set off=2 --enable-dep-gen --out two");
    says("1 int32 agree with the golden, worst difference 2 (allowed: 2)");
    recorded("two", "ok");
    expect(1, "run " PROGRAM "--set off=3 --enable-dep-gen --out three");
    says("1 of 1 int32 differ from the golden, first at [0]: 1003 instead of 1000; worst difference 3 (allowed: 2)");
    recorded("three", "differs");
    assert_int_equal(meta.verdicts[1].verdict, TL_VERDICT_DIFFERS);
    assert_int_equal(meta.verdicts[1].differing, 1);
    assert_int_equal(meta.verdicts[1].first[0][0], 0);
    assert_true(meta.verdicts[1].worst_got == 1003.0 && meta.verdicts[1].worst_want == 1000.0);
    assert_string_equal(meta.verdicts[1].rule, "2");
    /* A viewer of such a recording says so. */
    expect(0, "deps three");
    assert_non_null(strstr(message, "results differ from the golden: number, 1 of 1 elements"));
    expect(0, "deps two");
    assert_null(strstr(message, "golden"));
}

/* Each round and each rank has its own. */
static void every_recording_of_a_command_has_its_verdict(void **state)
{
    (void)state;
    expect(1, "run " PROGRAM "--set mode=1 --rounds 2 --enable-dep-gen --out rounds");
    recorded("rounds/round0", "differs");
    recorded("rounds/round1", "differs");
    expect(1, "run " PROGRAM "--set mode=1 --chips 2 --enable-dep-gen --out ranks");
    recorded("ranks/rank0/d0", "differs");
    recorded("ranks/rank1/d0", "differs");
    expect(1, "run nan_softmax --dump-args 2 --out nan");
    recorded("nan", "differs");
    assert_int_equal(meta.verdicts[0].first[0][0], 2);
    assert_int_equal(meta.verdicts[0].first[0][1], 5);
    assert_true(meta.verdicts[0].worst_got != meta.verdicts[0].worst_got); /* NaN */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_results_differ_in_every_dtype),
        cmocka_unit_test(an_output_has_a_rule_of_its_own),
        cmocka_unit_test(every_recording_of_a_command_has_its_verdict),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
