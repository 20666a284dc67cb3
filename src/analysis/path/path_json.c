/* SPDX-License-Identifier: Apache-2.0 */
/* The critical paths for machines: all steps. */
#include <string.h>

#include "analysis/text/json_head.h"
#include "analysis/path/path_show.h"
#include "base/env.h"

struct writer {
    struct tl_json *json;
    const struct tl_path_run *run;
    struct tl_rendering scratch;
};

/* What has been put into the scratch page, as a member. */
static void put_scratch(struct writer *w, const char *key)
{
    tl__json_key(w->json, key);
    tl__json_string_bytes(w->json, w->scratch.data, w->scratch.used);
    w->scratch.used = 0;
}

static void put_u64(struct writer *w, const char *key, uint64_t value)
{
    tl__json_member_u64(w->json, key, value);
}

static int put_kernels(struct writer *w, bool observed)
{
    struct tl_path_share *shares = NULL;
    uint32_t count = 0;
    int code =
        observed ? tl__path_shares_observed(w->run, &shares, &count) : tl__path_shares_static(w->run, &shares, &count);

    if (code < 0)
        return code;
    tl__json_member_array(w->json, "by_kernel", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < count; i++) {
        tl__json_object_begin(w->json, TL_JSON_LINE);
        tl__put_path_kernel(&w->scratch, w->run, &shares[i].kernel, true);
        put_scratch(w, "kernel");
        put_u64(w, "steps", shares[i].count);
        put_u64(w, "runs_ns", shares[i].ns);
        if (observed) {
            put_u64(w, "core_busy_ns", shares[i].busy_ns);
            put_u64(w, "waits_before_ns", shares[i].wait_ns);
        }
        tl__json_object_end(w->json);
    }
    tl__json_array_end(w->json);
    tl__free(shares);
    return 0;
}

static void put_static_step(struct writer *w, uint32_t t)
{
    const struct tl_path_graph *g = &w->run->graph;
    struct tl_path_kernel kernel = tl__path_kernel_of_task(w->run, t);

    tl__json_object_begin(w->json, TL_JSON_LINE);
    tl__json_task(w->json, "task", w->run->join->layout, g->tasks[t].task_id);
    tl__put_path_kernel(&w->scratch, w->run, &kernel, true);
    put_scratch(w, "kernel");
    put_u64(w, "slices", g->slice_first[t + 1] - g->slice_first[t]);
    put_u64(w, "runs_ns", g->last_end_ns[t] - g->first_start_ns[t]);
    tl__json_object_end(w->json);
}

static void put_observed_step(struct writer *w, uint32_t i)
{
    static const char *const words[] = {[TL_PATH_BY_NOTHING] = "nothing",
                                        [TL_PATH_BY_PRODUCER] = "producer",
                                        [TL_PATH_BY_CORE] = "core",
                                        [TL_PATH_BY_SUBMIT] = "submit"};
    const struct tl_path_step *step = &w->run->observed.steps[i];
    const struct tl_path_slice *s = &w->run->graph.slices[step->slice];
    struct tl_path_kernel kernel = tl__path_kernel_of_slice(w->run, step->slice);

    tl__json_object_begin(w->json, TL_JSON_LINE);
    tl__json_task(w->json, "task", w->run->join->layout, w->run->graph.tasks[s->task].task_id);
    tl__put_path_kernel(&w->scratch, w->run, &kernel, true);
    put_scratch(w, "kernel");
    tl__put_path_core(&w->scratch, w->run, step->slice);
    put_scratch(w, "core");
    tl__json_member_string(w->json, "released_by", words[step->release]);
    put_u64(w, "released_ns", step->released_ns);
    put_u64(w, "dispatched_ns", step->dispatched_ns);
    put_u64(w, "start_ns", s->start_ns);
    put_u64(w, "busy_from_ns", step->busy_ns);
    put_u64(w, "end_ns", s->end_ns);
    tl__json_object_end(w->json);
}

/* Edges of the static path that the times contradict; they are there also where it is not longer than the wall. */
static void put_contradictions(struct writer *w)
{
    const struct tl_path_graph *g = &w->run->graph;
    struct tl_path_contradiction c;
    uint32_t at = 0;

    tl__json_member_bool(w->json, "contradicted", tl__path_contradicted(w->run));
    tl__json_member_array(w->json, "contradictions", TL_JSON_BLOCK);
    while (tl__path_next_contradiction(w->run, &at, &c)) {
        tl__json_object_begin(w->json, TL_JSON_LINE);
        tl__json_task(w->json, "producer", w->run->join->layout, g->tasks[c.pred].task_id);
        tl__json_task(w->json, "consumer", w->run->join->layout, g->tasks[c.succ].task_id);
        put_u64(w, "overlap_ns", c.overlap_ns);
        tl__json_object_end(w->json);
    }
    tl__json_array_end(w->json);
}

static int put_static(struct writer *w)
{
    int code;

    tl__json_member_object(w->json, "static", TL_JSON_BLOCK);
    put_u64(w, "length_ns", w->run->chain.length_ns);
    put_contradictions(w);
    code = put_kernels(w, false);
    tl__json_member_array(w->json, "steps", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < w->run->chain.count; i++)
        put_static_step(w, w->run->chain.tasks[i]);
    tl__json_array_end(w->json);
    tl__json_object_end(w->json);
    return code;
}

static int put_observed(struct writer *w)
{
    int code;

    tl__json_member_object(w->json, "observed", TL_JSON_BLOCK);
    tl__json_member_object(w->json, "spent_ns", TL_JSON_LINE);
    tl__path_kinds_json(w->json, w->run);
    tl__json_object_end(w->json);
    code = put_kernels(w, true);
    tl__json_member_array(w->json, "steps", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < w->run->observed.count; i++)
        put_observed_step(w, i);
    tl__json_array_end(w->json);
    tl__json_object_end(w->json);
    return code;
}

static int put_advice(struct writer *w, const char *dir)
{
    struct tl_path_advice advice;
    int code = tl__path_advise(w->run, dir, &advice);

    if (code < 0)
        return code;
    tl__json_member_array(w->json, "what_to_try_next", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < advice.count; i++)
        tl__json_string_bytes(w->json, advice.text[i].data, advice.text[i].used);
    tl__json_array_end(w->json);
    tl__path_advice_fini(&advice);
    return 0;
}

int tl__path_json(struct tl_json *json, const struct tl_path_run *run, const char *dir)
{
    struct writer w = {.json = json, .run = run};
    int code, advised;

    tl__rendering_init(&w.scratch, NULL, NULL);
    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "critical-path", NULL, dir);
    put_u64(&w, "level", run->join->lane->level);
    put_u64(&w, "wall_ns", run->graph.end_ns - run->graph.begin_ns);
    put_u64(&w, "work_ns", run->work_ns);
    put_u64(&w, "tasks", run->graph.n_tasks - tl__path_allocations(run));
    put_u64(&w, "allocations", tl__path_allocations(run));
    put_u64(&w, "slices", run->graph.n_slices);
    code = put_static(&w);
    if (code == 0)
        code = put_observed(&w);
    advised = put_advice(&w, dir);
    tl__json_key(json, "warnings");
    tl__path_notes_json(json, run);
    tl__json_object_end(json);
    tl__json_newline(json);
    if (code == 0)
        code = advised != 0 ? advised : w.scratch.error;
    tl__rendering_fini(&w.scratch);
    return code;
}
