/* SPDX-License-Identifier: Apache-2.0 */
/* chip_swimlane_records.json: what is written is read back the same, level by level; what is wrong is named. */
#include "json_edit.h"

#include <tasklens/kernel.h>

#include "artifact/swimlane.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint8_t core_types[] = {TL_AIC, TL_AIV, TL_AIV};
static int32_t core_to_thread[] = {0, 4, -1};

static struct tl_swim_core cores[] = {
    {.core_id = 2, .task_id = UINT64_MAX, .reg_task_id = UINT32_MAX, .start_cycles = 10, .end_cycles = 12},
    {.core_id = 0, .task_id = 5, .reg_task_id = 1, .start_cycles = UINT64_MAX - 1, .end_cycles = UINT64_MAX},
};

static struct tl_swim_aicpu aicpus[] = {
    {.core_id = 2, .reg_task_id = UINT32_MAX, .dispatch_cycles = 9, .finish_cycles = 15},
    {.core_id = 0, .reg_task_id = 1, .dispatch_cycles = 8},
};

/* By thread, as a reader gives them. */
static struct tl_swim_phase phases[] = {
    {.kind = TL_PHASE_COMPLETE, .start_cycles = 1, .end_cycles = 2, .loop_iter = 3, .tasks_processed = 4, .thread = 0},
    {.kind = TL_PHASE_DISPATCH,
     .start_cycles = 5,
     .end_cycles = UINT64_MAX,
     .loop_iter = UINT32_MAX,
     .tasks_processed = UINT32_MAX,
     .has = TL_SWIM_HAS_POP | TL_SWIM_HAS_SHARED,
     .pop_hit = 6,
     .pop_miss = 7,
     .shared_at_start = {8, 9, 10},
     .shared_at_end = {11, 12, UINT32_MAX},
     .thread = 0},
    {.kind = TL_PHASE_DUMMY_TASK,
     .start_cycles = 3,
     .end_cycles = 3,
     .has = TL_SWIM_HAS_TASK_ID,
     .task_id = UINT64_MAX,
     .thread = 2},
    {.kind = TL_PHASE_IDLE, .thread = 4},
};

static struct tl_swim_orch orchs[] = {
    {.submit_idx = 0, .task_id = UINT64_MAX, .start_cycles = 4, .end_cycles = 5, .thread = 0},
    {.submit_idx = UINT32_MAX, .task_id = 1, .start_cycles = 6, .end_cycles = 7, .thread = 1},
};

static struct tl_swimlane all_of_it(unsigned level)
{
    return (struct tl_swimlane){.level = level,
                                .num_cores = COUNT_OF(core_types),
                                .clock_freq_hz = 1000000000,
                                .core_types = core_types,
                                .core_to_thread = core_to_thread,
                                .cores = cores,
                                .aicpus = aicpus,
                                .phases = phases,
                                .orchs = orchs,
                                .n_cores = COUNT_OF(cores),
                                .n_aicpus = COUNT_OF(aicpus),
                                .n_phases = COUNT_OF(phases),
                                .n_orchs = COUNT_OF(orchs),
                                .n_anchors = 2,
                                .anchors = {{"begin", 100, 7, 103, 2}, {"quiesce", 200, UINT64_MAX, 200, 0}}};
}

static struct tl_swimlane write_and_read(const struct tl_swimlane *s)
{
    struct tl_swimlane back = {0};
    struct tl_error err = {0};

    if (tl__swimlane_write(fixture_dir, s, &err) != 0 ||
        tl__swimlane_read(fixture_path(TL_SWIMLANE_NAME), &back, &err) != 0)
        fail_msg("%s", err.msg);
    return back;
}

static void assert_rows(const struct tl_swimlane *s)
{
    assert_int_equal(s->n_cores, COUNT_OF(cores));
    for (unsigned i = 0; i < COUNT_OF(cores); i++)
        assert_memory_equal(&s->cores[i], &cores[i], sizeof(cores[i]));
    if (s->level < 2)
        return;
    assert_int_equal(s->n_aicpus, COUNT_OF(aicpus));
    for (unsigned i = 0; i < COUNT_OF(aicpus); i++)
        assert_memory_equal(&s->aicpus[i], &aicpus[i], sizeof(aicpus[i]));
}

