/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/table.h"

#include <tasklens/error.h>

/* Columns on a terminal: bytes that do not continue a UTF-8 sequence. */
static size_t width_of(const char *s, size_t n)
{
    size_t width = 0;

    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)s[i] & 0xc0) != 0x80;
    return width;
}

static void start_row(struct tl_row *row)
{
    row->text.used = 0;
    row->count = 0;
}

static void put_row(struct tl_rendering *out, const struct tl_column *columns, unsigned count, const size_t *widths,
                    const struct tl_row *row)
{
    size_t begin = 0, pending = 0; /* blanks are written only when something follows */

    for (unsigned c = 0; c < count; c++) {
        const char *cell = row->text.data + begin;
        size_t bytes = row->end[c] - begin, width;

        begin = row->end[c];
        if (widths[c] == 0)
            continue;
        width = width_of(cell, bytes);
        if (columns[c].right)
            pending += widths[c] - width;
        if (bytes > 0) {
            tl__put_fill(out, ' ', pending);
            tl__put(out, cell, bytes);
            pending = 0;
        }
        pending += columns[c].right ? 2 : widths[c] - width + 2;
    }
    tl__put(out, "\n", 1);
}

static void title_row(const struct tl_column *columns, unsigned count, struct tl_row *row)
{
    start_row(row);
    for (unsigned c = 0; c < count; c++) {
        tl__put_str(&row->text, columns[c].title);
        tl__cell_end(row);
    }
}

int tl__table_put(struct tl_rendering *out, const struct tl_column *columns, unsigned count, uint64_t rows,
                  tl_row_fn fn, void *ctx)
{
    size_t widths[TL_TABLE_MAX_COLUMNS] = {0};
    struct tl_row row = {0};
    int r;

    if (count > TL_TABLE_MAX_COLUMNS)
        return TL_EINVAL;
    tl__rendering_init(&row.text, NULL, NULL);
    for (uint64_t i = 0; i < rows && row.text.error == 0; i++) {
        size_t begin = 0;

        start_row(&row);
        fn(ctx, i, &row);
        for (unsigned c = 0; c < count && row.text.error == 0; c++) {
            size_t width = width_of(row.text.data + begin, row.end[c] - begin);

            begin = row.end[c];
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (unsigned c = 0; c < count; c++) {
        size_t title = strlen(columns[c].title);

        if (title > widths[c] && !(columns[c].only_if_used && widths[c] == 0))
            widths[c] = title;
    }
    title_row(columns, count, &row);
    if (row.text.error == 0)
        put_row(out, columns, count, widths, &row);
    for (uint64_t i = 0; i < rows && row.text.error == 0 && out->error == 0; i++) {
        start_row(&row);
        fn(ctx, i, &row);
        if (row.text.error == 0)
            put_row(out, columns, count, widths, &row);
    }
    r = row.text.error != 0 ? row.text.error : out->error;
    tl__rendering_fini(&row.text);
    return r;
}
