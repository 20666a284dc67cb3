/* SPDX-License-Identifier: Apache-2.0 */
/* deps.json: what is written is read back the same, field by field; what is wrong is named. */
#include "json_edit.h"

#include <tasklens/kernel.h>

#include "artifact/deps.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct tl_deps_task tasks[] = {
    {.task_id = 0, .kernel_ids = {3, 4, -1}, .block_num = 1, .n_args = 2, .manual = true},
    {.task_id = 0x100000000, .first_arg = 2, .kernel_ids = {-1, 0, -1}, .block_num = 64, .early_dispatch = true},
    {.task_id = UINT64_MAX, .first_arg = 2, .kernel_ids = {-1, -1, 2147483647}, .block_num = 1, .n_args = 3},
};

static struct tl_deps_arg args[] = {
    {.tensor_id = UINT64_MAX,
     .view = {.start_offset = UINT64_MAX - 1, .strides = {1u << 20, 1}, .shape = {4, 256}, .rank = 2},
     .idx = 0,
     .type = TL_IN,
     .has_view = true},
    {.view = {.dtype = TL_DTYPE_COUNT}, .idx = 1, .type = TL_OUT},
    {.tensor_id = 7, .view = {.dtype = TL_FP4E2M1}, .idx = 0, .type = TL_NO_DEP, .has_view = true},
    {.tensor_id = 8,
     .view = {.strides = {5, 4, 3, 2, 1}, .shape = {1, 2, 3, 4, 5}, .rank = 5, .dtype = TL_BFLOAT16},
     .idx = 1,
     .type = TL_INOUT,
     .has_view = true},
    {.tensor_id = 9,
     .view = {.strides = {1}, .shape = {4294967295}, .rank = 1, .dtype = TL_BOOL},
     .idx = 31,
     .type = TL_OUT_EXISTING,
     .has_view = true},
};

static struct tl_deps_tensor tensors[] = {
    {.tensor_id = 7, .buffer_addr = UINT64_MAX, .buffer_numel = UINT64_MAX, .version = 4294967295, .dtype = TL_INT8},
    {.tensor_id = 8, .dtype = TL_FP8E4M3FN},
};

static struct tl_deps_edge edges[] = {
    {.pred = 0,
     .succ = 0x100000000,
     .arg = -1,
     .source = TL_DEPS_EXPLICIT,
     .flags = TL_DEPS_HAS_FLAGS,
     .consumer.dtype = TL_DTYPE_COUNT,
     .producer.dtype = TL_DTYPE_COUNT},
    {.pred = 0,
     .succ = UINT64_MAX,
     .tensor_id = 8,
     .arg = 1,
     .source = TL_DEPS_CREATOR,
     .flags = TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT | TL_DEPS_RETAIN,
     .consumer = {.start_offset = 3, .strides = {1}, .shape = {2}, .rank = 1, .dtype = TL_FLOAT16},
     .producer.dtype = TL_DTYPE_COUNT},
    {.pred = 5, /* is not listed */
     .succ = UINT64_MAX,
     .tensor_id = 9,
     .arg = 2,
     .source = TL_DEPS_TENSORMAP,
     .flags = TL_DEPS_HAS_FLAGS | TL_DEPS_RETAIN,
     .overlap = TL_DEPS_OTHER,
     .consumer = {.start_offset = 1, .strides = {8, 1}, .shape = {2, 2}, .rank = 2, .dtype = TL_UINT64},
     .producer = {.start_offset = 4, .strides = {2}, .shape = {9}, .rank = 1, .dtype = TL_UINT64}},
    {.pred = 0x100000000,
     .succ = UINT64_MAX,
     .arg = 0,
     .source = TL_DEPS_TENSORMAP,
     .overlap = TL_DEPS_COVERED, /* no flags: a file without them stays one */
     .consumer.dtype = TL_INT16,
     .producer.dtype = TL_INT16},
};

static struct tl_deps all_of_it(void)
{
    return (struct tl_deps){.tasks = tasks,
                            .args = args,
                            .tensors = tensors,
                            .edges = edges,
                            .filtered = edges,
                            .n_tasks = COUNT_OF(tasks),
                            .n_args = COUNT_OF(args),
                            .n_tensors = COUNT_OF(tensors),
                            .n_edges = COUNT_OF(edges),
                            .n_filtered = 1,
                            .has_filtered = true};
}