static void assert_phases(const struct tl_swimlane *s)
{
    assert_int_equal(s->n_phases, COUNT_OF(phases));
    for (unsigned i = 0; i < COUNT_OF(phases); i++) {
        const struct tl_swim_phase *a = &s->phases[i], *b = &phases[i];

        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->thread, b->thread);
        assert_int_equal(a->has, b->has);
        assert_true(a->start_cycles == b->start_cycles && a->end_cycles == b->end_cycles && a->task_id == b->task_id);
        assert_true(a->loop_iter == b->loop_iter && a->tasks_processed == b->tasks_processed);
        assert_true(a->pop_hit == b->pop_hit && a->pop_miss == b->pop_miss);
        assert_memory_equal(a->shared_at_start, b->shared_at_start, sizeof(a->shared_at_start));
        assert_memory_equal(a->shared_at_end, b->shared_at_end, sizeof(a->shared_at_end));
    }
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    for (unsigned level = 1; level <= 4; level++) {
        struct tl_swimlane s = all_of_it(level), back = write_and_read(&s);

        assert_int_equal(back.level, level);
        assert_int_equal(back.num_cores, 3);
        assert_int_equal(back.clock_freq_hz, 1000000000);
        assert_memory_equal(back.core_types, core_types, sizeof(core_types));
        assert_rows(&back);
        assert_int_equal(back.n_anchors, 2);
        for (unsigned i = 0; i < 2; i++)
            assert_memory_equal(&back.anchors[i], &s.anchors[i], sizeof(s.anchors[i]));
        assert_int_equal(back.n_aicpus == 0, level < 2);
        assert_int_equal(back.n_phases == 0, level < 3);
        assert_int_equal(back.n_orchs == 0, level < 4);
        assert_int_equal(back.core_to_thread == NULL, level < 3);
        assert_false(back.orch_is_host_clock);
        if (level >= 3) {
            assert_memory_equal(back.core_to_thread, core_to_thread, sizeof(core_to_thread));
            assert_phases(&back);
        }
        if (level == 4) {
            json_matches_golden(TL_SWIMLANE_NAME);
            assert_int_equal(back.n_orchs, 2);
            assert_memory_equal(back.orchs, orchs, sizeof(orchs));
        }
        assert_int_equal(back.unknown_kinds + back.backward + back.duplicates, 0);
        tl__swimlane_fini(&back);
        assert_null(back.cores);
    }
}

/* A host's orchestrator keeps its clock. */
static void other_forms_are_written(void **state)
{
    struct tl_swimlane s = all_of_it(4), back;
    char *text;

    (void)state;
    s.orch_is_host_clock = true;
    cores[1].receive_cycles = UINT64_MAX;
    back = write_and_read(&s);
    assert_true(back.orch_is_host_clock);
    assert_memory_equal(back.orchs, orchs, sizeof(orchs));
    assert_rows(&back);
    tl__swimlane_fini(&back);
    cores[1].receive_cycles = 0;
    text = fixture_read(TL_SWIMLANE_NAME, NULL);
    assert_non_null(strstr(text, "[2, 18446744073709551615, 4294967295, 10, 12, 0]"));
    assert_non_null(strstr(text, "\"orchestrator_clock_domain\": \"host_monotonic_ns\""));
    assert_non_null(strstr(text, "\"host_orchestrator_phases\": ["));
    assert_null(strstr(text, "aicpu_orchestrator_phases"));
    free(text);
}

/* Rows of several threads in any order: each thread's list has its own, in their order. */
static void rows_are_sorted_by_thread(void **state)
{
    static const uint16_t threads[] = {4, 0, 2, 0, 4, 2, 0}, expected[] = {1, 3, 6, 2, 5, 0, 4};
    struct tl_swim_phase mixed[COUNT_OF(threads)] = {{0}};
    struct tl_swimlane s = all_of_it(3), back;

    (void)state;
    for (unsigned i = 0; i < COUNT_OF(threads); i++) {
        mixed[i].thread = threads[i];
        mixed[i].loop_iter = i;
    }
    s.phases = mixed;
    s.n_phases = COUNT_OF(mixed);
    back = write_and_read(&s);
    assert_int_equal(back.n_phases, COUNT_OF(threads));
    for (unsigned i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(back.phases[i].loop_iter, expected[i]);
        assert_int_equal(back.phases[i].thread, threads[expected[i]]);
    }
    tl__swimlane_fini(&back);
}

