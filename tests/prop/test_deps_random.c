/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs on rings so small that most producers retire before their consumers come: deps.json has each edge of
 * a naive list of who touched which bytes, where nothing is ever forgotten, and `filtered_edges` those whose producer
 * had retired. TL_SEED and TL_SEEDS choose the seeds.
 */
#include <sys/stat.h>

#include "support/deps_tape.h"
#include "support/scratch.h"

#include "test_graph_program.h"

#define MAX_EDGES 65536u

struct listed {
    uint64_t pred, succ;
    int32_t arg;
    uint8_t source, flags, overlap, gone;
};

static struct {
    struct deps_tape tape;
    struct listed edges[MAX_EDGES], got[MAX_EDGES];
    uint32_t n, per_batch;
    uint64_t all, gone;
    char dir[64];
} t_;

static void expect_edge(uint64_t pred, uint64_t succ, int32_t arg, unsigned source, unsigned flags, unsigned overlap)
{
    struct listed *e = &t_.edges[t_.n++];

    if (t_.n == MAX_EDGES)
        FAIL("more edges than the test has room for");
    memset(e, 0, sizeof(*e));
    e->pred = pred;
    e->succ = succ;
    e->arg = arg;
    e->source = (uint8_t)source;
    e->flags = (uint8_t)flags;
    e->overlap = (uint8_t)overlap;
    e->gone = retired(pred);
}

/* The rules, with a memory that nothing leaves. */
static void planned(const struct task *t, const struct tl_plan *plan)
{
    uint32_t tails[TL_DEPS_RINGS] = {0};

    for (uint32_t r = 0; r < w.opts.rings && w.opts.recycle; r++)
        tails[r] = w.tails[r];
    tape_task(&t_.tape, plan, tails);
    for (uint32_t i = 0; i < plan->args->n_deps; i++)
        if (plan->args->deps[i] != TL_NO_TASK)
            expect_edge(plan->args->deps[i], t->id, -1, TL_DEPS_EXPLICIT, TL_DEPS_WAIT, TL_DEPS_OVERLAP_NONE);
    for (uint32_t i = 0; i < t->n_args; i++) {
        const struct arg *a = &t->args[i];

        if (a->direction == TL_OUT || a->direction == TL_NO_DEP)
            continue;
        if (w.bufs[a->buf].owner != TL_NO_TASK)
            expect_edge(w.bufs[a->buf].owner, t->id, (int32_t)i, TL_DEPS_CREATOR,
                        plan->manual ? TL_DEPS_RETAIN : TL_DEPS_WAIT | TL_DEPS_RETAIN, TL_DEPS_OVERLAP_NONE);
        for (uint32_t k = 0; k < w.n_notes && !plan->manual && tracked(a); k++)
            if (!w.notes[k].replaced && conflicts(&w.notes[k], a))
                expect_edge(w.tasks[w.notes[k].task].id, t->id, (int32_t)i, TL_DEPS_TENSORMAP, TL_DEPS_WAIT,
                            covers(a, &w.notes[k]) ? TL_DEPS_COVERED : TL_DEPS_OTHER);
    }
}

static int by_all(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct listed));
}

static void compare_list(const char *which, const struct tl_deps_edge *edges, uint64_t n, bool gone_only)
{
    uint32_t wanted = 0;

    for (uint64_t i = 0; i < n && i < MAX_EDGES; i++) {
        memset(&t_.got[i], 0, sizeof(t_.got[i]));
        t_.got[i].pred = edges[i].pred;
        t_.got[i].succ = edges[i].succ;
        t_.got[i].arg = edges[i].arg;
        t_.got[i].source = edges[i].source;
        t_.got[i].flags = edges[i].flags & (TL_DEPS_WAIT | TL_DEPS_RETAIN);
        t_.got[i].overlap = edges[i].overlap;
    }
    for (uint32_t i = 0; i < t_.n; i++)
        if (!gone_only || t_.edges[i].gone != 0) {
            t_.edges[wanted] = t_.edges[i];
            t_.edges[wanted++].gone = 0;
        }
    t_.n = wanted;
    if (n != wanted) {
        FAIL("%s: %llu, the rules say %u", which, (unsigned long long)n, wanted);
        return;
    }
    qsort(t_.got, n, sizeof(t_.got[0]), by_all);
    qsort(t_.edges, n, sizeof(t_.edges[0]), by_all);
    for (uint64_t i = 0; i < n; i++)
        if (by_all(&t_.got[i], &t_.edges[i]) != 0)
            FAIL("%s: an edge from r%ut%u, argument %d, source %u; the rules say r%ut%u, %d, %u", which,
                 tl__task_ring(t_.got[i].pred), tl__task_local(t_.got[i].pred), t_.got[i].arg, t_.got[i].source,
                 tl__task_ring(t_.edges[i].pred), tl__task_local(t_.edges[i].pred), t_.edges[i].arg,
                 t_.edges[i].source);
}

