/* SPDX-License-Identifier: Apache-2.0 */
/* The two critical paths, on runs small enough to work out by hand. */
#include "support/path_world.h"

#define U TL_PATH_UNKNOWN
#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

struct fixture {
    struct tl_path_graph g;
    struct tl_path_static s;
    struct tl_path_observed o;
};

static void find(struct fixture *f)
{
    struct tl_error error = {0};

    if (tl__path_graph_build(&f->g, &error) < 0)
        fail_msg("%s", error.msg);
    assert_int_equal(tl__path_find_static(&f->g, &f->s), 0);
    assert_int_equal(tl__path_find_observed(&f->g, &f->o), 0);
    world_check_observed(&f->g, &f->o);
}

static void done(struct fixture *f)
{
    tl__path_static_fini(&f->s);
    tl__path_observed_fini(&f->o);
    tl__path_graph_fini(&f->g);
}

static void static_is(const struct fixture *f, uint64_t length_ns, const uint32_t *tasks, uint32_t count)
{
    assert_int_equal(f->s.length_ns, length_ns);
    assert_int_equal(f->s.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(f->s.tasks[i], tasks[i]);
}

/* Tasks of the observed path, and by what each was released. */
static void observed_is(const struct fixture *f, const uint32_t (*steps)[2], uint32_t count)
{
    assert_int_equal(f->o.count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(f->g.slices[f->o.steps[i].slice].task, steps[i][0]);
        assert_int_equal(f->o.steps[i].release, steps[i][1]);
    }
}

static void spent_is(const struct fixture *f, uint64_t kernel, uint64_t busy, uint64_t scheduler, uint64_t dispatch,
                     uint64_t orchestration, uint64_t head, uint64_t tail)
{
    const uint64_t want[TL_PATH_KINDS] = {
        [TL_PATH_KERNEL] = kernel,
        [TL_PATH_CORE_BUSY] = busy,
        [TL_PATH_SCHEDULER] = scheduler,
        [TL_PATH_DISPATCH] = dispatch,
        [TL_PATH_ORCHESTRATION] = orchestration,
        [TL_PATH_HEAD] = head,
        [TL_PATH_TAIL] = tail,
    };

    for (unsigned k = 0; k < TL_PATH_KINDS; k++)
        if (f->o.spent_ns[k] != want[k])
            fail_msg("%s: %llu, not %llu", tl__path_kind_word(k), (unsigned long long)f->o.spent_ns[k],
                     (unsigned long long)want[k]);
}

/* 0 feeds 1 and 2, both feed 3; 2 is the longer arm. */
static void the_longer_arm_of_a_diamond_is_the_static_path(void **state)
{
    const struct world_slice slices[] = {
        {0, 0, 90, 100, 200}, {1, 0, 220, 230, 280}, {2, 1, 225, 240, 540}, {3, 0, 560, 565, 600}};
    const struct tl_path_edge edges[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 3}};
    const uint32_t chain[] = {0, 2, 3};
    const uint32_t steps[][2] = {{0, TL_PATH_BY_NOTHING}, {2, TL_PATH_BY_PRODUCER}, {3, TL_PATH_BY_PRODUCER}};
    struct fixture f = {.g = world_make(4, slices, 4, edges, 5)};

    (void)state;
    f.g.end_ns = 650;
    find(&f);
    static_is(&f, 100 + 300 + 35, chain, 3);
    observed_is(&f, steps, 3);
    /* scheduler: 200..225 and 540..560; dispatch: 90..100, 225..240, 560..565 */
    spent_is(&f, 435, 0, 45, 30, 0, 90, 50);
    assert_int_equal(f.g.early_edges + f.g.overlaps + f.g.tasks_without_slices, 0);
    done(&f);
}

/* Four independent tasks that share one core; all were dispatched at once. The graph would take one task's time. */
static void tasks_that_share_one_core_wait_for_it(void **state)
{
    const struct world_slice slices[] = {
        {0, 0, 10, 20, 120}, {1, 0, 11, 125, 225}, {2, 0, 12, 230, 330}, {3, 0, 13, 335, 445}};
    const uint32_t longest[] = {3};
    const uint32_t steps[][2] = {
        {0, TL_PATH_BY_NOTHING}, {1, TL_PATH_BY_CORE}, {2, TL_PATH_BY_CORE}, {3, TL_PATH_BY_CORE}};
    struct fixture f = {.g = world_make(4, slices, 4, NULL, 0)};

    (void)state;
    find(&f);
    static_is(&f, 110, longest, 1);
    observed_is(&f, steps, 4);
    spent_is(&f, 110, 300, 0, 10 + 5 + 5 + 5, 0, 10, 0);
    done(&f);
}

