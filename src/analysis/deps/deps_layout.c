/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphviz's plain format: a line each, "graph SCALE WIDTH HEIGHT", "node nI X Y WIDTH HEIGHT ...", "edge nI nK N X1 Y1
 * ... XN YN ...", "stop"; inches, y upward.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/deps/deps_picture.h"
#include "base/env.h"
#include "base/error.h"
#include "base/number.h"
#include "base/vec.h"

#define POINTS 72.0f /* an inch */

struct reading {
    const struct tl_deps_part *part;
    struct tl_deps_layout *layout;
    uint32_t placed;
    TL_VEC(float) points; /* in the order of the lines */
    uint32_t *at, *count; /* by pair: where its numbers are in `points`, and how many points */
};

/* A finite number, and past it. */
static bool number(const char **at, float *ret_value)
{
    const char *start = *at + strspn(*at, " ");
    const size_t bytes = strcspn(start, " \r\n");
    double value;

    if (!tl__read_f64(start, bytes, &value) || !(value > -1e7 && value < 1e7))
        return false;
    *at = start + bytes;
    *ret_value = (float)value;
    return true;
}

/* "nI", and past it. */
static bool place(const char **at, const struct tl_deps_part *part, uint32_t *ret_place)
{
    char *end;
    unsigned long value;

    while (**at == ' ')
        (*at)++;
    if (**at != 'n')
        return false;
    value = strtoul(*at + 1, &end, 10);
    if (end == *at + 1 || value >= part->n_tasks)
        return false;
    *at = end;
    *ret_place = (uint32_t)value;
    return true;
}

static bool read_graph(struct reading *r, const char *at)
{
    float scale;

    if (!number(&at, &scale) || !number(&at, &r->layout->width) || !number(&at, &r->layout->height))
        return false;
    r->layout->width *= POINTS;
    r->layout->height *= POINTS;
    return true;
}

static bool read_node(struct reading *r, const char *at)
{
    struct tl_deps_box box;
    uint32_t task;

    if (!place(&at, r->part, &task) || !number(&at, &box.x) || !number(&at, &box.y) || !number(&at, &box.width) ||
        !number(&at, &box.height) || box.width <= 0 || box.height <= 0)
        return false;
    r->placed += r->layout->boxes[task].width <= 0;
    r->layout->boxes[task] = (struct tl_deps_box){.x = box.x * POINTS,
                                                  .y = r->layout->height - box.y * POINTS,
                                                  .width = box.width * POINTS,
                                                  .height = box.height * POINTS};
    return true;
}

/* 0, TL_EPARSE or TL_ENOMEM. */
static int read_edge(struct reading *r, const char *at)
{
    uint32_t pred, succ, pair;
    float points, x, y;

    if (!place(&at, r->part, &pred) || !place(&at, r->part, &succ) || !number(&at, &points) || points < 0 ||
        points > 1e6f)
        return TL_EPARSE;
    pair = tl__deps_part_pair(r->part, pred, succ);
    if (pair == TL_DEPS_NONE)
        return TL_EPARSE;
    r->at[pair] = (uint32_t)r->points.count;
    r->count[pair] = (uint32_t)points;
    for (uint32_t i = 0; i < r->count[pair]; i++) {
        if (!number(&at, &x) || !number(&at, &y))
            return TL_EPARSE;
        if (tl_vec_push(&r->points, x * POINTS) < 0 || tl_vec_push(&r->points, r->layout->height - y * POINTS) < 0)
            return TL_ENOMEM;
    }
    return 0;
}

static int read_line(struct reading *r, const char *line, bool *ret_end)
{
    if (strncmp(line, "graph ", 6) == 0)
        return read_graph(r, line + 6) ? 0 : TL_EPARSE;
    if (strncmp(line, "node ", 5) == 0)
        return read_node(r, line + 5) ? 0 : TL_EPARSE;
    if (strncmp(line, "edge ", 5) == 0)
        return read_edge(r, line + 5);
    *ret_end = strcmp(line, "stop") == 0;
    return *ret_end ? 0 : TL_EPARSE;
}

