/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a graph, and what is said about its paths, on one that is worked out by hand. */
#include "support/sched_fixture.h"
#include "unit/artifact_fixture.h"

#include "analysis/path/path_show.h"
#include "analysis/path/path_trace.h"
#include "base/env.h"

struct opened {
    struct tl_swimlane lane;
    struct tl_deps deps;
    struct tl_name_map names;
    struct tl_swim_join join;
    struct tl_path_run run;
};

static int try_open(struct opened *o, const char *lane, const char *deps, struct tl_error *error)
{
    memset(o, 0, sizeof(*o));
    assert_int_equal(tl__swimlane_parse(lane, strlen(lane), "lane", &o->lane, error), 0);
    assert_int_equal(tl__deps_parse(deps, strlen(deps), "deps", &o->deps, error), 0);
    assert_int_equal(tl__name_map_parse(sched_fixture_names, strlen(sched_fixture_names), "names", &o->names, error),
                     0);
    assert_int_equal(tl__swim_join(&o->lane, &o->deps, &o->names, &o->join, error), 0);
    return tl__path_run_make(&o->join, &o->run, error);
}

static void open_level(struct opened *o, unsigned level)
{
    struct tl_error error = {0};

    if (try_open(o, sched_fixture_lane[level], sched_fixture_deps, &error) < 0)
        fail_msg("%s", error.msg);
}

static void close_all(struct opened *o)
{
    tl__path_run_fini(&o->run);
    tl__swim_join_fini(&o->join);
    tl__name_map_fini(&o->names);
    tl__deps_fini(&o->deps);
    tl__swimlane_fini(&o->lane);
}

static void spent_is(const struct opened *o, const uint64_t *want)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < TL_PATH_KINDS; k++) {
        if (o->run.observed.spent_ns[k] != want[k])
            fail_msg("%s: %llu, not %llu", tl__path_kind_word(k), (unsigned long long)o->run.observed.spent_ns[k],
                     (unsigned long long)want[k]);
        sum += want[k];
    }
    assert_int_equal(sum, o->run.graph.end_ns - o->run.graph.begin_ns);
}

static void level_4_divides_the_wall_into_all_kinds(void **state)
{
    const uint64_t spent[] = {427, 150, 128, 45, 10, 0, 40};
    const uint32_t tasks[] = {0, 1, 2, 3, 4, 4}, chain[] = {0, 2, 3, 4};
    const uint8_t releases[] = {TL_PATH_BY_SUBMIT,   TL_PATH_BY_PRODUCER, TL_PATH_BY_CORE,
                                TL_PATH_BY_PRODUCER, TL_PATH_BY_PRODUCER, TL_PATH_BY_CORE};
    struct opened o;

    (void)state;
    open_level(&o, 4);
    assert_int_equal(o.run.graph.end_ns, 800);
    assert_int_equal(o.run.work_ns, 120 + 130 + 100 + 120 + 50 + 57 + 45 + 60);
    spent_is(&o, spent);
    assert_int_equal(o.run.observed.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(o.run.graph.slices[o.run.observed.steps[i].slice].task, tasks[i]);
        assert_int_equal(o.run.observed.steps[i].release, releases[i]);
    }
    assert_int_equal(o.run.chain.length_ns, 480);
    assert_int_equal(o.run.chain.count, 4);
    assert_memory_equal(o.run.chain.tasks, chain, sizeof(chain));
    assert_int_equal(o.run.graph.tasks_without_slices, 1); /* r0t5, which has no kernel: nothing to warn of */
    close_all(&o);
}

/* Without submits the first task's release is its dispatch, and what came before is the head. */
static void level_3_and_2(void **state)
{
    const uint64_t at_3[] = {427, 150, 120, 45, 0, 6, 40}, at_2[] = {427, 150, 120, 45, 0, 0, 10};
    struct opened o;

    (void)state;
    open_level(&o, 3); /* its first event is the phase at 12, its last the one that ends at 800 */
    spent_is(&o, at_3);
    close_all(&o);
    open_level(&o, 2); /* from the dispatch at 18 to the finish at 770 */
    assert_int_equal(o.run.graph.end_ns, 770 - 18);
    spent_is(&o, at_2);
    close_all(&o);
}

