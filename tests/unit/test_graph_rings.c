/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, heaps and dep pools: what fits, what must wait, what never fits, and what the lines say. Scopes and tags
 * too. */
#include "test_graph_util.h"

/* Everything a plan could have changed. */
struct digest {
    struct tl_ring_usage rings[TL_GRAPH_RINGS];
    uint32_t writers, readers;
};

static struct digest digest_of(const struct tl_graph *g)
{
    struct digest d;

    memset(&d, 0, sizeof(d));
    for (uint32_t r = 0; r < TL_GRAPH_RINGS; r++)
        d.rings[r] = tl__graph_usage(g, r);
    d.writers = tl__graph_writers(g);
    d.readers = tl__graph_readers(g);
    return d;
}

/* The plan must wait, for this; and nothing may have changed. */
static struct tl_lack must_wait(struct tl_graph *g, const struct tl_task_args *args, enum tl_resource resource)
{
    struct digest before = digest_of(g), after;
    struct tl_plan plan;

    assert_int_equal(plan_args(g, args, &plan), TL_EAGAIN);
    assert_int_equal(plan.lack.resource, resource);
    after = digest_of(g);
    assert_memory_equal(&before, &after, sizeof(before));
    return plan.lack;
}

static void a_full_window_makes_the_submit_wait(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_lack lack;
    char line[512];

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        struct tl_plan p = must_plan(g, &args);

        assert_int_equal(p.slot, i);
    }
    lack = must_wait(g, &args, TL_RESOURCE_WINDOW);
    assert_int_equal(lack.ring, 0);
    assert_int_equal(lack.used, 8);
    assert_int_equal(lack.size, 8);
    assert_int_equal(lack.need, 1);
    tl__graph_explain_full(g, &lack, line, sizeof(line));
    assert_string_equal(line, "task window of ring 0 is full: 8 of 8 slots used, 1 more needed; the oldest task in it, "
                              "r0t0, is outside any scope and is held to the end of the run; set --task-window to "
                              "at least 16, which holds this task; later ones may need more; or put the tasks into "
                              "smaller scopes");
    tl__graph_retired(g, 0, 1);
    assert_int_equal(must_plan(g, &args).slot, 0);
    must_wait(g, &args, TL_RESOURCE_WINDOW);
    tl__graph_retired(g, 0, 9);
    tl__graph_retired(g, 0, 3); /* never backwards */
    assert_int_equal(tl__graph_usage(g, 0).task_tail, 9);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(must_plan(g, &args).id, 9 + i);
    tl__graph_destroy(g);
}

static void a_heap_wraps_around(void **state)
{
    struct tl_graph *g = make_graph(NULL); /* 8 KiB a ring */
    struct tl_tensor a = fresh(512), b = fresh(768), c = fresh(256), d = fresh(512), e = fresh(257);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_lack lack;

    (void)state;
    must_use(g, 'o', &a);
    must_use(g, 'o', &b);
    must_use(g, 'o', &c);
    assert_int_equal(a.buffer, HEAP_BASE);
    assert_int_equal(b.buffer, HEAP_BASE + 2048);
    assert_int_equal(c.buffer, HEAP_BASE + 5120);
    assert_int_equal(tl__graph_usage(g, 0).heap_head, 6144);
    tl__graph_retired(g, 0, 1);
    assert_int_equal(tl__graph_usage(g, 0).heap_tail, 2048);
    /* 2,048 bytes are left at the end: the first output fits there, the second goes on at the start. */
    tl_add_output(&args, &d);
    tl_add_output(&args, &e);
    assert_int_equal(e.buffer, 0);
    must_plan(g, &args);
    assert_int_equal(d.buffer, HEAP_BASE + 6144);
    assert_int_equal(e.buffer, HEAP_BASE);
    assert_int_equal(e.buffer_bytes, 1028);
    assert_int_equal(tl__graph_usage(g, 0).heap_head, 8192 + 2048);
    /* Now it is full to the byte. */
    a = fresh(1);
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_output(&args, &a);
    lack = must_wait(g, &args, TL_RESOURCE_HEAP);
    assert_int_equal(a.buffer, 0);
    assert_int_equal(lack.used, 8192);
    assert_int_equal(lack.need, 1024);
    tl__graph_retired(g, 0, 2);
    must_plan(g, &args);
    assert_int_equal(a.buffer, HEAP_BASE + 2048);
    tl__graph_destroy(g);
}

