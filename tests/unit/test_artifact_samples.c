/* SPDX-License-Identifier: Apache-2.0 */
/* Timing, graphs and names in the layouts of other writers: recordings of this tree, and where they are present those
 * that another runtime made. */
#include "unit/artifact_fixture.h"

#include <tasklens/kernel.h>

#include "artifact/deps.h"
#include "artifact/name_map.h"
#include "artifact/swimlane.h"

/* `file` of a recording; NULL where it is a sample of another runtime and those are absent. */
static const char *sample(const char *dir, const char *file)
{
    char name[256];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, file);
    return fixture_foreign(name);
}

static void graphs_of_other_writers_open(void **state)
{
    static const struct {
        const char *dir;
        unsigned tasks, args, tensors, edges;
        uint64_t first_addr;
    } samples[] = {
        {"vector", 5, 13, 7, 6, 0x10000},
        {"mix", 3, 18, 8, 4, 0x40000},
        {"mix-2026-09", 3, 18, 8, 4, 0x40000},
        {"sources", 4, 5, 3, 3, 0x81000},
        {"samples/tmr-a2a3sim-vector", 5, 13, 7, 6, 1089004432},
        {"samples/tmr-a2a3sim-mix", 3, 18, 8, 4, 485920656},
        {"samples/hbg-a2a3sim-edge-sources", 4, 5, 3, 3, 752327056},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        const char *path = sample(samples[i].dir, TL_DEPS_NAME);
        struct tl_deps d;
        struct tl_error err = {0};

        if (path == NULL)
            continue;
        if (tl__deps_read(path, &d, &err) != 0)
            fail_msg("%s", err.msg);
        assert_int_equal(d.n_tasks, samples[i].tasks);
        assert_int_equal(d.n_args, samples[i].args);
        assert_int_equal(d.n_tensors, samples[i].tensors);
        assert_int_equal(d.n_edges, samples[i].edges);
        assert_false(d.has_filtered);
        assert_int_equal(d.tensors[0].buffer_addr, samples[i].first_addr);
        for (unsigned n = 0; n < d.n_tensors; n++)
            assert_true(tl__deps_tensor_id(d.tensors[n].buffer_addr, d.tensors[n].version) == d.tensors[n].tensor_id);
        for (unsigned n = 0; n < d.n_edges; n++) {
            assert_int_equal(d.tasks[d.edge_pred[n]].task_id, d.edges[n].pred);
            assert_int_equal(d.tasks[d.edge_succ[n]].task_id, d.edges[n].succ);
        }
        tl__deps_fini(&d);
    }
}

/* What make_recordings.py chose for its graphs. */
static void values_of_our_graphs_are_read(void **state)
{
    static const char *const forms[] = {"mix", "mix-2026-09"};
    const struct tl_deps_edge *e;
    struct tl_deps d;

    (void)state;
    assert_int_equal(tl__deps_read(sample("vector", TL_DEPS_NAME), &d, NULL), 0);
    assert_int_equal(d.tasks[1].task_id, 0x100000000);
    assert_int_equal(d.tasks[0].kernel_ids[0], -1);
    assert_int_equal(d.tasks[3].kernel_ids[1], 3);
    assert_int_equal(d.tasks[4].first_arg, 10);
    assert_int_equal(d.args[2].type, TL_OUT);
    assert_false(d.args[2].has_view);
    assert_int_equal(d.args[12].type, TL_OUT_EXISTING);
    assert_int_equal(d.args[12].view.rank, 2);
    assert_int_equal(d.args[12].view.shape[1], 6);
    assert_int_equal(d.args[12].view.strides[0], 6);
    assert_int_equal(d.tensors[6].buffer_addr, 0x30000);
    assert_true(d.args[12].tensor_id == d.tensors[6].tensor_id);
    e = &d.edges[5];
    assert_int_equal(e->pred, 0);
    assert_int_equal(e->succ, 0x100000003);
    assert_int_equal(e->arg, 1);
    assert_int_equal(e->source, TL_DEPS_CREATOR);
    assert_int_equal(e->flags, TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT | TL_DEPS_RETAIN);
    assert_int_equal(e->overlap, TL_DEPS_OVERLAP_NONE);
    tl__deps_fini(&d);

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(tl__deps_read(sample(forms[i], TL_DEPS_NAME), &d, NULL), 0);
        assert_int_equal(d.tasks[0].kernel_ids[1], 7);
        e = &d.edges[3];
        assert_int_equal(e->source, TL_DEPS_TENSORMAP);
        assert_int_equal(e->flags, TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT);
        assert_int_equal(e->overlap, TL_DEPS_COVERED);
        assert_int_equal(e->arg, 3);
        assert_int_equal(e->consumer.dtype, TL_FLOAT16);
        assert_int_equal(e->consumer.start_offset, 16);
        assert_int_equal(e->producer.start_offset, 16);
        tl__deps_fini(&d);
    }

    assert_int_equal(tl__deps_read(sample("sources", TL_DEPS_NAME), &d, NULL), 0);
    assert_int_equal(d.edges[0].source, TL_DEPS_EXPLICIT);
    assert_int_equal(d.edges[0].arg, -1);
    assert_int_equal(d.edges[0].flags, 0);
    assert_int_equal(d.args[0].view.dtype, TL_INT32);
    tl__deps_fini(&d);
}

