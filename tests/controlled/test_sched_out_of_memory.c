/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a schedule, with the nth allocation failing, for every n: TL_ENOMEM, nothing leaked, no crash. */
#include "controlled/fail_each.h"
#include "support/sched_fixture.h"

#include "analysis/path/path_show.h"
#include "analysis/path/path_trace.h"
#include "analysis/sched/sched.h"

static struct tl_swimlane lane;
static struct tl_deps deps;
static struct tl_name_map names;
static size_t whole; /* bytes of what is said when nothing fails; 0: not known yet */

/* Puts `code` first: what went wrong before is what is reported. */
static int then(int code, int next)
{
    return code != 0 ? code : next;
}

static int text(const struct tl_sched *s, size_t *bytes)
{
    struct tl_rendering out;
    int code;

    tl__rendering_init(&out, NULL, NULL);
    code = tl__sched_text(&out, s, "dir");
    code = then(code, tl__path_text(&out, &s->path, "dir"));
    code = then(code, tl__path_markdown(&out, &s->path, "dir"));
    code = then(code, tl__rendering_end(&out));
    *bytes += out.used;
    tl__rendering_fini(&out);
    return code;
}

static int json(const struct tl_sched *s, size_t *bytes)
{
    struct tl_swim_drawn drawn;
    struct tl_json j;
    size_t n = 0;
    int code;

    tl__json_init(&j, NULL, NULL);
    tl__sched_json(&j, s, "dir");
    code = tl__path_json(&j, &s->path, "dir");
    code = then(code, tl__path_trace_write(&j, &s->path, &drawn));
    (void)tl__json_text(&j, &n);
    *bytes += n;
    return then(code, tl__json_finish(&j));
}

static int say_all(void)
{
    static struct tl_sched sched;
    struct tl_swim_join join;
    struct tl_error error;
    size_t bytes = 0;
    int code = tl__swim_join(&lane, &deps, &names, &join, &error);

    if (code != 0)
        return code;
    code = tl__sched_make(&join, &sched, &error);
    if (code == 0) {
        code = text(&sched, &bytes);
        code = then(code, json(&sched, &bytes));
        tl__sched_fini(&sched);
    }
    tl__swim_join_fini(&join);
    if (code == 0 && whole == 0)
        whole = bytes;
    if (code == 0)
        tl__controlled_check(bytes == whole);
    return code;
}

static void each_failing_allocation_is_reported(void **state)
{
    (void)state;
    assert_int_equal(say_all(), 0);
    assert_true(whole > 1000);
    assert_true(fail_each(say_all, "alloc", TL_ENOMEM, NULL) > 40);
}

/* The graph alone, whose arrays are made in one go. */
static int make_paths(void)
{
    struct tl_swim_join join;
    struct tl_path_run run;
    struct tl_error error;
    int code = tl__swim_join(&lane, &deps, &names, &join, &error);

    if (code != 0)
        return code;
    code = tl__path_run_make(&join, &run, &error);
    if (code == 0)
        tl__path_run_fini(&run);
    tl__swim_join_fini(&join);
    return code;
}

static void each_allocation_of_a_graph(void **state)
{
    (void)state;
    assert_true(fail_each(make_paths, "alloc", TL_ENOMEM, NULL) > 20);
}

static int setup(void **state)
{
    struct tl_error error;

    (void)state;
    if (tl__swimlane_parse(sched_fixture_lane[4], strlen(sched_fixture_lane[4]), "lane", &lane, &error) < 0 ||
        tl__deps_parse(sched_fixture_deps, strlen(sched_fixture_deps), "deps", &deps, &error) < 0 ||
        tl__name_map_parse(sched_fixture_names, strlen(sched_fixture_names), "names", &names, &error) < 0)
        return -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tl__name_map_fini(&names);
    tl__deps_fini(&deps);
    tl__swimlane_fini(&lane);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_failing_allocation_is_reported),
                                       cmocka_unit_test(each_allocation_of_a_graph)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