/* No buffer crosses the end: the rest of the turn is left out. An empty heap starts again at its begin, so what fits
 * at all fits. */
static void heap_end_and_empty_heap(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor a = fresh(1280), b = fresh(1024), all = fresh(2048), more = fresh(2049);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_lack lack;
    struct tl_error err;

    (void)state;
    must_use(g, 'o', &a); /* 5,120 */
    tl_add_output(&args, &b);
    lack = must_wait(g, &args, TL_RESOURCE_HEAP); /* 4,096 of 3,072 at the end: would begin at 0, which is taken */
    assert_int_equal(lack.need, 3072 + 4096);
    tl__graph_retired(g, 0, 1);
    must_plan(g, &args);
    assert_int_equal(b.buffer, HEAP_BASE);
    assert_int_equal(tl__graph_usage(g, 0).heap_tail, 8192);
    assert_int_equal(tl__graph_usage(g, 0).heap_head, 8192 + 4096);
    assert_int_equal(tl__graph_usage(g, 0).heap_skipped, 3072); /* nobody took them */
    tl__graph_retired(g, 0, 2);
    must_use(g, 'o', &all);
    assert_int_equal(tl__graph_usage(g, 0).heap_skipped, 3072 + 4096);
    assert_int_equal(all.buffer, HEAP_BASE);
    assert_int_equal(all.buffer_bytes, 8192);
    /* A task without memory that is retired late takes nothing back. */
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    must_plan(g, &args);
    tl__graph_retired(g, 0, 4);
    assert_int_equal(tl__graph_usage(g, 0).heap_tail, tl__graph_usage(g, 0).heap_head);
    tl_add_output(&args, &more);
    assert_string_equal(refusal(g, &args, TL_ENOSPC, &err),
                        "heap of ring 0 is too small: it has 8192 bytes, and task r0t4 alone takes 9216; set "
                        "--heap-bytes to at least 9216, which holds this task; later ones may need more");
    more.shape[0] = UINT32_MAX;
    more.shape[1] = UINT32_MAX;
    more.rank = 2;
    more.strides[0] = UINT32_MAX;
    more.strides[1] = 1;
    more.dtype = TL_INT8;
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    tl_add_output(&args, &more);
    refusal(g, &args, TL_EGRAPH, &err);
    assert_string_equal(err.msg, "task r0t4: output 0 is larger than any memory");
    tl__graph_destroy(g);
}

/* Tasks that own no memory remember the heap's end of their time; the heap has since gone on at its start. */
static void heap_tail_never_goes_back(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor a = fresh(256), b = fresh(256);
    struct tl_task_args none = TL_TASK_ARGS_INIT;
    uint64_t tail;

    (void)state;
    must_use(g, 'o', &a);
    must_plan(g, &none);
    tl__graph_retired(g, 0, 1); /* empty, task 1 is not retired */
    must_use(g, 'o', &b);
    assert_int_equal(b.buffer, HEAP_BASE);
    tail = tl__graph_usage(g, 0).heap_tail;
    assert_int_equal(tail, 8192);
    tl__graph_retired(g, 0, 2);
    assert_int_equal(tl__graph_usage(g, 0).heap_tail, tail);
    tl__graph_destroy(g);
}

static void a_full_dep_pool_makes_the_submit_wait(void **state)
{
    struct tl_graph_opts o = small_opts();
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_graph *g;
    tl_task_id ids[20];
    const struct tl_range *ranges;
    struct tl_lack lack;
    struct tl_plan p;
    char line[512];

    (void)state;
    o.task_window[1] = 32;
    g = make_graph(&o);
    for (uint32_t i = 0; i < 20; i++)
        ids[i] = i;
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "a.c", 1);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "a.c", 77);
    for (uint32_t i = 0; i < 20; i++)
        ids[i] = must_plan(g, &args).id;
    tl_set_dependencies(&args, ids, 12);
    p = must_plan(g, &args);
    assert_int_equal(p.n_preds, 12);
    assert_int_equal(p.dep_first, 0);
    tl_set_dependencies(&args, ids, 5);
    lack = must_wait(g, &args, TL_RESOURCE_DEP_POOL);
    assert_int_equal(lack.ring, 1);
    tl__graph_explain_full(g, &lack, line, sizeof(line));
    assert_string_equal(line,
                        "dep pool of ring 1 is full: 12 of 16 entries used, 5 more needed; the oldest task in it, "
                        "r1t0, is held by the open scope of a.c:77; set --dep-pool to at least 17, which holds this "
                        "task; later ones may need more; or put the tasks into "
                        "smaller scopes");
    tl_set_dependencies(&args, ids, 4);
    p = must_plan(g, &args);
    assert_int_equal(p.dep_first, 12);
    tl_set_dependencies(&args, ids, 17);
    lack = must_wait(g, &args, TL_RESOURCE_DEP_POOL); /* they can retire before */
    assert_int_equal(lack.need, 17);
    /* Predecessors that have retired, after their scope's end, need no entries. */
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "a.c", 78);
    tl__graph_retired(g, 1, 20);
    tl_set_dependencies(&args, ids, 20);
    p = must_plan(g, &args);
    assert_int_equal(p.n_preds, 0);
    assert_int_equal(p.n_edges, 20);
    tl__graph_destroy(g);
}

