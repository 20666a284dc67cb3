/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_list.h"

#include <inttypes.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "analysis/dump/dump_payload.h"
#include "analysis/text/table.h"
#include "analysis/text/value.h"
#include "analysis/text/phrases.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/number.h"
#include "tensor/convert.h"
#include "tensor/element.h"

#define SHOWN 4 /* values a line */

static const struct tl_column columns[] = {
    {"index", true, false},  {"task", false, false},  {"func", false, false}, {"kernel", false, true},
    {"stage", false, false}, {"role", false, false},  {"arg", true, false},   {"dtype", false, false},
    {"shape", false, false}, {"values", false, true}, {"min", true, true},    {"max", true, true},
    {"NaN", true, true},     {"Inf", true, true},     {"notes", false, true},
};
enum { COLUMNS = COUNT_OF(columns), VALUE_CELLS = 5, KEPT_CELLS };

struct rows {
    const struct tl_dump_list *list;
    /* The value cells of all rows, each with its length in front, because the table asks for them twice. */
    struct tl_rendering cells;
    uint64_t *start; /* where a row's cells begin; NULL: no values */
};

static void put_extreme(struct tl_rendering *page, const struct tl_stats *s, double d, int64_t i)
{
    char text[TL_NUMBER_BYTES];

    if (s->finite == 0)
        return;
    if (tl__dtype_is_float(s->dtype))
        tl__put(page, text, tl__float_text(text, s->dtype, (float)d));
    else if (tl__dtype_is_unsigned(s->dtype))
        tl__put_u64(page, (uint64_t)i);
    else
        tl__put(page, text, tl__print_i64(text, i));
}

static void put_first(struct tl_rendering *page, const struct tl_stats *s)
{
    char text[TL_VALUE_BYTES];

    for (uint32_t i = 0; i < s->first_count && i < SHOWN; i++) {
        tl__put(page, " ", i > 0);
        tl__put(page, text, tl__value_text(text, s->dtype, s->first, i));
    }
    if (s->count > SHOWN)
        tl__put_str(page, " ...");
}

static void put_value_cell(struct tl_rendering *page, unsigned cell, const struct tl_dump_record *r,
                           const struct tl_stats *s)
{
    bool range = r->kind == TL_KIND_TENSOR && s->count > 1;

    if (s->count == 0) { /* nothing to look at: say why */
        if (cell != 0)
            return;
        if (r->kind == TL_KIND_SCALAR)
            tl__put_format(page, "0x%" PRIx64, r->value_bits);
        else
            tl__put_str(page, r->rank <= TL_MAX_DIMS && tl__dump_elements(r) == 0 ? "(empty)" : "-");
    } else if (cell == 0) {
        put_first(page, s);
    } else if (cell == 1 && range) {
        put_extreme(page, s, s->min, s->min_int);
    } else if (cell == 2 && range) {
        put_extreme(page, s, s->max, s->max_int);
    } else if (cell == 3 && s->nan > 0) {
        tl__put_u64(page, s->nan);
    } else if (cell == 4 && s->pos_inf + s->neg_inf > 0) {
        tl__put_u64(page, s->pos_inf + s->neg_inf);
    }
}

static void keep_cells(struct rows *rows, const struct tl_dump_seen *seen)
{
    for (unsigned cell = 0; cell < KEPT_CELLS; cell++) {
        size_t mark = rows->cells.used;

        tl__put(&rows->cells, "", 1); /* the length, below */
        if (cell < VALUE_CELLS)
            put_value_cell(&rows->cells, cell, seen->record, &seen->stats);
        else if (seen->problem != NULL)
            tl__put_str(&rows->cells, "unreadable");
        if (rows->cells.error == 0)
            rows->cells.data[mark] = (char)(rows->cells.used - mark - 1); /* at most 4 values of 32 bytes and spaces */
    }
}

static void keep_row(void *ctx, const struct tl_dump_seen *seen)
{
    struct rows *rows = ctx;

    rows->start[seen->number] = rows->cells.used;
    keep_cells(rows, seen);
}

static void put_geometry(struct tl_rendering *page, const struct tl_dump_record *r)
{
    tl__put_shape(page, r);
    if (r->kind == TL_KIND_SCALAR || r->rank > TL_MAX_DIMS)
        return;
    if ((r->flags & TL_ARG_CONTIGUOUS) == 0) {
        tl__put_str(page, " strides ");
        tl__put_strides(page, r);
    }
    if (r->start_offset != 0) {
        tl__put_str(page, " offset ");
        tl__put_u64(page, r->start_offset);
    }
}

/* Without values a scalar's is shown all the same: it is in the manifest. The last cell has what is special. */
static void put_last_cells(const struct rows *rows, uint64_t number, const struct tl_dump_record *r, struct tl_row *row)
{
    const char *p = rows->start != NULL ? rows->cells.data + rows->start[number] : NULL;
    char text[TL_VALUE_BYTES];
    bool noted = false;

    for (unsigned cell = 0; cell < KEPT_CELLS; cell++) {
        if (p != NULL) {
            tl__put(&row->text, p + 1, (unsigned char)*p);
            noted = *p != 0;
            p += 1 + (unsigned char)*p;
        } else if (cell == 0 && r->kind == TL_KIND_SCALAR && tl_dtype_bits(r->dtype) > 0) {
            tl__put(&row->text, text, tl__value_text(text, r->dtype, &r->value_bits, 0));
        }
        if (cell < VALUE_CELLS)
            tl__cell_end(row);
    }
    if (noted && tl__dump_has_flags(r))
        tl__put_str(&row->text, ", ");
    tl__put_flags(&row->text, r);
    tl__cell_end(row);
}

