/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens swimlane` as a user meets it: its text and its trace against tests/golden/swimlane/ (TL_UPDATE_GOLDEN=1
 * rewrites them), each trace through check_trace.py, bad input.
 */
#include "scene/cli.h"
#include "scene/golden.h"
#include "unit/swim_world.h"

static struct swim_world w;

static bool have_python(void)
{
    return system("python3 -c 'import json' >/dev/null 2>&1") == 0;
}

/* A trace of the test's directory holds what check_trace.py says. */
static void checked(const char *trace, const char *words)
{
    char command[2000];

    if (!have_python())
        return;
    (void)snprintf(command, sizeof(command), "cd '%s' && python3 '%s/tests/scene/check_trace.py' --strict %s %s",
                   fixture_dir, TL_TEST_SOURCE_DIR, words, trace);
    if (system(command) != 0)
        fail_msg("%s", command);
}

static void says(const char *part)
{
    if (strstr(output, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, output);
}

static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    world_everything(&w);
    world_save(&w, "run");
    return 0;
}

static void a_whole_recording_becomes_the_golden_trace(void **state)
{
    char *trace;

    (void)state;
    expect(0, "swimlane run");
    assert_string_equal(message, "");
    golden_is(output, "swimlane/summary.txt");
    trace = fixture_read("run/merged_swimlane.json", NULL);
    golden_is(trace, "swimlane/merged_swimlane.json");
    free(trace);
    checked("run/merged_swimlane.json",
            "--count flow:dependency:4=7 --count flow:dependency:3=6 --count 'flow:submit\u2192dispatch=3' --count "
            "'name:load_spmd(r1t0)=8'");
    expect(0, "swimlane run/chip_swimlane_records.json --overhead --json -o with.json");
    golden_is(output, "swimlane/summary.json");
    checked("with.json", "--count flow:dependency:4=7");
    expect(0, "swimlane --overhead run/");
    golden_is(output, "swimlane/summary_overhead.txt");
    trace = fixture_read("run/merged_swimlane.json", NULL);
    assert_non_null(strstr(trace, "oh_has_overhead"));
    free(trace);
}

static unsigned times_in(const char *text, const char *part)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* --from, --to and --kernel: what does not touch them is not drawn, and arrows lead nowhere else. */
static void a_part_of_a_recording(void **state)
{
    char *trace;

    (void)state;
    expect(0, "swimlane run --kernel '^(load|matmul)$' -o part.json");
    says("note      the trace shows a part: --kernel ^(load|matmul)$");
    trace = fixture_read("part.json", NULL);
    assert_int_equal(times_in(trace, "\"name\": \"load(r0t0)\""), 2); /* in both views */
    assert_int_equal(times_in(trace, "\"name\": \"matmul(r0t1)\""), 2);
    assert_int_equal(times_in(trace, "\"name\": \"func_2(r0t1)\""), 0);
    assert_int_equal(times_in(trace, "\"name\": \"submit(r1t1)\""), 0);
    free(trace);
    checked("part.json", "--count flow:dependency:4=3"); /* load, matmul, load in blocks, the task without a core */

    expect(0, "swimlane run --from r1t0 --to 1.2us -o part.json");
    trace = fixture_read("part.json", NULL);
    assert_int_equal(times_in(trace, "\"name\": \"load(r0t0)\""), 0);
    assert_int_equal(times_in(trace, "\"name\": \"matmul(r0t1)\""), 0);
    assert_int_equal(times_in(trace, "\"name\": \"submit("), 0);
    assert_true(times_in(trace, "\"name\": \"load_spmd(r1t0)\"") >= 3);
    free(trace);
    checked("part.json", "--count flow:dependency:4=0");
    expect(0, "swimlane run --to 1000ns --overhead -o part.json");
    checked("part.json", "--count 'name:load(r0t0)=2'");

    expect(2, "swimlane run --kernel nobody -o part.json");
    assert_non_null(strstr(message, "no kernel of the recording matches"));
    expect(2, "swimlane run --kernel '(' -o part.json");
    assert_non_null(strstr(message, "--kernel (: "));
    expect(2, "swimlane run --from soon -o part.json");
    assert_non_null(strstr(message, "neither a time"));
    expect(2, "swimlane run --from r7t7 -o part.json");
    assert_non_null(strstr(message, "has no such task"));
    expect(2, "swimlane run --from 2s --to 1s -o part.json");
    assert_non_null(strstr(message, "--from 2s is after --to 1s"));
}

/* A name that ends with .json.gz: the same trace, in a file that gzip reads and that is smaller. */
static void a_compressed_trace_is_the_same_trace(void **state)
{
    char command[2500], *plain, *unpacked;
    size_t size = 0, packed = 0;

    (void)state;
    expect(0, "swimlane run -o plain.json");
    expect(0, "swimlane run -o packed.json.gz");
    (void)snprintf(command, sizeof(command), "cd '%s' && gzip -dc packed.json.gz >unpacked.json", fixture_dir);
    assert_int_equal(system(command), 0);
    plain = fixture_read("plain.json", &size);
    unpacked = fixture_read("unpacked.json", NULL);
    assert_string_equal(plain, unpacked);
    free(unpacked);
    unpacked = fixture_read("packed.json.gz", &packed);
    assert_true(packed > 0 && packed < size / 3);
    free(unpacked);
    free(plain);
}

/* The checker finds what it is there for. */
static void the_checker_finds_each_planted_fault(void **state)
{
    const struct {
        const char *from, *to;
    } breaks[] = {
        {"\"ph\": \"f\", \"pid\": 4, \"tid\": 10000, \"ts\": 0.5",
         "\"ph\": \"f\", \"pid\": 4, \"tid\": 10000, \"ts\": 0.2"},
        {"\"ph\": \"s\", \"pid\": 4, \"tid\": 10010, \"ts\": 0.299",
         "\"ph\": \"s\", \"pid\": 4, \"tid\": 10010, \"ts\": 0.31"},
        {"\"ts\": 0.5, \"dur\": 0.4", "\"ts\": 0.5, \"dur\": -1"},
        {"\"bp\": \"e\"", "\"bp\": \"s\""},
        {"\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 2, \"tid\": 30000",
         "\"name\": \"x\", \"ph\": \"M\", \"pid\": 2, \"tid\": 30000"},
        {"\"tid\": 10011, \"ts\": 1.15", "\"tid\": 10010, \"ts\": 1.15"},
        {"\"cat\": \"flow\", \"id\": 0", "\"cat\": \"flow\", \"id\": 0, \"bind_id\": 1"},
        {"\"ts\": 0.5, \"dur\": 0.4", "\"ts\": 0.5, \"dur\": 0.4005"},
        {"\"ph\": \"s\", \"pid\": 4, \"tid\": 10010, \"ts\": 0.299",
         "\"ph\": \"s\", \"pid\": 4, \"tid\": 10010, \"ts\": 0.3"},
    };
    char command[1000];
    char *trace;
    size_t n;

    (void)state;
    if (!have_python())
        skip();
    expect(0, "swimlane run");
    for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
        char *at, *broken;
        size_t before;

        trace = fixture_read("run/merged_swimlane.json", &n);
        at = strstr(trace, breaks[i].from);
        assert_non_null(at);
        broken = calloc(1, n + 100);
        assert_non_null(broken);
        before = (size_t)(at - trace);
        memcpy(broken, trace, before);
        (void)snprintf(broken + before, n + 100 - before, "%s%s", breaks[i].to, at + strlen(breaks[i].from));
        fixture_write_text("broken.json", broken);
        (void)snprintf(command, sizeof(command),
                       "cd '%s' && python3 '%s/tests/scene/check_trace.py' --strict broken.json >/dev/null",
                       fixture_dir, TL_TEST_SOURCE_DIR);
        if (system(command) == 0)
            fail_msg("not found: %s", breaks[i].to);
        free(broken);
        free(trace);
    }
}

static void without_the_other_files(void **state)
{
    (void)state;
    world_everything(&w);
    world_save(&w, "alone");
    assert_int_equal(unlink(fixture_path("alone/deps.json")), 0);
    expect(0, "swimlane alone");
    golden_is(output, "swimlane/summary_alone.txt");
    checked("alone/merged_swimlane.json", "--count flow:dependency=0 --count 'name:task(r0t0)=2'");
    expect(0, "swimlane alone --overhead");
    says("note      no overhead counters: they take dispatch times and the graph; run with --enable-chip-swimlane 2 or "
         "more and --enable-dep-gen\n");

    world_save(&w, "unnamed");
    assert_int_equal(unlink(fixture_path("unnamed/name_map_default.json")), 0);
    expect(0, "swimlane unnamed");
    says("note      no name_map_*.json: kernels are func_<id>; --names FILE gives one\n");
    checked("unnamed/merged_swimlane.json", "--count 'name:func_1(r0t1)=2' --count 'name:func_0_spmd(r1t0)=8'");
    expect(0, "swimlane unnamed --names run/name_map_default.json");
    checked("unnamed/merged_swimlane.json", "--count 'name:matmul(r0t1)=2'");

    world_save(&w, "two");
    fixture_write_text("two/name_map_other.json",
                       "{\"level\": 2, \"orchestrator_name\": null, \"callable_id_to_name\": {\"0\": \"other\"}}");
    expect(0, "swimlane two");
    says("note      kernels are func_<id>: ");
    says("; --names FILE picks one\n");
    assert_non_null(strstr(message, "tasklens swimlane: without kernel names: "));
    expect(0, "swimlane two --names two/name_map_other.json");
    checked("two/merged_swimlane.json", "--count 'name:other(r0t0)=2'");
}

/* Names are optional: a damaged file of them is reported, by this command as by the others, and the trace is made. */
static void damaged_names_are_no_end(void **state)
{
    static const char *const others[] = {"sched", "critical-path", "deps"};
    char words[60];

    (void)state;
    world_everything(&w);
    world_save(&w, "names");
    fixture_write_text("names/name_map_default.json", "{\"level\": 2, \"callable");
    expect(0, "swimlane names");
    says("note      kernels are func_<id>: ");
    says("; --names FILE gives one\n");
    assert_non_null(strstr(message, "tasklens swimlane: without kernel names: "));
    assert_non_null(strstr(message, "name_map_default.json"));
    checked("names/merged_swimlane.json", "--count 'name:func_1(r0t1)=2'");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        (void)snprintf(words, sizeof(words), "%s names", others[i]);
        expect(0, words);
        assert_non_null(strstr(message, "name_map_default.json"));
    }
    refuses("swimlane names --names names/name_map_default.json", "name_map_default.json");
}

static void each_level_says_what_it_does_not_have(void **state)
{
    (void)state;
    world_everything(&w);
    w.lane.level = 3;
    w.lane.n_orchs = 0;
    world_save(&w, "level3");
    expect(0, "swimlane level3");
    says("note      level 3 has no submits: no Orchestrator; --enable-chip-swimlane 4 shows it\n");
    checked("level3/merged_swimlane.json", "--count flow:dependency=13");
    w.lane.level = 2;
    w.lane.n_phases = 0;
    w.lane.core_to_thread = NULL;
    world_save(&w, "level2");
    expect(0, "swimlane level2 --overhead");
    says("note      level 2 has no scheduler phases: no AICPU Scheduler; --enable-chip-swimlane 3 shows it\n");
    says("overhead  ");
    checked("level2/merged_swimlane.json", "--count flow:dependency=12");
    w.lane.level = 1;
    w.lane.n_aicpus = 0;
    world_save(&w, "level1");
    expect(0, "swimlane level1");
    golden_is(output, "swimlane/summary_level1.txt");
    checked("level1/merged_swimlane.json", "--count flow:dependency=6");
    w.lane.n_cores = 0;
    world_save(&w, "empty");
    expect(0, "swimlane empty");
    says("recording empty: level 1, 0 tasks on 0 of 3 cores, 0.000 us\n");
    says("note      the recording has no task\n");
    checked("empty/merged_swimlane.json", "--count X=0");
}

/* Everything that can be wrong in a file that reads well: counted, and the trace still holds. */
static void what_is_wrong_in_a_recording_is_counted(void **state)
{
    (void)state;
    world_everything(&w);
    w.cores[1].end_cycles = 1400;                               /* before its start */
    w.aicpus[3].finish_cycles = 0;                              /* never seen to finish */
    (void)world_core(&w, 0, 500, 77, 2400, 2410);               /* no AICPU row, not in deps */
    world_aicpu(&w, 2, 88, 2300, 0);                            /* no core row */
    world_slice(&w, 1, 0, 99, 2390, 2395, 3, 3);                /* an id used again */
    (void)world_phase(&w, 0, TL_PHASE_DISPATCH, 1395, 1405, 0); /* overlaps two */
    (void)world_phase(&w, 9, TL_PHASE_DRAIN_PREPARE, 1300, 1310, 0);
    (void)world_edge(&w, (uint64_t)1 << 32, 0); /* a cycle */
    (void)world_edge(&w, 1, 1);
    (void)world_task(&w, 12, 0, -1, -1, 1);
    (void)world_edge(&w, 1, 12);
    world_save(&w, "odd");
    expect(0, "swimlane odd --overhead");
    golden_is(output, "swimlane/summary_odd.txt");
    checked("odd/merged_swimlane.json", "--count 'name:never ended(reg 88)=1'");
    expect(0, "swimlane odd --json");
    says("\"aicpu_without_core\": 1");
    says("\"core_without_aicpu\": 1");
    says("\"dependency_worker\": ");
}

static void a_host_orchestrator_is_placed_by_the_anchors(void **state)
{
    (void)state;
    assert_int_equal(mkdir(fixture_path("host"), 0777), 0);
    fixture_write_text(
        "host/chip_swimlane_records.json",
        "{\"chip_swimlane_level\": 4, \"metadata\": {\"clock_freq_hz\": 50000000, \"num_cores\": 1, \"core_types\": "
        "[\"aic\"], \"orchestrator_source\": \"host\", \"orchestrator_clock_domain\": \"host_monotonic_ns\", "
        "\"core_to_thread\": [0]}, \"aicore_tasks\": [[0, 5, 1, 1000, 1100]], \"aicpu_tasks\": [[0, 1, 950, 1150]], "
        "\"aicpu_scheduler_phases\": [[{\"kind\": \"dispatch\", \"start_cycles\": 900, \"end_cycles\": 960, "
        "\"loop_iter\": 1, \"tasks_processed\": 1}, {\"kind\": \"prestage\", \"start_cycles\": 960, \"end_cycles\": "
        "970, "
        "\"loop_iter\": 1, \"tasks_processed\": 1}, {\"kind\": \"brew_tea\", \"start_cycles\": 970, \"end_cycles\": "
        "980, "
        "\"loop_iter\": 1, \"tasks_processed\": 1}], []], \"host_orchestrator_phases\": [[{\"submit_idx\": 0, "
        "\"task_id\": 5, \"start_host_ns\": 7000000, \"end_host_ns\": 7001000}]]}");
    expect(0, "swimlane host");
    says("note      the orchestrator ran by the host's clock and there is no clock anchor: its submits stand at the "
         "start, ");
    says("note      1 phase of a kind unknown here (the first: \"brew_tea\"): drawn by its own name\n");
    checked("host/merged_swimlane.json", "--count 'flow:submit\u2192dispatch=0' --count 'name:early_dispatch(1)=1' "
                                         "--count flow:dispatch=2 --count 'name:brew_tea(1)=1'");
}

static void bad_input_is_one_line(void **state)
{
    char *records;
    size_t n;

    (void)state;
    assert_int_equal(mkdir(fixture_path("bare"), 0777), 0);
    refuses("swimlane bare", "--enable-chip-swimlane");
    refuses("swimlane nowhere", "nowhere: no such file or directory");
    world_everything(&w);
    world_save(&w, "cut");
    records = fixture_read("cut/chip_swimlane_records.json", &n);
    for (size_t at = 0; at < n; at += 171) {
        fixture_write("cut/chip_swimlane_records.json", records, at);
        expect(2, "swimlane cut");
        assert_non_null(strstr(message, "chip_swimlane_records.json"));
        assert_int_equal(access(fixture_path("cut/merged_swimlane.json"), F_OK), -1);
    }
    fixture_write("cut/chip_swimlane_records.json", records, n);
    free(records);
    fixture_write_text("cut/deps.json", "{\"tasks\": [{\"task_id\": 5}], \"tensors\": [], \"edges\": []}");
    refuses("swimlane cut", "cut/deps.json: tasks[0]: field ");
    fixture_write_text("cut/deps.json", "{\"tasks\": [], \"tensors\": [], \"edges\": []}");
    expect(0, "swimlane cut");
    says("note      4 tasks are not in deps.json: is it of the same run?\n");
    refuses("swimlane cut --names nowhere.json", "cannot read nowhere.json: No such file or directory");
    refuses("swimlane cut --names cut", "cannot read cut: Is a directory");
    refuses("swimlane cut --names cut/deps.json", "cut/deps.json");
    refuses("swimlane cut -o nowhere/trace.json", "nowhere/trace.json");
    refuses("swimlane cut run", "one argument too many");
    refuses("swimlane --level", "no option --level");
}

static void the_help_is_golden(void **state)
{
    (void)state;
    expect(0, "swimlane --help");
    golden_is(output, "swimlane/help.txt");
    expect(0, "help swimlane");
    golden_is(output, "swimlane/help.txt");
}

static void lifecycle_records_are_counted(void **state)
{
    static const char text[] =
        "{\"chip_swimlane_level\": 2, \"metadata\": {\"clock_freq_hz\": 1000000000, \"num_cores\": 1, \"core_types\": "
        "[\"aiv\"], \"runtime\": \"host_build_graph\"}, \"aicore_tasks\": [[0, 5, 1, 20, 30, 2, 1]], "
        "\"scheduler_tasks\": {\"producer\": \"aicpu\", \"records\": [[0, 1, 10, 40, 1]]}, "
        "\"aicpu_lifecycle_records\": [{\"handshake\": [1, 2]}, {\"handshake\": [1, 3]}]}";
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(fixture_path("lives"), 0777), 0);
    f = fopen(fixture_path("lives/chip_swimlane_records.json"), "w");
    assert_true(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
    expect(0, "swimlane lives -o lives.json");
    assert_non_null(strstr(output, "2 control threads left a lifecycle record: counted, not drawn"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_recording_becomes_the_golden_trace),
        cmocka_unit_test(a_compressed_trace_is_the_same_trace),
        cmocka_unit_test(a_part_of_a_recording),
        cmocka_unit_test(the_checker_finds_each_planted_fault),
        cmocka_unit_test(without_the_other_files),
        cmocka_unit_test(damaged_names_are_no_end),
        cmocka_unit_test(each_level_says_what_it_does_not_have),
        cmocka_unit_test(what_is_wrong_in_a_recording_is_counted),
        cmocka_unit_test(a_host_orchestrator_is_placed_by_the_anchors),
        cmocka_unit_test(lifecycle_records_are_counted),
        cmocka_unit_test(bad_input_is_one_line),
        cmocka_unit_test(the_help_is_golden),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