/* Of tasks that are complete nothing is left to wait for, although their scope holds them. */
static void dep_pool_of_complete_tasks(void **state)
{
    struct tl_graph_opts o = small_opts();
    struct tl_tensor a[3] = {fresh(1), fresh(1), fresh(1)}, cell = tensor_at(0x1000, 1);
    struct tl_task_args args = TL_TASK_ARGS_INIT, none = TL_TASK_ARGS_INIT;
    tl_task_id ids[3];
    struct tl_graph *g;
    struct tl_error err;
    struct tl_plan p;

    (void)state;
    o.dep_pool[0] = 2;
    g = make_graph(&o);
    for (uint32_t i = 0; i < 3; i++)
        ids[i] = must_use(g, 'o', &a[i]).id;
    assert_true(tl__graph_all_complete(g));
    assert_false(tl__graph_all_complete(g));
    tl_set_dependencies(&args, ids, 3);
    tl_add_input(&args, &a[1]);
    tl_add_inout(&args, &cell);
    p = must_plan(g, &args); /* retains one, and waits for it too */
    assert_int_equal(p.n_edges, 4);
    assert_int_equal(p.n_preds, 1);
    assert_true(p.preds[0].id == ids[1] && p.preds[0].flags == (TL_EDGE_WAIT | TL_EDGE_RETAIN));
    p = must_use(g, 'i', &cell); /* of a task that is not */
    assert_true(p.n_preds == 1 && p.preds[0].id == 3);
    must_wait(g, &args, TL_RESOURCE_DEP_POOL);
    assert_true(tl__graph_all_complete(g));
    assert_int_equal(tl__graph_usage(g, 0).dep_tail, 2);
    p = must_plan(g, &args);
    assert_int_equal(p.dep_first, 2);
    must_use(g, 'i', &a[1]);
    tl__graph_retired(g, 0, 4); /* gives back what was given back */
    assert_int_equal(tl__graph_usage(g, 0).dep_tail, 2);
    tl__graph_retired(g, 0, 6);
    assert_int_equal(tl__graph_usage(g, 0).dep_tail, 3);
    tl__graph_destroy(g);
    /* What is retained has its entry in any case. */
    g = make_graph(&o);
    args = none;
    for (uint32_t i = 0; i < 3; i++) {
        a[i] = fresh(1);
        must_use(g, 'o', &a[i]);
        tl_add_input(&args, &a[i]);
    }
    assert_string_equal(
        refusal(g, &args, TL_ENOSPC, &err),
        "dep pool of ring 0 is too small: it has 2 entries, and task r0t3 alone takes 3, one for each "
        "task whose memory it uses; set --dep-pool to at least 3, which holds this task; later ones may need more");
    tl__graph_destroy(g);
    o.recycle = false;
    g = make_graph(&o);
    must_plan(g, &none);
    assert_false(tl__graph_all_complete(g));
    tl__graph_destroy(g);
}