/* A line at a time, in a copy that ends with a zero byte. */
static int read_lines(struct reading *r, char *text, struct tl_error *reterr)
{
    bool end = false;
    long lines = 0;

    while (!end && *text != 0) {
        char *next = strchr(text, '\n');
        int code;

        if (next != NULL)
            *next++ = 0;
        lines++;
        code = read_line(r, text, &end);
        if (code == TL_ENOMEM)
            return tl__fail(reterr, code, "out of memory for a layout");
        if (code < 0)
            return tl__fail_at(reterr, code, lines, "line %ld of the layout is not understood: %.60s", lines, text);
        text = next != NULL ? next : text + strlen(text);
    }
    if (!end)
        return tl__fail(reterr, TL_EPARSE, "the layout was cut after %ld lines", lines);
    if (r->placed < r->part->n_tasks)
        return tl__fail(reterr, TL_EPARSE, "the layout places %" PRIu32 " of %" PRIu32 " tasks", r->placed,
                        r->part->n_tasks);
    return 0;
}

/* The points by pair. */
static int take_points(struct reading *r, struct tl_error *reterr)
{
    struct tl_deps_layout *l = r->layout;

    l->points = tl__alloc(r->points.count + 1, sizeof(*l->points));
    if (l->points == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory for a layout");
    for (uint32_t i = 0; i < r->part->n_pairs; i++) {
        l->first[i + 1] = l->first[i] + r->count[i];
        if (r->count[i] > 0 && r->points.items != NULL)
            memcpy(l->points + 2 * (size_t)l->first[i], r->points.items + r->at[i],
                   2 * (size_t)r->count[i] * sizeof(*l->points));
    }
    return 0;
}

int tl__deps_layout(const char *plain, size_t bytes, const struct tl_deps_part *part, struct tl_deps_layout *ret_layout,
                    struct tl_error *reterr)
{
    struct tl_deps_layout *l = ret_layout;
    struct reading r = {.part = part, .layout = l};
    char *text = tl__alloc(bytes + 1, 1);
    int code;

    *l = (struct tl_deps_layout){0};
    l->boxes = tl__alloc((size_t)part->n_tasks + 1, sizeof(*l->boxes));
    l->first = tl__alloc((size_t)part->n_pairs + 1, sizeof(*l->first));
    r.at = tl__alloc((size_t)part->n_pairs + 1, sizeof(*r.at));
    r.count = tl__alloc((size_t)part->n_pairs + 1, sizeof(*r.count));
    if (text == NULL || l->boxes == NULL || l->first == NULL || r.at == NULL || r.count == NULL) {
        code = tl__fail(reterr, TL_ENOMEM, "out of memory for a layout");
    } else {
        memcpy(text, plain, bytes);
        code = read_lines(&r, text, reterr);
        if (code == 0)
            code = take_points(&r, reterr);
    }
    tl__free(text);
    tl__free(r.at);
    tl__free(r.count);
    tl_vec_fini(&r.points);
    return code;
}

void tl__deps_layout_spread(struct tl_deps_layout *layout, const struct tl_deps_part *part)
{
    double width = 0, length = 0;
    float factor;

    for (uint32_t i = 0; i < part->n_tasks; i++)
        width += (double)layout->boxes[i].width / part->n_tasks;
    for (uint32_t i = 0; i < part->n_pairs; i++) {
        const struct tl_deps_box *from = &layout->boxes[part->pairs[i].pred], *to = &layout->boxes[part->pairs[i].succ];

        length += (double)hypotf(to->x - from->x, to->y - from->y) / part->n_pairs;
    }
    memset(layout->first, 0, ((size_t)part->n_pairs + 1) * sizeof(*layout->first));
    if (length <= 0 || length >= 2 * width)
        return;
    factor = (float)(2 * width / length);
    for (uint32_t i = 0; i < part->n_tasks; i++) {
        layout->boxes[i].x *= factor;
        layout->boxes[i].y *= factor;
    }
    layout->width *= factor;
    layout->height *= factor;
}

void tl__deps_layout_fini(struct tl_deps_layout *layout)
{
    tl__free(layout->boxes);
    tl__free(layout->points);
    tl__free(layout->first);
    *layout = (struct tl_deps_layout){0};
}
