/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tasklens dump` lists, and in which order: that of submission, over the rings of a program with scopes in
 * scopes; ranges, kernels, bad values, extremes; and a recording of which one payload is short.
 */
#include "scene/cli.h"

#include <stdbool.h>
#include <stdint.h>

#define TASKS_MAX 4000

/* The tasks that follow `key` in the text, each once. */
static unsigned tasks_of(const char *text, const char *key, char (*tasks)[24])
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, key)) != NULL && n < TASKS_MAX; at++) {
        at += strlen(key);
        (void)snprintf(tasks[n], sizeof(tasks[n]), "%.*s", (int)strcspn(at, "\""), at);
        n += n == 0 || strcmp(tasks[n], tasks[n - 1]) != 0;
    }
    return n;
}

static void record(void)
{
    static bool done;

    if (!done) {
        expect(0, "run paged_attention --dump-args 2 --enable-dep-gen --enable-chip-swimlane 4 --out all");
        expect(0, "run paged_attention --dump-args 2 --out bare");
        expect(1, "run nan_softmax --dump-args 2 --enable-dep-gen --out nan"); /* its golden says so */
    }
    done = true;
}

static unsigned count(const char *part)
{
    unsigned n = 0;

    for (const char *at = output; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

static char want[TASKS_MAX][24], got[TASKS_MAX][24];

/* Of the graph, and where it is gone, of the submits in the timeline. */
static void entries_stand_in_order_of_submission(void **state)
{
    unsigned n, seen = 0;
    char *deps;

    (void)state;
    record();
    deps = fixture_read("all/deps.json", NULL);
    n = tasks_of(deps, "\"task_id\": \"", want);
    for (unsigned i = 0; i < n; i++) {
        unsigned long long id = strtoull(want[i], NULL, 0);

        (void)snprintf(want[i], sizeof(want[i]), "r%llut%llu", id >> 32, id & UINT32_MAX);
    }
    free(deps);
    assert_true(n > 40);
    for (int without = 0; without < 2; without++) {
        expect(0, "dump all --json");
        assert_non_null(strstr(output, "\"order\": \"submission\""));
        seen = tasks_of(output, "\"task\": \"", got);
        for (unsigned i = 0, k = 0; k < seen; k++, i++) {
            while (i < n && strcmp(want[i], got[k]) != 0) /* a task without arguments */
                i++;
            if (i >= n)
                fail_msg("%s stands where it was not submitted", got[k]);
        }
        assert_true(seen > 40);
        assert_int_equal(unlink(fixture_path("all/deps.json")), without == 0 ? 0 : -1);
    }
    expect(0, "dump bare");
    assert_non_null(strstr(output, "\norder: ring by ring; nothing recorded says"));
    expect(0, "dump bare --json --order ring");
    assert_non_null(strstr(output, "\"order\": \"ring\""));
    expect(0, "dump bare -t r2t0 -t r2t3");
    assert_null(strstr(output, "order:")); /* of one ring: by number is by submission */
}

static void ranges_kernels_and_a_limit_narrow_the_list(void **state)
{
    (void)state;
    record();
    expect(0, "dump bare -t r2t0..r2t3,r2t5 -t r1t0 --jsonl");
    for (unsigned i = 0; i < 8; i++) {
        char task[40];

        (void)snprintf(task, sizeof(task), "\"task\": \"r2t%u\"", i);
        assert_int_equal(count(task) > 0, i < 4 || i == 5);
    }
    assert_true(count("\"task\": \"r1t0\"") > 0 && count("\"r1t1\"") == 0);
    expect(0, "dump bare --kernel '^(qk|init)$' --jsonl");
    assert_true(count("\"kernels\": [\"qk\"]") > 0 && count("\"kernels\": [\"init\"]") > 0);
    assert_int_equal(count("\"kernels\": [\""), count("[\"qk\"]") + count("[\"init\"]"));
    expect(0, "dump bare --limit 2 --jsonl");
    assert_int_equal(count("\n"), 2);
    refuses("dump bare -t r2t3..r2t1", "a range goes from a task to a later one of the same ring");
    refuses("dump bare -t r1t0..r2t0", "a range goes from");
    refuses("dump bare -t r9t0..r9t3", "no record of tasks r9t0 to r9t3");
    refuses("dump bare -t r2t0,r9t9", "no record of task r9t9");
    refuses("dump bare --kernel nothing", "no kernel of a recorded task matches \"nothing\"");
    refuses("dump bare --kernel '('", "no extended regular expression");
    refuses("dump bare --limit 0", "--limit must be at least 1, not 0");
    refuses("dump bare --nan --no-values", "look at values");
}

/* The first bad value is the exponential's overflow: sum and row are Inf before anything is NaN. */
static void bad_values_and_extremes_are_found(void **state)
{
    const char *inf, *nan;

    (void)state;
    record();
    expect(0, "dump nan --nan");
    inf = strstr(output, "   13  r0t4  0     exponentiate  after   output    1  float32  [1, 16] ");
    nan = strstr(output, "   17  r0t5  1     normalize     after   output    2  float32  [1, 16] offset 32  0.0 0.0 ");
    assert_true(inf != NULL && nan != NULL && inf < nan);
    assert_int_equal(count("\n"), 8);
    expect(0, "dump nan --sort nan --limit 1");
    assert_non_null(strstr(output, "\norder: by nan\n"));
    assert_non_null(strstr(output, "   17  r0t5  1     normalize "));
    expect(0, "dump nan --sort max --limit 1 --json");
    assert_non_null(strstr(output, "\"max\": 150.0"));
    assert_non_null(strstr(output, "\"first_max\": [0, 5]"));
    expect(0, "dump nan --sort min --limit 3 --jsonl");
    assert_int_equal(count("\"std\": "), 3);
    expect(0, "dump nan --nan --limit 1 --json");
    assert_non_null(strstr(output, "\"first_inf\": [0, 5]"));
}

/* One of 372: the others are there, and every answer says so. */
static void a_short_payload_is_one_entrys_problem(void **state)
{
    static const char *const modes[] = {"",      "--json",       "--jsonl",      "--sort max", "--sort max --limit 3",
                                        "--nan", "--export txt", "--export npy", "--verify",   "--verify --json"};
    char *json;
    char words[400];

    (void)state;
    record();
    (void)snprintf(words, sizeof(words),
                   "cd '%s' && rm -rf cut && cp -r bare cut && truncate -s -8 cut/args_dump/args.bin", fixture_dir);
    assert_int_equal(system(words), 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        (void)snprintf(words, sizeof(words), "dump cut %s", modes[i]);
        expect(4, words);
        if (i < 8)
            assert_non_null(strstr(message, "1 payload cannot be read, the first is of entry "));
        if (i == 0)
            assert_true(count("  unreadable\n") == 1 && count("\n") > 372);
        if (i == 1)
            assert_non_null(strstr(output, "\"unreadable_payloads\": 1"));
        if (i == 2)
            assert_true(count("\n") == 372 && count("\"unreadable\": \"") == 1 && count("\"stats\"") > 200);
        if (i == 6 || i == 7)
            assert_non_null(strstr(output, "371 files written"));
    }
    expect(4, "dump cut");
    json = strstr(message, "of entry ");
    assert_non_null(json);
    (void)snprintf(words, sizeof(words), "dump cut -i %lu", strtoul(json + 9, NULL, 10));
    expect(4, words);
    assert_non_null(strstr(output, "values        unreadable: "));
    expect(0, "dump cut -i 0");
    expect(0, "dump cut --no-values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_kernels_and_a_limit_narrow_the_list),
        cmocka_unit_test(entries_stand_in_order_of_submission),
        cmocka_unit_test(bad_values_and_extremes_are_found),
        cmocka_unit_test(a_short_payload_is_one_entrys_problem),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
