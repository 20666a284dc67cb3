/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/swim_world.h"

#include "analysis/swimlane/swim_trace.h"

static struct swim_world w;
static struct tl_swim_join join;
static struct tl_swim_scheds scheds;
static struct tl_swim_drawn drawn;
static struct tl_json json;
static char *text; /* of the trace */

static void draw(bool deps, bool overhead)
{
    const struct tl_swim_trace_opts opts = {.overhead = overhead};
    struct tl_error error = {0};
    const char *bytes;
    size_t n = 0;

    assert_int_equal(tl__swim_join(&w.lane, deps ? &w.deps : NULL, &w.names, &join, &error), 0);
    assert_int_equal(tl__swim_scheds(&join, &scheds), 0);
    tl__json_init(&json, NULL, NULL);
    assert_int_equal(tl__swim_trace_write(&json, &scheds, &opts, &drawn), 0);
    bytes = tl__json_text(&json, &n);
    assert_non_null(bytes);
    text = calloc(1, n + 1);
    assert_non_null(text);
    memcpy(text, bytes, n);
}

static void done(void)
{
    assert_int_equal(tl__json_finish(&json), 0);
    free(text);
    tl__swim_scheds_fini(&scheds);
    tl__swim_join_fini(&join);
}

/* How often `part` is in the trace. */
static unsigned count(const char *part)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

static void has(const char *part)
{
    if (count(part) != 1)
        fail_msg("%u times, not once: %s\n%s", count(part), part, text);
}

static void each_slice_in_its_view(void **state)
{
    (void)state;
    world_everything(&w);
    draw(true, false);
    /* The origin is 1000; the receive column makes a slice longer than its kernel. */
    has("{\"name\": \"load(r0t0)\", \"ph\": \"X\", \"pid\": 4, \"tid\": 10010, \"ts\": 0.195, \"dur\": 0.105, \"cat\": "
        "\"event\", "
        "\"id\": 1, \"args\": {\"event-hint\": \"Task:r0t0, FuncId:0, CoreId:1\", \"duration-us\": 0.105, "
        "\"kernel-duration-us\": 0.1, \"local_setup_us\": 0.005, \"fanout-hint\": \"1: [r0t1]\", \"fanin-hint\": \"0: "
        "[]\", "
        "\"taskId\": 0}}");
    has("{\"name\": \"load(r0t0)\", \"ph\": \"X\", \"pid\": 3, \"tid\": 10010, \"ts\": 0.18, \"dur\": 0.15, \"cat\": "
        "\"event\", "
        "\"id\": 9, \"args\": {\"event-hint\": \"Task:r0t0, FuncId:0, CoreId:1\", \"dispatch-time-us\": 0.18, "
        "\"finish-time-us\": 0.33, \"aicpu-duration-us\": 0.15, \"taskId\": 0}}");
    /* The second block of core 1 was dispatched while the first ran: the second lane of the core, in that view only. */
    has("{\"name\": \"load_spmd(r1t0)\", \"ph\": \"X\", \"pid\": 3, \"tid\": 10011, \"ts\": 1.15, \"dur\": 0.16");
    has("{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 3, \"tid\": 10011, \"cat\": \"__metadata\", \"args\": "
        "{\"name\": \"AIV_1\"}}");
    assert_int_equal(count("\"pid\": 4, \"tid\": 10011"), 0);
    has("{\"name\": \"dummy_task(r1t1)\", \"ph\": \"X\", \"pid\": 4, \"tid\": 19000, \"ts\": 1.355, \"dur\": 0.02");
    has("{\"name\": \"submit(r0t1)\", \"ph\": \"X\", \"pid\": 1, \"tid\": 4000, \"ts\": 0.05, \"dur\": 0.03");
    /* An inner phase on the scheduler's second lane. */
    has("{\"name\": \"resolve(1)\", \"ph\": \"X\", \"pid\": 2, \"tid\": 30001, \"ts\": 0.34, \"dur\": 0.02");
    has("\"phase\": \"dispatch\", \"loop_iter\": 1, \"tasks_processed\": 1, \"pop_hit\": 1, \"pop_miss\": 3, "
        "\"shared_at_start (aic,aiv,mix)\": [0, 1, 0], \"shared_at_end (aic,aiv,mix)\": [0, 0, 0]}}");
    has("{\"name\": \"shared_ready_queue\", \"ph\": \"C\", \"pid\": 2, \"tid\": 3999, \"ts\": 0.19, \"cat\": "
        "\"queue\", "
        "\"args\": {\"AIC\": 0, \"AIV\": 0, \"MIX\": 0}}");
    has("\"phase\": \"complete\", \"loop_iter\": 5, \"tasks_processed\": 2, \"finishes_processed\": 2, "
        "\"finish_rows_attributed\": 2}}");
    assert_int_equal(drawn.worker_slices, 9);
    assert_int_equal(drawn.sched_slices, 8);
    assert_int_equal(drawn.phases, 11);
    assert_int_equal(drawn.submits, 4);
    assert_int_equal(drawn.crowded + drawn.unplaced, 0);
    assert_int_equal(drawn.events, count("{\"name\": \"") - count("\"args\": {\"name\": \""));
    done();
}