static void values_of_the_samples_graphs_are_read(void **state)
{
    const struct tl_deps_edge *e;
    struct tl_deps d;

    (void)state;
    if (fixture_shared("samples") == NULL)
        return; /* the graphs of this tree have been read */
    assert_int_equal(tl__deps_read(sample("samples/tmr-a2a3sim-vector", TL_DEPS_NAME), &d, NULL), 0);
    assert_int_equal(d.tasks[1].task_id, 0x100000000);
    assert_int_equal(d.tasks[0].kernel_ids[0], -1);
    assert_int_equal(d.tasks[3].kernel_ids[1], 2);
    assert_int_equal(d.tasks[4].first_arg, 10);
    assert_int_equal(d.args[2].type, TL_OUT);
    assert_false(d.args[2].has_view);
    assert_int_equal(d.args[12].type, TL_OUT_EXISTING);
    assert_true(d.args[12].tensor_id == 12124579075673606558u);
    assert_int_equal(d.args[12].view.shape[0], 16384);
    e = &d.edges[0];
    assert_int_equal(e->source, TL_DEPS_CREATOR);
    assert_int_equal(e->flags, TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT | TL_DEPS_RETAIN);
    assert_int_equal(e->consumer.dtype, TL_FLOAT32);
    assert_int_equal(e->overlap, TL_DEPS_OVERLAP_NONE);
    tl__deps_fini(&d);

    assert_int_equal(tl__deps_read(sample("samples/tmr-a2a3sim-mix", TL_DEPS_NAME), &d, NULL), 0);
    e = &d.edges[3];
    assert_int_equal(e->source, TL_DEPS_TENSORMAP);
    assert_int_equal(e->flags, TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT);
    assert_int_equal(e->overlap, TL_DEPS_COVERED);
    assert_int_equal(e->arg, 3);
    assert_int_equal(e->consumer.start_offset, 16384);
    assert_int_equal(e->producer.start_offset, 16384);
    assert_int_equal(e->producer.strides[0], 1);
    assert_int_equal(d.tasks[0].kernel_ids[1], 1);
    tl__deps_fini(&d);

    assert_int_equal(tl__deps_read(sample("samples/hbg-a2a3sim-edge-sources", TL_DEPS_NAME), &d, NULL), 0);
    assert_int_equal(d.edges[0].source, TL_DEPS_EXPLICIT);
    assert_int_equal(d.edges[0].arg, -1);
    assert_int_equal(d.edges[0].flags, 0);
    assert_int_equal(d.args[0].view.dtype, TL_INT32);
    tl__deps_fini(&d);
}