/* Without dispatch times all waiting is one; busy cores are still seen, where a producer says from when. */
static void level_1_has_one_kind_of_waiting(void **state)
{
    const uint64_t spent[] = {427, 150, 0, 3 + 50 + 50 + 5 + 50, 0, 0, 0};
    struct opened o;

    (void)state;
    open_level(&o, 1);
    assert_int_equal(o.run.graph.end_ns, 760 - 25);
    spent_is(&o, spent);
    close_all(&o);
}

static void kernels_have_their_shares_of_the_path(void **state)
{
    struct tl_path_share *shares;
    struct tl_rendering out;
    uint32_t count;
    struct opened o;

    (void)state;
    open_level(&o, 4);
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__path_shares_observed(&o.run, &shares, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(shares[0].ns, 100 + 120 + 50 + 57); /* scale */
    assert_int_equal(shares[0].count, 4);
    assert_int_equal(shares[0].busy_ns, 150);
    assert_int_equal(shares[0].wait_ns, 50 + 5 + 50 + 3);
    tl__put_path_kernel(&out, &o.run, &shares[0].kernel, false);
    assert_int_equal(shares[1].ns, 130); /* the mix's AIC part is what the path waited for */
    tl__put_str(&out, " ");
    tl__put_path_kernel(&out, &o.run, &shares[1].kernel, false);
    tl__free(shares);
    assert_int_equal(tl__path_shares_static(&o.run, &shares, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(shares[0].ns, 120 + 110);
    assert_int_equal(shares[1].ns, 130);
    tl__put_str(&out, " ");
    tl__put_path_kernel(&out, &o.run, &shares[1].kernel, false);
    tl__free(shares);
    tl__put_str(&out, "");
    assert_int_equal(out.used, strlen("scale matmul matmul+add|sum"));
    assert_memory_equal(out.data, "scale matmul matmul+add|sum", out.used);
    tl__rendering_fini(&out);
    close_all(&o);
}

/* Three submits up to the one that the path waited for: 0.1, 0.4 and 0.2 us, with the gaps 0.8 in all. */
static void advice_names_the_gaps_between_submits(void **state)
{
    static const char lane[] = SCHED_FIXTURE_HEAD(4) SCHED_FIXTURE_THREADS
        "\"aicore_tasks\": [[2, 1, 1, 1000860, 1000950], [2, 2, 2, 1000110, 1000120]], "
        "\"aicpu_tasks\": [[2, 1, 1000840, 1000955], [2, 2, 1000105, 1000125]]"
        ", \"aicpu_scheduler_phases\": [], \"aicpu_orchestrator_phases\": [[" SCHED_FIXTURE_SUBMIT(
            0, 2, 000,
            100) ", " SCHED_FIXTURE_SUBMIT(1, 4, 150,
                                           550) ", " SCHED_FIXTURE_SUBMIT(2, 1, 600,
                                                                          800) ", " SCHED_FIXTURE_SUBMIT(3, 5, 800,
                                                                                                         999) "]]}";
    static const char want[] =
        "orchestration, 80.1 %: submit earlier, or fewer and larger tasks: the path's first task, r0t1, waits 0.800 us "
        "until it is submitted; the 3 submits up to its own take 0.700 us of them, the longest, r0t4, 0.400 us; it "
        "also waits for a full ring (`tasklens scope dir`) and for a recording that cannot keep up";
    struct tl_path_advice advice;
    struct tl_error error = {0};
    struct opened o;

    (void)state;
    assert_int_equal(try_open(&o, lane, sched_fixture_deps, &error), 0);
    assert_int_equal(tl__path_advise(&o.run, "dir", &advice), 0);
    assert_int_equal(advice.count, 1); /* the rest is below a tenth of the wall each */
    assert_int_equal(advice.text[0].used, strlen(want));
    assert_memory_equal(advice.text[0].data, want, strlen(want));
    tl__path_advice_fini(&advice);
    close_all(&o);
}

static void a_cycle_is_named(void **state)
{
    struct tl_error error = {0};
    struct opened o;

    (void)state;
    assert_int_equal(try_open(&o, sched_fixture_lane[4], sched_fixture_cycle, &error), TL_EGRAPH);
    assert_non_null(strstr(error.msg, "a cycle of 3 tasks: r0t"));
    assert_non_null(strstr(error.msg, "r0t4 waits for r0t3"));
    close_all(&o);
}

/* The stretches of one lane of the trace: how many, and that they follow each other from 0 on, in ns. */
static unsigned lane_of(const char *trace, const char *lane, bool without_gap, uint64_t *ret_ns)
{
    unsigned count = 0;
    double end = 0, sum = 0;

    for (const char *at = strstr(trace, lane); at != NULL; at = strstr(at + 1, lane)) {
        const char *ts = strstr(at, "\"ts\": "), *line = strchr(at, '\n');
        double start, dur;

        if (ts == NULL || (line != NULL && ts > line))
            continue; /* what names the lane */
        start = strtod(ts + 6, NULL);
        dur = strtod(strstr(ts, "\"dur\": ") + 7, NULL);
        if (without_gap)
            assert_true(start > end - 1e-9 && start < end + 1e-9);
        end = start + dur;
        sum += dur;
        count++;
    }
    *ret_ns = (uint64_t)(sum * 1000 + 0.5);
    return count;
}

static void the_trace_marks_both_paths(void **state)
{
    struct tl_swim_drawn drawn;
    struct tl_json json;
    unsigned marked = 0;
    struct opened o;
    size_t bytes;
    uint64_t ns;
    char *text;

    (void)state;
    open_level(&o, 4);
    tl__json_init(&json, NULL, NULL);
    assert_int_equal(tl__path_trace_write(&json, &o.run, &drawn), 0);
    assert_int_equal(drawn.worker_slices, 8);
    assert_non_null(tl__json_text(&json, &bytes));
    text = strndup(tl__json_text(&json, &bytes), bytes);
    assert_non_null(text);
    /* 6 steps: 4 waited for a scheduler, 6 for their start, 4 ran and 2 were busy cores; the orchestrator, the tail */
    assert_int_equal(lane_of(text, "\"tid\": 50000,", true, &ns), 4 + 6 + 4 + 2 + 1 + 1);
    assert_int_equal(ns, 800);
    assert_int_equal(lane_of(text, "\"tid\": 50001,", false, &ns), 4);
    assert_int_equal(ns, 480);
    for (const char *at = strstr(text, "\"marked\": true"); at != NULL; at = strstr(at + 1, "\"marked\": true"))
        marked++;
    assert_int_equal(marked, 6);
    assert_non_null(strstr(text, "\"name\": \"Critical Path\""));
    assert_non_null(strstr(text, "\"name\": \"core busy\""));
    free(text);
    assert_int_equal(tl__json_finish(&json), 0);
    close_all(&o);
}

/* Rows that do not fit together: counted, and the sums still hold. */
static void what_does_not_fit(void **state)
{
    static const char lane[] =
        SCHED_FIXTURE_HEAD(2) "}, \"aicore_tasks\": [[0, 0, 1, 100, 200], [0, 9, 2, 150, 250], [2, 1, 1, 190, 120]], "
                              "\"aicpu_tasks\": [[0, 1, 90, 210], [0, 2, 95, 0], [2, 7, 95, 0]]}";
    static const char deps[] = SCHED_FIXTURE_TASKS SCHED_FIXTURE_EDGE(0, 1) ", " SCHED_FIXTURE_EDGE(17, 1) "]}";
    struct tl_error error = {0};
    struct tl_rendering out;
    struct opened o;

    (void)state;
    assert_int_equal(try_open(&o, lane, deps, &error), 0);
    assert_int_equal(o.run.edges_unlisted, 1);
    assert_int_equal(o.run.graph.early_edges, 1);
    assert_int_equal(o.run.graph.overlaps, 1);
    tl__rendering_init(&out, NULL, NULL);
    tl__put_path_notes(&out, &o.run, "- ");
    tl__put(&out, "", 1);
    assert_int_equal(out.error, 0);
    assert_non_null(strstr(out.data, "- 3 tasks of deps.json with a kernel, but no core ran it"));
    assert_non_null(strstr(out.data, "- 1 task with slices, but not in deps.json"));
    assert_non_null(strstr(out.data, "- 1 task dispatched and never ended"));
    assert_non_null(strstr(out.data, "- 2 slices that no scheduler saw finish"));
    assert_non_null(strstr(out.data, "- 1 record with an end before the start"));
    assert_non_null(strstr(out.data, "- 1 edge from or to a task that deps.json does not list"));
    assert_non_null(strstr(out.data, "- 1 edge whose consumer began before the producer ended"));
    assert_non_null(strstr(out.data, "- 1 slice begun before the one before it"));
    tl__rendering_fini(&out);
    close_all(&o);
}

/* Three tasks, each after the one before, that run at the same time: a chain of 300 ns in a run of 120 ns. */
static void a_chain_longer_than_the_run_is_a_contradiction(void **state)
{
    static const char lane[] = SCHED_FIXTURE_HEAD(1) "}, \"aicore_tasks\": [[0, 0, 1, 1000000, 1000100], "
                                                     "[2, 1, 1, 1000010, 1000110], [3, 2, 1, 1000020, 1000120]]}";
    static const char chain_of_three[] =
        SCHED_FIXTURE_TASKS SCHED_FIXTURE_EDGE(0, 1) ", " SCHED_FIXTURE_EDGE(1, 2) "]}";
    struct tl_path_contradiction c;
    struct tl_error error = {0};
    struct tl_rendering out;
    struct opened o;
    uint32_t at = 0;

    (void)state;
    open_level(&o, 4);
    assert_false(tl__path_contradicted(&o.run)); /* 480 ns of 800 */
    assert_false(tl__path_next_contradiction(&o.run, &at, &c));
    close_all(&o);

    at = 0;
    assert_int_equal(try_open(&o, lane, chain_of_three, &error), 0);
    assert_int_equal(o.run.chain.length_ns, 300);
    assert_true(tl__path_contradicted(&o.run));
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(tl__path_next_contradiction(&o.run, &at, &c));
        assert_int_equal(c.pred, i);
        assert_int_equal(c.succ, i + 1);
        assert_int_equal(c.overlap_ns, 90);
    }
    assert_false(tl__path_next_contradiction(&o.run, &at, &c));
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__path_text(&out, &o.run, "run"), 0);
    tl__put(&out, "", 1);
    assert_non_null(strstr(out.data, "static path: 0.300 us, 3 tasks, more than the wall of 0.120 us: a contradiction, "
                                     "no bound; the times contradict these edges: r0t1 begins 0.090 us before r0t0 "
                                     "ends, r0t2 begins 0.090 us before r0t1 ends\n"));
    assert_null(strstr(out.data, "cannot run shorter"));
    tl__rendering_fini(&out);
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__path_markdown(&out, &o.run, "run"), 0);
    tl__put(&out, "", 1);
    assert_non_null(strstr(out.data, "a contradiction, no bound"));
    assert_null(strstr(out.data, "cannot run shorter"));
    tl__rendering_fini(&out);
    close_all(&o);
}

static void an_empty_recording_is_rendered(void **state)
{
    static const char lane[] = SCHED_FIXTURE_HEAD(1) "}, \"aicore_tasks\": []}";
    static const char deps[] = "{\"tasks\": [], \"tensors\": [], \"edges\": []}";
    struct tl_error error = {0};
    struct tl_rendering out;
    struct opened o;

    (void)state;
    assert_int_equal(try_open(&o, lane, deps, &error), 0);
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__path_text(&out, &o.run, "dir"), 0);
    assert_int_equal(tl__path_markdown(&out, &o.run, "dir"), 0);
    assert_true(out.used > 0);
    tl__rendering_fini(&out);
    close_all(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_4_divides_the_wall_into_all_kinds),
        cmocka_unit_test(level_3_and_2),
        cmocka_unit_test(level_1_has_one_kind_of_waiting),
        cmocka_unit_test(kernels_have_their_shares_of_the_path),
        cmocka_unit_test(the_trace_marks_both_paths),
        cmocka_unit_test(advice_names_the_gaps_between_submits),
        cmocka_unit_test(a_cycle_is_named),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(an_empty_recording_is_rendered),
        cmocka_unit_test(a_chain_longer_than_the_run_is_a_contradiction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
