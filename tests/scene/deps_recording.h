/* SPDX-License-Identifier: Apache-2.0 */
/* A small graph that holds one of everything `tasklens deps` has to show, and graphs of any size. */
#ifndef TL_TESTS_DEPS_RECORDING_H
#define TL_TESTS_DEPS_RECORDING_H

#include <tasklens/kernel.h>

#include "artifact/deps.h"
#include "artifact/name_map.h"
#include "unit/artifact_fixture.h"

#define FLAGGED(flags) (uint8_t)(TL_DEPS_HAS_FLAGS | (flags))

static struct tl_deps_view fixture_view(uint32_t rows, uint32_t columns, uint64_t pitch, uint64_t offset)
{
    return (struct tl_deps_view){
        .start_offset = offset, .strides = {pitch, 1}, .shape = {rows, columns}, .dtype = TL_FLOAT32, .rank = 2};
}

/* Two buffers; version 1 of the second. */
static const uint64_t fixture_buffers[] = {0x7f0010000000, 0x7f0020000400};

static void fixture_save_deps(const char *dir, const struct tl_deps *deps)
{
    char command[600];
    struct tl_error error;

    (void)snprintf(command, sizeof(command), "mkdir -p '%s/%s'", fixture_dir, dir);
    assert_int_equal(system(command), 0);
    if (tl__deps_write(fixture_path(dir), deps, &error) != 0)
        fail_msg("%s", error.msg);
}

static void fixture_save_names(const char *dir, const char *const *names, uint32_t count)
{
    struct tl_name_map map = {.count = count, .names = (char **)(uintptr_t)names};
    struct tl_error error;

    assert_int_equal(tl__name_map_write(fixture_path(dir), "default", &map, &error), 0);
}

/*
 * r0t0 alone; r0t1 feeds r0t2 and r1t0 by the tensormap and by creation; r1t0, a mix in a manual scope, is fed by all
 * sources; r1t1 is fed by r1t0 and by r0t9, which is not listed; one dependency was skipped.
 */
static void fixture_deps(const char *dir)
{
    const uint64_t a = tl__deps_tensor_id(fixture_buffers[0], 0), b = tl__deps_tensor_id(fixture_buffers[1], 1);
    const struct tl_deps_view whole = fixture_view(8, 16, 16, 0), half = fixture_view(4, 8, 16, 64),
                              dense = fixture_view(4, 16, 16, 0);
    struct tl_deps_tensor tensors[] = {
        {.tensor_id = a, .buffer_addr = fixture_buffers[0], .buffer_numel = 128, .dtype = TL_FLOAT32},
        {.tensor_id = b, .buffer_addr = fixture_buffers[1], .buffer_numel = 64, .version = 1, .dtype = TL_FLOAT32}};
    struct tl_deps_arg args[] = {
        {.tensor_id = a, .view = whole, .idx = 0, .type = TL_OUT_EXISTING, .has_view = true},
        {.idx = 1, .type = TL_OUT},
        {.tensor_id = a, .view = half, .idx = 0, .type = TL_IN, .has_view = true},
        {.tensor_id = b, .view = dense, .idx = 0, .type = TL_INOUT, .has_view = true},
        {.tensor_id = a, .view = whole, .idx = 1, .type = TL_NO_DEP, .has_view = true},
        {.tensor_id = b, .view = dense, .idx = 0, .type = TL_IN, .has_view = true},
    };
    struct tl_deps_task tasks[] = {
        {.task_id = 0, .kernel_ids = {-1, -1, -1}, .block_num = 1},
        {.task_id = 1, .first_arg = 0, .n_args = 2, .kernel_ids = {-1, 1, -1}, .block_num = 1},
        {.task_id = 2, .first_arg = 2, .n_args = 1, .kernel_ids = {-1, 1, 1}, .block_num = 24, .early_dispatch = true},
        {.task_id = 1ull << 32, .first_arg = 3, .n_args = 2, .kernel_ids = {0, 2, 1}, .block_num = 1, .manual = true},
        {.task_id = (1ull << 32) + 1, .first_arg = 5, .n_args = 1, .kernel_ids = {7, -1, -1}, .block_num = 1},
    };
    struct tl_deps_edge edges[] = {
        {.pred = 1,
         .succ = 2,
         .tensor_id = a,
         .source = TL_DEPS_TENSORMAP,
         .flags = FLAGGED(TL_DEPS_WAIT),
         .overlap = TL_DEPS_COVERED,
         .consumer = half,
         .producer = whole},
        {.pred = 1,
         .succ = 1ull << 32,
         .tensor_id = b,
         .source = TL_DEPS_CREATOR,
         .flags = FLAGGED(TL_DEPS_WAIT | TL_DEPS_RETAIN),
         .consumer = dense},
        {.pred = 2, .succ = 1ull << 32, .arg = -1, .source = TL_DEPS_EXPLICIT, .flags = FLAGGED(TL_DEPS_WAIT)},
        {.pred = 1, .succ = 1ull << 32, .arg = -1, .source = TL_DEPS_EXPLICIT, .flags = FLAGGED(TL_DEPS_RETAIN)},
        {.pred = 1ull << 32,
         .succ = (1ull << 32) + 1,
         .tensor_id = b,
         .source = TL_DEPS_TENSORMAP,
         .overlap = TL_DEPS_OTHER,
         .consumer = dense,
         .producer = dense},
        {.pred = 9, .succ = (1ull << 32) + 1, .arg = -1, .source = TL_DEPS_EXPLICIT},
    };
    struct tl_deps_edge skipped[] = {
        {.pred = 0, .succ = 2, .arg = -1, .source = TL_DEPS_EXPLICIT, .flags = FLAGGED(TL_DEPS_WAIT)}};
    const char *const names[] = {"MATMUL", "add\tand\nmore", "a\"b<c>\\d&'e"};

    fixture_save_deps(dir, &(struct tl_deps){.tasks = tasks,
                                             .args = args,
                                             .tensors = tensors,
                                             .edges = edges,
                                             .filtered = skipped,
                                             .n_tasks = 5,
                                             .n_args = 6,
                                             .n_tensors = 2,
                                             .n_edges = 6,
                                             .n_filtered = 1,
                                             .has_filtered = true});
    fixture_save_names(dir, names, 3);
}