static void arrows_of_each_kind(void **state)
{
    (void)state;
    world_everything(&w);
    draw(true, false);
    /* plain -> three subtasks of the mix; each of them -> the SPMD task's first block; that -> the dummy, in the Worker
     * View only. The two edges of plain and mix are one pair. */
    assert_int_equal(drawn.arrows[TL_ARROW_WORKER], 3 + 3 + 1);
    assert_int_equal(drawn.arrows[TL_ARROW_SCHED], 3 + 3);
    assert_int_equal(drawn.arrows[TL_ARROW_DISPATCH], 2 * (1 + 3 + 1));
    assert_int_equal(drawn.arrows[TL_ARROW_COMPLETE], 2 * (1 + 3 + 1));
    assert_int_equal(drawn.arrows[TL_ARROW_READY], 2);
    assert_int_equal(drawn.arrows[TL_ARROW_SUBMIT], 3);
    for (unsigned i = 0; i < TL_ARROW_COUNT; i++)
        assert_int_equal(drawn.backward[i], 0);
    assert_int_equal(count("\"name\": \"dependency\""), 2 * 13);
    /* From the last nanosecond of plain to the start of the mix's AIC subtask. */
    has("{\"name\": \"dependency\", \"ph\": \"s\", \"pid\": 4, \"tid\": 10010, \"ts\": 0.299, \"cat\": \"flow\", "
        "\"id\": 0, "
        "\"input_task_count\": 1, \"output_task_count\": 1}");
    has("{\"name\": \"dependency\", \"ph\": \"f\", \"pid\": 4, \"tid\": 10000, \"ts\": 0.5, \"cat\": \"flow\", \"id\": "
        "0, "
        "\"bp\": \"e\", \"input_task_count\": 1, \"output_task_count\": 1}");
    /* The SPMD task stands for four slices, by the first of them. */
    has("{\"name\": \"dependency\", \"ph\": \"s\", \"pid\": 4, \"tid\": 10010, \"ts\": 1.199, \"cat\": \"flow\", "
        "\"id\": 6, "
        "\"input_task_count\": 1, \"output_task_count\": 4}");
    has("{\"name\": \"dependency\", \"ph\": \"f\", \"pid\": 4, \"tid\": 19000, \"ts\": 1.355, \"cat\": \"flow\", "
        "\"id\": 6, "
        "\"bp\": \"e\", \"input_task_count\": 1, \"output_task_count\": 4}");
    /* The complete phase that saw the mix's last subtask -> the dispatch of the SPMD task. */
    has("{\"name\": \"complete\u2192ready\", \"ph\": \"s\", \"pid\": 2, \"tid\": 30000, \"ts\": 0.989,");
    has("{\"name\": \"complete\u2192ready\", \"ph\": \"f\", \"pid\": 2, \"tid\": 30000, \"ts\": 1.06,");
    has("{\"name\": \"submit\u2192dispatch\", \"ph\": \"s\", \"pid\": 1, \"tid\": 4000, \"ts\": 0.039,");
    done();
}