/* 0 then 1 by the graph, on one core with 2 between: 1 is ready at 100, its core takes until 250, half of 2 counts. */
static void core_bound_from_when_it_is_ready(void **state)
{
    const struct world_slice slices[] = {{0, 1, 0, 0, 100}, {2, 0, 0, 50, 250}, {1, 0, 260, 270, 300}};
    const struct tl_path_edge edges[] = {{0, 1}};
    const uint32_t chain[] = {2};
    const uint32_t steps[][2] = {{2, TL_PATH_BY_NOTHING}, {1, TL_PATH_BY_CORE}};
    struct fixture f = {.g = world_make(3, slices, 3, edges, 1)};

    (void)state;
    find(&f);
    static_is(&f, 200, chain, 1);
    observed_is(&f, steps, 2);
    assert_int_equal(f.o.steps[0].busy_ns, 100);
    spent_is(&f, 50 + 30, 150, 10, 50 + 10, 0, 0, 0);
    done(&f);
}

/* A chain on one core: the producer released it, not the core. */
static void chain_on_one_core(void **state)
{
    const struct world_slice slices[] = {{0, 0, U, 10, 20}, {1, 0, U, 30, 40}, {2, 0, U, 55, 60}};
    const struct tl_path_edge edges[] = {{0, 1}, {1, 2}};
    const uint32_t chain[] = {0, 1, 2};
    const uint32_t steps[][2] = {{0, TL_PATH_BY_NOTHING}, {1, TL_PATH_BY_PRODUCER}, {2, TL_PATH_BY_PRODUCER}};
    struct fixture f = {.g = world_make(3, slices, 3, edges, 2)};

    (void)state;
    find(&f);
    static_is(&f, 25, chain, 3);
    observed_is(&f, steps, 3);
    spent_is(&f, 25, 0, 0, 25, 0, 10, 0); /* level 1: what is not the kernel is dispatch wait */
    done(&f);
}

/* An SPMD task of four blocks on two cores, then a mix of two: the task weighs from its first start to its last end. */
static void an_spmd_task_weighs_from_first_start_to_last_end(void **state)
{
    const struct world_slice slices[] = {{0, 0, 5, 10, 50}, {0, 1, 5, 12, 40},     {0, 0, 5, 55, 100},
                                         {0, 1, 5, 45, 80}, {1, 2, 110, 115, 200}, {1, 0, 110, 118, 150}};
    const struct tl_path_edge edges[] = {{0, 1}};
    const uint32_t chain[] = {0, 1};
    const uint32_t steps[][2] = {{0, TL_PATH_BY_NOTHING}, {0, TL_PATH_BY_CORE}, {1, TL_PATH_BY_PRODUCER}};
    struct fixture f = {.g = world_make(2, slices, 6, edges, 1)};

    (void)state;
    find(&f);
    static_is(&f, 90 + 85, chain, 2);
    observed_is(&f, steps, 3);
    assert_int_equal(f.o.steps[1].slice, 2);
    assert_int_equal(f.o.steps[2].slice, 4);
    spent_is(&f, 45 + 85, 40, 10, 5 + 5 + 5, 0, 5, 0);
    done(&f);
}

/* Level 4: 1 was submitted after its producer had ended, so the orchestrator held it up. */
static void a_late_submit_is_the_orchestrators_time(void **state)
{
    const struct world_slice slices[] = {{0, 0, 30, 40, 90}, {1, 1, 230, 240, 300}};
    const struct tl_path_edge edges[] = {{0, 1}};
    const uint32_t steps[][2] = {{1, TL_PATH_BY_SUBMIT}};
    const uint32_t early[][2] = {{0, TL_PATH_BY_SUBMIT}, {1, TL_PATH_BY_PRODUCER}};
    struct fixture f = {.g = world_make(2, slices, 2, edges, 1)};

    (void)state;
    f.g.tasks[0].submit_ns = 20;
    f.g.tasks[1].submit_ns = 210;
    f.g.submits_ns = 15;
    find(&f);
    observed_is(&f, steps, 1);
    spent_is(&f, 60, 0, 20, 10, 195, 15, 0);
    done(&f);

    f.g = world_make(2, slices, 2, edges, 1); /* and in time: the producer did */
    f.g.tasks[0].submit_ns = 20;
    f.g.tasks[1].submit_ns = 25;
    f.g.submits_ns = 15;
    find(&f);
    observed_is(&f, early, 2);
    spent_is(&f, 110, 0, 10 + 140, 10 + 10, 5, 15, 0);
    done(&f);
}

/* 0 -> 1 -> 2, and no core ran 1: it is looked through. */
static void a_task_without_slices_is_looked_through(void **state)
{
    const struct world_slice slices[] = {{0, 0, 0, 0, 100}, {2, 1, 150, 160, 200}};
    const struct tl_path_edge edges[] = {{0, 1}, {1, 2}};
    const uint32_t chain[] = {0, 1, 2};
    const uint32_t steps[][2] = {{0, TL_PATH_BY_NOTHING}, {2, TL_PATH_BY_PRODUCER}};
    struct fixture f = {.g = world_make(3, slices, 2, edges, 2)};

    (void)state;
    find(&f);
    static_is(&f, 140, chain, 3);
    observed_is(&f, steps, 2);
    spent_is(&f, 140, 0, 50, 10, 0, 0, 0);
    assert_int_equal(f.g.tasks_without_slices, 1);
    done(&f);
}

