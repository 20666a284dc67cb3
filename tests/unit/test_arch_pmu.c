/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of both chips: what the format pins, and what the model makes of counts. */
#include "unit/artifact_fixture.h"

#include "arch/pmu_set.h"
#include "artifact/pmu.h"

static const uint32_t events[] = {1, 2, 4, 5, 6, 7, 8};

static const struct tl_pmu_set *set_of(const char *arch, uint32_t event)
{
    const struct tl_pmu_set *set = tl__pmu_set(tl__arch_find(arch), event);

    assert_non_null(set);
    return set;
}

static void columns_are(const struct tl_pmu_set *set, const char *expected)
{
    char text[400] = "";

    for (uint32_t i = 0; i < set->n_columns; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > 0 ? "," : "",
                       set->columns[i].name);
    assert_string_equal(text, expected);
}

static void the_format_s_columns(void **state)
{
    (void)state;
    columns_are(set_of("a2a3", 2), "vec_busy_cycles,cube_busy_cycles,scalar_busy_cycles,mte1_busy_cycles,"
                                   "mte2_busy_cycles,mte3_busy_cycles,icache_miss,icache_req");
    columns_are(set_of("a5", 2), "pmu_idc_aic_vec_busy_o,cube_instr_busy,scalar_instr_busy,mte1_instr_busy,"
                                 "mte2_instr_busy,mte3_instr_busy,icache_req,icache_miss,pmu_fix_instr_busy");
}

static void every_event_of_every_chip(void **state)
{
    const struct tl_arch *arch;

    (void)state;
    for (unsigned a = 0; (arch = tl__arch_at(a)) != NULL; a++) {
        for (size_t e = 0; e < sizeof(events) / sizeof(events[0]); e++) {
            const struct tl_pmu_set *set = tl__pmu_set(arch, events[e]);

            assert_non_null(set);
            assert_ptr_equal(set, tl__pmu_set_at(arch, (unsigned)e));
            assert_string_equal(set->name, tl__pmu_event_name(events[e]));
            assert_in_range(set->n_columns, 1, arch->pmu_counters);
            for (uint32_t i = 0; i < set->n_columns; i++) {
                const struct tl_pmu_column *c = &set->columns[i];

                /* A value has a source, or a reason why it has none; never neither. */
                assert_true(c->name != NULL && (c->per > 0) == (c->lacking == NULL));
                assert_true((c->per > 0) == (c->terms[0].weight > 0));
                for (uint32_t k = 0; k < i; k++)
                    assert_string_not_equal(c->name, set->columns[k].name);
            }
        }
        assert_null(tl__pmu_set_at(arch, 7));
        assert_null(tl__pmu_set(arch, 0));
        assert_null(tl__pmu_set(arch, 3));
        assert_null(tl__pmu_set(arch, 9));
    }
    assert_null(tl__pmu_event_name(3));
    assert_null(tl__pmu_event_name(0));
    assert_null(tl__pmu_event_name(9));
}

static const struct tl_pmu_column *column(const char *arch, uint32_t event, const char *name)
{
    const struct tl_pmu_set *set = set_of(arch, event);

    for (uint32_t i = 0; i < set->n_columns; i++)
        if (strcmp(set->columns[i].name, name) == 0)
            return &set->columns[i];
    fail_msg("no column %s", name);
    return NULL;
}

