/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Viewers and the root of a distributed run: `tasklens swimlane ROOT` merges all ranks on one axis of time, by clocks
 * that are injected here; every viewer lists the dispatches and opens one by rank and dispatch.
 */
#include "scene/cli.h"
#include "unit/swim_world.h"

#include "artifact/dispatch_program.h"
#include "artifact/rank_clock.h"

static struct swim_world w;

#define CYCLES 3000u /* of the device, between its first anchor and its first event */

static void make_dir(const char *name)
{
    char command[700];

    (void)snprintf(command, sizeof(command), "mkdir -p '%s'", fixture_path(name));
    assert_int_equal(system(command), 0);
}

/* ROOT/rank<R>/d<K>: one task, which began at `host_ns` of the rank's host, on a device of 1 GHz. */
static void make_leaf(const char *root, unsigned rank, unsigned ranks, unsigned dispatch, uint64_t host_ns,
                      uint64_t error_ns)
{
    struct tl_dispatch d = {.program = "made", .rank = rank, .ranks = ranks, .dispatch = dispatch};
    uint64_t at = host_ns - CYCLES; /* of the anchor, at cycle 1000 */
    char name[100];

    (void)snprintf(name, sizeof(name), "%s/rank%u/d%u", root, rank, dispatch);
    make_dir(name);
    world_init(&w, 2, 1, 1);
    world_slice(&w, 1, 0, 0, 1100 + CYCLES, 1900 + CYCLES, 100, 100);
    w.lane.n_anchors = 2;
    w.lane.anchors[0] = (struct tl_swim_anchor){"begin", at - error_ns, 1000, at + error_ns, error_ns};
    w.lane.anchors[1] = (struct tl_swim_anchor){"quiesce", at + 9000 - error_ns, 10000, at + 9000 + error_ns, error_ns};
    assert_int_equal(tl__swimlane_write(fixture_path(name), &w.lane, NULL), 0);
    assert_int_equal(tl__dispatch_write(fixture_path(name), &d, NULL), 0);
}

static void make_clock(const char *root, unsigned rank, enum tl_clock_method method, int64_t offset_ns,
                       uint64_t error_ns)
{
    struct tl_rank_clock c = {.rank = rank, .method = method, .offset_ns = offset_ns, .error_ns = error_ns};
    char name[100];

    if (method == TL_CLOCK_UNKNOWN)
        (void)snprintf(c.reason, sizeof(c.reason), "nobody answered");
    (void)snprintf(name, sizeof(name), "%s/rank%u", root, rank);
    assert_int_equal(tl__rank_clock_write(fixture_path(name), &c, NULL), 0);
}