/* An image gives nothing back: what is full is an error that names the flag. */
static void a_full_image_names_the_flag(void **state)
{
    struct tl_graph_opts o = small_opts();
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor a = fresh(1024), b = fresh(1025);
    struct tl_graph *g;
    struct tl_error err;
    const struct tl_range *ranges;

    (void)state;
    o.rings = 1;
    o.recycle = false;
    g = make_graph(&o);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "a.c", 1);
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "a.c", 2);
    must_use(g, 'o', &a);
    tl__graph_scope_end(g, &ranges);
    tl__graph_retired(g, 0, 1);
    assert_int_equal(tl__graph_usage(g, 0).task_tail, 0);
    tl_add_output(&args, &b);
    assert_string_equal(
        refusal(g, &args, TL_ENOSPC, &err),
        "heap of ring 0 is full: 4096 of 8192 bytes used, 5120 more needed; nothing is given back before "
        "the run; set --heap-bytes to at least 16384, which holds this task; later ones may need more");
    args = (struct tl_task_args)TL_TASK_ARGS_INIT;
    for (uint32_t i = 1; i < 8; i++)
        assert_int_equal(must_plan(g, &args).id, i);
    assert_string_equal(refusal(g, &args, TL_ENOSPC, &err),
                        "task window of ring 0 is full: 8 of 8 slots used, 1 more needed; nothing is given back before "
                        "the run; set --task-window to at least 16, which holds this task; later ones may need more");
    tl__graph_destroy(g);
}

static void an_image_holds_all_its_dependencies(void **state)
{
    struct tl_graph_opts o = small_opts();
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_graph *g;
    struct tl_error err;
    tl_task_id ids[20];

    (void)state;
    o.rings = 1;
    o.recycle = false;
    o.task_window[0] = 32;
    g = make_graph(&o);
    for (uint32_t i = 0; i < 20; i++)
        ids[i] = must_plan(g, &args).id;
    tl_set_dependencies(&args, ids, 17);
    assert_string_equal(
        refusal(g, &args, TL_ENOSPC, &err),
        "dep pool of ring 0 is too small: it has 16 entries, and task r0t20 alone takes 17, one for "
        "each task that it depends on; set --dep-pool to at least 17, which holds this task; later ones may need more");
    tl_set_dependencies(&args, ids, 12);
    must_plan(g, &args);
    assert_string_equal(
        refusal(g, &args, TL_ENOSPC, &err),
        "dep pool of ring 0 is full: 12 of 16 entries used, 12 more needed; nothing is given back "
        "before the run; set --dep-pool to at least 24, which holds this task; later ones may need more");
    tl_set_dependencies(&args, ids, 17);
    refusal(g, &args, TL_ENOSPC, &err);
    assert_non_null(strstr(err.msg, "it depends on, beside 12 used before; set --dep-pool to at least 29, which holds "
                                    "this task; later ones may need more"));
    tl__graph_destroy(g);
}

static void allocations_take_heap_and_an_id(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor a = fresh(256), b = fresh(257), c = fresh(2048), taken = tensor_at(0x1000, 4);
    struct tl_tensor *const both[2] = {&a, &b}, *const none[1] = {NULL}, *const used[1] = {&taken},
                            *const big[1] = {&c};
    static _Alignas(8) unsigned char memory[TL_PAYLOAD_MAX];
    struct tl_task_payload *payload = (void *)memory;
    struct tl_plan p;
    struct tl_error err;

    (void)state;
    assert_int_equal(tl__graph_plan_alloc(g, both, 2, &p, &err), 0);
    assert_int_equal(p.id, 0);
    assert_int_equal(p.n_preds, 0);
    assert_int_equal(a.buffer, HEAP_BASE);
    assert_int_equal(b.buffer, HEAP_BASE + 1024);
    assert_int_equal(b.buffer_bytes, 1028);
    assert_int_equal(a.owner, 0);
    tl__plan_write_payload(&p, payload);
    assert_int_equal(payload->flags, TL_PAYLOAD_ALLOC);
    assert_int_equal(payload->n_tensors, 0);
    assert_int_equal(payload->func[1], -1);
    p = must_use(g, 'o', &a);
    assert_int_equal(p.n_edges, 1);
    assert_int_equal(p.edges[0].source, TL_EDGE_CREATOR);
    assert_int_equal(p.edges[0].pred, 0);
    assert_int_equal(tl__graph_plan_alloc(g, none, 1, &p, &err), TL_EGRAPH);
    assert_string_equal(err.msg, "task r0t2: tl_alloc_tensors: tensor 0 is NULL");
    assert_int_equal(tl__graph_plan_alloc(g, used, 1, &p, &err), TL_EGRAPH);
    assert_string_equal(err.msg, "task r0t2: tl_alloc_tensors: tensor 0 has memory already");
    assert_int_equal(tl__graph_plan_alloc(g, big, 1, &p, &err), TL_EAGAIN);
    assert_int_equal(p.lack.resource, TL_RESOURCE_HEAP);
    assert_int_equal(c.buffer, 0);
    tl__graph_destroy(g);
}