static void compare_file(const struct tl_deps *d)
{
    static struct listed kept[MAX_EDGES];
    uint32_t n = t_.n;

    if (d->n_tasks != w.n_tasks)
        FAIL("%llu of %u tasks are listed", (unsigned long long)d->n_tasks, w.n_tasks);
    for (uint32_t i = 0; i < w.n_tasks && i < d->n_tasks; i++)
        if (d->tasks[i].task_id != w.tasks[i].id || d->tasks[i].n_args != w.tasks[i].n_args)
            FAIL("task %u is another one", i);
    for (uint64_t i = 0; i < d->n_edges; i++)
        if (d->edge_pred[i] == UINT32_MAX || d->edge_succ[i] == UINT32_MAX)
            FAIL("an end of edge %llu is not listed", (unsigned long long)i);
    memcpy(kept, t_.edges, n * sizeof(kept[0]));
    compare_list("filtered_edges", d->filtered, d->n_filtered, true);
    memcpy(t_.edges, kept, n * sizeof(kept[0]));
    t_.n = n;
    t_.all += d->n_edges;
    t_.gone += d->n_filtered;
    compare_list("edges", d->edges, d->n_edges, false);
}

static void over(void)
{
    const struct tape_run run = {.dir = t_.dir, .rings = w.opts.rings, .per_batch = t_.per_batch};
    struct tl_deps d = {0};
    struct tl_error err;
    char path[100];

    (void)snprintf(path, sizeof(path), "%s/deps.json", t_.dir);
    (void)unlink(path);
    if (tape_inspect(&t_.tape) != NULL)
        FAIL("%s is impossible", tape_inspect(&t_.tape));
    else if (tape_export(&t_.tape, &run, &err) < 0)
        FAIL("%s", err.msg);
    else if (w.n_tasks > 0 && tl__deps_read(path, &d, &err) < 0)
        FAIL("%s", err.msg);
    else
        compare_file(&d);
    tl__deps_fini(&d);
}

static void begin_tape(uint64_t seed)
{
    tape_free(&t_.tape);
    t_.n = 0;
    t_.per_batch = 1 + (uint32_t)(seed % 37);
}

static void random_graphs_come_back_from_their_files(void **state)
{
    uint64_t first = setting("TL_SEED", 1), n = setting("TL_SEEDS", 600);
    char path[100];

    (void)state;
    (void)snprintf(t_.dir, sizeof(t_.dir), "%s/deps", scratch(false));
    assert_int_equal(mkdir(t_.dir, 0777), 0);
    w_watch = (struct watch){.begin = begin_tape, .planned = planned, .over = over};
    for (uint64_t seed = first; seed < first + n; seed++)
        if (!run_world(seed, MAX_TASKS, false))
            shrink_and_fail(seed);
    print_message("%llu edges, %llu of them to producers that had retired\n", (unsigned long long)t_.all,
                  (unsigned long long)t_.gone);
    if (n >= 500) {
        assert_true(t_.all > n * 100);
        assert_true(t_.gone > t_.all / 10);
    }
    tape_free(&t_.tape);
    (void)snprintf(path, sizeof(path), "%s/deps.json", t_.dir);
    (void)unlink(path);
    assert_int_equal(rmdir(t_.dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_come_back_from_their_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
