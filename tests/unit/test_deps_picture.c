/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a graph: which part, the text for Graphviz, where that put everything, the words of the page. */
#include "unit/deps_fixture.h"

#include <math.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_picture.h"
#include "analysis/text/words.h"

static struct graph_fixture f;
static struct tl_deps_part part;
static struct tl_deps_layout layout;

static char *names_list[] = {NULL};
static const struct tl_name_map names = {.count = 1, .names = names_list};
static struct tl_deps_subject subject;

/* 0 -> 1 -> 3, 0 -> 2 -> 3 twice, 3 -> 4, and 5 alone; task 2 runs func_4. */
static void make(void)
{
    fixture_graph(&f, 6);
    (void)fixture_edge(&f, 2, 3);
    (void)fixture_edge(&f, 0, 2);
    (void)fixture_edge(&f, 0, 1);
    (void)fixture_edge(&f, 1, 3);
    fixture_edge(&f, 2, 3)->source = TL_DEPS_CREATOR;
    (void)fixture_edge(&f, 3, 4);
    (void)fixture_edge(&f, 4, 77);
    f.tasks[2].kernel_ids[0] = 4;
    fixture_done(&f);
    subject = (struct tl_deps_subject){
        .deps = &f.deps, .graph = &f.graph, .names = &names, .dir = "run", .limit = UINT64_MAX};
}

static void part_is(const struct tl_deps_part_of *of, uint32_t count, const uint32_t *tasks, uint32_t pairs,
                    uint32_t edges, const char *title)
{
    assert_int_equal(tl__deps_part(&subject, of, &part), 0);
    assert_int_equal(part.n_tasks, count);
    assert_memory_equal(part.tasks, tasks, count * sizeof(*tasks));
    assert_int_equal(part.n_pairs, pairs);
    assert_int_equal(part.n_edges, edges);
    assert_string_equal(part.title, title);
}

static void a_part_has_its_tasks_and_pairs(void **state)
{
    const struct tl_deps_filter func4 = {.by_kernel = true, .kernel = 4};
    const uint32_t all[] = {0, 1, 2, 3, 4, 5}, near3[] = {1, 2, 3, 4}, above[] = {0, 2, 3};

    (void)state;
    make();
    part_is(&(struct tl_deps_part_of){TL_DEPS_NONE, 0, 0, TL_DEPS_NO_FILTER}, 6, all, 5, 6, "all 6 tasks");
    for (uint32_t i = 0; i < part.n_pairs; i++)
        assert_int_equal(tl__deps_part_pair(&part, part.pairs[i].pred, part.pairs[i].succ), i);
    assert_int_equal(tl__deps_part_pair(&part, 0, 3), TL_DEPS_NONE);
    assert_int_equal(tl__deps_part_pair(&part, 5, 5), TL_DEPS_NONE);
    assert_int_equal(part.pairs[3].pred, 2);
    assert_int_equal(part.pairs[3].count, 2);
    assert_int_equal(part.edges[part.pairs[3].first], 0);
    assert_int_equal(part.edges[part.pairs[3].first + 1], 4);
    tl__deps_part_fini(&part);
    part_is(&(struct tl_deps_part_of){3, 1, 1, TL_DEPS_NO_FILTER}, 4, near3, 3, 4,
            "4 tasks around r0t3, 1 up and 1 down");
    assert_int_equal(part.pairs[1].pred, 1); /* places, not positions */
    assert_int_equal(part.pairs[1].succ, 2);
    tl__deps_part_fini(&part);
    part_is(&(struct tl_deps_part_of){3, 2, 0, &func4}, 2, above + 1, 1, 2,
            "2 tasks around r0t3, 2 up and 0 down that run func_4");
    tl__deps_part_fini(&part);
    part_is(&(struct tl_deps_part_of){TL_DEPS_NONE, 0, 0, &func4}, 1, above + 1, 0, 0, "1 task that run func_4");
    tl__deps_part_fini(&part);
    fixture_free(&f);
}

static void make_all(void)
{
    make();
    assert_int_equal(tl__deps_part(&subject, &(struct tl_deps_part_of){TL_DEPS_NONE, 0, 0, TL_DEPS_NO_FILTER}, &part),
                     0);
}

static void free_all(void)
{
    tl__deps_layout_fini(&layout);
    tl__deps_part_fini(&part);
    fixture_free(&f);
}

static int lay_out(const char *plain, struct tl_error *error)
{
    return tl__deps_layout(plain, strlen(plain), &part, &layout, error);
}

#define NODES                                                                                                          \
    "node n0 1 2 1 0.5 x\nnode n1 1.5 1 1 0.5 x\nnode n2 0.5 1 1 0.5 x\nnode n3 1 0.5 1 0.5\nnode n4 2 2 1 0.5\n"      \
    "node n5 3 1 1 0.5 \"\" solid\n"

