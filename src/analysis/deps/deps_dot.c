/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_picture.h"
#include "analysis/text/phrases.h"
#include "base/count_of.h"

#define NAME_WIDTH 26 /* characters of the kernels' names in a box */
#define CHARACTER 7.3 /* points, of the page's fixed-width font */

const char *const tl__deps_engines[] = {
    [TL_DEPS_DOT] = "dot", [TL_DEPS_SFDP] = "sfdp", [TL_DEPS_LEVELS] = "levels", NULL};

/* As in tasklens.colour() of common.js, so that page and drawing agree. */
static const char *const colours[] = {"#4c78a8", "#e8833a", "#54a24b", "#c95dab", "#b79a20", "#3aa6a0", "#d05555",
                                      "#8a6fd1", "#8c6d4f", "#7f8fa6", "#2f9bd8", "#b5651d", "#7aa52a", "#e0709c",
                                      "#5a7d5a", "#a45ee5", "#c0803f", "#3f6fd8", "#9c4f6a", "#6b8e9e"};

static void put_node(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task, uint32_t kind,
                     struct tl_rendering *scratch)
{
    scratch->used = 0;
    tl__put_kernels(scratch, s->names, s->deps->tasks[task].kernel_ids);
    tl__put_str(out, "  \"");
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[task].task_id);
    tl__put_str(out, "\" [label=\"");
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[task].task_id);
    tl__put_str(out, "\\n");
    tl__put_safe(out, TL_SAFE_DOT, scratch->data, scratch->used);
    tl__put_format(out, "\", color=\"%s\"];\n", colours[kind % (COUNT_OF(colours))]);
}

/* The styles that the page has too: by the sources of all edges of the pair. */
static void put_pair(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_part *part,
                     const struct tl_deps_pair *pair)
{
    static const char *const styles[] = {
        [TL_DEPS_EXPLICIT] = "style=dashed, color=\"#8a4fc9\"",
        [TL_DEPS_CREATOR] = "style=solid, color=\"#2b8a3e\"",
        [TL_DEPS_TENSORMAP] = "style=solid, color=\"#5b6b80\"",
    };
    unsigned source = s->deps->edges[part->edges[pair->first]].source;
    bool mixed = false;

    for (uint32_t i = 1; i < pair->count; i++)
        mixed |= s->deps->edges[part->edges[pair->first + i]].source != source;
    tl__put_str(out, "  \"");
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[part->tasks[pair->pred]].task_id);
    tl__put_str(out, "\" -> \"");
    tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[part->tasks[pair->succ]].task_id);
    tl__put_format(out, "\" [%s", mixed ? "style=bold, color=\"#b8860b\"" : styles[source % 3]);
    if (pair->count > 1)
        tl__put_format(out, ", label=\"%" PRIu32 "\"", pair->count);
    tl__put_str(out, "];\n");
}

int tl__deps_dot(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_part *part)
{
    struct tl_rendering scratch;
    struct tl_deps_kinds kinds;
    int code = tl__deps_kinds(s->deps, &kinds);

    if (code < 0)
        return code;
    tl__rendering_init(&scratch, NULL, NULL);
    tl__put_str(out, "/* explicit: dashed violet, creator: green, tensormap: grey, several: bold; a number: edges */\n"
                     "digraph tasks {\n"
                     "  node [shape=box, style=rounded, penwidth=2, fontname=\"monospace\", fontsize=10];\n"
                     "  edge [arrowsize=0.6, fontname=\"monospace\", fontsize=9];\n");
    for (uint32_t i = 0; i < part->n_tasks; i++)
        put_node(out, s, part->tasks[i], kinds.of_task[part->tasks[i]], &scratch);
    for (uint32_t i = 0; i < part->n_pairs; i++)
        put_pair(out, s, part, &part->pairs[i]);
    tl__put_str(out, "}\n");
    code = scratch.error;
    tl__rendering_fini(&scratch);
    tl__deps_kinds_fini(&kinds);
    return code != 0 ? code : out->error;
}

/* Characters, not bytes, of valid UTF-8. */
static size_t characters(const char *text, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Inches that hold the two lines of a box: the task, its kernels. */
double tl__deps_box_width(const struct tl_deps_subject *s, uint32_t task, struct tl_rendering *scratch)
{
    size_t first, second;

    scratch->used = 0;
    tl__put_task(scratch, tl__task_layout_of(s->deps->runtime), s->deps->tasks[task].task_id);
    first = scratch->used;
    scratch->used = 0;
    tl__put_kernels(scratch, s->names, s->deps->tasks[task].kernel_ids);
    second = characters(scratch->data, scratch->used);
    if (second > NAME_WIDTH)
        second = NAME_WIDTH;
    return ((double)(first > second ? first : second) * CHARACTER + 16) / 72;
}

/* Exactness costs dot minutes on large graphs, and moving overlapping boxes apart costs sfdp minutes on very large
 * ones: these give them less of either. What is not connected is laid out for itself, and is placed in rows in the
 * order of submission; side by side it would be a strip too long to be looked at. */
static void put_settings(struct tl_rendering *out, uint32_t tasks, enum tl_deps_engine engine)
{
    tl__put_str(out, "  pack=30; packmode=\"array_u\";\n");
    if (engine == TL_DEPS_DOT)
        tl__put_format(out, "  ranksep=0.55; nodesep=0.2; %s\n",
                       tasks > 500 ? "nslimit=3; nslimit1=3; mclimit=0.5;" : "");
    else
        tl__put_format(out, "  splines=line; %s\n", tasks > 5000 ? "overlap=true;" : "overlap=prism; K=2;");
}

int tl__deps_layout_input(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_part *part,
                          enum tl_deps_engine engine)
{
    struct tl_rendering scratch;
    int code;

    tl__rendering_init(&scratch, NULL, NULL);
    tl__put_str(out, "digraph g {\n  node [shape=box, fixedsize=true, height=0.5, label=\"\"];\n");
    put_settings(out, part->n_tasks, engine);
    for (uint32_t i = 0; i < part->n_tasks; i++)
        tl__put_format(out, "  n%" PRIu32 " [width=%.3f];\n", i, tl__deps_box_width(s, part->tasks[i], &scratch));
    for (uint32_t i = 0; i < part->n_pairs; i++)
        tl__put_format(out, "  n%" PRIu32 " -> n%" PRIu32 ";\n", part->pairs[i].pred, part->pairs[i].succ);
    tl__put_str(out, "}\n");
    code = scratch.error;
    tl__rendering_fini(&scratch);
    return code != 0 ? code : out->error;
}
