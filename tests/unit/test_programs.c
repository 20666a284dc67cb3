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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add_is_exact),
        cmocka_unit_test(bgemm_matches),
        cmocka_unit_test(paged_attention_matches),
        cmocka_unit_test(layer_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