/* "qk", "matmul,add"; a kernel without a name is "?". Nothing where no names are known. */
static void put_kernels(struct tl_rendering *page, const struct tl_name_map *names, const struct tl_dump_record *r)
{
    for (unsigned i = 0; names != NULL && i < r->func_count && i < TL_DUMP_MAX_FUNCS; i++) {
        const char *name = tl__name_of(names, r->func_id[i]);

        tl__put(page, ",", i > 0);
        tl__put_name(page, name != NULL ? name : "?");
    }
}

static void put_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct rows *rows = ctx;
    uint64_t index = tl__dump_pick_at(rows->list->scan.pick, number);
    const struct tl_dump_record *r = tl_recording_at(rows->list->scan.recording, index);
    struct tl_rendering *page = &row->text;

    tl__put_u64(page, index);
    tl__cell_end(row);
    tl__put_task(page, rows->list->layout, r->task_id);
    tl__cell_end(row);
    tl__put_funcs(page, r);
    tl__cell_end(row);
    put_kernels(page, rows->list->names, r);
    tl__cell_end(row);
    tl__put_str(page, r->stage == TL_STAGE_BEFORE ? "before" : "after");
    tl__cell_end(row);
    tl__put_str(page, tl_role_name(r->role));
    tl__cell_end(row);
    tl__put_u64(page, r->arg_index);
    tl__cell_end(row);
    tl__put_str(page, tl_dtype_name(r->dtype));
    tl__cell_end(row);
    put_geometry(page, r);
    tl__cell_end(row);
    put_last_cells(rows, number, r, row);
}

void tl__put_dump_summary(struct tl_rendering *out, const struct tl_recording *recording, const char *dir)
{
    const struct tl_dump_summary *s = tl_recording_summary(recording);

    tl__put_format(out,
                   "%s: level %" PRIu32 ", %" PRIu64 " arg%s (%" PRIu64 " before, %" PRIu64 " after; %" PRIu64
                   " input, %" PRIu64 " output, %" PRIu64 " inout), ",
                   dir, s->level, s->total_args, tl__plural(s->total_args), s->before_dispatch, s->after_completion,
                   s->input_args, s->output_args, s->inout_args);
    if (s->bin_file[0] == 0)
        tl__put_str(out, "no payload file\n");
    else
        tl__put_format(out, "%s %" PRIu64 " byte%s\n", s->bin_file, s->bin_bytes, tl__plural(s->bin_bytes));
}

static void put_heading(struct tl_rendering *out, const struct tl_dump_list *list)
{
    const struct tl_dump_summary *s = tl_recording_summary(list->scan.recording);
    uint64_t total = tl_recording_count(list->scan.recording);

    tl__put_dump_summary(out, list->scan.recording, list->dir);
    if (s->truncated_args > 0)
        tl__put_format(out, "truncated: %" PRIu64 " payload%s the first part of the tensor only\n", s->truncated_args,
                       s->truncated_args == 1 ? " holds" : "s hold");
    if (s->dropped_records > 0)
        tl__put_format(out, "dropped: %" PRIu64 " record%s seen on the device and %s not here\n", s->dropped_records,
                       s->dropped_records == 1 ? " was" : "s were", s->dropped_records == 1 ? "is" : "are");
    if (s->dropped_overwrite > 0)
        tl__put_format(out, "overwritten: %" PRIu64 " payload%s gone before being read\n", s->dropped_overwrite,
                       s->dropped_overwrite == 1 ? " was" : "s were");
    if (list->order != NULL && list->order->from == TL_DUMP_ORDER_RING)
        tl__put_str(out, "order: ring by ring; nothing recorded says in which order the tasks were submitted "
                         "(--enable-dep-gen does)\n");
    else if (list->order != NULL && list->order->unknown > 0)
        tl__put_format(out,
                       "order: of submission; %" PRIu64 " record%s of tasks that are not in it stand%s at the end\n",
                       list->order->unknown, tl__plural(list->order->unknown), list->order->unknown == 1 ? "s" : "");
    if (list->sorted_by != NULL)
        tl__put_format(out, "order: by %s\n", list->sorted_by);
    if (list->scan.pick->count < total)
        tl__put_format(out, "shown: %" PRIu64 " of %" PRIu64 "\n", list->scan.pick->count, total);
}

int tl__dump_list_text(struct tl_rendering *out, const struct tl_dump_list *list, struct tl_error *reterr)
{
    struct rows rows = {.list = list};
    int code = 0;

    tl__rendering_init(&rows.cells, NULL, NULL);
    if (list->scan.values) {
        rows.start = tl__alloc(list->scan.pick->count + 1, sizeof(*rows.start));
        code = rows.start != NULL ? tl__dump_each(&list->scan, keep_row, &rows, reterr) : TL_ENOMEM;
        if (code == 0)
            code = rows.cells.error;
    }
    if (code == 0) {
        put_heading(out, list);
        if (list->scan.pick->count > 0)
            code = tl__table_put(out, columns, COLUMNS, list->scan.pick->count, put_row, &rows);
    }
    tl__free(rows.start);
    tl__rendering_fini(&rows.cells);
    return code;
}
