/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include <tasklens/error.h>
#include <tasklens/kernel.h>

#include "analysis/pmu/pmu_view.h"
#include "analysis/text/table.h"
#include "base/count_of.h"

#define SHORT_COLUMNS (TL_TABLE_MAX_COLUMNS - 2u) /* counters beside kernel and core */

struct rows {
    const struct tl_pmu_view *view;
    unsigned column;
};

static void put_name(struct tl_rendering *page, const struct tl_pmu_kernel *k)
{
    if (k->name != NULL)
        tl__put_name(page, k->name);
    else
        tl__put_format(page, "func_%" PRId32, k->func_id);
}

static void put_kernel(struct tl_row *row, const struct tl_pmu_kernel *k)
{
    static const char *const cores[] = {[TL_AIC] = "AIC", [TL_AIV] = "AIV"};

    put_name(&row->text, k);
    if (k->name != NULL)
        tl__put_format(&row->text, " (%" PRId32 ")", k->func_id);
    tl__cell_end(row);
    tl__put_str(&row->text, k->core_type <= TL_AIV ? cores[k->core_type] : "both");
    tl__cell_end(row);
}

static void put_share(struct tl_rendering *page, double part, double whole)
{
    if (whole > 0)
        tl__put_format(page, "%.1f %%", 100 * part / whole);
    else
        tl__put_str(page, "-");
}

/* "mte2" of "mte2_busy_cycles": the part that other columns do not have. */
static void put_short_name(struct tl_rendering *page, const char *name)
{
    static const char *const heads[] = {"pmu_idc_aic_", "pmu_idc_aiv_", "pmu_"};
    static const char *const tails[] = {"_busy_cycles", "_instr_busy", "_busy_o", "_cycles"};
    size_t length;

    for (size_t i = 0; i < COUNT_OF(heads); i++)
        if (strncmp(name, heads[i], strlen(heads[i])) == 0) {
            name += strlen(heads[i]);
            break;
        }
    length = strlen(name);
    for (size_t i = 0; i < COUNT_OF(tails); i++)
        if (length > strlen(tails[i]) && strcmp(name + length - strlen(tails[i]), tails[i]) == 0) {
            length -= strlen(tails[i]);
            break;
        }
    tl__put(page, name, length);
}

/* ---- one column ---- */

static const struct tl_column column_columns[] = {
    {"kernel", false, false}, {"core", false, false}, {"subtasks", true, false}, {"min", true, false},
    {"median", true, false},  {"p95", true, false},   {"max", true, false},      {"total", true, false},
    {"share", true, false},   {"busy", true, true},
};
enum { COLUMN_COLUMNS = COUNT_OF(column_columns) };

static void put_column_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct rows *rows = ctx;
    const struct tl_pmu_view *view = rows->view;
    const struct tl_pmu_kernel *k = &view->kernels[number];
    const struct tl_pmu_figure *f = &view->figures[k->first + rows->column];
    const struct tl_pmu_view_column *c = &view->columns[rows->column];
    const uint64_t ranks[] = {f->min, f->median, f->p95, f->max};

    put_kernel(row, k);
    tl__put_u64(&row->text, k->subtasks);
    tl__cell_end(row);
    for (size_t i = 0; i < COUNT_OF(ranks); i++) {
        if (f->lacking)
            tl__put_str(&row->text, "-");
        else
            tl__put_u64(&row->text, ranks[i]);
        tl__cell_end(row);
    }
    if (f->lacking)
        tl__put_str(&row->text, "-");
    else
        tl__put_format(&row->text, "%.0f", f->sum);
    tl__cell_end(row);
    put_share(&row->text, f->lacking ? 0 : f->sum, f->lacking ? 0 : c->sum);
    tl__cell_end(row);
    if (c->in_cycles && rows->column != 0)
        put_share(&row->text, f->lacking ? 0 : f->sum, f->lacking ? 0 : k->cycles);
    tl__cell_end(row);
}

static void put_source(struct tl_rendering *out, const struct tl_pmu_view_column *c)
{
    if (c->source == TL_PMU_NOT_STATED) {
        tl__put_str(out, "where it comes from is not stated");
        return;
    }
    tl__put_str(out, tl__pmu_source_name(c->source));
    tl__put_str(out, c->source == TL_PMU_MODELLED ? " as " : c->source == TL_PMU_MEASURED ? " by " : ": ");
    tl__put_str(out, c->meta->text);
    if (c->meta->rows_lacking != 0)
        tl__put_format(out, " (%" PRIu64 " rows have no value: 0 in the file)", c->meta->rows_lacking);
}

int tl__pmu_column_text(struct tl_rendering *out, const struct tl_pmu_view *view, unsigned column)
{
    struct rows rows = {view, column};
    const struct tl_pmu_view_column *c = &view->columns[column];

    tl__put_str(out, c->name);
    tl__put_str(out, ": ");
    put_source(out, c);
    tl__put_str(out, "\n");
    return tl__table_put(out, column_columns, COLUMN_COLUMNS, view->n_kernels, put_column_row, &rows);
}

