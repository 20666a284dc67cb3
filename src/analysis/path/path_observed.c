/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analysis/path/path_find.h"
#include "base/env.h"
#include "base/vec.h"

const char *tl__path_kind_word(unsigned kind)
{
    static const char *const words[] = {
#define TL_PATH_KIND_WORD(kind, word, text) word,
        TL_PATH_KIND_LIST(TL_PATH_KIND_WORD)
#undef TL_PATH_KIND_WORD
    };

    return words[kind];
}

const char *tl__path_kind_text(unsigned kind)
{
    static const char *const texts[] = {
#define TL_PATH_KIND_TEXT(kind, word, text) text,
        TL_PATH_KIND_LIST(TL_PATH_KIND_TEXT)
#undef TL_PATH_KIND_TEXT
    };

    return texts[kind];
}

struct walk {
    const struct tl_path_graph *g;
    uint8_t *seen;                    /* by slice: on the path already. Slices of no length could lead in a cycle */
    TL_VEC(struct tl_path_step) back; /* latest first */
};

/* May the path go on at `slice`, from something that started at `start_ns`? */
static bool leads_to(const struct walk *w, uint32_t slice, uint64_t start_ns)
{
    return slice != TL_PATH_NONE && w->seen[slice] == 0 && w->g->slices[slice].end_ns <= start_ns;
}

/* The slice of a producer that ended last before `start_ns`, or TL_PATH_NONE. */
static uint32_t last_producer(const struct walk *w, uint32_t task, uint64_t start_ns)
{
    const struct tl_path_graph *g = w->g;
    uint32_t best = TL_PATH_NONE;

    for (uint32_t k = g->pred_first[task]; k < g->pred_first[task + 1]; k++) {
        uint32_t p = g->last_slice[g->pred_list[k]];

        if (leads_to(w, p, start_ns) && (best == TL_PATH_NONE || g->slices[p].end_ns > g->slices[best].end_ns))
            best = p;
    }
    return best;
}

/* What released the slice last. Fills the step, and returns the slice to go on with, or TL_PATH_NONE. *ret_ready_ns is
 * when the task could have run, had its core been free; without producer and submit that is its own dispatch. */
static uint32_t release(const struct walk *w, struct tl_path_step *step, uint64_t *ret_ready_ns)
{
    const struct tl_path_slice *s = &w->g->slices[step->slice];
    const struct tl_path_task *task = &w->g->tasks[s->task];
    uint32_t producer = last_producer(w, s->task, s->start_ns), prev = w->g->core_prev[step->slice],
             next = TL_PATH_NONE;
    uint64_t dispatch = s->dispatch_ns <= s->start_ns ? s->dispatch_ns : TL_PATH_UNKNOWN;
    bool submitted = task->submit_ns <= s->start_ns;
    uint64_t ready = 0;

    step->release = TL_PATH_BY_NOTHING;
    step->released_ns = dispatch != TL_PATH_UNKNOWN && dispatch >= w->g->begin_ns ? dispatch : s->start_ns;
    *ret_ready_ns = step->released_ns;
    if (producer != TL_PATH_NONE) {
        step->release = TL_PATH_BY_PRODUCER;
        step->released_ns = *ret_ready_ns = ready = w->g->slices[producer].end_ns;
        next = producer;
    }
    if (submitted && (producer == TL_PATH_NONE || task->submit_ns > ready)) {
        step->release = TL_PATH_BY_SUBMIT;
        step->released_ns = *ret_ready_ns = ready = task->submit_ns;
        next = TL_PATH_NONE;
    }
    if (leads_to(w, prev, s->start_ns) && (step->release == TL_PATH_BY_NOTHING || w->g->slices[prev].end_ns > ready)) {
        step->release = TL_PATH_BY_CORE;
        step->released_ns = w->g->slices[prev].end_ns;
        next = prev;
    }
    step->dispatched_ns = dispatch == TL_PATH_UNKNOWN || dispatch < step->released_ns ? step->released_ns : dispatch;
    return next;
}

