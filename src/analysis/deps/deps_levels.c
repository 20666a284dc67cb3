/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout without Graphviz: the levels of the graph below each other, in each the tasks in the order of those that
 * feed them and that they feed, lines straight. A level too wide for the page has several rows. It takes a few passes
 * over the lines, however they cross.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/deps/deps_picture.h"
#include "base/env.h"
#include "base/error.h"

#define PASSES 12u
#define BOX_HEIGHT 36.0f
#define GAP 14.0f       /* between the boxes of a row */
#define ROW_GAP 10.0f   /* between the rows of a level */
#define LEVEL_GAP 44.0f /* between levels */
#define WIDTH_LEAST 1200.0f

struct item {
    uint32_t level, place;
    float key; /* where in its level it should be, 0 to 1 */
};

struct levels {
    const struct tl_deps_part *part;
    struct tl_deps_layout *layout;
    struct item *items; /* by level, then by their order in it */
    float *at, *sum;    /* by place: where in its level it is, 0 to 1; of its neighbours' */
    uint32_t *met;      /* by place: how many neighbours */
};

static int in_order(const void *left, const void *right)
{
    const struct item *l = left, *r = right;

    if (l->level != r->level)
        return l->level < r->level ? -1 : 1;
    if (l->key < r->key || l->key > r->key)
        return l->key < r->key ? -1 : 1;
    return l->place < r->place ? -1 : l->place > r->place;
}

static uint32_t level_end(const struct levels *l, uint32_t first)
{
    uint32_t end = first;

    while (end < l->part->n_tasks && l->items[end].level == l->items[first].level)
        end++;
    return end;
}

static void sort(struct levels *l)
{
    qsort(l->items, l->part->n_tasks, sizeof(*l->items), in_order);
    for (uint32_t first = 0, end; first < l->part->n_tasks; first = end) {
        end = level_end(l, first);
        for (uint32_t i = first; i < end; i++)
            l->at[l->items[i].place] = ((float)(i - first) + 0.5f) / (float)(end - first);
    }
}

/* Each task towards the middle of its producers, or of its consumers. */
static void pull(struct levels *l, bool to_producers)
{
    uint32_t n = l->part->n_tasks;

    memset(l->sum, 0, n * sizeof(*l->sum));
    memset(l->met, 0, n * sizeof(*l->met));
    for (uint32_t i = 0; i < l->part->n_pairs; i++) {
        const struct tl_deps_pair *pair = &l->part->pairs[i];
        uint32_t own = to_producers ? pair->succ : pair->pred, other = to_producers ? pair->pred : pair->succ;

        l->sum[own] += l->at[other];
        l->met[own]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = l->items[i].place;

        l->items[i].key = l->met[place] > 0 ? l->sum[place] / (float)l->met[place] : l->at[place];
    }
    sort(l);
}

/* A width with which the whole is about as wide as high. */
static float page_width(const struct levels *l)
{
    float area = 0;

    for (uint32_t i = 0; i < l->part->n_tasks; i++)
        area += (l->layout->boxes[i].width + GAP) * (BOX_HEIGHT + LEVEL_GAP);
    return fmaxf(WIDTH_LEAST, 1.3f * sqrtf(area));
}

/* Items [first, end) side by side, in the middle of the page. */
static void put_row(struct levels *l, uint32_t first, uint32_t end, float used, float middle, float y)
{
    float x = middle - used / 2;

    for (uint32_t i = first; i < end; i++) {
        struct tl_deps_box *box = &l->layout->boxes[l->items[i].place];

        box->x = x + box->width / 2;
        box->y = y;
        x += box->width + GAP;
    }
}

static void put_boxes(struct levels *l)
{
    float limit = page_width(l), y = BOX_HEIGHT / 2;

    for (uint32_t first = 0, end; first < l->part->n_tasks; first = end) {
        uint32_t last = level_end(l, first);
        float used = -GAP;

        for (end = first; end < last; end++) {
            float more = l->layout->boxes[l->items[end].place].width + GAP;

            if (end > first && used + more > limit)
                break;
            used += more;
        }
        put_row(l, first, end, used, limit / 2, y);
        l->layout->height = y + BOX_HEIGHT / 2;
        y += BOX_HEIGHT + (end < last ? ROW_GAP : LEVEL_GAP);
    }
    l->layout->width = limit;
}

/* Levels of the part; those without one below all others. */
static int measure(struct levels *l, const struct tl_deps_subject *s)
{
    struct tl_rendering scratch;
    int code;

    tl__rendering_init(&scratch, NULL, NULL);
    for (uint32_t i = 0; i < l->part->n_tasks; i++) {
        l->items[i] = (struct item){s->graph->level[l->part->tasks[i]], i, 0};
        l->layout->boxes[i].width = (float)(72 * tl__deps_box_width(s, l->part->tasks[i], &scratch));
        l->layout->boxes[i].height = BOX_HEIGHT;
    }
    code = scratch.error;
    tl__rendering_fini(&scratch);
    return code;
}

int tl__deps_layout_levels(const struct tl_deps_subject *s, const struct tl_deps_part *part,
                           struct tl_deps_layout *ret_layout, struct tl_error *reterr)
{
    size_t n = (size_t)part->n_tasks + 1;
    struct levels l = {.part = part, .layout = ret_layout};
    int code = TL_ENOMEM;

    *ret_layout = (struct tl_deps_layout){0};
    ret_layout->boxes = tl__alloc(n, sizeof(*ret_layout->boxes));
    ret_layout->first = tl__alloc((size_t)part->n_pairs + 1, sizeof(*ret_layout->first));
    ret_layout->points = tl__alloc(1, sizeof(*ret_layout->points));
    l.items = tl__alloc(n, sizeof(*l.items));
    l.at = tl__alloc(n, sizeof(*l.at));
    l.sum = tl__alloc(n, sizeof(*l.sum));
    l.met = tl__alloc(n, sizeof(*l.met));
    if (ret_layout->boxes != NULL && ret_layout->first != NULL && ret_layout->points != NULL && l.items != NULL &&
        l.at != NULL && l.sum != NULL && l.met != NULL)
        code = measure(&l, s);
    if (code == 0) {
        sort(&l);
        for (unsigned pass = 0; pass < PASSES; pass++)
            pull(&l, pass % 2 == 0);
        put_boxes(&l);
    }
    tl__free(l.items);
    tl__free(l.at);
    tl__free(l.sum);
    tl__free(l.met);
    return code == 0 ? 0 : tl__fail(reterr, code, "out of memory for a layout");
}
