/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded graphs (deps.json) in the layouts of other writers, submitted again: the edges must be the recorded ones.
 * The graphs of tests/fixtures always, those of another runtime where they are present.
 */
#include "test_graph_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yajl_tree.h>

#define MAX_BUFFERS 32

static char path[512];

static yajl_val read_json(const char *sample)
{
    static char text[1 << 20], error[256];
    size_t n;
    FILE *f;
    yajl_val v;

    (void)snprintf(path, sizeof(path), "%s/deps.json", sample);
    f = fopen(path, "r");
    if (f == NULL)
        return NULL;
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = 0;
    assert_int_equal(fclose(f), 0);
    v = yajl_tree_parse(text, error, sizeof(error));
    assert_non_null(v);
    return v;
}

static yajl_val get(yajl_val v, const char *name)
{
    const char *keys[2] = {name, NULL};

    return yajl_tree_get(v, keys, yajl_t_any);
}

static yajl_val must_get(yajl_val v, const char *name)
{
    yajl_val found = get(v, name);

    if (found == NULL)
        fail_msg("%s: no %s", path, name);
    return found;
}

static const char *text_of(yajl_val v)
{
    return YAJL_IS_STRING(v) ? YAJL_GET_STRING(v) : "";
}

/* 64-bit values are strings. */
static uint64_t number(yajl_val v, const char *name)
{
    yajl_val n = must_get(v, name);

    return YAJL_IS_STRING(n) ? strtoull(text_of(n), NULL, 10) : (uint64_t)YAJL_GET_INTEGER(n);
}

static const char *string(yajl_val v, const char *name)
{
    return text_of(must_get(v, name));
}

/* A recorded tensor id, and the tensor that stands for it here. */
static struct known {
    uint64_t tensor_id;
    struct tl_tensor tensor;
} known[MAX_BUFFERS];
static uint32_t n_known;

static const struct tl_tensor *find_known(uint64_t tensor_id)
{
    for (uint32_t i = 0; i < n_known; i++)
        if (known[i].tensor_id == tensor_id)
            return &known[i].tensor;
    return NULL;
}

static void know_outside_buffers(yajl_val json)
{
    yajl_val tensors = must_get(json, "tensors");

    n_known = 0;
    for (size_t i = 0; i < YAJL_GET_ARRAY(tensors)->len; i++) {
        yajl_val t = YAJL_GET_ARRAY(tensors)->values[i];

        assert_true(n_known < MAX_BUFFERS);
        known[n_known].tensor_id = number(t, "tensor_id");
        known[n_known++].tensor = tensor_at(number(t, "buffer_addr"), (uint32_t)number(t, "buffer_numel"));
    }
}

/* The tensor ids of what `task` allocated, by argument order: its creator edges name them. */
static void learn_allocated(yajl_val json, uint64_t task, const struct tl_tensor *tensor)
{
    yajl_val edges = must_get(json, "edges");

    for (size_t i = 0; i < YAJL_GET_ARRAY(edges)->len; i++) {
        yajl_val e = YAJL_GET_ARRAY(edges)->values[i];

        if (strcmp(string(e, "source"), "creator") != 0 || number(e, "pred") != task)
            continue;
        for (uint32_t k = 0; k < n_known; k++)
            if (known[k].tensor_id == number(e, "tensor_id"))
                known[k].tensor = *tensor;
    }
}

static struct tl_tensor view_of(yajl_val arg)
{
    const struct tl_tensor *base = find_known(number(arg, "tensor_id"));
    yajl_val shape = must_get(arg, "shape"), strides = must_get(arg, "strides");
    struct tl_tensor t;

    assert_non_null(base);
    t = *base;
    t.start_offset = number(arg, "start_offset");
    t.rank = (uint8_t)YAJL_GET_ARRAY(shape)->len;
    for (unsigned d = 0; d < t.rank; d++) {
        t.shape[d] = (uint32_t)YAJL_GET_INTEGER(YAJL_GET_ARRAY(shape)->values[d]);
        t.strides[d] = (uint64_t)YAJL_GET_INTEGER(YAJL_GET_ARRAY(strides)->values[d]);
    }
    return t;
}

static bool is_recorded(yajl_val json, uint64_t succ, const struct tl_edge *edge)
{
    static const char *const sources[] = {"explicit", "creator", "tensormap"};
    yajl_val edges = must_get(json, "edges");

    for (size_t i = 0; i < YAJL_GET_ARRAY(edges)->len; i++) {
        yajl_val e = YAJL_GET_ARRAY(edges)->values[i];
        yajl_val flags = get(e, "flags"), overlap = get(e, "overlap");
        unsigned expected = 0;

        if (number(e, "pred") != edge->pred || number(e, "succ") != succ ||
            YAJL_GET_INTEGER(must_get(e, "arg")) != edge->arg ||
            strcmp(string(e, "source"), sources[edge->source]) != 0)
            continue;
        if (flags != NULL) { /* some files have none */
            for (size_t k = 0; k < YAJL_GET_ARRAY(flags)->len; k++)
                expected |=
                    strcmp(text_of(YAJL_GET_ARRAY(flags)->values[k]), "wait") == 0 ? TL_EDGE_WAIT : TL_EDGE_RETAIN;
            assert_int_equal(edge->flags & (TL_EDGE_WAIT | TL_EDGE_RETAIN), expected);
        }
        if (overlap != NULL)
            assert_int_equal((edge->flags & TL_EDGE_COVERED) != 0, strcmp(text_of(overlap), "covered") == 0);
        return true;
    }
    return false;
}