static uint32_t last_to_end(const struct tl_path_graph *g)
{
    uint32_t last = TL_PATH_NONE;

    for (uint32_t i = 0; i < g->n_slices; i++) {
        const struct tl_path_slice *s = &g->slices[i], *l = &g->slices[last != TL_PATH_NONE ? last : 0];

        if (last == TL_PATH_NONE || s->end_ns > l->end_ns || (s->end_ns == l->end_ns && s->start_ns > l->start_ns))
            last = i;
    }
    return last;
}

static int walk_back(struct walk *w)
{
    uint32_t at = last_to_end(w->g);
    uint64_t wanted_ns = TL_PATH_UNKNOWN; /* from when the step behind this one wanted this core */

    while (at != TL_PATH_NONE) {
        const struct tl_path_slice *s = &w->g->slices[at];
        struct tl_path_step step = {.slice = at, .busy_ns = s->end_ns};
        uint64_t ready_ns;
        uint32_t next;

        if (wanted_ns < s->end_ns)
            step.busy_ns = wanted_ns > s->start_ns ? wanted_ns : s->start_ns;
        w->seen[at] = 1;
        next = release(w, &step, &ready_ns);
        if (tl_vec_push(&w->back, step) < 0)
            return TL_ENOMEM;
        wanted_ns = step.release == TL_PATH_BY_CORE ? ready_ns : TL_PATH_UNKNOWN;
        at = next;
    }
    return 0;
}

/* What is before the first step: the orchestrator up to its submit, from the first submit on. */
static void add_beginning(const struct tl_path_graph *g, struct tl_path_observed *path)
{
    const struct tl_path_step *first = &path->steps[0];
    uint64_t until = first->released_ns;

    if (first->release == TL_PATH_BY_SUBMIT && g->submits_ns <= until) {
        uint64_t from = g->submits_ns > g->begin_ns ? g->submits_ns : g->begin_ns;

        path->spent_ns[TL_PATH_ORCHESTRATION] += until - from;
        until = from;
    }
    path->spent_ns[TL_PATH_HEAD] += until - g->begin_ns;
}

static void add_up(const struct tl_path_graph *g, struct tl_path_observed *path)
{
    if (path->count == 0) {
        path->spent_ns[TL_PATH_HEAD] = g->end_ns - g->begin_ns;
        return;
    }
    add_beginning(g, path);
    for (uint32_t i = 0; i < path->count; i++) {
        const struct tl_path_step *step = &path->steps[i];
        const struct tl_path_slice *s = &g->slices[step->slice];

        path->spent_ns[TL_PATH_SCHEDULER] += step->dispatched_ns - step->released_ns;
        path->spent_ns[TL_PATH_DISPATCH] += s->start_ns - step->dispatched_ns;
        path->spent_ns[TL_PATH_KERNEL] += step->busy_ns - s->start_ns;
        path->spent_ns[TL_PATH_CORE_BUSY] += s->end_ns - step->busy_ns;
    }
    path->spent_ns[TL_PATH_TAIL] = g->end_ns - g->slices[path->steps[path->count - 1].slice].end_ns;
}

int tl__path_find_observed(const struct tl_path_graph *g, struct tl_path_observed *ret_path)
{
    struct walk w = {.g = g, .seen = tl__alloc((size_t)g->n_slices + 1, 1)};
    int r = w.seen != NULL ? walk_back(&w) : TL_ENOMEM;

    memset(ret_path, 0, sizeof(*ret_path));
    tl__free(w.seen);
    if (r < 0) {
        tl_vec_fini(&w.back);
        return r;
    }
    for (size_t i = 0; i < w.back.count / 2; i++) {
        struct tl_path_step step = w.back.items[i];

        w.back.items[i] = w.back.items[w.back.count - 1 - i];
        w.back.items[w.back.count - 1 - i] = step;
    }
    ret_path->steps = w.back.items; /* they go over to the caller */
    ret_path->count = (uint32_t)w.back.count;
    add_up(g, ret_path);
    return 0;
}

void tl__path_observed_fini(struct tl_path_observed *path)
{
    tl__free(path->steps);
    memset(path, 0, sizeof(*path));
}