static void the_model_s_arithmetic(void **state)
{
    uint64_t counts[TL_COUNT_CLASSES] = {0};

    (void)state;
    assert_int_equal(tl__pmu_model(column("a2a3", 2, "mte2_busy_cycles"), TL_AIV, counts), 0);
    counts[TL_COUNT_MTE2_BYTES] = 1;
    assert_int_equal(tl__pmu_model(column("a2a3", 2, "mte2_busy_cycles"), TL_AIV, counts), 1); /* rounded up */
    counts[TL_COUNT_MTE2_BYTES] = 1300;
    assert_int_equal(tl__pmu_model(column("a2a3", 2, "mte2_busy_cycles"), TL_AIV, counts), 1);
    counts[TL_COUNT_MTE2_BYTES] = 1301;
    assert_int_equal(tl__pmu_model(column("a2a3", 2, "mte2_busy_cycles"), TL_AIV, counts), 2);
    assert_int_equal(tl__pmu_model(column("a5", 2, "mte2_instr_busy"), TL_AIV, counts), 14);
    /* MTE2 fills UB on a vector core and L1 on a cube core. */
    assert_int_equal(tl__pmu_model(column("a2a3", 4, "l1_write_bytes"), TL_AIC, counts), 1301);
    assert_int_equal(tl__pmu_model(column("a2a3", 4, "l1_write_bytes"), TL_AIV, counts), 0);
    assert_int_equal(tl__pmu_model(column("a2a3", 7, "ub_write_bytes_mte"), TL_AIV, counts), 1301);
    assert_int_equal(tl__pmu_model(column("a2a3", 7, "ub_write_bytes_mte"), TL_AIC, counts), 0);
    counts[TL_COUNT_VEC_FP32_OPS] = 1000;
    counts[TL_COUNT_VEC_FP16_OPS] = 10;
    counts[TL_COUNT_VEC_MISC_OPS] = 7;
    assert_int_equal(tl__pmu_model(column("a5", 2, "pmu_idc_aic_vec_busy_o"), TL_AIV, counts), (2017 + 255) / 256);
    assert_int_equal(tl__pmu_model(column("a2a3", 4, "ub_read_bytes"), TL_AIV, counts), 8000 + 40 + 28);
    counts[TL_COUNT_CUBE_FP16_OPS] = 4096;
    assert_int_equal(tl__pmu_model(column("a2a3", 5, "l0a_read_bytes"), TL_AIC, counts), 512);
    assert_int_equal(tl__pmu_model(column("a2a3", 5, "l0c_write_bytes_cube"), TL_AIC, counts), 1024);
    assert_int_equal(tl__pmu_model(column("a2a3", 1, "cube_fops"), TL_AIC, counts), 8192);
    assert_int_equal(tl__pmu_model(column("a2a3", 2, "icache_miss"), TL_AIC, counts), 0);
}

static void formulas_are_the_arithmetic(void **state)
{
    char text[300], little[8];

    (void)state;
    assert_string_equal(tl__pmu_formula(column("a2a3", 2, "mte2_busy_cycles"), text, sizeof(text)),
                        "mte2_bytes / 1300, rounded up");
    assert_string_equal(tl__pmu_formula(column("a2a3", 2, "vec_busy_cycles"), text, sizeof(text)),
                        "(2 * vec_fp32_ops + vec_fp16_ops + 2 * vec_int32_ops + vec_misc_ops) / 4800, rounded up");
    assert_string_equal(tl__pmu_formula(column("a2a3", 4, "l1_write_bytes"), text, sizeof(text)),
                        "mte2_bytes of an AIC");
    assert_string_equal(tl__pmu_formula(column("a2a3", 4, "l1_write_bytes"), little, sizeof(little)), "mte2_by");
    assert_string_equal(tl__pmu_count_name(TL_COUNT_FIX_BYTES), "fix_bytes");
    assert_string_equal(tl__pmu_count_name(TL_COUNT_CLASSES), "unknown");
}

static void tl_count_adds_to_its_class(void **state)
{
    uint64_t counts[TL_COUNT_CLASSES + 1] = {0};
    struct tl_kernel_args k = {.n_counts = TL_COUNT_CLASSES, .counts = counts};

    (void)state;
    tl_count(&k, TL_COUNT_MTE2_BYTES, 5);
    tl_count(&k, TL_COUNT_MTE2_BYTES, 6);
    tl_count(&k, TL_COUNT_FIX_BYTES, 1);
    tl_count(&k, TL_COUNT_CLASSES, 100); /* a class of a later version */
    assert_int_equal(counts[TL_COUNT_MTE2_BYTES], 11);
    assert_int_equal(counts[TL_COUNT_FIX_BYTES], 1);
    assert_int_equal(counts[TL_COUNT_CLASSES], 0);
    k = (struct tl_kernel_args){0};
    tl_count(&k, TL_COUNT_SCALAR_OPS, 1); /* nobody counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_format_s_columns),       cmocka_unit_test(every_event_of_every_chip),
        cmocka_unit_test(the_model_s_arithmetic),     cmocka_unit_test(formulas_are_the_arithmetic),
        cmocka_unit_test(tl_count_adds_to_its_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