static void scopes_pick_rings(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const struct tl_range *ranges;
    const uint32_t expected[6] = {0, 1, 2, 3, 3, 3};
    struct tl_error err;

    (void)state;
    assert_null(tl__graph_scope(g));
    assert_int_equal(must_plan(g, &args).ring, 0);
    for (int depth = 0; depth < 6; depth++) {
        assert_int_equal(tl__graph_scope_begin(g, TL_SCOPE_AUTO, "s.c", depth), depth);
        assert_int_equal(tl__graph_scope(g)->ring, expected[depth]);
        assert_int_equal(tl__graph_scope(g)->line, depth);
        assert_int_equal(must_plan(g, &args).ring, expected[depth]);
    }
    assert_int_equal(tl__graph_finish(g, &ranges, &err), TL_EGRAPH);
    assert_string_equal(err.msg,
                        "the orchestration ended inside the scope that began at s.c:5: leave TL_SCOPE by its end "
                        "only");
    /* Depths 5, 4 and 3 share ring 3: each releases its own tasks only. */
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    assert_int_equal(ranges[0].ring, 3);
    assert_int_equal(ranges[0].first, 2);
    assert_int_equal(ranges[0].end, 3);
    must_plan(g, &args);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 2);
    assert_int_equal(ranges[0].first, 1);
    assert_int_equal(ranges[0].end, 2);
    assert_int_equal(ranges[1].first, 3);
    assert_int_equal(ranges[1].end, 4);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    assert_int_equal(ranges[0].first, 0);
    assert_int_equal(ranges[0].end, 1);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    assert_int_equal(ranges[0].ring, 2);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    assert_int_equal(ranges[0].ring, 1);
    must_plan(g, &args);
    assert_int_equal(tl__graph_scope_end(g, &ranges), 1);
    assert_int_equal(ranges[0].ring, 0);
    assert_int_equal(ranges[0].first, 1);
    assert_int_equal(ranges[0].end, 3);
    assert_int_equal(tl__graph_scope_end(g, &ranges), TL_EGRAPH);
    assert_int_equal(tl__graph_finish(g, &ranges, &err), 1);
    assert_int_equal(ranges[0].first, 0);
    assert_int_equal(ranges[0].end, 1);
    tl__graph_destroy(g);
}

static void who_holds_a_full_ring(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const struct tl_range *ranges;
    struct tl_lack lack;
    char line[512];

    (void)state;
    tl__graph_scope_begin(g, TL_SCOPE_AUTO, "big.c", 12);
    for (int i = 0; i < 8; i++)
        must_plan(g, &args);
    lack = must_wait(g, &args, TL_RESOURCE_WINDOW);
    tl__graph_explain_full(g, &lack, line, sizeof(line));
    assert_non_null(strstr(line, "the oldest task in it, r0t0, is held by the open scope of big.c:12; set "));
    tl__graph_scope_end(g, &ranges);
    lack = must_wait(g, &args, TL_RESOURCE_WINDOW);
    tl__graph_explain_full(g, &lack, line, sizeof(line));
    assert_non_null(strstr(line, "r0t0, is not complete or a task that uses its memory is not; set --task-window"));
    tl__graph_explain_full(g, &lack, line, 20);
    assert_int_equal(strlen(line), 19);
    tl__graph_destroy(g);
}