/* 128 blocks feed 64: one arrow in each view, whatever lane each block is on. */
static void an_spmd_edge_is_one_arrow(void **state)
{
    (void)state;
    world_init(&w, 4, 0, 16);
    (void)world_task(&w, 1, -1, 0, -1, 128);
    (void)world_task(&w, 2, -1, 0, -1, 64);
    (void)world_edge(&w, 1, 2);
    for (unsigned i = 0; i < 128; i++)
        world_slice(&w, 15 - i % 16, 1, 1 + i / 16, 1000 + 100 * (i / 16) + i % 16, 1090 + 100 * (i / 16), 5, 5);
    for (unsigned i = 0; i < 64; i++)
        world_slice(&w, i % 16, 2, 9 + i / 16, 3000 + 100 * (i / 16) + i % 16, 3090 + 100 * (i / 16), 5, 5);
    draw(true, false);
    assert_int_equal(drawn.arrows[TL_ARROW_WORKER], 1);
    assert_int_equal(drawn.arrows[TL_ARROW_SCHED], 1);
    assert_int_equal(drawn.worker_slices, 192);
    assert_int_equal(count("\"name\": \"dependency\", \"ph\": \"s\", \"pid\": 4, \"tid\": 10150, \"ts\": 0.094"), 1);
    assert_int_equal(count("\"name\": \"dependency\", \"ph\": \"f\", \"pid\": 4, \"tid\": 10000, \"ts\": 2.005"), 1);
    assert_int_equal(count("\"input_task_count\": 64, \"output_task_count\": 128"), 4);
    done();
}

/* Blocks of a mix too. */
static void an_spmd_mix_is_one_arrow(void **state)
{
    (void)state;
    world_init(&w, 2, 2, 4);
    (void)world_task(&w, 1, 0, 1, 2, 2);
    (void)world_task(&w, 2, 0, 1, -1, 2);
    (void)world_edge(&w, 1, 2);
    for (unsigned core = 0; core < 6; core++)
        world_slice(&w, core, 1, 1, 1100 - core, 1200, 5, 5);
    for (unsigned core = 0; core < 4; core++)
        world_slice(&w, core, 2, 2, 1300 + core, 1400, 5, 5);
    draw(true, false);
    assert_int_equal(drawn.arrows[TL_ARROW_WORKER], 1);
    assert_int_equal(drawn.arrows[TL_ARROW_SCHED], 1);
    assert_int_equal(count("\"name\": \"dependency\", \"ph\": \"s\", \"pid\": 4, \"tid\": 10050,"), 1);
    assert_int_equal(count("\"input_task_count\": 4, \"output_task_count\": 6"), 4);
    done();
}

static void no_arrow_runs_backwards(void **state)
{
    (void)state;
    world_init(&w, 2, 2, 0);
    (void)world_task(&w, 1, 0, -1, -1, 1);
    (void)world_task(&w, 2, 0, -1, -1, 1);
    (void)world_edge(&w, 1, 2);
    (void)world_edge(&w, 2, 1); /* a cycle: one of the two cannot be so */
    world_slice(&w, 0, 1, 1, 1000, 1100, 10, 10);
    world_slice(&w, 1, 2, 1, 1200, 1300, 10, 10);
    draw(true, false);
    assert_int_equal(drawn.arrows[TL_ARROW_WORKER], 1);
    assert_int_equal(drawn.backward[TL_ARROW_WORKER], 1);
    assert_int_equal(drawn.arrows[TL_ARROW_SCHED], 1);
    assert_int_equal(drawn.backward[TL_ARROW_SCHED], 1);
    done();

    /* A consumer that is dispatched early waits on its core: its dispatch is before its producer's finish. */
    w.deps.n_edges = 1;
    w.aicpus[1].dispatch_cycles = 1050;
    draw(true, false);
    assert_int_equal(drawn.arrows[TL_ARROW_WORKER], 1);
    assert_int_equal(drawn.backward[TL_ARROW_SCHED], 1);
    done();
    w.tasks[1].early_dispatch = true;
    draw(true, false);
    assert_int_equal(drawn.arrows[TL_ARROW_SCHED], 1);
    has("\"name\": \"dependency\", \"ph\": \"s\", \"pid\": 3, \"tid\": 10000, \"ts\": 0.06");
    has("\"name\": \"dependency\", \"ph\": \"f\", \"pid\": 3, \"tid\": 10010, \"ts\": 0.06");
    done();
}