/* ---- all counters in short ---- */

static void put_short_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_pmu_view *view = ((const struct rows *)ctx)->view;
    const struct tl_pmu_kernel *k = &view->kernels[number];

    put_kernel(row, k);
    for (unsigned c = 1; c < view->n_columns && c <= SHORT_COLUMNS; c++) {
        const struct tl_pmu_figure *f = &view->figures[k->first + c];

        if (f->lacking)
            tl__put_str(&row->text, "-");
        else if (view->columns[c].in_cycles)
            put_share(&row->text, f->sum, k->cycles);
        else
            tl__put_u64(&row->text, f->median);
        tl__cell_end(row);
    }
}

static int put_short(struct tl_rendering *out, const struct tl_pmu_view *view)
{
    struct tl_column columns[TL_TABLE_MAX_COLUMNS] = {{"kernel", false, false}, {"core", false, false}};
    unsigned n = view->n_columns - 1 < SHORT_COLUMNS ? view->n_columns - 1 : SHORT_COLUMNS;
    struct rows rows = {.view = view};
    struct tl_rendering names;
    size_t start[SHORT_COLUMNS] = {0};
    bool cycles = false, counts = false, modelled = false;
    int code;

    tl__rendering_init(&names, NULL, NULL);
    for (unsigned c = 0; c < n; c++) {
        start[c] = names.used;
        put_short_name(&names, view->columns[c + 1].name);
        tl__put(&names, "", 1);
        cycles = cycles || view->columns[c + 1].in_cycles;
        modelled = modelled || (view->columns[c + 1].in_cycles && view->columns[c + 1].source == TL_PMU_MODELLED);
        counts = counts || !view->columns[c + 1].in_cycles;
    }
    for (unsigned c = 0; c < n && names.error == 0; c++)
        columns[c + 2] = (struct tl_column){names.data + start[c], true, false};
    tl__put_str(out, !cycles    ? "\nmedian of a subtask"
                     : modelled ? "\nbusy, as modelled for a chip, of the kernel's cycles here"
                                : "\nbusy, of the kernel's cycles");
    tl__put_str(out, cycles && counts ? "; others: median of a subtask\n" : "\n");
    code = names.error != 0 ? names.error : tl__table_put(out, columns, n + 2, view->n_kernels, put_short_row, &rows);
    tl__rendering_fini(&names);
    if (view->n_columns - 1 > n)
        tl__put_format(out, "and %u counters more: --column all\n", view->n_columns - 1 - n);
    return code;
}

/* ---- sources and notes ---- */

static void put_heading(struct tl_rendering *out, const struct tl_pmu_view *view)
{
    const struct tl_pmu *pmu = view->pmu;

    tl__put_format(out, "%s: event type %" PRIu32, view->dir, pmu->event_type);
    if (tl__pmu_event_name(pmu->event_type) != NULL)
        tl__put_format(out, " %s", tl__pmu_event_name(pmu->event_type));
    if (view->meta != NULL)
        tl__put_format(out, " on %s", view->meta->arch);
    tl__put_format(out, ", %" PRIu64 " subtask%s of %" PRIu32 " kernel%s", pmu->n_rows, pmu->n_rows == 1 ? "" : "s",
                   view->n_kernels, view->n_kernels == 1 ? "" : "s");
    if (view->meta != NULL && view->meta->clock_freq_hz != 0)
        tl__put_format(out, "; a cycle is %.3g ns", 1e9 / (double)view->meta->clock_freq_hz);
    tl__put_str(out, "\n");
    if (pmu->several_events)
        tl__put_str(out, "rows of several event types: what a counter means differs between them\n");
    if (pmu->first_epoch != pmu->last_epoch)
        tl__put_format(out,
                       "rows of several runs, run_epoch %" PRIu32 " to %" PRIu32
                       ": the figures are of all; --run-epoch shows one\n",
                       pmu->first_epoch, pmu->last_epoch);
    if (pmu->n_text > 0)
        tl__put_format(out, "left out: %" PRIu32 " column%s without numbers (%s)\n", pmu->n_text,
                       pmu->n_text == 1 ? "" : "s", pmu->first_text);
    if (view->meta != NULL && view->meta->dropped > 0)
        tl__put_format(out, "dropped: %" PRIu64 " subtasks were counted on the device and are not here\n",
                       view->meta->dropped);
}

/* The columns of one source, in a line; nothing if there is none. */
static void put_columns_of(struct tl_rendering *out, const struct tl_pmu_view *view, unsigned source, const char *label)
{
    bool any = false;

    for (unsigned c = 1; c < view->n_columns; c++) {
        if (view->columns[c].source != source)
            continue;
        tl__put_str(out, any ? ", " : label);
        tl__put_str(out, view->columns[c].name);
        any = true;
    }
    if (any)
        tl__put_str(out, "\n");
}