static void tags_follow_values(void **state)
{
    struct tl_graph *g = make_graph(NULL);
    struct tl_tensor q = tensor_at(0x1000, 16), copy = q, view = part_of(&q, 0, 8), fresh_one = fresh(4), other = q;
    const struct tl_tag *tags;
    struct tl_error err;
    uint32_t n;

    (void)state;
    assert_int_equal(must_use(g, 'i', &q).tagged_mask, 0);
    assert_int_equal(tl__graph_tag(g, &q, "q", "o.c", 10, &err), 0);
    assert_int_equal(q.tag, 1);
    assert_int_equal(must_use(g, 'n', &q).tagged_mask, 0);
    tags = tl__graph_tags(g, &n);
    assert_int_equal(n, 1);
    assert_false(tags[0].consumed);
    assert_int_equal(must_use(g, 'i', &copy).tagged_mask, 1);
    assert_true(tl__graph_tags(g, &n)[0].consumed);
    assert_int_equal(must_use(g, 'i', &view).tagged_mask, 0);
    tl__graph_retired(g, 0, 4);
    assert_int_equal(must_use(g, 'x', &q).tagged_mask, 1); /* an inout keeps it */
    assert_int_equal(must_use(g, 'i', &q).tagged_mask, 1);
    assert_int_equal(must_use(g, 'o', &q).tagged_mask, 0); /* an output is a new value */
    assert_int_equal(must_use(g, 'i', &q).tagged_mask, 0);
    tl__graph_retired(g, 0, 8);
    other.owner = 3;
    assert_int_equal(tl__graph_tag(g, &other, "other", "o.c", 20, &err), 0);
    tags = tl__graph_tags(g, &n);
    assert_int_equal(n, 2);
    assert_false(tags[1].consumed);
    assert_string_equal(tags[1].name, "other");
    assert_int_equal(tags[1].line, 20);
    assert_int_equal(tl__graph_tag(g, &fresh_one, "fresh_one", "o.c", 30, &err), TL_EGRAPH);
    assert_string_equal(err.msg,
                        "tl_dump_tag(fresh_one) at o.c:30: the tensor has no value yet; tag it after the submit "
                        "that allocates it");
    tl__graph_destroy(g);
}

static void tags_are_inert_at_levels_0_and_2(void **state)
{
    (void)state;
    for (uint8_t level = 0; level <= 2; level += 2) {
        struct tl_graph_opts o = small_opts();
        struct tl_tensor q = tensor_at(0x1000, 16);
        struct tl_graph *g;
        uint32_t n;

        o.dump_level = level;
        g = make_graph(&o);
        assert_int_equal(tl__graph_tag(g, &q, "q", "o.c", 1, NULL), 0);
        assert_int_equal(q.tag, 0);
        assert_int_equal(must_use(g, 'i', &q).tagged_mask, 0);
        (void)tl__graph_tags(g, &n);
        assert_int_equal(n, 0);
        tl__graph_destroy(g);
    }
}

static void expect_refused_opts(const struct tl_graph_opts *o, const char *line)
{
    struct tl_graph *g = NULL;
    struct tl_error err;

    assert_int_equal(tl__graph_create(o, &g, &err), TL_EINVAL);
    assert_string_equal(err.msg, line);
    assert_null(g);
}

static void options_are_checked(void **state)
{
    struct tl_graph_opts o = small_opts();

    (void)state;
    o.rings = 5;
    expect_refused_opts(&o, "a graph has 1 to 4 rings, not 5");
    o = small_opts();
    o.task_window[2] = 12;
    expect_refused_opts(&o, "--task-window: 12 of ring 2 is not a power of two of at least 2");
    o.task_window[2] = 1u << 25;
    expect_refused_opts(&o, "--task-window: 33554432 of ring 2 is more than 16777216");
    o = small_opts();
    o.dep_pool[0] = 0;
    expect_refused_opts(&o, "--dep-pool: ring 0 needs at least 1 entry");
    o = small_opts();
    o.heap_bytes[3] = 1000;
    expect_refused_opts(&o, "--heap-bytes: ring 3: size and address must be multiples of 1024");
    o = small_opts();
    o.heap[1] = 0;
    expect_refused_opts(&o, "ring 1: a heap of 8192 bytes without an address");
    tl__graph_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_window_makes_the_submit_wait),
        cmocka_unit_test(a_heap_wraps_around),
        cmocka_unit_test(heap_end_and_empty_heap),
        cmocka_unit_test(heap_tail_never_goes_back),
        cmocka_unit_test(a_full_dep_pool_makes_the_submit_wait),
        cmocka_unit_test(dep_pool_of_complete_tasks),
        cmocka_unit_test(a_full_image_names_the_flag),
        cmocka_unit_test(an_image_holds_all_its_dependencies),
        cmocka_unit_test(allocations_take_heap_and_an_id),
        cmocka_unit_test(scopes_pick_rings),
        cmocka_unit_test(who_holds_a_full_ring),
        cmocka_unit_test(tags_follow_values),
        cmocka_unit_test(tags_are_inert_at_levels_0_and_2),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