/* The consumer began before its producer ended, and two slices of a core overlap: counted, and never followed. */
static void impossible_times_are_counted_and_not_followed(void **state)
{
    const struct world_slice slices[] = {{0, 0, U, 0, 100}, {1, 0, U, 90, 120}};
    const struct tl_path_edge edges[] = {{0, 1}};
    const uint32_t steps[][2] = {{1, TL_PATH_BY_NOTHING}};
    struct fixture f = {.g = world_make(2, slices, 2, edges, 1)};

    (void)state;
    find(&f);
    assert_int_equal(f.g.early_edges, 1);
    assert_int_equal(f.g.overlaps, 1);
    observed_is(&f, steps, 1);
    spent_is(&f, 30, 0, 0, 0, 0, 90, 0);
    done(&f);
}

/* Slices of no length could lead in a cycle: 1 after 0 by the graph, 0 after 1 on the core, all at one moment. */
static void slices_of_no_length_make_no_cycle(void **state)
{
    const struct world_slice slices[] = {{1, 0, U, 5, 5}, {0, 0, U, 5, 5}};
    const struct tl_path_edge edges[] = {{0, 1}};
    struct fixture f = {.g = world_make(2, slices, 2, edges, 1)};

    (void)state;
    find(&f);
    assert_true(f.o.count <= 2);
    spent_is(&f, 0, 0, 0, 0, 0, 5, 0);
    done(&f);
}

static void a_run_without_tasks_is_all_head(void **state)
{
    struct fixture f = {.g = world_make(0, NULL, 0, NULL, 0)};

    (void)state;
    f.g.end_ns = 70;
    find(&f);
    static_is(&f, 0, NULL, 0);
    observed_is(&f, NULL, 0);
    spent_is(&f, 0, 0, 0, 0, 0, 70, 0);
    done(&f);
}

static void a_cycle_is_refused_with_its_tasks(void **state)
{
    const struct tl_path_edge three[] = {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}, self[] = {{1, 1}};
    struct tl_path_edge ring[12];
    struct tl_path_graph g = world_make(5, NULL, 0, three, COUNT(three));
    struct tl_error error = {0};

    (void)state;
    g.tasks[1].task_id = 2ull << 32 | 7;
    assert_int_equal(tl__path_graph_build(&g, &error), TL_EGRAPH);
    assert_string_equal(error.msg,
                        "its edges have a cycle of 3 tasks: r2t7 waits for r0t3 waits for r0t2 waits for r2t7");
    tl__path_graph_fini(&g);

    g = world_make(2, NULL, 0, self, 1);
    assert_int_equal(tl__path_graph_build(&g, &error), TL_EGRAPH);
    assert_string_equal(error.msg, "its edges have a cycle of 1 task: r0t1 waits for r0t1");
    tl__path_graph_fini(&g);

    for (uint32_t i = 0; i < 12; i++)
        ring[i] = (struct tl_path_edge){(i + 1) % 12, i};
    g = world_make(12, NULL, 0, ring, 12);
    assert_int_equal(tl__path_graph_build(&g, &error), TL_EGRAPH);
    assert_non_null(strstr(error.msg, "a cycle of 12 tasks: r0t0 waits for r0t1 waits for"));
    assert_non_null(strstr(error.msg, "r0t7 waits for ... waits for r0t0"));
    tl__path_graph_fini(&g);
}

/* 65,536 tasks in a chain on one core, and as many edges: no recursion, nothing quadratic. */
static void a_long_chain_takes_linear_time(void **state)
{
    enum { N = 65536 };
    struct world_slice *slices = calloc(N, sizeof(*slices));
    struct tl_path_edge *edges = calloc(N - 1, sizeof(*edges));
    struct fixture f = {0};

    (void)state;
    assert_non_null(slices);
    assert_non_null(edges);
    for (uint32_t i = 0; i < N; i++)
        slices[i] = (struct world_slice){i, 0, U, 10ull * i, 10ull * i + 7};
    for (uint32_t i = 0; i < N - 1; i++)
        edges[i] = (struct tl_path_edge){i, i + 1};
    f.g = world_make(N, slices, N, edges, N - 1);
    find(&f);
    assert_int_equal(f.s.length_ns, 7 * N);
    assert_int_equal(f.o.count, N);
    spent_is(&f, 7 * N, 0, 0, 3 * (N - 1), 0, 0, 0);
    done(&f);
    free(slices);
    free(edges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longer_arm_of_a_diamond_is_the_static_path),
        cmocka_unit_test(tasks_that_share_one_core_wait_for_it),
        cmocka_unit_test(core_bound_from_when_it_is_ready),
        cmocka_unit_test(chain_on_one_core),
        cmocka_unit_test(an_spmd_task_weighs_from_first_start_to_last_end),
        cmocka_unit_test(a_late_submit_is_the_orchestrators_time),
        cmocka_unit_test(a_task_without_slices_is_looked_through),
        cmocka_unit_test(impossible_times_are_counted_and_not_followed),
        cmocka_unit_test(slices_of_no_length_make_no_cycle),
        cmocka_unit_test(a_run_without_tasks_is_all_head),
        cmocka_unit_test(a_cycle_is_refused_with_its_tasks),
        cmocka_unit_test(a_long_chain_takes_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
