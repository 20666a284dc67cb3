/* SPDX-License-Identifier: Apache-2.0 */
#include <tasklens/error.h>

#include "analysis/deps/deps_show.h"
#include "analysis/deps/deps_totals.h"
#include "analysis/text/json_head.h"
#include "base/count_of.h"

struct member {
    const char *key;
    uint64_t value;
};

static void json_members(struct tl_json *json, const struct member *members, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        tl__json_member_u64(json, members[i].key, members[i].value);
    }
}

static void json_edges(struct tl_json *json, const struct tl_deps_graph *g, const struct tl_deps_totals *t)
{
    const struct member members[] = {
        {"total", g->edges},
        {"explicit", t->by_source[TL_DEPS_EXPLICIT]},
        {"creator", t->by_source[TL_DEPS_CREATOR]},
        {"tensormap", t->by_source[TL_DEPS_TENSORMAP]},
        {"covered", t->by_overlap[TL_DEPS_COVERED]},
        {"other", t->by_overlap[TL_DEPS_OTHER]},
        {"wait_and_retain", t->wait_retain},
        {"only_wait", t->wait},
        {"only_retain", t->retain},
        {"no_flag", t->neither},
        {"flags_not_said", t->not_said},
        {"pairs", g->pairs},
        {"loose", g->loose},
    };

    tl__json_member_object(json, "edge_counts", TL_JSON_LINE);
    json_members(json, members, COUNT_OF(members));
    tl__json_object_end(json);
}

static void json_tasks(struct tl_json *json, const struct tl_deps_subject *s, const char *key, const uint32_t *tasks,
                       uint32_t count)
{
    tl__json_member_array(json, key, TL_JSON_BLOCK);
    for (uint32_t i = 0; i < count; i++) {
        const struct member members[] = {{"producers", s->graph->producers[tasks[i]]},
                                         {"consumers", s->graph->consumers[tasks[i]]}};

        tl__json_object_begin(json, TL_JSON_LINE);
        tl__deps_json_task(json, s, tasks[i]);
        json_members(json, members, 2);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
}

static int json_kinds(struct tl_json *json, const struct tl_deps_subject *s)
{
    struct tl_deps_kinds kinds;
    int code = tl__deps_kinds(s->deps, &kinds);

    if (code < 0)
        return code;
    tl__json_member_array(json, "kernels", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < kinds.count; i++) {
        const struct tl_deps_kind *kind = &kinds.kinds[i];

        tl__json_object_begin(json, TL_JSON_LINE);
        json_members(json, &(struct member){"tasks", kind->tasks}, 1);
        tl__deps_json_kernels(json, s, kind->kernel_ids);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
    tl__deps_kinds_fini(&kinds);
    return 0;
}

int tl__deps_summary_json(struct tl_json *json, const struct tl_deps_subject *s)
{
    const struct tl_deps_graph *g = s->graph;
    const struct member shape[] = {
        {"levels", g->levels}, {"widest_level", g->widest}, {"widest_level_tasks", g->widest_tasks},
        {"roots", g->roots},   {"leaves", g->leaves},       {"tasks_without_level", g->unlevelled},
    };
    const uint32_t allocations = tl__deps_allocations(s->deps);
    struct tl_deps_totals t;
    int code;

    tl__deps_totals(g, &t);
    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "deps", "graph", s->dir);
    json_members(json,
                 (const struct member[]){{"task_count", g->tasks - allocations},
                                         {"allocation_count", allocations},
                                         {"tensor_count", s->deps->n_tensors}},
                 3);
    json_edges(json, g, &t);
    tl__json_key(json, "filtered_edges");
    if (s->deps->has_filtered)
        tl__json_u64(json, s->deps->n_filtered);
    else
        tl__json_null(json);
    json_members(json, shape, COUNT_OF(shape));
    code = json_kinds(json, s);
    json_tasks(json, s, "cycle", g->cycle, g->cycle_tasks);
    json_tasks(json, s, "most_producers", t.most_fed, t.n_fed);
    json_tasks(json, s, "most_consumers", t.most_feeding, t.n_feeding);
    tl__deps_json_graph(json, s);
    tl__json_object_end(json);
    tl__json_newline(json);
    return code;
}