static void what_never_finished_is_drawn_to_the_end(void **state)
{
    (void)state;
    world_init(&w, 3, 1, 1);
    (void)world_core(&w, 0, 1, 1, 1000, 1100);
    world_aicpu(&w, 0, 1, 990, 0);
    world_aicpu(&w, 1, 5, 1020, 0); /* still running at the end */
    (void)world_phase(&w, 0, TL_PHASE_DISPATCH, 1500, 1600, 0);
    draw(false, false);
    has("\"name\": \"task(r0t1)\", \"ph\": \"X\", \"pid\": 3, \"tid\": 10000, \"ts\": 0, \"dur\": 0.11,");
    has("\"name\": \"never ended(reg 5)\", \"ph\": \"X\", \"pid\": 3, \"tid\": 10010, \"ts\": 0.03, \"dur\": 0.58,");
    assert_int_equal(count("\"finish\": \"missing\""), 2);
    assert_int_equal(drawn.unplaced, 1); /* the dispatch of r0t1: no phase at 990 */
    done();
}

static void levels_show_what_they_have(void **state)
{
    (void)state;
    world_everything(&w);
    w.lane.n_orchs = 0;
    w.lane.level = 3;
    draw(true, false);
    assert_int_equal(count("\"pid\": 1,"), 0);
    assert_int_equal(drawn.arrows[TL_ARROW_SUBMIT], 0);
    assert_true(drawn.arrows[TL_ARROW_DISPATCH] > 0);
    done();
    w.lane.n_phases = 0;
    w.lane.core_to_thread = NULL;
    w.lane.level = 2;
    draw(true, false);
    assert_int_equal(count("\"pid\": 2,"), 0);
    assert_int_equal(drawn.arrows[TL_ARROW_DISPATCH] + drawn.arrows[TL_ARROW_COMPLETE] + drawn.arrows[TL_ARROW_READY],
                     0);
    assert_int_equal(drawn.arrows[TL_ARROW_SCHED], 6);
    assert_int_equal(drawn.unplaced, 0);
    done();
    w.lane.n_aicpus = 0;
    w.lane.level = 1;
    draw(true, true);
    assert_int_equal(count("\"pid\": 3,"), 0);
    assert_int_equal(drawn.arrows[TL_ARROW_WORKER], 6);
    assert_false(drawn.has_overhead);
    done();
}

/* More slices at once than a core has lanes. */
static void a_crowded_core_is_counted(void **state)
{
    (void)state;
    world_init(&w, 2, 1, 0);
    for (uint32_t i = 0; i < 12; i++) {
        (void)world_core(&w, 0, i, i, 1000 + i, 1001 + i);
        world_aicpu(&w, 0, i, 900 + i, 2000);
    }
    draw(false, false);
    assert_int_equal(drawn.crowded, 2);
    assert_int_equal(count("\"ph\": \"X\", \"pid\": 3, \"tid\": 10009"), 3);
    done();
}

static void names_are_escaped(void **state)
{
    (void)state;
    world_everything(&w);
    world_name(&w, 0, "a \"b\"\\\n\xc3\xa9\xff");
    draw(true, false);
    assert_true(count("a \\\"b\\\"\\\\\\n\xc3\xa9\xef\xbf\xbd"
                      "ff(r0t0)") == 2);
    done();
}

/* ---- overhead ---- */

struct change {
    uint64_t cycles;
    struct tl_swim_state state;
};
static struct change changes[64];
static unsigned n_changes;

static void note_change(void *ctx, uint64_t cycles, const struct tl_swim_state *state)
{
    (void)ctx;
    assert_true(n_changes < 64);
    changes[n_changes++] = (struct change){cycles, *state};
}