static uint32_t recorded_deps(yajl_val json, uint64_t succ, tl_task_id *ids)
{
    yajl_val edges = must_get(json, "edges");
    uint32_t n = 0;

    for (size_t i = 0; i < YAJL_GET_ARRAY(edges)->len; i++) {
        yajl_val e = YAJL_GET_ARRAY(edges)->values[i];

        if (strcmp(string(e, "source"), "explicit") == 0 && number(e, "succ") == succ)
            ids[n++] = number(e, "pred");
    }
    return n;
}

/* Submits one recorded task. Returns how many of its edges are recorded ones; fails on any that should not be. */
static uint32_t replay(struct tl_graph *g, yajl_val json, yajl_val task)
{
    yajl_val list = must_get(task, "args"), kernels = must_get(task, "kernel_ids");
    static struct tl_tensor fresh[TL_MAX_TENSORS], views[TL_MAX_TENSORS];
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_subtasks sub;
    struct tl_plan plan;
    struct tl_error err = {0};
    tl_task_id ids[16];
    uint64_t id = number(task, "task_id");
    uint32_t matched = 0;

    for (int i = 0; i < 3; i++)
        sub.func[i] = (int32_t)YAJL_GET_INTEGER(YAJL_GET_ARRAY(kernels)->values[i]);
    for (uint32_t i = 0; i < YAJL_GET_ARRAY(list)->len; i++) {
        yajl_val a = YAJL_GET_ARRAY(list)->values[i];
        const char *type = string(a, "type");

        if (strcmp(type, "OUTPUT") == 0) {
            fresh[i] = tensor_at(0, 16384);
            fresh[i].buffer_bytes = 0;
            tl_add_output(&args, &fresh[i]);
            continue;
        }
        views[i] = view_of(a);
        if (strcmp(type, "INPUT") == 0)
            tl_add_input(&args, &views[i]);
        else if (strcmp(type, "INOUT") == 0)
            tl_add_inout(&args, &views[i]);
        else
            tl_add_output(&args, &views[i]);
    }
    tl_set_dependencies(&args, ids, recorded_deps(json, id, ids));
    if (tl__graph_plan(g, &args, &sub, &plan, &err) < 0)
        fail_msg("%s: %s", path, err.msg);
    assert_int_equal(plan.id, id);
    for (uint32_t i = 0; i < args.n_tensors; i++)
        if (args.tensors[i].direction == TL_OUT)
            learn_allocated(json, id, &fresh[i]);
    for (uint32_t i = 0; i < plan.n_edges; i++) {
        if (is_recorded(json, id, &plan.edges[i]))
            matched++;
        else
            fail_msg("%s: an edge from %u to %u that was not recorded", path, (unsigned)plan.edges[i].pred,
                     (unsigned)id);
    }
    return matched;
}

static void check_graph(const char *dir)
{
    struct tl_graph_opts o = small_opts();
    yajl_val json = read_json(dir), tasks, edges;
    const struct tl_range *ranges;
    struct tl_graph *g;
    uint32_t matched = 0;

    assert_non_null(json);
    for (uint32_t r = 0; r < TL_GRAPH_RINGS; r++)
        o.heap_bytes[r] = 1 << 20;
    g = make_graph(&o);
    know_outside_buffers(json);
    tasks = must_get(json, "tasks");
    edges = must_get(json, "edges");
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "outermost", 0);
    for (size_t i = 0; i < YAJL_GET_ARRAY(tasks)->len; i++) {
        yajl_val t = YAJL_GET_ARRAY(tasks)->values[i];

        while (tl__graph_scope(g)->ring < tl__task_ring(number(t, "task_id")))
            tl__graph_scope_begin(g, TL_SCOPE_AUTO, "inner", 1);
        while (tl__graph_scope(g)->ring > tl__task_ring(number(t, "task_id")))
            assert_true(tl__graph_scope_end(g, &ranges) >= 0);
        matched += replay(g, json, t);
    }
    assert_int_equal(matched, YAJL_GET_ARRAY(edges)->len);
    assert_true(matched > 0);
    tl__graph_destroy(g);
    yajl_tree_free(json);
}

/* Ours, and the sample of the same shape where it is present. */
static void check_graphs(const char *fixture, const char *sample)
{
    const char *shared = getenv("TASKLENS_SHARED");
    char dir[480];

    (void)snprintf(dir, sizeof(dir), "%s/tests/fixtures/recordings/%s", TL_TEST_SOURCE_DIR, fixture);
    check_graph(dir);
    (void)snprintf(dir, sizeof(dir), "%s/samples/%s", shared != NULL ? shared : TL_TEST_SOURCE_DIR "/../shared",
                   sample);
    if (access(dir, R_OK) == 0)
        check_graph(dir);
}

static void creator_edges_are_those_of_other_writers(void **state)
{
    (void)state;
    check_graphs("vector", "tmr-a2a3sim-vector");
}

static void mixes_on_halves_of_buffers(void **state)
{
    (void)state;
    check_graphs("mix", "tmr-a2a3sim-mix");
}

static void explicit_and_tensormap_edges(void **state)
{
    (void)state;
    check_graphs("sources", "hbg-a2a3sim-edge-sources");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creator_edges_are_those_of_other_writers),
        cmocka_unit_test(mixes_on_halves_of_buffers),
        cmocka_unit_test(explicit_and_tensormap_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
