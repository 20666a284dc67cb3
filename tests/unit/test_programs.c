/* SPDX-License-Identifier: Apache-2.0 */
/* Every bundled program, run by the serial interpreter, gives what its golden says: in order of submission, and in
 * random orders that keep only the dependencies which a program may count on. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/serial.h"

#define SHUFFLES 8

struct loaded {
    void *handle;
    const struct tl_program *program;
};

static struct loaded load(const char *name)
{
    struct loaded l = {0};
    struct tl_error err = {0};
    char path[1024];

    assert_true(snprintf(path, sizeof path, "%s/examples/%s.so", TL_TEST_BINARY_DIR, name) < (int)sizeof path);
    if (serial_load(path, &l.handle, &l.program, &err))
        fail_msg("%s: %s", path, err.msg);
    assert_string_equal(l.program->name, name);
    assert_int_equal(l.program->struct_size, sizeof(struct tl_program));
    assert_int_equal(l.program->api_version, TL_PROGRAM_API);
    return l;
}

/* Runs one case and wants no error and no difference from the golden. Returns the number of tasks. */
static uint64_t good_run(const struct tl_program *p, const struct serial_opts *opts)
{
    struct serial_run *run = NULL;
    struct tl_error first = {0};
    uint64_t tasks, checked = 0;

    if (serial_run(p, opts, &run))
        fail_msg("%s %s: %s", p->name, opts->case_name ? opts->case_name : "", run ? run->error.msg : "no memory");
    if (serial_differences(p, run, &first))
        fail_msg("%s %s, shuffle %llu: %s", p->name, opts->case_name ? opts->case_name : "",
                 (unsigned long long)opts->shuffle_seed, first.msg);
    for (uint32_t i = 0; i < run->n_tensors; i++)
        checked += run->tensors[i].expected != NULL;
    assert_true(checked > 0);
    tasks = run->tasks;
    serial_free(run);
    return tasks;
}

static uint64_t good_in_any_order(const struct tl_program *p, struct serial_opts opts)
{
    const uint64_t tasks = good_run(p, &opts);

    for (uint64_t seed = 1; seed <= SHUFFLES; seed++) {
        opts.shuffle_seed = seed;
        assert_int_equal(good_run(p, &opts), tasks);
    }
    opts.shuffle_seed = SERIAL_LAST_FIRST;
    assert_int_equal(good_run(p, &opts), tasks);
    return tasks;
}

static uint64_t good_case(const struct tl_program *p, const char *name)
{
    return good_in_any_order(p, (struct serial_opts){.case_name = name});
}

static void vector_add_is_exact(void **state)
{
    const struct loaded l = load("vector_add");
    struct serial_run *run = NULL;

    (void)state;
    assert_int_equal(good_case(l.program, NULL), 4);
    assert_int_equal(good_case(l.program, "whole"), 1);
    assert_int_equal(good_case(l.program, "ragged"), 7);
    assert_int_equal(serial_run(l.program, NULL, &run), 0);
    assert_int_equal(run->n_tensors, 4);
    for (uint64_t i = 0; i < 16384; i++) {
        const double want[] = {2.0, 3.0, 0.0, 5.0};

        for (uint32_t t = 0; t < 4; t++)
            assert_true(serial_element(run->tensors[t].data, TL_FLOAT32, i) == want[t]);
    }
    serial_free(run);
    serial_unload(l.handle);
}

static void bgemm_matches(void **state)
{
    const struct loaded l = load("bgemm");

    (void)state;
    assert_int_equal(good_case(l.program, NULL), 2 * 4 * 3);
    assert_int_equal(good_case(l.program, "ragged"), 3 * 6 * 4);
    good_case(l.program, "transposed");
    serial_unload(l.handle);
}

static void paged_attention_matches(void **state)
{
    const struct loaded l = load("paged_attention");
    const struct tl_setting bfloat16 = {"dtype", 1};

    (void)state;
    assert_int_equal(good_case(l.program, NULL), 4 * (1 + 3 * 4 + 1));
    assert_int_equal(good_case(l.program, "bfloat16"), 4 * (1 + 3 * 4 + 1));
    assert_int_equal(good_case(l.program, "spmd"), 1 + 8 * 4 + 1);
    good_in_any_order(l.program, (struct serial_opts){.case_name = "spmd", .settings = &bfloat16, .n_settings = 1});
    good_run(l.program, &(struct serial_opts){.case_name = "grouped"});
    good_run(l.program, &(struct serial_opts){.case_name = "grouped", .settings = &bfloat16, .n_settings = 1});
    serial_unload(l.handle);
}

static void layer_matches(void **state)
{
    const struct loaded l = load("layer");

    (void)state;
    assert_int_equal(good_case(l.program, NULL), 10 + 1 + 2 * 3 + 2);
    assert_int_equal(good_case(l.program, "wide"), 10 + 1 + 7 * 3 + 2);
    serial_unload(l.handle);
}