static struct tl_swim_overhead overhead_of(void)
{
    struct tl_swim_overhead sum = {0};
    struct tl_error error = {0};

    n_changes = 0;
    assert_int_equal(tl__swim_join(&w.lane, &w.deps, NULL, &join, &error), 0);
    assert_int_equal(tl__swim_overhead(&join, note_change, NULL, &sum), 0);
    return sum;
}

static void state_at(uint64_t cycles, unsigned aic_idle, unsigned aiv_idle, unsigned aic_ready, unsigned aiv_ready)
{
    const struct change *found = NULL;

    for (unsigned i = 0; i < n_changes && changes[i].cycles <= cycles; i++)
        found = &changes[i];
    assert_non_null(found);
    assert_int_equal(found->state.idle[TL_AIC], aic_idle);
    assert_int_equal(found->state.idle[TL_AIV], aiv_idle);
    assert_int_equal(found->state.ready[TL_AIC], aic_ready);
    assert_int_equal(found->state.ready[TL_AIV], aiv_ready);
    assert_int_equal(found->state.overhead[TL_AIC], aic_idle > 0 && aic_ready > 0);
    assert_int_equal(found->state.overhead[TL_AIV], aiv_idle > 0 && aiv_ready > 0);
    assert_int_equal(found->state.has, found->state.overhead[0] || found->state.overhead[1]);
    assert_int_equal(found->state.all, found->state.overhead[0] && found->state.overhead[1]);
}

/*
 * 1 AIC and 2 AIV. Times since the origin:
 *   A  AIV 1   dispatched 0, ends 100             a root: ready at its own dispatch
 *   B  AIC 0   producer A, dispatched 130, ends 300
 *   C  mix     producers A and B, dispatched 350, ends 400 (AIC) and 500 (AIV 1)
 *   D  AIV 2   producer A, dispatched 90: before A has ended, never late
 */
static void overhead_is_that_worked_out_by_hand(void **state)
{
    struct tl_swim_overhead sum;

    (void)state;
    world_init(&w, 2, 1, 2);
    (void)world_task(&w, 1, -1, 0, -1, 1);
    (void)world_task(&w, 2, 0, -1, -1, 1);
    (void)world_task(&w, 3, 0, 1, -1, 1);
    (void)world_task(&w, 4, -1, 0, -1, 1);
    (void)world_edge(&w, 1, 2);
    (void)world_edge(&w, 1, 3);
    (void)world_edge(&w, 2, 3);
    (void)world_edge(&w, 1, 4);
    (void)world_core(&w, 1, 1, 1, 1010, 1100);
    world_aicpu(&w, 1, 1, 1000, 1120);
    (void)world_core(&w, 0, 2, 1, 1140, 1300);
    world_aicpu(&w, 0, 1, 1130, 1310);
    (void)world_core(&w, 0, 3, 2, 1360, 1400);
    world_aicpu(&w, 0, 2, 1350, 1410);
    (void)world_core(&w, 1, 3, 2, 1370, 1500);
    world_aicpu(&w, 1, 2, 1352, 1510);
    (void)world_core(&w, 2, 4, 1, 1100, 1340);
    world_aicpu(&w, 2, 1, 1090, 1345);
    sum = overhead_of();
    state_at(0, 1, 1, 0, 0);
    state_at(90, 1, 0, 0, 0);
    state_at(100, 1, 1, 1, 0); /* A has ended: B is ready and its core idle */
    state_at(130, 0, 1, 0, 0);
    state_at(300, 1, 1, 1, 1); /* B has ended: C is ready for both types */
    state_at(340, 1, 2, 1, 1);
    state_at(350, 0, 2, 0, 0); /* the first subtask is out: the task is dispatched */
    state_at(352, 0, 1, 0, 0);
    state_at(500, 1, 2, 0, 0);
    assert_int_equal(changes[n_changes - 1].cycles, 510); /* the last finish */
    assert_int_equal(sum.cycles, 510);
    assert_int_equal(sum.overhead[TL_AIC], 30 + 50);
    assert_int_equal(sum.overhead[TL_AIV], 50);
    assert_int_equal(sum.has, 80);
    assert_int_equal(sum.all, 50);
    assert_int_equal(sum.late_tasks, 2);
    tl__swim_join_fini(&join);

    /* A producer that is not in the capture says nothing; if all are outside, the task was ready when dispatched. */
    (void)world_edge(&w, 77, 3);
    sum = overhead_of();
    assert_int_equal(sum.has, 80);
    tl__swim_join_fini(&join);
    w.edges[0].pred = 77;
    sum = overhead_of();
    assert_int_equal(sum.overhead[TL_AIC], 50);
    assert_int_equal(sum.late_tasks, 1);
    tl__swim_join_fini(&join);
    /* So does one that is kept, and not waited for. */
    w.edges[2].flags = TL_DEPS_HAS_FLAGS | TL_DEPS_RETAIN;
    sum = overhead_of();
    assert_int_equal(sum.overhead[TL_AIC], 30 + 50); /* not while the AIC core runs B */
    assert_int_equal(sum.overhead[TL_AIV], 250);
    tl__swim_join_fini(&join);
}