static void an_empty_run_is_written_and_read(void **state)
{
    static const char text[] = "{\n  \"chip_swimlane_level\": 4,\n  \"metadata\": {\n    \"clock_freq_hz\": 1,\n"
                               "    \"num_cores\": 0,\n    \"core_types\": []\n  },\n  \"aicore_tasks\": [],\n"
                               "  \"aicpu_tasks\": [],\n  \"aicpu_scheduler_phases\": [],\n"
                               "  \"aicpu_orchestrator_phases\": []\n}\n";
    struct tl_swimlane s = {.level = 4, .clock_freq_hz = 1}, back = write_and_read(&s);
    char *written = fixture_read(TL_SWIMLANE_NAME, NULL);

    (void)state;
    assert_string_equal(written, text);
    free(written);
    assert_int_equal(back.n_cores + back.n_aicpus + back.n_phases + back.n_orchs, 0);
    assert_null(back.core_to_thread);
    tl__swimlane_fini(&back);
}

static void names_of_phases_are_understood_in_both_spellings(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TL_PHASE_COUNT; i++)
        if (i != TL_PHASE_OTHER && i != TL_PHASE_OTHER_INNER) /* no file's own */
            assert_int_equal(tl__phase_parse(tl__phase_name(i), strlen(tl__phase_name(i))), i);
    assert_null(tl__phase_name(TL_PHASE_COUNT));
    assert_int_equal(tl__phase_parse("fanout", 6), TL_PHASE_RESOLVE);
    assert_int_equal(tl__phase_parse("prestage", 8), TL_PHASE_EARLY_DISPATCH);
    assert_int_equal(tl__phase_parse("dispatcher", 8), TL_PHASE_DISPATCH); /* the length counts */
    assert_int_equal(tl__phase_parse("dispatcher", 10), TL_ENOENT);
    assert_int_equal(tl__phase_parse("", 0), TL_ENOENT);
    assert_int_equal(tl__phase_group(TL_PHASE_DRAIN), TL_PHASE_OUTER);
    assert_int_equal(tl__phase_group(TL_PHASE_RESOLVE), TL_PHASE_INNER);
    assert_int_equal(tl__phase_group(TL_PHASE_PREDICATED_SKIP), TL_PHASE_LANE);
    assert_int_equal(tl__phase_group(TL_PHASE_IDLE), TL_PHASE_GAP);
    assert_int_equal(tl__phase_group(TL_PHASE_COUNT), TL_PHASE_GAP);
}

#define HEAD(level) "{\"chip_swimlane_level\": " level ", "
#define META(more)                                                                                                     \
    "\"metadata\": {\"clock_freq_hz\": 5e7, \"num_cores\": 2, \"core_types\": [\"AIC\", \"aiv\"]" more "}"

