/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation, write and sync of what writes and reads timing, graph and names fails once: the error comes back as
 * what it is, nothing leaks, and a file is either the old one or the new one. */
#include "controlled/fail_each.h"

#include "artifact/deps.h"
#include "artifact/name_map.h"
#include "artifact/swimlane.h"

#define ROWS 40 /* so that every list grows more than once */
#define MAP_FILE "name_map_case.json"

static int write_deps(void)
{
    struct tl_deps_task tasks[ROWS] = {{0}};
    struct tl_deps_arg args[ROWS] = {{0}};
    struct tl_deps_tensor tensors[ROWS] = {{0}};
    struct tl_deps_edge edges[ROWS] = {{0}};
    struct tl_deps d = {.tasks = tasks,
                        .args = args,
                        .tensors = tensors,
                        .edges = edges,
                        .filtered = edges,
                        .n_tasks = ROWS,
                        .n_args = ROWS,
                        .n_tensors = ROWS,
                        .n_edges = ROWS,
                        .n_filtered = ROWS,
                        .has_filtered = true};
    struct tl_error err;

    for (unsigned i = 0; i < ROWS; i++) {
        tasks[i] = (struct tl_deps_task){.task_id = i, .first_arg = i, .n_args = 1};
        args[i].has_view = true;
        edges[i] = (struct tl_deps_edge){.succ = i, .source = TL_DEPS_TENSORMAP, .overlap = TL_DEPS_COVERED};
    }
    return tl__deps_write(fixture_dir, &d, &err);
}

static int read_deps(void)
{
    struct tl_deps d = {0};
    struct tl_error err = {0};
    int code = tl__deps_read(fixture_path(TL_DEPS_NAME), &d, &err);

    tl__controlled_check(err.code == code && (code == 0) == (d.n_tasks == ROWS));
    tl__deps_fini(&d);
    return code;
}

static int write_swimlane(void)
{
    uint8_t core_types[ROWS] = {0};
    int32_t core_to_thread[ROWS] = {0};
    struct tl_swim_core cores[ROWS] = {{0}};
    struct tl_swim_aicpu aicpus[ROWS] = {{0}};
    struct tl_swim_phase phases[ROWS] = {{0}};
    struct tl_swim_orch orchs[ROWS] = {{0}};
    struct tl_swimlane s = {.level = 4,
                            .num_cores = ROWS,
                            .clock_freq_hz = 1,
                            .core_types = core_types,
                            .core_to_thread = core_to_thread,
                            .cores = cores,
                            .aicpus = aicpus,
                            .phases = phases,
                            .orchs = orchs,
                            .n_cores = ROWS,
                            .n_aicpus = ROWS,
                            .n_phases = ROWS,
                            .n_orchs = ROWS};
    struct tl_error err;

    return tl__swimlane_write(fixture_dir, &s, &err);
}

static int read_swimlane(void)
{
    struct tl_swimlane s = {0};
    struct tl_error err = {0};
    int code = tl__swimlane_read(fixture_path(TL_SWIMLANE_NAME), &s, &err);

    tl__controlled_check(err.code == code && (code == 0) == (s.n_phases == ROWS));
    tl__swimlane_fini(&s);
    return code;
}

static int write_map(void)
{
    char name[] = "kernel", *names[ROWS];
    struct tl_name_map map = {.orchestrator = name, .count = ROWS, .names = names};
    struct tl_error err;

    for (unsigned i = 0; i < ROWS; i++)
        names[i] = name;
    return tl__name_map_write(fixture_dir, "case", &map, &err);
}

static int find_map(void)
{
    struct tl_name_map map = {0};
    struct tl_error err = {0};
    int code = tl__name_map_find(fixture_dir, &map, &err);

    tl__controlled_check(err.code == code && (code == 0) == (map.count == ROWS));
    tl__name_map_fini(&map);
    return code;
}

static const struct {
    int (*write)(void), (*read)(void);
    const char *target;
    unsigned allocs;     /* of the writer */
    unsigned read_least; /* allocations of the reader, at least */
} files[] = {
    {write_deps, read_deps, TL_DEPS_NAME, 1, 2 + 5 * 3},
    {write_swimlane, read_swimlane, TL_SWIMLANE_NAME, 5, 2 + 4 * 3},
    {write_map, find_map, MAP_FILE, 1, 2 + 2 * ROWS},
};

static void a_writer_that_fails_leaves_the_older_file(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        unsigned writes;

        assert_int_equal(fail_each(files[i].write, "alloc", TL_ENOMEM, files[i].target), files[i].allocs);
        writes = fail_each(files[i].write, "write_eio", TL_EIO, files[i].target);
        assert_true(writes >= 1);
        assert_int_equal(fail_each(files[i].write, "disk_full", TL_ENOSPC, files[i].target), writes);
        (void)fail_each(files[i].write, "short_write", 0, NULL);
    }
}

static void a_reader_without_memory_fails_cleanly(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(files[i].write(), 0);
        assert_true(fail_each(files[i].read, "alloc", TL_ENOMEM, NULL) >= files[i].read_least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_writer_that_fails_leaves_the_older_file, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_reader_without_memory_fails_cleanly, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