/* A reason a line, with the columns that share it. */
static void put_reasons(struct tl_rendering *out, const struct tl_pmu_view *view)
{
    for (unsigned c = 1; c < view->n_columns; c++) {
        const struct tl_pmu_view_column *column = &view->columns[c];
        bool told = false;

        if (column->source != TL_PMU_UNAVAILABLE)
            continue;
        for (unsigned before = 1; before < c; before++)
            told = told || (view->columns[before].source == TL_PMU_UNAVAILABLE &&
                            strcmp(view->columns[before].meta->text, column->meta->text) == 0);
        if (told)
            continue;
        tl__put_str(out, "unavailable (-)  ");
        tl__put_str(out, column->name);
        for (unsigned after = c + 1; after < view->n_columns; after++)
            if (view->columns[after].source == TL_PMU_UNAVAILABLE &&
                strcmp(view->columns[after].meta->text, column->meta->text) == 0)
                tl__put_format(out, ", %s", view->columns[after].name);
        tl__put_format(out, ": %s\n", column->meta->text);
    }
}

static void put_silent(struct tl_rendering *out, const struct tl_pmu_view *view)
{
    const uint32_t shown = 8;
    uint32_t n = 0;

    for (uint32_t i = 0; view->meta != NULL && i < view->n_kernels; i++) {
        const struct tl_pmu_kernel *k = &view->kernels[i];

        if (!tl__pmu_meta_is_silent(view->meta, k->func_id) || n++ >= shown)
            continue;
        tl__put_str(out, n == 1 ? "no counts (-)    " : ", ");
        put_name(out, k);
    }
    if (n > shown)
        tl__put_format(out, " and %" PRIu32 " more", n - shown);
    if (n > 0)
        tl__put_format(out, ": %s tl_count(), so there is nothing to model %s counters from\n",
                       n == 1 ? "this kernel never calls" : "these kernels never call", n == 1 ? "its" : "their");
}

static bool all_zero(const struct tl_pmu_view *view)
{
    for (unsigned c = 0; c < view->n_columns; c++)
        if (view->columns[c].sum != 0)
            return false;
    return true;
}

static void put_sources(struct tl_rendering *out, const struct tl_pmu_view *view)
{
    tl__put_str(out, "\n");
    if (view->meta == NULL) {
        tl__put_format(out, "There is no %s here: whether these counters were measured is not known.\n",
                       TL_PMU_META_NAME);
        if (all_zero(view))
            tl__put_str(out, "Every one is 0 in every row: most likely nothing was counted, as on a simulator.\n");
        return;
    }
    put_columns_of(out, view, TL_PMU_MEASURED, "measured         ");
    put_columns_of(out, view, TL_PMU_MODELLED, "modelled         ");
    put_columns_of(out, view, TL_PMU_NOT_STATED, "not stated       ");
    put_reasons(out, view);
    put_silent(out, view);
}

/* Whether some kernel has a value there that means something. */
static bool says_something(const struct tl_pmu_view *view, unsigned column)
{
    for (uint32_t i = 0; i < view->n_kernels; i++)
        if (!view->figures[view->kernels[i].first + column].lacking)
            return true;
    return false;
}

static void put_next(struct tl_rendering *out, const struct tl_pmu_view *view)
{
    unsigned best = 0; /* the busiest pipe, or the first counter, of those that say something */
    bool modelled = false;

    for (unsigned c = 1; c < view->n_columns; c++) {
        const struct tl_pmu_view_column *column = &view->columns[c];

        modelled = modelled || column->source == TL_PMU_MODELLED;
        if (says_something(view, c) && (best == 0 || (column->in_cycles && (!view->columns[best].in_cycles ||
                                                                            column->sum > view->columns[best].sum))))
            best = c;
    }
    if (view->meta == NULL && all_zero(view))
        tl__put_str(out,
                    "next             tasklens run PROGRAM --enable-pmu   records counters and says what they are\n");
    else if (best != 0)
        tl__put_format(out, "next             tasklens pmu %s --column %s\n", view->dir, view->columns[best].name);
    else if (modelled)
        tl__put_str(out, "next             say with tl_count() what the kernels do, and run again\n");
    else if (view->n_columns > 1)
        tl__put_str(out,
                    "next             tasklens run PROGRAM --enable-pmu 2   has counters that need no machine's\n");
}

int tl__pmu_text(struct tl_rendering *out, const struct tl_pmu_view *view)
{
    int code;

    put_heading(out, view);
    if (view->n_kernels == 0) {
        tl__put_str(out, "no rows: no task ran on a core\n");
        return out->error;
    }
    tl__put_str(out, "\n");
    code = tl__pmu_column_text(out, view, 0);
    if (code == 0 && view->n_columns > 1)
        code = put_short(out, view);
    put_sources(out, view);
    put_next(out, view);
    return code != 0 ? code : out->error;
}
