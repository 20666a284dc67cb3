/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned columns. The rows come from a function that is asked twice, once for the widths and once to write, so that a
 * million of them need no memory of their own.
 */
#ifndef TL_ANALYSIS_TABLE_H
#define TL_ANALYSIS_TABLE_H

#include <stdbool.h>

#include "analysis/text/rendering.h"

#define TL_TABLE_MAX_COLUMNS 32

struct tl_column {
    const char *title;
    bool right;        /* numbers are aligned right */
    bool only_if_used; /* the column is left out when every cell is empty */
};

/* A row being filled: put a cell's text, then tl__cell_end, cell by cell. */
struct tl_row {
    struct tl_rendering text;
    size_t end[TL_TABLE_MAX_COLUMNS];
    unsigned count;
};

static inline void tl__cell_end(struct tl_row *row)
{
    row->end[row->count++] = row->text.used;
}

/* Must put exactly the table's number of cells, and the same for the same number. */
typedef void (*tl_row_fn)(void *ctx, uint64_t number, struct tl_row *row);

/* Writes a title line and `rows` rows, two blanks between columns, none at a line's end. 0, or the text's error. */
int tl__table_put(struct tl_rendering *out, const struct tl_column *columns, unsigned count, uint64_t rows,
                  tl_row_fn fn, void *ctx);

#endif
