/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page. Rows are arrays, and what repeats (buffers, slices, flags) is kept once in `words`
 *  and is named by its number, so that the page of a large graph stays small. src/analysis/web/assets/deps.js reads it:
 *   kinds  [names on aic, aiv0, aiv1: text or null], by number
 *   tasks  [name, kind, level or -1, manual, early, blocks, producers, consumers, x, y, width, height, args]
 *          args: [slot, type, buffer, slice]
 *   pairs  [pred, succ, line, edges, how many edges there are]
 *          line: x, y, x, y ...; edges: [slot, source, flags, overlap, buffer, slice read, slice written]
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_picture.h"
#include "analysis/deps/deps_totals.h"
#include "analysis/text/phrases.h"
#include "analysis/web/web.h"
#include "analysis/text/words.h"
#include "base/count_of.h"
#include "base/number.h"

#define EDGES_OF_A_PAIR 60 /* in the page; the command lists the others */

struct html {
    const struct tl_deps_subject *s;
    const struct tl_deps_part *part;
    const struct tl_deps_layout *layout;
    enum tl_deps_engine engine;
    struct tl_deps_kinds kinds;
    struct tl_words words;
    struct tl_rendering scratch;
    int error;
};

/* Writes the number of the text that is in the scratch page, and empties that. */
static void json_word(struct tl_json *json, struct html *h)
{
    uint32_t number = tl__words_add(&h->words, h->scratch.data, h->scratch.used);

    h->scratch.used = 0;
    if (number == UINT32_MAX || h->scratch.error != 0)
        h->error = TL_ENOMEM;
    tl__json_u64(json, number);
}

static void json_text(struct tl_json *json, struct html *h, const char *text)
{
    tl__put_str(&h->scratch, text);
    json_word(json, h);
}

static void json_buffer(struct tl_json *json, struct html *h, uint64_t tensor_id)
{
    tl__put_deps_tensor(&h->scratch, h->s->graph, tensor_id);
    json_word(json, h);
}

static void json_slice(struct tl_json *json, struct html *h, const struct tl_deps_view *view, bool with_dtype)
{
    if (with_dtype)
        tl__put_format(&h->scratch, "%s ", tl_dtype_name(view->dtype));
    tl__put_deps_view(&h->scratch, view);
    json_word(json, h);
}

/* Whole points are enough for a screen. */
static void json_point(struct tl_json *json, float value)
{
    tl__json_i64(json, lrintf(value));
}

static void json_args(struct tl_json *json, struct html *h, const struct tl_deps_task *task)
{
    tl__json_array_begin(json, TL_JSON_LINE);
    for (uint32_t i = 0; i < task->n_args; i++) {
        const struct tl_deps_arg *arg = &h->s->deps->args[task->first_arg + i];

        tl__json_array_begin(json, TL_JSON_LINE);
        tl__json_u64(json, arg->idx);
        json_text(json, h, tl__deps_type_name(arg->type));
        if (arg->has_view) {
            json_buffer(json, h, arg->tensor_id);
            json_slice(json, h, &arg->view, true);
        }
        tl__json_array_end(json);
    }
    tl__json_array_end(json);
}

static void json_task(struct tl_json *json, struct html *h, uint32_t place)
{
    const struct tl_deps_graph *g = h->s->graph;
    uint32_t position = h->part->tasks[place];
    const struct tl_deps_task *task = &h->s->deps->tasks[position];
    const struct tl_deps_box *box = &h->layout->boxes[place];

    tl__json_array_begin(json, TL_JSON_LINE);
    tl__put_task(&h->scratch, tl__task_layout_of(h->s->deps->runtime), task->task_id);
    tl__json_string_bytes(json, h->scratch.data, h->scratch.used);
    h->scratch.used = 0;
    tl__json_u64(json, h->kinds.of_task[position]);
    tl__json_i64(json, g->level[position] != TL_DEPS_NONE ? (int64_t)g->level[position] : -1);
    tl__json_u64(json, task->manual);
    tl__json_u64(json, task->early_dispatch);
    tl__json_u64(json, task->block_num);
    tl__json_u64(json, g->producers[position]);
    tl__json_u64(json, g->consumers[position]);
    json_point(json, box->x);
    json_point(json, box->y);
    json_point(json, box->width);
    json_point(json, box->height);
    json_args(json, h, task);
    tl__json_array_end(json);
}

