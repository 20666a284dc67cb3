/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of dep_gen may hold: the collector's inspection names the field of an impossible one. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/collector.h"
#include "wire/deps_record.h"

static const char *inspect(const void *record)
{
    struct tl_payload payload;
    const char *field = tl__record_check(&tl__deps_collector, &(struct tl_record_limits){0}, record, &payload);

    assert_int_equal(payload.bytes, 0);
    assert_true(payload.whole);
    return field;
}

#define REFUSES(kind_, field_, value_, name_)                                                                          \
    do {                                                                                                               \
        union tl_wire_deps_record bad = good_##kind_;                                                                  \
        bad.kind_.field_ = (value_);                                                                                   \
        assert_string_equal(inspect(&bad), name_);                                                                     \
    } while (0)

static void impossible_values_are_named(void **state)
{
    const union tl_wire_deps_record good_task = {
        .task = {.kind = TL_WIRE_DEPS_TASK, .block_num = 1, .n_edges = 1, .edges = {{.arg = -1}}}};
    const union tl_wire_deps_record good_arg = {.arg = {.kind = TL_WIRE_DEPS_ARG, .direction = TL_IN}};
    const union tl_wire_deps_record good_ids = {.ids = {.kind = TL_WIRE_DEPS_IDS, .count = 15}};
    const union tl_wire_deps_record good_edges = {.edges = {.kind = TL_WIRE_DEPS_EDGES, .count = 7}};
    union tl_wire_deps_record task = good_task, edges = good_edges;

    (void)state;
    for (unsigned i = 0; i < 7; i++)
        edges.edges.edges[i].arg = -1;
    assert_null(inspect(&task));
    assert_null(inspect(&good_arg));
    assert_null(inspect(&good_ids));
    assert_null(inspect(&edges));
    REFUSES(task, kind, 0, "record.kind");
    REFUSES(task, kind, 5, "record.kind");
    REFUSES(task, flags, 4, "record.flags");
    REFUSES(task, task_id, UINT64_C(4) << 32, "record.task_id");
    REFUSES(task, n_args, TL_MAX_TENSORS + 1, "record.n_args");
    REFUSES(task, depth, TL_DEPS_MAX_DEPTH + 1, "record.depth");
    REFUSES(task, block_num, 0, "record.block_num");
    REFUSES(task, func[1], -2, "record.func");
    REFUSES(task, edges[0].arg, TL_MAX_TENSORS, "record.edges");
    REFUSES(task, edges[0].source, 3, "record.edges");
    REFUSES(task, edges[0].arg, 0, "record.edges"); /* explicit, of an argument */
    REFUSES(arg, direction, TL_SCALAR, "record.direction");
    REFUSES(ids, count, 0, "record.count");
    REFUSES(ids, count, 16, "record.count");
    REFUSES(edges, count, 0, "record.count");
    REFUSES(edges, count, 8, "record.count");
    edges.edges.edges[6].pred = UINT64_C(4) << 32;
    assert_string_equal(inspect(&edges), "record.edges");
    edges.edges.edges[6].pred = 0;
    edges.edges.edges[6].flags = 16;
    assert_string_equal(inspect(&edges), "record.edges");
    task.task.flags = TL_WIRE_DEPS_ALLOC;
    assert_string_equal(inspect(&task), "record.n_edges");
    task.task.n_deps = 1;
    assert_string_equal(inspect(&task), "record.n_deps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_values_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