static void write_all_of_it(void)
{
    struct tl_deps d = all_of_it();
    struct tl_error err = {0};

    if (tl__deps_write(fixture_dir, &d, &err) != 0)
        fail_msg("%s", err.msg);
}

static void assert_same_view(const struct tl_deps_view *a, const struct tl_deps_view *b)
{
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->dtype, b->dtype);
    assert_true(a->start_offset == b->start_offset);
    assert_memory_equal(a->shape, b->shape, sizeof(a->shape));
    assert_memory_equal(a->strides, b->strides, sizeof(a->strides));
}

static void assert_same_edge(const struct tl_deps_edge *a, const struct tl_deps_edge *b)
{
    assert_true(a->pred == b->pred && a->succ == b->succ && a->tensor_id == b->tensor_id);
    assert_int_equal(a->arg, b->arg);
    assert_int_equal(a->source, b->source);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->overlap, b->overlap);
    assert_same_view(&a->consumer, &b->consumer);
    assert_same_view(&a->producer, &b->producer);
}

static void what_is_written_is_read(void **state)
{
    struct tl_deps d;
    struct tl_error err = {0};

    (void)state;
    write_all_of_it();
    json_matches_golden(TL_DEPS_NAME);
    if (tl__deps_read(fixture_path(TL_DEPS_NAME), &d, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(d.n_tasks, COUNT_OF(tasks));
    assert_int_equal(d.n_args, COUNT_OF(args));
    assert_int_equal(d.n_tensors, COUNT_OF(tensors));
    assert_int_equal(d.n_edges, COUNT_OF(edges));
    assert_int_equal(d.n_filtered, 1);
    assert_true(d.has_filtered);
    for (unsigned i = 0; i < COUNT_OF(tasks); i++) {
        assert_true(d.tasks[i].task_id == tasks[i].task_id);
        assert_int_equal(d.tasks[i].first_arg, tasks[i].first_arg);
        assert_memory_equal(d.tasks[i].kernel_ids, tasks[i].kernel_ids, sizeof(tasks[i].kernel_ids));
        assert_int_equal(d.tasks[i].block_num, tasks[i].block_num);
        assert_int_equal(d.tasks[i].n_args, tasks[i].n_args);
        assert_int_equal(d.tasks[i].manual, tasks[i].manual);
        assert_int_equal(d.tasks[i].early_dispatch, tasks[i].early_dispatch);
    }
    for (unsigned i = 0; i < COUNT_OF(args); i++) {
        assert_true(d.args[i].tensor_id == args[i].tensor_id);
        assert_int_equal(d.args[i].idx, args[i].idx);
        assert_int_equal(d.args[i].type, args[i].type);
        assert_int_equal(d.args[i].has_view, args[i].has_view);
        assert_same_view(&d.args[i].view, &args[i].view);
    }
    for (unsigned i = 0; i < COUNT_OF(tensors); i++) {
        assert_true(d.tensors[i].tensor_id == tensors[i].tensor_id);
        assert_true(d.tensors[i].buffer_addr == tensors[i].buffer_addr);
        assert_true(d.tensors[i].buffer_numel == tensors[i].buffer_numel);
        assert_int_equal(d.tensors[i].version, tensors[i].version);
        assert_int_equal(d.tensors[i].dtype, tensors[i].dtype);
    }
    for (unsigned i = 0; i < COUNT_OF(edges); i++)
        assert_same_edge(&d.edges[i], &edges[i]);
    assert_same_edge(&d.filtered[0], &edges[0]);
    tl__deps_fini(&d);
    assert_null(d.tasks);
}

static void the_index_finds_tasks(void **state)
{
    static const uint32_t preds[] = {0, 0, UINT32_MAX, 1}, succs[] = {1, 2, 2, 2};
    struct tl_deps d = {0};

    (void)state;
    assert_int_equal(tl__deps_find(&d, 0), UINT32_MAX);
    write_all_of_it();
    assert_int_equal(tl__deps_read(fixture_path(TL_DEPS_NAME), &d, NULL), 0);
    for (unsigned i = 0; i < COUNT_OF(edges); i++) {
        assert_int_equal(d.edge_pred[i], preds[i]);
        assert_int_equal(d.edge_succ[i], succs[i]);
    }
    assert_int_equal(tl__deps_find(&d, UINT64_MAX), 2);
    assert_int_equal(tl__deps_find(&d, 0x100000000), 1);
    assert_int_equal(tl__deps_find(&d, 1), UINT32_MAX);
    tl__deps_fini(&d);
}

/* Ids of four rings, many: each is found, and none that is not there. */
static void the_index_holds_many(void **state)
{
    enum { N = 32768 }; /* a power of two, which the table must not be full with */
    struct tl_deps d = {.n_tasks = N};
    struct tl_error err = {0};

    (void)state;
    d.tasks = test_calloc(N, sizeof(*d.tasks));
    for (uint64_t i = 0; i < N; i++)
        d.tasks[i].task_id = i % 4 << 32 | i / 4;
    assert_int_equal(tl__deps_index(&d, &err), 0);
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(tl__deps_find(&d, d.tasks[i].task_id), i);
    assert_int_equal(tl__deps_find(&d, N / 4), UINT32_MAX);
    assert_int_equal(tl__deps_find(&d, (uint64_t)4 << 32), UINT32_MAX);
    d.tasks[N - 1].task_id = 3;
    assert_int_equal(tl__deps_index(&d, &err), TL_EPARSE);
    assert_string_equal(err.msg, "tasks[32767]: field 'task_id': 3 is the id of tasks[12] already");
    assert_null(d.by_id);
    test_free(d.tasks);
    d.tasks = NULL;
    tl__deps_fini(&d);
}

static void a_tensor_id_is_that_of_other_writers(void **state)
{
    (void)state;
    /* Of recordings that another runtime made. */
    assert_true(tl__deps_tensor_id(752327056, 0) == 14166860121743648793u);
    assert_true(tl__deps_tensor_id(139832658490368, 0) == 6645328366591649087u);
    /* Every byte counts. */
    assert_true(tl__deps_tensor_id(0, 1) != tl__deps_tensor_id(0, 1u << 24));
    assert_true(tl__deps_tensor_id(1, 0) != tl__deps_tensor_id((uint64_t)1 << 56, 0));
}

static void an_empty_graph_is_written_and_read(void **state)
{
    static const char text[] = "{\n  \"tasks\": [],\n  \"tensors\": [],\n  \"edges\": []\n}\n";
    struct tl_deps d = {0};
    char *written;

    (void)state;
    assert_int_equal(tl__deps_write(fixture_dir, &d, NULL), 0);
    written = fixture_read(TL_DEPS_NAME, NULL);
    assert_string_equal(written, text);
    free(written);
    d.has_filtered = true;
    assert_int_equal(tl__deps_write(fixture_dir, &d, NULL), 0);
    assert_int_equal(tl__deps_read(fixture_path(TL_DEPS_NAME), &d, NULL), 0);
    assert_true(d.has_filtered && d.n_tasks == 0 && d.n_edges == 0 && d.n_filtered == 0);
    tl__deps_fini(&d);
    assert_int_equal(tl__deps_parse(text, sizeof(text) - 1, "f.json", &d, NULL), 0);
    assert_false(d.has_filtered);
    assert_int_equal(tl__deps_find(&d, 0), UINT32_MAX);
    tl__deps_fini(&d);
}

/* Numbers for strings and back, other cases, members in another order, unknown members, no flags. */
static void other_writers_are_understood(void **state)
{
    static const char text[] =
        "{\"format\": {\"edges\": [1]}, \"edges\": [{\"source\": \"Creator\", \"tensor_id\": 18446744073709551615,"
        " \"consumer_strides\": [\"4\"], \"consumer_start_offset\": 8, \"consumer_shape\": [2],"
        " \"consumer_dtype\": \"int32\", \"arg\": \"0\", \"succ\": 4294967296, \"pred\": \"0x1\"}],"
        " \"tensors\": [{\"tensor_id\": 3, \"buffer_addr\": \"0x7f00\", \"version\": \"2\", \"dtype\": \"INT4\","
        " \"buffer_numel\": 5}], \"tasks\": [{\"args\": [{\"type\": \"output\", \"idx\": 0, \"note\": null}],"
        " \"block_num\": \"2\", \"kernel_ids\": [\"0\", -1, -1], \"scope\": \"AUTO\", \"task_id\": 1,"
        " \"lanes\": [[{}]]}]}";
    struct tl_deps d;
    struct tl_error err = {0};

    (void)state;
    if (tl__deps_parse(text, sizeof(text) - 1, "f.json", &d, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(d.edges[0].tensor_id == UINT64_MAX);
    assert_int_equal(d.edges[0].source, TL_DEPS_CREATOR);
    assert_int_equal(d.edges[0].flags, 0);
    assert_int_equal(d.edges[0].consumer.strides[0], 4);
    assert_int_equal(d.edges[0].consumer.start_offset, 8);
    assert_int_equal(d.edges[0].consumer.dtype, TL_INT32);
    assert_int_equal(d.edge_pred[0], 0);
    assert_int_equal(d.edge_succ[0], UINT32_MAX);
    assert_int_equal(d.tensors[0].buffer_addr, 0x7f00);
    assert_int_equal(d.tensors[0].dtype, TL_DTYPE_COUNT);
    assert_int_equal(d.tasks[0].block_num, 2);
    assert_int_equal(d.args[0].type, TL_OUT);
    assert_false(d.args[0].has_view || d.tasks[0].manual || d.tasks[0].early_dispatch);
    tl__deps_fini(&d);
}

/* An unknown dtype that is written again reads as unknown again. */
static void an_unknown_dtype_stays_one(void **state)
{
    struct tl_deps_tensor tensor = {.dtype = TL_DTYPE_COUNT};
    struct tl_deps d = {.tensors = &tensor, .n_tensors = 1};

    (void)state;
    assert_int_equal(tl__deps_write(fixture_dir, &d, NULL), 0);
    assert_int_equal(tl__deps_read(fixture_path(TL_DEPS_NAME), &d, NULL), 0);
    assert_int_equal(d.tensors[0].dtype, TL_DTYPE_COUNT);
    tl__deps_fini(&d);
}

static int parse(const void *text, size_t bytes, const char *name, struct tl_error *reterr)
{
    struct tl_deps d;
    int code = tl__deps_parse(text, bytes, name, &d, reterr);

    if (code == 0)
        tl__deps_fini(&d);
    return code;
}

/* In the order of the file; `from` is the first of its kind in it. */
static const struct json_edit wrong_heads[] = {
    {"{\n  \"tasks\"", "[{\n  \"tasks\"", ": expected an object, found an array", -1},
    {"\"tasks\": [", "\"tasks\": {}, \"x\": [", ": tasks: expected an array, found an object", -1},
    {"\"tasks\": [", "\"task\": [", ": field 'tasks': missing", -1},
    {"\"tensors\": [", "\"tensor\": [", ": field 'tensors': missing", -1},
    {"\"edges\": [", "\"edge\": [", ": field 'edges': missing", -1},
    {"\"tensors\": [", "\"tasks\": [], \"tensors\": [", ": field 'tasks': appears twice", -1},
    {"\"tasks\": [", "\"tasks\": [7, ", ": tasks[0]: expected an object, found a number", 0},
    {"\"tasks\": [", "\"tasks\": ?", ":2:12: not valid JSON: lexical error: invalid char in json text.", 2},
};

static const struct json_edit wrong_tasks[] = {
    {"\"task_id\": \"0\", ", "", ": tasks[0]: field 'task_id': missing", 0},
    {"\"task_id\": \"0\"", "\"task_id\": -1",
     ": tasks[0]: field 'task_id': expected an integer from 0 to 18446744073709551615, found -1", 0},
    {"\"task_id\": \"4294967296\"", "\"task_id\": \"18446744073709551616\"",
     ": tasks[1]: field 'task_id': expected an integer from 0 to 18446744073709551615, found 18446744073709551616", 1},
    {"\"task_id\": \"4294967296\"", "\"task_id\": \"0\"",
     ": tasks[1]: field 'task_id': 0 is the id of tasks[0] already", 1},
    {"\"scope\": \"manual\", ", "", ": tasks[0]: field 'scope': missing", 0},
    {"\"scope\": \"auto\"", "\"scope\": \"none\"", ": tasks[1]: field 'scope': 'none' is not known", 1},
    {"\"early_dispatch\": true", "\"early_dispatch\": 1",
     ": tasks[1]: field 'early_dispatch': expected a bool, found a number", 1},
    {"\"kernel_ids\": [3, 4, -1], ", "", ": tasks[0]: field 'kernel_ids': missing", 0},
    {"[3, 4, -1]", "[3, 4]", ": tasks[0]: field 'kernel_ids': expected 3 (AIC, AIV0, AIV1), found 2", 0},
    {"[3, 4, -1]", "[3, 4.5, -1]",
     ": tasks[0]: field 'kernel_ids': expected an integer from -2147483648 to 2147483647, found 4.5", 0},
    {"\"block_num\": 64, ", "", ": tasks[1]: field 'block_num': missing", 1},
    {"\"block_num\": 64", "\"block_num\": null", ": tasks[1]: field 'block_num': expected a number, found null", 1},
    {"\"args\": []", "\"arg\": []", ": tasks[1]: field 'args': missing", 1},
    {"\"args\": []", "\"args\": 0", ": tasks[1]: field 'args': expected an array, found a number", 1},
    {"\"args\": []", "\"args\": [[]]", ": tasks[1].args[0]: expected an object, found an array", 1},
};

static const struct json_edit wrong_args[] = {
    {"\"idx\": 31, ", "", ": tasks[2].args[2]: field 'idx': missing", 2},
    {"\"type\": \"OUTPUT_EXISTING\", ", "", ": tasks[2].args[2]: field 'type': missing", 2},
    {"\"type\": \"INPUT\"", "\"type\": \"IN\"", ": tasks[0].args[0]: field 'type': 'IN' is not known", 0},
    {"\"type\": \"OUTPUT\"", "\"type\": \"OUTPUT\", \"tensor_id\": \"3\"", ": tasks[0].args[1]: field 'dtype': missing",
     0},
    {"\"tensor_id\": \"9\", ", "", ": tasks[2].args[2]: field 'tensor_id': missing", 2},
    {"\"dtype\": \"BOOL\"", "\"dtype\": 11", ": tasks[2].args[2]: field 'dtype': expected a string, found a number", 2},
    {"\"shape\": [4294967295], ", "", ": tasks[2].args[2]: field 'shape': missing", 2},
    {"[4294967295]", "[4294967296]",
     ": tasks[2].args[2]: field 'shape': expected an integer from 0 to 4294967295, found 4294967296", 2},
    {"\"shape\": [4, 256]", "\"shape\": [4]", ": tasks[0].args[0]: field 'strides': 2 entries for 1 dims", 0},
    {"\"shape\": [1, 2,", "\"shape\": [1, 2, 2,", ": tasks[2].args[1]: field 'shape': 6 dims; 5 is the most", 2},
    {"\"start_offset\": \"18446744073709551614\", ", "", ": tasks[0].args[0]: field 'start_offset': missing", 0},
    {"\"strides\": [1048576, 1]", "\"strides\": [1048576, -1]",
     ": tasks[0].args[0]: field 'strides': expected an integer from 0 to 18446744073709551615, found -1", 0},
    {"\"strides\": [1048576, 1]", "\"strides\": {}",
     ": tasks[0].args[0]: field 'strides': expected an array, found an object", 0},
};

static const struct json_edit wrong_tensors[] = {
    {"{\"tensor_id\": \"7\", ", "{", ": tensors[0]: field 'tensor_id': missing", 0},
    {"\"buffer_addr\": \"0\", ", "", ": tensors[1]: field 'buffer_addr': missing", 1},
    {"\"version\": 4294967295", "\"version\": \"x\"",
     ": tensors[0]: field 'version': expected an integer from 0 to 4294967295, found x", 0},
    {"\"dtype\": \"FP8E4M3FN\", ", "", ": tensors[1]: field 'dtype': missing", 1},
    {", \"buffer_numel\": \"0\"", "", ": tensors[1]: field 'buffer_numel': missing", 1},
    {"\"tensors\": [", "\"tensors\": [null, ", ": tensors[0]: expected an object, found null", 0},
};

static const struct json_edit wrong_edges[] = {
    {"{\"pred\": \"5\", ", "{", ": edges[2]: field 'pred': missing", 2},
    {"\"succ\": \"4294967296\", ", "", ": edges[0]: field 'succ': missing", 0},
    {"\"arg\": -1, ", "", ": edges[0]: field 'arg': missing", 0},
    {"\"source\": \"explicit\"", "\"source\": \"guess\"", ": edges[0]: field 'source': 'guess' is not known", 0},
    {"\"flags\": []", "\"flags\": null", ": edges[0]: field 'flags': expected an array, found null", 0},
    {"\"flags\": [\"wait\"", "\"flags\": [\"waits\"", ": edges[1]: field 'flags': 'waits' is not known", 1},
    {"\"overlap\": \"other\", ", "", ": edges[2]: field 'overlap': missing", 2},
    {"\"overlap\": \"covered\"", "\"overlap\": \"\"", ": edges[3]: field 'overlap': '' is not known", 3},
    {"\"tensor_id\": \"9\", \"consumer", "\"consumer", ": edges[2]: field 'tensor_id': missing", 2},
    {"\"consumer_dtype\": \"FLOAT16\", ", "", ": edges[1]: field 'consumer_dtype': missing", 1},
    {"\"consumer_shape\": [2], ", "", ": edges[1]: field 'consumer_shape': missing", 1},
    {"\"consumer_start_offset\": \"3\"", "\"consumer_start_offset\": []",
     ": edges[1]: field 'consumer_start_offset': expected a number, found an array", 1},
    {"\"consumer_strides\": [1]", "\"consumer_strides\": []",
     ": edges[1]: field 'consumer_strides': 0 entries for 1 dims", 1},
    {"\"producer_shape\": [9], ", "", ": edges[2]: field 'producer_shape': missing", 2},
    {"\"producer_start_offset\": \"4\", ", "", ": edges[2]: field 'producer_start_offset': missing", 2},
    {", \"producer_strides\": [2]", "", ": edges[2]: field 'producer_strides': missing", 2},
    {"\"filtered_edges\": [", "\"filtered_edges\": [[], ", ": filtered_edges[0]: expected an object, found an array",
     0},
};

static void what_is_wrong_is_named(void **state)
{
    char *text;

    (void)state;
    write_all_of_it();
    text = fixture_read(TL_DEPS_NAME, NULL);
    json_must_fail(text, parse, wrong_heads, COUNT_OF(wrong_heads));
    json_must_fail(text, parse, wrong_tasks, COUNT_OF(wrong_tasks));
    json_must_fail(text, parse, wrong_args, COUNT_OF(wrong_args));
    json_must_fail(text, parse, wrong_tensors, COUNT_OF(wrong_tensors));
    json_must_fail(text, parse, wrong_edges, COUNT_OF(wrong_edges));
    json_cuts_must_fail(text, parse);
    free(text);
}

static void files_that_are_not_there(void **state)
{
    struct tl_deps d;
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__deps_read(fixture_path(TL_DEPS_NAME), &d, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "/deps.json: cannot open: No such file or directory"));
    assert_int_equal(tl__deps_read(fixture_dir, &d, &err), TL_EIO);
    assert_non_null(strstr(err.msg, ": cannot read: Is a directory"));
    assert_int_equal(tl__deps_parse(NULL, 0, "f.json", &d, &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json: the file is empty");
    assert_int_equal(tl__deps_write(fixture_path("none"), &(struct tl_deps){0}, &err), TL_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(the_index_finds_tasks, fixture_setup, fixture_teardown),
        cmocka_unit_test(the_index_holds_many),
        cmocka_unit_test(a_tensor_id_is_that_of_other_writers),
        cmocka_unit_test_setup_teardown(an_empty_graph_is_written_and_read, fixture_setup, fixture_teardown),
        cmocka_unit_test(other_writers_are_understood),
        cmocka_unit_test_setup_teardown(an_unknown_dtype_stays_one, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_named, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(files_that_are_not_there, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
