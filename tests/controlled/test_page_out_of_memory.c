/* SPDX-License-Identifier: Apache-2.0 */
/* The pages and pictures of a graph and of ring usage, with the nth allocation failing, for every n: TL_ENOMEM or the
 * same text. */
#include "controlled/fail_each.h"
#include "unit/deps_fixture.h"

#include <stdio.h>

#include "analysis/deps/deps_picture.h"
#include "analysis/scope/scope_view.h"
#include "base/hash.h"

static struct graph_fixture graph;
static struct tl_scope_stats stats;
static char name[] = "a_kernel_of_the_test";
static char *names_list[] = {name};
static const struct tl_name_map names = {.count = 1, .names = names_list};
static uint64_t whole; /* hash of the text when nothing fails; 0: not known yet */

/* The text is kept by the test, so that the only memory in play is the page's own. */
static struct tl_hash text;

static int take(void *ctx, const void *bytes, size_t n)
{
    (void)ctx;
    tl__hash_update(&text, bytes, n);
    return 0;
}

static int judge(struct tl_rendering *out, int code)
{
    const int end = tl__rendering_end(out);
    uint64_t hash;

    tl__rendering_fini(out);
    code = code != 0 ? code : end;
    if (code != 0)
        return code;
    hash = tl__hash_value(&text);
    whole = whole == 0 ? hash : whole;
    tl__controlled_check(hash == whole);
    return 0;
}

static int draw_graph(void)
{
    const struct tl_deps_subject subject = {
        .deps = &graph.deps, .graph = &graph.graph, .names = &names, .dir = "run", .limit = UINT64_MAX};
    const struct tl_deps_filter filter = {.by_kernel = true};
    struct tl_deps_layout layout = {0};
    struct tl_deps_part part;
    struct tl_error error = {0};
    struct tl_rendering out;
    int code = tl__deps_part(&subject, &(struct tl_deps_part_of){TL_DEPS_NONE, 0, 0, &filter}, &part);

    tl__hash_init(&text);
    tl__rendering_init(&out, take, NULL);
    if (code == 0)
        code = tl__deps_layout_levels(&subject, &part, &layout, &error);
    if (code == 0)
        code = tl__deps_dot(&out, &subject, &part);
    if (code == 0)
        code = tl__deps_html(&out, &subject, &part, &layout, TL_DEPS_LEVELS);
    if (code == 0)
        tl__put_str(&out, part.title != NULL ? part.title : "(none)");
    code = judge(&out, code);
    tl__deps_layout_fini(&layout);
    tl__deps_part_fini(&part);
    return code;
}

static int draw_scopes(void)
{
    struct tl_scope_usage usage;
    struct tl_rendering out;
    int code = tl__scope_usage(&stats, &usage);

    if (code != 0)
        return code;
    tl__hash_init(&text);
    tl__rendering_init(&out, take, NULL);
    code = judge(&out, tl__scope_html(&out, &(struct tl_scope_view){.usage = &usage, .dir = "run"}));
    tl__scope_usage_fini(&usage);
    return code;
}

/* A tensor that the edges are about, a name that is said, and a last task that the page says nothing about but its
 * name. */
static void a_page_of_a_graph_fails_cleanly_without_memory(void **state)
{
    (void)state;
    fixture_graph(&graph, 6);
    for (uint32_t i = 1; i < 5; i++)
        (void)fixture_edge(&graph, i - 1, i);
    fixture_done(&graph);
    whole = 0;
    assert_int_equal(draw_graph(), 0);
    assert_true(fail_each(draw_graph, "alloc", TL_ENOMEM, NULL) > 15);
    fixture_free(&graph);
}

#define BOUNDARY(phase, depth, head)                                                                                   \
    "{\"site\": \"a.c:1\", \"phase\": \"" phase "\", \"depth\": " depth                                                \
    ", \"ring\": 0, \"task_window_start\": 0, \"task_window_end\": " head                                              \
    ", \"heap_start\": 0, \"heap_end\": 0, \"dep_pool_start\": 1, \"dep_pool_end\": 9, \"tensormap\": 3}\n"

/* A run that failed with its task window full: warnings, an advice, a list of rings. */
static const char scope_lines[] =
    "{\"version\": 6, \"fatal\": true, \"dropped\": 1, \"total\": 4, \"task_window_max\": [16], \"heap_max\": [4096], "
    "\"dep_pool_max\": [64], \"tensormap_max\": 8}\n" BOUNDARY("begin", "0", "0") BOUNDARY("begin", "1", "3")
        BOUNDARY("end", "1", "16") BOUNDARY("begin", "1", "16");

static void a_page_of_scopes_fails_cleanly_without_memory(void **state)
{
    struct tl_error error;

    (void)state;
    assert_int_equal(tl__scope_stats_parse(scope_lines, sizeof(scope_lines) - 1, "lines", &stats, &error), 0);
    whole = 0;
    assert_int_equal(draw_scopes(), 0);
    assert_true(fail_each(draw_scopes, "alloc", TL_ENOMEM, NULL) > 8);
    tl__scope_stats_fini(&stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_page_of_a_graph_fails_cleanly_without_memory),
                                       cmocka_unit_test(a_page_of_scopes_fails_cleanly_without_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