static void the_layout_of_graphviz_is_read(void **state)
{
    const float line[] = {72, 144, 36, 72, 18, 54, 0, 216};
    struct tl_error error;

    (void)state;
    make_all();
    assert_int_equal(lay_out("graph 1 4 3\n" NODES "edge n2 n3 4 1 1 0.5 2 0.25 2.25 0 0 solid black\nstop\n", &error),
                     0);
    assert_true(layout.width == 288 && layout.height == 216);
    assert_true(layout.boxes[0].x == 72 && layout.boxes[0].y == 72); /* downward */
    assert_true(layout.boxes[0].width == 72 && layout.boxes[0].height == 36);
    assert_int_equal(layout.first[3], 0);
    assert_int_equal(layout.first[4], 4);
    assert_int_equal(layout.first[5], 4);
    assert_memory_equal(layout.points, line, sizeof(line));
    tl__deps_layout_spread(&layout, &part);
    assert_int_equal(layout.first[4], 0);
    free_all();
}

/* Lines a fifth of a box long become two boxes long, all by one factor. */
static void spreading_moves_boxes_apart_by_one_factor(void **state)
{
    struct tl_error error;

    (void)state;
    make_all();
    assert_int_equal(lay_out("graph 1 4 3\nnode n0 0 3 1 0.5\nnode n1 0.2 3 1 0.5\nnode n2 0 2.8 1 0.5\n"
                             "node n3 0.2 2.8 1 0.5\nnode n4 0.4 2.8 1 0.5\nnode n5 4 0 1 0.5\nstop\n",
                             &error),
                     0);
    tl__deps_layout_spread(&layout, &part);
    assert_true(fabsf(layout.boxes[1].x - 144) < 0.01f);
    assert_true(fabsf(layout.boxes[4].x - 288) < 0.01f);
    assert_true(fabsf(layout.boxes[5].y - 2160) < 0.1f);
    assert_true(fabsf(layout.width - 2880) < 0.1f);
    assert_true(layout.boxes[1].width == 72);
    free_all();
}

static void a_bad_layout_is_refused(void **state)
{
    const struct {
        const char *plain, *part;
    } bad[] = {
        {"", "cut after 0 lines"},
        {"graph 1 0x4 3\nstop\n", "line 1"}, /* what strtof takes, too, and a comma that it takes in some locales */
        {"graph 1 4,5 3\nstop\n", "line 1"},
        {"graph 1 inf 3\nstop\n", "line 1"},
        {"graph 1 4 3\n" NODES, "cut after 7 lines"},
        {"graph 1 4 3\nstop\n", "places 0 of 6 tasks"},
        {"graph 1 4\nstop\n", "line 1"},
        {"graph 1 4 nan\nstop\n", "line 1"},
        {"graph 1 4 3\nnode n6 1 1 1 1\nstop\n", "line 2"},
        {"graph 1 4 3\nnode x 1 1 1 1\nstop\n", "line 2"},
        {"graph 1 4 3\nnode n1 1 1 0 1\nstop\n", "line 2"},
        {"graph 1 4 3\nnode n1 1 1e30 1 1\nstop\n", "line 2"},
        {"graph 1 4 3\n" NODES "edge n0 n5 0\nstop\n", "line 8"},
        {"graph 1 4 3\n" NODES "edge n0 n1 4 1 1\nstop\n", "line 8"},
        {"graph 1 4 3\n" NODES "edge n0 n1 -1\nstop\n", "line 8"},
        {"Error: no\n", "not understood: Error: no"},
    };

    (void)state;
    make_all();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tl_error error = {0};

        assert_int_equal(lay_out(bad[i].plain, &error), TL_EPARSE);
        if (strstr(error.msg, bad[i].part) == NULL)
            fail_msg("%zu: no \"%s\" in: %s", i, bad[i].part, error.msg);
        tl__deps_layout_fini(&layout);
    }
    free_all();
}

static void input_is(enum tl_deps_engine engine, const char *settings)
{
    struct tl_rendering out;

    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__deps_layout_input(&out, &subject, &part, engine), 0);
    tl__put(&out, "", 1);
    assert_non_null(strstr(out.data, settings));
    assert_non_null(strstr(out.data, "  n0 [width=0.831];\n")); /* func_0: 6 characters and a border */
    assert_non_null(strstr(out.data, "  n2 -> n3;\n  n3 -> n4;\n}\n"));
    tl__rendering_fini(&out);
}

static void the_input_for_graphviz_names_its_engine(void **state)
{
    (void)state;
    make_all();
    input_is(TL_DEPS_DOT, "ranksep");
    input_is(TL_DEPS_SFDP, "overlap=prism");
    free_all();
}

static void each_word_is_kept_once(void **state)
{
    struct tl_words w = {0};
    char text[20];
    size_t n;

    (void)state;
    assert_int_equal(tl__words_add(&w, "", 0), 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3000; i++) {
            int length = snprintf(text, sizeof(text), "word %u", i);

            assert_int_equal(tl__words_add(&w, text, (size_t)length), i + 1);
        }
    assert_int_equal(tl__words_add(&w, "", 0), 0);
    assert_int_equal(w.count, 3001);
    assert_memory_equal(tl__words_get(&w, 2999, &n), "word 2998", 9);
    assert_int_equal(n, 9);
    (void)tl__words_get(&w, 0, &n);
    assert_int_equal(n, 0);
    tl__words_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_has_its_tasks_and_pairs),
        cmocka_unit_test(the_layout_of_graphviz_is_read),
        cmocka_unit_test(spreading_moves_boxes_apart_by_one_factor),
        cmocka_unit_test(a_bad_layout_is_refused),
        cmocka_unit_test(the_input_for_graphviz_names_its_engine),
        cmocka_unit_test(each_word_is_kept_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