static void json_edge(struct tl_json *json, struct html *h, const struct tl_deps_edge *edge)
{
    tl__json_array_begin(json, TL_JSON_LINE);
    tl__json_i64(json, edge->arg);
    tl__json_u64(json, edge->source);
    tl__put_deps_flags(&h->scratch, edge->flags);
    json_word(json, h);
    json_text(json, h, tl__deps_overlap_name(edge->overlap));
    if (edge->source != TL_DEPS_EXPLICIT) {
        json_buffer(json, h, edge->tensor_id);
        json_slice(json, h, &edge->consumer, true);
    }
    if (edge->source == TL_DEPS_TENSORMAP)
        json_slice(json, h, &edge->producer, false);
    tl__json_array_end(json);
}

static void json_pair(struct tl_json *json, struct html *h, uint32_t number)
{
    const struct tl_deps_pair *pair = &h->part->pairs[number];
    const struct tl_deps_layout *l = h->layout;

    tl__json_array_begin(json, TL_JSON_LINE);
    tl__json_u64(json, pair->pred);
    tl__json_u64(json, pair->succ);
    tl__json_array_begin(json, TL_JSON_LINE);
    for (uint32_t i = 2 * l->first[number]; i < 2 * l->first[number + 1]; i++)
        json_point(json, l->points[i]);
    tl__json_array_end(json);
    tl__json_array_begin(json, TL_JSON_LINE);
    for (uint32_t i = 0; i < pair->count && i < EDGES_OF_A_PAIR; i++)
        json_edge(json, h, &h->s->deps->edges[h->part->edges[pair->first + i]]);
    tl__json_array_end(json);
    tl__json_u64(json, pair->count);
    tl__json_array_end(json);
}

static void json_kinds(struct tl_json *json, struct html *h)
{
    tl__json_member_array(json, "kinds", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < h->kinds.count; i++) {
        tl__json_array_begin(json, TL_JSON_LINE);
        for (unsigned k = 0; k < 3; k++) {
            if (h->kinds.kinds[i].kernel_ids[k] < 0) {
                tl__json_null(json);
                continue;
            }
            tl__put_kernel(&h->scratch, h->s->names, h->kinds.kinds[i].kernel_ids[k]);
            tl__json_string_bytes(json, h->scratch.data, h->scratch.used);
            h->scratch.used = 0;
        }
        tl__json_array_end(json);
    }
    tl__json_array_end(json);
}

static void json_words(struct tl_json *json, const struct tl_words *words)
{
    tl__json_member_array(json, "words", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < words->count; i++) {
        size_t n;
        const char *text = tl__words_get(words, i, &n);

        tl__json_string_bytes(json, text, n);
    }
    tl__json_array_end(json);
}

static void json_head(struct tl_json *json, const struct html *h)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"all_tasks", h->s->graph->tasks},       {"allocations", tl__deps_allocations(h->s->deps)},
                  {"all_edges", h->s->graph->edges},       {"levels", h->s->graph->levels},
                  {"loose", h->s->graph->loose},           {"skipped", h->s->deps->n_filtered},
                  {"unlevelled", h->s->graph->unlevelled}, {"edges", h->part->n_edges}};

    tl__json_member_string(json, "dir", h->s->dir);
    tl__json_member_string(json, "part", h->part->title);
    tl__json_member_string(json, "engine", tl__deps_engines[h->engine]);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        tl__json_member_u64(json, counts[i].key, counts[i].value);
    }
    tl__json_key(json, "width");
    json_point(json, h->layout->width);
    tl__json_key(json, "height");
    json_point(json, h->layout->height);
}

static void put_data(struct tl_json *json, void *ctx)
{
    struct html *h = ctx;

    tl__json_object_begin(json, TL_JSON_BLOCK);
    json_head(json, h);
    json_kinds(json, h);
    tl__json_member_array(json, "tasks", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < h->part->n_tasks; i++)
        json_task(json, h, i);
    tl__json_array_end(json);
    tl__json_member_array(json, "pairs", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < h->part->n_pairs; i++)
        json_pair(json, h, i);
    tl__json_array_end(json);
    json_words(json, &h->words);
    tl__json_object_end(json);
}

int tl__deps_html(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_part *part,
                  const struct tl_deps_layout *layout, enum tl_deps_engine engine)
{
    struct html h = {.s = s, .part = part, .layout = layout, .engine = engine};
    char title[300];
    int code = tl__deps_kinds(s->deps, &h.kinds);

    if (code < 0)
        return code;
    tl__rendering_init(&h.scratch, NULL, NULL);
    (void)snprintf(title, sizeof(title), "%.200s: task graph", s->dir);
    code = tl__put_web_page(out, &(struct tl_web_page){.name = "deps", .title = title, .data = put_data, .ctx = &h});
    if (code == 0)
        code = h.error != 0 ? h.error : h.scratch.error;
    tl__words_fini(&h.words);
    tl__rendering_fini(&h.scratch);
    tl__deps_kinds_fini(&h.kinds);
    return code;
}
