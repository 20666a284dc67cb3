/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens deps` as a user meets it: its text against tests/golden/deps/ (TL_UPDATE_GOLDEN=1 rewrites it), its
 * messages and exit codes.
 */
#include "scene/cli.h"
#include "scene/deps_recording.h"
#include "scene/golden.h"

/* The graph of a file that only says who feeds whom. */
static void write_edges(const char *dir, unsigned tasks, const unsigned (*edges)[2], unsigned count)
{
    struct tl_deps_task list[64] = {0};
    struct tl_deps_edge between[64] = {0};

    for (unsigned i = 0; i < tasks; i++)
        list[i] = (struct tl_deps_task){.task_id = i, .kernel_ids = {0, -1, -1}, .block_num = 1};
    for (unsigned i = 0; i < count; i++)
        between[i] =
            (struct tl_deps_edge){.pred = edges[i][0], .succ = edges[i][1], .arg = -1, .source = TL_DEPS_EXPLICIT};
    fixture_save_deps(dir, &(struct tl_deps){.tasks = list, .edges = between, .n_tasks = tasks, .n_edges = count});
}

static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    fixture_deps("run");
    return 0;
}

static void golden(const char *words, const char *name)
{
    char path[100];

    expect(0, words);
    assert_string_equal(message, "");
    (void)snprintf(path, sizeof(path), "deps/%s", name);
    golden_is(output, path);
}

static void the_whole_graph_is_summarized(void **state)
{
    (void)state;
    golden("deps run", "summary.txt");
    golden("deps run --json", "summary.json");
    golden("deps run/", "summary.txt");
    golden("deps run/deps.json", "summary.txt");
}

static void one_task_is_shown_in_full(void **state)
{
    char *first;

    (void)state;
    golden("deps run -t r1t0", "task.txt");
    golden("deps run -t r1t0 --json", "task.json");
    expect(0, "deps run -t 4294967296");
    first = strdup(output);
    expect(0, "deps --task=0x100000000 run");
    assert_string_equal(output, first);
    free(first);
    golden("deps run -t 1", "task_out.txt");
    golden("deps run -t 2", "task_skipped.txt");
    golden("deps run -t r1t1", "task_loose.txt");
    golden("deps run -t 0", "task_alone.txt");
    golden("deps run -t r1t0 --limit 2", "task_limit.txt");
    golden("deps run -t r1t0 --kernel MATMUL", "task_kernel.txt");
    golden("deps run -t 1 --tensor 0x7f0010000000", "task_tensor.txt");
}

static void a_tree_shows_what_feeds_a_task_and_what_it_feeds(void **state)
{
    (void)state;
    golden("deps run -t r1t1 --up 5", "up.txt");
    golden("deps run -t 1 --down", "down.txt");
    golden("deps run -t r1t0 --up 1 --down 1", "up_down.txt");
    golden("deps run -t r1t0 --up 1 --down 1 --json", "up_down.json");
    golden("deps run -t 0 --up --down", "up_down_none.txt");
    fixture_grid("grid", 60, 6);
    golden("deps grid -t 45 --up 4 --limit 5", "up_limit.txt");
}

static void the_shortest_path_is_shown(void **state)
{
    (void)state;
    golden("deps run --path 1 r1t1", "path.txt");
    golden("deps run --path 1 r1t1 --json", "path.json");
    golden("deps --path r1t1 1 run", "path_back.txt");
    golden("deps run --path=0 1", "path_none.txt");
    golden("deps run --path 0 1 --json", "path_none.json");
}

static void a_list_shows_the_tasks_that_pass(void **state)
{
    (void)state;
    golden("deps run --kernel MATMUL", "kernel.txt");
    golden("deps run --kernel 7", "kernel_id.txt");
    golden("deps run --tensor 0x7f0010000010", "tensor.txt");
    golden("deps run --tensor 0x7f0010000010 --kernel 1 --json", "tensor.json");
}

static void bad_usage_is_refused_with_the_reason(void **state)
{
    (void)state;
    expect(0, "deps --help");
    golden_is(output, "deps/help.txt");
    refuses("deps run -t x", "not \"x\"");
    refuses("deps run -t 99", "no task r0t99; there are 5, first r0t0, last r1t1");
    refuses("deps run -t 9", "task r0t9 is not listed, though 1 edges name it");
    refuses("deps run --up 2", "-t TASK");
    refuses("deps run -t 1 --up 0", "--up takes 1 to");
    refuses("deps run --path 1", "--path needs two values: A B");
    refuses("deps run --path", "--path needs a value");
    refuses("deps run --path 1 x", "not \"x\"");
    refuses("deps run --path 1 77", "no task r0t77");
    refuses("deps run --path 1 2 -t 1", "--path");
    refuses("deps run --kernel nothing", "there are MATMUL, add\\tand\\nmore");
    refuses("deps run --tensor 0x10", "no buffer begins at 0x10");
    refuses("deps run --tensor here", "not \"here\"");
    refuses("deps run -t 1 --up --kernel MATMUL", "not --up and --down");
    refuses("deps nowhere", "nowhere: no such file");
    assert_int_equal(mkdir(fixture_path("empty"), 0777), 0);
    refuses("deps empty", "--enable-dep-gen");
}

static void what_is_wrong_with_a_graph_is_named(void **state)
{
    const unsigned circle[][2] = {{0, 1}, {1, 2}, {2, 1}, {2, 3}};
    const unsigned loose[][2] = {{0, 8}, {9, 1}};

    (void)state;
    write_edges("circle", 4, circle, 4);
    expect(0, "deps circle");
    assert_string_equal(
        message, "tasklens deps: circle: the tasks wait in a cycle: r0t2 -> r0t1 -> r0t2; 3 could never start\n");
    golden_is(output, "deps/circle.txt");
    expect(0, "deps circle -t 3 --up 9");
    golden_is(output, "deps/circle_up.txt");
    expect(0, "deps circle --json");
    golden_is(output, "deps/circle.json");
    write_edges("loose", 2, loose, 2);
    golden("deps loose", "loose.txt");
    write_edges("none", 0, NULL, 0);
    golden("deps none", "none.txt");
    refuses("deps none -t 0", "the recording has none");

    fixture_write_text("none/deps.json", "{\"tasks\": [");
    refuses("deps none", "deps.json");
    fixture_write_text("none/deps.json", "{\"tasks\": 3, \"tensors\": [], \"edges\": []}");
    refuses("deps none", "tasks");
    fixture_write_text("run/name_map_other.json", "{\"level\": 2, \"callable_id_to_name\": {\"0\": \"OTHER\"}}");
    expect(0, "deps run");
    assert_non_null(strstr(message, "without their names"));
    assert_non_null(strstr(output, "func_0"));
    assert_int_equal(unlink(fixture_path("run/name_map_other.json")), 0);
}

static void parallel_edges_are_counted_on_one_line(void **state)
{
    struct tl_deps_task list[2] = {{.task_id = 0, .block_num = 1, .kernel_ids = {0, -1, -1}},
                                   {.task_id = 1, .block_num = 1, .kernel_ids = {0, -1, -1}}};
    struct tl_deps_edge *edges = calloc(5000, sizeof(*edges));

    (void)state;
    assert_non_null(edges);
    for (int i = 0; i < 5000; i++)
        edges[i] = (struct tl_deps_edge){.succ = 1, .arg = -1, .source = TL_DEPS_EXPLICIT};
    fixture_save_deps("parallel", &(struct tl_deps){.tasks = list, .edges = edges, .n_tasks = 2, .n_edges = 5000});
    free(edges);
    expect(0, "deps parallel");
    assert_non_null(strstr(output, "5,000 edges between 1 pair of tasks"));
    expect(0, "deps parallel -t 1");
    assert_non_null(strstr(output, "fed by 1 task, by 5,000 edges\n"));
    assert_non_null(strstr(output, "\n... 4,960 more edges; --limit 0 shows all\n"));
    expect(0, "deps parallel -t 0 --down");
    assert_non_null(strstr(output, "r0t1  func_0   explicit +4999 more\n"));
}

/* What answers at once on a small graph does so on a large one. */
static void a_large_graph_is_answered_at_once(void **state)
{
    (void)state;
    fixture_grid("large", 50000, 100);
    expect(0, "deps large -t 30050");
    assert_non_null(strstr(output, "fed by 2 tasks, by 2 edges"));
    assert_non_null(strstr(output, "r0t29950  store"));
    assert_non_null(strstr(output, "r0t29949  store"));
    expect(0, "deps large -t 49999 --up 100000");
    assert_non_null(strstr(output, " ...  "));
    expect(0, "deps large --path 0 49999");
    assert_non_null(strstr(output, "r0t0 to r0t49999: 499 edges"));
    expect(0, "deps large");
    assert_non_null(strstr(output, "500 levels; the widest, level 0, has 100 tasks"));
}

/* Programs that stand in for dot, found before any other. */
static void stand_in(const char *script)
{
    (void)mkdir(fixture_path("bin"), 0777);
    fixture_write_text("bin/dot", script);
    assert_int_equal(chmod(fixture_path("bin/dot"), 0777), 0);
}

static void a_picture_is_written_as_dot(void **state)
{
    char *path = strdup(getenv("PATH"));

    (void)state;
    fixture_grid("many", 5001, 100);
    golden("deps run --format dot", "graph.dot");
    golden("deps run --format dot -t r1t0 --down 1", "part.dot");
    refuses("deps run --format dot -o nowhere/x.dot", "nowhere/x.dot: cannot create");
    refuses("deps run --format pdf", "text, html, dot");
    refuses("deps run --format html --json", "--json");
    refuses("deps run --engine sfdp", "--engine");
    refuses("deps run -o x", "-o names the file");
    refuses("deps run --path 0 1 --format html", "--path");
    assert_int_equal(setenv("PATH", fixture_path("bin"), 1), 0);
    expect(0, "deps run --format html -o alone.html");
    assert_non_null(strstr(message, "no dot on PATH: the levels of the graph are drawn below each other"));
    assert_non_null(strstr(output, "laid out by levels in "));
    refuses("deps run --format html --engine sfdp", "no sfdp on PATH: apt-get install graphviz");
    stand_in("#!/bin/sh\necho it is broken >&2\nexit 3\n");
    refuses("deps run --format html", "dot: it is broken");
    stand_in("#!/bin/sh\nexit 3\n");
    refuses("deps run --format html", "dot ended with 3 and said nothing");
    refuses("deps run --format html --engine dot", "dot ended with 3 and said nothing"); /* few: no word of time */
    expect(2, "deps many --format html --engine dot");
    assert_non_null(strstr(message, "tasklens deps: 5001 tasks and "));
    assert_non_null(strstr(message, " lines are many for dot, which may take minutes or hours: --engine levels "));
    stand_in("#!/bin/sh\nexec /bin/sleep 100\n");
    expect(0, "deps run --format html -o late.html");
    assert_non_null(strstr(message, "dot was not done in 5 s: the levels of the graph are drawn below each other"));
    assert_non_null(strstr(output, "laid out by levels in "));
    stand_in("#!/bin/sh\nkill -9 $$\n");
    refuses("deps run --format html", "dot was ended by signal 9");
    stand_in("#!/bin/sh\necho graph 1 1 1\necho stop\n");
    refuses("deps run --format html", "the layout places 0 of 5 tasks");
    assert_int_equal(access(fixture_path("run/deps.html"), F_OK), -1);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
}

/* Where Graphviz is: the files and their names. What is on them, test_page_deps.c looks at. */
static void a_page_is_written_under_its_name(void **state)
{
    (void)state;
    if (system("command -v dot >/dev/null 2>&1") != 0)
        skip();
    expect(0, "deps run --format html");
    assert_non_null(strstr(output, "all 5 tasks with 5 edges, laid out by dot in "));
    assert_non_null(strstr(output, "\nrun/deps.html\n"));
    assert_int_equal(access(fixture_path("run/deps.html"), F_OK), 0);
    expect(0, "deps run --format html -t 2");
    assert_non_null(strstr(output, "3 tasks around r0t2, 1 up and 1 down with 4 edges, laid out by dot in "));
    assert_non_null(strstr(output, "\nrun/deps_r0t2.html\n"));
    expect(0, "deps run --format html --kernel 7");
    assert_non_null(strstr(output, "\nrun/deps_part.html\n"));
    expect(0, "deps run --format html -o here.html --engine dot");
    assert_non_null(strstr(output, "\nhere.html\n"));
    refuses("deps run --format html -o nowhere/here.html", "nowhere/here.html: cannot create");
    write_edges("empty_graph", 0, NULL, 0);
    refuses("deps empty_graph --format html", "no tasks to draw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_graph_is_summarized),
        cmocka_unit_test(one_task_is_shown_in_full),
        cmocka_unit_test(a_tree_shows_what_feeds_a_task_and_what_it_feeds),
        cmocka_unit_test(the_shortest_path_is_shown),
        cmocka_unit_test(a_list_shows_the_tasks_that_pass),
        cmocka_unit_test(bad_usage_is_refused_with_the_reason),
        cmocka_unit_test(what_is_wrong_with_a_graph_is_named),
        cmocka_unit_test(parallel_edges_are_counted_on_one_line),
        cmocka_unit_test(a_large_graph_is_answered_at_once),
        cmocka_unit_test(a_picture_is_written_as_dot),
        cmocka_unit_test(a_page_is_written_under_its_name),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