static void graphs_match(void **state)
{
    static const char *const names[] = {"chain", "independent", "wavefront", "scopes", "spmd", "dtypes", "edge_views"};
    const struct tl_setting chains[] = {{"n", 100}, {"width", 7}, {"scope_tasks", 9}};
    const struct tl_setting grid[] = {{"n", 9}, {"width", 5}};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct loaded l = load(names[i]);

        for (uint32_t c = 0; c < (l.program->n_cases ? l.program->n_cases : 1); c++)
            good_case(l.program, l.program->n_cases ? l.program->cases[c].name : NULL);
        if (i == 0)
            assert_int_equal(good_in_any_order(l.program, (struct serial_opts){.settings = chains, .n_settings = 3}),
                             100);
        if (i == 2)
            assert_int_equal(good_in_any_order(l.program, (struct serial_opts){.settings = grid, .n_settings = 2}), 45);
        serial_unload(l.handle);
    }
}

static void many_dependencies_are_kept(void **state)
{
    const struct loaded l = load("many_deps");

    (void)state;
    assert_int_equal(good_case(l.program, NULL), 66);
    good_run(l.program, &(struct serial_opts){.case_name = "646", .shuffle_seed = SERIAL_LAST_FIRST});
    assert_int_equal(good_run(l.program, &(struct serial_opts){.case_name = "600000"}), 1025);
    assert_int_equal(good_run(l.program, &(struct serial_opts){.case_name = "600000_tasks"}), 600001);
    serial_unload(l.handle);
}

/* A run that goes through and comes out wrong, first at that element of its output. */
static void wrong_result(const char *name, uint64_t differences, const char *where)
{
    const struct loaded l = load(name);
    struct serial_run *run = NULL;
    struct tl_error first = {0};

    if (serial_run(l.program, NULL, &run))
        fail_msg("%s: %s", name, run->error.msg);
    assert_int_equal(serial_differences(l.program, run, &first), differences);
    if (!strstr(first.msg, where))
        fail_msg("%s: %s", name, first.msg);
    serial_free(run);
    serial_unload(l.handle);
}

/* nan_softmax: the infinite element becomes NaN; those beside it become 0, which is as good as what they should be. */
static void faults_show_in_the_result(void **state)
{
    (void)state;
    wrong_result("nan_softmax", 1, "probs element 37 is");
    wrong_result("wrong_stride", 12, "out element 4 is 8, expected 104");
    wrong_result("off_by_one", 8, "out element 96 is 3, expected 0");
}

/* A program that does not load, or a run that ends with this error. */
static void refused(const char *name, const char *case_name, int code, const char *message)
{
    struct serial_run *run = NULL;
    struct loaded l = {0};
    struct tl_error err = {0};
    char path[1024];

    assert_true(snprintf(path, sizeof path, "%s/examples/%s.so", TL_TEST_BINARY_DIR, name) < (int)sizeof path);
    if (serial_load(path, &l.handle, &l.program, &err) == 0) {
        serial_run(l.program, &(struct serial_opts){.case_name = case_name}, &run);
        err = run->error;
    }
    if (err.code != code || !strstr(err.msg, message))
        fail_msg("%s: %d %s", name, err.code, err.msg);
    serial_free(run);
    serial_unload(l.handle);
}

static void faults_are_refused(void **state)
{
    (void)state;
    refused("no_function", NULL, TL_ELOAD, "empty has no function");
    refused("duplicate_func_id", NULL, TL_ELOAD, "first and second share func_id 3");
    refused("scalar_before_tensor", NULL, TL_ELOAD, "mixed_up has a scalar before a tensor");
    refused("bad_overlap", NULL, TL_EGRAPH, "overlaps another argument");
    refused("past_buffer", NULL, TL_EGRAPH, "reaches past its buffer");
    refused("bad_args", "unknown_kernel", TL_EGRAPH, "func_id 77");
    refused("bad_args", "wrong_core", TL_EGRAPH, "cube is for the other core type");
    refused("bad_args", "empty_mix", TL_EGRAPH, "without a kernel");
    refused("bad_args", "many_tensors", TL_ENOSPC, "argument 16");
    refused("bad_args", "many_scalars", TL_ERANGE, "argument 32");
    refused("bad_args", "mark_not_added", TL_ENOENT, "not found");
    refused("bad_args", "not_allocated", TL_EGRAPH, "argument 1: is not allocated");
    refused("bad_args", "unknown_dependency", TL_EGRAPH, "never submitted");
    refused("bad_args", "open_scope", TL_EGRAPH, "1 scopes never ended");
    refused("bad_args", "own_message", TL_EGRAPH, "this shape is not supported");
}

/* The same programs without their fault; the two that only a chip can run are at least programs. */
static void faults_are_the_only_ones(void **state)
{
    const struct tl_setting beside = {"shift", 8}, inside = {"extra", 0};
    struct loaded l = load("bad_overlap");

    (void)state;
    good_in_any_order(l.program, (struct serial_opts){.settings = &beside, .n_settings = 1});
    serial_unload(l.handle);
    l = load("past_buffer");
    good_run(l.program, &(struct serial_opts){.settings = &inside, .n_settings = 1});
    serial_unload(l.handle);
    l = load("bad_args");
    good_case(l.program, NULL);
    serial_unload(l.handle);
    serial_unload(load("spin").handle);
    serial_unload(load("crash").handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add_is_exact),
        cmocka_unit_test(bgemm_matches),
        cmocka_unit_test(paged_attention_matches),
        cmocka_unit_test(layer_matches),
        cmocka_unit_test(graphs_match),
        cmocka_unit_test(many_dependencies_are_kept),
        cmocka_unit_test(faults_show_in_the_result),
        cmocka_unit_test(faults_are_refused),
        cmocka_unit_test(faults_are_the_only_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