static void says(const char *part)
{
    if (strstr(output, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, output);
}

static void trace_has(const char *trace, const char *part, bool wanted)
{
    char *text = fixture_read(trace, NULL);

    if ((strstr(text, part) != NULL) != wanted)
        fail_msg("%s \"%s\" in %s", wanted ? "no" : "a", part, trace);
    free(text);
}

static void checked(const char *trace)
{
    char command[1000];

    if (system("python3 -c 'import json' >/dev/null 2>&1") != 0)
        return;
    (void)snprintf(command, sizeof(command), "cd '%s' && python3 '%s/tests/scene/check_trace.py' --strict %s",
                   fixture_dir, TL_TEST_SOURCE_DIR, trace);
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* Clocks 11 s apart, 1.6 ms of true skew: the trace has the skew. */
static void the_skew_and_not_the_offset(void **state)
{
    (void)state;
    make_leaf("two", 0, 2, 0, 50000000000, 1000);
    make_leaf("two", 0, 2, 1, 50004000000, 1000);
    make_leaf("two", 1, 2, 0, 61001600000, 1000);
    make_clock("two", 0, TL_CLOCK_SAME, 0, 0);
    make_clock("two", 1, TL_CLOCK_PING, 11000000000, 9998);
    expect(0, "swimlane two");
    assert_string_equal(message, "");
    says("recording two: 2 ranks, 3 dispatches\n");
    says("   1         0  made         1  1.600 ms  0.001 ms  10.999 us  ping\n");
    says("order     rank 1 began 1.600 ms after rank 0 (+-12.000 us)\n");
    says("\ntwo/merged_swimlane.json\n");
    checked("two/merged_swimlane.json");
    trace_has("two/merged_swimlane.json", "\"name\": \"rank0/d0 Worker View\"", true);
    trace_has("two/merged_swimlane.json", "\"name\": \"rank1/d0 Worker View\"", true);
    trace_has("two/merged_swimlane.json", "\"pid\": 4, \"tid\": 10010, \"ts\": 0.1, \"dur\": 0.8", true);
    trace_has("two/merged_swimlane.json", "\"pid\": 14, \"tid\": 10010, \"ts\": 4000.1, \"dur\": 0.8", true);
    trace_has("two/merged_swimlane.json", "\"pid\": 24, \"tid\": 10010, \"ts\": 1600.1, \"dur\": 0.8", true);
    trace_has("two/merged_swimlane.json", "\"begin_ns\": 1600000, ", true);
    trace_has("two/merged_swimlane.json", "\"error_ns\": 10999}", true);
    expect(0, "swimlane two --json -o elsewhere.json");
    says("\"order\": [\n    \"rank 1 began 1.600 ms after rank 0 (+-12.000 us)\"");
    checked("elsewhere.json");
}

static void below_the_bar_no_order(void **state)
{
    (void)state;
    make_leaf("near", 0, 2, 0, 50000000000, 1000);
    make_leaf("near", 1, 2, 0, 61000003000, 1000);
    make_clock("near", 0, TL_CLOCK_SAME, 0, 0);
    make_clock("near", 1, TL_CLOCK_WALL, 11000000000, 9998);
    expect(0, "swimlane near");
    says("order     order of rank 0 and rank 1 not known: 3.000 us apart, error 12.000 us\n");
    assert_null(strstr(output, "began"));
}

static void an_unknown_clock_is_said(void **state)
{
    (void)state;
    make_leaf("odd", 0, 3, 0, 50000000000, 1000);
    make_leaf("odd", 1, 3, 0, 61001600000, 1000);
    make_leaf("odd", 2, 3, 0, 61001600000, 1000);
    make_clock("odd", 0, TL_CLOCK_SAME, 0, 0);
    make_clock("odd", 1, TL_CLOCK_UNKNOWN, 0, 0);
    expect(0, "swimlane odd"); /* rank 2 has no clock.json */
    says("order     order of rank 0 and rank 1 not known: their clocks are not\n");
    says("note      rank 1 has an axis of its own, which begins at 0 and says nothing of the others': nobody "
         "answered\n");
    says("note      rank 2 has an axis of its own, which begins at 0 and says nothing of the others': it has no "
         "clock.json\n");
    trace_has("odd/merged_swimlane.json", "\"name\": \"rank1/d0 (own clock) Worker View\"", true);
    trace_has("odd/merged_swimlane.json", "\"pid\": 14, \"tid\": 10010, \"ts\": 0.1, \"dur\": 0.8", true);
    fixture_write_text("odd/rank2/clock.json", "{\"rank\": 2}");
    refuses("swimlane odd", "rank2/clock.json");
}

static void a_rank_that_is_missing(void **state)
{
    (void)state;
    make_leaf("lost", 0, 3, 0, 50000000000, 1000);
    make_leaf("lost", 2, 3, 0, 50000000000, 1000);
    refuses("swimlane lost", "rank 1 of 3 is missing: no lost/rank1");
    make_leaf("lost", 1, 3, 0, 50000000000, 1000);
    assert_int_equal(unlink(fixture_path("lost/rank1/d0/chip_swimlane_records.json")), 0);
    refuses("swimlane lost", "rank 1 has no chip_swimlane_records.json in lost/rank1/d0; run every rank with "
                             "--enable-chip-swimlane");
    fixture_write_text("lost/rank1/d0/run.journal", "x");
    refuses("swimlane lost", "`tasklens recover lost/rank1/d0`");
    expect(0, "swimlane lost/rank2/d0"); /* one of them can be seen all the same */
    says("recording lost/rank2/d0: level 2, 1 task");
    fixture_write_text("lost/rank2/d0/dispatch_program.json", "{}");
    refuses("swimlane lost", "lost/rank2/d0/dispatch_program.json");
}

static void one_of_a_tree(void **state)
{
    (void)state;
    expect(0, "swimlane two --rank 0 --dispatch 1");
    says("recording two/rank0/d1: level 2, 1 task");
    assert_string_equal(message, "");
    expect(0, "swimlane two/ --rank 1");
    says("recording two/rank1/d0: level 2, 1 task");
    expect(0, "sched two --rank 0");
    assert_non_null(strstr(message, "tasklens sched: opening the newest, rank 0, dispatch "));
    assert_non_null(strstr(message, "of two:\nrank  dispatch  program  "));
    assert_non_null(strstr(message, "\n   1         0  made     "));
    assert_non_null(strstr(message, "  swimlane  not known\n"));
    refuses("swimlane two --rank 5", "two: no chip_swimlane_records.json of rank 5 in it");
    refuses("sched two --rank 0 --dispatch 7", "of rank 0, dispatch 7 in it");
    refuses("swimlane two --rank -1", "--rank");
}

/* Last: it leaves a tree in outputs/. */
/* Each recording's own runtime says how its tasks are named, whatever the others are. */
static void each_rank_names_its_tasks_by_its_runtime(void **state)
{
    static const char *const runtimes[] = {"host_build_graph", "tensormap_and_ringbuffer", "host_build_graph"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        char name[100];

        make_leaf("mixed", i, 3, 0, 5000000, 100);
        make_clock("mixed", i, i == 0 ? TL_CLOCK_SAME : TL_CLOCK_PING, 0, 500);
        w.cores[0].task_id = i + 5;
        w.lane.form = TL_SWIM_2026_09;
        (void)snprintf(w.lane.runtime, sizeof(w.lane.runtime), "%s", runtimes[i]);
        (void)snprintf(name, sizeof(name), "mixed/rank%u/d0", i);
        assert_int_equal(tl__swimlane_write(fixture_path(name), &w.lane, NULL), 0);
    }
    expect(0, "swimlane mixed -o mixed.json");
    trace_has("mixed.json", "task(t5)", true);
    trace_has("mixed.json", "task(r0t6)", true);
    trace_has("mixed.json", "task(t7)", true);
    trace_has("mixed.json", "task(r0t5)", false);
    trace_has("mixed.json", "task(t6)", false);
}

static void write_identity(const char *leaf, const char *text)
{
    char name[120];
    FILE *f;

    (void)snprintf(name, sizeof(name), "%s/dispatch_identity.json", leaf);
    f = fopen(fixture_path(name), "w");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Each node counts its ranks from 0; what belongs together says dispatch_identity.json. */
static void ranks_below_nodes_and_networks(void **state)
{
    (void)state;
    make_leaf("net/network0/node0", 0, 0, 0, 5000000, 100);
    make_leaf("net/network0/node0", 1, 0, 0, 5000000, 100);
    make_leaf("net/network0/node1", 0, 0, 0, 7000000, 100);
    make_leaf("net/network1/node0", 0, 0, 0, 9000000, 100);
    make_leaf("net/network1/node0", 0, 0, 1, 9500000, 100);
    make_clock("net/network0/node0", 0, TL_CLOCK_SAME, 0, 0);
    make_clock("net/network0/node1", 0, TL_CLOCK_PING, 1000000, 500);
    write_identity("net/network0/node0/rank0/d0",
                   "{\"run_id\": \"r7\", \"task_slot\": 3, \"group_index\": 0, \"group_size\": 3}");
    write_identity("net/network0/node1/rank0/d0",
                   "{\"run_id\": \"r7\", \"task_slot\": 3, \"group_index\": 2, \"group_size\": 3}");
    expect(0, "swimlane net -o t.json");
    says("recording net: 4 ranks, 5 dispatches");
    says("network0/node1/rank0  ");
    says("order     network0/node1/rank0 began 1.000 ms after network0/node0/rank0");
    says("note      network0/node0/rank1 has an axis of its own");
    says("note      network1/node0/rank0 has an axis of its own");
    says("note      run r7, task slot 3: 2 of its 3 members are here");
    trace_has("t.json", "network1/node0/rank0/d1 (own clock) ", true);
    expect(0, "swimlane net/network1 -o t.json");
    says("recording net/network1: 1 rank, 2 dispatches");
    expect(0, "swimlane net --json -o t.json");
    says("\"path\": \"network0/node1/rank0/d0\", \"run_id\": \"r7\", \"task_slot\": 3, \"group_index\": 2, "
         "\"group_size\": 3");
    expect(0, "sched net --rank 1");
    write_identity("net/network0/node1/rank0/d0",
                   "{\"run_id\": 7, \"task_slot\": 3, \"group_index\": 3, \"group_size\": 3}");
    refuses("swimlane net", "network0/node1/rank0/d0/dispatch_identity.json: field 'group_index': 3 is none of 3");
}

static void no_word_is_the_newest_tree(void **state)
{
    (void)state;
    make_dir("outputs/job");
    make_leaf("outputs/job", 0, 2, 0, 1000000, 10);
    make_leaf("outputs/job", 1, 2, 0, 1500000, 10);
    make_clock("outputs/job", 0, TL_CLOCK_SAME, 0, 0);
    make_clock("outputs/job", 1, TL_CLOCK_SAME, 0, 0);
    expect(0, "swimlane");
    says("recording outputs/job: 2 ranks, 2 dispatches\n");
    says("\noutputs/job/merged_swimlane.json\n");
    expect(0, "swimlane --rank 1");
    says("recording outputs/job/rank1/d0: level 2, 1 task");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_skew_and_not_the_offset),
        cmocka_unit_test(below_the_bar_no_order),
        cmocka_unit_test(an_unknown_clock_is_said),
        cmocka_unit_test(a_rank_that_is_missing),
        cmocka_unit_test(one_of_a_tree),
        cmocka_unit_test(each_rank_names_its_tasks_by_its_runtime),
        cmocka_unit_test(ranks_below_nodes_and_networks),
        cmocka_unit_test(no_word_is_the_newest_tree),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