static void timing_of_other_writers_opens(void **state)
{
    static const struct {
        const char *dir;
        unsigned cores, aicpus, phases, orchs, anchors;
        bool host_clock;
        unsigned clock_mhz, num_cores, n_aic;
    } samples[] = {
        {"vector", 5, 5, 17, 5, 0, false, 100, 6, 2},
        {"mix", 6, 6, 15, 3, 0, false, 50, 6, 2},
        {"mix-2026-09", 6, 6, 15, 3, 0, false, 50, 6, 2},
        {"sources", 4, 4, 7, 4, 6, true, 50, 6, 2},
        {"samples/tmr-a2a3sim-vector", 5, 5, 20, 5, 0, false, 50, 24, 8},
        {"samples/tmr-a2a3sim-mix", 6, 6, 16, 3, 0, false, 50, 24, 8},
        {"samples/hbg-a2a3sim-edge-sources", 4, 4, 7, 4, 6, true, 50, 24, 8},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        const char *path = sample(samples[i].dir, TL_SWIMLANE_NAME);
        struct tl_swimlane s;
        struct tl_error err = {0};

        if (path == NULL)
            continue;
        if (tl__swimlane_read(path, &s, &err) != 0)
            fail_msg("%s", err.msg);
        assert_int_equal(s.level, 4);
        assert_int_equal(s.clock_freq_hz, samples[i].clock_mhz * 1000000u);
        assert_int_equal(s.num_cores, samples[i].num_cores);
        assert_int_equal(s.core_types[samples[i].n_aic - 1], TL_AIC);
        assert_int_equal(s.core_types[samples[i].n_aic], TL_AIV);
        assert_int_equal(s.n_cores, samples[i].cores);
        assert_int_equal(s.n_aicpus, samples[i].aicpus);
        assert_int_equal(s.n_phases, samples[i].phases);
        assert_int_equal(s.n_orchs, samples[i].orchs);
        assert_int_equal(s.n_anchors, samples[i].anchors);
        assert_int_equal(s.orch_is_host_clock, samples[i].host_clock);
        assert_int_equal(s.unknown_kinds + s.backward + s.duplicates, 0);
        tl__swimlane_fini(&s);
    }
}

static void values_of_our_timing_are_read(void **state)
{
    static const char *const forms[] = {"mix", "mix-2026-09"};
    struct tl_swimlane s;

    (void)state;
    assert_int_equal(tl__swimlane_read(sample("vector", TL_SWIMLANE_NAME), &s, NULL), 0);
    assert_int_equal(s.core_to_thread[1], 1);
    assert_int_equal(s.cores[4].core_id, 3);
    assert_int_equal(s.cores[4].task_id, 0x100000002);
    assert_int_equal(s.cores[4].reg_task_id, 2);
    assert_int_equal(s.cores[4].end_cycles, 7000007000);
    assert_int_equal(s.cores[4].receive_cycles, 11);
    assert_int_equal(s.aicpus[3].dispatch_cycles, 7000004310);
    assert_int_equal(s.aicpus[3].finish_cycles, 7000005050);
    assert_int_equal(s.phases[0].pop_miss, 3);
    assert_int_equal(s.phases[0].shared_at_start[1], 2);
    assert_int_equal(s.phases[1].kind, TL_PHASE_RESOLVE);
    assert_int_equal(s.phases[1].has, TL_SWIM_HAS_SHARED);
    assert_int_equal(s.phases[1].loop_iter, 5);
    assert_int_equal(s.phases[1].tasks_processed, 2);
    assert_int_equal(s.phases[16].thread, 1);
    assert_int_equal(s.orchs[4].submit_idx, 4);
    assert_int_equal(s.orchs[4].task_id, 0x100000003);
    assert_int_equal(s.orchs[4].end_cycles, 7000000800);
    tl__swimlane_fini(&s);

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(tl__swimlane_read(sample(forms[i], TL_SWIMLANE_NAME), &s, NULL), 0);
        assert_int_equal(s.cores[5].core_id, 2);
        assert_int_equal(s.cores[5].start_cycles, 123456793310);
        assert_int_equal(s.cores[5].receive_cycles, 27);
        assert_int_equal(s.aicpus[0].finish_cycles, 123456791520);
        assert_int_equal(s.phases[4].pop_miss, 12);
        assert_int_equal(s.phases[14].thread, 1);
        assert_int_equal(s.phases[14].pop_miss, 264);
        tl__swimlane_fini(&s);
    }

    assert_int_equal(tl__swimlane_read(sample("sources", TL_SWIMLANE_NAME), &s, NULL), 0);
    assert_int_equal(s.orchs[1].start_cycles, 899999010000);
    assert_string_equal(s.anchors[0].position, "pre_host_orchestration");
    assert_string_equal(s.anchors[5].position, "post_device_execution");
    assert_int_equal(s.anchors[5].device_cycles, 2003020);
    assert_int_equal(s.anchors[3].uncertainty_ns, 200);
    tl__swimlane_fini(&s);
}

