/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/overview.h"

#include "analysis/text/value.h"
#include "base/number.h"

#define WRAP 8  /* values a line of a rank-1 array; a dimension of no more is shown whole */
#define EDGE 3u /* of a dimension that is shown by its edges */

/* The array as `outer` matrices of rows x cols; the last row of a wrapped rank-1 array is short. */
struct grid {
    const struct tl_overview *view;
    uint64_t rows, cols, outer;
    size_t width;             /* of the widest value shown */
    struct tl_rendering *out; /* NULL: look only, to find the width */
};

static uint64_t next_shown(const struct grid *g, uint64_t i, uint64_t extent)
{
    return g->view->edges_only && extent > WRAP && i + 1 == EDGE ? extent - EDGE : i + 1;
}

static void put_value(struct grid *g, uint64_t element, bool first)
{
    char text[TL_VALUE_BYTES];
    size_t n = tl__value_text(text, g->view->dtype, g->view->data, element);

    if (g->out == NULL) {
        g->width = n > g->width ? n : g->width;
        return;
    }
    tl__put_fill(g->out, ' ', g->width - n + (first ? 0 : 2));
    tl__put(g->out, text, n);
}

static void put_words(struct grid *g, const char *words)
{
    if (g->out != NULL)
        tl__put_str(g->out, words);
}

static void put_line(struct grid *g, uint64_t first)
{
    for (uint64_t c = 0, next; c < g->cols && first + c < g->view->here; c = next) {
        put_value(g, first + c, c == 0);
        next = next_shown(g, c, g->cols);
        if (next != c + 1)
            put_words(g, "  ...");
    }
    put_words(g, "\n");
}

/* "[1, 0, :, :]" */
static void put_matrix_name(struct grid *g, uint64_t matrix)
{
    const struct tl_overview *v = g->view;
    uint64_t below = g->outer;

    if (g->out == NULL)
        return;
    tl__put(g->out, "[", 1);
    for (unsigned i = 0; i + 2 < v->rank; i++) {
        below /= v->shape[i];
        tl__put_u64(g->out, matrix / below % v->shape[i]);
        tl__put(g->out, ", ", 2);
    }
    tl__put_str(g->out, ":, :]\n");
}

static void walk(struct grid *g)
{
    for (uint64_t m = 0, next; m < g->outer && m * g->rows * g->cols < g->view->here; m = next) {
        if (g->view->rank > 2)
            put_matrix_name(g, m);
        for (uint64_t r = 0, next_row; r < g->rows; r = next_row) {
            uint64_t first = (m * g->rows + r) * g->cols;

            if (first >= g->view->here)
                return;
            put_line(g, first);
            next_row = next_shown(g, r, g->rows);
            if (next_row != r + 1)
                put_words(g, "...\n");
        }
        next = next_shown(g, m, g->outer);
        if (next != m + 1)
            put_words(g, "...\n");
        if (g->out != NULL && g->out->error != 0)
            return;
    }
}

void tl__put_overview(struct tl_rendering *out, const struct tl_overview *view)
{
    struct grid g = {.view = view, .rows = 1, .cols = 1, .outer = 1};

    if (view->here == 0)
        return;
    if (view->rank == 1) {
        g.cols = WRAP;
        g.rows = (view->shape[0] + WRAP - 1) / WRAP;
    } else if (view->rank > 1) {
        g.cols = view->shape[view->rank - 1];
        g.rows = view->shape[view->rank - 2];
        for (unsigned i = 0; i + 2 < view->rank; i++)
            g.outer *= view->shape[i];
    }
    walk(&g);
    g.out = out;
    walk(&g);
}

static void put_indices(struct tl_rendering *out, const struct tl_overview *v, const uint32_t *at, const size_t *widths)
{
    char text[TL_NUMBER_BYTES];

    tl__put(out, "[", 1);
    for (unsigned i = 0; i < v->rank; i++) {
        size_t n = tl__print_u64(text, at[i]);

        tl__put(out, ", ", i > 0 ? 2 : 0);
        tl__put_fill(out, ' ', widths[i] - n);
        tl__put(out, text, n);
    }
    tl__put(out, "]  ", 3);
}

void tl__put_by_index(struct tl_rendering *out, const struct tl_overview *view)
{
    uint32_t at[TL_MAX_DIMS] = {0};
    size_t widths[TL_MAX_DIMS] = {0};
    char text[TL_NUMBER_BYTES];

    for (unsigned i = 0; i < view->rank; i++)
        widths[i] = tl__print_u64(text, view->shape[i] > 0 ? view->shape[i] - 1 : 0);
    for (uint64_t element = 0; element < view->here && out->error == 0; element++) {
        put_indices(out, view, at, widths);
        tl__put(out, text, tl__value_text(text, view->dtype, view->data, element));
        tl__put(out, "\n", 1);
        for (unsigned i = view->rank; i-- > 0;) {
            if (++at[i] < view->shape[i])
                break;
            at[i] = 0;
        }
    }
}