/* What files in the wild leave out, add, or have wrong without being useless. */
static void other_writers_are_understood(void **state)
{
    static const char text[] = HEAD(
        "4") "\"aicpu_scheduler_phases\": [[], "
             "[{\"kind\": \"fanout\", \"start_cycles\": 9, \"end_cycles\": 3, \"loop_iter\": 1, \"tasks_processed\": 0,"
             "  \"thread_id\": 17}, {\"kind\": \"nap\", \"start_cycles\": \"x\"}, {\"kind\": \"a name that is far "
             "longer "
             "than its room\"}], [{\"kind\": \"predicated_skip\", \"start_cycles\": 1, \"end_cycles\": 2, \"task_id\": "
             "5,"
             "  \"shared_at_start\": [1], \"shared_at_end\": [1, 2, 3, 4], \"thread\": 3},"
             " {\"kind\": \"scan\", \"start_cycles\": 1, \"end_cycles\": 2, \"loop_iter\": 1, \"tasks_processed\": "
             "0}]],"
             "\"aicore_tasks\": [[0, \"7\", 1, 5, null], [1, 7, 1, 5, 4, 9], [0, 8, 1, 5, 6, null]],"
             "\"aicpu_tasks\": [[0, 1, 5], [1, 1, 5, null], [0, 2, 5, 0], [0, 2, 5, 4]],"
             "\"aicpu_orchestrator_phases\": [[], [{\"submit_idx\": 0, \"task_id\": 7, \"start_cycles\": 2, "
             "\"end_cycles\": 1, \"phase\": \"x\"}]], \"more\": {\"aicore_tasks\": 0}, " META(
                 ", \"core_to_thread\": null, \"clock_anchors\": {\"samples\": [{\"position\": \"a position that is "
                 "much "
                 "too long for here\", \"host_before_ns\": 10, \"device_cycles\": \"3\", \"host_after_ns\": 13}, "
                 "{\"position\": 0, \"error\": \"no clock\"}]}") "}";
    struct tl_swimlane s;
    struct tl_error err = {0};

    (void)state;
    if (tl__swimlane_parse(text, sizeof(text) - 1, "f.json", &s, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(s.clock_freq_hz, 50000000);
    assert_int_equal(s.core_types[0], TL_AIC);
    assert_null(s.core_to_thread);
    assert_int_equal(s.unknown_kinds, 2);
    assert_string_equal(s.unknown_kind, "nap");
    assert_int_equal(s.n_phases, 3);
    assert_int_equal(s.phases[0].kind, TL_PHASE_RESOLVE);
    assert_int_equal(s.phases[0].thread, 17);
    assert_int_equal(s.phases[1].thread, 3);
    assert_int_equal(s.phases[1].task_id, 5);
    assert_int_equal(s.phases[1].has, TL_SWIM_HAS_TASK_ID | TL_SWIM_HAS_SHARED);
    assert_int_equal(s.phases[1].shared_at_start[0], 1);
    assert_int_equal(s.phases[1].shared_at_start[1], 0);
    assert_int_equal(s.phases[1].shared_at_end[2], 3);
    assert_int_equal(s.phases[2].thread, 2);
    assert_int_equal(s.phases[2].kind, TL_PHASE_SCAN);
    assert_int_equal(s.n_cores, 3);
    assert_int_equal(s.cores[0].task_id, 7);
    assert_int_equal(s.cores[0].end_cycles, 0);
    assert_int_equal(s.cores[1].receive_cycles, 9);
    assert_int_equal(s.aicpus[0].finish_cycles, 0);
    assert_int_equal(s.aicpus[1].finish_cycles, 0);
    assert_int_equal(s.orchs[0].thread, 1);
    assert_int_equal(s.backward, 4);   /* a phase, a core row, an AICPU row, a submit: not what has no end */
    assert_int_equal(s.duplicates, 2); /* (0, 1) on the cores, (0, 2) on the AICPU */
    assert_int_equal(s.n_anchors, 1);
    assert_int_equal(s.anchors[0].uncertainty_ns, 2);
    assert_string_equal(s.anchors[0].position, "a position that is much too lon");
    tl__swimlane_fini(&s);
}

static void a_long_unknown_kind_is_cut(void **state)
{
    static const char text[] = HEAD("1") META(
        ",\"clock_anchors\":{\"schema_version\":2,\"samples\":0}") ", \"aicore_tasks\": [], "
                                                                   "\"aicpu_scheduler_phases\": [[{\"kind\": "
                                                                   "\"a name that is far longer than its room\"}]]}";
    struct tl_swimlane s;

    (void)state;
    assert_int_equal(tl__swimlane_parse(text, sizeof(text) - 1, "f.json", &s, NULL), 0);
    assert_int_equal(s.unknown_kinds, 1);
    assert_string_equal(s.unknown_kind, "a name that is far longer than ");
    assert_int_equal(s.n_anchors, 0); /* a later form of them */
    tl__swimlane_fini(&s);
}

/* The run is between the first anchor and the last, however many there are. */
static void the_last_anchor_stays(void **state)
{
    char text[4000];
    struct tl_swimlane s;
    size_t n =
        (size_t)snprintf(text, sizeof(text),
                         HEAD("1") "\"aicore_tasks\": [], \"metadata\": {"
                                   "\"clock_freq_hz\": 1, \"num_cores\": 0, \"core_types\": [], \"clock_anchors\": "
                                   "{\"samples\": [");

    (void)state;
    for (unsigned i = 0; i < 20; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "%s{\"position\": \"p%u\", \"host_before_ns\": 1, \"device_cycles\": %u, "
                              "\"host_after_ns\": 1}",
                              i > 0 ? ", " : "", i, i);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "]}}}");
    assert_int_equal(tl__swimlane_parse(text, n, "f.json", &s, NULL), 0);
    assert_int_equal(s.n_anchors, TL_SWIM_MAX_ANCHORS);
    assert_string_equal(s.anchors[0].position, "p0");
    assert_string_equal(s.anchors[14].position, "p14");
    assert_string_equal(s.anchors[15].position, "p19");
    tl__swimlane_fini(&s);
}

static int parse(const void *text, size_t bytes, const char *name, struct tl_error *reterr)
{
    struct tl_swimlane s;
    int code = tl__swimlane_parse(text, bytes, name, &s, reterr);

    if (code == 0)
        tl__swimlane_fini(&s);
    return code;
}

static const struct json_edit wrong_heads[] = {
    {"\"chip_swimlane_level\": 4,", "", ": field 'chip_swimlane_level': missing", -1},
    {"_level\": 4", "_level\": 5", ": chip_swimlane_level: expected an integer from 0 to 4, found 5", -1},
    {"_level\": 4", "_level\": 0", ": chip_swimlane_level: 0: nothing was recorded", -1},
    {"_level\": 4", "_level\": true", ": chip_swimlane_level: expected a number, found a bool", -1},
    {"\"metadata\"", "\"meta\"", ": field 'metadata': missing", -1},
    {"\"metadata\": {", "\"metadata\": [], \"x\": {", ": metadata: expected an object, found an array", -1},
    {"\"clock_freq_hz\": 1000000000,", "", ": metadata: field 'clock_freq_hz': missing", -1},
    {"\"clock_freq_hz\": 1000000000", "\"clock_freq_hz\": 0",
     ": metadata: field 'clock_freq_hz': 0: there is no time without it", -1},
    {"\"num_cores\": 3,", "", ": metadata: field 'num_cores': missing", -1},
    {"\"num_cores\": 3", "\"num_cores\": 4", ": metadata: field 'core_types': 3 entries for 4 cores", -1},
    {"\"core_types\"", "\"core_type\"", ": metadata: field 'core_types': missing", -1},
    {"\"aic\", \"aiv\"", "\"aic\", \"aix\"", ": metadata: field 'core_types': core 1: 'aix' is neither aic nor aiv",
     -1},
    {"\"aic\", \"aiv\"", "\"aic\", 1", ": metadata: field 'core_types': expected a string, found a number", -1},
    {"[0, 4, -1]", "[0, 4]", ": metadata: field 'core_to_thread': 2 entries for 3 cores", -1},
    {"[0, 4, -1]", "[0, 4, -2]", ": metadata: field 'core_to_thread': core 2: -2 is no thread", -1},
    {"[0, 4, -1]", "[65536, 4, -2]", ": metadata: field 'core_to_thread': core 0: 65536 is no thread", -1},
    {"[0, 4, -1]", "0", ": metadata: field 'core_to_thread': expected an array, found a number", -1},
    {"\"clock_anchors\": {", "\"clock_anchors\": 0, \"x\": {",
     ": metadata: field 'clock_anchors': expected an object, found a number", -1},
    {"\"samples\": [", "\"sample\": [", ": metadata: field 'samples': missing", -1},
    {"\"samples\": [", "\"samples\": [1, ", ": metadata.clock_anchors.samples[0]: expected an object, found a number",
     -1},
    {"\"position\": \"quiesce\", ", "", ": metadata.clock_anchors.samples[1]: field 'position': missing", -1},
    {"\"host_before_ns\": 100, ", "", ": metadata.clock_anchors.samples[0]: field 'host_before_ns': missing", -1},
    {"\"device_cycles\": 7, ", "", ": metadata.clock_anchors.samples[0]: field 'device_cycles': missing", -1},
    {"\"host_after_ns\": 103", "\"host_after_ns\": 99",
     ": metadata.clock_anchors.samples[0]: field 'host_after_ns': before host_before_ns", -1},
    {"\"uncertainty_ns\": 2", "\"uncertainty_ns\": []",
     ": metadata.clock_anchors.samples[0]: field 'uncertainty_ns': expected a number, found an array", -1},
};

static const struct json_edit wrong_rows[] = {
    {"\"aicore_tasks\"", "\"aicore\"", ": field 'aicore_tasks': missing", -1},
    {"\"aicpu_tasks\"", "\"aicpu\"", ": field 'aicpu_tasks': missing, and the level is 4", -1},
    {"\"aicore_tasks\": [", "\"aicore_tasks\": [{}, ", ": aicore_tasks[0]: expected an array, found an object", 0},
    {"[2, 18446744073709551615, 4294967295, 10, 12, 0]", "[3, 1, 1, 10, 12]",
     ": aicore_tasks[0]: field 'core_id': 3, but there are 3 cores", 0},
    {"[2, 18446744073709551615, 4294967295, 10, 12, 0]", "[2, 1, 4294967296, 10, 12]",
     ": aicore_tasks[0]: field 'reg_task_id': expected an integer from 0 to 4294967295, found 4294967296", 0},
    {"[2, 18446744073709551615, 4294967295, 10, 12, 0]", "[2, 1, 4, 10]",
     ": aicore_tasks[0]: field 'end_cycles': missing: the row has 4 columns", 0},
    {"[2, 18446744073709551615, 4294967295, 10, 12, 0]", "[2]",
     ": aicore_tasks[0]: field 'task_token_raw': missing: the row has 1 columns", 0},
    {"[2, 18446744073709551615, 4294967295, 10, 12, 0]", "[2, 1, 4, null, 12]",
     ": aicore_tasks[0]: field 'start_cycles': expected a number, found null", 0},
    {"[0, 1, 8, 0]", "[0, 1]", ": aicpu_tasks[1]: field 'dispatch_cycles': missing: the row has 2 columns", 1},
    {"[0, 1, 8, 0]", "[0, 1, 8, {}]", ": aicpu_tasks[1]: field 'finish_cycles': expected a number, found an object", 1},
    {"[0, 1, 8, 0]", "[99, 1, 8, 0]", ": aicpu_tasks[1]: field 'core_id': 99, but there are 3 cores", 1},
};

static const struct json_edit wrong_phases[] = {
    {"\"aicpu_scheduler_phases\"", "\"x\"", ": field 'aicpu_scheduler_phases': missing, and the level is 4", -1},
    {"\"aicpu_scheduler_phases\": [", "\"aicpu_scheduler_phases\": [3, ",
     ": aicpu_scheduler_phases[0]: expected an array, found a number", 0},
    {"{\"kind\": \"complete\"", "0, {\"kind\": \"complete\"",
     ": aicpu_scheduler_phases[0][0]: expected an object, found a number", 0},
    {"\"kind\": \"dispatch\", ", "", ": aicpu_scheduler_phases[0][1]: field 'kind': missing", 0},
    {"\"kind\": \"dispatch\"", "\"kind\": 1",
     ": aicpu_scheduler_phases[0][1]: field 'kind': expected a string, found a number", 0},
    {"\"start_cycles\": 3, ", "", ": aicpu_scheduler_phases[2][0]: field 'start_cycles': missing", 2},
    {"\"end_cycles\": 2, ", "", ": aicpu_scheduler_phases[0][0]: field 'end_cycles': missing", 0},
    {"\"loop_iter\": 3, ", "", ": aicpu_scheduler_phases[0][0]: field 'loop_iter': missing", 0},
    {", \"tasks_processed\": 4}", "}", ": aicpu_scheduler_phases[0][0]: field 'tasks_processed': missing", 0},
    {"\"pop_hit\": 6, ", "", ": aicpu_scheduler_phases[0][1]: field 'pop_hit': missing", 0},
    {"\"pop_miss\": 7, ", "", ": aicpu_scheduler_phases[0][1]: field 'pop_miss': missing", 0},
    {"\"shared_at_start\": [8, 9, 10], ", "", ": aicpu_scheduler_phases[0][1]: field 'shared_at_start': missing", 0},
    {"[11, 12, 4294967295]", "[11, \"no\"]",
     ": aicpu_scheduler_phases[0][1]: field 'shared_at_end': expected an integer from 0 to 4294967295, found no", 0},
    {"\"task_id\": 18446744073709551615", "\"task_id\": null",
     ": aicpu_scheduler_phases[2][0]: field 'task_id': expected a number, found null", 2},
    {"\"kind\": \"idle\"", "\"thread_id\": 65536, \"kind\": \"idle\"",
     ": aicpu_scheduler_phases[4][0]: field 'thread_id': expected an integer from 0 to 65535, found 65536", 4},
    {"\"aicpu_orchestrator_phases\"", "\"x\"", ": field 'aicpu_orchestrator_phases': missing, and the level is 4", -1},
    {"\"aicpu_orchestrator_phases\"", "\"host_orchestrator_phases\": [], \"aicpu_orchestrator_phases\"",
     ": field 'host_orchestrator_phases': appears beside 'aicpu_orchestrator_phases': two clocks", -1},
    {"\"submit_idx\": 4294967295, ", "", ": aicpu_orchestrator_phases[1][0]: field 'submit_idx': missing", 1},
    {"\"submit_idx\": 4294967295, \"task_id\": 1, ", "\"submit_idx\": 1, ",
     ": aicpu_orchestrator_phases[1][0]: field 'task_id': missing", 1},
    {"\"start_cycles\": 4, ", "", ": aicpu_orchestrator_phases[0][0]: field 'start_cycles': missing", 0},
    {", \"end_cycles\": 7}", "}", ": aicpu_orchestrator_phases[1][0]: field 'end_cycles': missing", 1},
};

static void what_is_wrong_is_named(void **state)
{
    struct tl_swimlane s = all_of_it(4);
    char *text;

    (void)state;
    assert_int_equal(tl__swimlane_write(fixture_dir, &s, NULL), 0);
    text = fixture_read(TL_SWIMLANE_NAME, NULL);
    json_must_fail(text, parse, wrong_heads, COUNT_OF(wrong_heads));
    json_must_fail(text, parse, wrong_rows, COUNT_OF(wrong_rows));
    json_must_fail(text, parse, wrong_phases, COUNT_OF(wrong_phases));
    json_cuts_must_fail(text, parse);
    free(text);
}

static void too_many_threads_are_refused(void **state)
{
    enum { N = 65537 };
    char *text = malloc(N * 3 + 400);
    struct tl_error err = {0};
    size_t n;

    (void)state;
    assert_non_null(text);
    n = (size_t)sprintf(text, HEAD("3") META("") ", \"aicore_tasks\": [], \"aicpu_tasks\": [], "
                                                 "\"aicpu_scheduler_phases\": [[]");
    for (unsigned i = 1; i < N; i++)
        n += (size_t)sprintf(text + n, ",[]");
    n += (size_t)sprintf(text + n, "]}");
    assert_int_equal(parse(text, n, "f.json", &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json: aicpu_scheduler_phases[65536]: thread 65536: 65535 is the most");
    free(text);
}

static void files_that_are_not_there(void **state)
{
    struct tl_swimlane s = {.level = 1, .clock_freq_hz = 1};
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__swimlane_write(fixture_path("none"), &s, &err), TL_ENOENT);
    assert_int_equal(tl__swimlane_read(fixture_path("none"), &s, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "/none: cannot open: No such file or directory"));
    assert_int_equal(tl__swimlane_parse(NULL, 0, "f.json", &s, &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json: the file is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(other_forms_are_written, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(rows_are_sorted_by_thread, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(an_empty_run_is_written_and_read, fixture_setup, fixture_teardown),
        cmocka_unit_test(names_of_phases_are_understood_in_both_spellings),
        cmocka_unit_test(other_writers_are_understood),
        cmocka_unit_test(a_long_unknown_kind_is_cut),
        cmocka_unit_test(the_last_anchor_stays),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_named, fixture_setup, fixture_teardown),
        cmocka_unit_test(too_many_threads_are_refused),
        cmocka_unit_test_setup_teardown(files_that_are_not_there, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