/* `tasks` tasks of three kernels in rows of `width`, each fed by the one above it and a neighbour of that. */
static void fixture_grid(const char *dir, uint32_t tasks, uint32_t width)
{
    const uint64_t a = tl__deps_tensor_id(fixture_buffers[0], 0);
    struct tl_deps_tensor tensor = {
        .tensor_id = a, .buffer_addr = fixture_buffers[0], .buffer_numel = 64ull * tasks, .dtype = TL_FLOAT32};
    struct tl_deps_task *list = calloc(tasks, sizeof(*list));
    struct tl_deps_arg *args = calloc(2 * (size_t)tasks, sizeof(*args));
    struct tl_deps_edge *edges = calloc(2 * (size_t)tasks, sizeof(*edges));
    struct tl_deps deps = {.tasks = list,
                           .args = args,
                           .tensors = &tensor,
                           .edges = edges,
                           .n_tasks = tasks,
                           .n_args = 2 * (uint64_t)tasks,
                           .n_tensors = 1};
    const char *const names[] = {"load_block", "matmul_accumulate", "store"};

    assert_true(list != NULL && args != NULL && edges != NULL);
    for (uint32_t i = 0; i < tasks; i++) {
        const uint32_t above[2] = {i - width, i % width > 0 ? i - width - 1 : i - 1};

        list[i] = (struct tl_deps_task){.task_id = i,
                                        .first_arg = 2 * (uint64_t)i,
                                        .n_args = 2,
                                        .kernel_ids = {-1, (int32_t)(i / width % 3), -1},
                                        .block_num = 1};
        for (uint32_t k = 0; k < 2; k++) {
            args[2 * i + k] = (struct tl_deps_arg){.tensor_id = a,
                                                   .view = fixture_view(8, 8, 8, 64ull * (k == 0 ? i : above[0])),
                                                   .idx = k,
                                                   .type = k == 0 ? TL_OUT_EXISTING : TL_IN,
                                                   .has_view = true};
            if (i < width)
                continue;
            edges[deps.n_edges++] = (struct tl_deps_edge){.pred = above[k],
                                                          .succ = i,
                                                          .tensor_id = a,
                                                          .arg = (int32_t)k,
                                                          .source = TL_DEPS_TENSORMAP,
                                                          .flags = FLAGGED(TL_DEPS_WAIT),
                                                          .overlap = TL_DEPS_COVERED,
                                                          .consumer = fixture_view(8, 8, 8, 64ull * above[k]),
                                                          .producer = fixture_view(8, 8, 8, 64ull * above[k])};
        }
    }
    fixture_save_deps(dir, &deps);
    fixture_save_names(dir, names, 3);
    free(list);
    free(args);
    free(edges);
}

#endif
