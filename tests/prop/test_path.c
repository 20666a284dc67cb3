/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs under a random scheduler: the observed path covers the wall exactly, the static one fits into it, and
 * equals what trying all ways finds. TL_SEED and TL_SEEDS choose the seeds; a failure names its own.
 */
#include "support/path_world.h"

#include <stdio.h>

#define TASKS_MAX 14u
#define SLICES_MAX (TASKS_MAX * 4)
#define EDGES_MAX (TASKS_MAX * TASKS_MAX)

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

struct plan {
    struct world_slice slices[SLICES_MAX];
    struct tl_path_edge edges[EDGES_MAX];
    uint64_t submit_ns[TASKS_MAX], end_ns[TASKS_MAX];
    uint32_t n_tasks, n_slices, n_edges, n_cores;
    uint64_t wall_ns, first_submit_ns;
    bool dispatches, submits;
};

/* One slice: on the core that a seed chooses, after all that it must wait for, with random delays. */
static void place(struct plan *p, uint32_t task, uint64_t ready, uint64_t *core_free)
{
    uint32_t core = below(p->n_cores);
    struct world_slice *s = &p->slices[p->n_slices++];
    uint64_t dispatch = ready + below(3) * below(20), start = dispatch + below(3) * below(20);

    if (start < core_free[core])
        start = core_free[core] + below(2) * below(10);
    *s = (struct world_slice){task, core, p->dispatches ? dispatch : TL_PATH_UNKNOWN, start,
                              start + below(4) * below(50)};
    core_free[core] = s->end_ns;
    if (s->end_ns > p->end_ns[task])
        p->end_ns[task] = s->end_ns;
}

/* Tasks in order of submission; edges only from earlier ones. A task may have no slices: it ends with its producers. */
static void make(struct plan *p)
{
    uint64_t core_free[4] = {0}, submitted;
    bool bare;

    memset(p, 0, sizeof(*p));
    p->n_tasks = 1 + below(TASKS_MAX);
    p->n_cores = 1 + below(4);
    p->dispatches = below(4) != 0;
    p->submits = below(2) != 0;
    p->first_submit_ns = submitted = below(30);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        uint64_t ready;

        submitted += below(2) * below(100);
        p->submit_ns[t] = ready = submitted;
        for (uint32_t k = below(4); t > 0 && k > 0; k--) {
            uint32_t pred = below(t);

            p->edges[p->n_edges++] = (struct tl_path_edge){pred, t};
            if (p->end_ns[pred] > ready)
                ready = p->end_ns[pred];
        }
        bare = below(8) == 0;
        p->end_ns[t] = bare ? ready : 0;
        for (uint32_t k = 1 + below(2) * below(4); !bare && k > 0; k--)
            place(p, t, ready, core_free);
        if (p->end_ns[t] > p->wall_ns)
            p->wall_ns = p->end_ns[t];
    }
    p->wall_ns += below(2) * below(100);
}

/* The longest way that ends at `task`, by trying all of them. */
static uint64_t longest(const struct plan *p, const struct tl_path_graph *g, uint32_t task)
{
    uint64_t best = 0;

    for (uint32_t e = 0; e < p->n_edges; e++)
        if (p->edges[e].succ == task) {
            uint64_t way = longest(p, g, p->edges[e].pred);

            best = way > best ? way : best;
        }
    return best + g->last_end_ns[task] - g->first_start_ns[task];
}

/* Nothing that a step had to wait for was over later than what the path says released it. */
static void check_releases(const struct plan *p, const struct tl_path_graph *g, const struct tl_path_observed *path)
{
    for (uint32_t i = 0; i < path->count; i++) {
        const struct tl_path_step *step = &path->steps[i];
        const struct tl_path_slice *s = &g->slices[step->slice];

        if (s->start_ns == s->end_ns) /* of several at one moment any one may stand for the others */
            continue;
        for (uint32_t e = 0; e < p->n_edges; e++)
            if (p->edges[e].succ == s->task)
                assert_true(g->last_end_ns[p->edges[e].pred] <= step->released_ns);
        for (uint32_t k = 0; k < g->n_slices; k++)
            if (g->slices[k].core == s->core && k != step->slice && g->slices[k].start_ns <= s->start_ns)
                assert_true(g->slices[k].end_ns <= step->released_ns);
        assert_true(!p->submits || g->tasks[s->task].submit_ns <= step->released_ns);
        assert_true(step->release != TL_PATH_BY_NOTHING || i == 0);
    }
}

static void check(const struct plan *p)
{
    struct tl_path_graph g = world_make(p->n_tasks, p->slices, p->n_slices, p->edges, p->n_edges);
    struct tl_path_observed observed;
    struct tl_path_static chain;
    uint64_t best = 0, sum = 0;

    g.end_ns = p->wall_ns;
    for (uint32_t t = 0; p->submits && t < p->n_tasks; t++)
        g.tasks[t].submit_ns = p->submit_ns[t];
    if (p->submits)
        g.submits_ns = p->first_submit_ns;
    if (p->submits && p->submit_ns[p->n_tasks - 1] > g.end_ns)
        g.end_ns = p->submit_ns[p->n_tasks - 1];
    assert_int_equal(tl__path_graph_build(&g, NULL), 0);
    assert_int_equal(tl__path_find_static(&g, &chain), 0);
    assert_int_equal(tl__path_find_observed(&g, &observed), 0);
    world_check_observed(&g, &observed);
    check_releases(p, &g, &observed);
    assert_int_equal(g.early_edges + g.overlaps, 0);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        uint64_t way = longest(p, &g, t);

        best = way > best ? way : best;
    }
    assert_int_equal(chain.length_ns, best);
    assert_true(chain.length_ns <= g.end_ns - g.begin_ns);
    for (uint32_t i = 0; i < chain.count; i++) { /* it is a way of the graph */
        bool edge = i == 0;

        sum += g.last_end_ns[chain.tasks[i]] - g.first_start_ns[chain.tasks[i]];
        for (uint32_t e = 0; e < p->n_edges && !edge; e++)
            edge = p->edges[e].pred == chain.tasks[i - 1] && p->edges[e].succ == chain.tasks[i];
        assert_true(edge);
    }
    assert_int_equal(sum, chain.length_ns);
    tl__path_static_fini(&chain);
    tl__path_observed_fini(&observed);
    tl__path_graph_fini(&g);
}

static void random_schedules_have_the_naive_oracles_paths(void **state)
{
    const char *seed = getenv("TL_SEED"), *seeds = getenv("TL_SEEDS");
    uint64_t first = seed != NULL ? strtoull(seed, NULL, 0) : 1,
             count = seeds != NULL ? strtoull(seeds, NULL, 0) : 20000;
    static struct plan p;

    (void)state;
    if (seed != NULL && seeds == NULL)
        count = 1;
    for (uint64_t s = first; s < first + count; s++) {
        char name[80];

        random_state = s;
        make(&p);
        (void)snprintf(name, sizeof(name), "TL_SEED=%llu", (unsigned long long)s);
        if (seed != NULL)
            print_message("%s\n", name);
        (void)setenv("TL_LAST_SEED", name, 1);
        check(&p);
    }
}

static int name_the_seed(void **state)
{
    (void)state;
    print_message("the last was %s\n", getenv("TL_LAST_SEED"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_schedules_have_the_naive_oracles_paths, name_the_seed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