static void values_of_the_samples_timing_are_read(void **state)
{
    struct tl_swimlane s;

    (void)state;
    if (fixture_shared("samples") == NULL)
        return; /* the timing of this tree has been read */
    assert_int_equal(tl__swimlane_read(sample("samples/tmr-a2a3sim-vector", TL_SWIMLANE_NAME), &s, NULL), 0);
    assert_int_equal(s.core_to_thread[13], 2);
    assert_int_equal(s.cores[4].core_id, 11);
    assert_int_equal(s.cores[4].task_id, 4294967296);
    assert_int_equal(s.cores[4].reg_task_id, 1);
    assert_int_equal(s.cores[4].end_cycles, 79126539085);
    assert_int_equal(s.cores[4].receive_cycles, 219965);
    assert_int_equal(s.aicpus[3].dispatch_cycles, 79127590653);
    assert_int_equal(s.aicpus[3].finish_cycles, 79127626303);
    assert_int_equal(s.phases[0].thread, 0);
    assert_int_equal(s.phases[0].pop_miss, 144);
    assert_int_equal(s.phases[1].thread, 1);
    assert_int_equal(s.phases[1].shared_at_start[1], 1);
    assert_int_equal(s.phases[2].kind, TL_PHASE_RESOLVE);
    assert_int_equal(s.phases[2].has, TL_SWIM_HAS_SHARED);
    assert_int_equal(s.phases[2].loop_iter, 15);
    assert_int_equal(s.phases[2].tasks_processed, 3);
    assert_int_equal(s.phases[19].thread, 2);
    assert_int_equal(s.orchs[4].submit_idx, 4);
    assert_int_equal(s.orchs[4].task_id, 4294967299);
    assert_int_equal(s.orchs[4].end_cycles, 79114131257);
    tl__swimlane_fini(&s);

    assert_int_equal(tl__swimlane_read(sample("samples/hbg-a2a3sim-edge-sources", TL_SWIMLANE_NAME), &s, NULL), 0);
    assert_int_equal(s.orchs[1].start_cycles, 1711835251468);
    assert_string_equal(s.anchors[0].position, "pre_host_orchestration");
    assert_string_equal(s.anchors[5].position, "post_device_execution");
    assert_int_equal(s.anchors[5].device_cycles, 85596879343);
    assert_int_equal(s.anchors[3].uncertainty_ns, 411);
    tl__swimlane_fini(&s);
}

static void names_of_other_writers_are_found(void **state)
{
    struct tl_name_map map;
    struct tl_error err = {0};
    char dir[1024];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%s", sample("sources", ""));
    assert_int_equal(tl__name_map_find(dir, &map, &err), 0);
    assert_int_equal(map.count, 6); /* one more than the largest id */
    assert_null(map.orchestrator);
    assert_string_equal(tl__name_of(&map, 5), "OPEN_GATE");
    assert_null(tl__name_of(&map, 3));
    assert_null(tl__name_of(&map, -1));
    tl__name_map_fini(&map);
    (void)snprintf(dir, sizeof(dir), "%s", sample("vector", ""));
    assert_int_equal(tl__name_map_find(dir, &map, &err), TL_ENOENT);
    if (fixture_shared("samples") == NULL)
        return;
    (void)snprintf(dir, sizeof(dir), "%s", sample("samples/hbg-a2a3sim-edge-sources", ""));
    assert_int_equal(tl__name_map_find(dir, &map, &err), 0);
    assert_int_equal(map.count, 4);
    assert_null(map.orchestrator);
    assert_string_equal(tl__name_of(&map, 3), "WRITE_GATE");
    assert_null(tl__name_of(&map, 4));
    assert_null(tl__name_of(&map, -1));
    tl__name_map_fini(&map);
    (void)snprintf(dir, sizeof(dir), "%s", sample("samples/tmr-a2a3sim-vector", ""));
    assert_int_equal(tl__name_map_find(dir, &map, &err), TL_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_of_other_writers_open),
        cmocka_unit_test(values_of_our_graphs_are_read),
        cmocka_unit_test(values_of_the_samples_graphs_are_read),
        cmocka_unit_test(timing_of_other_writers_opens),
        cmocka_unit_test(values_of_our_timing_are_read),
        cmocka_unit_test(values_of_the_samples_timing_are_read),
        cmocka_unit_test(names_of_other_writers_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