/* No overhead without an idle core: two tasks are ready, one core is all there is. */
static void a_busy_core_is_no_overhead(void **state)
{
    struct tl_swim_overhead sum;

    (void)state;
    world_init(&w, 2, 1, 0);
    for (unsigned i = 0; i < 4; i++)
        (void)world_task(&w, i, 0, -1, -1, 1);
    for (unsigned i = 1; i < 4; i++)
        (void)world_edge(&w, 0, i);
    for (unsigned i = 0; i < 4; i++) {
        (void)world_core(&w, 0, i, i, 1000 + 100 * i, 1090 + 100 * i);
        world_aicpu(&w, 0, i, i < 2 ? 1000 + 100 * i : 1080 + 100 * (i - 1), 1095 + 100 * i); /* the next one pending */
    }
    sum = overhead_of();
    /* 90..100 only: then one of them is always on its way to the core before the one before has ended. */
    assert_int_equal(sum.overhead[TL_AIC], 10);
    assert_int_equal(sum.all, 10); /* the only type there is */
    assert_int_equal(sum.late_tasks, 3);
    tl__swim_join_fini(&join);
}

static void overhead_in_the_trace(void **state)
{
    (void)state;
    world_everything(&w);
    draw(true, true);
    assert_true(drawn.has_overhead);
    has("{\"name\": \"oh_aic_idle\", \"ph\": \"C\", \"pid\": 2, \"tid\": 3998, \"ts\": 0, \"cat\": \"overhead\", "
        "\"args\": {\"value\": 1}}");
    has("{\"name\": \"oh_has_overhead\", \"ph\": \"C\", \"pid\": 2, \"tid\": 3998, \"ts\": 0.3, \"cat\": \"overhead\", "
        "\"args\": {\"value\": 1}}");
    has("{\"name\": \"oh_has_overhead\", \"ph\": \"C\", \"pid\": 2, \"tid\": 3998, \"ts\": 0.45, \"cat\": "
        "\"overhead\", \"args\": {\"value\": 0}}");
    assert_true(count("oh_all_overhead") >= 3 && count("oh_aiv_overhead") >= 3 && count("oh_aic_overhead") >= 3);
    assert_int_equal(drawn.counters, count("\"name\": \"oh_"));
    done();
    draw(false, true);
    assert_false(drawn.has_overhead);
    assert_int_equal(count("oh_"), 0);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_slice_in_its_view),     cmocka_unit_test(arrows_of_each_kind),
        cmocka_unit_test(an_spmd_edge_is_one_arrow),  cmocka_unit_test(an_spmd_mix_is_one_arrow),
        cmocka_unit_test(no_arrow_runs_backwards),    cmocka_unit_test(what_never_finished_is_drawn_to_the_end),
        cmocka_unit_test(levels_show_what_they_have), cmocka_unit_test(a_crowded_core_is_counted),
        cmocka_unit_test(names_are_escaped),          cmocka_unit_test(overhead_is_that_worked_out_by_hand),
        cmocka_unit_test(a_busy_core_is_no_overhead), cmocka_unit_test(overhead_in_the_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
